/* SPDX-License-Identifier: MIT */
/* Jobs in the database: from accepted to their verdict. */
#include <config.h>

#include "model/jobs.h"

#include "base/base.h"
#include "base/text.h"
#include "model/artifact.h"
#include "model/blobs.h"
#include "model/board.h"
#include "model/ranking.h"
#include "model/rate_limit.h"
#include "model/settings.h"

#define REASON_MAX 500 /* bytes of a reason that are kept */

/* The columns of a job that every change of it needs. */
struct job {
	int64_t id, submission, leaderboard, user, attempt, uncounted, superseded, lost_with_engine;
	char device[256], mode[16], state[16];
};

static int
read_job(void *arg, sqlite3_stmt *row)
{
	struct job *job = arg;
	job->submission = sqlite3_column_int64(row, 0);
	job->leaderboard = sqlite3_column_int64(row, 1);
	job->user = sqlite3_column_int64(row, 2);
	job->attempt = sqlite3_column_int64(row, 3);
	job->uncounted = sqlite3_column_int64(row, 4);
	db_copy_text(job->device, sizeof(job->device), row, 5);
	db_copy_text(job->mode, sizeof(job->mode), row, 6);
	db_copy_text(job->state, sizeof(job->state), row, 7);
	job->superseded = sqlite3_column_int64(row, 8);
	job->lost_with_engine = sqlite3_column_int64(row, 9);
	return 1;
}

/* ECONFLICT: it is not in this state, not of this attempt (0: any), or gone. */
static int
jobs_load(struct db *db, int64_t id, const char *state, int64_t attempt, struct job *job, struct kettle_error *err)
{
	*job = (struct job){.id = id};
	int rc = db_query(db, err, read_job, job,
		"SELECT s.id, s.leaderboard, s.user, j.attempt, j.uncharged_attempts, j.device, s.mode, j.state, j.superseded, "
		"j.lost_with_engine "
		"FROM jobs j JOIN submissions s ON s.id = j.submission JOIN leaderboards b ON b.id = s.leaderboard WHERE j.id "
		"= ?",
		"i", id);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return kettle_fail(err, KETTLE_ECONFLICT, "Job %lld no longer exists.", (long long)id);
	if (strcmp(job->state, state) != 0)
		return kettle_fail(err, KETTLE_ECONFLICT, "Job %lld is %s, not %s.", (long long)id, job->state, state);
	if (attempt && job->attempt != attempt)
		return kettle_fail(err, KETTLE_ECONFLICT, "Job %lld is at attempt %lld, not %lld.", (long long)id,
			(long long)job->attempt, (long long)attempt);
	return 0;
}

static int
jobs_event(struct db *db, const struct job *job, const char *kind, json_t *data_take, struct kettle_error *err)
{
	AUTO_JSON json_t *data = data_take;
	return db_event(db, kind, 'u', job->leaderboard, job->submission, job->user, data, err);
}

/* ---- accepted ---- */

int64_t
jobs_seed(void)
{
	uint32_t bits;
	random_bytes(&bits, sizeof(bits));
	return (int64_t)(bits & 0x7fffffffu);
}

/* superseded: minus the job that it runs again, or 0. Adds {"job", "device"}. */
static int
insert_job(struct db *db, int64_t submission, const char *device, int64_t superseded, int64_t seed, json_t *jobs,
	struct kettle_error *err)
{
	int rc = db_exec(db, err,
		"INSERT INTO jobs (submission, device, superseded, seed, queued_at, changed_at) VALUES (?1, ?2, ?3, ?4, ?5, "
		"?5)",
		"isiii", submission, device, superseded, seed, db->now_ms);
	if (rc == 0)
		(void)json_array_append_new(jobs, json_pack("{s:I, s:s}", "job", (json_int_t)db_last_id(db), "device", device));
	return rc;
}

