/* SPDX-License-Identifier: MIT */
/* Progress of a submission, as lines and as one live line. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "common/progress.h"
#include "lib/unit_test.h"

struct fixture {
	char *data;
	size_t size;
	struct term term;
	struct progress *progress;
};

static void
begin(struct fixture *fixture, unsigned columns, bool silent)
{
	*fixture = (struct fixture){0};
	fixture->term =
		(struct term){.out = open_memstream(&fixture->data, &fixture->size), .width = columns, .tty = columns > 0};
	fixture->progress = progress_new(&fixture->term, silent);
	assert_non_null(fixture->progress);
}

static void
assert_shown(struct fixture *fixture, const char *expected)
{
	progress_free(fixture->progress);
	fclose(fixture->term.out);
	assert_string_equal(fixture->data, expected);
	free(fixture->data);
}

/* An event of a job on CPU, its own part as JSON. */
static void
feed(struct fixture *fixture, const char *event)
{
	AUTO_JSON json_t *own = json_loads(event, 0, NULL);
	AUTO_JSON json_t *all = json_pack("{s:s, s:s, s:O}", "kind", "progress", "device", "CPU", "event", own);
	progress_event(fixture->progress, all);
}

static void
result(struct fixture *fixture, const char *step, const char *key, const char *value)
{
	AUTO_JSON json_t *event = json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:s}}", "kind", "progress", "device", "CPU",
		"event", "event", "result", "step", step, "key", key, "value", value);
	progress_event(fixture->progress, event);
}

static void
stored(struct fixture *fixture, const char *kind, const char *state)
{
	AUTO_JSON json_t *event =
		json_pack("{s:i, s:s, s:{s:s, s:s}}", "seq", 1, "kind", kind, "data", "device", "CPU", "state", state);
	progress_event(fixture->progress, event);
}

static void
whole_job(struct fixture *fixture)
{
	progress_queued(fixture->progress, "CPU", -1, -1, "");
	progress_queued(fixture->progress, "CPU", 2, 150, "");
	assert_true(progress_waits(fixture->progress));
	stored(fixture, "job.started", "running");
	assert_false(progress_waits(fixture->progress));
	progress_queued(fixture->progress, "CPU", 1, -1, ""); /* too late: it has begun */
	feed(fixture, "{\"event\":\"step\",\"step\":\"harness\",\"state\":\"building\",\"cached\":true}");
	feed(fixture, "{\"event\":\"step\",\"step\":\"submission\",\"state\":\"building\",\"cached\":false}");
	feed(fixture, "{\"event\":\"step\",\"step\":\"compile-1\",\"title\":\"compile \\u001bsubmission.cpp\",\"state\":"
				  "\"building\",\"cached\":false}");
	feed(fixture, "{\"event\":\"outcome\",\"step\":\"submission\",\"state\":\"passed\"}");
	feed(fixture, "{\"event\":\"waiting\"}");
	feed(fixture, "{\"event\":\"step\",\"step\":\"test\",\"state\":\"running\"}");
	result(fixture, "test", "test-count", "2");
	result(fixture, "test", "test.0.spec", "size: 1");
	result(fixture, "test", "test.0.status", "pass");
	result(fixture, "test", "test.1.spec", "size:\0332");
	result(fixture, "test", "test.1.status", "fail");
	result(fixture, "leaderboard", "benchmark-count", "1");
	result(fixture, "leaderboard", "benchmark.0.spec", "size: 9");
	result(fixture, "leaderboard", "benchmark.0.mean", "12345");
	result(fixture, "leaderboard", "benchmark.0.err", "100");
	result(fixture, "leaderboard", "benchmark.0.worst", "14000");
	feed(fixture, "{\"event\":\"step\",\"step\":\"secret-test\",\"state\":\"running\",\"secret\":true}");
	feed(fixture, "{\"event\":\"outcome\",\"step\":\"secret-test\",\"state\":\"limit\",\"secret\":true}");
	stored(fixture, "job.done", "failed");
}

