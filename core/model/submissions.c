/* SPDX-License-Identifier: MIT */
/* Submissions as they are stored: listed, shown with their jobs, and deleted. */
#include <config.h>

#include "model/submissions.h"

#include "base/base.h"
#include "judge/report.h"
#include "model/blobs.h"
#include "model/board.h"
#include "model/jobs.h"
#include "model/ranking.h"
#include "model/rate_limit.h"

int
submission_of_request(struct db *db, int64_t user, const char *request, json_t **ret_answer, struct kettle_error *err)
{
	AUTO_JSON json_t *answer = NULL, *jobs = NULL;
	int rc = db_object(db, &answer, err,
		"SELECT s.id, l.name AS leaderboard, s.mode, s.practice AS practice_bool, coalesce((SELECT seq FROM events "
		"WHERE submission = s.id AND kind = 'submission.accepted'), (SELECT max(seq) FROM events)) AS seq FROM "
		"submissions s JOIN leaderboards l ON l.id = s.leaderboard WHERE s.user = ? AND s.request = ?",
		"is", user, request);
	if (rc == 0)
		rc = db_array(db, &jobs, err,
			"SELECT id AS job, device FROM jobs WHERE submission = ? AND superseded >= 0 ORDER BY id", "i",
			(int64_t)member_int(answer, "id"));
	if (rc < 0)
		return rc;
	json_t *devices = json_array();
	json_array_each(jobs, job)
		(void)json_array_append(devices, json_object_get(job, "device"));
	(void)json_object_set(answer, "jobs", jobs);
	(void)json_object_set_new(answer, "devices", devices);
	*ret_answer = STEAL(answer);
	return 0;
}

/* ---- one of them ---- */

#define COLUMNS_OF_ALL \
	"s.id, s.leaderboard AS leaderboard_id, b.name AS leaderboard_name, s.file_name, s.user AS user_id_text, " \
	"u.name AS user_name, s.created_at AS submission_time_iso, s.done_at IS NOT NULL AS done_bool, s.mode, s.state, " \
	"CASE WHEN s.flagged_at IS NOT NULL THEN coalesce(s.flag_reason, '') END AS flagged, s.practice AS " \
	"practice_bool, "
#define JOINS " FROM submissions s JOIN leaderboards b ON b.id = s.leaderboard JOIN users u ON u.id = s.user "
/* Submissions s (of leaderboards b, users u) that count or could count: others may see them where the leaderboard allows it. */
#define IS_OPEN \
	"s.mode = 'ranked' AND s.flagged_at IS NULL AND s.done_at IS NOT NULL AND s.id >= b.counts_from AND " \
	"u.banned_at IS NULL AND EXISTS (SELECT 1 FROM jobs j WHERE j.submission = s.id AND NOT j.superseded AND j.state " \
	"= 'passed')"

int
submission_get(struct db *db, const struct actor *actor, int64_t id, json_t **ret_row, struct kettle_error *err)
{
	return db_object(db, ret_row, err,
		"SELECT " COLUMNS_OF_ALL "s.note, s.capture AS capture_json, s.user, b.creator, " BOARD_MAY_SEE "AS seen" JOINS
		"WHERE s.id = ?1",
		"iii", id, board_sees_all(actor), board_user(actor));
}

int
submission_get_open(struct db *db, int64_t id, json_t **ret_row, struct kettle_error *err)
{
	return db_object(db, ret_row, err,
		"SELECT " COLUMNS_OF_ALL "(SELECT CAST(data AS TEXT) FROM blobs WHERE id = s.code) AS code, s.user" JOINS
		"WHERE s.id = ? AND " IS_OPEN,
		"i", id);
}

int
submission_latest(struct db *db, int64_t user, int64_t *ret_id, struct kettle_error *err)
{
	return db_int(db, ret_id, err, "SELECT id FROM submissions WHERE user = ? ORDER BY id DESC LIMIT 1", "i", user);
}

int
submission_code(struct db *db, int64_t id, json_t **ret_row, struct kettle_error *err)
{
	return db_object(db, ret_row, err,
		"SELECT CAST(data AS TEXT) AS code, (SELECT json_extract(bundle_json, '$.submission') FROM tasks WHERE id = "
		"s.task) AS source FROM submissions s JOIN blobs b ON b.id = s.code WHERE s.id = ?",
		"i", id);
}

