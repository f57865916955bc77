/* SPDX-License-Identifier: MIT */
/* The engine between a real store and a runner that the test controls. */
#include <config.h>

#include "unit/engine_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct world world;
struct fake fake;

/* ---- the runner ---- */

struct task *
fake_task(size_t index)
{
	if (index >= fake.count)
		fail_msg("the runner has no job %zu", index);
	return &fake.tasks[index];
}

static json_t *
passed_outcome(const json_t *step)
{
	const char *mode = json_string_value(json_object_get(json_object_get(step, "run"), "mode"));
	json_t *result = mode ? json_pack("{s:s, s:s, s:s, s:s, s:s}", "check", "pass", "test-count", "1", "test.0.status",
								"pass", "benchmark-count", "1", "benchmark.0.mean", "1000000")
						  : json_object();
	if (mode && strcmp(mode, "test") == 0) {
		json_object_del(result, "benchmark-count");
		json_object_del(result, "benchmark.0.mean");
	} else {
		json_object_del(result, "test-count");
		json_object_del(result, "test.0.status");
	}
	return json_pack("{s:O, s:O, s:s, s:i, s:n, s:n, s:n, s:b, s:s, s:i, s:i, s:{s:s, s:i}, s:{s:s, s:i}, s:o, s:n}",
		"step", json_object_get(step, "id"), "kind", json_object_get(step, "kind"), "state", "passed", "exit", 0,
		"signal", "limit", "error", "cached", 0, "command", "./program", "start_ns", 5, "wall_ns", 7000000, "stdout",
		"text", "", "cut", 0, "stderr", "text", "", "cut", 0, "result", result, "result_error");
}

static json_t *
completion(const struct task *task, const char *status)
{
	json_t *outcomes = json_array(), *step;
	size_t i;
	json_array_foreach(json_object_get(task->plan, "steps"), i, step)
		json_array_append_new(outcomes, passed_outcome(step));
	return json_pack(
		"{s:s, s:n, s:o, s:{}, s:{}}", "status", status, "error", "outcomes", outcomes, "system", "stamps");
}

/* The job is no longer the runner's when it says so, and its record is gone. */
void
fake_end_with(size_t index, json_t *completion_take)
{
	struct task task = *fake_task(index);
	fake.tasks[index] = fake.tasks[--fake.count];
	json_decref(task.plan);
	world.host.table.job_done(&world.host.table, task.ref, completion_take);
}

json_t *
fake_completion(size_t index, const char *status)
{
	return completion(fake_task(index), status);
}

void
fake_end(size_t index, const char *status)
{
	fake_end_with(index, fake_completion(index, status));
}

static struct task *
add_task(const struct kettle_job *job, const json_t *plan)
{
	assert_true(fake.count < WORLD_TASKS_MAX);
	struct task *task = &fake.tasks[fake.count++];
	*task = (struct task){.plan = json_deep_copy(plan)};
	(void)snprintf(task->ref, sizeof(task->ref), "%s", job->ref);
	(void)snprintf(task->unit, sizeof(task->unit), "%s", json_string_value(json_object_get(job->unit, "unit")));
	(void)snprintf(task->name, sizeof(task->name), "%s", job->name);
	(void)snprintf(task->plan_hash, sizeof(task->plan_hash), "%s", job->plan_hash ? job->plan_hash : "");
	AUTO_FREE char *expect = json_dumps(json_object_get(job->unit, "expect"), JSON_COMPACT);
	(void)snprintf(task->expect, sizeof(task->expect), "%s", expect ? expect : "");
	task->units = 1 + json_array_size(json_object_get(job->unit, "more"));
	task->score = json_is_true(json_object_get(job->unit, "score"));
	return task;
}

static int
fake_same_machine(void *self, const json_t *unit, const json_t *other)
{
	(void)self;
	(void)unit;
	(void)other;
	return fake.same_machine;
}