int
jobs_accept(
	struct db *db, const struct submission *submission, int64_t *ret_id, json_t **ret_jobs, struct kettle_error *err)
{
	AUTO_JSON json_t *jobs = json_array();
	int64_t code = 0, seed = jobs_seed();
	int rc = blobs_put(db, submission->code, submission->size, &code, err);
	if (rc == 0)
		rc = db_exec(db, err,
			"INSERT INTO submissions (leaderboard, task, user, mode, file_name, code, created_at, practice, note, "
			"capture, request) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			"iiissiiisjs", submission->leaderboard, submission->task, submission->user, submission->mode,
			submission->file_name, code, db->now_ms, (int64_t)submission->practice, submission->note,
			submission->capture, submission->request);
	int64_t id = db_last_id(db);
	for (size_t i = 0; i < json_array_size(submission->devices) && rc == 0; i++)
		rc = insert_job(db, id, json_string_value(json_array_get(submission->devices, i)), 0, seed, jobs, err);
	if (rc < 0)
		return rc;
	AUTO_JSON json_t *data = json_pack("{s:s, s:s, s:O, s:s*}", "mode", submission->mode, "file_name",
		submission->file_name, "jobs", jobs, "request", submission->request);
	rc = db_event(db, "submission.accepted", 'u', submission->leaderboard, id, submission->user, data, err);
	*ret_id = id;
	*ret_jobs = STEAL(jobs);
	return rc;
}

/* ---- read and started by the engine ---- */

int
jobs_open(struct db *db, json_t **ret_jobs, struct kettle_error *err)
{
	return db_array(db, ret_jobs, err,
		"SELECT j.id AS job, s.id AS submission, s.user, j.device, s.mode, j.state, j.attempt, j.unit_key, j.handle, "
		"j.runner, j.plan_hash, j.queued_at, j.started_at, s.leaderboard, b.name AS leaderboard_name FROM jobs j JOIN "
		"submissions s ON s.id = j.submission JOIN leaderboards b ON b.id = s.leaderboard WHERE j.done_at IS NULL "
		"ORDER BY j.id",
		NULL);
}

int
jobs_recent(struct db *db, json_t **ret_recent, struct kettle_error *err)
{
	return db_array(db, ret_recent, err,
		"SELECT device, done_at - started_at AS took_ms FROM (SELECT * FROM jobs ORDER BY id DESC LIMIT 1000) WHERE "
		"state IN ('passed', 'failed', 'timed_out') AND started_at IS NOT NULL ORDER BY id",
		NULL);
}

struct material_row {
	struct job_material material;
	int64_t task;
	bool no_jit_cache;
};

static int
read_material(void *arg, sqlite3_stmt *row)
{
	struct material_row *read = arg;
	const char *code = (const char *)sqlite3_column_text(row, 1);
	read->task = sqlite3_column_int64(row, 0);
	read->material.code = xstrdup(code ? code : "");
	db_copy_text(read->material.mode, sizeof(read->material.mode), row, 2);
	db_copy_text(read->material.device, sizeof(read->material.device), row, 3);
	db_copy_text(read->material.seed, sizeof(read->material.seed), row, 4);
	read->no_jit_cache = sqlite3_column_int(row, 5);
	const char *capture = (const char *)sqlite3_column_text(row, 6);
	read->material.capture = capture ? json_loads(capture, 0, NULL) : NULL;
	return 1;
}

int
jobs_material(struct db *db, int64_t job, struct job_material *ret_material, struct kettle_error *err)
{
	struct material_row read = {0};
	int rc = db_query(db, err, read_material, &read,
		"SELECT s.task, CAST(c.data AS TEXT), s.mode, j.device, j.seed, b.jit_cache = 'no', s.capture FROM jobs j JOIN "
		"submissions s ON s.id = j.submission JOIN blobs c ON c.id = s.code JOIN leaderboards b ON b.id = "
		"s.leaderboard WHERE j.id = ?",
		"i", job);
	if (rc == 0)
		return kettle_fail(err, KETTLE_ENOENT, "Job %lld no longer exists.", (long long)job);
	if (rc > 0)
		rc = blobs_get_task(db, read.task, &read.material.bundle, err);
	if (rc == 0 && read.no_jit_cache)
		json_object_set_new(json_object_get(read.material.bundle, "task"), "jit_cache", json_string("no"));
	if (rc == 0)
		*ret_material = read.material;
	else
		job_material_clear(&read.material);
	return rc;
}

int
jobs_check_running(struct db *db, int64_t job, int64_t attempt, struct kettle_error *err)
{
	struct job read;
	return jobs_load(db, job, "running", attempt, &read, err);
}

