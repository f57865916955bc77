/* SPDX-License-Identifier: MIT */
/* Help, made of the command table: for people, for the manual page, for completion. */
#include <config.h>

#include "cli/args/help.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"

/* "--NAME META" of an option, both of them bounded. */
#define TITLE_SIZE (2 * ARGS_NAME_SIZE + sizeof("-- "))

#define HELP_WIDTH 80 /* of lines where no terminal says otherwise */
#define HELP_MAX_WIDTH 100
#define HELP_COLUMN 24 /* where explanations begin */
#define HELP_INDENT 2

/* Commands that are not in the table. */
static const struct {
	const char *usage, *help;
} own_commands[] = {
	{"serve", "runs the engine and its frontends until SIGTERM"},
	{"help [COMMAND]", "this list, or one command"},
};

static size_t
line_width(const struct term *term)
{
	return term->width == 0 ? HELP_WIDTH : term->width > HELP_MAX_WIDTH ? HELP_MAX_WIDTH : term->width;
}

/* Words of text in lines that begin at a column; the first is at column `at` already. */
static void
wrap(const struct term *term, const char *text, size_t column, size_t at)
{
	size_t width = line_width(term);
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
	wrap(term, text, HELP_COLUMN, HELP_COLUMN);
}

static void
heading(const struct term *term, const char *text)
{
	fputc('\n', term->out);
	term_put(term, STYLE_BOLD, text);
	fputc('\n', term->out);
}

/* An argument as usage lines show it: "NAME", "[--device DEVICE]…". */
static void
usage_argument(FILE *out, const json_t *row)
{
	char name[ARGS_NAME_SIZE], meta[ARGS_NAME_SIZE];
	bool required = args_bool(row, "required");
	args_option_name(member_text(row, "name"), name);
	args_meta(row, meta);
	fputs(required ? " " : " [", out);
	if (!args_bool(row, "positional"))
		fprintf(out, args_is(row, "bool") ? "--%s" : "--%s ", name);
	if (!args_is(row, "bool"))
		fputs(meta, out);
	fputs(required ? "" : "]", out);
	fputs(args_bool(row, "repeated") ? "…" : "", out);
}

void
help_synopsis(FILE *out, const json_t *command, const struct run_ui *ui)
{
	char words[ARGS_NAME_SIZE];
	size_t i;
	const json_t *row, *rows = json_object_get(command, "args");
	args_command_words(command, words);
	fprintf(out, "kettle %s", words);
	/* What is named by its place first, as people type it. */
	json_array_foreach(rows, i, row)
		if (args_bool(row, "positional"))
			usage_argument(out, row);
	json_array_foreach(rows, i, row)
		if (!args_bool(row, "positional"))
			usage_argument(out, row);
	for (const struct args_option *o = ui->own; o && o->name; o++) {
		fputs(" [", out);
		if (o->letter)
			fprintf(out, "-%c", o->letter);
		else
			fprintf(out, "--%s", o->name);
		fprintf(out, "%s%s]", o->meta ? " " : "", o->meta ? o->meta : "");
	}
}

void
help_usage(FILE *out, const json_t *command, const struct run_ui *ui)
{
	fputs("usage: ", out);
	help_synopsis(out, command, ui);
	fputc('\n', out);
}

/* The name of an option with its letter and value: "-o, --output FILE". */
static void
option_title(char *title, size_t size, const struct args_option *option)
{
	char letter[] = {'-', option->letter, ',', ' ', '\0'};
	snprintf(title, size, "%s--%s%s%s", option->letter ? letter : "", option->name, option->meta ? " " : "",
		option->meta ? option->meta : "");
}

static void
argument_title(char *title, size_t size, const json_t *row)
{
	char name[ARGS_NAME_SIZE], meta[ARGS_NAME_SIZE];
	args_option_name(member_text(row, "name"), name);
	args_meta(row, meta);
	if (args_bool(row, "positional"))
		snprintf(title, size, "%s", meta);
	else if (args_is(row, "bool"))
		snprintf(title, size, "--%s", name);
	else
		snprintf(title, size, "--%s %s", name, meta);
}

