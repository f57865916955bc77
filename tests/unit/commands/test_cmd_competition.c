/* SPDX-License-Identifier: MIT */
/* Competition files and what a sync makes of them: every form of a deadline, every fault with its sentence, nothing
 * half done. */
#include <config.h>

#include "task/competition.h"

#include "unit/command_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_access.h"
#include "lib/languages.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

/* ---- the file ---- */

static void
expect_file(const char *yaml, const char *sentence)
{
	char *scratch = scratch_make();
	AUTO_FREE char *path = scratch_write(scratch, "set.yaml", yaml);
	AUTO_JSON json_t *sets = NULL;
	struct kettle_error err = {0};
	if (competition_read_all(languages, path, NULL, &sets, &err) == 0)
		fail_msg("no error, but wanted: %s", sentence);
	AUTO_FREE char *whole = path_join(scratch, sentence);
	assert_string_equal(err.message, whole);
	scratch_remove(scratch);
}

static void
test_bad_files(void **state)
{
	(void)state;
	expect_file("name: x\nproblms: []\n", "set.yaml:2:1: unknown key `problms`; did you mean `problems`?");
	expect_file("name: x\nproblems:\n  - {directry: a, name: a}\n",
		"set.yaml:3:6: unknown key `directry` in `problems[0]`; did you mean `directory`?");
	expect_file("problems: []\n", "set.yaml:1:1: the top level lacks the key `name`.");
	expect_file("name: x\nproblems:\n  - {directory: a, name: a}\n  - {directory: b, name: A}\n",
		"set.yaml:4:26: two problems are called `A`; each needs a name of its own.");
	expect_file("name: x\nproblems:\n  - directory: a\n    name: a\n    deadline: 2026-02-30\n",
		"set.yaml:5:15: The time \"2026-02-30\" names a day that does not exist.");
	expect_file("name: x\ndeadline: +30d\nproblems: []\n",
		"set.yaml:2:11: The deadline \"+30d\" would change with every "
		"sync: write a date (2026-07-31), with a time in UTC "
		"if "
		"need be (2026-07-31 18:00).");
	expect_file("files: []\nlang: py\nproblems: []\n",
		"set.yaml: this is a task, not a competition; its file must be called task.yml.");
	expect_file("name: [\n", "set.yaml:2:1: this is not YAML: while parsing a flow node, did not find expected node "
							 "content.");
}

static void
test_deadlines(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t ms;
	} all[] = {{"", 0}, {" ", 0}, {NULL, 0}, {"1970-01-02", 2 * 86400000LL - 1}, {"1970-01-02 9:05", 119100000},
		{"1970-01-02 09:05", 119100000}};
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		int64_t ms = -1;
		assert_int_equal(competition_deadline(all[i].text, &ms, NULL), 0);
		assert_int_equal(ms, all[i].ms);
	}
}

static json_t *
read_fixture(const char *path, const char *set)
{
	AUTO_FREE char *whole = path_join(getenv("top_srcdir"), path);
	json_t *sets = NULL;
	struct kettle_error err = {0};
	if (competition_read_all(languages, whole, set, &sets, &err))
		fail_msg("%s", err.message);
	return sets;
}

/* The competition of the fixtures, by its file and by its folder. */
static void
test_fixture(void **state)
{
	(void)state;
	AUTO_JSON json_t *by_file = read_fixture("tests/fixtures/tasks/winter.yaml", NULL);
	AUTO_JSON json_t *by_folder = read_fixture("tests/fixtures/tasks", "Winter of Kernels");
	AUTO_JSON json_t *by_name = read_fixture("tests/fixtures/tasks", "winter");
	assert_true(json_equal(by_file, by_folder) && json_equal(by_file, by_name));
	const json_t *set = json_array_get(by_file, 0), *problems = json_object_get(set, "problems");
	assert_string_equal(commands_text(set, "name"), "Winter of Kernels");
	assert_string_equal(commands_text(set, "deadline"), "2026-12-31 9:05");
	static const struct {
		const char *name, *deadline, *task;
		size_t gpus;
	} all[] = {{"sort_v2", "2026-12-24", "sort_py", 2}, {"grayscale", "2026-12-31 9:05", "grayscale_cu", 0},
		{"conv", "2026-12-31 18:00", "conv_py", 1}, {"allreduce", "2026-12-31 9:05", "allreduce_py", 0}};
	assert_int_equal(json_array_size(problems), ARRAY_SIZE(all) + 1);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		const json_t *problem = json_array_get(problems, i);
		assert_string_equal(commands_text(problem, "name"), all[i].name);
		assert_string_equal(commands_text(problem, "deadline"), all[i].deadline);
		assert_string_equal(commands_text(problem, "bundle.name"), all[i].task);
		assert_int_equal(json_array_size(json_object_get(problem, "gpus")), all[i].gpus);
	}
	const json_t *missing = json_array_get(problems, ARRAY_SIZE(all));
	const char *error = strstr(commands_text(missing, "error"), "/winter.yaml");
	assert_string_equal(error, "/winter.yaml:23:16: there is no folder `set/nowhere`.");
	AUTO_JSON json_t *none = NULL;
	struct kettle_error err = {0};
	AUTO_FREE char *folder = path_join(getenv("top_srcdir"), "tests/fixtures/tasks");
	assert_int_equal(competition_read_all(languages, folder, "wintr", &none, &err), KETTLE_ENOENT);
	assert_string_equal(err.message, "There is no set `wintr` there.");
	AUTO_FREE char *task = path_join(folder, "set/sort_py");
	assert_int_equal(competition_read_all(languages, task, NULL, &none, &err), KETTLE_EINVAL);
	assert_says(&err, "contains no competition file");
}