void
job_material_clear(struct job_material *material)
{
	json_decref_all(material->bundle, material->capture);
	free(material->code);
}

int
jobs_start(struct db *db, int64_t id, const struct job_unit *unit, int64_t *ret_attempt, struct kettle_error *err)
{
	struct job job;
	int rc = jobs_load(db, id, "queued", 0, &job, err);
	if (rc == 0)
		rc = db_exec(db, err,
			"UPDATE jobs SET state = 'running', attempt = attempt + 1, unit = ?1, unit_key = ?2, runner = ?3, handle = "
			"NULL, started_at = ?4, changed_at = ?4, error = NULL WHERE id = ?5",
			"sssii", unit->label, unit->key, unit->runner, db->now_ms, id);
	if (rc == 0)
		rc = db_exec(
			db, err, "UPDATE submissions SET state = 'running' WHERE id = ? AND state = 'queued'", "i", job.submission);
	if (rc == 0)
		rc = jobs_event(db, &job, "job.started",
			json_pack("{s:I, s:s, s:s, s:I}", "job", (json_int_t)id, "device", job.device, "unit", unit->label,
				"attempt", (json_int_t)job.attempt + 1),
			err);
	if (rc == 0)
		*ret_attempt = job.attempt + 1;
	return rc;
}

int
jobs_set_handle(struct db *db, int64_t id, int64_t attempt, const struct job_handle *handle, struct kettle_error *err)
{
	struct job job;
	int rc = jobs_load(db, id, "running", attempt, &job, err);
	return rc < 0 ? rc
				  : db_exec(db, err, "UPDATE jobs SET handle = ?, runner = ?, plan_hash = ? WHERE id = ?", "sssi",
						handle->text, handle->runner, handle->plan_hash, id);
}

/* ---- the end of a job ---- */

#define STATE(state) state,
static const char *const end_states[] = {JOBS_END_STATES(STATE)};

static const char *
worst_state(const json_t *jobs)
{
	for (size_t i = 0; i < ARRAY_SIZE(end_states); i++) {
		json_array_each(jobs, job) {
			if (strcmp(json_text_or_null(job, "state"), end_states[i]) == 0)
				return end_states[i];
		}
	}
	return "error";
}

static void
set_place(json_t *data, const struct ranking_position *position, int64_t job)
{
	bool best = position->rank && position->job == job;
	json_object_set_new(data, "rank", best ? json_integer(position->rank) : json_null());
	json_object_set_new(data, "of", best ? json_integer(position->of) : json_null());
	json_object_set_new(data, "better", position->rank && !best ? ranking_better(position) : json_null());
}

static int
add_ranks(struct db *db, json_t *jobs, struct kettle_error *err)
{
	json_array_each(jobs, row) {
		struct ranking_position position;
		int rc = ranking_of_job(db, member_int(row, "job"), &position, err);
		if (rc < 0)
			return rc;
		set_place(row, &position, member_int(row, "job"));
	}
	return 0;
}

static int
settle(struct db *db, const struct job *job, struct kettle_error *err)
{
	int64_t open = 0;
	AUTO_JSON json_t *jobs = NULL;
	int rc = db_int(
		db, &open, err, "SELECT count(*) FROM jobs WHERE submission = ? AND done_at IS NULL", "i", job->submission);
	if (rc < 0 || open > 0)
		return rc;
	rc = db_array(db, &jobs, err,
		"SELECT id AS job, device, state, score, low, high, error, " JOBS_CAUSE
		" FROM jobs WHERE submission = ? AND NOT superseded ORDER BY id",
		"i", job->submission);
	if (rc == 0)
		rc = add_ranks(db, jobs, err);
	if (rc < 0)
		return rc;
	const char *state = worst_state(jobs);
	rc = db_exec(db, err, "UPDATE submissions SET state = ?, done_at = ? WHERE id = ?", "sii", state, db->now_ms,
		job->submission);
	if (rc < 0)
		return rc;
	return jobs_event(
		db, job, "submission.done", json_pack("{s:s, s:s, s:O}", "mode", job->mode, "state", state, "jobs", jobs), err);
}