int
submission_task(struct db *db, int64_t id, json_t **ret_task, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	int rc = db_object(db, &row, err,
		"SELECT json_extract(bundle_json, '$.task') AS task_json FROM tasks WHERE id = (SELECT task FROM submissions "
		"WHERE id = ?)",
		"i", id);
	if (rc == 0)
		*ret_task = json_incref(json_object_get(row, "task"));
	return rc;
}

/* ---- many of them ---- */

/* Of a row with "whole" false only the jobs that passed (open), or those of them that are in the ranking. */
static int
add_list_runs(struct db *db, bool open, json_t *rows, struct kettle_error *err)
{
	json_array_each(rows, row) {
		json_t *runs = NULL;
		bool whole = !json_is_false(json_object_get(row, "whole"));
		int rc = db_array(db, &runs, err,
			"SELECT device AS gpu_type, score, state, " JOBS_CAUSE
			" FROM jobs WHERE submission = ?1 AND NOT superseded AND (?2 OR state = 'passed' AND (?3 OR EXISTS (SELECT "
			"1 FROM best WHERE best.submission = ?1 AND best.job = jobs.id))) ORDER BY id",
			"iii", member_int(row, "id"), (int64_t)whole, (int64_t)open);
		if (rc < 0)
			return rc;
		(void)json_object_del(row, "whole");
		(void)json_object_set_new(row, "runs", runs);
	}
	return 0;
}

/* state: the expression of the column. */
#define LISTED(state) \
	"SELECT s.id, b.name AS leaderboard_name, s.file_name, s.created_at AS submission_time_iso, s.done_at IS NOT " \
	"NULL AS done_bool, s.mode, " state " AS state, s.practice AS practice_bool, CASE WHEN s.user = ?1 THEN s.note " \
	"END AS note, u.name AS user_name, CASE WHEN s.flagged_at IS NOT NULL THEN coalesce(s.flag_reason, '') END AS " \
	"flagged"

static bool
is_open_state(const char *state)
{
	return state && (strcmp(state, "queued") == 0 || strcmp(state, "running") == 0);
}

/* The few open submissions are found by their jobs, those of a user on a leaderboard without the user's others. */
static const char *
source_of_list(const struct submission_list *list)
{
	if (is_open_state(list->state))
		return "(SELECT DISTINCT submission FROM jobs INDEXED BY jobs_open WHERE done_at IS NULL) o CROSS JOIN "
			   "submissions s ON s.id = "
			   "o.submission";
	if (!list->all)
		return list->leaderboard ? "submissions s INDEXED BY submissions_own"
								 : "submissions s INDEXED BY submissions_user";
	return list->state ? "submissions s INDEXED BY submissions_state" : "submissions s INDEXED BY submissions_page";
}

int
submission_list(struct db *db, const struct submission_list *list, json_t **ret_rows, struct kettle_error *err)
{
	AUTO_JSON json_t *rows = NULL;
	AUTO_FREE char *sql = xasprintf(
		LISTED(
			"s.state") " FROM %s CROSS JOIN leaderboards b ON b.id = s.leaderboard CROSS JOIN users u ON u.id = s.user "
					   "WHERE %s%s%s%s AND s.id < ?4 ORDER BY s.id DESC LIMIT ?5 OFFSET ?6",
		source_of_list(list), list->all ? "s.leaderboard = ?2" : "s.user = ?1",
		!list->all && list->leaderboard ? " AND s.leaderboard = ?2" : "", list->state ? " AND s.state = ?3" : "",
		list->state && !is_open_state(list->state) ? " AND s.done_at IS NOT NULL" : "");
	int rc = db_array(db, &rows, err, sql, "iisiii", list->user, list->leaderboard, list->state,
		list->before ? list->before : INT64_MAX, list->limit, list->offset);
	if (rc == 0)
		rc = add_list_runs(db, true, rows, err);
	if (rc == 0)
		*ret_rows = STEAL(rows);
	return rc;
}

/* The order of the index; nothing else than the rows from ?6 to ?5 is looked at. */
#define FEED \
	LISTED("iif(?2 OR s.user = ?1, s.state, 'passed')") \
	", (?2 OR s.user = ?1) AS whole_bool FROM submissions s INDEXED BY submissions_page CROSS JOIN leaderboards b ON " \
	"b.id = s.leaderboard CROSS JOIN users u ON u.id = s.user WHERE s.leaderboard = ?4 AND s.id < ?5 AND s.id >= ?6 " \
	"AND (?2 OR s.user = ?1 OR EXISTS (SELECT 1 FROM best WHERE best.submission = s.id) OR ?3 AND " IS_OPEN ") " \
	"ORDER BY s.id DESC LIMIT ?7"