static void
write_set(const char *folder, const char *file, const char *yaml)
{
	free(scratch_write(folder, file, yaml));
}

/* A file that is wrong hides no other; the only one, or the one that was named, is an error. */
static void
test_bad_among(void **state)
{
	(void)state;
	static const char *const wrong[][3] = {{"twice.yaml", "name: a\nname: b\nproblems: []\n", "twice.yaml:2:1: "},
		{"late.yaml", "name: Late\ndeadline: 2025-00-02\nproblems: []\n", "late.yaml:2:11: "},
		{"nameless.yaml", "problems: []\n", "nameless.yaml:1:1: "}};
	char *scratch = scratch_make();
	AUTO_JSON json_t *sets = NULL, *one = NULL, *none = NULL;
	struct kettle_error err = {0};
	write_set(scratch, "good.yaml", "name: Good\nproblems: []\n");
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		write_set(scratch, wrong[i][0], wrong[i][1]);
	assert_int_equal(competition_read_all(languages, scratch, NULL, &sets, &err), 0);
	assert_int_equal(json_array_size(sets), 4);
	assert_string_equal(commands_text(sets, "1.name"), "Late");
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		bool found = false;
		for (size_t j = 0; j < json_array_size(sets); j++)
			found = found || strstr(json_text_or_empty(json_array_get(sets, j), "error"), wrong[i][2]);
		if (!found)
			fail_msg("no %s", wrong[i][2]);
	}
	assert_int_equal(competition_read_all(languages, scratch, "good", &one, &err), 0);
	assert_int_equal(json_array_size(one), 1);
	assert_int_equal(competition_read_all(languages, scratch, "twice", &none, &err), KETTLE_EINVAL);
	assert_says(&err, "twice.yaml:2:1: ");
	assert_int_equal(competition_read_all(languages, scratch, "nothing like it", &none, &err), KETTLE_ENOENT);
	assert_says(&err, ".yaml:");
	scratch_remove(scratch);
}

/* What is read of an archive with that file; *ret_err: why not. New reference. */
static json_t *
read_zip(const char *file, struct kettle_error *ret_err)
{
	char *scratch = scratch_make();
	AUTO_JSON json_t *files =
		json_pack("{s:{s:s}, s:{s:s}}", file, "text", "name: Set\nproblems: []\n", "whole/x", "text", "");
	AUTO_FREE char *data = NULL, *path = path_join(scratch, "x.zip");
	size_t size = 0;
	json_t *sets = NULL;
	assert_int_equal(task_archive_write("", files, &data, &size, NULL), 0);
	assert_int_equal(file_write(path, data, size, 0600, NULL), 0);
	(void)competition_read_all(languages, path, NULL, &sets, ret_err);
	scratch_remove(scratch);
	return sets;
}