static json_t *
done_data(const struct job *job, const struct verdict *verdict, const struct ranking_change *change)
{
	bool best = change->after.rank && change->after.job == job->id;
	const char *fault = verdict_fault(verdict);
	json_t *data = json_pack("{s:I, s:s, s:s, s:s, s:o, s:o, s:o, s:s?, s:s?, s:s?, s:b}", "job", (json_int_t)job->id,
		"device", job->device, "mode", job->mode, "state", verdict_state_name(verdict->state), "score",
		verdict_seconds(verdict->score.value), "low", verdict_seconds(verdict->score.low), "high",
		verdict_seconds(verdict->score.high), "error", verdict_message(&verdict->why), "fault", fault, "stage",
		verdict->stage, "retriable", fault && strcmp(fault, "machine") == 0);
	if (!data || !change->after.rank || verdict->state != VERDICT_PASSED)
		return data;
	set_place(data, &change->after, job->id);
	json_object_set_new(data, "rank_before", change->before.rank ? json_integer(change->before.rank) : json_null());
	json_object_set_new(data, "previous_score", change->before.rank ? json_real(change->before.score) : json_null());
	json_object_set_new(data, "best", json_boolean(best));
	json_object_set_new(data, "first", json_boolean(best && change->before.rank == 0));
	return data;
}

/*
 * A rerun that says something about the code replaces the job before it. The old one stops counting first: only one job
 * of a device counts.
 */
static int
end_rerun(struct db *db, const struct job *job, enum verdict_state state, struct ranking_change *change,
	struct kettle_error *err)
{
	if (state == VERDICT_ERROR)
		return db_exec(db, err, "UPDATE jobs SET superseded = id WHERE id = ?", "i", job->id);
	int rc = db_exec(db, err, "UPDATE jobs SET superseded = ? WHERE id = ?", "ii", job->id, -job->superseded);
	if (rc == 0)
		rc = db_exec(db, err, "UPDATE jobs SET superseded = 0 WHERE id = ?", "i", job->id);
	if (rc == 0 && strcmp(job->mode, "ranked") == 0)
		rc = ranking_renew(db, job->leaderboard, job->device, job->user, change, err);
	return rc;
}

/* The board's creator hears of a fault of the board itself, which its participants cannot mend. */
static int
tell_creator(struct db *db, const struct job *job, const struct verdict *verdict, struct kettle_error *err)
{
	if (verdict->state == VERDICT_PASSED)
		return board_life_works(db, job->leaderboard, err);
	if (!verdict->blame || strcmp(verdict->blame, "task") != 0)
		return 0;
	AUTO_JSON json_t *data = json_pack("{s:I, s:s, s:s, s:s?}", "job", (json_int_t)job->id, "device", job->device,
		"mode", job->mode, "error", verdict_message(&verdict->why));
	return board_life_fault(db, job->leaderboard, job->submission, verdict->claimed ? job->user : 0, data, err);
}

/* Ends a job for any reason: its row, the ranking, the events, the submission. */
static int
jobs_end(struct db *db, const struct job *job, const struct verdict *verdict, struct kettle_error *err)
{
	AUTO_JSON json_t *compilation = verdict_compilation(verdict);
	struct ranking_change change = {0};
	int rc = db_exec(db, err,
		"UPDATE jobs SET state = ?1, done_at = ?2, changed_at = ?2, handle = NULL, score = nullif(max(?3, 0.0), 0.0), "
		"low = nullif(max(?4, 0.0), 0.0), high = nullif(max(?5, 0.0), 0.0), error = ?6, compilation_json = ?7, "
		"system_json = ?8, timing_json = ?9, spent = ?10, fault = ?12, stage = ?13 WHERE id = ?11",
		"sidddsjjjiiss", verdict_state_name(verdict->state), db->now_ms, verdict->score.value, verdict->score.low,
		verdict->score.high, verdict_message(&verdict->why), compilation, verdict->system, verdict->timing,
		(int64_t)(verdict->state == VERDICT_ERROR && verdict->claimed), job->id, verdict_fault(verdict),
		verdict->stage);
	if (rc == 0 && job->superseded < 0)
		rc = end_rerun(db, job, verdict->state, &change, err);
	else if (rc == 0 && verdict->state == VERDICT_PASSED && strcmp(job->mode, "ranked") == 0)
		rc = ranking_offer(db, job->id, &change, err);
	if (rc == 0)
		rc = jobs_event(db, job, "job.done", done_data(job, verdict, &change), err);
	if (rc == 0)
		rc = tell_creator(db, job, verdict, err);
	return rc < 0 ? rc : settle(db, job, err);
}

