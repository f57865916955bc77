/* SPDX-License-Identifier: MIT */
/* The bot's commands: what the engine is asked, and what the user reads. */
#include <config.h>

#include "unit/discord/bot_fixture.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/contents.h"
#include "base/json_access.h"
#include "base/times.h"
#include "base/xalloc.h"
#include "commands/handlers.h"
#include "discord/commands/options.h"
#include "discord/commands/registration.h"
#include "discord/text/escape.h"
#include "discord/text/split.h"
#include "lib/unit_test.h"

#define HOSTILE "@everyone `x` <@1> [a](b)"
#define HOSTILE_ESCAPED "\\@everyone \\`x\\` \\<\\@1\\> \\[a\\]\\(b\\)"
#define HOSTILE_SENTENCE "\\@everyone `x` \\<\\@1\\> \\[a\\]\\(b\\)"

/* ---- the table ---- */

#define DISCORD_OPTIONS 25
#define DISCORD_TEXT 100
#define DISCORD_NAME 32
#define DISCORD_COMMAND_BYTES 8000 /* names, descriptions and values of one command together */

static void
assert_name(const char *name)
{
	assert_in_range(strlen(name), 1, DISCORD_NAME);
	assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-"), strlen(name));
}

static size_t
assert_options(const json_t *options)
{
	AUTO_JSON json_t *names = json_object();
	bool optional = false;
	size_t i, j, bytes = 0;
	const json_t *option, *choice;
	assert_in_range(json_array_size(options), 0, DISCORD_OPTIONS);
	json_array_foreach(options, i, option) {
		const char *name = json_text_or_empty(option, "name"), *help = json_text_or_empty(option, "description");
		assert_name(name);
		assert_in_range(strlen(help), 1, DISCORD_TEXT);
		assert_null(json_object_get(names, name));
		(void)json_object_set_new(names, name, json_true());
		bytes += strlen(name) + strlen(help);
		assert_false(optional && member_true(option, "required"));
		optional = member_int(option, "type") > 2 && !member_true(option, "required");
		assert_in_range(json_array_size(json_object_get(option, "choices")), 0, DISCORD_OPTIONS);
		assert_false(json_object_get(option, "choices") && member_true(option, "autocomplete"));
		json_array_foreach(json_object_get(option, "choices"), j, choice)
			bytes += strlen(json_text_or_empty(choice, "name")) + strlen(json_text_or_empty(choice, "value"));
		bytes += assert_options(json_object_get(option, "options"));
	}
	return bytes;
}

/* Every word of the row is an argument of the core's command. */
static void
assert_args(const struct bot_command *row)
{
	const struct command *command = row->of ? command_find(commands, row->of) : NULL;
	AUTO_FREE char *words = xstrdup(row->args ? row->args : "");
	char *rest = words, *word;
	assert_true(command || row->run);
	assert_true(command || (!row->args && !row->with));
	while (row->args && (word = strsep(&rest, " "))) {
		const struct argument *argument = command->arguments;
		word += *word == '-';
		word[strcspn(word, "=?!")] = '\0';
		while (argument->name && strcmp(argument->name, word) != 0)
			argument++;
		if (strcmp(word, "*") != 0 && !argument->name)
			fail_msg("%s has no argument %s", row->of, word);
	}
}

/* What Discord's description of itself does not say, its servers refuse. */
static void
test_table(void **state)
{
	(void)state;
	AUTO_JSON json_t *core = command_data(commands);
	AUTO_JSON json_t *registered = registration_commands(discord_commands, core);
	size_t i;
	const json_t *command;
	json_array_foreach(registered, i, command) {
		assert_name(json_text_or_empty(command, "name"));
		assert_in_range(strlen(json_text_or_empty(command, "description")), 1, DISCORD_TEXT);
		assert_in_range(assert_options(json_object_get(command, "options")), 0, DISCORD_COMMAND_BYTES);
		bool shown = member_is(command, "name", "leaderboard") || member_is(command, "name", "ping");
		assert_int_equal(json_is_integer(json_object_get(command, "default_member_permissions")), !shown);
	}
	for (const struct bot_command *row = discord_commands; row->path; row++)
		assert_args(row);
	for (const struct verb *verb = discord_verbs; verb->name; verb++)
		assert_non_null(verb->run);
}

