/* SPDX-License-Identifier: MIT */
/* The engine after a restart, a reload, and with a database that cannot write. */
#include <config.h>

#include "unit/engine_fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "lib/unit_test.h"
#include "model/jobs.h"
#include "model/remote_names.h"

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
	int64_t job = world_submit();
	until(fake.count == 1);
	if (with_handle) {
		assert_int_equal(
			world.host.table.job_handle(&world.host.table, fake_task(0)->ref, "remote-7", answered, &answer), 0);
		assert_int_equal(answer, 0);
		until(answer == 1);
	}
	char sql[300];
	(void)snprintf(sql, sizeof(sql), "CREATE TABLE saved AS SELECT * FROM jobs WHERE id = %lld", (long long)job);
	fixture_sql(&world.c.f, sql);
	world_stop(0);
	fixture_sql(&world.c.f,
		"UPDATE jobs SET state = 'running', attempt = s.attempt, uncharged_attempts = 0, unit = s.unit, "
		"unit_key = s.unit_key, handle = s.handle, runner = s.runner, plan_hash = s.plan_hash FROM "
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
	world_start(world_devices(1, NULL));
	until(fake.count == 1);
	assert_true(fake_task(0)->recovered);
	assert_string_equal(fake_task(0)->handle, "remote-7");
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
	assert_int_equal(world_number("attempt", job), 1);
	assert_int_equal(fake.submits, 0);
}

/* No clock runs for a job that is found in a remote queue, from recover itself on; that of builds begins when it starts. */
static void
test_recover_queued(void **state)
{
	(void)state;
	int64_t job = orphan(true);
	fake.recover_queued = true;
	world_start(world_devices(1, NULL));
	until(fake.count == 1);
	const struct engine_job *known = engine_job_find(world.engine, job);
	assert_int_equal(known->deadline_ms, 0);
	assert_int_equal(known->phase, PHASE_WAITING);
	fake_say(0, json_pack("{s:s}", "event", "started"));
	assert_int_equal(known->phase, PHASE_BUILDING);
	assert_true(known->deadline_ms > 0);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
	assert_int_equal(world_number("attempt", job), 1);
}

static void
test_recover_at_once(void **state)
{
	(void)state;
	int64_t job = orphan(true);
	fake.on_recover = AT_ONCE;
	world_start(world_devices(1, NULL));
	until(world_job_is(job, "passed"));
	until(world.engine->in_flight == 0);
}

static void
test_recover_finds_nothing(void **state)
{
	(void)state;
	int64_t job = orphan(true);
	fake.on_recover = REFUSES;
	fake.on_submit = AT_ONCE;
	world_start(world_devices(1, NULL));
	until(world_job_is(job, "passed"));
	assert_int_equal(fake.recovers, 1);
	assert_int_equal(world_number("attempt", job), 2);
}

static void
test_recover_without_handle(void **state)
{
	(void)state;
	int64_t job = orphan(false);
	fake.on_submit = AT_ONCE;
	world_start(world_devices(1, NULL));
	until(world_job_is(job, "passed"));
	assert_int_equal(fake.recovers, 0);
	assert_int_equal(world_number("attempt", job), 2);
	/* The machine did not fail: none of its attempts is used up. */
	assert_int_equal(world_number("attempt - uncharged_attempts", job), 1);
	assert_int_equal(world_number("lost_with_engine", job), 1);
}

/* In a copy of the database it is another one's job: neither found again nor cancelled, and its names are new. */
static void
test_recover_in_copy(void **state)
{
	(void)state;
	char prefix[16];
	int64_t job = orphan(true);
	fixture_sql(&world.c.f,
		"CREATE TABLE was AS SELECT value_json AS prefix FROM settings WHERE key = 'remote_prefix'; "
		"UPDATE settings SET value_json = json_set(value_json, '$.inode', 5) WHERE key = "
		"'remote_place'");
	world_start(world_devices(1, NULL));
	until(fake.count == 1);
	(void)snprintf(prefix, sizeof(prefix), "%s", world.engine->names.prefix);
	assert_int_equal(fake.recovers + fake.cancels, 0);
	assert_int_equal(fixture_int(&world.c.f,
						 "SELECT count(*) FROM settings, was WHERE key = 'remote_prefix' AND prefix <> value_json"),
		1);
	assert_non_null(strstr(fake_task(0)->name, prefix));
	assert_int_equal(world_number("attempt - uncharged_attempts", job), 1);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
	/* Another start, of the same file: nothing is new. */
	world_stop(0);
	world_start(world_devices(1, NULL));
	assert_string_equal(world.engine->names.prefix, prefix);
}

