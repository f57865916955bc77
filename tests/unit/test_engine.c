/* SPDX-License-Identifier: MIT */
/*
 * The engine between a real store and a runner that the test controls: jobs in every state meet cancels, losses,
 * deadlines, stops, reloads, and a database that cannot.
 */
#include <config.h>

#include "command_fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cleanup.h"
#include "engine_inner.h"
#include "host.h"
#include "jobs.h"

#define TASKS_MAX 16
#define PATIENCE_NS UINT64_C(20000000000)

/* What the runner does when it is asked. */
enum manner { WAITS, AT_ONCE, REFUSES, NEVER };

struct task {
	char ref[LIVE_REF_SIZE], unit[96], handle[32];
	json_t *plan;
	bool cancelled, recovered;
};

/* A runner whose jobs end when the test says so. */
struct fake {
	enum manner on_submit, on_cancel, on_recover;
	bool cancel_ends_all;
	const char *refuses; /* label of the one unit that refuses */
	struct task tasks[TASKS_MAX];
	size_t count, submits, cancels, recovers;
	unsigned slots, prefetch;
};

static struct commands_fixture c;
static struct fake fake;
static struct runner runners[2];
static struct core core; /* only for its host: job_event, job_handle, job_done */
static struct core_host host;
static struct engine *engine;
static json_t *progress;
static size_t fed;
static bool stopped;

/* ---- the runner ---- */

static struct task *
task_at(size_t index)
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
		"signal", "limit", "error", "cached", 0, "command", "./program", "start_ns", 5, "wall_ns", 7, "stdout", "text",
		"", "cut", 0, "stderr", "text", "", "cut", 0, "result", result, "result_error");
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
static void
end(size_t index, const char *status)
{
	struct task task = *task_at(index);
	fake.tasks[index] = fake.tasks[--fake.count];
	json_t *done = completion(&task, status);
	json_decref(task.plan);
	host.table.job_done(&host.table, task.ref, done);
}

static struct task *
add_task(const struct kettle_job *job, const json_t *plan)
{
	assert_true(fake.count < TASKS_MAX);
	struct task *task = &fake.tasks[fake.count++];
	*task = (struct task){.plan = json_deep_copy(plan)};
	(void)snprintf(task->ref, sizeof(task->ref), "%s", job->ref);
	(void)snprintf(task->unit, sizeof(task->unit), "%s", json_string_value(json_object_get(job->unit, "unit")));
	return task;
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
	if (fake.on_submit == REFUSES || (fake.refuses && strcmp(unit, fake.refuses) == 0))
		return kettle_fail(err, KETTLE_EUNAVAIL, "The fake is not in the mood.");
	(void)add_task(job, plan);
	if (fake.on_submit == AT_ONCE)
		end(fake.count - 1, "done");
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
				end(i, "cancelled");
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
	const struct engine_job *known = engine_job_find(engine, atoll(job->ref));
	struct task *task = add_task(job, known ? known->plan : plan);
	task->recovered = true;
	(void)snprintf(task->handle, sizeof(task->handle), "%s", handle);
	if (fake.on_recover == AT_ONCE)
		end(fake.count - 1, "done");
	return 0;
}

static const struct kettle_runner fake_ops = {
	.size = sizeof(struct kettle_runner),
	.capacity = fake_capacity,
	.submit = fake_submit,
	.cancel = fake_cancel,
	.recover = fake_recover,
};
static const struct kettle_runner forgetful_ops = {
	.size = sizeof(struct kettle_runner),
	.capacity = fake_capacity,
	.submit = fake_submit,
	.cancel = fake_cancel,
};

/* ---- the engine ---- */

/* Events reach the engine as the core passes them on. */
static void
feed(void)
{
	while (fed < json_array_size(c.f.events)) {
		const json_t *event = json_array_get(c.f.events, fed++);
		if (engine)
			engine_event(engine, event);
	}
}

