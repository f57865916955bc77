/* SPDX-License-Identifier: MIT */
/* Makes help from the command table: for users, for the manual page, for docs/commands.md. */
#include <config.h>

#include "cli/args/help.h"

#include <ctype.h>

#include "base/buf.h"
#include "base/base.h"

/* size of "--NAME META" of an option */
#define TITLE_SIZE (2 * ARGS_NAME_SIZE + sizeof("-x, -- "))

#define HELP_WIDTH 80 /* columns of lines without a terminal */
#define HELP_MAX_WIDTH 100
#define HELP_COLUMN 24 /* first column of explanations */
#define HELP_INDENT 2

const struct help_own help_own_commands[] = {
	{"serve", "run the engine and its frontends until SIGTERM"},
	{"completion bash|zsh|fish", "print the completion script of a shell"},
	{"help [COMMAND]",
		"show the list of commands, or the help of one command; with --json what it takes and answers, as JSON Schema"},
	{NULL, NULL},
};

static size_t
line_width(const struct term *term)
{
	return term->width == 0 ? HELP_WIDTH : term->width > HELP_MAX_WIDTH ? HELP_MAX_WIDTH : term->width;
}

/* Wraps text into lines that begin at the cursor's column. */
static void
wrap(const struct term *term, const char *text, size_t column)
{
	size_t width = line_width(term), at = column;
	bool first = true;
	while (*(text += strspn(text, " \n"))) {
		size_t len = strcspn(text, " \n");
		char word[256];
		snprintf(word, sizeof(word), "%.*s", (int)len, text);
		size_t columns = term_width(word);
		if (!first && at + 1 + columns > width) {
			fprintf(term->out, "\n%*s", (int)column, "");
			at = column;
		} else if (!first) {
			fputc(' ', term->out);
			at++;
		}
		term_sanitize(term->out, word, 0);
		at += columns;
		first = false;
		text += len;
	}
	fputc('\n', term->out);
}

static void
definition(const struct term *term, const char *name, const char *text)
{
	size_t used = HELP_INDENT + term_width(name);
	fprintf(term->out, "%*s", HELP_INDENT, "");
	term_put(term, STYLE_BOLD, name);
	if (used + 2 > HELP_COLUMN) {
		fputc('\n', term->out);
		used = 0;
	}
	fprintf(term->out, "%*s", (int)(HELP_COLUMN - used), "");
	wrap(term, text, HELP_COLUMN);
}

static void
heading(const struct term *term, const char *text)
{
	fputc('\n', term->out);
	term_put(term, STYLE_BOLD, text);
	fputc('\n', term->out);
}

/* Prints an argument as usage lines show it: "NAME", "[--device DEVICE]…", "[-o FILE]". */
static void
usage_argument(FILE *out, const struct args_row *row)
{
	fputs(row->required ? " " : " [", out);
	if (row->letter && !row->data)
		fprintf(out, "-%c", row->letter);
	else if (!row->positional)
		fprintf(out, "--%s", row->option);
	if (!row->flag)
		fprintf(out, "%s%s", row->positional ? "" : " ", row->meta);
	fputs(row->required ? "" : "]", out);
	fputs(row->repeated ? "…" : "", out);
}

/*
 * Prints the command with its arguments, "kettle leaderboard show NAME [--mine]", in lines of this width; column: the
 * cursor's.
 */
static void
put_synopsis(FILE *out, const json_t *command, const struct args_ui *ui, size_t column, size_t width)
{
	char words[ARGS_NAME_SIZE];
	struct args_row row;
	args_command_words(command, words);
	fprintf(out, "kettle %s", words);
	size_t at = column + strlen("kettle ") + strlen(words), indent = at > width / 2 ? column : at;
	/* Positional arguments first, as users type them. */
	for (int options = 0; options < 2; options++)
		for (size_t i = 0; args_row(command, ui->own, i, &row); i++) {
			if (row.positional == options)
				continue;
			AUTO_FREE char *text = NULL;
			size_t size = 0;
			FILE *memory = term_memory(&text, &size);
			usage_argument(memory, &row);
			fclose(memory);
			if (at + term_width(text) > width) {
				fprintf(out, "\n%*s", (int)indent, "");
				at = indent;
			}
			fputs(text, out);
			at += term_width(text);
		}
}

