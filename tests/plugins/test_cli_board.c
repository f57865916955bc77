/* SPDX-License-Identifier: MIT */
/* Leaderboard commands with the core's own table: what they print and write. */
#include <config.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "cli/actions/actions.h"
#include "commands/handlers.h"
#include "lib/cli_host.h"
#include "lib/unit_test.h"

static const char *
below(const struct cli_state *state, const char *name)
{
	static char path[200];
	snprintf(path, sizeof(path), "%s/%s", state->folder, name);
	return path;
}

static void
assert_file(const struct cli_state *state, const char *name, const char *text)
{
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	struct kettle_error err = {0};
	if (file_read(below(state, name), 1 << 20, &data, &size, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(data, text);
}

static bool
is_there(const struct cli_state *state, const char *name)
{
	struct stat st;
	return lstat(below(state, name), &st) == 0;
}

/* How many files are in the folder. */
static int
count_files(const struct cli_state *state)
{
	AUTO_DIR DIR *dir = opendir(state->folder);
	int count = -2; /* . and .. */
	while (readdir(dir))
		count++;
	return count;
}

/* ---- updates ---- */

static void
test_update(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "leaderboard.update",
		json_pack("{s:[s, s, s], s:s, s:i, s:i, s:i, s:{s:s, s:s, s:s}, s:[s]}", "changes", "task", "deadline",
			"code_visibility", "scores", "left", "ranked", 12, "open", 1, "counts_from", 31, "leaderboard", "name",
			"vectoradd", "deadline", "2026-07-01T10:00:00.000Z", "code", "ended", "remarks", "Odd."));
	assert_int_equal(
		RUN(state, "leaderboard", "update", "vectoradd", "--deadline", "none", "--code-visibility", "ended"), 0);
	assert_string_equal(state->out,
		"Remark: Odd.\n"
		"Updated leaderboard vectoradd: task, deadline and code visibility.\n"
		"  deadline: 2026-07-01 10:00 UTC\n"
		"  code visibility: ended\n"
		"Earlier scores no longer count (12 places): the rankings start again with submission 31.\n"
		"1 job is queued or running, and uses the previous version.\n");
	cli_host_answer(&state->host, "leaderboard.update",
		json_pack("{s:[s], s:s, s:i, s:{s:s}}", "changes", "task", "scores", "kept", "open", 2, "leaderboard", "name",
			"vectoradd"));
	assert_int_equal(RUN(state, "leaderboard", "update", "vectoradd", "--code-visibility", "ended"), 0);
	HAS(state->out, "Earlier scores still count.\n2 jobs are queued or running, and use the previous version.\n");
	cli_host_answer(&state->host, "leaderboard.update",
		json_pack("{s:[], s:{s:s}}", "changes", "leaderboard", "name", "vectoradd"));
	assert_int_equal(RUN(state, "leaderboard", "update", "vectoradd", "--code-visibility", "ended"), 0);
	assert_string_equal(state->out, "Leaderboard vectoradd already has these settings.\n");
	cli_host_refuse_argument(
		&state->host, "leaderboard.update", "force", KETTLE_ECONFLICT, "It would; use `force` to confirm.");
	assert_int_equal(RUN(state, "leaderboard", "update", "vectoradd", "--code-visibility", "ended"), 2);
	assert_string_equal(state->err, "kettle: It would; use `--force` to confirm.\n");
}

/* ---- the task ---- */

static json_t *
task_answer(void)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:{s:{s:s}, s:{s:s}}, s:{s:{s:s, s:s}}, s:{s:[{s:s, s:s}, {s:s, s:s}, {s:s, "
					 "s:s}], s:{s:s}}, s:[{s:s, s:s, s:s}, {s:s, s:s, s:o}]}",
		"leaderboard", "vectoradd", "name", "tiny", "yml", "lang: py\n", "submission", "submission.py", "files",
		"eval.py", "text", "import x\n", "blob.bin", "base64", "AAEC", "templates", "Python", "file_name",
		"template.py", "text", "pass\n", "task", "files", "name", "eval.py", "source", "../../set/./eval.py", "name",
		"blob.bin", "source", "data/blob.bin", "name", "submission.py", "source", "@SUBMISSION@", "templates", "Python",
		"template.py", "plans", "device", "CPU", "mode", "test", "error", "Not here.", "device", "CPU", "mode",
		"ranked", "plan",
		json_pack("{s:[{s:s, s:s, s:[s, s, s], s:{s:s}, s:{s:{}}, s:{s:i}, s:[s], s:{s:s, s:s}, s:{s:s}, s:{s:[i]}}]}",
			"steps", "id", "test", "kind", "run", "argv", "python3", "eval.py", "\033[1m", "env", "A", "b", "inputs",
			"eval.py", "limits", "wall", 10, "needs", "build", "cases", "name", "cases.txt", "text", "a: 1\nb: 2\n",
			"secret", "POPCORN_SEED", "<drawn>", "pass", "exit", 0));
}

static void
test_task(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "leaderboard.task", task_answer());
	assert_int_equal(RUN(state, "leaderboard", "task", "vectoradd"), 0);
	assert_string_equal(state->out, "vectoradd, task tiny\n"
									"\n"
									"  file           size\n"
									"  eval.py         9 B\n"
									"  blob.bin        3 B\n"
									"  submission.py        what is submitted\n"
									"  template.py     5 B  template for Python\n"
									"\n"
									"  task.yml\n"
									"    lang: py\n"
									"\n"
									"CPU, ranked\n"
									"  test  run\n"
									"    $ python3 eval.py \xef\xbf\xbd[1m\n"
									"    env       A=b\n"
									"    inputs    eval.py\n"
									"    limits    wall=10\n"
									"    needs     build\n"
									"    cases     cases.txt, 2 lines\n"
									"    secret    POPCORN_SEED=<drawn>\n"
									"    passes    exit=[0]\n"
									"\n"
									"-o DIR writes all of it, --json prints it.\n");
}

static void
test_task_folder(void **arg)
{
	struct cli_state *state = *arg;
	char folder[200];
	snprintf(folder, sizeof(folder), "%s", below(state, "new"));
	cli_host_answer(&state->host, "leaderboard.task", task_answer());
	assert_int_equal(RUN(state, "leaderboard", "task", "vectoradd", "-o", folder), 0);
	HAS(state->out, "Wrote the task to ");
	HAS(state->out, "/new/tasks/tiny.\n");
	/* As deep as its sources lead above it, so that task.yml is valid there. */
	assert_file(state, "new/tasks/tiny/task.yml", "lang: py\n");
	assert_file(state, "new/set/eval.py", "import x\n");
	assert_file(state, "new/tasks/tiny/template.py", "pass\n");
	assert_true(is_there(state, "new/tasks/tiny/data/blob.bin"));
	assert_true(is_there(state, "new/kettle-plans/CPU.ranked.json"));
	assert_false(is_there(state, "new/tasks/tiny/submission.py"));
	/* An existing folder is never overwritten. */
	cli_host_answer(&state->host, "leaderboard.task", task_answer());
	assert_int_equal(RUN(state, "leaderboard", "task", "vectoradd", "-o", folder), 2);
	HAS(state->err, "already exists and is not overwritten");
	cli_host_answer(&state->host, "leaderboard.task", task_answer());
	assert_int_equal(RUN(state, "leaderboard", "task", "vectoradd", "-o", "/nowhere/x"), 2);
	HAS(state->err, "`/nowhere/x` cannot be written: No such file or directory.");
	AUTO_JSON json_t *globals = json_pack("{s:b}", "json", 1);
	snprintf(folder, sizeof(folder), "%s", below(state, "other"));
	cli_host_answer(&state->host, "leaderboard.task", task_answer());
	const char *const argv[] = {"leaderboard", "task", "vectoradd", "-o", folder, NULL};
	assert_int_equal(cli_state_run(state, globals, argv), 0);
	AUTO_JSON json_t *facts = json_loads(state->out, 0, NULL);
	assert_int_equal(json_integer_value(json_object_get(facts, "files")), 6);
}

static void
test_save_stays_inside(void **arg)
{
	struct cli_state *state = *arg;
	static const char *const names[] = {"../out", "/etc/x", "a/../../out", "", "a//b", "./a", "a\nb"};
	struct kettle_error err = {0};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		AUTO_JSON json_t *files = json_pack("{s:{s:s}, s:{s:s}}", "good", "text", "x", names[i], "text", "x");
		assert_int_equal(save_folder(below(state, "new"), files, &err), KETTLE_EINVAL);
		assert_false(is_there(state, "new"));
		assert_false(is_there(state, "out"));
	}
	/* After an error no folder is left. */
	AUTO_JSON json_t *both = json_pack("{s:{s:s}, s:{s:s}}", "a", "text", "x", "a/b", "text", "x");
	assert_true(save_folder(below(state, "new"), both, &err) < 0);
	assert_false(is_there(state, "new"));
	/* A link in the way is not followed. */
	assert_int_equal(symlink("target", below(state, "link")), 0);
	assert_int_equal(save_file(below(state, "link"), "x", 1, &err), KETTLE_ECONFLICT);
	assert_false(is_there(state, "target"));
}