/* A folder, a zip and the archive of a repository have their files at the top or in `problems`; a sentence names another folder. */
static void
test_places(void **state)
{
	(void)state;
	static const char *const places[] = {"whole/set.yaml", "whole/problems/set.yaml"};
	struct kettle_error err = {0};
	char *scratch = scratch_make();
	AUTO_FREE char *problems = path_join(scratch, "problems"), *other = path_join(scratch, "sets");
	AUTO_JSON json_t *sets = NULL, *none = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		AUTO_JSON json_t *zipped = read_zip(places[i], &err);
		assert_string_equal(commands_text(zipped, "0.name"), "Set");
	}
	AUTO_JSON json_t *top = read_zip("problems/set.yaml", &err), *elsewhere = read_zip("whole/sets/x.yaml", &err);
	assert_string_equal(commands_text(top, "0.file"), "set.yaml");
	assert_null(elsewhere);
	assert_sentence(err.message);
	assert_int_equal(file_mkdirs(other, 0755, NULL), 0);
	write_set(other, "set.yaml", "name: Set\nproblems: []\n");
	assert_int_equal(competition_read_all(languages, scratch, NULL, &none, &err), KETTLE_EINVAL);
	assert_says(&err, "; its folder `sets` does.");
	/* The folder above `problems` would do as well. */
	AUTO_FREE char *inner = path_join(other, "problems"), *set = path_join(other, "set.yaml");
	assert_true(file_mkdirs(inner, 0755, NULL) == 0 && unlink(set) == 0);
	write_set(inner, "set.yaml", "name: Set\nproblems: []\n");
	assert_int_equal(competition_read_all(languages, scratch, NULL, &none, &err), KETTLE_EINVAL);
	assert_says(&err, "; its folder `sets` does.");
	assert_int_equal(file_mkdirs(problems, 0755, NULL), 0);
	write_set(problems, "set.yaml", "name: Set\nproblems: []\n");
	assert_int_equal(competition_read_all(languages, scratch, NULL, &sets, &err), 0);
	assert_int_equal(json_array_size(sets), 1);
	scratch_remove(scratch);
}

/* Links out of the competition: what they lead to would become public. */
static void
test_links(void **state)
{
	(void)state;
	char *scratch = scratch_make();
	AUTO_FREE char *set = path_join(scratch, "set"), *elsewhere = path_join(scratch, "elsewhere");
	AUTO_FREE char *folder = path_join(set, "folder"), *file = path_join(set, "file.py");
	assert_int_equal(file_mkdirs(set, 0755, NULL) || file_mkdirs(elsewhere, 0755, NULL), 0);
	free(scratch_write(elsewhere, "task.yml", "secret"));
	AUTO_FREE char *secret = scratch_write(elsewhere, "secret.py", "secret");
	assert_int_equal(symlink(elsewhere, folder) || symlink(secret, file), 0);
	AUTO_FREE char *path = scratch_write(set, "set.yaml",
		"name: x\nproblems:\n  - {directory: folder, name: a}\n  - {directory: file.py, name: b}\n"
		"  - {directory: ../elsewhere, name: c}\n");
	static const char *const sentences[] = {
		"the folder `folder` is a link that leads elsewhere; name the folder itself, with ../ if necessary.",
		"there is no folder `file.py`.",
		"elsewhere/task.yml:1:1: the top level must be a map, not the string \"secret\"."};
	AUTO_JSON json_t *sets = NULL;
	assert_int_equal(competition_read_all(languages, path, NULL, &sets, NULL), 0);
	const json_t *problems = json_object_get(json_array_get(sets, 0), "problems");
	for (size_t i = 0; i < ARRAY_SIZE(sentences); i++) {
		const char *error = commands_text(json_array_get(problems, i), "error");
		if (!strstr(error, sentences[i]))
			fail_msg("%s", error);
	}
	scratch_remove(scratch);
}

/* ---- the sync ---- */

static json_t *
problem(const char *name, const char *deadline, json_t *gpus_take, const char *more_yml)
{
	return json_pack("{s:s, s:s, s:s?, s:o?, s:o, s:n}", "name", name, "directory", name, "deadline", deadline, "gpus",
		gpus_take, "bundle", commands_task(more_yml), "error");
}

static json_t *
sets(json_t *problems_take)
{
	return json_pack("{s:[{s:s, s:s, s:o}]}", "sets", "name", "Winter", "file", "w.yaml", "problems", problems_take);
}

/* Runs a sync as "owner" and compares the lists: "created/updated/unchanged/skipped/errors/absent" by their sizes. */
static const json_t *
sync_is(struct commands_fixture *c, json_t *problems_take, const char *option, const char *sizes)
{
	static const char *const lists[] = {"created", "updated", "unchanged", "skipped", "errors", "absent"};
	AUTO_JSON json_t *args = json_pack("{s:o}", "problems", sets(problems_take));
	char found[7] = "";
	if (option)
		json_object_set_new(args, option, json_true());
	const json_t *result = commands_must(c, "owner", "competition.sync", json_incref(args));
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		found[i] = (char)('0' + json_array_size(json_object_get(result, lists[i])));
	assert_string_equal(found, sizes);
	return result;
}