void
help_usage(const struct term *term, const json_t *command, const struct args_ui *ui)
{
	fputs("usage: ", term->out);
	put_synopsis(term->out, command, ui, strlen("usage: "), line_width(term));
	fputc('\n', term->out);
}

/* Makes "NAME" of a positional argument, "-o, --output FILE" of an option. */
static void
row_title(const struct args_row *row, char title[TITLE_SIZE])
{
	char letter[] = {'-', row->letter, ',', ' ', '\0'};
	if (row->positional)
		snprintf(title, TITLE_SIZE, "%s", row->meta);
	else
		snprintf(title, TITLE_SIZE, "%s--%s%s%s", row->letter ? letter : "", row->option, row->flag ? "" : " ",
			row->flag ? "" : row->meta);
}

/* Makes the row's help with its choices, default and repetition. New string. */
static char *
row_text(const struct args_row *row)
{
	struct buf text = {0};
	buf_adds(&text, row->help);
	/* Without a meta in the table the title lists the choices. */
	json_array_each_at(json_text_or_null(row->data, "meta") ? json_object_get(row->data, "choices") : NULL, i, choice)
		buf_printf(&text, "%s %s", i == 0 ? "; one of" : ",", json_string_value(choice));
	if (*json_text_or_empty(row->data, "default") && !row->flag)
		buf_printf(&text, " (default: %s)", json_text_or_empty(row->data, "default"));
	if (row->repeated)
		buf_adds(&text, " (may be given several times)");
	return buf_take(&text);
}

/*
 * Lists the positional arguments or the options of a command (NULL: only the given options), below a title if there
 * are any.
 */
static void
list_rows(
	const struct term *term, const json_t *command, const struct args_option *own, bool positional, const char *title)
{
	char name[TITLE_SIZE];
	struct args_row row;
	for (size_t i = 0; args_row(command, own, i, &row); i++) {
		if (row.positional != positional)
			continue;
		if (title)
			heading(term, STEAL(title));
		AUTO_FREE char *text = row_text(&row);
		row_title(&row, name);
		definition(term, name, text);
	}
}

void
help_command(const struct term *term, const json_t *command, const struct args_ui *ui)
{
	help_usage(term, command, ui);
	fputc('\n', term->out);
	wrap(term, json_text_or_empty(command, "help"), 0);
	if (*json_text_or_empty(command, "details")) {
		fputc('\n', term->out);
		wrap(term, json_text_or_empty(command, "details"), 0);
	}
	list_rows(term, command, ui->own, true, "Arguments");
	list_rows(term, command, ui->own, false, "Options");
	if (json_text_or_null(command, "example"))
		fprintf(term->out, "\nExample: %s\n", json_text_or_empty(command, "example"));
	fputs("\n`kettle help` lists the global options.\n", term->out);
}

bool
help_own(const struct term *term, const char *name)
{
	for (const struct help_own *own = help_own_commands; own->usage; own++) {
		size_t len = strlen(name);
		if (len == 0 || strcspn(own->usage, " ") != len || strncmp(own->usage, name, len) != 0)
			continue;
		fprintf(term->out, "usage: kettle %s\n\n", own->usage);
		wrap(term, own->help, 0);
		fputs("\n`kettle help` lists the global options.\n", term->out);
		return true;
	}
	return false;
}