/* ---- templates and harnesses ---- */

static json_t *
templates(int count)
{
	json_t *list = json_pack("[{s:s, s:s, s:s}]", "language", "Python", "file_name", "a.py", "text", "import a\n");
	if (count > 1)
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s}", "language", "Triton", "file_name", "b.py", "text", "import b\n"));
	return json_pack("{s:s, s:o}", "leaderboard", "vectoradd", "templates", list);
}

static void
test_template(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "leaderboard.template", templates(1));
	assert_int_equal(RUN(state, "leaderboard", "template", "vectoradd"), 0);
	assert_string_equal(state->out, "import a\n");
	cli_host_answer(&state->host, "leaderboard.template", templates(2));
	assert_int_equal(RUN(state, "leaderboard", "template", "vectoradd"), 2);
	HAS(state->err, "has several templates: choose with --lang from Python, Triton.");
	cli_host_answer(&state->host, "leaderboard.template", templates(1));
	assert_int_equal(RUN(state, "leaderboard", "template", "vectoradd", "-o", below(state, "a.py")), 0);
	assert_file(state, "a.py", "import a\n");
	cli_host_answer(&state->host, "leaderboard.template", templates(1));
	assert_int_equal(RUN(state, "leaderboard", "template", "vectoradd", "-o", below(state, "a.py")), 2);
	HAS(state->err, "is not overwritten");
	AUTO_JSON json_t *globals = json_pack("{s:b}", "json", 1);
	cli_host_answer(&state->host, "leaderboard.template", templates(2));
	assert_int_equal(
		cli_state_run(state, globals, (const char *const[]){"leaderboard", "template", "vectoradd", NULL}), 0);
	AUTO_JSON json_t *document = json_loads(state->out, 0, NULL);
	assert_int_equal(json_array_size(json_object_get(document, "templates")), 2);
}