/* The row's help with what else there is to know: choices, default, repetition. New string. */
static char *
argument_text(const json_t *row)
{
	const json_t *choices = json_object_get(row, "choices"), *choice;
	const char *default_value = member_text(row, "default");
	char *text = NULL;
	size_t size = 0, i;
	FILE *out = term_memory(&text, &size);
	fputs(member_text(row, "help"), out);
	/* Without a word for the value the title has the choices already. */
	if (!*member_text(row, "meta"))
		choices = NULL;
	if (json_array_size(choices) > 0)
		fputs("; one of", out);
	json_array_foreach(choices, i, choice)
		fprintf(out, "%s %s", i > 0 ? "," : "", json_string_value(choice));
	if (*default_value && !args_is(row, "bool"))
		fprintf(out, " (default: %s)", default_value);
	if (args_bool(row, "repeated"))
		fputs(" (may be given several times)", out);
	fclose(out);
	return text;
}

static void
list_arguments(const struct term *term, const json_t *command, bool positional, const char *title)
{
	char name[TITLE_SIZE];
	bool first = true;
	size_t i;
	const json_t *row;
	json_array_foreach(json_object_get(command, "args"), i, row) {
		if (args_bool(row, "positional") != positional)
			continue;
		if (first && title)
			heading(term, title);
		first = false;
		AUTO_FREE char *text = argument_text(row);
		argument_title(name, sizeof(name), row);
		definition(term, name, text);
	}
}

static bool
has_options(const json_t *command, const struct run_ui *ui)
{
	size_t i;
	const json_t *row;
	json_array_foreach(json_object_get(command, "args"), i, row)
		if (!args_bool(row, "positional"))
			return true;
	return ui->own;
}

static void
list_options(const struct term *term, const struct args_option *options)
{
	char name[TITLE_SIZE];
	for (; options && options->name; options++) {
		option_title(name, sizeof(name), options);
		definition(term, name, options->help);
	}
}

void
help_command(const struct term *term, const json_t *command, const struct run_ui *ui)
{
	help_usage(term->out, command, ui);
	fputc('\n', term->out);
	wrap(term, member_text(command, "help"), 0, 0);
	if (*member_text(command, "details")) {
		fputc('\n', term->out);
		wrap(term, member_text(command, "details"), 0, 0);
	}
	list_arguments(term, command, true, "Arguments");
	if (has_options(command, ui))
		heading(term, "Options");
	list_arguments(term, command, false, NULL);
	list_options(term, ui->own);
	if (member_string(command, "example"))
		fprintf(term->out, "\nExample: %s\n", member_text(command, "example"));
	fputs("\n`kettle help` lists the global options.\n", term->out);
}

/* A command in a list: its words and what it must have, and the line of help. */
static void
list_command(const struct term *term, const json_t *command)
{
	char *title = NULL, words[ARGS_NAME_SIZE];
	size_t size = 0, i;
	const json_t *row;
	FILE *out = term_memory(&title, &size);
	args_command_words(command, words);
	fputs(words, out);
	json_array_foreach(json_object_get(command, "args"), i, row)
		if (args_bool(row, "required") && args_bool(row, "positional"))
			usage_argument(out, row);
	fclose(out);
	definition(term, title, member_text(command, "help"));
	free(title);
}

void
help_all(const struct term *term, const json_t *table)
{
	size_t i;
	const json_t *command;
	fputs("usage: kettle [OPTION…] COMMAND [ARGUMENT…]\n\n", term->out);
	wrap(term,
		"Kettle evaluates GPU kernels: it builds a submission, runs it against the task of a leaderboard in a "
		"sandbox, checks that it is right, times it and ranks it.",
		0, 0);
	heading(term, "Commands");
	json_array_foreach(table, i, command)
		if (!member_true(command, "hidden"))
			list_command(term, command);
	for (i = 0; i < ARRAY_SIZE(own_commands); i++)
		definition(term, own_commands[i].usage, own_commands[i].help);
	heading(term, "Global options");
	list_options(term, args_globals);
	fputs("\n`kettle help COMMAND` says more. Exit status: 0 passed, 1 the submission failed, 2 usage, 3 the engine "
		  "could "
		  "not.\n",
		term->out);
}

void
help_group(const struct term *term, const json_t *table, int words, const char *const *argv)
{
	char group[ARGS_NAME_SIZE] = "", name[ARGS_NAME_SIZE];
	size_t i, used = 0;
	const json_t *command;
	for (int w = 0; w < words && used < sizeof(group); w++)
		used += (size_t)snprintf(group + used, sizeof(group) - used, "%s ", argv[w]);
	fprintf(term->out, "usage: kettle %sCOMMAND [ARGUMENT…]\n", group);
	heading(term, "Commands");
	json_array_foreach(table, i, command) {
		args_command_words(command, name);
		if (!member_true(command, "hidden") && strncmp(name, group, strlen(group)) == 0)
			list_command(term, command);
	}
	fprintf(term->out, "\n`kettle help %sCOMMAND` says more.\n", group);
}