/* A reason as it may be kept and shown. */
static char *
clean_reason(const char *reason)
{
	AUTO_BUF struct buf clean = {0};
	size_t len = strlen(reason);
	utf8_sanitize(reason, len < REASON_MAX ? len : REASON_MAX, &clean);
	return buf_take(&clean);
}

/* The limit that a lost attempt counts against: JOB_MAX_ATTEMPTS, JOB_MAX_LOST_WITH_ENGINE, or none. */
enum loss_kind { LOSS_COUNTED, LOSS_UNCOUNTED, LOSS_UNLIMITED };
static const enum loss_kind loss_kinds[] = {
	[KETTLE_LOSS_NODE_FAULT] = LOSS_COUNTED,
	[KETTLE_LOSS_UNKNOWN_JOB] = LOSS_COUNTED,
	[KETTLE_LOSS_CLAIMED] = LOSS_COUNTED,
	[KETTLE_LOSS_UNREACHED] = LOSS_UNCOUNTED,
	[KETTLE_LOSS_NOT_STARTED] = LOSS_UNCOUNTED,
	[KETTLE_LOSS_MISCONFIGURED] = LOSS_UNCOUNTED,
	[KETTLE_LOSS_SPARED] = LOSS_UNCOUNTED,
	[KETTLE_LOSS_UNFIT] = LOSS_UNCOUNTED,
	[KETTLE_LOSS_ENGINE] = LOSS_UNCOUNTED,
	[KETTLE_LOSS_AWAY] = LOSS_UNLIMITED,
	[KETTLE_LOSS_HANDED_BACK] = LOSS_UNLIMITED,
};

static int
give_up(struct db *db, const struct job *job, enum kettle_loss loss, bool believed, const char *reason,
	struct kettle_error *err)
{
	struct verdict verdict = {.state = VERDICT_ERROR, .fault = "machine", .claimed = loss == KETTLE_LOSS_CLAIMED};
	if (loss_kinds[loss] == LOSS_UNCOUNTED)
		(void)kettle_fail(&verdict.why, KETTLE_EUNAVAIL,
			"The runner could not finish the job: %d attempts failed for reasons outside of the job, and the code was "
			"not judged; the last reason was: %s",
			JOB_MAX_LOST_WITH_ENGINE, reason);
	else if (!believed)
		(void)kettle_fail(&verdict.why, KETTLE_EUNAVAIL,
			"%s Your runs have failed like this %d times within an hour on machines where other runs pass, so Kettle "
			"does not try this one again.",
			reason, JOB_CLAIMS);
	else
		(void)kettle_fail(&verdict.why, KETTLE_EUNAVAIL,
			"The runner could not finish the job: its machines failed %d times, and the code was not judged; the last "
			"reason was: %s",
			JOB_MAX_ATTEMPTS, reason);
	int rc = db_exec(db, err, "UPDATE jobs SET loss = ? WHERE id = ?", "si", kettle_loss_name(loss), job->id);
	return rc < 0 ? rc : jobs_end(db, job, &verdict, err);
}

static bool
is_used_up(const struct job *job, enum kettle_loss loss)
{
	switch (loss_kinds[loss]) {
	case LOSS_COUNTED:
		return job->attempt - job->uncounted >= JOB_MAX_ATTEMPTS;
	case LOSS_UNCOUNTED:
		return job->lost_with_engine + 1 >= JOB_MAX_LOST_WITH_ENGINE;
	case LOSS_UNLIMITED:
		break;
	}
	return false;
}

