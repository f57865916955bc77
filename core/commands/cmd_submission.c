/* SPDX-License-Identifier: MIT */
/* Commands on submissions: list, count, show, cancel, and the files that their jobs left. */
#include <config.h>

#include "commands/handlers.h"

#include "session/core.h"

#include "base/base.h"
#include "base/text.h"
#include "judge/limit.h"
#include "model/artifact.h"
#include "model/board.h"
#include "model/events.h"
#include "model/jobs.h"
#include "model/submissions.h"
#include "model/user.h"

#include <math.h>

/* ---- list ---- */

int
cmd_submission_list(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board = {0};
	const char *name = json_text_or_null(call->args, "leaderboard");
	bool all = member_true(call->args, "all");
	if (all && !name)
		return kettle_blame(err, KETTLE_CAUSE_NONE, "all",
			kettle_fail(err, KETTLE_EINVAL, "`all` lists the submissions of one leaderboard: name it."));
	int rc = all    ? board_find_owned(call->db, call->actor, name, &board, err)
			 : name ? board_find_own(call->db, call->actor, name, &board, err)
					: 0;
	const struct submission_list list = {.user = board_user(call->actor),
		.leaderboard = board.id,
		.all = all,
		.state = json_text_or_null(call->args, "state"),
		.before = member_int(call->args, "before"),
		.limit = member_int(call->args, "limit"),
		.offset = member_int(call->args, "offset")};
	return rc < 0 ? rc : submission_list(call->db, &list, ret_result, err);
}

int
cmd_submission_feed(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	int64_t before = member_int(call->args, "before");
	int rc = board_find_visible(call->db, call->actor, json_text_or_null(call->args, "leaderboard"), &board, err);
	if (rc == 0)
		rc = submission_feed(call->db, call->actor, &board, before ? before : INT64_MAX,
			member_int(call->args, "limit"), ret_result, err);
	if (rc == 0)
		(void)json_object_set_new(*ret_result, "leaderboard", json_string(board.name));
	return rc;
}

/* ---- count ---- */

/* All may count all submissions of a leaderboard that they see, and their own; those of another user only its creator. */
int
cmd_submission_count(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board = {0};
	struct user user = {0};
	struct submission_filter filter = {.mode = json_text_or_null(call->args, "mode"),
		.state = json_text_or_null(call->args, "state"),
		.device = json_text_or_null(call->args, "device")};
	int64_t count = 0;
	bool more = false;
	const json_t *named = json_object_get(call->args, "of");
	const char *name = json_text_or_null(call->args, "leaderboard");
	int rc = board_find_visible(call->db, call->actor, name, &board, err);
	if (rc == 0 && named && !board_owns(call->actor, &board)) {
		/* Other actors learn nothing about users, not even whether they exist. */
		struct kettle_error none = {0};
		bool own = user_find_argument(call->db, named, &user, &none) == 0 && user.id == call->actor->user;
		rc = own ? 0
				 : kettle_fail(err, KETTLE_EACCES,
					   "Only the leaderboard's creator and admins may count the submissions of another user.");
	} else if (rc == 0 && named) {
		rc = user_find_argument(call->db, named, &user, err);
	}
	filter.leaderboard = board.id;
	filter.user = user.id;
	if (rc == 0)
		rc = submission_count(call->db, &filter, &count, &more, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:I, s:b}", "leaderboard", board.name, "count", (json_int_t)count, "more", more);
	return rc;
}

/* ---- one submission ---- */

int
submission_find(const struct command_call *call, int64_t id, bool judge, json_t **ret_row, struct kettle_error *err)
{
	const struct actor *actor = call->actor;
	AUTO_JSON json_t *row = NULL;
	int rc = id ? 0 : submission_latest(call->db, actor->user, &id, err);
	if (rc == KETTLE_ENOENT)
		return kettle_fail(err, KETTLE_ENOENT, "You have no submissions.");
	if (rc == 0)
		rc = submission_get(call->db, actor, id, &row, err);
	/* A submission on a leaderboard that the actor may not see gets the same answer as none. */
	if (rc == KETTLE_ENOENT || (rc == 0 && !member_int(row, "seen") && member_int(row, "user") != actor->user))
		return kettle_fail(err, KETTLE_ENOENT, "There is no submission %lld.", (long long)id);
	if (rc < 0)
		return rc;
	(void)json_object_del(row, "seen");
	bool own =
		actor->user && (member_int(row, "user") == actor->user || (judge && member_int(row, "creator") == actor->user));
	if (actor->role != RIGHT_ADMIN && !own)
		return kettle_fail(err, KETTLE_EACCES, "Submission %lld belongs to another user.", (long long)id);
	if (member_int(row, "user") != actor->user)
		(void)json_object_set_new(row, "note", json_null());
	*ret_row = STEAL(row);
	return 0;
}