#define until(condition) \
	do { \
		uint64_t end_ = uv_hrtime() + PATIENCE_NS; \
		feed(); \
		while (!(condition)) { \
			if (uv_hrtime() > end_) \
				fail_msg("line %d: never came: %s", __LINE__, #condition); \
			uv_run(&c.f.loop, UV_RUN_ONCE); \
			feed(); \
		} \
	} while (0)

static void
on_progress(void *arg, const json_t *event)
{
	(void)arg;
	json_array_append_new(progress, json_deep_copy(event));
}

static void
on_stopped(void *arg)
{
	(void)arg;
	assert_false(stopped);
	stopped = true;
}

/* CPU with so many units, and what else is there. */
static json_t *
devices(int units, const char *more)
{
	json_t *list = json_array(), *other = more ? json_loads(more, 0, NULL) : NULL;
	for (int i = 0; i < units; i++)
		json_array_append_new(list, json_pack("{s:s, s:i}", "runner", "fake", "number", i));
	json_t *all = json_pack("{s:{s:o}}", "CPU", "units", list);
	if (other)
		json_object_update_new(all, other);
	return all;
}

static void
make_engine(json_t *devices_take)
{
	AUTO_JSON json_t *list = devices_take;
	struct kettle_error err = {0};
	const struct engine_setup setup = {
		.loop = &c.f.loop,
		.store = c.f.store,
		.live = &core.live,
		.languages = c.env.languages,
		.runners = runners,
		.runners_count = 2,
		.devices = list,
		.progress = on_progress,
	};
	stopped = false;
	if (engine_new(&setup, &engine, &err) < 0)
		fail_msg("%s", err.message);
}

static void
loaded(void *arg, const struct kettle_error *err)
{
	assert_null(err);
	*(bool *)arg = true;
}

static void
start_engine(json_t *devices_take)
{
	bool done = false;
	make_engine(devices_take);
	engine_start(engine, loaded, &done);
	until(done);
}

static void
stop_engine(uint64_t grace_ms)
{
	engine_stop(engine, grace_ms, on_stopped, NULL);
	until(stopped);
	assert_int_equal(engine->in_flight, 0);
	for (const struct device *device = engine->devices; device; device = device->next)
		for (const struct unit *unit = device->units; unit; unit = unit->next) {
			assert_int_equal(unit->active, 0);
			assert_int_equal(unit->running, 0);
		}
	engine_free(STEAL(engine));
}

static void
setup_world(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.slots = 1;
	fake.prefetch = 1;
	fake.on_cancel = AT_ONCE;
	fed = 0;
	commands_open(&c);
	commands_board(&c, "board", NULL);
	progress = json_array();
	core = (struct core){.lock_fd = -1};
	host_init(&host, NULL, &core, "fake");
	runners[0] = (struct runner){"fake", &fake_ops, &fake};
	runners[1] = (struct runner){"forgetful", &forgetful_ops, &fake};
}

static int
setup(void **state)
{
	(void)state;
	setup_world();
	start_engine(devices(1, NULL));
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	fake.on_cancel = AT_ONCE;
	fake.cancel_ends_all = false;
	if (engine)
		stop_engine(0);
	while (fake.count > 0)
		json_decref(fake.tasks[--fake.count].plan);
	json_decref(progress);
	assert_int_equal(core.live.count, 0);
	commands_close(&c);
	return 0;
}

static int64_t
submit_as(const char *who, const char *mode)
{
	commands_submit(&c, who, "board", mode);
	feed();
	return fixture_int(&c.f, "SELECT max(id) FROM jobs");
}

static int64_t
submit(void)
{
	return submit_as("alice", "test");
}

/* Queued, and not started before the test looks at it. */
static int64_t
submit_held(void)
{
	engine->pause_until_ms = UINT64_MAX;
	int64_t job = submit();
	engine->pause_until_ms = 0;
	return job;
}

static const char *
text_of(const char *column, int64_t job)
{
	static char text[400];
	char sql[300];
	/* One character after the other: the fixture knows integers alone. */
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		(void)snprintf(sql, sizeof(sql), "SELECT coalesce(unicode(substr(%s, %zu, 1)), 0) FROM jobs WHERE id = %lld",
			column, i + 1, (long long)job);
		text[i] = (char)fixture_int(&c.f, sql);
		text[i + 1] = '\0';
		if (!text[i])
			break;
	}
	return text;
}

static bool
is(int64_t job, const char *state)
{
	char sql[200];
	(void)snprintf(
		sql, sizeof(sql), "SELECT count(*) FROM jobs WHERE id = %lld AND state = '%s'", (long long)job, state);
	return fixture_int(&c.f, sql) == 1;
}

static int64_t
number_of(const char *column, int64_t job)
{
	char sql[200];
	(void)snprintf(sql, sizeof(sql), "SELECT %s FROM jobs WHERE id = %lld", column, (long long)job);
	return fixture_int(&c.f, sql);
}

static void
cancel(int64_t job)
{
	commands_must(&c, "alice", "submission.cancel", json_pack("{s:I}", "id", (json_int_t)number_of("submission", job)));
	feed();
}

static struct unit *
unit_at(size_t index)
{
	struct unit *unit = engine->devices->units;
	while (index--)
		unit = unit->next;
	return unit;
}

static void
say(size_t task, json_t *event_take)
{
	AUTO_JSON json_t *event = event_take;
	host.table.job_event(&host.table, task_at(task)->ref, event);
}

/* ---- the usual way ---- */

static void
test_at_once(void **state)
{
	(void)state;
	fake.on_submit = AT_ONCE;
	int64_t job = submit_as("alice", "ranked");
	until(is(job, "passed"));
	assert_int_equal(fake.submits, 1);
	until(engine->in_flight == 0);
	assert_int_equal(unit_at(0)->active, 0);
	assert_null(engine_job_find(engine, job));
}