/* Counts one more attempt that failed by the word of the run alone; *ret_believed: whether that word still counts. */
static int
count_claim(struct db *db, const struct job *job, bool *ret_believed, struct kettle_error *err)
{
	int64_t beyond = 0, since = db->now_ms - JOB_CLAIMS_MS;
	int rc = db_exec(
		db, err, "UPDATE jobs SET claimed = claimed + 1, changed_at = ? WHERE id = ?", "ii", db->now_ms, job->id);
	if (rc == 0)
		rc = db_int(db, &beyond, err,
			"SELECT (SELECT sum(j.claimed) FROM submissions s JOIN jobs j ON j.submission = s.id WHERE s.user = ?1 AND "
			"j.changed_at > ?2) > ?3 AND EXISTS (SELECT 1 FROM jobs o JOIN submissions s ON s.id = o.submission WHERE "
			"o.logs AND o.done_at IS NOT NULL AND o.done_at > ?2 AND o.state = 'passed' AND s.user <> ?1 AND "
			"o.unit_key = (SELECT unit_key FROM jobs WHERE id = ?4))",
			"iiii", job->user, since, (int64_t)JOB_CLAIMS, job->id);
	*ret_believed = !beyond;
	return rc;
}

int
jobs_requeue(struct db *db, int64_t id, int64_t attempt, enum kettle_loss loss, bool waits, const char *reason,
	bool *ret_queued, struct kettle_error *err)
{
	struct job job;
	AUTO_FREE char *clean = clean_reason(reason ? reason : "");
	bool believed = true;
	int rc = jobs_load(db, id, "running", attempt, &job, err);
	if (rc == 0 && loss == KETTLE_LOSS_CLAIMED)
		rc = count_claim(db, &job, &believed, err);
	if (rc < 0)
		return rc;
	if (!believed || is_used_up(&job, loss)) {
		rc = give_up(db, &job, loss, believed, clean, err);
		if (rc == 0)
			*ret_queued = false;
		return rc;
	}
	bool counts = loss_kinds[loss] == LOSS_COUNTED;
	rc = db_exec(db, err,
		"UPDATE jobs SET state = 'queued', uncharged_attempts = uncharged_attempts + ?1, lost_with_engine = "
		"lost_with_engine + ?2, unit = NULL, unit_key = "
		"NULL, runner = NULL, handle = NULL, changed_at = ?3, error = ?4, loss = ?6 WHERE id = ?5",
		"iiisis", (int64_t)!counts, (int64_t)(loss_kinds[loss] == LOSS_UNCOUNTED), db->now_ms, waits ? clean : NULL, id,
		kettle_loss_name(loss));
	if (rc == 0 && loss == KETTLE_LOSS_CLAIMED)
		rc = rate_limit_record_attempt(db, job.submission, id, err);
	if (rc == 0)
		rc = jobs_event(db, &job, "job.requeued",
			json_pack("{s:I, s:s, s:I, s:s, s:b, s:s}", "job", (json_int_t)id, "device", job.device, "attempt",
				(json_int_t)attempt, "loss", kettle_loss_name(loss), "spared", !counts, "reason", clean),
			err);
	if (rc == 0)
		*ret_queued = true;
	return rc;
}

/* ---- runs ---- */

static int64_t
end_ns(const struct verdict_entry *run)
{
	return run->outcome.start_ns.value + run->outcome.wall_ns.value;
}

static int
add_job_run(struct db *db, int64_t job, const struct verdict *verdict, const struct verdict_entry *run, int64_t last_ns,
	struct kettle_error *err)
{
	bool secret = run->step.secret, passed = run->judged.state == VERDICT_PASSED;
	int64_t end_at = db->now_ms - (last_ns - end_ns(run)) / 1000000;
	int64_t start_at = end_at - run->outcome.wall_ns.value / 1000000;
	AUTO_JSON json_t *detail = secret ? NULL : verdict_run_detail(run);
	AUTO_JSON json_t *system = secret ? NULL : verdict_run_system(verdict);
	return db_exec(db, err,
		"INSERT INTO runs (job, mode, secret, idx, passed, state, score, low, high, start_at, end_at, message, "
		"result_json, system_json, detail_json) VALUES (?, ?, ?, nullif(?, -1), ?, ?, nullif(max(?, 0.0), 0.0), "
		"nullif(max(?, 0.0), 0.0), nullif(max(?, 0.0), 0.0), ?, ?, ?, ?, ?, ?)",
		"isiiisdddiisjjj", job, run->step.mode, (int64_t)secret, (int64_t)run->step.index, (int64_t)passed,
		secret ? passed ? "passed" : "failed" : verdict_state_name(run->judged.state), run->judged.score.value,
		run->judged.score.low, run->judged.score.high, start_at, end_at,
		secret ? NULL : verdict_message(&run->judged.why), secret ? NULL : run->result, system, detail);
}