int
submission_feed(struct db *db, const struct actor *actor, const struct board *board, int64_t before, int64_t limit,
	json_t **ret_page, struct kettle_error *err)
{
	AUTO_JSON json_t *rows = NULL;
	int64_t last = 0;
	bool all = board_owns(actor, board), open = board_code_open(board, db->now_ms);
	int rc = db_int(db, &last, err,
		"SELECT coalesce((SELECT id FROM submissions INDEXED BY submissions_page WHERE leaderboard = ? AND id < ? "
		"ORDER "
		"BY id DESC LIMIT 1 OFFSET ?), 0)",
		"iii", board->id, before, (int64_t)(SUBMISSION_LOOK_MAX - 1));
	if (rc == 0)
		rc = db_array(db, &rows, err, FEED, "iiiiiii", board_user(actor), (int64_t)all, (int64_t)open, board->id,
			before, last, limit);
	if (rc == 0)
		rc = add_list_runs(db, open, rows, err);
	if (rc < 0)
		return rc;
	size_t count = json_array_size(rows);
	if ((int64_t)count == limit)
		last = member_int(json_array_get(rows, count - 1), "id");
	*ret_page =
		json_pack("{s:O, s:o}", "submissions", rows, "next", last ? json_integer((json_int_t)last) : json_null());
	return 0;
}

int
submission_days(
	struct db *db, const struct actor *actor, int64_t user, int64_t limit, json_t **ret_days, struct kettle_error *err)
{
	return db_array(db, ret_days, err,
		"SELECT date(s.created_at / 1000, 'unixepoch') AS day, count(*) AS submissions" JOINS
		"WHERE s.user = ?1 AND NOT s.practice AND " IS_OPEN " AND " BOARD_MAY_SEE
		"GROUP BY day ORDER BY day DESC LIMIT ?4",
		"iiii", user, board_sees_all(actor), board_user(actor), limit);
}

/* Only given members become conditions, so that all submissions of a leaderboard are counted in an index alone. */
int
submission_count(
	struct db *db, const struct submission_filter *filter, int64_t *ret_count, bool *ret_more, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	AUTO_FREE char *sql = xasprintf(
		"SELECT coalesce(sum(fits), 0) AS fits, count(*) AS seen FROM (SELECT 1%s%s%s AS fits FROM submissions s WHERE "
		"%s%s%s ORDER BY %s DESC LIMIT ?6)",
		filter->device
			? " AND EXISTS (SELECT 1 FROM jobs j WHERE j.submission = s.id AND j.device = ?3 AND NOT j.superseded)"
			: "",
		filter->mode ? " AND s.mode = ?4" : "", filter->state ? " AND s.state = ?5" : "",
		filter->leaderboard ? "s.leaderboard = ?1" : "", filter->leaderboard && filter->user ? " AND " : "",
		filter->user ? "s.user = ?2" : "", filter->leaderboard && filter->user ? "s.created_at" : "s.id");
	int rc = db_object(db, &row, err, sql, "iisssi", filter->leaderboard, filter->user, filter->device, filter->mode,
		filter->state, ret_more ? (int64_t)SUBMISSION_COUNT_MOST : -1);
	if (rc < 0)
		return rc;
	*ret_count = member_int(row, "fits");
	if (ret_more)
		*ret_more = member_int(row, "seen") == SUBMISSION_COUNT_MOST;
	return 0;
}

#define NAMES(whose) \
	"SELECT CAST(s.id AS TEXT) AS value, s.mode || ' on ' || b.name || ': ' || s.file_name AS about FROM submissions " \
	"s JOIN leaderboards b ON b.id = s.leaderboard WHERE substr(CAST(s.id AS TEXT), 1, length(?1)) = ?1 AND " whose \
	" ORDER BY s.id DESC LIMIT ?2"

int
submission_names(struct db *db, const struct actor *actor, const char *prefix, bool others, int64_t limit,
	json_t **ret_values, struct kettle_error *err)
{
	return db_array(db, ret_values, err, others ? NAMES("(?4 OR s.user = ?3 OR b.creator = ?3)") : NAMES("s.user = ?3"),
		others ? "siii" : "sii", prefix, limit, board_user(actor), board_sees_all(actor));
}

