/* SPDX-License-Identifier: MIT */
/* Sandboxes that are prepared for one run, by a program. (Those of warm processes: tests/integration/exec_prepared.) */
#include <config.h>

#include "sandbox/sandbox.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit/sandbox/sandbox_fixture.h"

#define AHEAD(what) ((const char *const[]){FIXTURE_PROBE, "ahead", what, NULL})

static int
await(struct fixture *fixture, struct kettle_error *err)
{
	struct pollfd fd = {.fd = sandbox_control_fd(fixture->sandbox), .events = POLLIN};
	int rc;
	while ((rc = sandbox_look_prepared(fixture->sandbox, err)) == 0)
		assert_true(poll(&fd, 1, FIXTURE_WALL_MS) > 0);
	return rc;
}

/* Prepares a sandbox, without what only a run has. */
static void
prepare(struct fixture *fixture, const char *const *argv)
{
	struct kettle_error err = {0};
	struct sandbox_config config = fixture->config;
	config.argv = argv;
	config.job_dir = NULL;
	config.fds = NULL;
	config.fds_count = 0;
	if (sandbox_prepare(&config, &fixture->sandbox, &err))
		fail_msg("%s", err.message);
}

/* The end of a step, as the tests' program says it of each of its threads. */
static size_t
count_lines(const char *text, const char *line)
{
	size_t count = 0;
	for (; (text = strstr(text, line)); text += strlen(line))
		count++;
	return count;
}

static void
test_run(void **state)
{
	struct fixture *fixture = *state;
	struct kettle_error err = {0};
	const char *const argv[] = {"the run", "more", NULL};
	char threads[128];
	fixture_put_file(fixture->job, "here", "x", 0644);
	fixture->fds[3] = (struct sandbox_fd){fixture->output, 9};
	prepare(fixture, AHEAD("works"));
	if (await(fixture, &err) != 1)
		fail_msg("%s", err.message);
	fixture->config.argv = argv;
	fixture->config.fds_count = 4;
	if (sandbox_resume(fixture->sandbox, &fixture->config, &err))
		fail_msg("%s", err.message);
	fixture_finish(fixture);
	assert_string_equal(fixture->report.message, "");
	assert_true(fixture->report.started && fixture->report.prepared && !fixture->report.warm);
	assert_int_equal(fixture->report.exit_status, 0);
	assert_said(fixture, "first=the run\n");
	(void)snprintf(threads, sizeof(threads),
		"thread Uid: 1000 1000 1000 1000 CapEff: 0000000000000000 NoNewPrivs: 1 Seccomp: 2\n");
	assert_int_equal(count_lines(fixture->text, threads), 2);
	assert_int_equal(count_lines(fixture->text, "thread"), 2);
	assert_said(fixture, "here=ok\nout/made=ok\nmade=EROFS\n/made=EROFS\n/tmp/made=ok\n/.old=ENOENT\n/.out=ENOENT\n");
	assert_said(fixture, "fd=0\nfd=1\nfd=2\nfd=9\n");
	assert_int_equal(count_lines(fixture->text, "fd="), 4);
	assert_int_equal(faccessat(sandbox_out_fd(fixture->sandbox), "made", F_OK, 0), 0);
}

/* Only a run for which it was prepared gets it. */
static void
test_others(void **state)
{
	struct fixture *fixture = *state;
	struct kettle_error err = {0};
	prepare(fixture, AHEAD("works"));
	assert_int_equal(await(fixture, &err), 1);
	fixture->config.argv = AHEAD("works");
	fixture->config.limits.memory = UINT64_C(1) << 30;
	assert_int_equal(sandbox_resume(fixture->sandbox, &fixture->config, &err), KETTLE_EUNAVAIL);
	fixture->config.limits.memory = 0;
	/* It is of no more use. */
	assert_int_equal(sandbox_resume(fixture->sandbox, &fixture->config, &err), KETTLE_EUNAVAIL);
	sandbox_free(STEAL(fixture->sandbox));
	prepare(fixture, AHEAD("hangs"));
	assert_int_equal(sandbox_look_prepared(fixture->sandbox, &err), 0);
	assert_int_equal(sandbox_resume(fixture->sandbox, &fixture->config, &err), KETTLE_EUNAVAIL);
	fixture->config.job_writable = true;
	struct sandbox *other = NULL;
	assert_int_equal(sandbox_prepare(&fixture->config, &other, &err), KETTLE_EUNAVAIL);
}

/* What ends before it is ready, or while it waits, is reported, and so is a program that is not there. */
static void
test_ends(void **state)
{
	struct fixture *fixture = *state;
	struct kettle_error err = {0};
	prepare(fixture, AHEAD("ends"));
	assert_int_equal(await(fixture, &err), KETTLE_EUNAVAIL);
	sandbox_free(STEAL(fixture->sandbox));
	prepare(fixture, AHEAD("works"));
	assert_int_equal(await(fixture, &err), 1);
	assert_int_equal(kill(sandbox_pid(fixture->sandbox), SIGKILL), 0);
	struct pollfd fd = {.fd = sandbox_pidfd(fixture->sandbox), .events = POLLIN};
	assert_int_equal(poll(&fd, 1, FIXTURE_WALL_MS), 1);
	assert_int_equal(sandbox_look_prepared(fixture->sandbox, &err), KETTLE_EUNAVAIL);
	sandbox_free(STEAL(fixture->sandbox));
	fixture->config.file = "/opt/nothing";
	prepare(fixture, AHEAD("works"));
	assert_int_equal(await(fixture, &err), KETTLE_EUNAVAIL);
}

/* A run that its program does not begin has not started. */
static void
test_leaves(void **state)
{
	struct fixture *fixture = *state;
	struct kettle_error err = {0};
	prepare(fixture, AHEAD("leaves"));
	assert_int_equal(await(fixture, &err), 1);
	fixture->config.argv = AHEAD("leaves");
	assert_int_equal(sandbox_resume(fixture->sandbox, &fixture->config, &err), 0);
	fixture_finish(fixture);
	assert_false(fixture->report.started || fixture->report.prepared);
	assert_true(fixture->report.message[0]);
}

static const struct CMUnitTest tests[] = {
	FIXTURE_TEST(test_run),
	FIXTURE_TEST(test_others),
	FIXTURE_TEST(test_ends),
	FIXTURE_TEST(test_leaves),
};

SANDBOX_TESTS(test_sandbox_prepared);