static void
test_lines(void **state)
{
	struct fixture fixture;
	(void)state;
	begin(&fixture, 0, false);
	whole_job(&fixture);
	assert_shown(&fixture, "CPU: queued\n"
						   "CPU: queued, 2 before it, begins in about 3 minutes\n"
						   "CPU: started\n"
						   "CPU: building\n"
						   "CPU: compile \xef\xbf\xbdsubmission.cpp\n"
						   "CPU: waiting for the device\n"
						   "CPU: running test\n"
						   "CPU: ✓ test 1/2  size: 1\n"
						   "CPU: ✗ test 2/2  size:\xef\xbf\xbd"
						   "2\n"
						   "CPU: ✓ ranked benchmark 1/1  size: 9  12.35 ± 0.10 µs\n"
						   "CPU: running secret run\n"
						   "CPU: ✗ secret run: reached a limit\n"
						   "CPU: ✗ failed\n");
}

/* What failed is called as in the report, with the limit that it reached. */
static void
test_limits(void **state)
{
	static const struct {
		const char *outcome, *says;
	} cases[] = {
		{"\"step\":\"test\",\"limit\":\"wall\",\"limit_value\":180", "test: reached its limit: time, 180 s"},
		{"\"step\":\"test\",\"limit\":\"memory\",\"limit_value\":67108864", "test: reached its limit: memory, 64 MiB"},
		{"\"step\":\"compile-1\",\"title\":\"compile submission.cpp\",\"limit\":\"file_size\",\"limit_value\":512",
			"compile submission.cpp: reached its limit: file size, 512 B"},
		{"\"step\":\"leaderboard\",\"limit\":\"processes\"", "ranked run: reached its limit: processes and threads"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture fixture;
		begin(&fixture, 0, false);
		AUTO_FREE char *event =
			xasprintf("{\"event\":\"outcome\",\"outcome\":{%s,\"state\":\"limit\"}}", cases[i].outcome);
		AUTO_FREE char *expected = xasprintf("CPU: ✗ %s\n", cases[i].says);
		feed(&fixture, event);
		assert_shown(&fixture, expected);
	}
}

static void
test_silent(void **state)
{
	struct fixture fixture;
	(void)state;
	begin(&fixture, 80, true);
	whole_job(&fixture);
	assert_shown(&fixture, "");
}

/* What is hidden is cleared at once: the next message goes to standard error. */
static void
test_hide(void **state)
{
	struct fixture fixture;
	(void)state;
	begin(&fixture, 40, false);
	progress_queued(fixture.progress, "CPU", 0, -1, "");
	progress_hide(fixture.progress);
	assert_string_equal(fixture.data, "[0:00] CPU: queued, next\r\033[K");
	assert_shown(&fixture, "[0:00] CPU: queued, next\r\033[K");
}

static void
test_live(void **state)
{
	struct fixture fixture;
	(void)state;
	begin(&fixture, 24, false);
	progress_queued(fixture.progress, "CPU", 0, -1, "");
	feed(&fixture, "{\"event\":\"step\",\"step\":\"benchmark\",\"state\":\"running\"}");
	stored(&fixture, "job.done", "passed");
	/* Each live line clears the one before; none fills the last column. */
	assert_shown(&fixture, "[0:00] CPU: queued, ne…"
						   "\r\033[K[0:00] CPU: running be…"
						   "\r\033[KCPU: ✓ passed\n");
}

static void
test_garbage(void **state)
{
	struct fixture fixture;
	(void)state;
	begin(&fixture, 0, false);
	feed(&fixture, "{\"event\":\"result\"}");
	feed(&fixture,
		"{\"event\":\"result\",\"step\":\"t\",\"key\":\"test.99999999999999999999.status\",\"value\":\"pass\"}");
	feed(&fixture, "{\"event\":\"result\",\"step\":\"t\",\"key\":\"test.-1.status\",\"value\":\"pass\"}");
	feed(&fixture, "{\"event\":\"result\",\"step\":\"t\",\"key\":\"test.x.status\",\"value\":\"pass\"}");
	feed(&fixture, "{\"event\":\"something new\"}");
	feed(&fixture, "[]");
	AUTO_JSON json_t *empty = json_object();
	progress_event(fixture.progress, empty);
	for (int i = 0; i < 100; i++) {
		char name[200];
		memset(name, 'x', sizeof(name));
		snprintf(name, sizeof(name), "%d%s", i, i % 2 ? "" : "device");
		progress_queued(fixture.progress, name, -1, -1, "");
	}
	progress_free(fixture.progress);
	fclose(fixture.term.out);
	free(fixture.data);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_lines),
	cmocka_unit_test(test_limits),
	cmocka_unit_test(test_silent),
	cmocka_unit_test(test_hide),
	cmocka_unit_test(test_live),
	cmocka_unit_test(test_garbage),
};

UNIT_TESTS(test_cli_progress);