static void
test_harness_show(void **arg)
{
	struct cli_state *state = *arg;
	for (int i = 0; i < 2; i++)
		cli_host_answer(&state->host, "harness.show",
			json_pack("{s:s, s:[{s:s, s:s}, {s:s, s:s}]}", "language", "py", "files", "name", "eval.py", "text",
				"import a\n", "name", "utils.py", "text", "import b\n"));
	assert_int_equal(RUN(state, "harness", "show", "python"), 0);
	assert_string_equal(state->out, "==> eval.py <==\nimport a\n\n==> utils.py <==\nimport b\n");
	assert_int_equal(RUN(state, "harness", "show", "python", "-o", below(state, "harness")), 0);
	assert_file(state, "harness/utils.py", "import b\n");
	cli_host_refuse(&state->host, "harness.show", KETTLE_EINVAL, "There is no language `x`.");
	assert_int_equal(RUN(state, "harness", "show", "x"), 2);
}

/* ---- limits and invites ---- */

static const char *
called(struct cli_state *state)
{
	size_t count = json_array_size(state->host.calls);
	return json_string_value(json_object_get(json_array_get(state->host.calls, count - 1), "command"));
}

static void
test_limits(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "leaderboard.rate_limits",
		json_pack("{s:s, s:[{s:s, s:n, s:i}, {s:s, s:s, s:i}]}", "leaderboard", "vectoradd", "limits", "category",
			"test", "device", "per_hour", 60, "category", "leaderboard", "device", "H100", "per_hour", 6));
	assert_int_equal(RUN(state, "leaderboard", "rate-limit", "vectoradd"), 0);
	assert_string_equal(state->out, "category     device        an hour\n"
									"test         all together       60\n"
									"leaderboard  H100                6\n");
	cli_host_answer(
		&state->host, "leaderboard.rate_limit", json_pack("{s:s, s:[]}", "leaderboard", "vectoradd", "limits"));
	assert_int_equal(RUN(state, "leaderboard", "rate-limit", "vectoradd", "--remove"), 0);
	assert_string_equal(called(state), "leaderboard.rate_limit");
	assert_string_equal(state->out, "Leaderboard vectoradd no longer has rate limits.\n");
}