/* ?1: submissions after this time; ?2: on this board, 0: on all. */
#define CHOSEN \
	"s.created_at > ?1 AND (NOT ?2 OR s.leaderboard = ?2) AND s.leaderboard IN (SELECT id FROM leaderboards) "

static int
add_stats_device(void *arg, sqlite3_stmt *row)
{
	static const char *const names[] = {
		"num_run", "runs_passed", "runs_scored", "runs_secret", "max_delay", "avg_delay", "total_runtime"};
	const char *device = (const char *)sqlite3_column_text(row, 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char key[300];
		int column = (int)i + 1;
		(void)snprintf(key, sizeof(key), "%s.%s", names[i], device ? device : "");
		json_t *value = sqlite3_column_type(row, column) == SQLITE_INTEGER
							? json_integer(sqlite3_column_int64(row, column))
							: json_real(sqlite3_column_double(row, column));
		(void)json_object_set_new(arg, key, value);
	}
	return 0;
}

static int
add_stats_devices(struct db *db, json_t *stats, int64_t after, int64_t board, struct kettle_error *err)
{
	return db_query(db, err, add_stats_device, stats,
		"SELECT j.device, count(*), sum(r.passed), count(r.score), sum(r.secret), max(0.0, max(r.start_at - "
		"j.queued_at) / 1000.0), max(0.0, avg(r.start_at - j.queued_at) / 1000.0), sum(r.end_at - r.start_at) / 1000.0 "
		"FROM runs r JOIN jobs j ON j.id = r.job JOIN submissions s ON s.id = j.submission WHERE " CHOSEN
		"GROUP BY j.device ORDER BY j.device",
		"ii", after, board);
}

static int
add_stats_user(void *arg, sqlite3_stmt *row)
{
	char key[300];
	(void)snprintf(key, sizeof(key), "total.%s", (const char *)sqlite3_column_text(row, 0));
	(void)json_object_set_new(arg, key, json_real(sqlite3_column_double(row, 1)));
	return 0;
}

static int
add_stats_users(struct db *db, json_t *stats, int64_t after, int64_t board, struct kettle_error *err)
{
	return db_query(db, err, add_stats_user, stats,
		"SELECT u.name, sum(r.end_at - r.start_at) / 1000.0 AS used FROM runs r JOIN jobs j ON j.id = r.job JOIN "
		"submissions s ON s.id = j.submission JOIN users u ON u.id = s.user WHERE " CHOSEN
		"GROUP BY u.id HAVING used IS NOT NULL ORDER BY used DESC, u.name LIMIT 10",
		"ii", after, board);
}

int
submission_stats(struct db *db, int64_t after_ms, int64_t leaderboard, json_t **ret_stats, struct kettle_error *err)
{
	AUTO_JSON json_t *stats = NULL;
	int rc = db_object(db, &stats, err,
		"SELECT count(*) AS num_submissions, count(*) FILTER (WHERE done_at IS NULL) AS sub_waiting, count(DISTINCT "
		"user) AS num_users, count(DISTINCT code) AS num_unique_codes FROM submissions s WHERE " CHOSEN,
		"ii", after_ms, leaderboard);
	if (rc == 0)
		rc = add_stats_devices(db, stats, after_ms, leaderboard, err);
	if (rc == 0 && after_ms >= 0)
		rc = add_stats_users(db, stats, after_ms, leaderboard, err);
	if (rc == 0)
		*ret_stats = STEAL(stats);
	return rc;
}

/* ---- pages of an export ---- */

/* A page while it is read. */
struct export_page {
	struct db *db;
	const char *jobs; /* the statement for those of a submission */
	json_t *submissions;
	size_t bytes;
	int64_t last;
	struct kettle_error *err;
};

/* One submission with its jobs; the page ends with the one that fills it. */
static int
add_submission(void *arg, sqlite3_stmt *row)
{
	struct export_page *page = arg;
	json_t *submission = db_row_object(row), *jobs = NULL;
	if (!submission)
		return KETTLE_EIO;
	(void)json_array_append_new(page->submissions, submission);
	page->last = member_int(submission, "id");
	int rc = db_array(page->db, &jobs, page->err, page->jobs, "i", page->last);
	if (rc < 0)
		return rc;
	(void)json_object_set_new(submission, "devices", jobs);
	page->bytes += json_string_length(json_object_get(submission, "code"));
	return page->bytes >= SUBMISSION_PAGE_BYTES;
}