/* Lists a command: its words, its required arguments and its line of help. */
static void
list_command(const struct term *term, const json_t *command)
{
	char *title = NULL, words[ARGS_NAME_SIZE];
	size_t size = 0;
	struct args_row row;
	FILE *out = term_memory(&title, &size);
	args_command_words(command, words);
	fputs(words, out);
	for (size_t i = 0; args_row(command, NULL, i, &row); i++)
		if (row.required && row.positional)
			usage_argument(out, &row);
	fclose(out);
	definition(term, title, json_text_or_empty(command, "help"));
	free(title);
}

/* The commands that a participant needs first, in that order. */
static const char *const first_commands[] = {
	"leaderboard.list", "leaderboard.show", "leaderboard.template", "submit", "submission.show"};

static void
list_first(const struct term *term, const json_t *table)
{
	heading(term, "To take part");
	for (size_t k = 0; k < ARRAY_SIZE(first_commands); k++)
		json_array_each(table, command)
			if (member_is(command, "name", first_commands[k]))
				list_command(term, command);
}

/*
 * Makes the groups of the table, "submission" → "cancel, diff, …", in its order, and the commands without a group in
 * `alone`.
 */
static json_t *
group_names(const json_t *table, struct buf *alone)
{
	json_t *groups = json_object();
	json_array_each(table, command) {
		char words[ARGS_NAME_SIZE], *space;
		args_command_words(command, words);
		if (member_true(command, "hidden"))
			continue;
		space = strchr(words, ' ');
		if (!space) {
			buf_printf(alone, "%s, ", words);
			continue;
		}
		*space = '\0';
		const char *before = json_text_or_null(groups, words);
		json_object_set_new(groups, words, json_sprintf("%s%s%s", before ? before : "", before ? ", " : "", space + 1));
	}
	for (const struct help_own *own = help_own_commands; own->usage; own++)
		buf_printf(alone, "%.*s%s", (int)strcspn(own->usage, " "), own->usage, own[1].usage ? ", " : "");
	return groups;
}

void
help_all(const struct term *term, const json_t *table)
{
	AUTO_BUF struct buf alone = {0};
	AUTO_JSON json_t *groups = group_names(table, &alone);
	fputs("usage: kettle [OPTION…] COMMAND [ARGUMENT…]\n\n", term->out);
	wrap(term,
		"Kettle evaluates GPU kernels: it builds a submission, runs it against the task of a leaderboard in a sandbox, "
		"checks its result, times it and ranks it.",
		0);
	list_first(term, table);
	heading(term, "All commands");
	json_object_each(groups, group, names)
		definition(term, group, json_string_value(names));
	definition(term, "and", alone.data);
	list_rows(term, NULL, args_globals, false, "Global options");
	fputc('\n', term->out);
	wrap(term,
		"`kettle help submission` explains the commands of a group, `kettle help submit` one command. `man kettle` has "
		"them "
		"all. The pages begin with participating.md, creating-boards.md and operating.md, in share/doc/kettle of the "
		"installation or docs of the sources.",
		0);
	fputc('\n', term->out);
	wrap(term, "Exit status: 0 passed, 1 the submission failed, 2 usage, 3 the engine failed.", 0);
}

void
help_group(const struct term *term, const json_t *table, int words, const char *const *argv)
{
	char group[ARGS_NAME_SIZE] = "", name[ARGS_NAME_SIZE];
	size_t used = 0;
	for (int w = 0; w < words && used < sizeof(group); w++)
		used += (size_t)snprintf(group + used, sizeof(group) - used, "%s ", argv[w]);
	fprintf(term->out, "usage: kettle %sCOMMAND [ARGUMENT…]\n", group);
	heading(term, "Commands");
	json_array_each(table, command) {
		args_command_words(command, name);
		if (!member_true(command, "hidden") && strncmp(name, group, strlen(group)) == 0)
			list_command(term, command);
	}
	fprintf(term->out, "\n`kettle help %sCOMMAND` shows its details.\n", group);
}

