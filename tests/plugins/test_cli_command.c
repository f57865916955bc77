/* SPDX-License-Identifier: MIT */
/* The command line as a whole against a fake host: what is called, what is printed, how it ends. */
#include <config.h>

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "commands/handlers.h"
#include "lib/cli_host.h"
#include "lib/unit_test.h"

/* Gives the rows of the test's table the views of the core's. */
static void
take_views(json_t *table)
{
	AUTO_JSON json_t *rows = command_data(commands);
	size_t i, j;
	json_t *row, *ours;
	json_array_foreach(rows, i, row)
		json_array_foreach(table, j, ours)
			if (json_equal(json_object_get(row, "name"), json_object_get(ours, "name"))) {
				json_object_set(ours, "view", json_object_get(row, "view"));
				json_object_set(ours, "hidden", json_object_get(row, "hidden"));
			}
}

static int
setup(void **arg)
{
	(void)cli_state_setup(arg);
	struct cli_state *state = *arg;
	take_views(state->host.table);
	snprintf(state->file, sizeof(state->file), "%s/submission.cpp", state->folder);
	FILE *file = fopen(state->file, "w");
	fputs("int x;\n", file);
	fclose(file);
	return 0;
}

/* An argument of the last call, as JSON text in place. */
static const json_t *
called(struct cli_state *state, size_t index, const char *command)
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

/* The answer of submission.show for a submission that is done. */
static json_t *
submission(const char *state, const char *runs)
{
	json_t *job = json_pack("{s:i, s:s, s:s, s:f, s:f, s:f, s:o, s:{s:i, s:i}}", "job", 70, "device", "CPU", "state",
		state, "score", 1.2345e-5, "low", 1.2245e-5, "high", 1.2445e-5, "runs", json_loads(runs, 0, NULL), "rank",
		"rank", 1, "of", 3);
	return json_pack("{s:i, s:s, s:s, s:s, s:s, s:b, s:s, s:[o], s:{s:i}}", "id", 7, "leaderboard_name", "vectoradd",
		"mode", "ranked", "file_name", "submission.cpp", "user_name", "alice", "done", 1, "submission_time",
		"2026-07-01T10:00:00.000Z", "jobs", job, "rank", "CPU", 1);
}

static const char passed_runs[] =
	"[{\"mode\":\"test\",\"secret\":false,\"passed\":true,\"result\":{\"test-count\":\"2\","
	"\"test.0.spec\":\"size: 1\",\"test.0.status\":\"pass\",\"test.1.spec\":\"size: 2\",\"test.1.status\":\"pass\"}},"
	"{\"mode\":\"leaderboard\",\"secret\":false,\"passed\":true,\"score\":1.2345e-5,\"result\":{\"benchmark-count\":"
	"\"1\","
	"\"benchmark.0.spec\":\"size: 9\",\"benchmark.0.mean\":\"12345\",\"benchmark.0.err\":\"100\","
	"\"benchmark.0.best\":\"12000\",\"benchmark.0.worst\":\"14000\",\"benchmark.0.runs\":\"100\",\"benchmark.0."
	"calibrated\":\"no\"}},"
	"{\"mode\":\"leaderboard\",\"secret\":true,\"passed\":true,\"score\":1.2e-5}]";

static json_t *
progress(const char *device, json_t *event_take)
{
	return json_pack("{s:s, s:i, s:i, s:s, s:o}", "kind", "progress", "submission", 7, "job", 70, "device", device,
		"event", event_take);
}

static void
test_create(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "task.read", json_pack("{s:s}", "yml", "lang: cpp"));
	cli_host_answer(&state->host, "leaderboard.create",
		json_pack("{s:s, s:[s], s:n, s:[{s:s, s:s}]}", "name", "vectoradd", "gpu_types", "CPU", "deadline", "tried",
			"device", "CPU", "said", "the template passes"));
	assert_int_equal(RUN(state, "leaderboard", "create", "vectoradd", "--task=some/where", "--device", "CPU"), 0);
	assert_json(called(state, 0, "task.read"), "{\"path\":\"some/where\",\"choose\":false,\"device\":[\"CPU\"]}");
	assert_json(called(state, 1, "leaderboard.create"),
		"{\"name\":\"vectoradd\",\"task\":{\"yml\":\"lang: cpp\"},\"device\":[\"CPU\"]}");
	assert_json(state->host.actor, "{\"provider\":\"cli\",\"subject\":\"alice\",\"name\":\"alice\"}");
	assert_json(state->host.filter, "{\"task_run\":true}");
	assert_true(state->host.unsubscribed);
	assert_string_equal(state->out, "Created leaderboard vectoradd on CPU; deadline none.\nCPU: the template passes\n");
}

/* What a task whose own files fail printed is shown above the refusal. */
static void
test_create_refused(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "task.read", json_pack("{s:s}", "yml", "lang: cpp"));
	json_array_append_new(state->host.events,
		progress("T4", json_pack("{s:s, s:s}", "event", "failed", "log", "g++ x\nx: error: \033[1mno")));
	cli_host_refuse(&state->host, "leaderboard.create", KETTLE_ECONFLICT, "It is at fault.");
	assert_int_equal(RUN(state, "leaderboard", "create", "vectoradd", "--task=some/where"), 2);
	HAS(state->err, "    T4\n      g++ x\n      x: error: ");
	HAS(state->err, "kettle: It is at fault.\n");
	assert_null(strchr(state->err, '\033'));
}

