/* SPDX-License-Identifier: MIT */
/* kettle(1) and docs/commands.md must match the core's command table. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_access.h"
#include "cli/args/complete.h"
#include "cli/args/help.h"
#include "cli/cli.h"
#include "commands/handlers.h"
#include "lib/unit_test.h"

#define MANUAL_MAX (1u << 20)
#define OVERVIEW_LINES 64 /* of `kettle` alone, at 80 columns */

static char *
manual_of_table(const json_t *table)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	help_manual(out, table, cli_uis);
	fclose(out);
	return text;
}

static char *
reference_of_table(const json_t *table)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	AUTO_JSON json_t *answers = command_answers(commands);
	help_reference(out, table, answers, cli_uis);
	fclose(out);
	return text;
}

static char *
read_source(const char *name)
{
	const char *source = getenv("top_srcdir");
	AUTO_FREE char *path = path_join(source ? source : ".", name);
	char *text = NULL;
	size_t size = 0;
	struct kettle_error err = {0};
	if (file_read(path, MANUAL_MAX, &text, &size, &err))
		fail_msg("%s", err.message);
	return text;
}

/* The sections of the page that are generated from the table. */
static char *
manual_of_page(void)
{
	char *text = read_source("frontends/cli/kettle.1");
	char *begin = strstr(text, ".SH COMMANDS\n"), *end = strstr(text, ".SH ENVIRONMENT\n");
	assert_non_null(begin);
	assert_non_null(end);
	*end = '\0';
	memmove(text, begin, (size_t)(end - begin) + 1);
	return text;
}

/* Fails with the first line that differs. */
static void
compare(const char *name, const char *page, const char *table)
{
	size_t line = 0;
	for (const char *a = table, *b = page; *a || *b; line++) {
		size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
		if (n != m || strncmp(a, b, n) != 0)
			fail_msg("line %zu of %s is `%.*s`, the command table gives `%.*s`: run `make update-manual`", line + 1,
				name, (int)m, b, (int)n, a);
		a += n + (a[n] != '\0');
		b += m + (b[m] != '\0');
	}
}

static void
test_page(void **state)
{
	AUTO_FREE char *table = manual_of_table(*state);
	AUTO_FREE char *page = manual_of_page();
	compare("COMMANDS in kettle.1", page, table);
}

static void
test_reference(void **state)
{
	AUTO_FREE char *table = reference_of_table(*state);
	AUTO_FREE char *page = read_source("docs/commands.md");
	compare("docs/commands.md", page, table);
}

static json_t *
json_of_table(const json_t *table, const json_t *answers, const char *prefix)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	help_json(out, table, answers, prefix);
	fclose(out);
	json_t *rows = json_loadb(text, size, 0, NULL);
	free(text);
	return rows;
}

static void
test_json(void **state)
{
	size_t i, in_group = 0;
	const json_t *row;
	AUTO_JSON json_t *answers = command_answers(commands);
	AUTO_JSON json_t *all = json_of_table(*state, answers, ""), *group = json_of_table(*state, answers, "submission");
	AUTO_JSON json_t *one = json_of_table(*state, answers, "submission.count");
	assert_int_equal(json_array_size(all), json_array_size(*state));
	json_array_foreach(all, i, row) {
		assert_true(
			json_equal(json_object_get(row, "answer"), json_object_get(answers, json_text_or_empty(row, "name"))));
		assert_true(json_is_object(json_object_get(row, "answer")));
		in_group += strncmp(json_text_or_empty(row, "name"), "submission.", strlen("submission.")) == 0;
	}
	assert_int_equal(json_array_size(group), in_group);
	assert_int_equal(json_array_size(one), 1);
	assert_string_equal(json_text_or_empty(json_array_get(one, 0), "name"), "submission.count");
}

static void
test_table(void **state)
{
	size_t i, j;
	const json_t *command, *argument;
	json_array_foreach(*state, i, command) {
		assert_true(*json_text_or_empty(command, "name"));
		assert_true(*json_text_or_empty(command, "help"));
		json_array_foreach(json_object_get(command, "args"), j, argument)
			if (!*json_text_or_empty(argument, "help"))
				fail_msg(
					"%s: %s has no help", json_text_or_empty(command, "name"), json_text_or_empty(argument, "name"));
		/* No command shows JSON to users. */
		const struct args_ui *ui = args_ui(cli_uis, command);
		if (!ui->render && !ui->start && !ui->answer && !member_true(command, "hidden") &&
			!json_is_object(json_object_get(command, "view")))
			fail_msg("core/commands/command_table.c does not say how %s is shown", json_text_or_empty(command, "name"));
	}
}