/* Its unit is no longer configured: another one does not get a handle that it has never seen. */
static void
test_recover_unit_gone(void **state)
{
	(void)state;
	int64_t job = orphan(true);
	fixture_sql(&world.c.f, "UPDATE jobs SET unit_key = 'gone'");
	fake.on_submit = AT_ONCE;
	world_start(world_devices(1, NULL));
	until(world_job_is(job, "passed"));
	assert_int_equal(fake.recovers, 0);
}

/* It is asked for where it runs, whatever has its unit's place in the configuration now. */
static void
test_recover_unit_moved(void **state)
{
	(void)state;
	int64_t job = orphan(true);
	world_start(json_pack("{s:{s:[{s:s, s:i}, {s:s, s:i}]}}", "CPU", "units", "runner", "fake", "number", 5, "runner",
		"fake", "number", 0));
	until(fake.count == 1);
	assert_true(fake_task(0)->recovered);
	assert_string_equal(fake_task(0)->unit, "CPU.1");
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
}

static void
test_recover_no_operation(void **state)
{
	(void)state;
	int64_t job = orphan(true);
	fake.on_submit = AT_ONCE;
	world_start(json_pack("{s:{s:[{s:s}]}}", "CPU", "units", "runner", "forgetful"));
	until(world_job_is(job, "passed"));
	assert_int_equal(fake.recovers, 0);
}

/* Cancelled while its material is read again: what is found is cancelled, and its unit is as good as before. */
static void
test_recover_cancelled(void **state)
{
	(void)state;
	int64_t job = orphan(true);
	world_engine(world_devices(1, NULL));
	engine_start(world.engine);
	while (!engine_job_find(world.engine, job))
		uv_run(&world.c.f.loop, UV_RUN_ONCE);
	engine_job_stop(engine_job_find(world.engine, job), STOP_CANCEL);
	until(!engine_job_find(world.engine, job));
	assert_int_equal(fake.recovers, 1);
	assert_int_equal(fake.cancels, 1);
	assert_false(world_unit(0)->disabled.cause);
	assert_int_equal(world_unit(0)->active, 0);
	world_cancel(job);
}

/* A runner that cannot look now, as without its key: the job keeps its handle and its attempt, and is found later. */
static void
test_recover_not_now(void **state)
{
	(void)state;
	int64_t job = orphan(true);
	fake.on_recover = NOT_NOW;
	world_start(world_devices(1, NULL));
	until(fake.recovers == 1 && !engine_job_find(world.engine, job));
	assert_true(world_job_is(job, "running"));
	assert_string_equal(world_text("handle", job), "remote-7");
	/* As an engine does that comes and goes. */
	world_stop(0);
	world_start(world_devices(1, NULL));
	until(fake.recovers == 2 && !engine_job_find(world.engine, job));
	assert_true(world.engine->load.again_at_ms > 0);
	fake.on_recover = WAITS;
	until(fake.count == 1);
	assert_true(fake_task(0)->recovered);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
	assert_int_equal(world_number("attempt", job), 1);
	assert_int_equal(fake.submits, 0);
}

static int
end_op(struct db *db, void *arg, struct kettle_error *err)
{
	return db_exec(db, err, arg, "");
}

/* Ended, or gone, between the load of the open jobs and that of its code: what runs of it on its remote side ends, too. */
static void
test_recover_ended(void **state)
{
	(void)state;
	static const char *const ends[] = {
		"UPDATE jobs SET state = 'cancelled', done_at = 1, handle = NULL WHERE done_at IS NULL",
		"DELETE FROM submissions"};
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		int64_t job = orphan(true);
		world_engine(world_devices(1, NULL));
		engine_start(world.engine);
		store_write(world.c.f.store, end_op, NULL, (void *)ends[i]);
		until(engine_loaded(world.engine));
		until(!engine_job_find(world.engine, job));
		assert_int_equal(fake.recovers, 1);
		assert_int_equal(fake.cancels, 1);
		assert_int_equal(fake.submits, 0);
		assert_false(world_unit(0)->disabled.cause);
		fixture_sql(&world.c.f, "DROP TABLE saved");
	}
}