static void
test_submit(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "submit",
		json_pack("{s:i, s:i, s:[{s:i, s:s}]}", "id", 7, "seq", 41, "jobs", "job", 70, "device", "CPU"));
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
		"Accepted submission 7.\n"
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
		"    uncalibrated: the device is not calibrated for this leaderboard, so its times vary more\n"
		"  ✓ secret ranked run  12.00 µs\n"
		"  score 12.35 ± 0.10 µs, rank 1 of 3\n"
		"\n"
		"Submission 7: CPU passed, 12.35 ± 0.10 µs, rank 1 of 3\n");
}

static void
test_submit_profile(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "submit", json_pack("{s:i, s:i}", "id", 7, "seq", 1));
	cli_host_answer(&state->host, "submission.show",
		submission("passed", "[{\"mode\":\"profile\",\"secret\":false,\"index\":0,\"passed\":true,\"result\":{"
							 "\"benchmark-count\":\"2\",\"benchmark.0.spec\":\"size: 9\",\"benchmark.0.report\":"
							 "\"ICAgICAgICAyIGZ1bmN0aW9uIGNhbGxzCmFiYz9+Pz8*Cg==\",\"benchmark.1.report\":\"no\","
							 "\"profile.tool\":\"perf\",\"profile.report\":\"aG90ChtbMkoKY29sZAo=\"}},"
							 "{\"mode\":\"profile\",\"secret\":false,\"index\":1,\"passed\":true,\"result\":{"
							 "\"profile.tool\":\"ncu\\u001b[2J\",\"profile.trouble\":\"It is not there.\","
							 "\"profile.report\":\"?\"}}]"));
	json_array_append_new(state->host.events, json_pack("{s:s}", "kind", "submission.done"));
	assert_int_equal(RUN(state, "submit", state->file, "--mode", "profile"), 0);
	HAS(state->out, "  ✓ profile.0\n"
					"    ✓ size: 9\n"
					"              2 function calls\n"
					"      abc?~???\n"
					"    ✓ perf\n"
					"      hot\n");
	HAS(state->out, "      cold\n"
					"  ✓ profile.1\n"
					"    ✗ ncu");
	HAS(state->out, "      It is not there.\n"
					"  score");
	assert_null(strchr(state->out, '\x1b'));
}

static void
test_submit_counts(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "submit", json_pack("{s:i, s:i}", "id", 7, "seq", 1));
	cli_host_answer(&state->host, "submission.show",
		submission("failed",
			"[{\"mode\":\"benchmark\",\"passed\":false,\"result\":{\"benchmark-count\":\"9000000000000000\","
			"\"test-count\":\"9000000000000000\",\"benchmark.0.spec\":\"size: 9\","
			"\"benchmark.0.status\":\"fail\"}}]"));
	json_array_append_new(state->host.events, json_pack("{s:s}", "kind", "submission.done"));
	assert_int_equal(RUN(state, "submit", state->file), 1);
	HAS(state->out, "  ✗ benchmark\n"
					"    ✗ size: 9\n"
					"  score");
}

/* A mean that is hardly known says why, and what would help. */
static void
test_submit_wide(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "submit", json_pack("{s:i, s:i}", "id", 7, "seq", 1));
	cli_host_answer(&state->host, "submission.show",
		submission("passed",
			"[{\"mode\":\"benchmark\",\"passed\":true,\"result\":{\"benchmark-count\":\"3\","
			"\"benchmark.0.spec\":\"size: 9\",\"benchmark.0.mean\":\"260500\",\"benchmark.0.err\":\"1739700\","
			"\"benchmark.0.best\":\"50000\",\"benchmark.0.worst\":\"9000000\",\"benchmark.0.runs\":\"100\","
			"\"benchmark.1.spec\":\"size: 8\",\"benchmark.1.mean\":\"1000\",\"benchmark.1.err\":\"101\","
			"\"benchmark.1.runs\":\"3\","
			"\"benchmark.2.spec\":\"size: 7\",\"benchmark.2.mean\":\"1000\",\"benchmark.2.err\":\"99\"}}]"));
	json_array_append_new(state->host.events, json_pack("{s:s}", "kind", "submission.done"));
	assert_int_equal(RUN(state, "submit", state->file), 0);
	HAS(state->out, "    wide interval: its calls took from 50.00 µs to 9.000 ms. Do one-time work, such as compiling, "
					"in a first call for each shape; if the difference stays, other work uses the device: size: 9\n"
					"    wide interval of only 3 calls, because no more fitted into the time of a benchmark: size: 8\n"
					"  score");
}