static int
add_runs(struct db *db, int64_t job, const struct verdict *verdict, struct kettle_error *err)
{
	int64_t last_ns = 0;
	int rc = 0;
	/*
	 * The stamps are of another machine's clock: the end of the last public run counts as the time at which the verdict
	 * is stored. No time of a public run shows how long the secret runs took.
	 */
	for (size_t i = 0; i < verdict->count; i++)
		if (verdict->entries[i].step.run && !verdict->entries[i].step.secret && end_ns(&verdict->entries[i]) > last_ns)
			last_ns = end_ns(&verdict->entries[i]);
	for (size_t i = 0; i < verdict->count && rc == 0; i++)
		if (verdict->entries[i].step.run)
			rc = add_job_run(db, job, verdict, &verdict->entries[i], last_ns, err);
	return rc;
}

/* Stores what the job's machine reported of itself and of the tools that the job named. */
static int
jobs_learn(struct db *db, const struct job *job, const json_t *system, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	AUTO_JSON json_t *facts = json_pack("{s:O*, s:O*, s:O*}", "level", json_object_get(system, "level"), "tools",
		json_object_get(system, "tools"), "packages", json_object_get(system, "interpreters"));
	int rc =
		json_is_object(system) ? db_object(db, &row, err, "SELECT unit_key FROM jobs WHERE id = ?", "i", job->id) : 0;
	const char *key = json_text_or_null(row, "unit_key");
	return rc == 0 && key ? settings_unit_store_facts(db, job->device, key, facts, true, err) : rc;
}

int
jobs_finish(struct db *db, int64_t id, int64_t attempt, const struct verdict *verdict, struct kettle_error *err)
{
	struct job job;
	int rc = jobs_load(db, id, "running", attempt, &job, err);
	if (rc == 0)
		rc = add_runs(db, id, verdict, err);
	if (rc == 0)
		rc = artifact_store(db, id, verdict->artifacts, err);
	if (rc == 0)
		rc = jobs_learn(db, &job, verdict->system, err);
	return rc < 0 ? rc : jobs_end(db, &job, verdict, err);
}

int
jobs_recorded(struct db *db, int64_t id, int64_t attempt, int64_t record_ns, struct kettle_error *err)
{
	return db_exec(db, err,
		"UPDATE jobs SET timing_json = json_set(timing_json, '$.parts.record_ns', ?) WHERE id = ? AND attempt = ? AND "
		"json_type(timing_json, '$.parts') = 'object'",
		"iii", record_ns, id, attempt);
}

int
jobs_of_board(struct db *db, int64_t leaderboard, json_t **ret_jobs, struct kettle_error *err)
{
	return db_array(db, ret_jobs, err,
		"SELECT j.id AS job, j.device, j.submission FROM jobs j JOIN submissions s ON s.id = j.submission WHERE "
		"j.done_at IS NULL AND s.leaderboard = ? ORDER BY j.id",
		"i", leaderboard);
}

int
jobs_shown(struct db *db, const json_t *numbers, json_t **ret_jobs, struct kettle_error *err)
{
	return db_array(db, ret_jobs, err,
		"SELECT j.id AS job, s.id AS submission, s.user, b.name AS leaderboard, s.mode, j.started_at AS since_iso, "
		"b.visibility = 'public' AND NOT " DB_UNOPENED
		" AS public_bool FROM json_each(?) n CROSS JOIN jobs j ON j.id = n.value CROSS JOIN submissions s ON s.id = "
		"j.submission CROSS JOIN leaderboards b ON b.id = s.leaderboard",
		"j", numbers);
}

int
jobs_of(struct db *db, int64_t submission, json_t **ret_jobs, struct kettle_error *err)
{
	return db_array(db, ret_jobs, err,
		"SELECT id AS job, device, attempt FROM jobs WHERE submission = ? AND done_at IS NULL ORDER BY id", "i",
		submission);
}