/* The third attempt was the last. */
static void
test_recover_used_up(void **state)
{
	(void)state;
	int64_t job = orphan(false);
	char sql[100];
	(void)snprintf(sql, sizeof(sql), "UPDATE jobs SET lost_with_engine = %d", JOB_MAX_LOST_WITH_ENGINE - 1);
	fixture_sql(&world.c.f, sql);
	world_start(world_devices(1, NULL));
	until(world_job_is(job, "error"));
	assert_non_null(strstr(world_text("error", job), "10 attempts failed"));
	until(world.engine->in_flight == 0);
	assert_int_equal(fake.submits, 0);
}

/* A handle goes to the runner that stored it: the unit is another runner's now. */
static void
test_recover_other_runner(void **state)
{
	(void)state;
	int64_t job = orphan(true);
	assert_string_equal(world_text("runner", job), "fake");
	fixture_sql(&world.c.f, "UPDATE jobs SET runner = 'other'");
	fake.on_submit = AT_ONCE;
	world_start(world_devices(1, NULL));
	until(world_job_is(job, "passed"));
	assert_int_equal(fake.recovers, 0);
	assert_int_equal(world_number("attempt", job), 2);
}

/* ---- a stop is not a cancel ---- */

/* A job that runs on a remote side; its handle is stored. */
static int64_t
begin_remote(void)
{
	int answer = 0;
	int64_t job = world_submit();
	until(fake.count == 1);
	assert_int_equal(
		world.host.table.job_handle(&world.host.table, fake_task(0)->ref, "remote-7", answered, &answer), 0);
	until(answer == 1);
	return job;
}

static void
must_be_recovered(int64_t job)
{
	until(fake.count == 1);
	assert_true(fake_task(0)->recovered);
	assert_string_equal(fake_task(0)->handle, "remote-7");
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
	assert_int_equal(world_number("attempt", job), 1);
	assert_int_equal(fake.submits, 1);
	assert_int_equal(fake.cancels, 0);
}

/* It is not waited for either. */
static void
test_detach_at_stop(void **state)
{
	(void)state;
	int64_t job = begin_remote();
	char name[80], plan_hash[65];
	(void)snprintf(name, sizeof(name), "%s", fake_task(0)->name);
	(void)snprintf(plan_hash, sizeof(plan_hash), "%s", fake_task(0)->plan_hash);
	assert_int_equal(strlen(plan_hash), 64);
	assert_int_equal(strncmp(name, "kettle-", 7), 0);
	assert_int_equal(strcspn(name + 7, "-"), 8);
	assert_string_equal(name + 16, fake_task(0)->ref);
	world_stop(60000);
	assert_int_equal(fake.detaches, 1);
	assert_int_equal(fake.count, 0);
	assert_true(world_job_is(job, "running"));
	world_start(world_devices(1, NULL));
	until(fake.count == 1);
	assert_string_equal(fake_task(0)->name, name);
	assert_string_equal(fake_task(0)->plan_hash, plan_hash);
	must_be_recovered(job);
}

/* Without a handle it could not be found again: it is handed back. */
static void
test_no_detach_without_handle(void **state)
{
	(void)state;
	int64_t job = world_submit();
	until(fake.count == 1);
	world_stop(0);
	assert_int_equal(fake.detaches, 0);
	assert_int_equal(fake.cancels, 1);
	assert_true(world_job_is(job, "queued"));
}

static void reload(json_t *devices_take, int status);

/* The engine looks at its jobs once more. */
static void
tick(void)
{
	uint64_t before = world.engine->heartbeat_ms;
	until(engine_loaded(world.engine) && world.engine->heartbeat_ms != before);
}

/* A device that moves to another unit of a runner. */
static void
reload_moved(void)
{
	reload(json_pack("{s:{s:[{s:s, s:i}]}}", "CPU", "units", "runner", "fake", "number", 7), 0);
	tick();
}