static void
test_submit_failed(void **arg)
{
	struct cli_state *state = *arg;
	json_t *result = submission("failed", "[]");
	json_t *job = json_array_get(json_object_get(result, "jobs"), 0);
	json_object_update_new(
		job, json_pack("{s:s, s:n, s:[{s:s, s:b, s:s, s:s, s:{s:s}}]}", "error", "It does not compile.", "score",
				 "compilation", "title", "compile submission.cpp", "passed", 0, "command", "g++ -c submission.cpp",
				 "message", "It does not compile.", "stderr", "text", "a.cpp:1:\033[31m error\n  int x\n"));
	cli_host_answer(&state->host, "submit", json_pack("{s:i, s:i}", "id", 7, "seq", 1));
	cli_host_answer(&state->host, "submission.show", result);
	json_array_append_new(state->host.events, json_pack("{s:s}", "kind", "submission.done"));
	assert_int_equal(RUN(state, "submit", state->file), 1);
	HAS(state->out, "CPU  failed\n"
					"  ✗ compile submission.cpp\n"
					"    $ g++ -c submission.cpp\n"
					"    It does not compile.\n"
					"    a.cpp:1:\xef\xbf\xbd[31m error\n"
					"      int x\n");
	HAS(state->out, "Submission 7: CPU failed");
}

/* The failed cases say all of a run's message but the limit that it reached. */
static void
test_submit_limit(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "submit", json_pack("{s:i, s:i}", "id", 7, "seq", 1));
	cli_host_answer(&state->host, "submission.show",
		submission("failed",
			"[{\"mode\":\"test\",\"secret\":false,\"passed\":false,\"state\":\"failed\",\"exit\":112,"
			"\"limit\":\"processes\",\"message\":\"The limit is 512 processes.\",\"result\":{\"test-count\":\"1\","
			"\"test.0.spec\":\"size: 1\",\"test.0.status\":\"fail\",\"test.0.error\":\"no thread\"}}]"));
	json_array_append_new(state->host.events, json_pack("{s:s}", "kind", "submission.done"));
	assert_int_equal(RUN(state, "submit", state->file), 1);
	HAS(state->out, "  ✗ test\n      The limit is 512 processes.\n    ✗ size: 1\n        no thread\n");
}

static void
test_submit_engine_could_not(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "submit", json_pack("{s:i, s:i}", "id", 7, "seq", 1));
	cli_host_answer(&state->host, "submission.show", submission("error", "[]"));
	json_array_append_new(state->host.events, json_pack("{s:s}", "kind", "submission.done"));
	assert_int_equal(RUN(state, "submit", state->file), 3);
}

static void
test_submit_waits_until_done(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "submit", json_pack("{s:i, s:i}", "id", 7, "seq", 1));
	cli_host_answer(&state->host, "submission.show", json_pack("{s:b}", "done", 0));
	json_array_append_new(state->host.events, json_pack("{s:s}", "kind", "submission.cancelled"));
	assert_int_equal(RUN(state, "submit", state->file), 130);
	HAS(state->err,
		"submission 7 is still queued or running; `kettle submission watch 7` follows it, `kettle submission "
		"cancel 7` cancels it.");
	assert_true(state->host.unsubscribed);
}

/* Nothing goes on with it, so it is cancelled; unless it has ended meanwhile. */
static void
test_submit_interrupted_alone(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "submit", json_pack("{s:i, s:i, s:b}", "id", 7, "seq", 1, "stays", 0));
	cli_host_answer(&state->host, "submission.cancel", json_pack("{s:i}", "id", 7));
	assert_int_equal(RUN(state, "submit", state->file), 130);
	assert_json(called(state, 1, "submission.cancel"), "{\"id\": 7}");
	HAS(state->err, "submission 7 is cancelled: no `kettle serve` is running to finish it.");
	assert_int_equal(state->host.timers, 0);
}

static void
test_submit_json(void **arg)
{
	struct cli_state *state = *arg;
	char report[128];
	snprintf(report, sizeof(report), "%s/report.json", state->folder);
	AUTO_JSON json_t *globals = json_pack("{s:b}", "json", 1);
	AUTO_JSON json_t *expected = submission("failed", passed_runs);
	cli_host_answer(&state->host, "submit", json_pack("{s:i, s:i}", "id", 7, "seq", 1));
	cli_host_answer(&state->host, "submission.show", submission("failed", passed_runs));
	json_array_append_new(state->host.events, progress("CPU", json_pack("{s:s}", "event", "started")));
	json_array_append_new(state->host.events, json_pack("{s:s}", "kind", "submission.done"));
	assert_int_equal(
		cli_state_run(state, globals, (const char *const[]){"submit", state->file, "-o", report, NULL}), 1);
	AUTO_JSON json_t *document = json_loads(state->out, 0, NULL);
	AUTO_JSON json_t *file = json_load_file(report, 0, NULL);
	unlink(report);
	assert_true(json_equal(document, expected));
	assert_true(json_equal(file, expected));
	assert_string_equal(state->err, "");
}