static void
test_slots_and_prefetch(void **state)
{
	(void)state;
	int64_t first = submit(), second = submit(), third = submit();
	until(fake.count == 2);
	AUTO_JSON json_t *place = engine_place(engine, third);
	assert_int_equal(commands_number(place, "place"), 0);
	assert_null(engine_place(engine, first));
	say(0, json_pack("{s:s}", "event", "device"));
	assert_int_equal(unit_at(0)->running, 1);
	end(0, "done");
	until(fake.submits == 3);
	assert_int_equal(unit_at(0)->running, 0);
	end(0, "done");
	end(0, "done");
	until(is(first, "passed") && is(second, "passed") && is(third, "passed"));
}

static void
test_idle_unit_first(void **state)
{
	(void)state;
	stop_engine(0);
	start_engine(devices(2, NULL));
	submit();
	submit();
	submit();
	until(fake.count == 3);
	assert_string_equal(task_at(0)->unit, "CPU.0");
	assert_string_equal(task_at(1)->unit, "CPU.1");
	assert_string_equal(task_at(2)->unit, "CPU.0");
}

static void
test_unknown_completion(void **state)
{
	(void)state;
	int64_t job = submit();
	until(fake.count == 1);
	host.table.job_done(&host.table, "77.1", json_pack("{s:s}", "status", "done"));
	char ref[LIVE_REF_SIZE];
	memcpy(ref, task_at(0)->ref, sizeof(ref));
	end(0, "done");
	host.table.job_done(&host.table, ref, json_pack("{s:s}", "status", "lost"));
	until(is(job, "passed"));
	until(engine->in_flight == 0);
	assert_int_equal(fixture_events(&c.f, "job.done"), 1);
}

/* Nothing at all is a completion too. */
static void
test_empty_completion(void **state)
{
	(void)state;
	int64_t job = submit();
	until(fake.count == 1);
	json_decref(task_at(0)->plan);
	char ref[LIVE_REF_SIZE];
	memcpy(ref, task_at(0)->ref, sizeof(ref));
	fake.count = 0;
	host.table.job_done(&host.table, ref, NULL);
	until(fake.count == 1);
	assert_int_equal(number_of("attempt", job), 2);
}

/* ---- what may be shown ---- */

static void
test_progress(void **state)
{
	(void)state;
	submit_as("alice", "ranked");
	until(fake.count == 1);
	const char *secret = NULL, *open = NULL;
	size_t i;
	json_t *step;
	json_array_foreach(json_object_get(task_at(0)->plan, "steps"), i, step) {
		const json_t *run = json_object_get(step, "run");
		const char **id = json_is_true(json_object_get(run, "secret")) ? &secret : &open;
		if (run)
			*id = json_string_value(json_object_get(step, "id"));
	}
	assert_true(secret && open);
	json_array_clear(progress);
	say(0, json_pack("{s:s, s:s, s:s, s:s}", "event", "result", "step", secret, "key", "k", "value", "LEAK"));
	say(0, json_pack("{s:s, s:s, s:s}", "event", "result", "key", "k", "value", "LEAK"));
	say(0, json_pack("{s:s, s:s, s:s}", "event", "result", "step", "none", "value", "LEAK"));
	say(0, json_pack("{s:s, s:s, s:s, s:s}", "event", "step", "step", secret, "state", "running", "argv", "LEAK"));
	say(0, json_pack("{s:s, s:{s:s, s:s, s:s, s:{s:s}}}", "event", "outcome", "outcome", "step", secret, "state",
			   "failed", "message", "LEAK", "result", "k", "LEAK"));
	say(0, json_pack("{s:s, s:s}", "event", "new", "text", "LEAK"));
	say(0, json_pack("{s:i}", "event", 1));
	say(0, json_pack("{s:s, s:s, s:s, s:s}", "event", "result", "step", open, "key", "k", "value", "shown"));
	AUTO_FREE char *text = json_dumps(progress, 0);
	assert_null(strstr(text, "LEAK"));
	assert_non_null(strstr(text, "shown"));
	assert_int_equal(json_array_size(progress), 3);
}

/* Waiting for the device is a state that no deadline counts, and neither repeats nor their lack lose a count. */
static void
test_phases(void **state)
{
	(void)state;
	int64_t job = submit();
	until(fake.count == 1);
	struct engine_job *known = engine_job_find(engine, job);
	assert_true(known->deadline_ms > 0);
	say(0, json_pack("{s:s}", "event", "waiting"));
	assert_int_equal(known->deadline_ms, 0);
	say(0, json_pack("{s:s}", "event", "device"));
	say(0, json_pack("{s:s}", "event", "device"));
	assert_true(known->deadline_ms > 0);
	assert_int_equal(unit_at(0)->running, 1);
	say(0, json_pack("{s:s}", "event", "waiting"));
	assert_int_equal(unit_at(0)->running, 0);
	end(0, "done");
	until(is(job, "passed"));
}

/* ---- losses ---- */

static void
test_refused(void **state)
{
	(void)state;
	fake.on_submit = REFUSES;
	int64_t job = submit();
	until(is(job, "error"));
	assert_int_equal(fake.submits, 3);
	assert_non_null(strstr(text_of("error", job), "failed 3 times"));
	assert_non_null(strstr(text_of("error", job), "not in the mood"));
	assert_int_equal(unit_at(0)->losses, 3);
	assert_true(unit_at(0)->pause_until_ms > 0);
	fake.on_submit = AT_ONCE;
	int64_t next = submit();
	until(is(next, "passed"));
	assert_int_equal(unit_at(0)->losses, 0);
}