/* What the core's command takes is an option, with the core's text and choices. */
static void
test_options(void **state)
{
	(void)state;
	const struct bot_command *row = discord_commands;
	while (strcmp(row->path, "admin update") != 0)
		row++;
	AUTO_JSON json_t *core = command_data(commands), *options = options_of(row, core);
	size_t i, j, choices = 0;
	const json_t *option, *choice;
	for (const struct argument *argument = command_find(commands, row->of)->arguments; argument->name; argument++) {
		/* A task, which it cannot take, and what goes with it. */
		bool of_task = argument->type == ARGUMENT_TASK || strcmp(argument->name, "harness") == 0;
		bool found = false, wanted = !of_task && !argument->repeated && strcmp(argument->name, "force") != 0 &&
									 strcmp(argument->name, "no_try") != 0;
		json_array_foreach(options, i, option) {
			if (!member_is(json_object_get(option, "argument"), "name", argument->name))
				continue;
			found = true;
			json_array_foreach(json_object_get(option, "choices"), j, choice)
				assert_true(member_is(choice, "value", argument->choices[choices = j]));
			assert_true(!argument->choices || !argument->choices[choices + 1]);
			const char *help = json_text_or_empty(option, "description");
			AUTO_FREE char *own = escape_quotes(argument->help);
			assert_null(strchr(help, '`'));
			assert_memory_equal(help + 1, own + 1, strlen(help) - 1);
		}
		assert_int_equal(found, wanted);
	}
	assert_int_equal(json_array_size(options), 9);
}

/* ---- boards ---- */

static json_t *
board(const char *name, const char *deadline, json_t *devices_take)
{
	return json_pack("{s:s, s:s?, s:o, s:s, s:b, s:s}", "name", name, "deadline", deadline, "gpu_types", devices_take,
		"visibility", "public", "ended", 0, "creator", "ada");
}

static void
test_list(void **state)
{
	struct bot_fixture *f = *state;
	json_t *boards = json_array();
	for (int i = 0; i < 12; i++) {
		AUTO_FREE char *name = xasprintf("board_%02d", i);
		json_t *one = board(name, i == 1 ? NULL : "2026-07-01T10:00:00Z", json_pack("[s, s]", "CPU", "H100"));
		if (i == 2)
			(void)json_object_set_new(one, "visibility", json_string("closed"));
		(void)json_array_append_new(boards, one);
	}
	fixture_answer(f, "leaderboard.list", boards);
	const json_t *message = fixture_run(f, "leaderboard list", NULL);
	fixture_called(f, 0, "leaderboard.list", json_pack("{s:b}", "short", 1));
	fixture_has(message, "**board\\_00** · ends <t:1782900000:R> · CPU, H100\n**board\\_01** · no deadline · CPU");
	fixture_has(message, "**board\\_02** · ends <t:1782900000:R> · CPU, H100 · closed\n");
	assert_null(strstr(json_text_or_empty(message, "content"), "board\\_10"));
	assert_string_equal(fixture_button(message, 0, 0), "list:10:");
	message = fixture_pressed(f, "list:10:", NULL);
	fixture_has(message, "**board\\_10**");
	assert_string_equal(fixture_button(message, 0, 0), "list:0:");
	assert_string_equal(fixture_button(message, 0, 1), "");
	message = fixture_run(f, "leaderboard list", json_pack("{s:b}", "all", 1));
	fixture_called(f, 0, "leaderboard.list", json_pack("{s:b, s:b}", "all", 1, "short", 1));
	assert_string_equal(fixture_button(message, 0, 0), "list:10:all");
	/* Outdated, or made by hand. */
	fixture_has(fixture_pressed(f, "list:-1:", NULL), "earlier version");
	fixture_has(fixture_pressed(f, "list", NULL), "earlier version");
	fixture_has(fixture_pressed(f, "list:999999:", NULL), "board\\_00");
}