/* Its unit is removed: what runs there ends there. */
static void
test_reload_while_away(void **state)
{
	(void)state;
	int64_t job = begin_remote();
	fake_say(0, json_pack("{s:s}", "event", "device"));
	reload_moved();
	assert_int_equal(fake.count, 1);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
	assert_int_equal(world_number("attempt", job), 1);
	assert_int_equal(fake.submits, 1);
	assert_int_equal(fake.detaches + fake.cancels, 0);
}

/* What only waits there is given to the device's unit of now, and has lost no attempt. */
static void
test_reload_while_waiting(void **state)
{
	(void)state;
	int64_t job = begin_remote();
	fake_say(0, json_pack("{s:s}", "event", "waiting"));
	fake.on_cancel = AT_ONCE;
	reload_moved();
	until(fake.submits == 2 && fake.count == 1);
	assert_int_equal(fake.cancels, 1);
	const struct unit *now = engine_job_find(world.engine, job)->unit;
	assert_int_equal(json_integer_value(json_object_get(now->config, "number")), 7);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
	assert_int_equal(world_number("uncharged_attempts", job), 1);
}

/* Where the unit is only another size, nothing that waits there loses its place. */
static void
test_reload_of_slots_while_waiting(void **state)
{
	(void)state;
	int64_t job = begin_remote();
	fake_say(0, json_pack("{s:s}", "event", "waiting"));
	reload(json_pack("{s:{s:[{s:s, s:i, s:i}]}}", "CPU", "units", "runner", "fake", "number", 0, "slots", 9), 0);
	tick();
	assert_int_equal(fake.cancels, 0);
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
	assert_int_equal(fake.submits, 1);
}

/* What is copied while the engine runs is seen as a copy, soon after. */
static void
test_new_mark(void **state)
{
	(void)state;
	static const char count[] = "SELECT count(DISTINCT value_json) FROM (SELECT value_json FROM settings WHERE key = "
								"'remote_place' UNION SELECT * FROM before)";
	fixture_sql(&world.c.f, "CREATE TABLE before AS SELECT value_json FROM settings WHERE key = 'remote_place'");
	fake.on_submit = AT_ONCE;
	int64_t job = world_submit();
	until(world_job_is(job, "passed"));
	assert_int_equal(fixture_int(&world.c.f, count), 1);
	world_pass(REMOTE_EPOCH_MS);
	job = world_submit();
	until(world_job_is(job, "passed"));
	assert_int_equal(fixture_int(&world.c.f, count), 2);
}

/* ---- handles ---- */

/* The job ends and is gone while the store still writes its handle. */
static void
test_handle_of_cancelled(void **state)
{
	(void)state;
	int answer = 0;
	int64_t job = world_submit();
	until(fake.count == 1);
	world.host.table.job_handle(&world.host.table, fake_task(0)->ref, "remote-7", answered, &answer);
	engine_job_stop(engine_job_find(world.engine, job), STOP_CANCEL);
	assert_null(engine_job_find(world.engine, job));
	until(answer != 0);
	assert_int_equal(world.host.table.job_handle(&world.host.table, "77.1", "x", answered, &answer), KETTLE_ENOENT);
	world_cancel(job);
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
	int64_t job = world_submit();
	until(fake.count == 1);
	world_stop(0);
	fixture_stop(&world.c.f);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int status;
		struct kettle_error err = {0};
		(void)setenv("KETTLE_FAIL", "engine.handle", 1);
		if (uv_loop_fork(&world.c.f.loop) != 0 || fixture_store(&world.c.f, &err) < 0)
			_exit(1);
		world_start(world_devices(1, NULL));
		until(fake.count == 1);
		world.host.table.job_handle(&world.host.table, fake_task(0)->ref, "remote-9", dies, NULL);
		until(status = 0);
		_exit(2);
	}
	int status = 0;
	struct kettle_error err = {0};
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(fixture_store(&world.c.f, &err), 0);
	world_start(world_devices(1, NULL));
	until(fake.count == 1);
	assert_string_equal(fake_task(0)->handle, "remote-9");
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
}

/* ---- devices that come and go ---- */