static void
test_sync(void **state)
{
	(void)state;
	struct commands_fixture c;
	commands_open(&c);
	sync_is(&c,
		json_pack("[o, o]", problem("a", "2030-01-01", json_pack("[s]", "cpu"), NULL),
			problem("b", NULL, json_pack("[s]", "H100"), NULL)),
		"dry_run", "200000");
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM leaderboards"), 0);
	sync_is(&c,
		json_pack("[o, o]", problem("a", "2030-01-01", json_pack("[s]", "cpu"), NULL),
			problem("b", NULL, json_pack("[s]", "H100"), NULL)),
		NULL, "200000");
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM leaderboards WHERE problem_set = 'Winter'"), 2);
	assert_int_equal(fixture_events(&c.f, "leaderboard.created"), 2);
	sync_is(&c,
		json_pack("[o, o]", problem("A", "2030-01-01", json_pack("[s]", "CPU"), NULL), problem("b", NULL, NULL, NULL)),
		NULL, "002000");
	/* Deadline and devices change; no score is touched. */
	const json_t *result = sync_is(&c,
		json_pack("[o]", problem("a", "2031-01-01 9:00", json_pack("[s, s]", "H100", "CPU"), NULL)), NULL, "010001");
	assert_string_equal(commands_text(result, "plan.0.changes.0"), "deadline");
	assert_string_equal(commands_text(result, "plan.0.changes.1"), "devices");
	assert_string_equal(commands_text(result, "absent.0"), "b");
	assert_int_equal(fixture_events(&c.f, "leaderboard.updated"), 1);
	commands_close(&c);
}

/* Syncs a board of the set with a description (NULL: without one), and fails unless so many descriptions change. */
static void
describe(
	struct commands_fixture *c, const char *who, const char *board, const char *description, bool dry, size_t changes)
{
	AUTO_JSON json_t *args = json_pack("{s:o, s:b}", "problems",
		sets(json_pack("[o]", problem(board, NULL, json_pack("[s]", "CPU"), NULL))), "dry_run", (int)dry);
	if (description)
		json_object_set_new(json_array_get(json_object_get(json_object_get(args, "problems"), "sets"), 0),
			"description", json_string(description));
	commands_must(c, who, "competition.sync", json_incref(args));
	assert_int_equal(json_array_size(json_object_get(c->result, "described")), changes);
}

static void
assert_described(struct commands_fixture *c, const char *who, const char *description)
{
	const json_t *shown = commands_must(c, who, "competition.show", json_pack("{s:s}", "name", "WINTER"));
	assert_string_equal(commands_text(shown, "description"), description);
}

/* A competition's own description is that of its file, and of no one else's. */
static void
test_description(void **state)
{
	(void)state;
	struct commands_fixture c;
	commands_open(&c);
	describe(&c, "owner", "a", "Cold\x1b[31m work.\nTwo lines.", true, 1);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM competitions"), 0);
	describe(&c, "owner", "a", "Cold work.\nTwo lines.", false, 1);
	assert_described(&c, "stranger", "Cold work.\nTwo lines.");
	describe(&c, "owner", "a", "Cold work.\nTwo lines.", false, 0);
	describe(&c, "owner", "a", NULL, false, 0);
	describe(&c, "carol:creator", "b", "Mine.", false, 0);
	assert_described(&c, "carol", "Cold work.\nTwo lines.");
	describe(&c, "root:admin", "c", "An admin's\x1b[31m.", false, 1);
	assert_described(&c, "stranger", "An admin's\xef\xbf\xbd[31m.");
	/* Who sees none of its leaderboards sees nothing of it. */
	fixture_sql(&c.f, "UPDATE boards SET visibility = 'closed'");
	assert_int_equal(
		commands_run(&c, "stranger", "competition.show", json_pack("{s:s}", "name", "winter")), KETTLE_ENOENT);
	/* Once no leaderboard of the set is its owner's, another may. */
	fixture_sql(&c.f, "UPDATE boards SET creator = (SELECT id FROM users WHERE name = 'carol') WHERE name = 'c'");
	describe(&c, "carol:creator", "b", "Carol's.", false, 1);
	assert_described(&c, "carol", "Carol's.");
	commands_close(&c);
}