static int
fake_describe(void *self, const json_t *unit, void (*done)(void *arg, const struct kettle_error *err, json_t *facts),
	void *arg, struct kettle_error *err)
{
	struct kettle_error none = {0};
	(void)self;
	if (!fake.facts)
		return kettle_fail(err, KETTLE_EUNAVAIL, "The fake says nothing.");
	fake.describes++;
	if (fake.on_describe == NEVER) {
		assert_true(fake.asked < WORLD_TASKS_MAX);
		fake.inquiries[fake.asked++] = (struct inquiry){done, arg};
	} else {
		/* Of that unit alone, or of all. */
		json_t *own = json_object_get(fake.facts, json_string_value(json_object_get(unit, "unit")));
		done(arg, &none, own ? own : fake.facts);
	}
	return 0;
}

void
fake_describe_end(void)
{
	struct kettle_error none = {0};
	struct inquiry first = fake.inquiries[0];
	assert_true(fake.asked-- > 0);
	memmove(fake.inquiries, fake.inquiries + 1, fake.asked * sizeof(first));
	first.done(first.arg, &none, fake.facts);
}

static int
fake_heartbeat(void *self, const json_t *unit, void (*done)(void *arg, const struct kettle_error *err), void *arg,
	struct kettle_error *err)
{
	(void)self;
	(void)unit;
	(void)err;
	assert_null(fake.heartbeat.done);
	fake.heartbeats++;
	fake.heartbeat.done = done;
	fake.heartbeat.arg = arg;
	if (fake.beats)
		fake_heartbeat_end(false);
	return 0;
}

void
fake_heartbeat_end(bool ended)
{
	struct kettle_error err = {.code = ended ? KETTLE_EUNAVAIL : 0};
	void (*done)(void *arg, const struct kettle_error *err) = STEAL(fake.heartbeat.done);
	assert_non_null(done);
	done(fake.heartbeat.arg, &err);
}

static int
fake_capacity(void *self, const json_t *unit, unsigned *ret_slots, unsigned *ret_prefetch, struct kettle_error *err)
{
	(void)self;
	if (json_object_get(unit, "bad"))
		return kettle_fail(err, KETTLE_EINVAL, "This unit is bad.");
	*ret_slots = fake.slots;
	*ret_prefetch = fake.prefetch;
	return 0;
}

static int
fake_submit(void *self, const struct kettle_job *job, const json_t *plan, struct kettle_error *err)
{
	(void)self;
	const char *unit = json_string_value(json_object_get(job->unit, "unit"));
	fake.submits++;
	if (fake.odd) {
		int odd = fake.odd;
		fake.odd = 0;
		return odd;
	}
	if (fake.on_submit == REFUSES || (fake.refuses && strcmp(unit, fake.refuses) == 0))
		return kettle_fail(err, KETTLE_EUNAVAIL, "The fake is not in the mood.");
	(void)add_task(job, plan);
	if (fake.on_submit == AT_ONCE)
		fake_end(fake.count - 1, "done");
	/* What it was lent is still there: the sanitizers watch. */
	assert_true(job->ref[0] && json_is_array(json_object_get(plan, "steps")));
	return 0;
}

static void
fake_cancel(void *self, const char *ref)
{
	(void)self;
	fake.cancels++;
	for (size_t i = 0; i < fake.count; i++)
		if (strcmp(fake.tasks[i].ref, ref) == 0)
			fake.tasks[i].cancelled = true;
	if (fake.on_cancel == AT_ONCE)
		for (size_t i = fake.count; i-- > 0;)
			if (fake.cancel_ends_all || strcmp(fake.tasks[i].ref, ref) == 0)
				fake_end(i, "cancelled");
	assert_true(ref[0]);
}

static int
fake_recover(void *self, const struct kettle_job *job, const char *handle, struct kettle_error *err)
{
	(void)self;
	AUTO_JSON json_t *plan = json_pack("{s:[]}", "steps");
	fake.recovers++;
	if (fake.on_recover == REFUSES)
		return kettle_fail(err, KETTLE_ENOENT, "There is nothing.");
	if (fake.on_recover == NOT_NOW)
		return kettle_fail(err, KETTLE_EUNAVAIL, "The key is not there.");
	const struct engine_job *known = engine_job_find(world.engine, atoll(job->ref));
	struct task *task = add_task(job, known && known->plan ? known->plan->json : plan);
	task->recovered = true;
	(void)snprintf(task->handle, sizeof(task->handle), "%s", handle);
	if (fake.recover_queued)
		fake_say(fake.count - 1, json_pack("{s:s}", "event", "waiting"));
	if (fake.on_recover == AT_ONCE)
		fake_end(fake.count - 1, "done");
	return 0;
}

