/* SPDX-License-Identifier: MIT */
/* Completes a typed word for a shell, from the command table. Pure. */
#include <config.h>

#include "cli/args/complete.h"

#include "base/base.h"
#include "cli/args/help.h"
#include "common/term.h"

#define ABOUT_WIDTH 60 /* columns of a value's explanation */

/* A line that is being typed. */
struct typed {
	FILE *out;
	const json_t *command; /* NULL: not known yet */
	const struct args_option *own;
	const char *word;    /* the last word, which is completed */
	struct args_row row; /* with `value`: the option whose value the word is */
	bool value;          /* the word is the value of an option */
	bool options;        /* no `--` precedes it */
	size_t places;       /* positional arguments before it */
	json_t *given;       /* options before it */
	struct complete_live *live;
};

static bool
begins(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void
put_line(FILE *out, const char *lead, int lead_size, const char *word, const char *about)
{
	fprintf(out, "%.*s%s", lead_size, lead ? lead : "", word);
	if (about && *about) {
		fputc('\t', out);
		term_sanitize(out, about, ABOUT_WIDTH);
	}
	fputc('\n', out);
}

void
complete_put_value(FILE *out, const struct complete_live *live, const char *value, const char *about)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+";
	if (*value && *value != '-' && value[strspn(value, plain)] == '\0')
		put_line(out, live->lead, live->lead_size, value, about);
}

/* Remembers values before the last word that narrow its completions. */
static void
note_value(struct typed *typed, const struct args_row *row, const char *text)
{
	if (strcmp(row->type, "board") == 0 && *text)
		typed->live->leaderboard = text;
}

/* Reads an option; *at is its index, on return that of its last word. */
static void
take_option(struct typed *typed, int argc, const char *const *argv, int *at)
{
	const char *word = argv[*at];
	bool is_long = word[1] == '-';
	const char *equals = is_long ? strchr(word, '=') : NULL;
	size_t len = is_long ? (equals ? (size_t)(equals - word) : strlen(word)) - 2 : 0;
	struct args_row row;
	if (!args_option(typed->command, typed->own, word + 2, len, is_long ? '\0' : word[1], &row))
		return;
	if (!row.repeated)
		json_object_set_new(typed->given, row.option, json_true());
	if (row.flag || (!is_long && word[2]))
		return;
	if (!equals && ++*at == argc - 1) {
		typed->row = row;
		typed->value = true;
	} else if (*at < argc) {
		note_value(typed, &row, equals ? equals + 1 : argv[*at]);
	}
}

/* Reads the words before the last one. */
static void
read_words(struct typed *typed, int argc, const char *const *argv)
{
	typed->options = true;
	for (int at = 0; at < argc - 1; at++) {
		const char *word = argv[at];
		struct args_row row;
		if (typed->options && strcmp(word, "--") == 0) {
			typed->options = false;
		} else if (typed->options && word[0] == '-' && word[1]) {
			take_option(typed, argc, argv, &at);
		} else if (args_place(typed->command, typed->places, &row)) {
			note_value(typed, &row, word);
			typed->places += !row.repeated;
		}
	}
	/* `--name=` with a part of the value. */
	size_t len = strcspn(typed->word, "=");
	if (!typed->value && typed->options && begins(typed->word, "--") && typed->word[len] == '=' &&
		args_option(typed->command, typed->own, typed->word + 2, len - 2, '\0', &typed->row)) {
		typed->value = true;
		typed->live->lead = typed->word;
		typed->live->lead_size = (int)(len + 1);
		typed->word += len + 1;
	}
}

/* Offers the words of "bash|zsh|fish" that begin with the prefix. */
static void
offer_choices(FILE *out, const struct complete_live *live, const char *choices, const char *prefix)
{
	for (size_t n; *choices; choices += n + (choices[n] == '|')) {
		char word[ARGS_NAME_SIZE];
		n = strcspn(choices, "|");
		snprintf(word, sizeof(word), "%.*s", (int)n, choices);
		if (begins(word, prefix))
			put_line(out, live->lead, live->lead_size, word, NULL);
	}
}