/* rc: of the query that read it. */
static int
end_page(struct export_page *page, int rc, json_t **ret_page)
{
	bool more = rc > 0 || json_array_size(page->submissions) == SUBMISSION_PAGE;
	json_t *object = json_pack(
		"{s:o, s:o}", "submissions", page->submissions, "next", more ? json_integer(page->last) : json_null());
	if (rc < 0)
		json_decref(object);
	else
		*ret_page = object;
	return rc < 0 ? rc : 0;
}

/* In the order of numbers, which pages need; the index submissions_page has it. */
int
submission_page_of_board(
	struct db *db, int64_t leaderboard, bool whole, int64_t after, json_t **ret_page, struct kettle_error *err)
{
	struct export_page page = {.db = db,
		.submissions = json_array(),
		.err = err,
		.jobs = "SELECT device, state, score, low, high FROM jobs WHERE submission = ? AND NOT superseded ORDER BY id"};
	int rc = db_query(db, err, add_submission, &page,
		"SELECT s.id, s.user AS user_id_text, u.name AS user_name, s.mode, s.file_name, s.created_at AS "
		"submission_time_iso, s.state, CASE WHEN s.flagged_at IS NOT NULL THEN coalesce(s.flag_reason, '') END AS "
		"flagged, s.id >= b.counts_from AS counts_bool, t.run_hash AS task, c.sha256, CAST(c.data AS TEXT) AS code "
		"FROM submissions s INDEXED BY submissions_page CROSS JOIN leaderboards b ON b.id = s.leaderboard CROSS JOIN "
		"users u ON u.id = s.user CROSS JOIN tasks t ON t.id = s.task CROSS JOIN blobs c ON c.id = s.code WHERE "
		"s.leaderboard = ?1 AND s.id > ?2 AND (?3 OR " IS_OPEN ") ORDER BY s.id LIMIT ?4",
		"iiii", leaderboard, after, (int64_t)whole, (int64_t)SUBMISSION_PAGE);
	return end_page(&page, rc, ret_page);
}

int
submission_page_of_user(struct db *db, int64_t user, int64_t after, json_t **ret_page, struct kettle_error *err)
{
	struct export_page page = {.db = db,
		.submissions = json_array(),
		.err = err,
		.jobs = "SELECT device, state, score, low, high, error, queued_at AS queued_iso, done_at AS done_iso FROM jobs "
				"WHERE submission = ? AND NOT superseded ORDER BY id"};
	int rc = db_query(db, err, add_submission, &page,
		"SELECT s.id, b.name AS leaderboard, s.mode, s.file_name, s.created_at AS submission_time_iso, s.state, "
		"s.practice AS practice_bool, s.note, s.flag_reason, c.sha256, CAST(c.data AS TEXT) AS code FROM submissions s "
		"JOIN leaderboards b ON b.id = s.leaderboard JOIN blobs c ON c.id = s.code WHERE s.user = ? AND s.id > ? ORDER "
		"BY s.id LIMIT ?",
		"iii", user, after, (int64_t)SUBMISSION_PAGE);
	return end_page(&page, rc, ret_page);
}

/* ---- their jobs ---- */

/* Removes the members of a secret run that may not be shown; adds the stored detail of the others. */
static void
open_run(json_t *run)
{
	json_t *detail = json_object_get(run, "detail");
	if (json_is_object(detail))
		(void)json_object_update_missing(run, detail);
	(void)json_object_del(run, "detail");
	if (!member_true(run, "secret")) {
		json_t *remarks = report_remarks(json_object_get(run, "result"), json_object_get(run, "device"));
		if (remarks)
			(void)json_object_set_new(run, "remarks", remarks);
		return;
	}
	static const char *const hidden[] = {
		"index", "state", "low", "high", "start_time", "end_time", "message", "result", "system"};
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
		(void)json_object_del(run, hidden[i]);
}