/* ---- show ---- */

/* Removes members for a reader who is not the owner of the submissions. */
static void
name_better(const struct actor *actor, const json_t *row, const json_t *jobs)
{
	if (member_int(row, "user") == actor->user)
		return;
	json_array_each(jobs, job) {
		json_t *better = json_object_get(job, "better");
		if (json_is_object(better))
			(void)json_object_set(better, "user_name", json_object_get(row, "user_name"));
	}
}

/* ---- limits ---- */

static void
add_job_limit(json_t *job, const json_t *task, const struct limit_peak *peak)
{
	double limit = limit_of_score(task, peak), score = member_number(job, "score");
	json_array_each(json_object_get(job, "runs"), run) {
		bool timed = member_is(run, "mode", "benchmark") || member_is(run, "mode", "leaderboard");
		json_t *limits =
			timed && !member_true(run, "secret") ? limit_of_run(task, json_object_get(run, "result"), peak) : NULL;
		if (limits)
			(void)json_object_set_new(run, "limits", limits);
	}
	if (limit <= 0 || !isfinite(score))
		return;
	(void)json_object_update_new(job, json_pack("{s:f, s:f}", "limit", limit, "share", limit / score));
}

/* Adds what the jobs' devices could do at best, where that is known, by the task for which they were submitted. */
static int
add_limits(const struct command_call *call, const json_t *row, json_t *jobs, struct kettle_error *err)
{
	AUTO_JSON json_t *task = NULL;
	int rc = 0;
	json_array_each(jobs, job) {
		struct limit_peak peak = limit_peak_of(board_configured_device(call->env, json_text_or_empty(job, "device")));
		if (rc < 0 || (peak.bytes <= 0 && peak.operations <= 0))
			continue;
		rc = task ? 0 : submission_task(call->db, member_int(row, "id"), &task, err);
		if (rc == 0)
			add_job_limit(job, task, &peak);
	}
	return rc;
}

/* KernelBot's word for a state. */
static const char *
status_of_state(const char *state)
{
	static const struct {
		const char *state, *status;
	} words[] = {{"queued", "pending"}, {"running", "running"}, {"passed", "succeeded"}, {"timed_out", "timed_out"}};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(words[i].state, state) == 0)
			return words[i].status;
	return "failed";
}

/* The state of all jobs until they have ended: `initial` as long as none has begun. */
static const char *
open_status(const json_t *jobs)
{
	bool begun = false;
	json_array_each(jobs, job) {
		const char *state = json_text_or_empty(job, "state");
		if (strcmp(state, "queued") != 0)
			return "running";
		begun = begun || member_int(job, "attempt") > 0;
	}
	return begun ? "pending" : "initial";
}

static bool
only_secret_failed(const json_t *job)
{
	bool secret = false;
	json_array_each(json_object_get(job, "runs"), run) {
		bool passed = member_true(run, "passed");
		if (!passed && !member_true(run, "secret"))
			return false;
		secret = secret || !passed;
	}
	return secret;
}

/* The sentence of a job that did not pass. New reference. */
static json_t *
job_error(const json_t *job)
{
	const json_t *error = json_object_get(job, "error");
	if (json_is_string(error))
		return json_incref((json_t *)error);
	if (only_secret_failed(job))
		return json_string("It passed the public runs, but not the secret ones.");
	return json_sprintf(
		"It %s.", strcmp(json_text_or_empty(job, "state"), "timed_out") == 0 ? "took too long" : "did not pass");
}

static json_t *
worst_error(const json_t *row, const json_t *jobs)
{
	const char *state = json_text_or_empty(row, "state");
	json_array_each(jobs, job) {
		if (strcmp(json_text_or_empty(job, "state"), state) != 0)
			continue;
		json_t *error = job_error(job);
		if (json_array_size(jobs) == 1)
			return error;
		json_t *named = json_sprintf("%s: %s", json_text_or_empty(job, "device"), json_string_value(error));
		json_decref(error);
		return named;
	}
	return json_null();
}