/* Writes text in the source of a manual page: no macros or escapes, hyphens that can be copied, only ASCII. */
static void
roff(FILE *out, const char *text)
{
	bool start = true;
	for (uint32_t c; (c = term_next(&text)); start = c == '\n') {
		if (start && (c == '.' || c == '\''))
			fputs("\\&", out);
		if (c == '\\')
			fputs("\\e", out);
		else if (c == '-')
			fputs("\\-", out);
		else if (c == 0x2026) /* troff has no ellipsis for an ASCII terminal */
			fputs("\\&...", out);
		else if (c >= 0x80)
			fprintf(out, "\\[u%04X]", (unsigned)c);
		else
			fputc((int)c, out);
	}
}

/* Writes a line of help as a sentence. */
static void
roff_sentence(FILE *out, const char *text)
{
	char first[] = {(char)toupper((unsigned char)*text), '\0'};
	roff(out, first);
	roff(out, *text ? text + 1 : "");
	fputs(".\n", out);
}

static void
manual_command(FILE *out, const json_t *command, const struct args_ui *ui)
{
	char *usage = NULL, title[TITLE_SIZE];
	size_t size = 0;
	struct args_row row;
	FILE *memory = term_memory(&usage, &size);
	put_synopsis(memory, command, ui, 0, SIZE_MAX);
	fclose(memory);
	fputs(".TP\n.B ", out);
	roff(out, usage);
	free(usage);
	fputc('\n', out);
	roff_sentence(out, json_text_or_empty(command, "help"));
	if (*json_text_or_empty(command, "details")) {
		roff(out, json_text_or_empty(command, "details"));
		fputc('\n', out);
	}
	for (size_t i = 0; args_row(command, ui->own, i, &row); i++) {
		AUTO_FREE char *text = row_text(&row);
		row_title(&row, title);
		fputs(".RS\n.TP\n.B ", out);
		roff(out, title);
		fputc('\n', out);
		roff(out, text);
		fputs("\n.RE\n", out);
	}
}

void
help_manual(FILE *out, const json_t *table, const struct args_ui *uis)
{
	char title[TITLE_SIZE];
	size_t i;
	struct args_row row;
	const json_t *command;
	fputs(".SH COMMANDS\n", out);
	json_array_foreach(table, i, command)
		if (!member_true(command, "hidden"))
			manual_command(out, command, args_ui(uis, command));
	for (const struct help_own *own = help_own_commands; own->usage; own++) {
		fprintf(out, ".TP\n.B kettle %s\n", own->usage);
		roff_sentence(out, own->help);
	}
	fputs(".SH GLOBAL OPTIONS\n", out);
	for (i = 0; args_row(NULL, args_globals, i, &row); i++) {
		row_title(&row, title);
		fputs(".TP\n.B ", out);
		roff(out, title);
		fputc('\n', out);
		roff_sentence(out, row.help);
	}
}

void
help_json(FILE *out, const json_t *table, const json_t *answers, const char *prefix)
{
	AUTO_JSON json_t *rows = json_array();
	size_t len = strlen(prefix);
	json_array_each(table, command) {
		const char *name = json_text_or_empty(command, "name");
		if (strncmp(name, prefix, len) != 0 || (len && name[len] && name[len] != '.'))
			continue;
		json_t *row = json_copy(command);
		json_object_set(row, "answer", json_object_get(answers, name));
		(void)json_array_append_new(rows, row);
	}
	(void)json_dumpf(rows, out, JSON_INDENT(2));
	fputc('\n', out);
}

/* ---- docs/commands.md ---- */

