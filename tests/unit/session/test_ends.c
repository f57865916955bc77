/* SPDX-License-Identifier: MIT */
/*
 * The end of a core at every moment of what it has under way: each call is answered once, and whatever still waits for
 * the database, the pool, a timer, a runner or another process is freed after its last callback. A sanitizer watches.
 */
#include <config.h>

#include "unit/core_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "config/configuration.h"
#include "lib/unit_test.h"
#include "session/plugin_host.h"

#define TURNS_MAX 6 /* of the loop, before the end */

/* ---- a runner that answers nothing until it is stopped ---- */

#define HELD_MAX 64

static struct {
	struct {
		void (*done)(void *arg, const struct kettle_error *err, json_t *facts);
		void *arg;
	} described[HELD_MAX];
	char jobs[HELD_MAX][INFLIGHT_REF_SIZE];
	size_t describes, submits;
	struct core_host hosts[CORES_MAX];
	bool stopped;
} held;

static int
held_capacity(void *self, const json_t *unit, unsigned *ret_slots, unsigned *ret_prefetch, struct kettle_error *err)
{
	(void)self, (void)unit, (void)err;
	*ret_slots = *ret_prefetch = 1;
	return 0;
}

static int
held_submit(void *self, const struct kettle_job *job, const json_t *plan, struct kettle_error *err)
{
	(void)self, (void)plan;
	if (held.stopped)
		return kettle_fail(err, KETTLE_ECANCELED, "The runner is stopping.");
	assert_true(held.submits < HELD_MAX);
	memcpy(held.jobs[held.submits++], job->ref, INFLIGHT_REF_SIZE);
	return 0;
}

/* Ends a job as cancelled, if it is one of any core. */
static void
end_job(const char *ref)
{
	for (size_t k = 0; k < CORES_MAX; k++)
		if (cores.core[k] && inflight_find(&cores.core[k]->inflight, ref))
			held.hosts[k].table.job_done(&held.hosts[k].table, ref, json_pack("{s:s}", "status", "cancelled"));
}

static void
held_cancel(void *self, const char *ref)
{
	char copy[INFLIGHT_REF_SIZE];
	(void)self;
	(void)snprintf(copy, sizeof(copy), "%s", ref);
	end_job(copy);
}

static int
held_describe(void *self, const json_t *unit, void (*done)(void *arg, const struct kettle_error *err, json_t *facts),
	void *arg, struct kettle_error *err)
{
	(void)self, (void)unit;
	if (held.stopped)
		return kettle_fail(err, KETTLE_ECANCELED, "The runner is stopping.");
	assert_true(held.describes < HELD_MAX);
	held.described[held.describes].done = done;
	held.described[held.describes++].arg = arg;
	return 0;
}

static const struct kettle_runner held_ops = {
	.size = sizeof(struct kettle_runner),
	.capacity = held_capacity,
	.submit = held_submit,
	.cancel = held_cancel,
	.describe = held_describe,
	.doctor = held_describe,
	.init = held_describe,
};

/* Answers what it still has. */
static void
stop_runner(void)
{
	const struct kettle_error stopped = {.code = KETTLE_ECANCELED, .message = "The runner is stopping."};
	held.stopped = true;
	for (size_t i = 0; i < held.describes; i++)
		held.described[i].done(held.described[i].arg, &stopped, NULL);
	for (size_t i = 0; i < held.submits; i++)
		end_job(held.jobs[i]);
	held.describes = held.submits = 0;
}

/* ---- the rounds ---- */

static struct config config;

static void
make_ready(size_t place)
{
	const struct core_limits limits = {
		.submission_bytes = 1000000, .artifact_bytes = 1000000, .retention = {30, 30, 30}};
	AUTO_JSON json_t *devices = json_pack("{s:{s:[{s:s}]}, s:{s:[{s:s, s:i}]}}", "CPU", "units", "runner", "keep",
		"H100", "units", "runner", "keep", "gpu", 0);
	struct kettle_error err = {0};
	assert_int_equal(core_reload(cores.core[place], devices, &limits, &err), 0);
	cores.core[place]->config = &config;
	host_init(&held.hosts[place], cores.io, cores.core[place], "keep");
}

static void
round_begin(void)
{
	void *state = NULL;
	memset(&held, 0, sizeof(held));
	assert_int_equal(cores_setup(&state), 0);
	cores.runner.ops = &held_ops;
	make_ready(0);
}

static void
on_closed(void *arg)
{
	*(bool *)arg = true;
}

/* Half of them at once, half with some time for other threads. */
static void
turn(int turns)
{
	for (int i = 0; i < turns; i++)
		i % 2 ? cores_turn() : (void)uv_run(&cores.loop, UV_RUN_NOWAIT);
}