static void
test_submit_quiet(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "submit", json_pack("{s:i, s:i}", "id", 7, "seq", 1));
	cli_host_answer(&state->host, "submission.show", submission("passed", passed_runs));
	json_array_append_new(state->host.events, progress("CPU", json_pack("{s:s}", "event", "started")));
	json_array_append_new(state->host.events, json_pack("{s:s}", "kind", "submission.done"));
	assert_int_equal(RUN(state, "submit", "--quiet", state->file), 0);
	assert_string_equal(state->out, "Submission 7: CPU passed, 12.35 ± 0.10 µs, rank 1 of 3\n");
	json_t *failed = submission("failed", "[]");
	json_t *job = json_array_get(json_object_get(failed, "jobs"), 0);
	json_object_set_new(job, "error", json_string("1 of 2 tests failed."));
	json_object_set_new(job, "score", json_null());
	cli_host_answer(&state->host, "submission.show", failed);
	assert_int_equal(RUN(state, "submission", "show", "7", "--quiet"), 0);
	assert_string_equal(state->out, "Submission 7: CPU failed\n  1 of 2 tests failed.\n");
}

static void
test_submit_no_wait(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "submit", json_pack("{s:i, s:i}", "id", 7, "seq", 1));
	assert_int_equal(RUN(state, "submit", state->file, "--no-wait"), 0);
	assert_string_equal(state->out, "7\n");
	cli_host_refuse(&state->host, "submit", KETTLE_EUNAVAIL, "No `kettle serve` is running to run it.");
	assert_int_equal(RUN(state, "submit", state->file, "--no-wait"), 3);
	assert_string_equal(state->err, "kettle: No `kettle serve` is running to run it.\n");
}

static void
test_submit_files(void **arg)
{
	struct cli_state *state = *arg;
	assert_int_equal(RUN(state, "submit", "/nowhere/a.cpp"), 2);
	assert_string_equal(state->err, "kettle: There is no file `/nowhere/a.cpp`.\n");
	assert_int_equal(RUN(state, "submit", state->folder), 2);
	HAS(state->err, "is a folder, not a regular file.");
	assert_int_equal(RUN(state, "submit", "/dev/zero"), 2);
	HAS(state->err, "not a regular file.");
	assert_int_equal(json_array_size(state->host.calls), 0);
	assert_int_equal(RUN(state, "submit", state->file, "-o", "/nowhere/report"), 2);
	HAS(state->err, "`/nowhere/report` cannot be written");
	assert_int_equal(json_array_size(state->host.calls), 0);
	/* A refused submission creates no report and leaves an existing one as it is. */
	char report[128];
	snprintf(report, sizeof(report), "%s/report", state->folder);
	cli_host_refuse(&state->host, "submit", KETTLE_ERATE, "Too many.");
	assert_int_equal(RUN(state, "submit", state->file, "-o", report), 2);
	assert_int_equal(access(report, F_OK), -1);
	cli_host_refuse(&state->host, "submit", KETTLE_ERATE, "Too many.");
	assert_int_equal(RUN(state, "submit", state->file, "-o", state->file), 2);
	cli_host_refuse(&state->host, "submit", KETTLE_ERATE, "Too many.");
	assert_int_equal(RUN(state, "submit", state->file), 2);
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(called(state, 2, "submit"), "file"), "base64")),
		"aW50IHg7Cg==");
}

static json_t *
boards(void)
{
	return json_pack("[{s:s, s:[s, s], s:s, s:s, s:s}, {s:s, s:[s], s:n, s:s, s:s}]", "name", "vectoradd", "gpu_types",
		"CPU", "H100", "deadline", "2020-01-02T23:59:59.999Z", "description", "Adds.\nMore.", "visibility", "public",
		"name", "日本", "gpu_types", "CPU", "deadline", "description", "", "visibility", "closed");
}

static void
test_menu(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "leaderboard.list", boards());
	cli_host_refuse(&state->host, "submit", KETTLE_ERATE, "Too many.");
	int status = cli_host_run_terminal(&state->host, 80, "3\n2 1,cpu\n",
		(const char *const[]){"submit", state->file, "--leaderboard", "VectorAdd", NULL}, &state->out);
	assert_int_equal(status, 2);
	HAS(state->out, "`vectoradd` runs on several devices:\n  1  CPU\n  2  H100\n");
	HAS(state->out, "`3` is none of them.\n");
	assert_json(json_object_get(called(state, 1, "submit"), "device"), "[\"H100\",\"CPU\"]");
}

static void
test_no_menu(void **arg)
{
	struct cli_state *state = *arg;
	FILE *file = fopen(state->file, "w");
	fputs("// a kernel\n//!POPCORN leaderboard vectoradd\n//!POPCORN gpus CPU\nint x;\n", file);
	fclose(file);
	cli_host_refuse(&state->host, "submit", KETTLE_ERATE, "Too many.");
	assert_int_equal(
		cli_host_run_terminal(&state->host, 80, "", (const char *const[]){"submit", state->file, NULL}, &state->out),
		2);
	called(state, 0, "submit");
}