/* Text in the source of a manual page: no macro, no escape, hyphens that can be copied, nothing beyond ASCII. */
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
		else if (c >= 0x80)
			fprintf(out, "\\[u%04X]", (unsigned)c);
		else
			fputc((int)c, out);
	}
}

/* A line of help as a sentence. */
static void
roff_sentence(FILE *out, const char *text)
{
	char first[] = {(char)toupper((unsigned char)*text), '\0'};
	roff(out, first);
	roff(out, *text ? text + 1 : "");
	fputs(".\n", out);
}

static void
roff_definition(FILE *out, const char *title, const char *text)
{
	fputs(".RS\n.TP\n.B ", out);
	roff(out, title);
	fputc('\n', out);
	roff(out, text);
	fputs("\n.RE\n", out);
}

static void
manual_command(FILE *out, const json_t *command, const struct run_ui *ui)
{
	char *usage = NULL, title[TITLE_SIZE];
	size_t size = 0, i;
	const json_t *row;
	FILE *memory = term_memory(&usage, &size);
	help_synopsis(memory, command, ui);
	fclose(memory);
	fputs(".TP\n.B ", out);
	roff(out, usage);
	free(usage);
	fputc('\n', out);
	roff_sentence(out, member_text(command, "help"));
	if (*member_text(command, "details")) {
		roff(out, member_text(command, "details"));
		fputc('\n', out);
	}
	json_array_foreach(json_object_get(command, "args"), i, row) {
		AUTO_FREE char *text = argument_text(row);
		argument_title(title, sizeof(title), row);
		roff_definition(out, title, text);
	}
	for (const struct args_option *o = ui->own; o && o->name; o++) {
		option_title(title, sizeof(title), o);
		roff_definition(out, title, o->help);
	}
}

void
help_manual(FILE *out, const json_t *table, const struct run_ui *uis)
{
	char title[TITLE_SIZE];
	size_t i;
	const json_t *command;
	fputs(".SH COMMANDS\n", out);
	json_array_foreach(table, i, command)
		if (!member_true(command, "hidden"))
			manual_command(out, command, args_ui(uis, command));
	for (i = 0; i < ARRAY_SIZE(own_commands); i++) {
		fprintf(out, ".TP\n.B kettle %s\n", own_commands[i].usage);
		roff_sentence(out, own_commands[i].help);
	}
	fputs(".SH GLOBAL OPTIONS\n", out);
	for (const struct args_option *o = args_globals; o->name; o++) {
		option_title(title, sizeof(title), o);
		fputs(".TP\n.B ", out);
		roff(out, title);
		fputc('\n', out);
		roff_sentence(out, o->help);
	}
}

/* Options and the fixed values of positional arguments of one command. */
static void
command_words(FILE *out, const json_t *command, const struct run_ui *ui)
{
	char name[ARGS_NAME_SIZE];
	size_t i, j;
	const json_t *row, *choice;
	json_array_foreach(json_object_get(command, "args"), i, row) {
		args_option_name(member_text(row, "name"), name);
		if (!args_bool(row, "positional"))
			fprintf(out, "--%s\n", name);
		json_array_foreach(json_object_get(row, "choices"), j, choice)
			fprintf(out, "%s\n", json_string_value(choice));
	}
	for (const struct args_option *o = ui->own; o && o->name; o++)
		fprintf(out, "--%s\n", o->name);
}

void
help_words(FILE *out, const json_t *table, const struct run_ui *uis, int argc, const char *const *argv)
{
	struct kettle_error err;
	const json_t *command = NULL;
	int words = 0;
	if (args_find(table, argc, argv, &command, &words, &err))
		return;
	if (command) {
		command_words(out, command, args_ui(uis, command));
	} else {
		AUTO_JSON json_t *names = args_following(table, words, argv);
		const char *name;
		json_t *value;
		json_object_foreach(names, name, value)
			fprintf(out, "%s\n", name);
		if (words == 0)
			fputs("serve\nhelp\n", out);
	}
	for (const struct args_option *o = args_globals; o->name; o++)
		fprintf(out, "--%s\n", o->name);
}