/* A creator without a leaderboard of the competition describes it neither before its owner does nor after an admin has. */
static void
test_description_of_others(void **state)
{
	(void)state;
	struct commands_fixture c;
	commands_open(&c);
	sync_is(&c, json_pack("[o]", problem("a", NULL, json_pack("[s]", "CPU"), NULL)), NULL, "100000");
	AUTO_JSON json_t *args = json_pack(
		"{s:{s:[{s:s, s:s, s:[]}]}}", "problems", "sets", "name", "winTER", "description", "Taken.", "problems");
	for (size_t i = 0; i < 4; i++) {
		commands_must(&c, "carol:creator", "competition.sync", json_incref(args));
		assert_int_equal(json_array_size(commands_at(c.result, "described")), 0);
		assert_string_equal(commands_text(c.result, "skipped.0.name"), "winTER");
		assert_described(&c, "stranger", i < 2 ? "" : "An admin's.");
		json_object_set_new(args, "dry_run", json_boolean(i % 2 == 0));
		if (i == 1)
			describe(&c, "root:admin", "a", "An admin's.", false, 1);
	}
	describe(&c, "owner", "a", "The owner's.", false, 1);
	/* A new competition of this name begins without it. */
	fixture_sql(&c.f, "UPDATE boards SET hidden_at = 1");
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM competitions"), 0);
	commands_close(&c);
}

/* A task that runs differently waits for force; the others are done all the same. */
static void
test_sync_task(void **state)
{
	(void)state;
	struct commands_fixture c;
	commands_open(&c);
	sync_is(&c, json_pack("[o]", problem("a", NULL, json_pack("[s]", "CPU"), NULL)), NULL, "100000");
	const json_t *result = sync_is(&c,
		json_pack("[o, o]", problem("a", NULL, NULL, "ranked_timeout: 9\n"),
			problem("b", NULL, json_pack("[s]", "CPU"), NULL)),
		NULL, "100100");
	assert_string_equal(commands_text(result, "skipped.0.name"), "a");
	assert_string_equal(commands_text(result, "skipped.0.reason"),
		"its task runs differently now (ranked_timeout); use `force` to confirm");
	assert_string_equal(commands_text(result, "skipped.0.member"), "force");
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM tasks"), 1);
	result = sync_is(&c, json_pack("[o]", problem("a", NULL, NULL, "ranked_timeout: 9\n")), "force", "010001");
	assert_string_equal(commands_text(result, "plan.0.scores"), "left");
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM tasks"), 2);
	commands_close(&c);
}

/* A new board whose deadline has passed waits for force. */
static void
test_sync_past(void **state)
{
	(void)state;
	struct commands_fixture c;
	commands_open(&c);
	const json_t *result =
		sync_is(&c, json_pack("[o]", problem("a", "2001-01-01", json_pack("[s]", "CPU"), NULL)), NULL, "000100");
	assert_string_equal(commands_text(result, "skipped.0.member"), "force");
	sync_is(&c, json_pack("[o]", problem("a", "2001-01-01", json_pack("[s]", "CPU"), NULL)), "force", "100000");
	commands_close(&c);
}

/* The set of a file that is wrong is reported; the others are applied. */
static void
test_sync_bad_file(void **state)
{
	(void)state;
	struct commands_fixture c;
	commands_open(&c);
	AUTO_JSON json_t *whole = sets(json_pack("[o]", problem("a", NULL, json_pack("[s]", "CPU"), NULL)));
	(void)json_array_insert_new(json_object_get(whole, "sets"), 0,
		json_pack("{s:s, s:[], s:s}", "name", "late.yaml", "problems", "error", "late.yaml:2:11: no such day."));
	const json_t *result = commands_must(&c, "owner", "competition.sync", json_pack("{s:O}", "problems", whole));
	assert_string_equal(commands_text(result, "created.0"), "a");
	assert_string_equal(commands_text(result, "errors.0.name"), "late.yaml");
	assert_string_equal(commands_text(result, "errors.0.error"), "late.yaml:2:11: no such day.");
	commands_close(&c);
}