static void
reload(json_t *devices_take, int status)
{
	AUTO_JSON json_t *list = devices_take;
	struct kettle_error err = {0};
	assert_int_equal(engine_reload(world.engine, list, &err), status);
	if (status < 0)
		assert_true(err.message[0]);
}

static void
test_reload_keeps_units(void **state)
{
	(void)state;
	int64_t job = world_submit();
	until(fake.count == 1);
	struct unit *unit = world_unit(0);
	(void)snprintf(unit->disabled.why, sizeof(unit->disabled.why), "broken");
	reload(world_devices(2, NULL), 0);
	assert_ptr_equal(world_unit(0), unit);
	assert_false(unit->removed);
	assert_string_equal(unit->disabled.why, "broken");
	assert_int_equal(unit->active, 1);
	assert_string_equal(world_unit(1)->label, "CPU.1");
	fake_end(0, "done");
	until(world_job_is(job, "passed"));
	reload(world_devices(1, NULL), 0);
	assert_null(world_unit(0)->next);
}

static void
test_reload_drains(void **state)
{
	(void)state;
	int64_t job = world_submit(), waiting;
	until(fake.count == 1);
	reload(json_pack("{s:{s:[{s:s}]}}", "GPU", "units", "runner", "fake"), 0);
	assert_true(world_unit(0)->removed);
	waiting = world_submit(); /* accepted just before */
	fake_end(0, "lost");
	until(world_job_is(job, "queued"));
	assert_int_equal(fake.submits, 1);
	AUTO_JSON json_t *list = engine_devices(world.engine);
	assert_int_equal(commands_number(list, "0.queued"), 2);
	reload(world_devices(1, NULL), 0);
	fake.on_submit = AT_ONCE;
	until(world_job_is(job, "passed") && world_job_is(waiting, "passed"));
	reload(json_pack("{s:{s:[{s:s}]}}", "GPU", "units", "runner", "fake"), 0);
	AUTO_JSON json_t *gone = engine_devices(world.engine);
	assert_int_equal(json_array_size(gone), 1);
}

/* The engine was started without the device; its jobs stay in the database and come with it. */
static void
test_reload_brings_jobs(void **state)
{
	(void)state;
	int64_t job = world_submit();
	until(fake.count == 1);
	world_stop(0);
	world_start(json_pack("{s:{s:[{s:s}]}}", "GPU", "units", "runner", "fake"));
	assert_null(engine_job_find(world.engine, job));
	assert_true(world_job_is(job, "queued"));
	fake.on_submit = AT_ONCE;
	reload(world_devices(1, NULL), 0);
	until(world_job_is(job, "passed"));
}

static void
test_reload_wrong(void **state)
{
	(void)state;
	struct unit *unit = world_unit(0);
	reload(world_devices(3, "{\"GPU\": {\"units\": [{\"runner\": \"absent\"}]}}"), KETTLE_EINVAL);
	reload(world_devices(3, "{\"GPU\": {\"units\": [{\"runner\": \"fake\", \"bad\": 1}]}}"), KETTLE_EINVAL);
	assert_ptr_equal(world_unit(0), unit);
	assert_false(unit->removed);
	assert_null(unit->next);
	AUTO_JSON json_t *list = engine_devices(world.engine);
	assert_int_equal(json_array_size(list), 1);
	fake.on_submit = AT_ONCE;
	int64_t job = world_submit();
	until(world_job_is(job, "passed"));
}

/* The order of the configuration is the order of preference, also after a reload. */
static void
test_reload_order(void **state)
{
	(void)state;
	reload(json_pack("{s:{s:[{s:s, s:i}, {s:s, s:i}]}}", "CPU", "units", "runner", "fake", "number", 9, "runner",
			   "fake", "number", 1),
		0);
	assert_int_equal(json_integer_value(json_object_get(world_unit(0)->config, "number")), 9);
	reload(world_devices(2, NULL), 0);
	assert_int_equal(json_integer_value(json_object_get(world_unit(0)->config, "number")), 0);
	assert_int_equal(json_integer_value(json_object_get(world_unit(1)->config, "number")), 1);
}