static json_t *
status_object(const json_t *row, const json_t *jobs)
{
	const char *state = json_text_or_empty(row, "state"), *status = status_of_state(state), *beat = "";
	const json_t *flagged = json_object_get(row, "flagged");
	json_t *error = json_null();
	json_array_each(jobs, job) {
		if (strcmp(json_text_or_empty(job, "changed"), beat) > 0)
			beat = json_text_or_empty(job, "changed");
	}
	if (json_is_string(flagged)) {
		status = "hacked";
		error = json_sprintf("It was marked as a cheat%s%s", *json_text_or_empty(row, "flagged") ? ": " : ".",
			json_text_or_empty(row, "flagged"));
	} else if (!member_true(row, "done")) {
		status = open_status(jobs);
	} else if (strcmp(state, "passed") != 0) {
		error = worst_error(row, jobs);
	}
	return json_pack("{s:s, s:o, s:s}", "status", status, "error", error, "last_heartbeat", beat);
}

/* The runs of all jobs in KernelBot's form: a result only of public test and benchmark runs. */
static json_t *
field_runs(const json_t *jobs)
{
	json_t *all = json_array();
	json_array_each(jobs, job) {
		json_array_each(json_object_get(job, "runs"), run) {
			const char *mode = json_text_or_empty(run, "mode");
			bool shown = strcmp(mode, "test") == 0 || strcmp(mode, "benchmark") == 0;
			(void)json_array_append_new(
				all, json_pack("{s:O?, s:O?, s:s, s:O, s:O, s:O?, s:O, s:O?}", "start_time",
						 json_object_get(run, "start_time"), "end_time", json_object_get(run, "end_time"), "mode", mode,
						 "secret", json_object_get(run, "secret"), "runner", json_object_get(job, "device"), "score",
						 json_object_get(run, "score"), "passed", json_object_get(run, "passed"), "result",
						 shown ? json_object_get(run, "result") : NULL));
		}
	}
	return all;
}

static json_t *
ranks(const json_t *jobs)
{
	json_t *all = json_object();
	json_array_each(jobs, job) {
		json_t *rank = json_object_get(json_object_get(job, "rank"), "rank");
		(void)json_object_set_new(all, json_text_or_empty(job, "device"), rank ? json_incref(rank) : json_null());
	}
	return all;
}

static int
fail_other(int64_t id, const struct board *board, bool counts, struct kettle_error *err)
{
	if (counts && board->code == BOARD_CODE_ENDED && board->deadline_at)
		return kettle_fail(err, KETTLE_EACCES,
			"Submission %lld belongs to another user; its code can be read once the deadline of `%s` has passed.",
			(long long)id, board->name);
	return kettle_fail(err, KETTLE_EACCES, "Submission %lld belongs to another user.", (long long)id);
}

/* EACCES unless the actor may read it. */
static int
check_open(struct db *db, const struct actor *actor, int64_t id, const json_t *row, struct kettle_error *err)
{
	struct board board;
	bool sees = false;
	int rc = board_find(db, actor, json_text_or_null(row, "leaderboard_name"), &board, err);
	if (rc == 0)
		rc = board_may_see(db, actor, &board, &sees, err);
	if (rc == 0 && !sees)
		return fail_other(id, &board, false, err);
	if (rc == 0 && !board_code_open(&board, db->now_ms))
		rc = fail_other(id, &board, true, err);
	return rc;
}

int
submission_find_open(const struct command_call *call, int64_t id, json_t **ret_row, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	struct board none = {0};
	int rc = submission_get_open(call->db, id, &row, err);
	if (rc == KETTLE_ENOENT)
		return fail_other(id, &none, false, err);
	if (rc == 0)
		rc = check_open(call->db, call->actor, id, row, err);
	if (rc == 0)
		*ret_row = STEAL(row);
	return rc;
}

/*
 * submission.show for a user other than the owner, while the `code` of the board allows it: the answer with the code,
 * and for each device on which it passed state, score and rank; nothing of its runs. EACCES: not for this actor, with a
 * sentence that says when, if ever; ENOENT.
 */
static int
show_to_others(const struct command_call *call, json_t **ret_object, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL, *jobs = NULL;
	int rc = submission_find_open(call, member_int(call->args, "id"), &row, err);
	if (rc == 0)
		rc = submission_jobs_open(call->db, row, &jobs, err);
	if (rc == 0)
		rc = add_limits(call, row, jobs, err);
	if (rc < 0)
		return rc;
	name_better(call->actor, row, jobs);
	json_t *more = json_pack("{s:[], s:{s:s, s:n, s:O}, s:o, s:O}", "runs", "job", "status", "succeeded", "error",
		"last_heartbeat", json_object_get(row, "submission_time"), "rank", ranks(jobs), "jobs", jobs);
	(void)json_object_del(row, "user");
	json_object_update_new(row, more);
	*ret_object = STEAL(row);
	return 0;
}

