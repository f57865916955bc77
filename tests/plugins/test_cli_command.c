/* SPDX-License-Identifier: MIT */
/* The command line as a whole against a fake host: what is called, what is printed, how it ends. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "cli_host.h"

struct state {
	struct cli_host host;
	char *out, *err;
	char folder[64], file[96];
};

static int
setup(void **arg)
{
	struct state *state = calloc(1, sizeof(*state));
	cli_host_init(&state->host);
	snprintf(state->folder, sizeof(state->folder), "%s/kettle-cli-XXXXXX", "/tmp");
	assert_non_null(mkdtemp(state->folder));
	snprintf(state->file, sizeof(state->file), "%s/submission.cpp", state->folder);
	FILE *file = fopen(state->file, "w");
	fputs("int x;\n", file);
	fclose(file);
	*arg = state;
	return 0;
}

static int
teardown(void **arg)
{
	struct state *state = *arg;
	unlink(state->file);
	rmdir(state->folder);
	cli_host_free(&state->host);
	free(state->out);
	free(state->err);
	free(state);
	return 0;
}

static int
run_with(struct state *state, const json_t *globals, const char *const *argv)
{
	free(state->out);
	free(state->err);
	return cli_host_run(&state->host, globals, argv, &state->out, &state->err);
}

#define RUN(state, ...) run_with(state, NULL, (const char *const[]){"kettle", __VA_ARGS__, NULL})
#define HAS(text, part) assert_non_null(strstr(text, part))

/* An argument of the last call, as JSON text in place. */
static const json_t *
called(struct state *state, size_t index, const char *command)
{
	const json_t *call = json_array_get(state->host.calls, index);
	assert_string_equal(json_string_value(json_object_get(call, "command")), command);
	return json_object_get(call, "args");
}

static void
assert_json(const json_t *value, const char *text)
{
	AUTO_JSON json_t *expected = json_loads(text, JSON_DECODE_ANY, NULL);
	AUTO_FREE char *found = json_dumps(value, JSON_ENCODE_ANY);
	if (!json_equal(value, expected))
		fail_msg("found %s, not %s", found, text);
}

static json_t *
submission(const char *state, const char *runs)
{
	return json_pack("{s:i, s:s, s:s, s:s, s:s, s:b, s:s, s:[{s:s, s:s, s:f, s:f, s:f, s:o}], s:{s:{s:i, s:i}}}", "id",
		7, "leaderboard_name", "vectoradd", "mode", "ranked", "file_name", "submission.cpp", "user_name", "alice",
		"done", 1, "submission_time", "2026-07-01T10:00:00.000Z", "jobs", "device", "CPU", "state", state, "score",
		1.2345e-5, "low", 1.2245e-5, "high", 1.2445e-5, "runs", json_loads(runs, 0, NULL), "rank", "CPU", "rank", 1,
		"of", 3);
}

static const char passed_runs[] =
	"[{\"mode\":\"test\",\"secret\":false,\"passed\":true,\"result\":{\"test-count\":\"2\","
	"\"test.0.spec\":\"size: 1\",\"test.0.status\":\"pass\",\"test.1.spec\":\"size: 2\",\"test.1.status\":\"pass\"}},"
	"{\"mode\":\"leaderboard\",\"secret\":false,\"passed\":true,\"score\":1.2345e-5,\"result\":{\"benchmark-count\":"
	"\"1\","
	"\"benchmark.0.spec\":\"size: 9\",\"benchmark.0.mean\":\"12345\",\"benchmark.0.err\":\"100\","
	"\"benchmark.0.best\":\"12000\",\"benchmark.0.worst\":\"14000\",\"benchmark.0.runs\":\"100\"}},"
	"{\"mode\":\"leaderboard\",\"secret\":true,\"passed\":true,\"score\":1.2e-5}]";

static void
test_create(void **arg)
{
	struct state *state = *arg;
	cli_host_answer(&state->host, "task.read", json_pack("{s:s}", "yml", "lang: cpp"));
	cli_host_answer(&state->host, "leaderboard.create",
		json_pack("{s:s, s:[s], s:n}", "name", "vectoradd", "gpu_types", "CPU", "deadline"));
	assert_int_equal(RUN(state, "leaderboard", "create", "vectoradd", "--task=some/where", "--device", "CPU"), 0);
	assert_json(called(state, 0, "task.read"), "{\"path\":\"some/where\"}");
	assert_json(called(state, 1, "leaderboard.create"),
		"{\"name\":\"vectoradd\",\"task\":{\"yml\":\"lang: cpp\"},\"device\":[\"CPU\"]}");
	assert_json(state->host.actor, "{\"provider\":\"cli\",\"subject\":\"alice\",\"name\":\"alice\"}");
	assert_string_equal(state->out, "Leaderboard vectoradd is created: devices CPU; deadline none.\n");
}

static void
test_submit(void **arg)
{
	struct state *state = *arg;
	cli_host_answer(&state->host, "submit",
		json_pack("{s:i, s:i, s:[{s:i, s:s}]}", "id", 7, "seq", 41, "jobs", "id", 70, "device", "CPU"));
	cli_host_answer(&state->host, "submission.show", submission("passed", passed_runs));
	json_array_append_new(state->host.events,
		json_pack("{s:s, s:i, s:s, s:{s:s, s:s, s:s, s:b}}", "kind", "progress", "job", 1, "device", "CPU", "event",
			"event", "step", "step", "build-submission", "state", "building", "cached", 0));
	json_array_append_new(state->host.events, json_pack("{s:s, s:i}", "kind", "submission.done", "submission", 7));
	assert_int_equal(RUN(state, "submit", state->file, "--leaderboard", "vectoradd"), 0);
	assert_json(called(state, 0, "submit"),
		"{\"file\":{\"name\":\"submission.cpp\",\"base64\":\"aW50IHg7Cg==\"},\"leaderboard\":\"vectoradd\"}");
	assert_json(called(state, 1, "submission.show"), "{\"id\":7}");
	assert_json(state->host.filter, "{\"submission\":7}");
	assert_int_equal(state->host.after, 41);
	assert_true(state->host.unsubscribed);
	assert_int_equal(state->host.timers, 0);
	assert_string_equal(state->out,
		"Submission 7 is accepted.\n"
		"CPU: queued\n"
		"CPU: building\n"
		"Submission 7 · vectoradd · ranked · submission.cpp · alice · 2026-07-01 10:00 UTC\n"
		"\n"
		"CPU  passed\n"
		"  ✓ test\n"
		"    ✓ size: 1\n"
		"    ✓ size: 2\n"
		"  ✓ ranked run  12.35 µs\n"
		"    case                mean      best     worst  runs\n"
		"    size: 9  12.35 ± 0.10 µs  12.00 µs  14.00 µs   100\n"
		"  ✓ secret ranked run  12.00 µs\n"
		"  score 12.35 ± 0.10 µs, rank 1 of 3\n"
		"\n"
		"Submission 7: CPU passed, 12.35 ± 0.10 µs, rank 1 of 3\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_create, setup, teardown),
		cmocka_unit_test_setup_teardown(test_submit, setup, teardown),
	};
	return cmocka_run_group_tests_name("cli_command", tests, NULL, NULL);
}
