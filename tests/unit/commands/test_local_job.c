/* SPDX-License-Identifier: MIT */
/* Jobs that no queue knows: what their runner gets, and a machine that does not describe itself. */
#include <config.h>

#include "unit/core_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "commands/local_job.h"

/* A runner whose describe is answered by the test, and that notes the names of its jobs. */
static struct {
	void (*done)(void *arg, const struct kettle_error *err, json_t *facts);
	void *arg;
	char name[100];
	bool hashed;
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
	return kettle_fail(err, KETTLE_EUNAVAIL, "It takes no job.");
}

static const struct kettle_runner ops = {.size = sizeof(ops), .describe = describe, .submit = submit};
static struct runner runner = {"keep", &ops, NULL};

static int
setup(void **state)
{
	int rc = cores_setup(state);
	memset(&seen, 0, sizeof(seen));
	cores.core[0]->runners = &runner;
	return rc;
}

static int
teardown(void **state)
{
	local_job_describe_ms = LOCAL_JOB_DESCRIBE_MS;
	return cores_teardown(state);
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
	local_job_describe_ms = 1;
	local_job_describe(cores.core[0], task, other, count, &called);
	until(called == 2);
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

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {TEST(test_describe), TEST(test_name)};
	return cmocka_run_group_tests_name("local_job", tests, NULL, NULL);
}