int
cmd_submission_show(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL, *jobs = NULL, *code_row = NULL;
	int rc = submission_find(call, member_int(call->args, "id"), true, &row, err);
	if (rc == KETTLE_EACCES)
		return show_to_others(call, ret_result, err);
	if (rc == 0)
		rc = submission_jobs(call->db, row, &jobs, err);
	if (rc == 0)
		rc = add_limits(call, row, jobs, err);
	if (rc == 0)
		rc = submission_code(call->db, member_int(row, "id"), &code_row, err);
	if (rc < 0)
		return rc;
	name_better(call->actor, row, jobs);
	json_t *more = json_pack("{s:O, s:O, s:o, s:o, s:o, s:O}", "code", json_object_get(code_row, "code"), "source",
		json_object_get(code_row, "source"), "runs", field_runs(jobs), "job", status_object(row, jobs), "rank",
		ranks(jobs), "jobs", jobs);
	(void)json_object_del(row, "user");
	(void)json_object_del(row, "creator");
	(void)json_object_update_new(row, more);
	*ret_result = STEAL(row);
	return 0;
}

void
add_submission_places(const struct core *core, json_t *result)
{
	json_array_each(json_object_get(result, "jobs"), job) {
		AUTO_JSON json_t *position = engine_queue_position(core->engine, member_int(job, "job"), 0);
		if (!position || (!member_is(job, "state", "queued") && !member_is(job, "state", "running")))
			continue;
		/* The database has the same reason for a job that waits for units, and null for any other job. */
		if (json_object_get(position, "waits"))
			(void)json_object_set(job, "waits", json_object_get(position, "waits"));
		json_object_update_missing(job, position);
	}
}

/* ---- watch ---- */

/* The events are read before the jobs: a change in between is told twice rather than not at all. */
int
cmd_submission_watch(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL, *jobs = NULL;
	int64_t seq = 0, reruns;
	int rc = submission_find(call, member_int(call->args, "id"), false, &row, err);
	if (rc == 0)
		rc = events_last(call->db, &seq, err);
	if (rc == 0)
		rc = submission_open_jobs(call->db, member_int(row, "id"), &jobs, &reruns, err);
	if (rc == 0)
		*ret_result = json_pack("{s:I, s:O, s:O, s:O, s:O, s:I}", "id", member_int(row, "id"), "leaderboard",
			json_object_get(row, "leaderboard_name"), "mode", json_object_get(row, "mode"), "done",
			json_object_get(row, "done"), "jobs", jobs, "seq", (json_int_t)seq);
	return rc;
}

/* ---- cancel ---- */

/* A user cannot keep an old result by cancelling a rerun. */
static int
check_rerun(struct db *db, const struct actor *actor, int64_t id, struct kettle_error *err)
{
	AUTO_JSON json_t *jobs = NULL;
	int64_t reruns = 0;
	if (actor->role == RIGHT_ADMIN)
		return 0;
	int rc = submission_open_jobs(db, id, &jobs, &reruns, err);
	return rc == 0 && reruns > 0 ? kettle_fail(err, KETTLE_EACCES,
									   "Submission %lld is being rerun for the leaderboard's creator or an admin: only "
									   "an admin may cancel the rerun.",
									   (long long)id)
								 : rc;
}

int
cmd_submission_cancel(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL, *jobs = NULL;
	int rc = submission_find(call, member_int(call->args, "id"), false, &row, err);
	if (rc == 0)
		rc = check_rerun(call->db, call->actor, member_int(row, "id"), err);
	if (rc == 0)
		rc = jobs_cancel(call->db, member_int(row, "id"), &jobs, err);
	if (rc == 0)
		*ret_result = json_pack("{s:I, s:O}", "id", member_int(row, "id"), "jobs", jobs);
	return rc;
}

/* ---- files that jobs left ---- */

int
cmd_submission_download(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	int rc = submission_find(call, member_int(call->args, "id"), true, &row, err);
	return rc < 0 ? rc : artifact_list(call->db, member_int(row, "id"), ret_result, err);
}