/* What the runner has is answered while the core closes; an owner waits some seconds for what clients asked for. */
static void
leave(size_t place)
{
	bool done = false;
	core_close(cores.core[place], 0, on_closed, &done);
	turn(2);
	stop_runner();
	until(done);
	cores_closed(place);
}

/* ---- a pool that has no thread to spare, until it is let go ---- */

static struct {
	uv_work_t request;
	uv_sem_t go;
	bool held;
} pool;

static void
wait_for_go(uv_work_t *request)
{
	(void)request;
	uv_sem_wait(&pool.go);
}

static void
pool_gone(uv_work_t *request, int status)
{
	(void)request, (void)status;
	uv_sem_destroy(&pool.go);
}

static void
hold_pool(void)
{
	assert_int_equal(uv_sem_init(&pool.go, 0), 0);
	assert_int_equal(uv_queue_work(&cores.loop, &pool.request, wait_for_go, pool_gone), 0);
	pool.held = true;
}

static void
let_pool_go(void)
{
	if (pool.held)
		uv_sem_post(&pool.go);
	pool.held = false;
}

/*
 * As main.c ends a process: the core, its runners, then the memory. What the core has in the pool keeps it from being
 * closed; where it is closed while the pool is held, nothing that comes from there may use it.
 */
static void
leave_before_runner(size_t place)
{
	bool done = false;
	core_close(cores.core[place], 0, on_closed, &done);
	for (int i = 0; pool.held && !done && i < 3; i++)
		cores_turn();
	if (!done)
		let_pool_go();
	until(done);
	cores_closed(place);
	stop_runner();
	cores_close(place);
	let_pool_go();
}

static void
round_end(void)
{
	void *state = NULL;
	for (size_t i = 0; i < CORES_MAX; i++)
		if (cores.core[i] && !cores.core[i]->ended)
			leave(i);
	stop_runner();
	assert_int_equal(cores_teardown(&state), 0);
}

/* ---- commands ---- */

static json_t *
no_arguments(void)
{
	return json_object();
}

static json_t *
new_path(void)
{
	return json_pack("{s:o}", "path", json_sprintf("%s/made", cores.dir));
}

static json_t *
task_path(void)
{
	return json_pack("{s:o}", "path", json_sprintf("%s/tasks/vectoradd_cpp", getenv("top_srcdir")));
}

static json_t *
task_paths(void)
{
	return json_pack("{s:[o]}", "path", json_sprintf("%s/tasks/vectoradd_cpp", getenv("top_srcdir")));
}

static json_t *
task_file(void)
{
	json_t *args = task_path();
	json_object_set_new(args, "file", json_sprintf("%s/tasks/vectoradd_cpp/template.cpp", getenv("top_srcdir")));
	json_object_set_new(args, "mode", json_string("test"));
	json_object_set_new(args, "device", json_string("H100"));
	return args;
}

static json_t *
verified(void)
{
	json_t *args = task_path();
	json_object_set_new(args, "mode", json_string("test"));
	return args;
}

static json_t *
board(void)
{
	return json_pack("{s:s, s:b}", "name", "arena", "force", 1);
}

static json_t *
a_file(void)
{
	return cores_file("arena");
}

static json_t *
unit(void)
{
	return json_pack("{s:[s], s:b}", "unit", "H100", "test", 1);
}

static json_t *
a_device(void)
{
	return json_pack("{s:[s]}", "device", "CPU");
}

static json_t *
a_name(void)
{
	return json_pack("{s:s}", "name", "CPU");
}

static json_t *
a_runner(void)
{
	return json_pack("{s:s}", "name", "keep");
}

/* What ends in each of the places where something can wait. */
static const struct {
	const char *command;
	json_t *(*args)(void);
	bool local; /* of the process that asks, be it owner or not */
} asked[] = {
	{"device.list", no_arguments, false},
	{"device.enable", unit, false},
	{"device.calibrate", a_device, false},
	{"device.verify", a_device, false},
	{"device.doctor", a_name, false},
	{"submit", a_file, false},
	{"admin.gc", no_arguments, false},
	{"admin.stats", no_arguments, false},
	{"leaderboard.delete", board, false},
	{"admin.backup", new_path, true},
	{"admin.export", new_path, true},
	{"config.check", no_arguments, true},
	{"runner.init", a_runner, true},
	{"task.read", task_path, true},
	{"task.check", task_paths, true},
	{"task.run", task_file, true},
	{"task.verify", verified, true},
};

static void
must_be_answered(struct answer *answer, const char *command, int turns)
{
	if (answer->count != 1)
		fail_msg("%s, ended after %d turns, was answered %d times", command, turns, answer->count);
	answer_clear(answer);
}

/* Whether a command is ended after so many turns: in the gate after two numbers of them, each with the pool held or not. */
static bool
is_ended_after(size_t command, int turns)
{
	return everything_runs() || turns % 3 == (int)command % 3;
}