static void
test_live_line(void **arg)
{
	struct cli_state *state = *arg;
	json_t *events = state->host.events;
	cli_host_answer(&state->host, "submit",
		json_pack("{s:i, s:i, s:[{s:i, s:s}, {s:i, s:s}]}", "id", 7, "seq", 1, "jobs", "job", 70, "device", "CPU",
			"job", 71, "device", "H100"));
	cli_host_answer(&state->host, "submission.show", submission("passed", passed_runs));
	json_array_append_new(
		events, progress("CPU", json_pack("{s:s, s:s, s:s}", "event", "step", "step", "test", "state", "running")));
	json_array_append_new(events, progress("CPU", json_pack("{s:s, s:s, s:s, s:s}", "event", "result", "step", "test",
													  "key", "test.0.status", "value", "pass")));
	json_array_append_new(events, json_pack("{s:s}", "kind", "submission.done"));
	assert_int_equal(
		cli_host_run_terminal(&state->host, 40, "",
			(const char *const[]){"submit", state->file, "--leaderboard", "b", "--device", "CPU", NULL}, &state->out),
		0);
	/* The clock depends on how busy the machine is. */
	assert_int_equal(fnmatch("*[[]?:??] CPU: queued · H100: queued*", state->out, 0), 0);
	assert_int_equal(fnmatch("*\r\033[[]K[[]?:??] CPU: running test · H100: queued*", state->out, 0), 0);
	HAS(state->out, "\033[32m✓\033[0m test 1");
	/* The live line is cleared before the report. */
	HAS(state->out, "H100: queued\r\033[KSubmission 7 ·");
}

static void
test_delete(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "leaderboard.delete", json_pack("{s:s, s:i}", "name", "vectoradd", "submissions", 2));
	/* With --force as well. */
	assert_int_equal(RUN(state, "leaderboard", "delete", "vectoradd", "--force"), 2);
	assert_string_equal(state->err,
		"kettle: Nothing is deleted: there is no terminal to confirm on; add --yes to delete without confirmation.\n");
	assert_int_equal(RUN(state, "leaderboard", "delete", "vectoradd", "--yes"), 0);
	assert_string_equal(state->out, "Deleted leaderboard vectoradd and its 2 submissions.\n");
	const char *const argv[] = {"leaderboard", "delete", "vectoradd", NULL};
	free(state->out);
	assert_int_equal(cli_host_run_terminal(&state->host, 80, "vectorad\n", argv, &state->out), 2);
	HAS(state->out, "kettle: That is not `vectoradd`: nothing is deleted.");
	free(state->out);
	assert_int_equal(json_array_size(state->host.calls), 1);
	cli_host_answer(&state->host, "leaderboard.delete", json_pack("{s:s, s:i}", "name", "vectoradd", "submissions", 2));
	assert_int_equal(cli_host_run_terminal(&state->host, 80, "VectorAdd\n", argv, &state->out), 0);
	free(state->out);
	cli_host_answer(&state->host, "submission.delete", json_object());
	assert_int_equal(cli_host_run_terminal(&state->host, 80, "12\n",
						 (const char *const[]){"submission", "delete", "12", NULL}, &state->out),
		0);
	assert_json(called(state, 2, "submission.delete"), "{\"id\":12}");
}

static void
test_boards(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "leaderboard.list", boards());
	assert_int_equal(RUN(state, "leaderboard", "list", "--all"), 0);
	/* The number of years depends on the date. */
	HAS(state->out, "name       devices    deadline              ");
	HAS(state->out, "vectoradd  CPU, H100  2020-01-02 23:59 UTC  ");
	HAS(state->out, "years ago          Adds.\n");
	HAS(state->out, "日本       CPU        none                  ");
	HAS(state->out, "  closed\n");
}

static void
test_ranking(void **arg)
{
	struct cli_state *state = *arg;
	static const char result[] =
		"{\"leaderboard\":{\"name\":\"vectoradd\",\"deadline\":null,\"description\":\"Adds.\",\"visibility\":"
		"\"closed\", \"harness\":\"kettle\", \"judging\":[{\"kind\":\"CPU\",\"by\":\"referee\",\"open\":\"this\"},"
		"{\"kind\":\"GPU\",\"by\":\"one process\",\"open\":\"that\"}]},"
		"\"rankings\":[{\"device\":\"CPU\",\"count\":3,\"entries\":["
		"{\"rank\":1,\"submission_id\":4,\"user_name\":\"bob\\u001b[2J\\u202e\",\"submission_score\":0.0012341,"
		"\"submission_time\":\"2026-07-01T10:00:00Z\",\"submission_name\":\"a.cpp\",\"low\":0.0012,\"high\":0.0013},"
		"{\"rank\":2,\"submission_id\":12,\"user_name\":\"alice\",\"submission_score\":2.0,"
		"\"submission_time\":\"2026-07-01T11:00:00Z\",\"submission_name\":\"b.cpp\",\"low\":null,\"close\":true}]},"
		"{\"device\":\"H100\",\"count\":0,\"entries\":[]}]}";
	cli_host_answer(&state->host, "leaderboard.show", json_loads(result, 0, NULL));
	assert_int_equal(RUN(state, "leaderboard", "show", "vectoradd"), 0);
	assert_string_equal(state->out, "vectoradd  deadline: none  closed\n"
									"  Adds.\n"
									"  Harness: kettle.\n"
									"  Judging on a CPU: referee. Open: this.\n"
									"  Judging on a GPU: one process. Open: that.\n"
									"  See docs/tasks.md.\n"
									"\n"
									"CPU\n"
									"  rank  user                score  when                  id  file\n"
									"     1  bob�[2J  1.234 ± 0.066 ms  2026-07-01 10:00 UTC   4  a.cpp\n"
									"   ≈ 2  alice             2.000 s  2026-07-01 11:00 UTC  12  b.cpp\n"
									"  (2 of 3; --limit and --offset show others)\n"
									"\n"
									"H100\n"
									"  no user is ranked here\n");
	AUTO_JSON json_t *globals = json_pack("{s:b}", "json", 1);
	cli_host_answer(&state->host, "leaderboard.show", json_loads(result, 0, NULL));
	assert_int_equal(cli_state_run(state, globals, (const char *const[]){"leaderboard", "show", "vectoradd", NULL}), 0);
	AUTO_JSON json_t *document = json_loads(state->out, 0, NULL);
	assert_int_equal(json_array_size(document), 2);
}