static void
test_other_unit_takes_over(void **state)
{
	(void)state;
	stop_engine(0);
	start_engine(devices(2, NULL));
	fake.refuses = "CPU.0";
	int64_t job = submit();
	until(fake.count == 1);
	assert_string_equal(task_at(0)->unit, "CPU.1");
	assert_int_equal(number_of("attempt", job), 2);
	assert_int_equal(number_of("spared", job), 0);
	end(0, "done");
	until(is(job, "passed"));
}

static void
test_lost(void **state)
{
	(void)state;
	int64_t job = submit();
	for (int attempt = 1; attempt <= 3; attempt++) {
		until(fake.count == 1);
		assert_int_equal(number_of("attempt", job), attempt);
		end(0, "lost");
	}
	until(is(job, "error"));
	until(engine->in_flight == 0);
	assert_int_equal(fixture_events(&c.f, "submission.done"), 1);
}

static void
test_aside(void **state)
{
	(void)state;
	int64_t job = submit();
	until(fake.count == 1);
	json_t *done = json_pack("{s:s, s:s, s:s}", "status", "lost", "error", "it hangs", "aside", "the GPU hangs");
	json_decref(task_at(0)->plan);
	char ref[LIVE_REF_SIZE];
	memcpy(ref, task_at(0)->ref, sizeof(ref));
	fake.count = 0;
	host.table.job_done(&host.table, ref, done);
	until(is(job, "queued"));
	AUTO_JSON json_t *list = engine_devices(engine);
	assert_string_equal(commands_text(list, "0.units.0.state"), "aside");
	assert_string_equal(commands_text(list, "0.units.0.reason"), "the GPU hangs");
}

/* No plan, no start: the sentence is the verdict. */
static void
test_no_plan(void **state)
{
	(void)state;
	struct languages none = {0};
	stop_engine(0);
	const struct languages *all = c.env.languages;
	c.env.languages = &none;
	make_engine(devices(1, NULL));
	c.env.languages = all;
	int64_t job = submit();
	until(is(job, "error"));
	assert_int_equal(fake.submits, 0);
	assert_non_null(strstr(text_of("error", job), "not loaded"));
	until(engine->in_flight == 0);
}

/* ---- cancels ---- */

static void
test_cancel_queued(void **state)
{
	(void)state;
	submit();
	submit();
	int64_t job = submit();
	until(fake.count == 2);
	cancel(job);
	assert_null(engine_job_find(engine, job));
	assert_int_equal(fake.cancels, 0);
	end(0, "done");
	end(0, "done");
	until(engine->in_flight == 0);
	assert_int_equal(fake.submits, 2);
	assert_true(is(job, "cancelled"));
}

/* Between the order to start and its answer. */
static void
test_cancel_starting(void **state)
{
	(void)state;
	int64_t job = submit_held();
	engine_schedule(engine);
	assert_int_equal(engine_job_find(engine, job)->state, JOB_STARTING);
	engine_job_stop(engine_job_find(engine, job), STOP_CANCEL);
	cancel(job);
	until(engine->in_flight == 0);
	assert_int_equal(fake.submits, 0);
	assert_true(is(job, "cancelled"));
}

static void
test_cancel_active(void **state)
{
	(void)state;
	int64_t first = submit(), second = submit();
	until(fake.count == 2);
	cancel(first);
	assert_int_equal(fake.cancels, 1);
	assert_null(engine_job_find(engine, first)); /* it completed inside of cancel */
	fake.on_cancel = WAITS;
	cancel(second);
	assert_true(task_at(0)->cancelled);
	assert_int_equal(unit_at(0)->active, 1);
	end(0, "done"); /* it had ended by itself meanwhile */
	until(engine->in_flight == 0);
	assert_true(is(first, "cancelled") && is(second, "cancelled"));
	fake.on_submit = AT_ONCE;
	int64_t third = submit();
	until(is(third, "passed"));
}

static void
test_cancel_never_ends(void **state)
{
	(void)state;
	fake.on_cancel = NEVER;
	int64_t job = submit();
	until(fake.count == 1);
	cancel(job);
	engine_job_find(engine, job)->deadline_ms = 1;
	until(!engine_job_find(engine, job));
	assert_true(unit_at(0)->aside[0]);
	assert_int_equal(unit_at(0)->active, 0);
	int64_t next = submit();
	assert_int_equal(engine_job_find(engine, next)->state, JOB_QUEUED);
	end(0, "cancelled"); /* far too late: logged and dropped */
}

static void
test_cancel_ending(void **state)
{
	(void)state;
	int64_t job = submit();
	until(fake.count == 1);
	end(0, "lost");
	assert_int_equal(engine_job_find(engine, job)->state, JOB_ENDING);
	engine_job_stop(engine_job_find(engine, job), STOP_CANCEL);
	until(engine->in_flight == 0);
	assert_int_equal(fake.submits, 1);
}