/* The owner ends while it does it. */
static void
test_owner_ends(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		for (int turns = 0; turns < TURNS_MAX; turns++) {
			struct answer answer = {0};
			if (!is_ended_after(i, turns))
				continue;
			round_begin();
			if (turns % 2)
				hold_pool();
			cores_ask(0, "owner", asked[i].command, asked[i].args(), &answer);
			turn(turns);
			leave_before_runner(0);
			round_end();
			must_be_answered(&answer, asked[i].command, turns);
		}
	}
}

/* A client asks, and ends before the owner, or after it. */
static void
test_client_ends(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		for (int turns = 0; turns < TURNS_MAX; turns++) {
			struct answer answer = {0};
			if (!is_ended_after(i, turns))
				continue;
			round_begin();
			cores_make(1, false);
			make_ready(1);
			if (turns % 2)
				cores_must(1, "owner", "leaderboard.list", NULL);
			cores_ask(1, "owner", asked[i].command, asked[i].args(), &answer);
			turn(turns);
			leave(turns % 4 < 2);
			round_end();
			must_be_answered(&answer, asked[i].command, turns);
		}
	}
}

/* ---- what goes on without a call ---- */

static void
on_event(void *arg, const json_t *event)
{
	(void)event;
	(*(size_t *)arg)++;
}

static const struct kettle_frontend fed_ops = {.size = sizeof(fed_ops), .event = on_event};
static const struct kettle_plugin fed = {.name = "fed", .frontend = &fed_ops};

/* Subscriptions, the feed of a frontend, jobs that wait for their machine, the purge of a leaderboard: at a server. */
static void
test_server_ends(void **state)
{
	(void)state;
	for (int turns = 0; turns < 3 * TURNS_MAX; turns++) {
		static size_t heard;
		static struct core_plugin plugin = {.plugin = &fed, .self = &heard};
		uint64_t id[3] = {0};
		struct answer answers[3] = {0};
		round_begin();
		cores_close(0);
		struct core *core = cores_make(0, true);
		make_ready(0);
		core->plugins = &plugin;
		core->plugins_count = 1;
		if (turns % 2)
			hold_pool();
		cores_must(0, "owner", "leaderboard.list", NULL);
		AUTO_JSON json_t *actor = cores_actor("ada");
		for (size_t i = 0; i < ARRAY_SIZE(id); i++)
			assert_int_equal(cores_subscribe(core, actor, NULL, 0, on_event, &heard, &id[i], NULL), 0);
		cores_ask(0, "ada", "submit", cores_file("arena"), &answers[0]);
		cores_ask(0, "owner", "leaderboard.delete", board(), &answers[1]);
		cores_ask(0, "owner", "user.role", json_pack("{s:s, s:s}", "name", "ada", "role", "creator"), &answers[2]);
		(void)core_unsubscribe(core, id[0], NULL, NULL);
		turn(turns);
		(void)core_unsubscribe(core, id[1], NULL, NULL);
		leave_before_runner(0);
		round_end();
		for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
			must_be_answered(&answers[i], "what a server does", turns);
	}
}

static void
on_attached(void *arg, const struct kettle_error *err)
{
	(void)err;
	(*(int *)arg)++;
}

/* One that waits for a database that another has: for its end, for its greeting, for its lock. */
static void
test_attaching_ends(void **state)
{
	(void)state;
	for (int turns = 0; turns < TURNS_MAX; turns++) {
		int waited = 0, joined = 0;
		size_t heard = 0;
		uint64_t id = 0;
		round_begin();
		core_attach(cores_make(1, true), on_attached, &waited);
		core_attach(cores_make(2, false), on_attached, &joined);
		AUTO_JSON json_t *actor = cores_actor("ada");
		assert_int_equal(cores_subscribe(cores.core[2], actor, NULL, 0, on_event, &heard, &id, NULL), 0);
		turn(turns);
		if (turns % 2)
			leave(0);
		leave(1 + turns / 2 % 2);
		round_end();
		assert_int_equal(waited, 1);
		assert_int_equal(joined, 1);
	}
}

static int
set_up(void **state)
{
	(void)state;
	/* Read at the first use of the pool. */
	(void)setenv("UV_THREADPOOL_SIZE", "1", 1);
	config = (struct config){.root = json_object(), .warnings = json_array()};
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	json_decref(config.root);
	json_decref(config.warnings);
	return 0;
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_owner_ends),
	cmocka_unit_test(test_client_ends),
	cmocka_unit_test(test_server_ends),
	cmocka_unit_test(test_attaching_ends),
};

UNIT_TESTS(test_ends, .words = "waiting long", .setup = set_up, .teardown = tear_down);