/* Units that are calibrated, were before, and failed. */
static void
test_calibrate(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "device.calibrate",
		json_pack("{s:[{s:s, s:s, s:{s:f}, s:{s:f}, s:[s]}, {s:s, s:s, s:{s:f}, s:[{s:s, s:{s:f}}], s:[]}, "
				  "{s:s, s:s, s:s, s:[]}]}",
			"units", "unit", "CPU.0", "state", "calibrated", "names", "cpu-c-1", 101000.0, "before", "cpu-c-1",
			100000.0, "remarks", "py: no python", "unit", "CPU.1", "state", "already", "names", "cpu-c-1", 99000.0,
			"boards", "leaderboard", "matmul", "names", "cpu-c-1-own-1", 5.0, "remarks", "unit", "GPU.0", "state",
			"failed", "error", "it does not answer", "remarks"));
	assert_int_equal(RUN(state, "device", "calibrate", "CPU", "--force"), 3);
	assert_json(called(state, 0, "device.calibrate"), "{\"device\":[\"CPU\"],\"force\":true}");
	assert_json(state->host.filter, "{\"task_run\":true}");
	assert_string_equal(state->out, "CPU.0: calibrated\n"
									"  remark: py: no python\n"
									"  cpu-c-1  101.0 µs  (+1.00 % from the last calibration)\n"
									"  Earlier scores stay as they are until their submissions are rerun.\n"
									"CPU.1: is already calibrated; --force measures it again\n"
									"  cpu-c-1  99.00 µs\n"
									"  leaderboard matmul: 1 calibrator of its own\n"
									"GPU.0: it does not answer\n");
	cli_host_answer(&state->host, "device.list",
		json_pack("[{s:s, s:i, s:[{s:s, s:s, s:s, s:{s:b}}]}]", "name", "CPU", "queued", 0, "units", "unit", "CPU.0",
			"runner", "local", "state", "idle", "calibration", "changed", 1));
	assert_int_equal(RUN(state, "device", "list"), 0);
	assert_non_null(strstr(state->out, "for another machine\n"));
	assert_non_null(strstr(state->out, "Warning: the machine of CPU.0 has changed"));
}

static void
test_queue_place(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "queue.place",
		json_pack("{s:[{s:i, s:s, s:s}, {s:i, s:s, s:i, s:i}, {s:i, s:s, s:i, s:i, s:s}]}", "places", "job", 72,
			"device", "H100", "waits", "It needs 2 devices.", "job", 70, "device", "CPU", "place", 0, "length", 1,
			"job", 71, "device", "H100", "place", 2, "length", 5, "waits", "No unit is in order."));
	assert_int_equal(RUN(state, "queue", "place", "70", "71", "72", "73"), 0);
	assert_json(called(state, 0, "queue.place"), "{\"job\":[70,71,72,73]}");
	assert_string_equal(state->out, "Job 70 on CPU: next, of 1 that waits.\n"
									"Job 71 on H100: 2 before it, of 5 that wait. No unit is in order.\n"
									"Job 72 on H100 waits outside of the queue. It needs 2 devices.\n"
									"Job 73 is not queued.\n");
}

static void
test_errors(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_refuse(&state->host, "leaderboard.list", KETTLE_EIO, "The disk is\nfull.");
	assert_int_equal(RUN(state, "leaderboard", "list"), 3);
	assert_string_equal(state->err, "kettle: The disk is\nfull.\n");
	cli_host_refuse_argument(&state->host, "leaderboard.delete", "force", KETTLE_ECONFLICT, "It has 2; use `force`.");
	assert_int_equal(RUN(state, "leaderboard", "delete", "force", "--yes"), 2);
	assert_string_equal(state->err, "kettle: It has 2; use `--force`.\n");
	cli_host_refuse_argument(&state->host, "submit", "no_wait", KETTLE_EINVAL, "`no_wait` must be true or false.");
	assert_int_equal(RUN(state, "submit", state->file), 2);
	assert_string_equal(state->err, "kettle: `--no-wait` must be true or false.\n");
	/* A board's name, where that of an argument could be. */
	cli_host_refuse(&state->host, "leaderboard.delete", KETTLE_ENOENT, "`force` is gone: use `force` of 2025.");
	assert_int_equal(RUN(state, "leaderboard", "delete", "force", "--yes"), 2);
	assert_string_equal(state->err, "kettle: `force` is gone: use `force` of 2025.\n");
	AUTO_JSON json_t *globals = json_pack("{s:b}", "json", 1);
	cli_host_refuse_argument(&state->host, "leaderboard.list", "x", KETTLE_ENOENT, "No.");
	assert_int_equal(cli_state_run(state, globals, (const char *const[]){"leaderboard", "list", NULL}), 2);
	AUTO_JSON json_t *document = json_loads(state->out, 0, NULL);
	assert_json(document, "{\"error\":{\"code\":\"not-found\",\"member\":\"x\",\"message\":\"No.\"}}");
	assert_string_equal(state->err, "");
}