/* The file's row for an actor who may download it. */
static int
find_artifact(const struct command_call *call, int64_t id, json_t **ret_row, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL, *submission = NULL;
	int rc = artifact_get(call->db, id, &row, err);
	if (rc == KETTLE_ENOENT)
		return kettle_fail(err, rc, "There is no file with the number %lld.", (long long)id);
	if (rc == 0)
		rc = submission_find(call, member_int(row, "submission"), true, &submission, err);
	if (rc < 0)
		return rc;
	(void)json_object_del(row, "submission");
	*ret_row = STEAL(row);
	return 0;
}

int
cmd_artifact_open(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	int64_t id = member_int(call->args, "artifact");
	AUTO_JSON json_t *row = NULL;
	AUTO_FREE char *path = NULL;
	int rc = find_artifact(call, id, &row, err);
	if (rc == 0)
		rc = artifact_lend(call->db, call->env->spool, call->env->links, id, &path, err);
	if (rc < 0)
		return rc;
	(void)json_object_set_new(row, "path", json_string(path));
	*ret_result = STEAL(row);
	return 0;
}

int
cmd_submission_artifact(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	int64_t id = member_int(call->args, "artifact"), offset = member_int(call->args, "offset");
	AUTO_JSON json_t *row = NULL;
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	int rc = find_artifact(call, id, &row, err);
	if (rc == 0)
		rc = artifact_read(call->db, call->env->spool, id, offset, &data, &size, err);
	if (rc < 0)
		return rc;
	AUTO_FREE char *base64 = base64_encode(data, size);
	(void)json_object_set_new(row, "offset", json_integer(offset));
	(void)json_object_set_new(row, "base64", json_string(base64));
	*ret_result = STEAL(row);
	return 0;
}

/* ---- deletion ---- */

int
cmd_submission_delete(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	int rc = submission_find(call, member_int(call->args, "id"), false, &row, err);
	if (rc == 0 && json_is_string(json_object_get(row, "flagged")) && call->actor->role != RIGHT_ADMIN)
		rc = kettle_fail(err, KETTLE_EACCES,
			"Submission %lld was marked as a cheat: it stays as evidence, and only an admin may delete it.",
			(long long)member_int(row, "id"));
	AUTO_JSON json_t *rows = json_pack("[O*]", row);
	if (rc == 0)
		rc = submission_delete(call->db, rows, err);
	if (rc == 0)
		*ret_result = json_pack("{s:I, s:s}", "id", member_int(row, "id"), "status", "ok");
	return rc;
}

int
cmd_submission_delete_own(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board = {0};
	AUTO_JSON json_t *rows = NULL;
	int64_t kept = 0, left = 0;
	int64_t user = board_user(call->actor);
	const char *name = json_text_or_null(call->args, "leaderboard");
	int rc = name ? board_find_own(call->db, call->actor, name, &board, err) : 0;
	if (rc == 0)
		rc = submission_own_part(call->db, user, board.id, OWN_DELETED_PART, &rows, err);
	if (rc == 0 && json_array_size(rows) > 0)
		rc = submission_delete(call->db, rows, err);
	if (rc == 0)
		rc = submission_own_left(call->db, user, board.id, &left, &kept, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s?, s:I, s:I, s:b}", "leaderboard", name ? board.name : NULL, "submissions",
			member_int(call->before, "submissions") + (json_int_t)json_array_size(rows), "kept", (json_int_t)kept,
			"more", left > 0);
	return rc;
}

int
cmd_submission_delete_all(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	struct board board;
	struct user user;
	AUTO_JSON json_t *rows = NULL;
	bool flagged = false;
	json_int_t jobs = 0, runs = 0;
	int rc = board_find_owned(call->db, call->actor, json_text_or_null(call->args, "leaderboard"), &board, err);
	if (rc == 0)
		rc = user_find_argument(call->db, json_object_get(call->args, "user"), &user, err);
	if (rc == 0)
		rc = submission_all_of(call->db, board.id, user.id, &rows, err);
	json_array_each(rows, row) {
		flagged = flagged || member_true(row, "flagged");
		jobs += member_int(row, "jobs");
		runs += member_int(row, "runs");
	}
	if (rc == 0 && flagged && call->actor->role != RIGHT_ADMIN)
		rc = kettle_fail(err, KETTLE_EACCES,
			"`%s` has submissions that were marked as cheats: they stay as evidence, and only an admin may delete "
			"them.",
			user.name);
	if (rc == 0)
		rc = submission_delete(call->db, rows, err);
	if (rc == 0)
		*ret_result = json_pack("{s:s, s:s, s:I, s:I, s:I}", "leaderboard", board.name, "user_name", user.name,
			"submissions", (json_int_t)json_array_size(rows), "jobs", jobs, "runs", runs);
	return rc;
}
