/* SPDX-License-Identifier: MIT */
/* What leaderboard.create, leaderboard.update and competition.sync try before they write, for whichever frontend. */
#include <config.h>

#include "unit/core_fixture.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "lib/unit_test.h"

#define MACHINE_MEMORY (64 << 20)
#define TOO_LARGE "memory: 1073741824\n"

/* A runner whose machine has little memory. It takes no job, or keeps the one it has taken. */
static struct {
	bool accepts;
	char ref[INFLIGHT_REF_SIZE];
	int cancelled;
} seen;

static int
describe(void *self, const json_t *unit, void (*done)(void *arg, const struct kettle_error *err, json_t *facts),
	void *arg, struct kettle_error *err)
{
	const struct kettle_error none = {0};
	AUTO_JSON json_t *greeting = json_pack("{s:{s:i}}", "machine", "memory", MACHINE_MEMORY);
	(void)self, (void)unit, (void)err;
	done(arg, &none, greeting);
	return 0;
}

static int
submit(void *self, const struct kettle_job *job, const json_t *plan, struct kettle_error *err)
{
	(void)self, (void)plan;
	if (!seen.accepts)
		return kettle_fail(err, KETTLE_EUNAVAIL, "It takes no job.");
	(void)snprintf(seen.ref, sizeof(seen.ref), "%s", job->ref);
	return 0;
}

static void
cancel(void *self, const char *ref)
{
	(void)self;
	assert_string_equal(ref, seen.ref);
	seen.cancelled++;
	struct inflight_job *job = inflight_find(&cores.core[0]->inflight, ref);
	const struct completion cancelled = {.status = COMPLETION_CANCELLED};
	inflight_remove(&cores.core[0]->inflight, job);
	job->done(job, &cancelled);
}

static const struct kettle_runner ops = {.size = sizeof(ops), .describe = describe, .submit = submit, .cancel = cancel};
static struct runner runner = {"keep", &ops, NULL};

static int
setup(void **state)
{
	int rc = cores_setup(state);
	memset(&seen, 0, sizeof(seen));
	cores.core[0]->runners = &runner;
	return rc;
}

static json_t *
board(const char *name, const char *yml)
{
	return json_pack("{s:s, s:o}", "name", name, "task", commands_task(yml));
}

static json_t *
with(json_t *args_take, const char *flag)
{
	(void)json_object_set_new(args_take, flag, json_true());
	return args_take;
}

static void
assert_refused(const char *command, json_t *args_take, const char *member)
{
	assert_int_equal(cores_run(0, "carol:creator", command, args_take), KETTLE_ECONFLICT);
	assert_string_equal(cores_answer.err.member, member);
	assert_sentence(cores_answer.err.message);
}

static void
test_create(void **state)
{
	(void)state;
	assert_refused("leaderboard.create", board("large", TOO_LARGE), "force");
	assert_int_equal(cores_run(0, "owner", "leaderboard.show", json_pack("{s:s}", "name", "large")), KETTLE_ENOENT);
	const json_t *made = cores_must(0, "carol:creator", "leaderboard.create", with(board("large", TOO_LARGE), "force"));
	assert_null(json_object_get(made, "tried"));
	made = cores_must(0, "carol:creator", "leaderboard.create", with(board("other", TOO_LARGE), "no_try"));
	assert_null(json_object_get(made, "tried"));
	/* What could not be tried does not count against it. */
	made = cores_must(0, "carol:creator", "leaderboard.create", board("small", NULL));
	assert_string_equal(commands_text(made, "tried.0.state"), "skipped");
	/* Nothing runs for what is refused without it, or for a user who may not do it. */
	seen.accepts = true;
	json_t *late = board("late", NULL);
	(void)json_object_set_new(late, "deadline", json_string("2020-01-01"));
	assert_refused("leaderboard.create", late, "force");
	assert_int_equal(cores_run(0, "dave", "leaderboard.create", board("his", NULL)), KETTLE_EACCES);
	assert_string_equal(seen.ref, "");
}

static void
test_update(void **state)
{
	(void)state;
	(void)cores_must(0, "carol:creator", "leaderboard.create", board("b", NULL));
	assert_refused("leaderboard.update", with(board("b", TOO_LARGE), "force"), "no_try");
	(void)cores_must(0, "carol:creator", "leaderboard.update",
		json_pack("{s:s, s:s}", "name", "b", "description", "not a new task"));
	json_t *forced = with(with(board("b", TOO_LARGE), "force"), "no_try");
	const json_t *changed = cores_must(0, "carol:creator", "leaderboard.update", forced);
	assert_null(json_object_get(changed, "tried"));
	changed = cores_must(0, "carol:creator", "leaderboard.update", with(board("b", NULL), "force"));
	assert_string_equal(commands_text(changed, "tried.0.device"), "CPU");
}