static void
test_invites(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "invite.create",
		json_pack("{s:[s, s], s:[s, s]}", "leaderboards", "a", "b", "codes", "abc", "def"));
	assert_int_equal(RUN(state, "invite", "create", "a", "b", "--count", "2"), 0);
	assert_string_equal(
		state->out, "Each code opens a and b to one user, with `kettle leaderboard join CODE`:\nabc\ndef\n");
	cli_host_answer(&state->host, "invite.list",
		json_pack("{s:i, s:[{s:s, s:s, s:s, s:s, s:[s]}, {s:s, s:n, s:n, s:s, s:[s, s]}]}", "count", 5, "invites",
			"code", "abc", "user_name", "alice", "claimed_at", "2026-07-02T10:00:00.000Z", "created_at",
			"2026-07-01T10:00:00.000Z", "leaderboards", "a", "code", "def", "user_name", "claimed_at", "created_at",
			"2026-07-01T10:00:00.000Z", "leaderboards", "a", "b"));
	assert_int_equal(RUN(state, "invite", "list", "a"), 0);
	HAS(state->out, "abc   alice       2026-07-02 10:00 UTC  2026-07-01 10:00 UTC");
	HAS(state->out, "(2 of 5; --limit and --offset show others)\n");
	cli_host_answer(&state->host, "invite.revoke",
		json_pack(
			"{s:s, s:b, s:s, s:[s]}", "code", "abc", "was_claimed", 1, "user_name", "alice", "leaderboards", "a"));
	assert_int_equal(RUN(state, "invite", "revoke", "abc"), 0);
	assert_string_equal(state->out, "Revoked the invite: alice no longer sees a, unless another invite allows it.\n");
	cli_host_answer(&state->host, "leaderboard.join",
		json_pack("{s:s, s:b, s:[s]}", "status", "ok", "joined", 1, "leaderboards", "a"));
	assert_int_equal(RUN(state, "leaderboard", "join", "abc"), 0);
	assert_string_equal(state->out, "You can now see a.\n");
}

static void
test_code(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "submission.show", json_pack("{s:s}", "code", "int x;\n"));
	assert_int_equal(RUN(state, "submission", "show", "7", "--code"), 0);
	assert_string_equal(state->out, "int x;\n");
	cli_host_answer(&state->host, "submission.show",
		json_pack("{s:s, s:[{s:s, s:{s:{s:I}}}]}", "code", "int x;\n", "jobs", "device", "CPU", "timing", "parts",
			"run_ns", (json_int_t)5000000));
	assert_int_equal(RUN(state, "submission", "show", "7", "--timing", "--code"), 0);
	HAS(state->out, "int x;\n\n");
	HAS(state->out, "CPU");
	cli_host_answer(&state->host, "leaderboard.show",
		json_pack("{s:{s:s, s:s, s:s}, s:[{s:s}], s:b, s:[s]}", "leaderboard", "name", "vectoradd", "code", "always",
			"description", "Adds.", "rankings", "device", "CPU", "code_open", 1, "tools", "python3"));
	cli_host_answer(&state->host, "device.list",
		json_pack("[{s:s, s:[{s:{s:s, s:s, s:s}, s:{s:{s:s}, s:{s:s}}}]}, {s:s, s:[{s:{s:s}}]}]", "name", "CPU",
			"units", "tools", "g++", "12.2.0", "python3", "3.11.2", "/opt/python", "3.13.0", "packages", "python3",
			"numpy", "1.24.2", "/opt/python", "numpy", "2.0", "name", "H100", "units", "tools", "nvcc", "13.0"));
	assert_int_equal(RUN(state, "leaderboard", "show", "vectoradd"), 0);
	HAS(state->out, "  You may read the code of other users: kettle submission show ID --code\n");
	const json_t *asked = json_array_get(state->host.calls, json_array_size(state->host.calls) - 1);
	assert_true(json_is_true(json_object_get(json_object_get(asked, "args"), "known")));
	/* The tools that run its submissions, no others of its devices, and none of other devices. */
	HAS(state->out, "\nCPU has python3 3.11.2 (numpy 1.24.2)\n");
	assert_null(strstr(state->out, "H100"));
}

