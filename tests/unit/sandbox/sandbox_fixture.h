/* SPDX-License-Identifier: MIT */
/* A scratch job folder and a way to run the probe in a sandbox, for the tests of the sandbox. */
#pragma once

#include <string.h>

#include "lib/unit_test.h"
#include "sandbox/sandbox.h"

#define FIXTURE_PROBE "/opt/probe"
#define FIXTURE_OUTPUT 65536
#define FIXTURE_WALL_MS 120000 /* whatever hangs is killed then, and the test fails */

struct fixture {
	char folder[64];                    /* scratch */
	char job[96];                       /* the job's folder, with out/ */
	char probe[160];                    /* a copy of the probe */
	struct sandbox_cgroup_root *cgroup; /* NULL: none */
	struct sandbox_machine *machine;
	struct sandbox_config config; /* for the next run; fixture_reset restores the defaults */
	struct sandbox_bind binds[4];
	struct sandbox_fd fds[8];
	int output; /* write end of the pipe that is the payload's 1 and 2 */
	int capture;
	/* of the last run */
	struct sandbox *sandbox;
	struct sandbox_report report;
	char text[FIXTURE_OUTPUT];
	unsigned wall_ms; /* when fixture_finish kills; FIXTURE_WALL_MS by default */
};

/* Before and after all tests; where there is no full sandbox, they are skipped. _user: root becomes an ordinary user. */
const char *fixture_prepare(void);
const char *fixture_prepare_user(void);
int fixture_setup(void **state);
int fixture_teardown(void **state);
/* A file's tests, as the user who runs them, and as FILE_user as an ordinary user. */
#define SANDBOX_TESTS_AS(file, as) \
	UNIT_TESTS(file, .words = "plain", .prepare = as, .setup = fixture_setup, .teardown = fixture_teardown)
#define SANDBOX_TESTS(file) \
	SANDBOX_TESTS_AS(file, fixture_prepare); \
	SANDBOX_TESTS_AS(file##_user, fixture_prepare_user)

/* Before and after each test. */
int fixture_reset(void **state);
int fixture_clean(void **state);
#define FIXTURE_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_reset, fixture_clean)

/* Starts the probe with a subcommand and arguments (NULL-terminated). Fails the test if it cannot. */
void fixture_start(struct fixture *fixture, const char *const *args);
#define FIXTURE_START(fixture, ...) fixture_start(fixture, (const char *const[]){FIXTURE_PROBE, __VA_ARGS__, NULL})
/* Waits for the end (with SANDBOX_LIMIT_WALL after wall_ms) and fills report and text. */
void fixture_finish(struct fixture *fixture);
/* Both. */
#define FIXTURE_RUN(fixture, ...) \
	do { \
		FIXTURE_START(fixture, __VA_ARGS__); \
		fixture_finish(fixture); \
	} while (0)
/* Reads what the payload has written so far until `text` has come, for at most 5 s. */
void fixture_await(struct fixture *fixture, const char *text);
/* Writes a file of that mode. */
void fixture_put_file(const char *folder, const char *name, const char *text, mode_t mode);
/* Monotonic milliseconds. */
unsigned long fixture_now_ms(void);
/* Whether the tests run as an ordinary user. */
int fixture_is_user(void);

/* What must be, and must not be, in what the payload said. */
#define assert_said(fixture, wanted) \
	do { \
		if (!strstr((fixture)->text, wanted)) \
			fail_msg("`%s` is not in:\n%s", wanted, (fixture)->text); \
	} while (0)
#define assert_not_said(fixture, unwanted) \
	do { \
		if (strstr((fixture)->text, unwanted)) \
			fail_msg("`%s` is in:\n%s", unwanted, (fixture)->text); \
	} while (0)