static void
test_delete_active(void **state)
{
	(void)state;
	fake.on_cancel = WAITS;
	int64_t job = submit(), other = submit();
	until(fake.count == 2);
	commands_must(&c, "alice", "submission.delete", json_pack("{s:I}", "id", (json_int_t)number_of("submission", job)));
	feed();
	assert_true(task_at(0)->cancelled);
	end(0, "done");
	commands_must(&c, "owner", "leaderboard.delete", json_pack("{s:s, s:b}", "name", "board", "force", 1));
	feed();
	assert_true(task_at(0)->cancelled);
	end(0, "done");
	until(engine->in_flight == 0);
	assert_null(engine_job_find(engine, other));
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM jobs"), 0);
}

/* ---- deadlines ---- */

static void
test_deadline(void **state)
{
	(void)state;
	int64_t job = submit();
	until(fake.count == 1);
	engine_job_find(engine, job)->deadline_ms = 1;
	until(fake.cancels == 1);
	until(fake.count == 1 && fake.submits == 2);
	assert_int_equal(number_of("attempt", job), 2);
	end(0, "done");
	until(is(job, "passed"));
}

static void
test_deadline_never_ends(void **state)
{
	(void)state;
	stop_engine(0);
	start_engine(devices(2, NULL));
	fake.on_cancel = NEVER;
	int64_t job = submit();
	until(fake.count == 1);
	engine_job_find(engine, job)->deadline_ms = 1;
	until(fake.cancels == 1);
	engine_job_find(engine, job)->deadline_ms = 1;
	until(fake.count == 2);
	assert_string_equal(task_at(1)->unit, "CPU.1");
	assert_true(unit_at(0)->aside[0]);
	end(0, "done"); /* of the first attempt: dropped */
	end(0, "done");
	until(is(job, "passed"));
}

/* A runner that completes all its jobs when it is told to stop one, while the engine walks over them. */
static void
test_many_overdue(void **state)
{
	(void)state;
	fake.slots = 8;
	stop_engine(0);
	start_engine(devices(1, NULL));
	fake.cancel_ends_all = true;
	for (int i = 0; i < 8; i++) {
		int64_t job = submit();
		until(fake.count == (size_t)i + 1);
		engine_job_find(engine, job)->stop = i % 2 ? STOP_CANCEL : STOP_NO;
	}
	for (struct engine_job *job = engine->jobs; job; job = job->next)
		job->deadline_ms = 1;
	until(engine->in_flight == 0);
	assert_true(fake.cancels > 0 && fake.count == 0);
}

/* ---- stops ---- */

static void
test_hand_back(void **state)
{
	(void)state;
	int64_t first = submit(), second = submit(), third = submit();
	until(fake.count == 2);
	stop_engine(0);
	assert_true(is(first, "queued") && is(second, "queued") && is(third, "queued"));
	assert_int_equal(number_of("spared", first), 1);
	fake.on_submit = AT_ONCE;
	start_engine(devices(1, NULL));
	until(is(first, "passed") && is(second, "passed") && is(third, "passed"));
	assert_int_equal(number_of("attempt", first), 2);
}

static void
test_grace(void **state)
{
	(void)state;
	int64_t job = submit();
	until(fake.count == 1);
	engine_stop(engine, 60000, on_stopped, NULL);
	int64_t late = submit(); /* accepted, but nobody's now */
	for (int i = 0; i < 20; i++)
		uv_run(&c.f.loop, UV_RUN_ONCE);
	assert_false(stopped);
	assert_int_equal(fake.submits, 1);
	end(0, "done");
	until(stopped);
	assert_true(is(job, "passed") && is(late, "queued"));
	engine_free(STEAL(engine));
}

static void
test_shorter_grace(void **state)
{
	(void)state;
	int64_t job = submit();
	until(fake.count == 1);
	engine_stop(engine, 60000, on_stopped, NULL);
	stop_engine(0);
	assert_true(is(job, "queued"));
}

static void
test_stop_while_starting(void **state)
{
	(void)state;
	int64_t job = submit_held();
	engine_schedule(engine);
	assert_int_equal(engine_job_find(engine, job)->state, JOB_STARTING);
	stop_engine(60000);
	assert_int_equal(fake.submits, 0);
	assert_true(is(job, "queued"));
	assert_int_equal(number_of("spared", job), number_of("attempt", job));
}

/* The open jobs are still being read. */
static void
test_stop_while_loading(void **state)
{
	(void)state;
	bool done = false;
	int64_t job = submit();
	until(fake.count == 1);
	stop_engine(0);
	make_engine(devices(1, NULL));
	engine_start(engine, loaded, &done);
	stop_engine(0);
	assert_true(done);
	assert_true(is(job, "queued"));
	assert_int_equal(fake.submits, 1);
}

/* ---- after a restart ---- */