static void
test_sync_others(void **state)
{
	(void)state;
	struct commands_fixture c;
	commands_open(&c);
	commands_board(&c, "mine", NULL);
	const json_t *result = sync_is(&c, json_pack("[o]", problem("mine", NULL, NULL, NULL)), NULL, "000100");
	assert_string_equal(commands_text(result, "skipped.0.reason"),
		"there is already a leaderboard `mine` that no set created; use `force` to take it over");
	sync_is(&c, json_pack("[o]", problem("mine", NULL, NULL, NULL)), "force", "010000");
	sync_is(&c, json_pack("[o]", problem("mine", NULL, NULL, NULL)), NULL, "001000");
	/* Those that a sync creates are closed where it says so. */
	AUTO_JSON json_t *closed = json_pack("{s:o, s:s}", "problems",
		sets(json_pack("[o]", problem("secret", NULL, json_pack("[s]", "CPU"), NULL))), "visibility", "closed");
	(void)commands_must(&c, "owner", "competition.sync", json_incref(closed));
	assert_string_equal(
		commands_text(commands_must(&c, "owner", "leaderboard.show", json_pack("{s:s}", "name", "secret")),
			"leaderboard.visibility"),
		"closed");
	/* Another user's board is refused. */
	AUTO_JSON json_t *theirs =
		json_pack("{s:o, s:b}", "problems", sets(json_pack("[o]", problem("mine", NULL, NULL, NULL))), "force", 1);
	result = commands_must(&c, "eve:creator", "competition.sync", json_incref(theirs));
	assert_string_equal(commands_text(result, "errors.0.error"),
		"The leaderboard `mine` belongs to another user; only its creator and admins may do this.");
	commands_refused(&c, "bob", "competition.sync", json_incref(theirs), KETTLE_EACCES);
	commands_close(&c);
}

static void
test_sync_faults(void **state)
{
	(void)state;
	struct commands_fixture c;
	commands_open(&c);
	const json_t *result = sync_is(&c,
		json_pack("[o, o, o, o, o, {s:s, s:s}, {s:s}]", problem("good", NULL, json_pack("[s]", "CPU"), NULL),
			problem("good", NULL, NULL, NULL), problem("tasks", NULL, json_pack("[s]", "CPU"), NULL),
			problem("far", NULL, json_pack("[s]", "H10"), NULL), problem("yml", NULL, NULL, "testz: 1\n"), "name",
			"unread", "error", "set.yaml:9: there is no folder `x`.", "name", "unsent"),
		NULL, "100060");
	static const char *const sentences[] = {"Two problems have this name; the first one is used.",
		"`tasks` cannot be the name of a leaderboard: the word is reserved for URLs.",
		"The configuration has no device `H10`; it has CPU and H100; did you mean `H100`?",
		"tiny/task.yml:12:1: unknown key `testz`; did you mean `tests`?", "set.yaml:9: there is no folder `x`.",
		"Its task was not sent."};
	for (size_t i = 0; i < ARRAY_SIZE(sentences); i++)
		assert_string_equal(
			json_string_value(json_object_get(json_array_get(json_object_get(result, "errors"), i), "error")),
			sentences[i]);
	commands_refused(&c, "owner", "competition.sync", json_pack("{s:{s:i}}", "problems", "sets", 1), KETTLE_EINVAL);
	commands_refused(&c, "owner", "competition.sync", json_pack("{s:s}", "problems", "x"), KETTLE_EINVAL);
	/* The name of a new set: of one script, without what shows nothing. */
	static const char *const names[] = {"W\xd1\x96nter",
		"Win\xe2\x80\x8b"
		"ter",
		"Winter ", " "};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		commands_refused(&c, "owner", "competition.sync",
			json_pack("{s:{s:[{s:s, s:[]}]}}", "problems", "sets", "name", names[i], "problems"), KETTLE_EINVAL);
	/* One that is there goes on. */
	fixture_sql(&c.f, "UPDATE boards SET problem_set = 'W' || char(1110) || 'nter'");
	commands_must(&c, "owner", "competition.sync",
		json_pack("{s:{s:[{s:s, s:[]}]}}", "problems", "sets", "name", names[0], "problems"));
	commands_close(&c);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_bad_files),
	cmocka_unit_test(test_deadlines),
	cmocka_unit_test(test_fixture),
	cmocka_unit_test(test_bad_among),
	cmocka_unit_test(test_places),
	cmocka_unit_test(test_links),
	cmocka_unit_test(test_sync),
	cmocka_unit_test(test_description),
	cmocka_unit_test(test_description_of_others),
	cmocka_unit_test(test_sync_task),
	cmocka_unit_test(test_sync_past),
	cmocka_unit_test(test_sync_bad_file),
	cmocka_unit_test(test_sync_others),
	cmocka_unit_test(test_sync_faults),
};

UNIT_TESTS(test_cmd_competition, .setup = languages_setup, .teardown = languages_teardown);
