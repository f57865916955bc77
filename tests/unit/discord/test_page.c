/* SPDX-License-Identifier: MIT */
/* docs/discord.md has a row for every command of the bot, with its options, and for no other one. */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "commands/handlers.h"
#include "discord/commands/options.h"
#include "lib/unit_test.h"

#define PAGE_MAX (1u << 20)

static char *
page(void)
{
	AUTO_FREE char *path = xasprintf("%s/docs/discord.md", getenv("top_srcdir"));
	struct kettle_error err = {0};
	char *data;
	size_t size;
	if (file_read(path, PAGE_MAX, &data, &size, &err) < 0)
		fail_msg("%s", err.message);
	return data;
}

/* The command's row; required options are bold. */
static char *
row_of(const struct bot_command *command, const json_t *core)
{
	struct buf row = {0};
	AUTO_JSON json_t *options = options_of(command, core);
	AUTO_FREE char *help = options_help(command, core);
	size_t i;
	const json_t *option;
	buf_printf(&row, "\n| `/%s` |", command->path);
	json_array_foreach(options, i, option)
		buf_printf(&row, member_true(option, "required") ? "%s **`%s`**" : "%s `%s`", i ? "," : "",
			json_text_or_empty(option, "name"));
	buf_printf(&row, " | %s |\n", help);
	return buf_take(&row);
}

static void
test_commands(void **state)
{
	AUTO_FREE char *text = page();
	AUTO_BUF struct buf missing = {0};
	AUTO_JSON json_t *core = command_data(commands);
	size_t rows = 0, there = 0;
	(void)state;
	for (const struct bot_command *command = discord_commands; command->path; command++, rows++) {
		AUTO_FREE char *row = row_of(command, core);
		if (!strstr(text, row))
			buf_adds(&missing, row);
	}
	if (missing.len) {
		fputs(missing.data, stderr); /* which a message of cmocka would cut */
		fail_msg("docs/discord.md lacks these rows");
	}
	for (const char *at = text; (at = strstr(at, "\n| `/")); at++)
		there++;
	if (there != rows)
		fail_msg("docs/discord.md has %zu rows of commands, and there are %zu commands", there, rows);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_commands)};

UNIT_TESTS(test_page);
