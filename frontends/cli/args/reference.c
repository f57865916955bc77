/* SPDX-License-Identifier: MIT */
/* docs/commands.md, generated from the command table. */
#include <config.h>

#include "cli/args/help.h"

#include <ctype.h>

#include "base/json_access.h"

static const char begin[] =
	"# Commands\n"
	"\n"
	"All commands of Kettle, generated from the core's command table by `make update-manual`. Every frontend\n"
	"offers this table: on the command line `leaderboard.create` is `kettle leaderboard create`, and `--json`\n"
	"prints the answer as it is described here. The core checks rights, limits and deadlines, for every\n"
	"frontend alike.\n"
	"\n"
	"**Rights.** `anybody`: every user; objects that belong to a user or are closed have further checks.\n"
	"`creator`: users who may create leaderboards; for an existing leaderboard, its creator and admins.\n"
	"`admin`: admins. A banned user may read and not write.\n"
	"\n"
	"**Kinds.** `read`: reads committed state. `write`: answers after its commit, with an event where\n"
	"something has changed. `engine`: runs in the process that holds the database. `local`: runs in the\n"
	"calling process, without a database, and so not over a network.\n"
	"\n"
	"**Types.** `board`, `device`: a name, without case. `id`: a number. `when`: a date (its end, UTC), a date\n"
	"and time, `+30d`, `+12h`, `+90m`, or `none`. `file`: `{\"name\", \"base64\"}`, on the command line a\n"
	"path. `task`: a task as `task.read` answers it, on the command line a path. `path`: a path on the machine\n"
	"of the caller. A repeated argument is a list.\n"
	"\n"
	"An error is `{\"error\": {\"code\", \"message\"}}`, the message one sentence for people.\n";

/* Text inside a cell of a table. */
static void
cell(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '|')
			fputc('\\', out);
		fputc(*text == '\n' ? ' ' : *text, out);
	}
}

static void
sentence(FILE *out, const char *text)
{
	if (*text)
		fputc(toupper((unsigned char)*text), out);
	fputs(*text ? text + 1 : "", out);
	fputc('.', out);
}

static void
put_type(FILE *out, const struct args_row *row)
{
	const json_t *choice;
	const char *standard = member_text(row->data, "default");
	long long min = member_int(row->data, "min"), max = member_int(row->data, "max");
	size_t i;
	fputs(row->type, out);
	json_array_foreach(json_object_get(row->data, "choices"), i, choice)
		fprintf(out, "%s `%s`", i == 0 ? ":" : ",", json_string_value(choice));
	if (max == INT64_MAX)
		fprintf(out, ", at least %lld", min);
	else if (max)
		fprintf(out, ", %lld to %lld", min, max);
	fputs(row->required ? ", required" : "", out);
	fputs(row->repeated ? ", repeated" : "", out);
	if (*standard)
		fprintf(out, ", default `%s`", standard);
}

static void
arguments(FILE *out, const json_t *command)
{
	struct args_row row;
	for (size_t i = 0; args_row(command, NULL, i, &row); i++) {
		fprintf(out, "%s| `%s` | ", i == 0 ? "\n| argument | type | meaning |\n|---|---|---|\n" : "", row.name);
		put_type(out, &row);
		fputs(" | ", out);
		cell(out, row.help);
		fputs(" |\n", out);
	}
}

/* What the command line adds, or that it does not show the command. */
static void
on_command_line(FILE *out, const json_t *command, const struct run_ui *ui)
{
	if (member_true(command, "hidden")) {
		fputs("\nHidden: the command line uses it inside other commands.\n", out);
		return;
	}
	fputs("\n```\n", out);
	help_synopsis(out, command, ui);
	fputs("\n```\n", out);
	for (const struct args_option *o = ui->own; o && o->name; o++) {
		fputs(o == ui->own ? "\nOnly on the command line: " : "; ", out);
		fprintf(out, "`--%s%s%s` %s", o->name, o->meta ? " " : "", o->meta ? o->meta : "", o->help);
		if (!o[1].name)
			fputs(".\n", out);
	}
}

static void
one_command(FILE *out, const json_t *command, const struct run_ui *ui)
{
	const char *details = member_text(command, "details"), *answer = member_text(command, "answer");
	fprintf(out, "\n## %s\n\n", member_text(command, "name"));
	sentence(out, member_text(command, "help"));
	fprintf(out, "%s%s\n\nRight: %s. Kind: %s.\n", *details ? " " : "", details, member_text(command, "right"),
		member_text(command, "kind"));
	on_command_line(out, command, ui);
	arguments(out, command);
	if (*answer)
		fprintf(out, "\nAnswer: %s\n", answer);
}

void
reference_write(FILE *out, const json_t *table, const struct run_ui *uis)
{
	size_t i;
	const json_t *command;
	fputs(begin, out);
	json_array_foreach(table, i, command)
		one_command(out, command, args_ui(uis, command));
}