static const char reference_head[] =
	"# Commands\n\nThis page lists all commands of Kettle. `make update-manual` generates it from the core's command "
	"table.\nEvery frontend offers the same commands: on the command line, `leaderboard.create` is\n`kettle "
	"leaderboard create`, and `--json` prints the answer as described here. The core checks rights,\nlimits and "
	"deadlines for all frontends.\n\n**Rights.** `anybody`: every user; commands on objects that belong to a user or "
	"are closed check more.\n`creator`: users who may create leaderboards; for an existing leaderboard, its creator "
	"and admins.\n`admin`: admins. A banned user may read but not change anything.\n\n**Kinds.** `read`: reads "
	"committed state. `write`: answers after its commit, and emits an event if\nsomething has changed. `engine`: runs "
	"in the process that holds the database. `local`: runs in the\ncalling process, without a database, and so not "
	"over a network.\n\n**Types.** `board`, `device`: a name; upper and lower case are the same. `user`: a name, "
	"`#NUMBER` or\n`PROVIDER:SUBJECT` as text, or `{\"name\"}`, `{\"number\"}` or `{\"provider\", \"subject\"}`. A "
	"user's name has no\n`:` and does not begin with `#`, so the three forms cannot be confused. `id`: a number. "
	"`when`: a date\n(its end, UTC), a date and time, `+30d`, `+12h`, `+90m`, or `none`. `file`: `{\"name\", "
	"\"base64\"}`; on the\ncommand line, a path. `task`: a task as `task.read` answers it; on the command line, a "
	"path. `path`: a path\non the caller's machine. A repeated argument is a list.\n\n**Answers.** Each command lists "
	"all members of its answer. A time is text in ISO 8601, in UTC. The keys of\na map are data. Objects of several "
	"answers are at the end of the page. Plugins get all of it as JSON Schema.\n\nAn error is `{\"error\": {\"code\", "
	"\"message\", \"member\", \"cause\"}}`. The message is for people: one sentence, rarely\ntwo. `member` is the "
	"wrong argument, or the one that would allow the request; `cause` adds to the code (`full`:\nthe disk is full). "
	"Both may be missing.\n";

/* Writes text inside a cell of a table. */
static void
put_cell(FILE *out, const char *text)
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
	const char *standard = json_text_or_empty(row->data, "default");
	long long min = member_int(row->data, "min"), max = member_int(row->data, "max");
	fputs(row->type, out);
	json_array_each_at(json_object_get(row->data, "choices"), i, choice)
		fprintf(out, "%s `%s`", i == 0 ? ":" : ",", json_string_value(choice));
	if (max == INT64_MAX)
		fprintf(out, ", at least %lld", min);
	else if (max)
		fprintf(out, ", %lld to %lld%s", min, max, strcmp(row->type, "string") == 0 ? " bytes" : "");
	fputs(row->required ? ", required" : "", out);
	fputs(row->repeated ? ", repeated" : "", out);
	if (*standard)
		fprintf(out, ", default `%s`", standard);
}

static void
put_arguments(FILE *out, const json_t *command)
{
	struct args_row row;
	for (size_t i = 0; args_row(command, NULL, i, &row); i++) {
		fprintf(out, "%s| `%s` | ", i == 0 ? "\n| argument | type | meaning |\n|---|---|---|\n" : "", row.name);
		put_type(out, &row);
		fputs(" | ", out);
		put_cell(out, row.help);
		fputs(" |\n", out);
	}
}

/* Writes the synopsis and the command line's own options, or that the command is hidden. */
static void
put_usage(FILE *out, const json_t *command, const struct args_ui *ui)
{
	if (member_true(command, "hidden")) {
		fputs("\nHidden: frontends use it; the command line has no such command.\n", out);
		return;
	}
	fputs("\n```\n", out);
	put_synopsis(out, command, ui, 0, SIZE_MAX);
	fputs("\n```\n", out);
	for (const struct args_option *o = ui->own; o && o->name; o++) {
		fputs(o == ui->own ? "\nOnly on the command line: " : "; ", out);
		fprintf(out, "`--%s%s%s` %s", o->name, o->meta ? " " : "", o->meta ? o->meta : "", o->help);
		if (!o[1].name)
			fputs(".\n", out);
	}
}

/* ---- answers, from their JSON Schema ---- */

static void
put_choices(FILE *out, const json_t *choices)
{
	size_t count = json_array_size(choices);
	json_array_each_at(choices, i, choice) {
		fputs(i == 0 ? "" : i + 1 < count ? ", " : " or ", out);
		if (json_is_null(choice))
			fputs("null", out);
		else
			fprintf(out, "`%s`", json_string_value(choice));
	}
}