static void
test_list_empty(void **state)
{
	struct bot_fixture *f = *state;
	fixture_answer(f, "leaderboard.list", json_array());
	fixture_says(fixture_run(f, "leaderboard list", NULL),
		"There are no active leaderboards; with `all`, this command shows ended ones, too.");
	/* What is for those who run Kettle is not for users. */
	fixture_fail(f, "leaderboard.list", KETTLE_EIO, "The database /srv/k.db is full.");
	fixture_says(fixture_run(f, "leaderboard list", json_pack("{s:b}", "all", 1)),
		"Kettle has an internal error, which its log describes\\: tell an admin of this server\\.");
	f->role = "50";
	fixture_says(
		fixture_run(f, "leaderboard list", json_pack("{s:b}", "all", 1)), "The database \\/srv\\/k\\.db is full\\.");
	f->role = NULL;
	fixture_fail(f, "leaderboard.list", KETTLE_EUNAVAIL, "The database is " HOSTILE ".");
	fixture_says(
		fixture_run(f, "leaderboard list", json_pack("{s:b}", "all", 1)), "The database is " HOSTILE_SENTENCE "\\.");
}

static json_t *
ranking(const char *device, int count, int from)
{
	json_t *entries = json_array();
	for (int i = from; i < count && i < from + 10; i++) {
		AUTO_FREE char *id = xasprintf("%d", 100 + i), *name = xasprintf("user %d ```@here", i);
		(void)json_array_append_new(
			entries, json_pack("{s:i, s:s, s:s, s:i, s:f, s:s, s:b}", "rank", i + 1, "user_id", id, "user_name", name,
						 "submission_id", i, "submission_score", 0.001 * (i + 1), "submission_time",
						 "2026-07-01T10:00:00Z", "close", i == 1));
	}
	return json_pack("{s:s, s:i, s:o}", "device", device, "count", count, "entries", entries);
}

/* The engine's answer, which the fixture gives for "mine" too: the first of its entries is the user's. */
static json_t *
shown(json_t *devices_take, json_t *rankings_take)
{
	return json_pack("{s:o, s:o}", "leaderboard", board("vectoradd", NULL, devices_take), "rankings", rankings_take);
}

static void
test_show_one(void **state)
{
	struct bot_fixture *f = *state;
	fixture_answer(f, "leaderboard.show", shown(json_pack("[s]", "CPU"), json_pack("[o]", ranking("CPU", 12, 0))));
	fixture_answer(f, "leaderboard.plot", json_pack("{s:s}", "base64", "cG5n"));
	const json_t *message = fixture_run(f, "leaderboard show", json_pack("{s:s}", "leaderboard_name", "vectoradd"));
	fixture_called(
		f, 0, "leaderboard.plot", json_pack("{s:s, s:s, s:s}", "name", "vectoradd", "device", "CPU", "format", "png"));
	fixture_called(f, 1, "leaderboard.show", json_pack("{s:s, s:b, s:i}", "name", "vectoradd", "mine", 1, "limit", 1));
	fixture_called(
		f, 2, "leaderboard.show", json_pack("{s:s, s:i, s:i}", "name", "vectoradd", "limit", 10, "offset", 0));
	fixture_has(message, "**vectoradd** · CPU · 12 ranked · no deadline\nYou have rank 1 with 1.000 ms.\n```\n");
	fixture_has(message, "→     1  user 0 `` `@here  1.000 ms   0\n");
	fixture_has(message, "   ≈ 2  user 1");
	fixture_has_file(f, message, "vectoradd.png", "png");
	assert_string_equal(fixture_button(message, 0, 0), "page:10:vectoradd/0");
	/* A page has no new picture. */
	fixture_answer(f, "leaderboard.show", shown(json_pack("[s]", "CPU"), json_pack("[o]", ranking("CPU", 12, 10))));
	message = fixture_pressed(f, "page:10:vectoradd/0", NULL);
	fixture_called(f, 0, "leaderboard.show", json_pack("{s:s, s:b, s:i}", "name", "vectoradd", "mine", 1, "limit", 1));
	fixture_called(
		f, 1, "leaderboard.show", json_pack("{s:s, s:i, s:i}", "name", "vectoradd", "limit", 10, "offset", 10));
	fixture_has(message, "user 11");
	assert_string_equal(fixture_button(message, 0, 0), "page:0:vectoradd/0");
	fixture_has(fixture_pressed(f, "page:0:vectoradd/9", NULL), "no longer has this device");
	fixture_has(fixture_pressed(f, "page:0:vectoradd", NULL), "earlier version");
	fixture_has(fixture_pressed(f, "page:x:vectoradd/0", NULL), "earlier version");
}