/* ---- exports ---- */

static json_t *
page(int first, int count, int next)
{
	json_t *submissions = json_array();
	for (int i = 0; i < count; i++)
		json_array_append_new(submissions, json_pack("{s:i, s:s}", "id", first + i, "code", "int x;\n"));
	return json_pack("{s:s, s:i, s:o, s:o}", "leaderboard", "vectoradd", "total", 3, "submissions", submissions, "next",
		next ? json_integer(next) : json_null());
}

static void
test_export(void **arg)
{
	struct cli_state *state = *arg;
	static const char lines[] = "{\"id\":1,\"code\":\"int x;\\n\"}\n{\"id\":2,\"code\":\"int x;\\n\"}\n"
								"{\"id\":3,\"code\":\"int x;\\n\"}\n";
	for (int i = 0; i < 3; i++) {
		cli_host_answer(&state->host, "leaderboard.export", page(1, 2, 2));
		cli_host_answer(&state->host, "leaderboard.export", page(3, 1, 0));
	}
	assert_int_equal(RUN(state, "leaderboard", "export", "vectoradd", "--private"), 0);
	assert_string_equal(state->out, lines);
	const json_t *args = json_object_get(json_array_get(state->host.calls, 1), "args");
	assert_int_equal(json_integer_value(json_object_get(args, "after")), 2);
	assert_true(json_is_true(json_object_get(args, "private")));
	AUTO_JSON json_t *globals = json_pack("{s:b}", "json", 1);
	assert_int_equal(
		cli_state_run(state, globals, (const char *const[]){"leaderboard", "export", "vectoradd", NULL}), 0);
	AUTO_JSON json_t *array = json_loads(state->out, 0, NULL);
	assert_int_equal(json_array_size(array), 3);
	/* A file is replaced only by a whole one. */
	assert_int_equal(RUN(state, "leaderboard", "export", "vectoradd", "-o", below(state, "x.jsonl")), 0);
	HAS(state->out, "Wrote 3 submissions of vectoradd to ");
	assert_file(state, "x.jsonl", lines);
	cli_host_answer(&state->host, "leaderboard.export", page(1, 2, 2));
	cli_host_refuse(&state->host, "leaderboard.export", KETTLE_ENOENT, "There is no leaderboard.");
	assert_int_equal(RUN(state, "leaderboard", "export", "vectoradd", "-o", below(state, "x.jsonl")), 2);
	assert_file(state, "x.jsonl", lines);
	assert_int_equal(count_files(state), 1);
	cli_host_refuse_argument(
		&state->host, "leaderboard.export", "private", KETTLE_ECONFLICT, "It is active: use `private` if so.");
	assert_int_equal(RUN(state, "leaderboard", "export", "vectoradd"), 2);
	assert_string_equal(state->err, "kettle: It is active: use `--private` if so.\n");
	assert_int_equal(RUN(state, "leaderboard", "export", "vectoradd", "-o", "/nowhere/x"), 2);
	HAS(state->err, "`/nowhere/x` cannot be written");
	cli_host_answer(&state->host, "leaderboard.export", page(1, 0, 0));
	assert_int_equal(RUN(state, "leaderboard", "export", "vectoradd", "-o", "/dev/null"), 0);
	assert_int_equal(access("/dev/null", W_OK), 0);
}