static void
answered(void *arg, const struct kettle_error *err, json_t *result)
{
	(void)result;
	*(int *)arg = err->code < 0 ? err->code : 1;
}

/* Leaves a running job with a handle in the database, as an engine does that dies. */
static int64_t
orphan(bool with_handle)
{
	int answer = 0;
	int64_t job = submit();
	until(fake.count == 1);
	if (with_handle) {
		assert_int_equal(host.table.job_handle(&host.table, task_at(0)->ref, "remote-7", answered, &answer), 0);
		assert_int_equal(answer, 0);
		until(answer == 1);
	}
	char sql[300];
	(void)snprintf(sql, sizeof(sql), "CREATE TABLE saved AS SELECT * FROM jobs WHERE id = %lld", (long long)job);
	fixture_sql(&c.f, sql);
	stop_engine(0);
	fixture_sql(&c.f,
		"UPDATE jobs SET state = 'running', attempt = s.attempt, spared = 0, unit = s.unit, handle = s.handle FROM "
		"saved s WHERE jobs.id = s.id");
	memset(&fake, 0, sizeof(fake));
	fake.slots = fake.prefetch = 1;
	fake.on_cancel = AT_ONCE;
	return job;
}

static void
test_recover(void **state)
{
	(void)state;
	int64_t job = orphan(true);
	start_engine(devices(1, NULL));
	until(fake.count == 1);
	assert_true(task_at(0)->recovered);
	assert_string_equal(task_at(0)->handle, "remote-7");
	end(0, "done");
	until(is(job, "passed"));
	assert_int_equal(number_of("attempt", job), 1);
	assert_int_equal(fake.submits, 0);
}

static void
test_recover_at_once(void **state)
{
	(void)state;
	int64_t job = orphan(true);
	fake.on_recover = AT_ONCE;
	start_engine(devices(1, NULL));
	until(is(job, "passed"));
	until(engine->in_flight == 0);
}

static void
test_recover_finds_nothing(void **state)
{
	(void)state;
	int64_t job = orphan(true);
	fake.on_recover = REFUSES;
	fake.on_submit = AT_ONCE;
	start_engine(devices(1, NULL));
	until(is(job, "passed"));
	assert_int_equal(fake.recovers, 1);
	assert_int_equal(number_of("attempt", job), 2);
}

static void
test_recover_without_handle(void **state)
{
	(void)state;
	int64_t job = orphan(false);
	fake.on_submit = AT_ONCE;
	start_engine(devices(1, NULL));
	until(is(job, "passed"));
	assert_int_equal(fake.recovers, 0);
	assert_int_equal(number_of("attempt", job), 2);
}

/* Its unit is not configured any more: another one is not asked about a handle it has never seen. */
static void
test_recover_unit_gone(void **state)
{
	(void)state;
	int64_t job = orphan(true);
	fixture_sql(&c.f, "UPDATE jobs SET unit = 'CPU.7'");
	fake.on_submit = AT_ONCE;
	start_engine(devices(1, NULL));
	until(is(job, "passed"));
	assert_int_equal(fake.recovers, 0);
}

static void
test_recover_no_operation(void **state)
{
	(void)state;
	int64_t job = orphan(true);
	fake.on_submit = AT_ONCE;
	start_engine(json_pack("{s:{s:[{s:s}]}}", "CPU", "units", "runner", "forgetful"));
	until(is(job, "passed"));
	assert_int_equal(fake.recovers, 0);
}

/* Cancelled while its material is read again: what is found is cancelled, and its unit is as good as before. */
static void
test_recover_cancelled(void **state)
{
	(void)state;
	int64_t job = orphan(true);
	make_engine(devices(1, NULL));
	bool done = false;
	engine_start(engine, loaded, &done);
	while (!engine_job_find(engine, job))
		uv_run(&c.f.loop, UV_RUN_ONCE);
	engine_job_stop(engine_job_find(engine, job), STOP_CANCEL);
	until(!engine_job_find(engine, job));
	assert_int_equal(fake.recovers, 1);
	assert_int_equal(fake.cancels, 1);
	assert_false(unit_at(0)->aside[0]);
	assert_int_equal(unit_at(0)->active, 0);
	cancel(job);
}

/* The third attempt was the last. */
static void
test_recover_used_up(void **state)
{
	(void)state;
	int64_t job = orphan(false);
	fixture_sql(&c.f, "UPDATE jobs SET attempt = 3");
	start_engine(devices(1, NULL));
	until(is(job, "error"));
	until(engine->in_flight == 0);
	assert_int_equal(fake.submits, 0);
}

/* ---- handles ---- */

/* The job ends and is gone while the store still writes its handle. */
static void
test_handle_of_cancelled(void **state)
{
	(void)state;
	int answer = 0;
	int64_t job = submit();
	until(fake.count == 1);
	host.table.job_handle(&host.table, task_at(0)->ref, "remote-7", answered, &answer);
	engine_job_stop(engine_job_find(engine, job), STOP_CANCEL);
	assert_null(engine_job_find(engine, job));
	until(answer != 0);
	assert_int_equal(host.table.job_handle(&host.table, "77.1", "x", answered, &answer), KETTLE_ENOENT);
	cancel(job);
}