/* Without kettle-plot, and without places. */
static void
test_show_plain(void **state)
{
	struct bot_fixture *f = *state;
	fixture_answer(f, "leaderboard.show", shown(json_pack("[s]", "CPU"), json_pack("[o]", ranking("CPU", 3, 0))));
	fixture_fail(f, "leaderboard.plot", KETTLE_EUNAVAIL, "There is no kettle-plot.");
	const json_t *message = fixture_run(f, "leaderboard show", json_pack("{s:s}", "leaderboard_name", "x"));
	fixture_has(message, "3 ranked");
	assert_null(json_object_get(message, "attachments"));
	size_t i;
	const json_t *line;
	json_array_foreach(kettle_fake_log(f->fake), i, line)
		assert_string_equal(json_text_or_empty(line, "level"), "debug");
	fixture_answer(f, "leaderboard.show", shown(json_pack("[s]", "CPU"), json_pack("[o]", ranking("CPU", 0, 0))));
	message = fixture_run(f, "leaderboard show", json_pack("{s:s}", "leaderboard_name", "x"));
	fixture_says(message, "**vectoradd** · CPU · 0 ranked · no deadline\nNo user is ranked here yet.");
	fixture_fail(f, "leaderboard.show", KETTLE_ENOENT, "There is no leaderboard `x`.");
	fixture_says(fixture_run(f, "leaderboard show", json_pack("{s:s}", "leaderboard_name", "x")),
		"There is no leaderboard `x`\\.");
}

static void
test_show_several(void **state)
{
	struct bot_fixture *f = *state;
	fixture_answer(f, "leaderboard.show",
		shown(json_pack("[s, s, s]", "A", "B", "C"),
			json_pack("[o, o, o]", ranking("A", 1, 0), ranking("B", 2, 0), ranking("C", 3, 0))));
	const json_t *message = fixture_run(f, "leaderboard show", json_pack("{s:s}", "leaderboard_name", "vectoradd"));
	fixture_has(message, "Which rankings");
	assert_string_equal(fixture_button(message, 0, 0), "show:vectoradd");
	size_t count = fixture_count(f);
	fixture_press(f, "show:vectoradd", json_pack("[s, s]", "A", "C"));
	fixture_has(fixture_message(f, count), "A · 1 ranked");
	message = fixture_message(f, count + 1);
	fixture_has(message, "C · 3 ranked");
	assert_true(member_true(message, "_follow_up"));
	assert_int_equal(member_int(message, "flags"), 64);
	fixture_has(fixture_pressed(f, "show:vectoradd", json_pack("[s]", "gone")), "no longer has this device");
	fixture_has(fixture_pressed(f, "show:vectoradd", NULL), "earlier version");
}

/* More devices than a menu has. */
static void
test_show_pages(void **state)
{
	struct bot_fixture *f = *state;
	json_t *devices = json_array();
	for (int i = 0; i < 30; i++)
		(void)json_array_append_new(devices, json_sprintf("D%d", i));
	fixture_answer(f, "leaderboard.show", shown(devices, json_array()));
	const json_t *message = fixture_run(f, "leaderboard show", json_pack("{s:s}", "leaderboard_name", "vectoradd"));
	assert_string_equal(fixture_button(message, 1, 0), "show:25:vectoradd");
	message = fixture_pressed(f, "show:25:vectoradd", NULL);
	const json_t *menu =
		json_array_get(json_object_get(json_array_get(json_object_get(message, "components"), 0), "components"), 0);
	assert_int_equal(json_array_size(json_object_get(menu, "options")), 5);
	assert_int_equal(member_int(menu, "max_values"), 5);
	assert_string_equal(fixture_button(message, 1, 0), "show:0:vectoradd");
}