static void
fake_detach(void *self, const char *ref)
{
	(void)self;
	fake.detaches++;
	for (size_t i = fake.count; i-- > 0;)
		if (strcmp(fake.tasks[i].ref, ref) == 0) {
			json_decref(fake.tasks[i].plan);
			fake.tasks[i] = fake.tasks[--fake.count];
		}
}

static const struct kettle_runner fake_ops = {
	.size = sizeof(struct kettle_runner),
	.capacity = fake_capacity,
	.submit = fake_submit,
	.cancel = fake_cancel,
	.recover = fake_recover,
	.detach = fake_detach,
	.describe = fake_describe,
	.same_machine = fake_same_machine,
	.heartbeat = fake_heartbeat,
};
static const struct kettle_runner forgetful_ops = {
	.size = sizeof(struct kettle_runner),
	.capacity = fake_capacity,
	.submit = fake_submit,
	.cancel = fake_cancel,
};

/* ---- the engine ---- */

/* Events reach the engine as the core passes them on. */
void
world_feed(void)
{
	while (world.fed < json_array_size(world.c.f.events)) {
		const struct event event = event_read(json_array_get(world.c.f.events, world.fed++));
		if (world.engine)
			engine_event(world.engine, &event);
	}
}

void
world_turn(uint64_t ms)
{
	bool rests = store_rests(world.c.f.store);
	if (rests && !(world.engine && world.engine->dirty))
		clock_advance(&world.c.f.clock, ms);
	(void)uv_run(&world.c.f.loop, rests ? UV_RUN_NOWAIT : UV_RUN_ONCE);
	world_feed();
}

void
world_pass(uint64_t ms)
{
	for (uint64_t step; ms > 0; ms -= step) {
		do
			world_turn(0);
		while (!store_rests(world.c.f.store));
		step = ms < ENGINE_TICK_MS ? ms : ENGINE_TICK_MS;
		clock_advance(&world.c.f.clock, step);
	}
	do
		world_turn(0);
	while (!store_rests(world.c.f.store));
}

void
world_next_day(int days)
{
	clock_set_utc(&world.c.f.clock, clock_utc_ms(&world.c.f.clock) + days * INT64_C(86400000));
}

uint64_t
world_now(void)
{
	return clock_ms(&world.c.f.clock);
}

static void
on_progress(void *arg, const json_t *event)
{
	(void)arg;
	json_array_append_new(world.progress, json_deep_copy(event));
}

void
world_stopped_once(void *arg)
{
	(void)arg;
	assert_false(world.stopped);
	world.stopped = true;
}

/* CPU with so many units, and what else is there. */
json_t *
world_devices(int units, const char *more)
{
	json_t *list = json_array(), *other = more ? json_loads(more, 0, NULL) : NULL;
	for (int i = 0; i < units; i++)
		json_array_append_new(list, json_pack("{s:s, s:i}", "runner", "fake", "number", i));
	json_t *all = json_pack("{s:{s:o}}", "CPU", "units", list);
	if (other)
		json_object_update_new(all, other);
	return all;
}

void
world_engine(json_t *devices_take)
{
	AUTO_JSON json_t *list = devices_take;
	struct kettle_error err = {0};
	const struct engine_setup setup = {
		.loop = &world.c.f.loop,
		.clock = &world.c.f.clock,
		.store = world.c.f.store,
		.inflight = &world.core.inflight,
		.languages = world.c.env.languages,
		.runners = world.runners,
		.runners_count = 2,
		.devices = list,
		.progress = on_progress,
	};
	world.stopped = false;
	if (engine_new(&setup, &world.engine, &err) < 0)
		fail_msg("%s", err.message);
}

void
world_start(json_t *devices_take)
{
	world_engine(devices_take);
	engine_start(world.engine);
	until(engine_loaded(world.engine));
}