static void
dies(void *arg, const struct kettle_error *err, json_t *result)
{
	(void)arg, (void)err, (void)result;
	(void)raise(SIGKILL); /* without failpoints this is as near as it gets */
}

/* Killed right after the handle was stored: the next engine finds the job again by it. */
static void
test_killed_after_handle(void **state)
{
	(void)state;
	int64_t job = submit();
	until(fake.count == 1);
	stop_engine(0);
	fixture_stop(&c.f);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int status;
		struct kettle_error err = {0};
		(void)setenv("KETTLE_FAIL", "engine.handle", 1);
		if (uv_loop_fork(&c.f.loop) != 0 || fixture_store(&c.f, &err) < 0)
			_exit(1);
		start_engine(devices(1, NULL));
		until(fake.count == 1);
		host.table.job_handle(&host.table, task_at(0)->ref, "remote-9", dies, NULL);
		until(status = 0);
		_exit(2);
	}
	int status = 0;
	struct kettle_error err = {0};
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(fixture_store(&c.f, &err), 0);
	start_engine(devices(1, NULL));
	until(fake.count == 1);
	assert_string_equal(task_at(0)->handle, "remote-9");
	end(0, "done");
	until(is(job, "passed"));
}

/* ---- devices that come and go ---- */

static void
reload(json_t *devices_take, int status)
{
	AUTO_JSON json_t *list = devices_take;
	struct kettle_error err = {0};
	assert_int_equal(engine_reload(engine, list, &err), status);
	if (status < 0)
		assert_true(err.message[0]);
}

static void
test_reload_keeps_units(void **state)
{
	(void)state;
	int64_t job = submit();
	until(fake.count == 1);
	struct unit *unit = unit_at(0);
	(void)snprintf(unit->aside, sizeof(unit->aside), "broken");
	reload(devices(2, NULL), 0);
	assert_ptr_equal(unit_at(0), unit);
	assert_false(unit->removed);
	assert_string_equal(unit->aside, "broken");
	assert_int_equal(unit->active, 1);
	assert_string_equal(unit_at(1)->label, "CPU.1");
	end(0, "done");
	until(is(job, "passed"));
	reload(devices(1, NULL), 0);
	assert_null(unit_at(0)->next);
}

static void
test_reload_drains(void **state)
{
	(void)state;
	int64_t job = submit(), waiting;
	until(fake.count == 1);
	reload(json_pack("{s:{s:[{s:s}]}}", "GPU", "units", "runner", "fake"), 0);
	assert_true(unit_at(0)->removed);
	waiting = submit(); /* accepted just before */
	end(0, "lost");
	until(is(job, "queued"));
	assert_int_equal(fake.submits, 1);
	AUTO_JSON json_t *list = engine_devices(engine);
	assert_int_equal(commands_number(list, "0.queued"), 2);
	reload(devices(1, NULL), 0);
	fake.on_submit = AT_ONCE;
	until(is(job, "passed") && is(waiting, "passed"));
	reload(json_pack("{s:{s:[{s:s}]}}", "GPU", "units", "runner", "fake"), 0);
	AUTO_JSON json_t *gone = engine_devices(engine);
	assert_int_equal(json_array_size(gone), 1);
}

/* The engine was started without the device; its jobs stay in the database and come with it. */
static void
test_reload_brings_jobs(void **state)
{
	(void)state;
	int64_t job = submit();
	until(fake.count == 1);
	stop_engine(0);
	start_engine(json_pack("{s:{s:[{s:s}]}}", "GPU", "units", "runner", "fake"));
	assert_null(engine_job_find(engine, job));
	assert_true(is(job, "queued"));
	fake.on_submit = AT_ONCE;
	reload(devices(1, NULL), 0);
	until(is(job, "passed"));
}

static void
test_reload_wrong(void **state)
{
	(void)state;
	struct unit *unit = unit_at(0);
	reload(devices(3, "{\"GPU\": {\"units\": [{\"runner\": \"absent\"}]}}"), KETTLE_EINVAL);
	reload(devices(3, "{\"GPU\": {\"units\": [{\"runner\": \"fake\", \"bad\": 1}]}}"), KETTLE_EINVAL);
	assert_ptr_equal(unit_at(0), unit);
	assert_false(unit->removed);
	assert_null(unit->next);
	AUTO_JSON json_t *list = engine_devices(engine);
	assert_int_equal(json_array_size(list), 1);
	fake.on_submit = AT_ONCE;
	int64_t job = submit();
	until(is(job, "passed"));
}

/* The order of the configuration is the order of preference, also after a reload. */
static void
test_reload_order(void **state)
{
	(void)state;
	reload(json_pack("{s:{s:[{s:s, s:i}, {s:s, s:i}]}}", "CPU", "units", "runner", "fake", "number", 9, "runner",
			   "fake", "number", 1),
		0);
	assert_int_equal(json_integer_value(json_object_get(unit_at(0)->config, "number")), 9);
	reload(devices(2, NULL), 0);
	assert_int_equal(json_integer_value(json_object_get(unit_at(0)->config, "number")), 0);
	assert_int_equal(json_integer_value(json_object_get(unit_at(1)->config, "number")), 1);
}