static int
add_job_runs(struct db *db, json_t *job, struct kettle_error *err)
{
	json_t *runs = NULL, *artifacts = NULL;
	int64_t id = member_int(job, "job");
	int rc = db_array(db, &runs, err,
		"SELECT mode, secret AS secret_bool, idx AS \"index\", passed AS passed_bool, state, score, low, high, "
		"start_at AS start_time_iso, end_at AS end_time_iso, message, result_json, system_json, detail_json FROM runs "
		"WHERE job = ? ORDER BY id",
		"i", id);
	if (rc < 0)
		return rc;
	json_array_each(runs, run) {
		open_run(run);
	}
	(void)json_object_set_new(job, "runs", runs);
	rc = db_array(db, &artifacts, err,
		"SELECT id, step, name, size, sha256, expired_at AS expired_iso FROM artifacts WHERE job = ? ORDER BY id", "i",
		id);
	if (rc == 0)
		(void)json_object_set_new(job, "artifacts", artifacts);
	return rc;
}

/* The best before this job became its user's best, as long as the event that says so is kept. */
static int
add_before(struct db *db, int64_t submission, int64_t job, json_t *rank, struct kettle_error *err)
{
	AUTO_JSON json_t *event = NULL;
	int rc = db_object(db, &event, err,
		"SELECT data_json FROM events WHERE submission = ?1 AND kind = 'job.done' AND json_extract(data_json, '$.job') "
		"= ?2 ORDER BY seq DESC LIMIT 1",
		"ii", submission, job);
	const json_t *data = json_object_get(event, "data");
	if (rc == 0 && member_true(data, "best")) {
		(void)json_object_set(rank, "before", json_object_get(data, "rank_before"));
		(void)json_object_set(rank, "previous_score", json_object_get(data, "previous_score"));
	}
	return rc == KETTLE_ENOENT ? 0 : rc;
}

/* The job's place in the ranking, or that of its user's better submission. */
static int
add_rank(struct db *db, const json_t *row, json_t *job, struct kettle_error *err)
{
	int64_t id = member_int(job, "job");
	struct ranking_position position = {0};
	int rc = ranking_of_job(db, id, &position, err);
	if (rc < 0)
		return rc;
	bool best = position.rank && position.job == id;
	json_t *rank = best ? json_pack("{s:I, s:I, s:n, s:n}", "rank", (json_int_t)position.rank, "of",
							  (json_int_t)position.of, "before", "previous_score")
						: json_null();
	(void)json_object_set_new(job, "rank", rank);
	(void)json_object_set_new(job, "better", position.rank && !best ? ranking_better(&position) : json_null());
	return best ? add_before(db, member_int(row, "id"), id, rank, err) : 0;
}

/* Adds the last rerun after this job that failed, with its error. */
static int
add_failed_rerun(struct db *db, const json_t *row, json_t *job, struct kettle_error *err)
{
	json_t *failed = NULL;
	int rc = db_object(db, &failed, err,
		"SELECT id AS job, state, error, " JOBS_CAUSE
		", done_at AS ended_iso FROM jobs WHERE submission = ?1 AND device = ?2 AND superseded = id AND id > ?3 ORDER "
		"BY id DESC LIMIT 1",
		"isi", member_int(row, "id"), json_text_or_empty(job, "device"), member_int(job, "job"));
	if (rc < 0)
		return rc == KETTLE_ENOENT ? 0 : rc;
	(void)json_object_set_new(job, "rerun_failed", failed);
	return 0;
}

/* The reason why a queued job waits: the stored one, or that no unit of its device is ready. */
#define WAITS \
	"coalesce(error, (SELECT 'No `' || u.device || '` unit is available. ' || coalesce(u.label, u.unit) || ': ' || " \
	"u.reason FROM device_units u WHERE u.device = j.device AND u.state = 'disabled' AND u.label IS NOT '' AND NOT " \
	"EXISTS (SELECT 1 FROM device_units r WHERE r.device = j.device AND r.state = 'ready' AND r.label IS NOT '') " \
	"ORDER BY u.label LIMIT 1))"

int
submission_jobs(struct db *db, const json_t *row, json_t **ret_jobs, struct kettle_error *err)
{
	AUTO_JSON json_t *jobs = NULL;
	int rc = db_array(db, &jobs, err,
		"SELECT id AS job, device, state, CASE WHEN state <> 'queued' THEN error END AS error, " JOBS_CAUSE
		", CASE WHEN state = 'queued' THEN " WAITS
		" END AS waits, score, low, high, unit, runner, attempt, loss, queued_at AS queued_iso, started_at AS "
		"started_iso, done_at AS ended_iso, changed_at AS changed_iso, compilation_json, system_json, timing_json, "
		"superseded < 0 AS rerun_bool FROM jobs j WHERE submission = ?1 AND (superseded < 0 OR NOT superseded AND NOT "
		"EXISTS (SELECT 1 FROM jobs n WHERE n.submission = ?1 AND n.superseded = -j.id)) ORDER BY id",
		"i", member_int(row, "id"));
	for (size_t i = 0; i < json_array_size(jobs) && rc == 0; i++) {
		json_t *job = json_array_get(jobs, i);
		rc = add_job_runs(db, job, err);
		if (rc == 0)
			rc = add_rank(db, row, job, err);
		if (rc == 0)
			rc = add_failed_rerun(db, row, job, err);
	}
	if (rc == 0)
		*ret_jobs = STEAL(jobs);
	return rc;
}