static void
test_personal(void **state)
{
	struct bot_fixture *f = *state;
	fixture_answer(f, "leaderboard.show",
		shown(json_pack("[s, s]", "A", "B"), json_pack("[o, o]", ranking("A", 2, 0), ranking("B", 0, 0))));
	const json_t *message =
		fixture_run(f, "leaderboard show-personal", json_pack("{s:s}", "leaderboard_name", "vectoradd"));
	fixture_called(f, 0, "leaderboard.show", json_pack("{s:s, s:b, s:i}", "name", "vectoradd", "mine", 1, "limit", 20));
	fixture_has(message, "Your ranked submissions to **vectoradd**, the best first:\n```\nA\nrank  id     score");
	assert_null(strstr(json_text_or_empty(message, "content"), "\nB\n"));
	fixture_answer(f, "leaderboard.show", shown(json_pack("[s]", "B"), json_pack("[o]", ranking("B", 0, 0))));
	fixture_says(fixture_run(f, "leaderboard show-personal", json_pack("{s:s}", "leaderboard_name", "vectoradd")),
		"You have no ranked submission to **vectoradd**.");
}

/* ---- files ---- */

static void
test_template(void **state)
{
	struct bot_fixture *f = *state;
	static const char text[] = "#!POPCORN leaderboard x\r\n# \xc3\xa4 @everyone\n\n\tpass  \n\n";
	fixture_answer(f, "leaderboard.template",
		json_pack("{s:s, s:[{s:s, s:s, s:s}, {s:s, s:s, s:s}]}", "leaderboard", "x", "templates", "language", "Python",
			"file_name", "submission.py", "text", text, "language", "Triton", "file_name", "triton.py", "text", "t"));
	const json_t *message =
		fixture_run(f, "leaderboard template", json_pack("{s:s, s:s}", "leaderboard_name", "x", "lang", "Python"));
	fixture_called(f, 0, "leaderboard.template", json_pack("{s:s, s:s}", "name", "x", "lang", "Python"));
	fixture_says(message, "Templates for **x**: Python, Triton");
	fixture_has_file(f, message, "submission.py", text);
	fixture_has_file(f, message, "triton.py", "t");
}

static void
test_task(void **state)
{
	struct bot_fixture *f = *state;
	json_t *files = json_pack("{s:{s:s}}", "data.bin", "base64", "AAEC");
	for (int i = 0; i < 12; i++) {
		AUTO_FREE char *name = xasprintf("f%02d.py", i);
		(void)json_object_set_new(files, name, json_pack("{s:s}", "text", name));
	}
	fixture_answer(f, "leaderboard.task",
		json_pack("{s:s, s:s, s:s, s:o, s:{s:{s:s, s:s}}}", "leaderboard", "x", "yml", "lang: py\n", "submission",
			"submission.py", "files", files, "templates", "Python", "file_name", "submission.py", "text", "pass\n"));
	const json_t *message = fixture_run(f, "leaderboard task", json_pack("{s:s}", "leaderboard_name", "x"));
	fixture_called(f, 0, "leaderboard.task", json_pack("{s:s}", "name", "x"));
	fixture_has(message, "The task of **x**: you submit the file submission\\.py.\n");
	fixture_has(
		message, "This message lacks f07\\.py, f08\\.py, f09\\.py, f10\\.py, f11\\.py: it has room for 10 files");
	fixture_has_file(f, message, "task.yml", "lang: py\n");
	fixture_has_file(f, message, "submission.py", "pass\n");
	fixture_has_file(f, message, "f06.py", "f06.py");
	assert_int_equal(json_array_size(json_object_get(message, "attachments")), 10);
}

static void
test_harness(void **state)
{
	struct bot_fixture *f = *state;
	fixture_answer(f, "harness.show",
		json_pack("{s:s, s:[{s:s, s:s}]}", "language", "py", "files", "name", "eval.py", "text", "import os\n"));
	const json_t *message = fixture_run(f, "leaderboard eval-code", json_pack("{s:s}", "language", "python"));
	fixture_called(f, 0, "harness.show", json_pack("{s:s}", "language", "python"));
	fixture_has_file(f, message, "eval.py", "import os\n");
}

/* ---- submissions ---- */

