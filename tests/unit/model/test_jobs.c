/* SPDX-License-Identifier: MIT */
/* A job's way from queued to its verdict, and every way that does not lead there. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "lib/unit_test.h"
#include "model/board.h"
#include "model/jobs.h"
#include "task/task.h"

#include <stdlib.h>
#include <string.h>

COMMANDS_FIXTURE_SET_UP_BY_FILE
static int64_t job;

static int
setup(void **state)
{
	(void)state;
	commands_open(&c);
	commands_board(&c, "arena", NULL);
	commands_submit(&c, "alice", "arena", "ranked");
	job = fixture_int(&c.f, "SELECT max(id) FROM jobs");
	return 0;
}

struct call {
	int64_t job, attempt;
	enum kettle_loss loss;
	bool queued;
	const char *text;
	json_t *json;
	struct job_material material;
};

static int
start_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct call *call = arg;
	return jobs_start(db, call->job, &(struct job_unit){"CPU.0", "CPU", "local"}, &call->attempt, err);
}

static int
requeue_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct call *call = arg;
	return jobs_requeue(db, call->job, call->attempt, call->loss, false, call->text, &call->queued, err);
}

static int
finish_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct call *call = arg;
	return commands_jobs_finish(db, call->job, call->attempt, call->json, err);
}

static int
handle_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct call *call = arg;
	const struct job_handle handle = {call->text, "far", "5e1f"};
	return jobs_set_handle(db, call->job, call->attempt, &handle, err);
}

static int
open_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct call *call = arg;
	return jobs_open(db, &call->json, err);
}

static int
material_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct call *call = arg;
	return jobs_material(db, call->job, &call->material, err);
}

static struct call
started(void)
{
	struct call call = {.job = job};
	struct kettle_error err = {0};
	if (fixture_write(&c.f, start_op, &call, &err) < 0)
		fail_msg("%s", err.message);
	return call;
}

static void
conflict(store_op op, struct call *call)
{
	struct kettle_error err = {0};
	assert_int_equal(fixture_write(&c.f, op, call, &err), KETTLE_ECONFLICT);
}

static void
test_open_and_material(void **state)
{
	(void)state;
	struct call call = {.job = job};
	struct kettle_error err = {0};
	assert_int_equal(fixture_query(&c.f, open_op, &call, &err), 0);
	assert_int_equal(json_array_size(call.json), 1);
	assert_int_equal(commands_number(call.json, "0.job"), job);
	assert_string_equal(commands_text(call.json, "0.state"), "queued");
	assert_string_equal(commands_text(call.json, "0.device"), "CPU");
	assert_string_equal(commands_text(call.json, "0.leaderboard_name"), "arena");
	assert_int_equal(commands_number(call.json, "0.attempt"), 0);
	json_decref(STEAL(call.json));
	/* What the leaderboard says besides the task's own. */
	fixture_sql(&c.f, "UPDATE boards SET jit_cache = 'no'");
	assert_int_equal(fixture_query(&c.f, material_op, &call, &err), 0);
	assert_string_equal(commands_text(call.material.bundle, "task.jit_cache"), "no");
	job_material_clear(&call.material);
	fixture_sql(&c.f, "UPDATE boards SET jit_cache = 'yes'");
	assert_int_equal(fixture_query(&c.f, material_op, &call, &err), 0);
	struct job_material *material = &call.material;
	assert_null(commands_at(material->bundle, "task.jit_cache"));
	assert_string_equal(material->code, "int a;\n");
	assert_string_equal(material->mode, "ranked");
	char *end = NULL;
	long long seed = strtoll(material->seed, &end, 10);
	assert_true(*end == '\0' && seed >= 0 && seed <= 0x7fffffff);
	/* The task comes back as it was checked: it can be checked again, and planned. */
	AUTO_PLAN struct plan *plan = NULL;
	AUTO_JSON json_t *bundle = NULL, *device = json_pack("{s:s}", "name", "CPU");
	const json_t *task = material->bundle;
	json_t *files = json_object_get(task, "files");
	assert_string_equal(commands_text(json_object_get(files, "eval.cpp"), "text"), "int main;\n");
	if (task_check_bundle(c.env.languages, task, &bundle, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(json_equal(bundle, task));
	if (plan_make(c.env.languages, task, "int a;\n", "ranked", device, material->seed, material->capture, &plan, &err) <
		0)
		fail_msg("%s", err.message);
	job_material_clear(material);
}

static void
test_attempts(void **state)
{
	(void)state;
	struct call call = started();
	assert_int_equal(call.attempt, 1);
	conflict(start_op, &call);
	assert_string_equal(commands_text(fixture_event(&c.f, "job.started"), "data.unit"), "CPU.0");
	struct call wrong = {.job = job, .attempt = 7, .text = "h", .json = json_pack("{s:s}", "state", "passed")};
	conflict(handle_op, &wrong);
	conflict(finish_op, &wrong);
	conflict(requeue_op, &wrong);
	json_decref(wrong.json);
	call.text = "handle";
	assert_int_equal(fixture_write(&c.f, handle_op, &call, NULL), 0);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM jobs WHERE handle = 'handle' AND state = 'running'"), 1);
	/* Handed back any number of times: that costs no attempt. */
	for (int i = 0; i < 5; i++) {
		call.loss = KETTLE_LOSS_HANDED_BACK;
		call.text = "the engine stopped";
		assert_int_equal(fixture_write(&c.f, requeue_op, &call, NULL), 0);
		assert_true(call.queued);
		call = started();
	}
	assert_int_equal(call.attempt, 6);
	/* The engine's own ends cost none either, up to a limit of their own. */
	for (int i = 0; i < JOB_MAX_LOST_WITH_ENGINE - 1; i++) {
		call.loss = KETTLE_LOSS_ENGINE;
		assert_int_equal(fixture_write(&c.f, requeue_op, &call, NULL), 0);
		assert_true(call.queued);
		call = started();
	}
	for (int i = 0; i < JOB_MAX_ATTEMPTS; i++) {
		call.text = "lost\x1b[31m";
		call.loss = KETTLE_LOSS_NODE_FAULT;
		assert_int_equal(fixture_write(&c.f, requeue_op, &call, NULL), 0);
		assert_true(call.queued == (i < JOB_MAX_ATTEMPTS - 1));
		if (call.queued)
			call = started();
	}
	const json_t *done = fixture_event(&c.f, "job.done");
	assert_string_equal(commands_text(done, "data.state"), "error");
	assert_non_null(strstr(commands_text(done, "data.error"), "failed 3 times"));
	assert_null(strchr(commands_text(done, "data.error"), '\x1b'));
	assert_int_equal(fixture_events(&c.f, "submission.done"), 1);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM submissions WHERE state = 'error' AND done_at > 0"), 1);
	conflict(start_op, &call);
}

/* What only the run says is believed so often, and no more where the others' runs pass. */
static void
test_claims(void **state)
{
	(void)state;
	struct call call = started();
	call.loss = KETTLE_LOSS_CLAIMED;
	call.text = "It says that the GPU failed.";
	fixture_sql(&c.f, "UPDATE jobs SET claimed = 6");
	assert_int_equal(fixture_write(&c.f, requeue_op, &call, NULL), 0);
	assert_true(call.queued); /* nobody else was here */
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM rate_spent WHERE submission = 1"), 1);
	call = started();
	fixture_sql(&c.f,
		"INSERT INTO users (id, name, created_at) VALUES (77, 'other', 1);"
		"INSERT INTO submissions (id, leaderboard, task, user, mode, file_name, code, created_at) SELECT 777, "
		"leaderboard, task, 77, mode, file_name, code, created_at FROM submissions WHERE id = 1;"
		"INSERT INTO jobs (submission, device, state, seed, queued_at, changed_at, done_at, unit, unit_key) "
		"SELECT 777, device, 'passed', 1, queued_at, changed_at, changed_at, unit, unit_key FROM jobs WHERE "
		"submission = 1");
	call.loss = KETTLE_LOSS_CLAIMED;
	call.text = "It says that the GPU failed.";
	assert_int_equal(fixture_write(&c.f, requeue_op, &call, NULL), 0);
	assert_false(call.queued);
	assert_int_equal(
		fixture_int(&c.f, "SELECT count(*) FROM jobs WHERE submission = 1 AND state = 'error' AND claimed = 8 AND "
						  "spent AND error LIKE 'It says that the GPU failed. Your runs%'"),
		1);
}

/* A fault of the task is the board's creator's to mend. */
static void
test_faulty(void **state)
{
	(void)state;
	struct call call = started();
	AUTO_JSON json_t *verdict =
		json_pack("{s:s, s:s, s:s}", "state", "error", "blame", "task", "error", "The task is at fault: no.");
	call.json = verdict;
	assert_int_equal(fixture_write(&c.f, finish_op, &call, NULL), 0);
	const json_t *event = fixture_event(&c.f, "leaderboard.fault");
	assert_int_equal(fixture_events(&c.f, "leaderboard.fault"), 1);
	assert_string_equal(commands_text(event, "user_name"), "owner");
	assert_string_equal(commands_text(event, "leaderboard_name"), "arena");
	assert_string_equal(commands_text(event, "scope"), "u");
	assert_string_equal(commands_text(event, "data.error"), "The task is at fault: no.");
	assert_int_equal(commands_number(event, "data.job"), job);
	assert_int_equal(commands_number(event, "submission"), 1);
}

static void
test_finish_once(void **state)
{
	(void)state;
	struct call call = started();
	AUTO_JSON json_t *verdict =
		json_pack("{s:s, s:f, s:[], s:[{s:s, s:i, s:s}], s:{s:s, s:{s:s}, s:{s:{s:s}}}, s:[{s:s}]}", "state", "passed",
			"score", 0.5, "runs", "artifacts", "name", "p.txt", "size", 3, "sha256", "abc", "system", "cpu", "x",
			"tools", "py", "3", "interpreters", "py", "numpy", "1", "compilation", "title", "a.cpp");
	call.json = verdict;
	assert_int_equal(fixture_write(&c.f, finish_op, &call, NULL), 0);
	conflict(finish_op, &call);
	conflict(requeue_op, &call);
	assert_int_equal(fixture_events(&c.f, "job.done"), 1);
	assert_int_equal(fixture_events(&c.f, "leaderboard.fault"), 0);
	assert_int_equal(fixture_events(&c.f, "submission.done"), 1);
	const json_t *data = commands_at(fixture_event(&c.f, "job.done"), "data");
	assert_int_equal(commands_number(data, "rank"), 1);
	assert_true(json_is_true(commands_at(data, "first")));
	assert_int_equal(commands_number(fixture_event(&c.f, "submission.done"), "data.jobs.0.rank"), 1);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM artifacts WHERE name = 'p.txt'"), 1);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM best"), 1);
	/* What the job saw of its machine is known from now on. */
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM device_units WHERE facts_json ->> '$.tools.py' = '3' AND "
									   "facts_json ->> '$.packages.py.numpy' = '1'"),
		1);
}