int
submission_scores(struct db *db, int64_t id, bool passed, json_t **ret_jobs, struct kettle_error *err)
{
	return db_array(db, ret_jobs, err,
		"SELECT id AS job, device, state, score, low, high FROM jobs WHERE submission = ? AND NOT superseded AND "
		"(state = 'passed' OR NOT ?) ORDER BY id",
		"ii", id, (int64_t)passed);
}

int
submission_jobs_open(struct db *db, const json_t *row, json_t **ret_jobs, struct kettle_error *err)
{
	AUTO_JSON json_t *jobs = NULL;
	int rc = submission_scores(db, member_int(row, "id"), true, &jobs, err);
	for (size_t i = 0; i < json_array_size(jobs) && rc == 0; i++) {
		json_t *job = json_array_get(jobs, i);
		(void)json_object_update_new(job, json_pack("{s:[], s:[]}", "runs", "artifacts"));
		rc = add_rank(db, row, job, err);
	}
	if (rc == 0)
		*ret_jobs = STEAL(jobs);
	return rc;
}

int
submission_results(struct db *db, int64_t job, json_t **ret_results, struct kettle_error *err)
{
	AUTO_JSON json_t *rows = NULL;
	json_t *results = json_object();
	int rc = db_array(db, &rows, err,
		"SELECT mode, result_json FROM runs WHERE job = ? AND NOT secret AND passed AND mode IN ('leaderboard', "
		"'benchmark') ORDER BY id",
		"i", job);
	json_array_each(rows, row)
		(void)json_object_set(results, json_text_or_empty(row, "mode"), json_object_get(row, "result"));
	*ret_results = results;
	return rc;
}

int
submission_open_jobs(struct db *db, int64_t id, json_t **ret_jobs, int64_t *ret_reruns, struct kettle_error *err)
{
	int rc = db_int(db, ret_reruns, err,
		"SELECT count(*) FROM jobs WHERE submission = ? AND superseded < 0 AND done_at IS NULL", "i", id);
	return rc < 0
			   ? rc
			   : db_array(db, ret_jobs, err,
					 "SELECT id AS job, device, state FROM jobs WHERE submission = ? AND done_at IS NULL ORDER BY id",
					 "i", id);
}

/* ---- changed ---- */

int
submission_set_flag(struct db *db, const json_t *row, const char *reason, int64_t user, struct kettle_error *err)
{
	int rc = db_exec(db, err,
		"UPDATE submissions SET flagged_at = iif(?1 IS NULL, NULL, ?2), flag_reason = ?1, flagged_by = iif(?1 IS NULL, "
		"NULL, ?3) WHERE id = ?4",
		"siii", reason, db->now_ms, user, (int64_t)member_int(row, "id"));
	return rc < 0 ? rc : ranking_recompute(db, member_int(row, "leaderboard_id"), NULL, member_int(row, "user"), err);
}

int
submission_all_of(struct db *db, int64_t leaderboard, int64_t user, json_t **ret_rows, struct kettle_error *err)
{
	return db_array(db, ret_rows, err,
		"SELECT id, leaderboard AS leaderboard_id, user, mode, file_name, flagged_at IS NOT NULL AS flagged_bool, "
		"(SELECT count(*) FROM jobs WHERE submission = s.id) AS jobs, (SELECT count(*) FROM jobs j JOIN runs r ON "
		"r.job = j.id WHERE j.submission = s.id) AS runs FROM submissions s WHERE leaderboard = ? AND user = ? ORDER "
		"BY id",
		"ii", leaderboard, user);
}

/* ?1: the user; ?2: the leaderboard; of leaderboards that are not being deleted. */
#define OWN_ON_ALL \
	"FROM submissions s INDEXED BY submissions_user WHERE s.user = ?1 AND s.leaderboard IN (SELECT id FROM " \
	"leaderboards) AND "