static void
test_usage(void **arg)
{
	struct cli_state *state = *arg;
	assert_int_equal(RUN(state, "leaderbord"), 2);
	assert_string_equal(state->err, "kettle: There is no command `leaderbord`; did you mean `leaderboard`?\n");
	assert_int_equal(RUN(state, "leaderboard", "craete", "x"), 2);
	assert_string_equal(
		state->err, "kettle: There is no command `leaderboard craete`; did you mean `leaderboard create`?\n");
	assert_int_equal(RUN(state, "leaderboard"), 2);
	assert_string_equal(state->err, "kettle: `kettle leaderboard` needs one of: create, list, show, delete.\n");
	assert_int_equal(RUN(state, "leaderboard", "create"), 2);
	HAS(state->err,
		"kettle: `kettle leaderboard create` needs NAME and --task PATH.\nusage: kettle leaderboard create NAME");
	assert_int_equal(RUN(state, "--frobnicate"), 2);
	HAS(state->err, "There is no global option `--frobnicate`; `kettle help` lists them.");
	assert_int_equal(RUN(state, "--jsn", "leaderboard", "list"), 2);
	HAS(state->err, "There is no global option `--jsn`; did you mean `--json`?");
	assert_int_equal(json_array_size(state->host.calls), 0);
}

static void
test_help(void **arg)
{
	struct cli_state *state = *arg;
	static const char *const forms[][4] = {
		{"leaderboard", "create", "--help", NULL}, {"help", "leaderboard", "create", NULL}};
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		assert_int_equal(RUN(state, forms[i][0], forms[i][1], forms[i][2]), 0);
		HAS(state->out, "usage: kettle leaderboard create NAME --task PATH [--deadline WHEN]\n"
						"                                 [--device DEVICE]… [--lang LANG]\n\n"
						"makes a leaderboard of a task\n\n"
						"The devices of the task are taken where none is named.\n\n"
						"Arguments\n"
						"  NAME                  its name\n\n"
						"Options\n"
						"  --task PATH           folder of the task\n");
	}
	assert_int_equal(cli_state_run(state, NULL, (const char *const[]){NULL}), 0);
	HAS(state->out, "  submit FILE           runs a file against the task of a leaderboard\n");
	HAS(state->out, "To take part\n");
	HAS(state->out, "All commands\n  leaderboard           create, ");
	HAS(state->out, "participating.md");
	HAS(state->out, "  --db FILE  ");
	assert_null(strstr(state->out, "task read"));
	assert_int_equal(RUN(state, "leaderboard", "--help"), 0);
	HAS(state->out, "usage: kettle leaderboard COMMAND [ARGUMENT…]\n\nCommands\n  leaderboard create NAME\n");
	assert_null(strstr(state->out, "submission"));
	static const char *const own[][3] = {
		{"completion", "--help"}, {"completion", "bash", "-h"}, {"help", "completion"}};
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		assert_int_equal(RUN(state, own[i][0], own[i][1], own[i][2]), 0);
		HAS(state->out, "usage: kettle completion bash|zsh|fish\n\n");
	}
	assert_int_equal(RUN(state, "serve", "--help"), 0);
	HAS(state->out, "usage: kettle serve\n");
	assert_int_equal(RUN(state, "help", "leaderbord"), 2);
	assert_int_equal(RUN(state, "help", "--manual"), 0);
	HAS(state->out, ".SH COMMANDS\n.TP\n.B kettle leaderboard create NAME \\-\\-task PATH [");
}