/* Names that the core knows: what a shell could misread is left out, and so is an error. */
static void
test_complete(void **arg)
{
	struct cli_state *state = *arg;
	assert_int_equal(RUN(state, "__complete", "leaderboard", "s"), 0);
	assert_string_equal(state->out, "show\tshow a leaderboard and its rankings\n");
	cli_host_answer(&state->host, "complete",
		json_pack("[{s:s, s:s}, {s:s}, {s:s}, {s:s}]", "value", "matmul", "about", "CPU\n\tH100", "value", "$(reboot)",
			"value", "--yes", "value", "a b"));
	assert_int_equal(RUN(state, "__complete", "leaderboard", "show", "m"), 0);
	assert_string_equal(state->out, "matmul\tCPU  H100\n");
	cli_host_refuse(&state->host, "complete", KETTLE_EIO, "The database is damaged.");
	assert_int_equal(RUN(state, "__complete", "submission", "show", ""), 0);
	assert_string_equal(state->out, "");
	assert_string_equal(state->err, "");
}

/* ---- comparisons ---- */

static void
test_diff(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "submission.diff",
		json_pack(
			"{s:{s:i, s:s}, s:{s:i, s:s}, s:s, s:b, s:b, s:[{s:s, s:s, s:{s:f}, s:{s:f}, s:f, s:n, s:[{s:s, s:{s:f, "
			"s:f, s:f}, s:{s:f}, s:f, s:b}, {s:s, s:n, s:{s:f}, s:n, s:n}]}]}",
			"a", "id", 12, "file_name", "a.py", "b", "id", 15, "file_name", "b.py", "diff",
			"--- 12/a.py\n+++ 15/b.py\n@@ -1 +1 @@\n-a\n+b\n", "truncated", 0, "cases_shown", 1, "devices", "device",
			"CPU", "run", "ranked", "a", "score", 2e-6, "b", "score", 1e-6, "percent", -50.0, "significant", "cases",
			"spec", "n: 1", "a", "mean", 2e-6, "low", 1.9e-6, "high", 2.1e-6, "b", "mean", 1e-6, "percent", -50.0,
			"significant", 1, "spec", "n: 2", "a", "b", "mean", 3e-3, "percent", "significant"));
	assert_int_equal(RUN(state, "submission", "diff", "12", "15"), 0);
	HAS(state->out, "\n--- 12/a.py\n+++ 15/b.py\n@@ -1 +1 @@\n-a\n+b\n\nCPU  ranked\n");
	HAS(state->out, "  n: 1   2.000 ± 0.100 µs  1.000 µs  50.0 % less time, significant\n");
	HAS(state->out, "  n: 2                  –  3.000 ms\n");
	HAS(state->out, "  score          2.000 µs  1.000 µs  50.0 % less time\n");
}

/* Several tests that fail alike say why once. */
static void
test_alike(void **arg)
{
	struct cli_state *state = *arg;
	static const char trace[] =
		"Traceback (most recent call last):\n  File \"/job/submission.py\", line 3, in f\nE: no\n";
	AUTO_FREE char *errors = xasprintf("%s%s%s", trace, trace, trace);
	json_t *result = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "test-count", "3", "test.0.spec",
		"n: 1", "test.0.status", "fail", "test.0.error", "E: no", "test.1.spec", "n: 2", "test.1.status", "fail",
		"test.1.error", "E: other", "test.2.spec", "n: 3", "test.2.status", "fail", "test.2.error", "E: no");
	cli_host_answer(&state->host, "submission.show",
		json_pack("{s:i, s:[{s:s, s:s, s:[{s:s, s:b, s:s, s:o, s:s}]}]}", "id", 7, "jobs", "device", "CPU", "state",
			"failed", "runs", "mode", "test", "passed", 0, "state", "failed", "result", result, "stderr", errors));
	assert_int_equal(RUN(state, "submission", "show", "7"), 0);
	HAS(state->out, "✗ n: 1\n        E: no\n");
	HAS(state->out, "✗ n: 2\n        E: other\n");
	HAS(state->out, "✗ n: 3\n        as test 1\n");
	HAS(state->out, "      E: no\n      (2 more tracebacks, as above)\n");
}