/* Offers values of an argument: its choices, names that the core knows, or files. */
static void
offer_values(struct typed *typed, const struct args_row *row)
{
	static const struct {
		const char *type, *what;
	} live[] = {{"board", "board"}, {"device", "device"}, {"id", "submission"}};
	static const char *const files[] = {"file", "task", "problems", "path"};
	static const char *const metas[] = {"FILE", "DIR", "PATH"};
	const json_t *choice;
	size_t i;
	json_array_foreach(json_object_get(row->data, "choices"), i, choice)
		if (begins(json_string_value(choice), typed->word))
			put_line(typed->out, typed->live->lead, typed->live->lead_size, json_string_value(choice), NULL);
	if (!row->data && strchr(row->meta, '|'))
		offer_choices(typed->out, typed->live, row->meta, typed->word);
	for (i = 0; i < ARRAY_SIZE(live); i++)
		if (strcmp(row->type, live[i].type) == 0)
			typed->live->what = live[i].what;
	bool is_file = false;
	for (i = 0; i < ARRAY_SIZE(files); i++)
		is_file = is_file || strcmp(row->type, files[i]) == 0;
	for (i = 0; i < ARRAY_SIZE(metas); i++)
		is_file = is_file || (!row->data && strcmp(row->meta, metas[i]) == 0);
	if (is_file)
		fputs(COMPLETE_FILES "\n", typed->out);
}

static void
offer_options(struct typed *typed)
{
	for (int global = 0; global < 2; global++) {
		struct args_row row;
		for (size_t i = 0; args_row(global ? NULL : typed->command, global ? args_globals : typed->own, i, &row); i++) {
			char name[ARGS_NAME_SIZE + 2];
			snprintf(name, sizeof(name), "--%s", row.option);
			if (!row.positional && begins(name, typed->word) && !json_object_get(typed->given, row.option))
				put_line(typed->out, NULL, 0, name, row.help);
		}
	}
}

/* Offers the words that can follow these, each once; a group gets no explanation. */
static void
offer_commands(FILE *out, const json_t *table, int words, const char *const *argv, const char *prefix)
{
	AUTO_JSON json_t *seen = json_object();
	char before[ARGS_NAME_SIZE] = "", name[ARGS_NAME_SIZE];
	size_t used = 0;
	for (int w = 0; w < words && used < sizeof(before); w++)
		used += (size_t)snprintf(before + used, sizeof(before) - used, "%s ", argv[w]);
	json_array_each(table, command) {
		args_command_words(command, name);
		if (member_true(command, "hidden") || !begins(name, before) || !begins(name + used, prefix))
			continue;
		char *end = strchr(name + used, ' ');
		if (end)
			*end = '\0';
		if (json_object_get(seen, name + used))
			continue;
		json_object_set_new(seen, name + used, json_true());
		put_line(out, NULL, 0, name + used, end ? NULL : json_text_or_empty(command, "help"));
	}
	for (const struct help_own *own = help_own_commands; words == 0 && own->usage; own++) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(own->usage, " "), own->usage);
		if (begins(name, prefix))
			put_line(out, NULL, 0, name, own->help);
	}
}

/*
 * Offers the argument of a command that is not in the table, if its usage lists the choices. false: it is no such
 * command.
 */
static bool
offer_own_argument(FILE *out, const struct complete_live *live, int argc, const char *const *argv)
{
	for (const struct help_own *own = help_own_commands; argc == 2 && own->usage; own++) {
		size_t len = strcspn(own->usage, " ");
		if (strlen(argv[0]) != len || strncmp(own->usage, argv[0], len) != 0)
			continue;
		if (strchr(own->usage, '|'))
			offer_choices(out, live, own->usage + len + 1, argv[1]);
		return true;
	}
	return false;
}

/* Offers the options and arguments of a command or, if none is typed yet, the global options. */
static void
offer_arguments(struct typed *typed)
{
	struct args_row row;
	bool dashes = typed->options && typed->word[0] == '-';
	if (typed->value)
		offer_values(typed, &typed->row);
	else if (!dashes && args_place(typed->command, typed->places, &row))
		offer_values(typed, &row);
	else if (typed->options)
		offer_options(typed);
}

void
complete_words(FILE *out, const json_t *table, const struct args_ui *uis, int argc, const char *const *argv,
	struct complete_live *ret_live)
{
	struct kettle_error err;
	int words = 0;
	bool help = argc > 1 && strcmp(argv[0], "help") == 0;
	*ret_live = (struct complete_live){0};
	if (argc < 1 || (!help && offer_own_argument(out, ret_live, argc, argv)))
		return;
	argc -= help;
	argv += help;
	struct typed typed = {.out = out, .word = argv[argc - 1], .live = ret_live};
	if (args_find(table, argc - 1, argv, &typed.command, &words, &err) || (help && typed.command))
		return;
	AUTO_JSON json_t *given = json_object();
	typed.given = given;
	typed.own = typed.command ? args_ui(uis, typed.command)->own : NULL;
	read_words(&typed, argc - words, argv + words);
	if (!typed.command && !typed.value && (help || typed.word[0] != '-'))
		offer_commands(out, table, words, argv, typed.word);
	else
		offer_arguments(&typed);
	ret_live->prefix = typed.word;
	ret_live->others = typed.command && !member_is(typed.command, "right", "anybody");
}