static void
test_odd_verdicts(void **state)
{
	(void)state;
	struct call call = started();
	struct kettle_error err = {0};
	/* A negative score is none: it passed, and stands in no ranking. */
	call.json = json_pack("{s:s, s:f}", "state", "passed", "score", -1.0);
	assert_int_equal(fixture_write(&c.f, finish_op, &call, &err), 0);
	json_decref(call.json);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM best"), 0);
	assert_int_equal(fixture_events(&c.f, "rank.changed"), 0);
}

static void
test_late_outcome(void **state)
{
	(void)state;
	struct call call = started();
	call.json = json_pack("{s:s, s:f}", "state", "passed", "score", 1.0);
	commands_must(&c, "alice", "submission.cancel", json_pack("{s:i}", "id", 1));
	conflict(finish_op, &call);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM best"), 0);
	commands_must(&c, "alice", "submission.delete", json_pack("{s:i}", "id", 1));
	conflict(finish_op, &call);
	struct kettle_error err = {0};
	assert_int_equal(fixture_query(&c.f, material_op, &(struct call){.job = job}, &err), KETTLE_ENOENT);
	json_decref(call.json);
}

static int
oldest_op(struct db *db, void *arg, struct kettle_error *err)
{
	return board_oldest_task(db, arg, err);
}

/* The task that a job is of is there as long as the job is open, also if its board has another one. */
static void
test_oldest_task(void **state)
{
	(void)state;
	int64_t oldest = 0;
	struct kettle_error err = {0};
	fixture_sql(&c.f, "UPDATE tasks SET created_at = 5");
	fixture_sql(&c.f,
		"INSERT INTO tasks (content_hash, run_hash, name, bundle_json, created_at) VALUES ('b', 'b', 'b', '{}', 9)");
	fixture_sql(&c.f, "UPDATE boards SET task = (SELECT max(id) FROM tasks)");
	assert_int_equal(fixture_query(&c.f, oldest_op, &oldest, &err), 0);
	assert_int_equal(oldest, 5);
	commands_must(&c, "alice", "submission.cancel", json_pack("{s:i}", "id", 1));
	assert_int_equal(fixture_query(&c.f, oldest_op, &oldest, &err), 0);
	assert_int_equal(oldest, 9);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_open_and_material),
	TEST(test_attempts),
	TEST(test_claims),
	TEST(test_faulty),
	TEST(test_finish_once),
	TEST(test_odd_verdicts),
	TEST(test_late_outcome),
	TEST(test_oldest_task),
};

UNIT_TESTS(test_jobs);