static void
test_bad_devices(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	struct engine *other = NULL;
	AUTO_JSON json_t *list = json_pack("{s:{s:[{s:s}]}}", "CPU", "units", "runner", "absent");
	const struct engine_setup with = {.loop = &c.f.loop, .store = c.f.store, .live = &core.live, .devices = list};
	assert_int_equal(engine_new(&with, &other, &err), KETTLE_EINVAL);
	assert_says(&err, "absent");
	assert_null(other);
}

/* ---- a database that cannot ---- */

static void
test_start_is_tried_again(void **state)
{
	(void)state;
	fake.on_submit = AT_ONCE;
	fixture_sql(&c.f, "CREATE TRIGGER full BEFORE UPDATE ON jobs BEGIN SELECT raise(ABORT, 'the disk is full'); END");
	int64_t job = submit();
	until(engine->pause_until_ms > 0);
	assert_non_null(engine_job_find(engine, job));
	assert_int_equal(engine->in_flight, 0);
	fixture_sql(&c.f, "DROP TRIGGER full");
	until(is(job, "passed"));
}

static void
test_verdict_is_tried_again(void **state)
{
	(void)state;
	int64_t first = submit(), second = submit();
	until(fake.count == 2);
	fixture_sql(&c.f, "CREATE TRIGGER full BEFORE UPDATE ON jobs BEGIN SELECT raise(ABORT, 'the disk is full'); END");
	end(0, "done");
	end(0, "lost");
	until(engine_job_find(engine, first)->again && engine_job_find(engine, second)->again);
	assert_int_equal(unit_at(0)->active, 2);
	fixture_sql(&c.f, "DROP TRIGGER full");
	until(is(first, "passed") || is(second, "passed"));
	until(fake.count == 1);
	end(0, "done");
	until(is(first, "passed") && is(second, "passed"));
}

/* An engine that stops does not wait for the disk: the job is the next engine's. */
static void
test_stop_with_full_disk(void **state)
{
	(void)state;
	int64_t job = submit();
	until(fake.count == 1);
	fixture_sql(&c.f, "CREATE TRIGGER full BEFORE UPDATE ON jobs BEGIN SELECT raise(ABORT, 'the disk is full'); END");
	end(0, "done");
	until(engine_job_find(engine, job)->again);
	stop_engine(60000);
	assert_true(is(job, "running"));
	fixture_sql(&c.f, "DROP TRIGGER full");
	fake.on_submit = AT_ONCE;
	start_engine(devices(1, NULL));
	until(is(job, "passed"));
	assert_int_equal(fixture_events(&c.f, "job.done"), 1);
}

/* Its task cannot be read: that uses up attempts, and is no endless circle. */
static void
test_no_material(void **state)
{
	(void)state;
	int64_t job = submit_held();
	fixture_sql(&c.f, "UPDATE tasks SET bundle_json = '7'");
	until(is(job, "error"));
	assert_int_equal(fake.submits, 0);
	assert_int_equal(number_of("attempt", job), 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_at_once),
		TEST(test_slots_and_prefetch),
		TEST(test_idle_unit_first),
		TEST(test_unknown_completion),
		TEST(test_empty_completion),
		TEST(test_progress),
		TEST(test_phases),
		TEST(test_refused),
		TEST(test_other_unit_takes_over),
		TEST(test_lost),
		TEST(test_aside),
		TEST(test_no_plan),
		TEST(test_cancel_queued),
		TEST(test_cancel_starting),
		TEST(test_cancel_active),
		TEST(test_cancel_never_ends),
		TEST(test_cancel_ending),
		TEST(test_delete_active),
		TEST(test_deadline),
		TEST(test_deadline_never_ends),
		TEST(test_many_overdue),
		TEST(test_hand_back),
		TEST(test_grace),
		TEST(test_shorter_grace),
		TEST(test_stop_while_starting),
		TEST(test_stop_while_loading),
		TEST(test_recover),
		TEST(test_recover_at_once),
		TEST(test_recover_finds_nothing),
		TEST(test_recover_without_handle),
		TEST(test_recover_unit_gone),
		TEST(test_recover_no_operation),
		TEST(test_recover_cancelled),
		TEST(test_recover_used_up),
		TEST(test_handle_of_cancelled),
		TEST(test_killed_after_handle),
		TEST(test_reload_keeps_units),
		TEST(test_reload_drains),
		TEST(test_reload_brings_jobs),
		TEST(test_reload_wrong),
		TEST(test_reload_order),
		TEST(test_bad_devices),
		TEST(test_start_is_tried_again),
		TEST(test_verdict_is_tried_again),
		TEST(test_stop_with_full_disk),
		TEST(test_no_material),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
