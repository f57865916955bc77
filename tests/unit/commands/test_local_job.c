/* SPDX-License-Identifier: MIT */
/* Jobs that no queue knows: what their runner gets, and a machine that does not describe itself. */
#include <config.h>

#include "unit/core_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "commands/local_job.h"
#include "lib/unit_test.h"

/* A runner whose describe is answered by the test, and that notes the names of its jobs. */
static struct {
	void (*done)(void *arg, const struct kettle_error *err, json_t *facts);
	void *arg;
	char name[100], expect[100];
	bool hashed, accepts;
	int cancelled, events;
	enum completion_status status;
	char error[200];
} seen;

static int
describe(void *self, const json_t *unit, void (*done)(void *arg, const struct kettle_error *err, json_t *facts),
	void *arg, struct kettle_error *err)
{
	(void)self, (void)unit, (void)err;
	seen.done = done;
	seen.arg = arg;
	return 0;
}

static int
submit(void *self, const struct kettle_job *job, const json_t *plan, struct kettle_error *err)
{
	(void)self, (void)plan;
	(void)snprintf(seen.name, sizeof(seen.name), "%s", job->name ? job->name : "none");
	seen.hashed = job->plan_hash != NULL;
	AUTO_FREE char *expect = json_dumps(json_object_get(job->unit, "expect"), JSON_COMPACT);
	(void)snprintf(seen.expect, sizeof(seen.expect), "%s", expect ? expect : "none");
	return seen.accepts ? 0 : kettle_fail(err, KETTLE_EUNAVAIL, "It takes no job.");
}

static void
cancel(void *self, const char *ref)
{
	(void)self, (void)ref;
	seen.cancelled++;
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

static void
count(void *arg)
{
	++*(int *)arg;
}

/* The job goes on, once, whether the answer comes in time, late, or not at all. */
static void
test_describe(void **state)
{
	(void)state;
	const struct kettle_error none = {0};
	AUTO_JSON json_t *task = json_pack("{s:i}", "memory", 1), *greeting = json_object();
	AUTO_JSON json_t *unit = local_job_unit(cores.core[0], NULL), *other = local_job_unit(cores.core[0], NULL);
	int called = 0;
	local_job_describe(cores.core[0], task, unit, count, &called);
	assert_int_equal(called, 0);
	seen.done(seen.arg, &none, greeting);
	assert_int_equal(called, 1);
	assert_non_null(json_object_get(unit, "facts"));
	local_job_describe(cores.core[0], task, other, count, &called);
	cores_pass(LOCAL_JOB_DESCRIBE_MS - 1);
	assert_int_equal(called, 1);
	cores_pass(1);
	assert_int_equal(called, 2);
	seen.done(seen.arg, &none, greeting);
	assert_int_equal(called, 2);
	assert_null(json_object_get(other, "facts"));
}

/* It has a name for a remote side, another one each time, and no hash: nothing is found again. */
static void
test_name(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	AUTO_JSON json_t *unit = local_job_unit(cores.core[0], NULL);
	const struct plan plan = {.json = json_pack("{s:i, s:[]}", "version", 1, "steps")};
	struct inflight_job job = {0};
	assert_int_equal(local_job_start(cores.core[0], &job, "run", unit, &plan, &err), KETTLE_EUNAVAIL);
	AUTO_FREE char *first = strdup(seen.name);
	assert_int_equal(strncmp(first, "kettle-", 7), 0);
	assert_string_equal(first + 16, job.ref);
	assert_int_equal(local_job_start(cores.core[0], &job, "run", unit, &plan, &err), KETTLE_EUNAVAIL);
	assert_string_not_equal(first, seen.name);
	assert_false(seen.hashed);
	json_decref(plan.json);
}

/* The machine of a job must be what the device's other jobs ran on, where that is known, or else what is configured. */
static void
test_expect(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	AUTO_JSON json_t *unit = local_job_unit(cores.core[0], NULL);
	const struct plan plan = {.json = json_pack("{s:i, s:[]}", "version", 1, "steps")};
	struct inflight_job job = {.handle = NULL};
	(void)local_job_start(cores.core[0], &job, "run", unit, &plan, &err);
	assert_string_equal(seen.expect, "none");
	json_object_set_new(unit, "model", json_string("EPYC"));
	(void)local_job_start(cores.core[0], &job, "run", unit, &plan, &err);
	assert_string_equal(seen.expect, "{\"cpu\":\"EPYC\"}");
	json_object_set_new(unit, "expect", json_pack("{s:s, s:b}", "cpu", "EPYC 9654", "whole", 1));
	(void)local_job_start(cores.core[0], &job, "run", unit, &plan, &err);
	assert_string_equal(seen.expect, "{\"cpu\":\"EPYC 9654\",\"whole\":true}");
	json_decref(plan.json);
}

static void
on_event(struct inflight_job *job, const json_t *event)
{
	(void)job, (void)event;
	seen.events++;
}

static void
on_done(struct inflight_job *job, const struct completion *completion)
{
	(void)job;
	seen.status = completion->status;
	(void)snprintf(seen.error, sizeof(seen.error), "%s", completion->error ? completion->error : "none");
}

/* A runner that keeps a job for ever does not keep the command. */
static void
test_overdue(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	AUTO_JSON json_t *unit = local_job_unit(cores.core[0], NULL), *waiting = json_pack("{s:s}", "event", "waiting"),
					 *started = json_pack("{s:s}", "event", "started");
	const struct plan plan = {.json = json_pack("{s:i, s:[]}", "version", 1, "steps")};
	struct inflight_job job = {.event = on_event, .done = on_done};
	seen.accepts = true;
	assert_int_equal(local_job_start(cores.core[0], &job, "run", unit, &plan, &err), 0);
	/* Nothing counts while it queues far away. */
	job.event(&job, waiting);
	cores_pass(10 * LOCAL_JOB_SLACK_MS);
	assert_int_equal(seen.cancelled, 0);
	job.event(&job, started);
	cores_pass(LOCAL_JOB_SLACK_MS - 1);
	assert_int_equal(seen.cancelled, 0);
	cores_pass(1);
	assert_int_equal(seen.cancelled, 1);
	cores_pass(LOCAL_JOB_CANCEL_MS - 1);
	assert_string_equal(seen.error, "");
	cores_pass(1);
	assert_int_equal(seen.events, 2);
	assert_int_equal(seen.status, COMPLETION_LOST);
	assert_non_null(strstr(seen.error, "neither completed the job within its time nor cancelled it"));
	assert_null(inflight_find(&cores.core[0]->inflight, job.ref));
	/* The caller's own again. */
	assert_ptr_equal(job.done, on_done);
	assert_ptr_equal(job.event, on_event);
	/* In its time it ends as it does. */
	seen.error[0] = '\0';
	assert_int_equal(local_job_start(cores.core[0], &job, "run", unit, &plan, &err), 0);
	const struct completion done = {.status = COMPLETION_CANCELLED};
	inflight_remove(&cores.core[0]->inflight, &job);
	job.done(&job, &done);
	assert_string_equal(seen.error, "none");
	assert_int_equal(seen.cancelled, 1);
	json_decref(plan.json);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, cores_teardown)
static const struct CMUnitTest tests[] = {TEST(test_describe), TEST(test_name), TEST(test_expect), TEST(test_overdue)};

UNIT_TESTS(test_local_job);