static void
test_bad_devices(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	struct engine *other = NULL;
	AUTO_JSON json_t *list = json_pack("{s:{s:[{s:s}]}}", "CPU", "units", "runner", "absent");
	const struct engine_setup with = {.loop = &world.c.f.loop,
		.clock = &world.c.f.clock,
		.store = world.c.f.store,
		.inflight = &world.core.inflight,
		.devices = list};
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
	fixture_sql(
		&world.c.f, "CREATE TRIGGER full BEFORE UPDATE ON jobs BEGIN SELECT raise(ABORT, 'the disk is full'); END");
	int64_t job = world_submit();
	until(world.engine->pause_until_ms > 0);
	assert_non_null(engine_job_find(world.engine, job));
	assert_int_equal(world.engine->in_flight, 0);
	fixture_sql(&world.c.f, "DROP TRIGGER full");
	until(world_job_is(job, "passed"));
}

static void
test_verdict_is_tried_again(void **state)
{
	(void)state;
	int64_t first = world_submit(), second = world_submit();
	until(fake.count == 2);
	fixture_sql(
		&world.c.f, "CREATE TRIGGER full BEFORE UPDATE ON jobs BEGIN SELECT raise(ABORT, 'the disk is full'); END");
	fake_end(0, "done");
	fake_end(0, "lost");
	until(engine_job_find(world.engine, first)->again.write && engine_job_find(world.engine, second)->again.write);
	assert_int_equal(world_unit(0)->active, 2);
	fixture_sql(&world.c.f, "DROP TRIGGER full");
	until(world_job_is(first, "passed") || world_job_is(second, "passed"));
	until(fake.count == 1);
	fake_end(0, "done");
	until(world_job_is(first, "passed") && world_job_is(second, "passed"));
}

/* An engine that stops does not wait for the disk: the job is the next engine's. */
static void
test_stop_with_full_disk(void **state)
{
	(void)state;
	int64_t job = world_submit();
	until(fake.count == 1);
	fixture_sql(
		&world.c.f, "CREATE TRIGGER full BEFORE UPDATE ON jobs BEGIN SELECT raise(ABORT, 'the disk is full'); END");
	fake_end(0, "done");
	until(engine_job_find(world.engine, job)->again.write);
	world_stop(60000);
	assert_true(world_job_is(job, "running"));
	fixture_sql(&world.c.f, "DROP TRIGGER full");
	fake.on_submit = AT_ONCE;
	world_start(world_devices(1, NULL));
	until(world_job_is(job, "passed"));
	assert_int_equal(fixture_events(&world.c.f, "job.done"), 1);
}

/* Its task cannot be read: that uses up attempts, and is no endless circle. */
static void
test_no_material(void **state)
{
	(void)state;
	int64_t job = world_submit_held();
	fixture_sql(&world.c.f, "UPDATE tasks SET bundle_json = '7'");
	until(world_job_is(job, "error"));
	assert_int_equal(fake.submits, 0);
	assert_int_equal(world_number("attempt", job), 3);
}

/* Nor can that of a job on a remote side: it is not looked for without end. */
static void
test_recover_no_material(void **state)
{
	(void)state;
	int64_t job = orphan(true);
	fixture_sql(&world.c.f, "UPDATE tasks SET bundle_json = '7'");
	world_start(world_devices(1, NULL));
	until(world_job_is(job, "error"));
	assert_int_equal(fake.recovers + fake.submits, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_recover),
	TEST(test_recover_queued),
	TEST(test_recover_at_once),
	TEST(test_recover_finds_nothing),
	TEST(test_recover_without_handle),
	TEST(test_recover_in_copy),
	TEST(test_recover_unit_gone),
	TEST(test_recover_unit_moved),
	TEST(test_recover_no_operation),
	TEST(test_recover_cancelled),
	TEST(test_recover_not_now),
	TEST(test_recover_ended),
	TEST(test_recover_used_up),
	TEST(test_recover_other_runner),
	TEST(test_detach_at_stop),
	TEST(test_no_detach_without_handle),
	TEST(test_reload_while_away),
	TEST(test_reload_while_waiting),
	TEST(test_reload_of_slots_while_waiting),
	TEST(test_new_mark),
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
	TEST(test_recover_no_material),
};

UNIT_TESTS(test_engine_again, .words = "waiting tsan");