static void
test_local(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "task.check",
		json_pack("{s:[{s:s, s:b, s:s, s:s, s:[{s:s, s:s, s:s}], s:i, s:i, s:[s]}, {s:s, s:b, s:s}], s:b}", "tasks",
			"path", "a", "ok", 1, "lang", "cpp", "harness", "kettle", "judging", "kind", "any", "by", "one process",
			"open", "much", "tests", 3, "benchmarks", 1, "remarks", "Odd.", "path", "b", "ok", 0, "error",
			"b/task.yml:3:1: wrong", "ok", 0));
	assert_int_equal(RUN(state, "task", "check", "a", "b"), 2);
	assert_string_equal(state->out,
		"a: ok (cpp, 3 tests, 1 benchmark, harness: kettle)\n  judging: one process; open: much (docs/tasks.md)\n"
		"  remark: Odd.\nb/task.yml:3:1: wrong\n");
	assert_json(called(state, 0, "task.check"), "{\"path\":[\"a\",\"b\"]}");
	cli_host_answer(&state->host, "plugin.test",
		json_pack("{s:[{s:s, s:b}, {s:s, s:b, s:b, s:s}, {s:s, s:b, s:s}], s:b}", "tests", "name", "loads", "passed", 1,
			"name", "plans", "passed", 0, "skipped", 1, "message", "No language.", "name", "stops", "passed", 0,
			"message", "it hangs", "ok", 0));
	assert_int_equal(RUN(state, "plugin", "test", "x.so"), 1);
	assert_string_equal(state->out,
		"1..3\nok 1 - loads\nok 2 - plans # SKIP No language.\nnot ok 3 - stops\n# it hangs\n"
		"# 1 of 3 passed, 1 skipped\n");
	cli_host_answer(&state->host, "device.list",
		json_pack("[{s:s, s:i, s:b, s:[{s:s, s:s, s:s, s:i, s:i, s:s}]}]", "name", "CPU", "queued", 2, "paused", 1,
			"units", "unit", "CPU/0", "runner", "local", "state", "running", "slots", 1, "running", 1, "level",
			"full"));
	assert_int_equal(RUN(state, "device", "list"), 0);
	assert_string_equal(state->out, "device  unit   runner  state    slots  queued  sandbox  calibrated\n"
									"CPU     CPU/0  local   running    1/1       2  full     no\n"
									"Warning: submissions are paused; `kettle admin resume` accepts them again.\n");
	cli_host_answer(&state->host, "plugin.info",
		json_pack("{s:s, s:s, s:s, s:[{s:s, s:s, s:s, s:i, s:i, s:s}, {s:s, s:s, s:i}]}", "name", "local", "summary",
			"here", "kind", "runner", "options", "key", "jobs", "type", "int", "default", "2", "min", 1, "max", 64,
			"help", "how many", "key", "memory", "type", "int", "min", 16));
	assert_int_equal(RUN(state, "plugin", "info", "local"), 0);
	assert_string_equal(state->out, "local  here\n  kind     runner\n\n  jobs  int, 1 to 64, default 2\n      how "
									"many\n\n  memory  int, at least 16\n");
}

static void
test_submissions(void **arg)
{
	struct cli_state *state = *arg;
	json_t *result = submission("running", "[]");
	json_object_set_new(result, "flagged", json_string("It copies."));
	cli_host_answer(&state->host, "submission.show", result);
	assert_int_equal(RUN(state, "submission", "show", "7"), 0);
	HAS(state->out, "Reason: It copies.\n\nCPU  running\n");
	cli_host_answer(&state->host, "submission.list",
		json_pack("[{s:i, s:s, s:s, s:s, s:s, s:b, s:s, s:n, s:[{s:s, s:f, s:s}, {s:s, s:n, s:s}]}]", "id", 7,
			"leaderboard_name", "vectoradd", "file_name", "a.cpp", "submission_time", "2026-07-01T10:00:00.000Z",
			"mode", "ranked", "done", 1, "state", "failed", "flagged", "runs", "gpu_type", "CPU", "score", 0.5, "state",
			"passed", "gpu_type", "H100", "score", "state", "failed"));
	assert_int_equal(RUN(state, "submission", "list"), 0);
	assert_string_equal(state->out,
		"id  leaderboard  file   mode    when                  result\n"
		" 7  vectoradd    a.cpp  ranked  2026-07-01 10:00 UTC  CPU 500.0 ms, H100 failed\n");
	cli_host_answer(&state->host, "submission.cancel", json_pack("{s:i}", "id", 7));
	assert_int_equal(RUN(state, "submission", "cancel", "7"), 0);
	assert_string_equal(state->out, "Cancelled submission 7.\n");
}

static void
test_task_run(void **arg)
{
	struct cli_state *state = *arg;
	AUTO_JSON json_t *whole = submission("passed", passed_runs);
	json_t *result = json_incref(json_array_get(json_object_get(whole, "jobs"), 0));
	json_object_set_new(result, "kept", json_string("/tmp/x"));
	cli_host_answer(&state->host, "task.run", result);
	assert_int_equal(RUN(state, "task", "run", "dir", state->file, "--mode=test", "--keep"), 0);
	assert_json(state->host.filter, "{\"task_run\":true}");
	HAS(state->out, "kept in /tmp/x\n");
	HAS(state->out, "Task run: CPU passed, 12.35 ± 0.10 µs");
}

static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, cli_state_teardown)
	TEST(test_create),
	TEST(test_create_refused),
	TEST(test_submit),
	TEST(test_submit_profile),
	TEST(test_submit_counts),
	TEST(test_submit_wide),
	TEST(test_submit_failed),
	TEST(test_submit_limit),
	TEST(test_submit_engine_could_not),
	TEST(test_submit_waits_until_done),
	TEST(test_submit_interrupted_alone),
	TEST(test_submit_json),
	TEST(test_submit_quiet),
	TEST(test_submit_no_wait),
	TEST(test_submit_files),
	TEST(test_menu),
	TEST(test_no_menu),
	TEST(test_live_line),
	TEST(test_delete),
	TEST(test_boards),
	TEST(test_ranking),
	TEST(test_calibrate),
	TEST(test_queue_place),
	TEST(test_errors),
	TEST(test_usage),
	TEST(test_help),
	TEST(test_local),
	TEST(test_submissions),
	TEST(test_task_run),
};

UNIT_TESTS(test_cli_command);