void
world_stop(uint64_t grace_ms)
{
	engine_stop(world.engine, grace_ms, world_stopped_once, NULL);
	until(world.stopped);
	assert_int_equal(world.engine->in_flight, 0);
	for (const struct device *device = world.engine->devices; device; device = device->next)
		for (const struct unit *unit = device->units; unit; unit = unit->next) {
			assert_int_equal(unit->active, 0);
			assert_int_equal(unit->running, 0);
		}
	engine_free(STEAL(world.engine));
}

static void
setup_world(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.slots = 1;
	fake.prefetch = 1;
	fake.on_cancel = AT_ONCE;
	fake.beats = true;
	world.fed = 0;
	commands_open(&world.c);
	commands_board(&world.c, "arena", NULL);
	world.progress = json_array();
	world.core = (struct core){.lock_fd = -1};
	host_init(&world.host, NULL, &world.core, "fake");
	world.runners[0] = (struct runner){"fake", &fake_ops, &fake};
	world.runners[1] = (struct runner){"forgetful", &forgetful_ops, &fake};
}

int
world_setup(void **state)
{
	(void)state;
	setup_world();
	world_start(world_devices(1, NULL));
	return 0;
}

int
world_teardown(void **state)
{
	(void)state;
	fake.on_cancel = AT_ONCE;
	fake.cancel_ends_all = false;
	if (world.engine)
		world_stop(0);
	while (fake.count > 0)
		json_decref(fake.tasks[--fake.count].plan);
	/* A runner that ends answers open describe requests, and the engine has gone. */
	while (fake.asked > 0)
		fake_describe_end();
	if (fake.heartbeat.done)
		fake_heartbeat_end(true);
	json_decref(STEAL(fake.facts));
	json_decref(world.progress);
	assert_int_equal(world.core.inflight.count, 0);
	commands_close(&world.c);
	return 0;
}

int64_t
world_submit_as(const char *who, const char *mode)
{
	commands_submit(&world.c, who, "arena", mode);
	world_feed();
	return fixture_int(&world.c.f, "SELECT max(id) FROM jobs");
}

int64_t
world_submit(void)
{
	return world_submit_as("alice", "test");
}

/* Queued, and not started before the test looks at it. */
int64_t
world_submit_held(void)
{
	world.engine->pause_until_ms = UINT64_MAX;
	int64_t job = world_submit();
	world.engine->pause_until_ms = 0;
	return job;
}

const char *
world_text(const char *column, int64_t job)
{
	static char text[400];
	char sql[300];
	/* One character after the other: the fixture knows integers alone. */
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		(void)snprintf(sql, sizeof(sql), "SELECT coalesce(unicode(substr(%s, %zu, 1)), 0) FROM jobs WHERE id = %lld",
			column, i + 1, (long long)job);
		text[i] = (char)fixture_int(&world.c.f, sql);
		text[i + 1] = '\0';
		if (!text[i])
			break;
	}
	return text;
}

bool
world_job_is(int64_t job, const char *state)
{
	char sql[200];
	(void)snprintf(
		sql, sizeof(sql), "SELECT count(*) FROM jobs WHERE id = %lld AND state = '%s'", (long long)job, state);
	return fixture_int(&world.c.f, sql) == 1;
}

int64_t
world_number(const char *column, int64_t job)
{
	char sql[200];
	(void)snprintf(sql, sizeof(sql), "SELECT %s FROM jobs WHERE id = %lld", column, (long long)job);
	return fixture_int(&world.c.f, sql);
}

void
world_cancel(int64_t job)
{
	commands_must(
		&world.c, "alice", "submission.cancel", json_pack("{s:I}", "id", (json_int_t)world_number("submission", job)));
	world_feed();
}

void
world_set(const char *label, bool disabled, const char *reason)
{
	AUTO_JSON json_t *units = engine_units(world.engine, label);
	assert_int_equal(json_array_size(units), 1);
	engine_unit_set(world.engine, json_array_get(units, 0), disabled, reason);
}

struct unit *
world_unit(size_t index)
{
	struct unit *unit = world.engine->devices->units;
	while (index--)
		unit = unit->next;
	return unit;
}

void
fake_say(size_t task, json_t *event_take)
{
	AUTO_JSON json_t *event = event_take;
	world.host.table.job_event(&world.host.table, fake_task(task)->ref, event);
}