static void
test_submissions(void **state)
{
	struct bot_fixture *f = *state;
	json_t *list = json_array();
	for (int i = 9; i > 0; i--)
		(void)json_array_append_new(
			list, json_pack("{s:i, s:s, s:s, s:s, s:s, s:[{s:s, s:n, s:s}]}", "id", i, "leaderboard_name", "vectoradd",
					  "mode", "ranked", "file_name", "```.py", "state",
					  i > 7   ? "queued"
					  : i > 2 ? "running"
							  : "passed",
					  "runs", "gpu_type", "CPU", "score", "state", "queued"));
	fixture_answer(f, "submission.list", list);
	const json_t *message =
		fixture_run(f, "leaderboard submissions", json_pack("{s:s}", "leaderboard_name", "vectoradd"));
	fixture_called(f, 0, "submission.list", json_pack("{s:s, s:i}", "leaderboard", "vectoradd", "limit", 20));
	fixture_has(message, " 9  vectoradd");
	assert_string_equal(fixture_button(message, 0, 0), "cancel:9");
	assert_string_equal(fixture_button(message, 0, 4), "cancel:5");
	assert_string_equal(fixture_button(message, 1, 0), "");
	fixture_answer(f, "submission.cancel", json_pack("{s:i, s:[]}", "id", 9, "jobs"));
	message = fixture_pressed(f, "cancel:9", NULL);
	fixture_called(f, 0, "submission.cancel", json_pack("{s:i}", "id", 9));
	fixture_says(message, "Cancelled submission 9.");
	assert_true(member_true(message, "_follow_up"));
	fixture_fail(f, "submission.cancel", KETTLE_EACCES, "The submission 9 is another user's.");
	fixture_says(fixture_pressed(f, "cancel:9", NULL), "The submission 9 is another user's\\.");
	fixture_answer(f, "submission.list", json_array());
	fixture_has(fixture_run(f, "leaderboard submissions", NULL), "You have no submissions");
	fixture_called(f, 0, "submission.list", json_pack("{s:i}", "limit", 20));
}

static void
test_get_submission(void **state)
{
	struct bot_fixture *f = *state;
	fixture_answer(f, "submission.show",
		json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:[{s:s, s:s, s:s, s:[]}]}", "id", 12, "leaderboard_name",
			"vectoradd", "file_name", "a.py", "source", "submission.py", "user_name", HOSTILE, "mode", "ranked",
			"state", "failed", "code", "import x\n", "jobs", "device", "CPU", "state", "failed", "error",
			"submission.py:3: no", "runs"));
	const json_t *message = fixture_run(f, "leaderboard get-submission", json_pack("{s:i}", "submission_id", 12));
	fixture_called(f, 0, "submission.show", json_pack("{s:i}", "id", 12));
	fixture_says(message, "Submission 12\\: CPU failed: a\\.py\\:3\\: no\n**vectoradd**");
	fixture_has_file(f, message, "a.py", "import x\n");
	fixture_has_file(f, message, "report.txt",
		"Submission 12 · vectoradd · ranked · a.py · " HOSTILE " · \n\nCPU  failed\n  a.py:3: no");
}

/* ---- accounts ---- */

static void
test_join(void **state)
{
	struct bot_fixture *f = *state;
	unsigned long generation = f->bot.boards_generation;
	fixture_answer(f, "leaderboard.join", json_pack("{s:b, s:[s, s]}", "joined", 1, "leaderboards", "a_b", "c"));
	fixture_says(
		fixture_run(f, "leaderboard join", json_pack("{s:s}", "code", "XYZ")), "You can now see a\\_b and c\\.");
	fixture_called(f, 0, "leaderboard.join", json_pack("{s:s}", "code", "XYZ"));
	assert_true(f->bot.boards_generation > generation);
}

