/* SPDX-License-Identifier: MIT */
/* Whole cores on one loop, as many processes would have them. */
#include <config.h>

#include "unit/core_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/times.h"
#include "lib/languages.h"
#include "session/plugin_host.h"

struct cores cores;
struct answer cores_answer;
static bool closed[CORES_MAX];
static struct core_host hosts[CORES_MAX];

/* ---- a runner that keeps its jobs ---- */

#define JOBS_MAX 8
#define TURN_MS 20
static char kept[JOBS_MAX][INFLIGHT_REF_SIZE];

static int
keep_capacity(void *self, const json_t *unit, unsigned *ret_slots, unsigned *ret_prefetch, struct kettle_error *err)
{
	(void)self, (void)unit, (void)err;
	*ret_slots = *ret_prefetch = 1;
	return 0;
}

static int
keep_submit(void *self, const struct kettle_job *job, const json_t *plan, struct kettle_error *err)
{
	(void)self, (void)plan;
	for (size_t i = 0; i < JOBS_MAX; i++)
		if (!kept[i][0]) {
			(void)snprintf(kept[i], sizeof(kept[i]), "%s", job->ref);
			return 0;
		}
	return kettle_fail(err, KETTLE_EUNAVAIL, "There is no room.");
}

static void
keep_cancel(void *self, const char *ref)
{
	(void)self;
	for (size_t i = 0; i < JOBS_MAX; i++)
		if (strcmp(kept[i], ref) == 0) {
			kept[i][0] = '\0';
			for (size_t k = 0; k < CORES_MAX; k++)
				if (cores.core[k] && inflight_find(&cores.core[k]->inflight, ref))
					hosts[k].table.job_done(&hosts[k].table, ref, json_pack("{s:s}", "status", "cancelled"));
		}
}

static const struct kettle_runner keep_ops = {
	.size = sizeof(struct kettle_runner),
	.capacity = keep_capacity,
	.submit = keep_submit,
	.cancel = keep_cancel,
};

/* ---- cores ---- */

static void
on_tick(uv_timer_t *timer)
{
	clock_advance(cores_clock(), *(const uint64_t *)timer->data);
	/* Where it was due before the loop began to wait, nothing else may end that wait. */
	uv_stop(timer->loop);
}

struct clock *
cores_clock(void)
{
	return loop_clock(cores.io);
}

static bool
cores_rest(void)
{
	bool rest = loop_rests(cores.io);
	for (size_t i = 0; i < CORES_MAX; i++)
		rest = rest && (!cores.core[i] || !cores.core[i]->store || store_rests(cores.core[i]->store));
	return rest;
}

static void
turn_to_rest(void)
{
	do
		(void)uv_run(&cores.loop, cores_rest() ? UV_RUN_NOWAIT : UV_RUN_ONCE);
	while (!cores_rest());
}

void
cores_pass(uint64_t ms)
{
	for (uint64_t step_ms; ms > 0; ms -= step_ms) {
		turn_to_rest();
		uint64_t wait_ms = clock_wait_ms(cores_clock());
		step_ms = wait_ms < ms ? wait_ms : ms;
		clock_advance(cores_clock(), step_ms);
	}
	turn_to_rest();
}

void
cores_turn(void)
{
	uint64_t wait_ms = clock_wait_ms(cores_clock()), turn_ms = wait_ms < TURN_MS ? wait_ms : TURN_MS;
	uv_timer_t timer;
	(void)uv_timer_init(&cores.loop, &timer);
	uv_update_time(&cores.loop);
	timer.data = &turn_ms;
	(void)uv_timer_start(&timer, on_tick, turn_ms, 0);
	(void)uv_run(&cores.loop, UV_RUN_ONCE);
	uv_close((uv_handle_t *)&timer, NULL);
	(void)uv_run(&cores.loop, UV_RUN_NOWAIT);
}

struct core *
cores_make(size_t place, bool is_server)
{
	const struct core_setup setup = {
		.loop = &cores.loop,
		.io = cores.io,
		.commands = commands,
		.database = cores.path,
		.owner = "owner",
		.devices = cores.devices,
		.limits = {.submission_bytes = 1000000, .artifact_bytes = 1000000},
		.is_server = is_server,
	};
	struct core *core = cores.core[place] = core_new(&setup);
	core_take_languages(core, cores.languages);
	core->runners = &cores.runner;
	core->runners_count = 1;
	host_init(&hosts[place], cores.io, core, "keep");
	closed[place] = false;
	return core;
}

static void
on_closed(void *arg)
{
	assert_false(*(bool *)arg);
	*(bool *)arg = true;
}

void
cores_closed(size_t place)
{
	on_closed(&closed[place]);
}