/* What completion offers behind the words of a command and this one. New string. */
static char *
offered(const json_t *table, const json_t *command, const char *last)
{
	char words[ARGS_NAME_SIZE], *text = NULL;
	const char *argv[8];
	int argc = 0;
	size_t size = 0;
	struct complete_live live;
	args_command_words(command, words);
	for (char *rest = words, *word; (word = strsep(&rest, " "));)
		argv[argc++] = word;
	argv[argc++] = last;
	FILE *out = open_memstream(&text, &size);
	fputc('\n', out);
	complete_words(out, table, cli_uis, argc, argv, &live);
	fclose(out);
	return text;
}

static void
test_completion(void **state)
{
	size_t i;
	const json_t *command;
	json_array_foreach(*state, i, command) {
		char line[ARGS_NAME_SIZE + sizeof("\n--\t")];
		struct args_row row;
		AUTO_FREE char *options = offered(*state, command, "--");
		for (size_t k = 0; args_row(command, args_ui(cli_uis, command)->own, k, &row); k++) {
			snprintf(line, sizeof(line), "\n--%s\t", row.option);
			if (!row.positional && !strstr(options, line))
				fail_msg("%s: completion does not offer --%s", json_text_or_empty(command, "name"), row.option);
		}
		assert_non_null(strstr(options, "\n--json\t"));
	}
	AUTO_JSON json_t *group = json_pack("{s:s}", "name", "leaderboard");
	AUTO_FREE char *names = offered(*state, group, "");
	assert_non_null(strstr(names, "\nshow\t"));
	assert_null(strstr(names, "\nrate-limits\t")); /* hidden */
}

/* `kettle` alone: what a participant needs comes first, then all commands by their groups. */
static void
test_overview(void **state)
{
	static const char *const parts[] = {"\nTo take part\n", "\n  leaderboard list", "\n  leaderboard show",
		"\n  leaderboard template", "\n  submit ", "\n  submission show", "\nAll commands\n", "\n  leaderboard  ",
		"\n  submission  ", "\nGlobal options\n"};
	AUTO_FREE char *text = NULL;
	size_t size = 0, lines = 0;
	struct term term = {.out = open_memstream(&text, &size)};
	help_all(&term, *state);
	fclose(term.out);
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	assert_in_range(lines, 1, OVERVIEW_LINES);
	const char *at = text;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const char *found = strstr(at, parts[i]);
		if (!found)
			fail_msg("part %zu of %zu is missing, or not behind the one before it", i, ARRAY_SIZE(parts));
		at = found + 1;
	}
}

/* A mark as a cheat has one type in the answers of all commands, to which each answer of a test is held. */
static void
count_flagged(const char *command, const json_t *schema, size_t *count)
{
	const json_t *member = json_object_get(json_object_get(schema, "properties"), "flagged");
	if (member) {
		const json_t *types = json_object_get(member, "type");
		if (json_array_size(types) != 2 || !list_has_text(types, "string") || !list_has_text(types, "null"))
			fail_msg("`flagged` of %s is neither a string nor null", command);
		++*count;
	}
	json_object_each(schema, key, value)
		count_flagged(command, value, count);
	json_array_each(schema, item)
		count_flagged(command, item, count);
}

static void
test_flagged(void **state)
{
	(void)state;
	size_t count = 0;
	AUTO_JSON json_t *answers = command_answers(commands);
	json_object_each(answers, command, schema)
		count_flagged(command, schema, &count);
	assert_in_range(count, 2, SIZE_MAX);
}

static int
setup(void **state)
{
	*state = command_data(commands);
	return *state ? 0 : -1;
}

static int
teardown(void **state)
{
	json_decref(*state);
	return 0;
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_page),
	cmocka_unit_test(test_reference),
	cmocka_unit_test(test_table),
	cmocka_unit_test(test_json),
	cmocka_unit_test(test_completion),
	cmocka_unit_test(test_overview),
	cmocka_unit_test(test_flagged),
};

UNIT_TESTS(test_cli_manual, .setup = setup, .teardown = teardown);