/* Of a competition the other boards are made. */
static void
test_sync(void **state)
{
	(void)state;
	AUTO_JSON json_t *args =
		json_pack("{s:{s:[{s:s, s:[{s:s, s:o}, {s:s, s:o}]}]}}", "problems", "sets", "name", "Spring", "problems",
			"name", "small", "bundle", commands_task(NULL), "name", "large", "bundle", commands_task(TOO_LARGE));
	for (int dry = 1; dry >= 0; dry--) {
		(void)json_object_set_new(args, "dry_run", json_boolean(dry));
		const json_t *done = cores_must(0, "carol:creator", "competition.sync", json_deep_copy(args));
		assert_string_equal(commands_text(done, "created.0"), "small");
		assert_int_equal(json_array_size(json_object_get(done, "created")), 1);
		assert_string_equal(commands_text(done, "errors.0.name"), "large");
		assert_sentence(commands_text(done, "errors.0.error"));
	}
	const json_t *done = cores_must(0, "carol:creator", "competition.sync", with(json_deep_copy(args), "force"));
	assert_string_equal(commands_text(done, "created.0"), "large");
}

/* ---- who waits for it ---- */

static void
on_event(void *arg, const json_t *event)
{
	const json_t *report = json_object_get(event, "event");
	if (member_is(report, "event", "trying") && member_is(report, "name", "b") && member_is(event, "device", "CPU"))
		++*(int *)arg;
}

static void
test_progress(void **state)
{
	(void)state;
	int own = 0, others = 0;
	uint64_t id = 0;
	cores_make(1, false);
	(void)cores_must(1, "owner", "leaderboard.list", json_object());
	AUTO_JSON json_t *filter = json_pack("{s:b}", "task_run", 1), *owner = cores_actor("owner");
	assert_int_equal(cores_subscribe(cores.core[1], owner, filter, -1, on_event, &own, &id, NULL), 0);
	assert_int_equal(cores_subscribe(cores.core[0], owner, filter, -1, on_event, &others, &id, NULL), 0);
	(void)cores_must(1, "owner", "leaderboard.list", json_object());
	(void)cores_must(1, "carol:creator", "leaderboard.create", board("b", NULL));
	until(own == 1);
	assert_int_equal(others, 0);
}

/* The caller goes away while a job runs: it is cancelled, and no board is made. */
static void
test_caller_leaves(void **state)
{
	(void)state;
	struct answer answer = {0};
	cores_make(1, false);
	seen.accepts = true;
	cores_ask(1, "carol:creator", "leaderboard.create", board("b", NULL), &answer);
	until(seen.ref[0]);
	cores_close(1);
	until(seen.cancelled == 1);
	assert_int_equal(cores_run(0, "owner", "leaderboard.show", json_pack("{s:s}", "name", "b")), KETTLE_ENOENT);
	answer_clear(&answer);
}

static void
on_answer(void *arg, const struct kettle_error *err, json_t *result)
{
	(void)result;
	*(int *)arg = err->code;
}

/* So it is when the request is cancelled. */
static void
test_cancelled_request(void **state)
{
	(void)state;
	int code = 0;
	uint64_t number;
	seen.accepts = true;
	AUTO_JSON json_t *actor = cores_actor("carol:creator"), *args = board("b", NULL);
	const struct kettle_request request = {.size = sizeof(request),
		.actor = actor,
		.command = "leaderboard.create",
		.args = args,
		.done = on_answer,
		.arg = &code};
	assert_int_equal(core_request(cores.core[0], &request, &code, &number, NULL), 0);
	until(seen.ref[0]);
	core_cancel(cores.core[0], &code, number);
	until(seen.cancelled == 1);
	assert_int_equal(code, KETTLE_ECANCELED);
	assert_int_equal(cores_run(0, "owner", "leaderboard.show", json_pack("{s:s}", "name", "b")), KETTLE_ENOENT);
}

/* The engine ends, and does not wait for the job. */
static void
test_engine_ends(void **state)
{
	(void)state;
	struct answer answer = {0};
	seen.accepts = true;
	cores_ask(0, "carol:creator", "leaderboard.create", board("b", NULL), &answer);
	until(seen.ref[0]);
	cores_leave(0);
	until(answer.count);
	assert_int_equal(seen.cancelled, 1);
	assert_int_equal(answer.err.code, KETTLE_ECANCELED);
	answer_clear(&answer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, cores_teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_create),
	TEST(test_update),
	TEST(test_sync),
	TEST(test_progress),
	TEST(test_caller_leaves),
	TEST(test_cancelled_request),
	TEST(test_engine_ends),
};

UNIT_TESTS(test_board_trial);