void
cores_leave(size_t place)
{
	core_close(cores.core[place], 0, on_closed, &closed[place]);
}

void
cores_close(size_t place)
{
	if (!closed[place])
		cores_leave(place); /* a second time does not hurt */
	until(closed[place]);
	cores_turn();
	core_free(cores.core[place]);
	cores.core[place] = NULL;
}

int
cores_setup(void **state)
{
	struct kettle_error err = {0};
	(void)state;
	memset(&cores, 0, sizeof(cores));
	memset(kept, 0, sizeof(kept));
	strcpy(cores.dir, "/tmp/kettle-test-XXXXXX");
	assert_non_null(mkdtemp(cores.dir));
	(void)snprintf(cores.path, sizeof(cores.path), "%s/kettle.db", cores.dir);
	assert_int_equal(uv_loop_init(&cores.loop), 0);
	assert_int_equal(loop_new(&cores.loop, &cores.io, &err), 0);
	clock_simulate(cores_clock(), time_now_ms());
	cores.languages = languages_new();
	cores.devices = json_pack("{s:{s:[{s:s}]}}", "CPU", "units", "runner", "keep");
	cores.runner = (struct runner){"keep", &keep_ops, NULL};
	fixture_database(cores.path);
	cores_make(0, false);
	cores_board(0, "arena", false);
	return 0;
}

static void
on_io_closed(void *arg)
{
	*(bool *)arg = true;
}

int
cores_teardown(void **state)
{
	bool done = false;
	(void)state;
	for (size_t i = 0; i < CORES_MAX; i++)
		if (cores.core[i])
			cores_close(i);
	answer_clear(&cores_answer);
	loop_close(cores.io, on_io_closed, &done);
	while (uv_run(&cores.loop, UV_RUN_DEFAULT))
		;
	assert_true(done);
	assert_int_equal(uv_loop_close(&cores.loop), 0);
	languages_free(cores.languages);
	json_decref(cores.devices);
	assert_int_equal(file_remove_tree(cores.dir, NULL), 0);
	return 0;
}

/* ---- asking ---- */

void
answer_clear(struct answer *answer)
{
	json_decref(answer->result);
	*answer = (struct answer){0};
}

static void
on_answer(void *arg, const struct kettle_error *err, json_t *result)
{
	struct answer *answer = arg;
	assert_int_equal(answer->count++, 0);
	answer->err = *err;
	answer->result = json_deep_copy(result);
	assert_true(err->code == 0 ? result != NULL : !result && err->message[0]);
}

json_t *
cores_actor(const char *who)
{
	char name[100];
	(void)snprintf(name, sizeof(name), "%s", who);
	char *role = strchr(name, ':');
	if (role)
		*role++ = '\0';
	return json_pack("{s:s, s:s, s:s, s:s*}", "provider", "cli", "subject", name, "name", name, "role", role);
}

void
cores_ask(size_t place, const char *who, const char *command, json_t *args_take, struct answer *answer)
{
	AUTO_JSON json_t *args = args_take, *actor = cores_actor(who);
	assert_int_equal(core_call(cores.core[place], actor, command, args, on_answer, answer), 0);
	assert_int_equal(answer->count, 0); /* never before the call returns */
}

int
cores_run(size_t place, const char *who, const char *command, json_t *args_take)
{
	answer_clear(&cores_answer);
	cores_ask(place, who, command, args_take, &cores_answer);
	until(cores_answer.count);
	return cores_answer.err.code;
}

const json_t *
cores_must(size_t place, const char *who, const char *command, json_t *args_take)
{
	if (cores_run(place, who, command, args_take) < 0)
		fail_msg("%s: %s", command, cores_answer.err.message);
	return cores_answer.result;
}

void
cores_board(size_t place, const char *name, bool closed_board)
{
	cores_must(place, "owner", "leaderboard.create",
		json_pack("{s:s, s:o, s:[s], s:s, s:b}", "name", name, "task", commands_task(NULL), "device", "CPU",
			"visibility", closed_board ? "closed" : "public", "no_try", 1));
}

json_t *
cores_file(const char *board)
{
	return json_pack(
		"{s:o, s:s, s:s}", "file", commands_file("a.cpp", "int a;\n"), "leaderboard", board, "mode", "test");
}

int
cores_subscribe(struct core *core, const json_t *actor, const json_t *filter, int64_t after, kettle_event_fn fn,
	void *arg, uint64_t *ret_id, struct kettle_error *err)
{
	const struct core_subscription setup = {.actor = actor, .filter = filter, .after = after, .fn = fn, .arg = arg};
	return core_follow(core, &setup, ret_id, err);
}