static void
test_link(void **state)
{
	struct bot_fixture *f = *state;
	fixture_answer(f, "user.link",
		json_pack("{s:s, s:s, s:{s:s, s:s, s:i, s:[{s:s, s:s}]}}", "code", "ABCDE-FGHJK", "expires",
			"2026-07-01T10:00:00Z", "user", "user_name", "Ada", "role", "creator", "submissions", 2, "identities",
			"provider", "discord", "name", "a"));
	const json_t *message = fixture_run(f, "leaderboard link", NULL);
	fixture_has(message, "Your code is `ABCDE-FGHJK`; it works once, and expires <t:1782900000:R>");
	fixture_has(message, "**Ada** (2 submissions; role: creator; known as discord a)");
	fixture_called(f, 0, "user.link", json_object());
	fixture_answer(f, "user.link",
		json_pack("{s:b, s:{s:s, s:s, s:i, s:[{s:s, s:s}]}, s:{s:s, s:s, s:i, s:[]}}", "merged", 0, "from", "user_name",
			"ada*", "role", "user", "submissions", 1, "identities", "provider", "github", "name", "ada", "into",
			"user_name", "Ada", "role", "user", "submissions", 2, "identities"));
	message = fixture_run(f, "leaderboard link", json_pack("{s:s}", "code", "ABCDE-FGHJK"));
	fixture_called(f, 0, "user.link", json_pack("{s:s}", "code", "ABCDE-FGHJK"));
	fixture_says(message,
		"This merges the user **ada\\*** (1 submission; role: user; known as github ada) into your user **Ada** "
		"(2 submissions; role: user), and "
		"cannot be undone.\nPress Merge only if you created the code yourself: its creator can then do all that you "
		"can.");
	assert_string_equal(fixture_button(message, 0, 0), "link:ABCDE-FGHJK");
	message = fixture_pressed(f, "link:ABCDE-FGHJK", NULL);
	fixture_called(f, 0, "user.link", json_pack("{s:s, s:b}", "code", "ABCDE-FGHJK", "confirm", 1));
	fixture_says(message, "**ada\\*** is now part of your user **Ada**.");
	assert_int_equal(json_array_size(json_object_get(message, "components")), 0);
	fixture_has(fixture_run(f, "leaderboard link", json_pack("{s:s}", "code", "a:b")), "This is not a code");
}

static void
test_help(void **state)
{
	struct bot_fixture *f = *state;
	const json_t *embeds = json_object_get(fixture_run(f, "leaderboard help", NULL), "embeds");
	assert_int_equal(json_array_size(embeds), 2);
	const char *text = json_text_or_empty(json_array_get(embeds, 0), "description");
	assert_non_null(strstr(text, "`/leaderboard submit ranked` Submit your kernel to the ranking"));
	text = json_text_or_empty(json_array_get(embeds, 1), "description");
	assert_non_null(strstr(text, "`/ping`"));
	assert_null(strstr(text, "`/verify"));
	f->permissions = "8";
	embeds = json_object_get(fixture_run(f, "leaderboard help", NULL), "embeds");
	assert_int_equal(json_array_size(embeds), 3);
	text = json_text_or_empty(json_array_get(embeds, 1), "description");
	assert_non_null(strstr(text, "`/admin ban` Ban a user"));
	assert_non_null(strstr(text, "`/verifydb`"));
	size_t i, units = 0;
	const json_t *embed;
	json_array_foreach(embeds, i, embed) {
		size_t own = split_units(json_text_or_empty(embed, "description"));
		assert_in_range(own, 1, 4096);
		units += own + split_units(json_text_or_empty(embed, "title"));
	}
	assert_in_range(units, 1, 6000);
}

static int
has_latency(void *arg)
{
	return rest_latency(((struct bot *)arg)->rest) >= 0;
}

static void
test_ping(void **state)
{
	struct bot_fixture *f = *state;
	fixture_has(fixture_run(f, "ping", NULL), "The bot has sent Discord no request yet.");
	assert_int_equal(kettle_fake_run(f->fake, has_latency, &f->bot, FIXTURE_WAIT_MS), 0);
	fixture_has(fixture_run(f, "ping", NULL), "Discord answers the bot within ");
	assert_int_equal(json_array_size(f->calls), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_table),
	cmocka_unit_test(test_options),
	TEST(test_list),
	TEST(test_list_empty),
	TEST(test_show_one),
	TEST(test_show_plain),
	TEST(test_show_several),
	TEST(test_show_pages),
	TEST(test_personal),
	TEST(test_template),
	TEST(test_task),
	TEST(test_harness),
	TEST(test_submissions),
	TEST(test_get_submission),
	TEST(test_join),
	TEST(test_link),
	TEST(test_help),
	TEST(test_ping),
};

UNIT_TESTS(test_commands);