#define OWN_ON_ONE \
	"FROM submissions s INDEXED BY submissions_own WHERE s.leaderboard = (SELECT id FROM leaderboards WHERE id = ?2) " \
	"AND s.user = ?1 AND "
#define PART(places) \
	"SELECT s.id, s.leaderboard AS leaderboard_id, s.user, s.mode, s.file_name " OWN_ON_ONE \
	"s.flagged_at IS NULL AND " places "EXISTS (SELECT 1 FROM best WHERE submission = s.id) ORDER BY s.created_at " \
	"DESC, s.id DESC LIMIT ?3"

int
submission_own_part(
	struct db *db, int64_t user, int64_t leaderboard, int64_t limit, json_t **ret_rows, struct kettle_error *err)
{
	AUTO_JSON json_t *rows = NULL;
	int rc = leaderboard ? 0
						 : db_int(db, &leaderboard, err,
							   "SELECT coalesce((SELECT s.leaderboard " OWN_ON_ALL
							   "s.flagged_at IS NULL ORDER BY s.id DESC LIMIT 1), 0)",
							   "i", user);
	/* Those in the rankings are the last, so that their places change once. */
	if (rc == 0)
		rc = db_array(db, &rows, err, PART("NOT "), "iii", user, leaderboard, limit);
	if (rc < 0 || json_array_size(rows) == 0)
		return rc < 0 ? rc : db_array(db, ret_rows, err, PART(""), "iii", user, leaderboard, limit);
	*ret_rows = STEAL(rows);
	return 0;
}

int
submission_own_left(
	struct db *db, int64_t user, int64_t leaderboard, int64_t *ret_left, int64_t *ret_flagged, struct kettle_error *err)
{
	static const char left_on_all[] = "SELECT ?2 = 0 AND EXISTS (SELECT 1 " OWN_ON_ALL "s.flagged_at IS NULL)";
	static const char left_on_one[] = "SELECT EXISTS (SELECT 1 " OWN_ON_ONE "s.flagged_at IS NULL)";
	static const char flagged_on_all[] = "SELECT count(*) " OWN_ON_ALL "s.flagged_at IS NOT NULL AND ?2 = 0";
	static const char flagged_on_one[] = "SELECT count(*) " OWN_ON_ONE "s.flagged_at IS NOT NULL";
	int rc = db_int(db, ret_left, err, leaderboard ? left_on_one : left_on_all, "ii", user, leaderboard);
	return rc < 0 || *ret_left
			   ? rc
			   : db_int(db, ret_flagged, err, leaderboard ? flagged_on_one : flagged_on_all, "ii", user, leaderboard);
}

static int
record_deleted(struct db *db, const json_t *row, struct kettle_error *err)
{
	AUTO_JSON json_t *jobs = NULL;
	int rc = jobs_of(db, member_int(row, "id"), &jobs, err);
	if (rc < 0)
		return rc;
	AUTO_JSON json_t *data = json_pack("{s:O, s:O, s:O}", "mode", json_object_get(row, "mode"), "file_name",
		json_object_get(row, "file_name"), "jobs", jobs);
	return db_event(db, "submission.deleted", 'u', member_int(row, "leaderboard_id"), member_int(row, "id"),
		member_int(row, "user"), data, err);
}

/* The jobs go first, so that the ranking is computed without them, once, while it still knows what was there before. */
int
submission_delete(struct db *db, const json_t *rows, struct kettle_error *err)
{
	const json_t *first = json_array_get(rows, 0);
	int rc = 0;
	json_array_each(rows, row) {
		if (rc == 0)
			rc = record_deleted(db, row, err);
		if (rc == 0)
			rc = blobs_note_submission(db, member_int(row, "id"), err);
		if (rc == 0)
			rc = rate_limit_record_deleted(db, member_int(row, "id"), err);
		if (rc == 0)
			rc = db_exec(db, err, "DELETE FROM jobs WHERE submission = ?", "i", (int64_t)member_int(row, "id"));
	}
	if (rc == 0 && first)
		rc = ranking_recompute(db, member_int(first, "leaderboard_id"), NULL, member_int(first, "user"), err);
	json_array_each(rows, row) {
		if (rc == 0)
			rc = db_exec(db, err, "DELETE FROM submissions WHERE id = ?", "i", (int64_t)member_int(row, "id"));
	}
	return rc < 0 ? rc : blobs_collect(db, err);
}