int
jobs_cancel(struct db *db, int64_t submission, json_t **ret_jobs, struct kettle_error *err)
{
	AUTO_JSON json_t *jobs = NULL;
	struct job job = {0};
	int rc = jobs_of(db, submission, &jobs, err);
	if (rc < 0)
		return rc;
	if (json_array_size(jobs) == 0)
		return kettle_fail(err, KETTLE_ECONFLICT, "Submission %lld has already ended.", (long long)submission);
	rc = db_query(db, err, read_job, &job,
		"SELECT id, leaderboard, user, 0, 0, '', mode, state, 0, 0 FROM submissions WHERE id = ?", "i", submission);
	if (rc >= 0)
		rc = db_exec(db, err,
			"UPDATE jobs SET state = 'cancelled', done_at = ?1, changed_at = ?1, handle = NULL, error = 'It was "
			"cancelled.', superseded = iif(superseded < 0, id, superseded) WHERE submission = ?2 AND done_at IS NULL",
			"ii", db->now_ms, submission);
	if (rc == 0)
		rc = jobs_event(db, &job, "submission.cancelled", json_pack("{s:O}", "jobs", jobs), err);
	if (rc == 0)
		rc = settle(db, &job, err);
	if (rc == 0)
		*ret_jobs = STEAL(jobs);
	return rc;
}

int
jobs_cancel_all(struct db *db, int64_t user, json_t *cancelled, struct kettle_error *err)
{
	AUTO_JSON json_t *open = NULL;
	int rc = db_array(db, &open, err,
		"SELECT DISTINCT j.submission AS id FROM jobs j JOIN submissions s ON s.id = j.submission JOIN leaderboards b "
		"ON b.id = s.leaderboard WHERE j.done_at IS NULL AND s.user = ? ORDER BY 1",
		"i", user);
	for (size_t i = 0; i < json_array_size(open) && rc == 0; i++) {
		AUTO_JSON json_t *jobs = NULL;
		json_t *id = json_object_get(json_array_get(open, i), "id");
		rc = jobs_cancel(db, json_integer_value(id), &jobs, err);
		if (rc == 0)
			(void)json_array_append(cancelled, id);
	}
	return rc;
}

/* ---- once more ---- */

static int
rerun_one(struct db *db, int64_t submission, const char *device, json_t *jobs, struct kettle_error *err)
{
	int64_t current = 0, open = 0;
	int rc = db_int(db, &open, err, "SELECT count(*) FROM jobs WHERE submission = ? AND device = ? AND done_at IS NULL",
		"is", submission, device);
	if (rc == 0 && open > 0)
		return kettle_fail(err, KETTLE_ECONFLICT,
			"Submission %lld is still queued or running on `%s`: wait until it ends, or cancel it.",
			(long long)submission, device);
	if (rc == 0)
		rc = db_int(db, &current, err, "SELECT id FROM jobs WHERE submission = ? AND device = ? AND NOT superseded",
			"is", submission, device);
	if (rc == KETTLE_ENOENT)
		return kettle_fail(err, rc, "Submission %lld was not submitted to `%s`.", (long long)submission, device);
	return rc < 0 ? rc : insert_job(db, submission, device, -current, jobs_seed(), jobs, err);
}

int
jobs_rerun(struct db *db, int64_t submission, const json_t *devices, json_t **ret_jobs, struct kettle_error *err)
{
	AUTO_JSON json_t *jobs = json_array(), *row = NULL;
	int rc = db_object(
		db, &row, err, "SELECT leaderboard, user, mode, file_name FROM submissions WHERE id = ?", "i", submission);
	for (size_t i = 0; i < json_array_size(devices) && rc == 0; i++)
		rc = rerun_one(db, submission, json_string_value(json_array_get(devices, i)), jobs, err);
	if (rc == 0)
		rc = db_exec(db, err, "UPDATE submissions SET state = 'queued', done_at = NULL WHERE id = ?", "i", submission);
	if (rc < 0)
		return rc;
	AUTO_JSON json_t *data = json_pack("{s:O, s:O, s:O}", "mode", json_object_get(row, "mode"), "file_name",
		json_object_get(row, "file_name"), "jobs", jobs);
	rc = db_event(
		db, "submission.rerun", 'u', member_int(row, "leaderboard"), submission, member_int(row, "user"), data, err);
	if (rc == 0)
		*ret_jobs = STEAL(jobs);
	return rc;
}