/* While a leaderboard is tried a terminal shows which one. */
static void
test_trying(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "task.read", json_pack("{s:s}", "yml", "lang: cpp"));
	json_array_append_new(
		state->host.events, json_pack("{s:s, s:s, s:{s:s, s:s, s:i, s:i}}", "kind", "progress", "device", "CPU",
								"event", "event", "trying", "name", "conv", "index", 2, "count", 7));
	cli_host_answer(&state->host, "leaderboard.create",
		json_pack("{s:s, s:[s], s:n}", "name", "conv", "gpu_types", "CPU", "deadline"));
	const char *const argv[] = {"leaderboard", "create", "conv", "--task=some/where", NULL};
	assert_int_equal(cli_host_run_terminal(&state->host, 80, "", argv, &state->out), 0);
	HAS(state->out, "CPU: trying conv (2 of 7)");
}

/* A task whose language is open is asked about before it is run. */
static void
test_language(void **arg)
{
	struct cli_state *state = *arg;
	cli_host_answer(&state->host, "task.read", json_pack("{s:[s, s]}", "languages", "cpp", "hip"));
	cli_host_refuse(&state->host, "task.check", KETTLE_EINVAL, "There is no file.");
	const char *const argv[] = {"task", "check", "relu.cpp", NULL};
	assert_int_equal(cli_host_run_terminal(&state->host, 80, "cu\n2\n", argv, &state->out), 2);
	HAS(state->out, "`relu.cpp` fits several languages:\n  1  cpp\n  2  hip\n");
	HAS(state->out, "`cu` is none of them.\n");
	AUTO_JSON json_t *calls = json_pack("[{s:s, s:{s:s, s:b}}, {s:s, s:{s:[s], s:s}}]", "command", "task.read", "args",
		"path", "relu.cpp", "choose", 1, "command", "task.check", "args", "path", "relu.cpp", "lang", "hip");
	assert_true(json_equal(state->host.calls, calls));
}

/* On a terminal the user sees whose login it is, and types the name that it gets. */
static void
test_login_confirmed(void **arg)
{
	struct cli_state *state = *arg;
	const char *const argv[] = {"login", "confirm", "AAAAA-BBBBB", NULL};
	static const char login[] =
		"{\"name\":\"kettle of ada\",\"begun\":\"2026-07-01T10:00:00Z\",\"user_name\":\"ada\",\"confirmed\":false}";
	static const struct {
		const char *typed;
		int status;
		size_t calls; /* so far; the last one of a login that is confirmed does so */
	} runs[] = {{"bob\n", 2, 1}, {"ada\n", 0, 3}};
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		cli_host_answer(&state->host, "login.confirm", json_loads(login, 0, NULL));
		if (runs[i].status == 0)
			cli_host_answer(&state->host, "login.confirm", json_loads(login, 0, NULL));
		assert_int_equal(cli_host_run_terminal(&state->host, 80, runs[i].typed, argv, &state->out), runs[i].status);
		HAS(state->out, "it began 2026-07-01 10:00 UTC.");
		free(STEAL(state->out));
		size_t calls = json_array_size(state->host.calls);
		assert_int_equal(calls, runs[i].calls);
		const json_t *args = json_object_get(json_array_get(state->host.calls, calls - 1), "args");
		assert_int_equal(json_is_true(json_object_get(args, "confirm")), runs[i].status == 0);
	}
	/* Without a terminal it only shows it. */
	cli_host_answer(&state->host, "login.confirm", json_loads(login, 0, NULL));
	assert_int_equal(RUN(state, "login", "confirm", "AAAAA-BBBBB"), 0);
	assert_int_equal(json_array_size(state->host.calls), 4);
}

static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, cli_state_setup_core, cli_state_teardown)
	TEST(test_update),
	TEST(test_task),
	TEST(test_task_folder),
	TEST(test_save_stays_inside),
	TEST(test_template),
	TEST(test_harness_show),
	TEST(test_limits),
	TEST(test_invites),
	TEST(test_code),
	TEST(test_export),
	TEST(test_complete),
	TEST(test_diff),
	TEST(test_alike),
	TEST(test_trying),
	TEST(test_language),
	TEST(test_login_confirmed),
};

UNIT_TESTS(test_cli_board);