/*
 * Describes the type of a value. Returns its schema if its members follow. Adds objects that have a name to `shared`.
 */
static const json_t *
put_form(FILE *out, const json_t *schema, json_t *shared)
{
	const json_t *type = json_object_get(schema, "type"), *items = json_object_get(schema, "items"),
				 *values = json_object_get(schema, "additionalProperties"), *follows = NULL;
	const char *title = json_text_or_empty(schema, "title"), *unit = json_text_or_empty(schema, "x-unit"),
			   *name = json_string_value(json_is_array(type) ? json_array_get(type, 0) : type);
	if (json_object_get(schema, "enum")) {
		put_choices(out, json_object_get(schema, "enum"));
		return NULL;
	}
	if (*title) {
		fprintf(out, "[%s](#%s)", title, title);
		json_object_set(shared, title, (json_t *)schema);
	} else if (items || json_is_object(values)) {
		fputs(items ? "array of " : "map of ", out);
		follows = put_form(out, items ? items : values, shared);
	} else {
		fputs(!name ? "any value" : *json_text_or_empty(schema, "format") ? "time" : name, out);
		follows = json_object_get(schema, "properties") ? schema : NULL;
	}
	if (*unit)
		fprintf(out, " (%s)", unit);
	fputs(json_is_array(type) ? " or null" : "", out);
	return follows;
}

static void
put_members(FILE *out, const json_t *schema, int indent, json_t *shared)
{
	json_object_each(json_object_get(schema, "properties"), name, member) {
		const char *help = json_text_or_empty(member, "description");
		fprintf(out, "%*s- `%s`%s ", indent, "", name,
			list_has_text(json_object_get(schema, "required"), name) ? ":" : ", may be missing:");
		const json_t *follows = put_form(out, member, shared);
		fprintf(out, "%s%s\n", *help ? "; " : "", help);
		put_members(out, follows, indent + 2, shared);
	}
}

static void
put_answer(FILE *out, const json_t *answer, json_t *shared)
{
	const char *help = json_text_or_empty(answer, "description");
	fputs("\nAnswer: ", out);
	const json_t *follows = put_form(out, answer, shared);
	fprintf(out, "%s%s.\n%s", *help ? "; " : "", help, follows ? "\n" : "");
	put_members(out, follows, 0, shared);
}

/* Writes the objects that several answers have, each once; these may add others. */
static void
put_shared(FILE *out, json_t *shared)
{
	fputs("\n# Shared objects\n", out);
	for (const char *title = json_object_iter_key(json_object_iter(shared)); title;
		 title = json_object_iter_key(json_object_iter_next(shared, json_object_iter_at(shared, title)))) {
		fprintf(out, "\n## %s\n\n", title);
		put_members(out, json_object_get(shared, title), 0, shared);
	}
}

static void
put_command(FILE *out, const json_t *command, const json_t *answer, const struct args_ui *ui, json_t *shared)
{
	const char *details = json_text_or_empty(command, "details");
	fprintf(out, "\n## %s\n\n", json_text_or_empty(command, "name"));
	sentence(out, json_text_or_empty(command, "help"));
	fprintf(out, "%s%s\n\nRight: %s. Kind: %s.\n", *details ? " " : "", details, json_text_or_empty(command, "right"),
		json_text_or_empty(command, "kind"));
	put_usage(out, command, ui);
	put_arguments(out, command);
	put_answer(out, answer, shared);
}

void
help_reference(FILE *out, const json_t *table, const json_t *answers, const struct args_ui *uis)
{
	AUTO_JSON json_t *shared = json_object();
	fputs(reference_head, out);
	json_array_each(table, command)
		put_command(
			out, command, json_object_get(answers, json_text_or_empty(command, "name")), args_ui(uis, command), shared);
	put_shared(out, shared);
}
