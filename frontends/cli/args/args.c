/* SPDX-License-Identifier: MIT */
/* The command line against the core's command table. Pure. */
#include <config.h>

#include "cli/args/args.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/nearest.h"

#define ARGS_MAX_WORDS 3 /* of a command's name */

const struct args_option args_globals[] = {
	{"config", 0, "FILE", "the configuration (KETTLE_CONFIG; default: the user's, then the system's, if they exist)"},
	{"db", 0, "FILE", "the database (KETTLE_DB)"},
	{"user", 0, "NAME", "acts as this user on a local database (KETTLE_USER; default: the login name)"},
	{"json", 0, NULL, "one JSON document on standard output and nothing else (KETTLE_JSON)"},
	{"quiet", 0, NULL, "nothing but the last line (KETTLE_QUIET)"},
	{"log-format", 0, "FORMAT", "text, json or journal (KETTLE_LOG_FORMAT)"},
	{"log-level", 0, "LEVEL", "error, warning, info or debug (KETTLE_LOG_LEVEL)"},
	{"help", 'h', NULL, "this help, also of a command"},
	{"version", 0, NULL, "the version"},
	{NULL, 0, NULL, NULL},
};

void
args_option_name(const char *name, char ret_name[ARGS_NAME_SIZE])
{
	snprintf(ret_name, ARGS_NAME_SIZE, "%s", name);
	for (char *p = ret_name; *p; p++)
		if (*p == '_')
			*p = '-';
}

void
args_command_words(const json_t *command, char ret_words[ARGS_NAME_SIZE])
{
	args_option_name(member_text(command, "name"), ret_words);
	for (char *p = ret_words; *p; p++)
		if (*p == '.')
			*p = ' ';
}

const struct run_ui *
args_ui(const struct run_ui *uis, const json_t *command)
{
	static const struct run_ui none;
	for (; uis->command; uis++)
		if (member_is(command, "name", uis->command))
			return uis;
	return &none;
}

const json_t *
args_row(const json_t *command, const char *name)
{
	size_t i;
	const json_t *row;
	json_array_foreach(json_object_get(command, "args"), i, row)
		if (strcmp(member_text(row, "name"), name) == 0)
			return row;
	return NULL;
}

bool
args_is(const json_t *argument, const char *type)
{
	return strcmp(member_text(argument, "type"), type) == 0;
}

bool
args_bool(const json_t *argument, const char *property)
{
	return json_is_true(json_object_get(argument, property));
}

void
args_meta(const json_t *argument, char ret_meta[ARGS_NAME_SIZE])
{
	static const struct {
		const char *type, *meta;
	} metas[] = {{"int", "N"}, {"device", "DEVICE"}, {"board", "LEADERBOARD"}, {"id", "ID"}, {"when", "WHEN"},
		{"file", "FILE"}, {"task", "PATH"}, {"path", "PATH"}};
	const json_t *choices = json_object_get(argument, "choices"), *choice;
	size_t i, used = 0;
	const char *text = member_text(argument, "meta");
	if (*text) {
		snprintf(ret_meta, ARGS_NAME_SIZE, "%s", text);
		return;
	}
	ret_meta[0] = '\0';
	json_array_foreach(choices, i, choice)
		if (json_is_string(choice) && used + json_string_length(choice) + 2 < ARGS_NAME_SIZE)
			used += (size_t)snprintf(
				ret_meta + used, ARGS_NAME_SIZE - used, "%s%s", i > 0 ? "|" : "", json_string_value(choice));
	if (used > 0)
		return;
	args_option_name(member_text(argument, "name"), ret_meta);
	for (char *p = ret_meta; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	for (i = 0; i < ARRAY_SIZE(metas); i++)
		if (!args_bool(argument, "positional") && args_is(argument, metas[i].type))
			snprintf(ret_meta, ARGS_NAME_SIZE, "%s", metas[i].meta);
}

/* Whether the table's name ("leaderboard.create") begins with these words; *ret_rest: what follows them. */
static bool
starts_with(const json_t *command, int words, const char *const *argv, const char **ret_rest)
{
	char name[ARGS_NAME_SIZE];
	args_option_name(member_text(command, "name"), name);
	size_t at = 0;
	for (int i = 0; i < words; i++) {
		size_t len = strcspn(argv[i], ".");
		if (argv[i][len] != '\0') /* "leaderboard.create" is the table's word, not one to be typed */
			return false;
		if (i > 0 && name[at++] != '.')
			return false;
		if (strncmp(name + at, argv[i], len) != 0 || (name[at + len] != '.' && name[at + len] != '\0'))
			return false;
		at += len;
	}
	*ret_rest = member_text(command, "name") + at;
	return true;
}

json_t *
args_following(const json_t *table, int words, const char *const *argv)
{
	json_t *names = json_object();
	size_t i;
	const json_t *command;
	json_array_foreach(table, i, command) {
		const char *rest;
		char word[ARGS_NAME_SIZE];
		if (!starts_with(command, words, argv, &rest))
			continue;
		args_option_name(rest + (*rest == '.'), word);
		word[strcspn(word, ".")] = '\0';
		if (*word)
			json_object_set_new(names, word, json_true());
	}
	return names;
}

/* A command that is this word in one group alone: "leaderboard join" for "join". NULL: none, or several. */
static const char *
command_in_group(const json_t *table, const char *word, char ret_words[2 * ARGS_NAME_SIZE])
{
	const char *found = NULL;
	size_t i;
	const json_t *command;
	json_array_foreach(table, i, command) {
		const char *name = member_text(command, "name"), *dot = strchr(name, '.');
		char last[ARGS_NAME_SIZE];
		args_option_name(dot ? dot + 1 : "", last);
		if (!dot || strcmp(last, word) != 0)
			continue;
		if (found)
			return NULL;
		(void)snprintf(ret_words, 2 * ARGS_NAME_SIZE, "%.*s %s", (int)(dot - name), name, last);
		found = ret_words;
	}
	return found;
}

static int
no_command(const json_t *table, int words, const char *const *argv, struct kettle_error *err)
{
	AUTO_JSON json_t *names = args_following(table, words, argv);
	if (words == 0) /* the command line's own, and main's */
		json_object_update_missing_new(names, json_pack("{s:b, s:b}", "help", 1, "serve", 1));
	char elsewhere[2 * ARGS_NAME_SIZE];
	const char *near = words == 0 ? command_in_group(table, argv[0], elsewhere) : NULL;
	if (!near)
		near = nearest_key(argv[words], names);
	const char *group = words > 0 ? argv[0] : "";
	if (near)
		return kettle_fail(err, KETTLE_EINVAL, "There is no command `%s%s%s`; did you mean `%s%s%s`?", group,
			words > 0 ? " " : "", argv[words], group, words > 0 ? " " : "", near);
	return kettle_fail(err, KETTLE_EINVAL, "There is no command `%s%s%s`; `kettle help%s%s` lists what there is.",
		group, words > 0 ? " " : "", argv[words], words > 0 ? " " : "", group);
}

int
args_find(const json_t *table, int argc, const char *const *argv, const json_t **ret_command, int *ret_words,
	struct kettle_error *err)
{
	int words = 0;
	while (words < argc && words < ARGS_MAX_WORDS && argv[words][0] != '-') {
		size_t i;
		bool group = false;
		const json_t *command;
		json_array_foreach(table, i, command) {
			const char *rest;
			if (!starts_with(command, words + 1, argv, &rest))
				continue;
			group = true;
			if (*rest != '\0')
				continue;
			*ret_command = command;
			*ret_words = words + 1;
			return 0;
		}
		if (!group)
			return no_command(table, words, argv, err);
		words++;
	}
	*ret_command = NULL;
	*ret_words = words;
	return 0;
}

static const struct args_option *
find_own(const struct args_option *options, const char *name, size_t len, char letter)
{
	for (; options && options->name; options++)
		if (letter ? options->letter == letter : strncmp(options->name, name, len) == 0 && !options->name[len])
			return options;
	return NULL;
}

struct parser {
	const json_t *command;
	const struct args_option *own;
	int argc, at;
	const char *const *argv;
	struct args *args;
	size_t positionals; /* taken so far */
	char words[ARGS_NAME_SIZE];
	struct kettle_error *err;
};

static int
set_int(struct parser *p, const json_t *row, const char *shown, const char *text, json_t **ret_value)
{
	char *end;
	errno = 0;
	long long number = strtoll(text, &end, 10);
	if (end == text || *end || errno)
		return kettle_fail(p->err, KETTLE_EINVAL, "%s takes %s, not `%s`.", shown,
			args_is(row, "id") ? "the number of a submission" : "a whole number", text);
	*ret_value = json_integer(number);
	return 0;
}

static int
set_bool(struct parser *p, const char *shown, const char *text, json_t **ret_value)
{
	bool yes = !text || strcmp(text, "true") == 0 || strcmp(text, "yes") == 0;
	if (!yes && strcmp(text, "false") != 0 && strcmp(text, "no") != 0)
		return kettle_fail(p->err, KETTLE_EINVAL, "%s is a switch: true or false, not `%s`.", shown, text);
	*ret_value = json_boolean(yes);
	return 0;
}

/* Puts the value of one argument of the table in its place; shown is how messages call the argument. */
static int
set_value(struct parser *p, const json_t *row, const char *shown, const char *text)
{
	const char *name = member_text(row, "name");
	json_t *value = NULL;
	int rc = 0;
	if (args_is(row, "int") || args_is(row, "id"))
		rc = set_int(p, row, shown, text, &value);
	else if (args_is(row, "bool"))
		rc = set_bool(p, shown, text, &value);
	else if (!(value = json_string(text)))
		rc = kettle_fail(p->err, KETTLE_EINVAL, "The value of %s is not valid UTF-8.", shown);
	if (rc)
		return rc;
	if (!args_bool(row, "repeated")) {
		if (json_object_get(p->args->values, name)) {
			json_decref(value);
			return kettle_fail(p->err, KETTLE_EINVAL, "%s was given twice.", shown);
		}
		json_object_set_new(p->args->values, name, value);
		return 0;
	}
	if (!json_object_get(p->args->values, name))
		json_object_set_new(p->args->values, name, json_array());
	json_array_append_new(json_object_get(p->args->values, name), value);
	return 0;
}

/* The value of an option: behind the "=", or the next word. */
static int
take_value(struct parser *p, const char *shown, const char *meta, const char *inline_value, const char **ret_value)
{
	if (inline_value) {
		*ret_value = inline_value;
		return 0;
	}
	if (p->at >= p->argc)
		return kettle_fail(p->err, KETTLE_EINVAL, "%s needs a value: %s %s.", shown, shown, meta);
	*ret_value = p->argv[p->at++];
	return 0;
}

static int
set_own(struct parser *p, const struct args_option *option, const char *shown, const char *inline_value)
{
	const char *value = NULL;
	json_t *json = NULL;
	if (!option->meta && inline_value)
		return kettle_fail(p->err, KETTLE_EINVAL, "%s takes no value.", shown);
	if (!option->meta) {
		json_object_set_new(p->args->own, option->name, json_true());
		return 0;
	}
	int rc = take_value(p, shown, option->meta, inline_value, &value);
	if (rc)
		return rc;
	if (!(json = json_string(value)))
		return kettle_fail(p->err, KETTLE_EINVAL, "The value of %s is not valid UTF-8.", shown);
	json_object_set_new(p->args->own, option->name, json);
	return 0;
}

static int
unknown_option(struct parser *p, const char *shown)
{
	AUTO_JSON json_t *names = json_object();
	char name[ARGS_NAME_SIZE], dashed[ARGS_NAME_SIZE + 2];
	const struct args_option *lists[] = {p->own, args_globals};
	size_t i;
	const json_t *row;
	json_array_foreach(json_object_get(p->command, "args"), i, row) {
		args_option_name(member_text(row, "name"), name);
		snprintf(dashed, sizeof(dashed), "--%s", name);
		if (!args_bool(row, "positional"))
			json_object_set_new(names, dashed, json_true());
	}
	for (i = 0; i < ARRAY_SIZE(lists); i++)
		for (const struct args_option *o = lists[i]; o && o->name; o++) {
			snprintf(dashed, sizeof(dashed), "--%s", o->name);
			json_object_set_new(names, dashed, json_true());
		}
	const char *near = nearest_key(shown, names);
	if (near)
		return kettle_fail(
			p->err, KETTLE_EINVAL, "`kettle %s` has no option `%s`; did you mean `%s`?", p->words, shown, near);
	return kettle_fail(p->err, KETTLE_EINVAL, "`kettle %s` has no option `%s`; `kettle help %s` lists what it takes.",
		p->words, shown, p->words);
}

static int
long_option(struct parser *p, const char *word)
{
	const char *name = word + 2, *equals = strchr(name, '='), *value = NULL;
	size_t len = equals ? (size_t)(equals - name) : strlen(name), i;
	char shown[ARGS_NAME_SIZE], known[ARGS_NAME_SIZE], meta[ARGS_NAME_SIZE];
	const json_t *row;
	snprintf(shown, sizeof(shown), "--%.*s", (int)(len < ARGS_NAME_SIZE ? len : ARGS_NAME_SIZE), name);
	json_array_foreach(json_object_get(p->command, "args"), i, row) {
		args_option_name(member_text(row, "name"), known);
		if (args_bool(row, "positional") || strlen(known) != len || strncmp(known, name, len) != 0)
			continue;
		if (args_is(row, "bool"))
			return set_value(p, row, shown, equals ? equals + 1 : NULL);
		args_meta(row, meta);
		int rc = take_value(p, shown, meta, equals ? equals + 1 : NULL, &value);
		return rc ? rc : set_value(p, row, shown, value);
	}
	const struct args_option *option = find_own(p->own, name, len, 0);
	if (!option)
		option = find_own(args_globals, name, len, 0);
	return option ? set_own(p, option, shown, equals ? equals + 1 : NULL) : unknown_option(p, shown);
}

/* -o VALUE, -oVALUE, or flags together: -qh. */
static int
short_options(struct parser *p, const char *word)
{
	for (const char *letter = word + 1; *letter; letter++) {
		char shown[] = {'-', *letter, '\0'};
		const struct args_option *option = find_own(p->own, NULL, 0, *letter);
		if (!option)
			option = find_own(args_globals, NULL, 0, *letter);
		if (!option)
			return unknown_option(p, shown);
		if (option->meta)
			return set_own(p, option, shown, letter[1] ? letter + 1 : NULL);
		int rc = set_own(p, option, shown, NULL);
		if (rc)
			return rc;
	}
	return 0;
}

static int
positional(struct parser *p, const char *word)
{
	size_t i, seen = 0;
	const json_t *row;
	char meta[ARGS_NAME_SIZE];
	json_array_foreach(json_object_get(p->command, "args"), i, row) {
		if (!args_bool(row, "positional"))
			continue;
		if (seen++ < p->positionals)
			continue;
		if (!args_bool(row, "repeated"))
			p->positionals++;
		args_meta(row, meta);
		return set_value(p, row, meta, word);
	}
	return kettle_fail(p->err, KETTLE_EINVAL, "`kettle %s` takes no further argument `%s`.", p->words, word);
}

static int
missing(struct parser *p)
{
	char names[300] = "", meta[ARGS_NAME_SIZE], option[ARGS_NAME_SIZE];
	size_t i, used = 0;
	const json_t *row;
	json_array_foreach(json_object_get(p->command, "args"), i, row) {
		if (!args_bool(row, "required") || json_object_get(p->args->values, member_text(row, "name")))
			continue;
		bool by_place = args_bool(row, "positional");
		args_meta(row, meta);
		args_option_name(member_text(row, "name"), option);
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s%s%s%s", used ? " and " : "",
			by_place ? "" : "--", by_place ? "" : option, by_place ? "" : " ", meta);
		if (used >= sizeof(names))
			break;
	}
	return used ? kettle_fail(p->err, KETTLE_EINVAL, "`kettle %s` needs %s.", p->words, names) : 0;
}

int
args_parse(const json_t *command, const struct args_option *own, int argc, const char *const *argv,
	struct args *ret_args, struct kettle_error *err)
{
	struct parser p = {.command = command, .own = own, .argc = argc, .argv = argv, .args = ret_args, .err = err};
	bool options = true;
	int rc = 0;
	*ret_args = (struct args){.values = json_object(), .own = json_object()};
	args_command_words(command, p.words);
	while (rc == 0 && p.at < argc) {
		const char *word = argv[p.at++];
		if (options && strcmp(word, "--") == 0)
			options = false;
		else if (options && strncmp(word, "--", 2) == 0)
			rc = long_option(&p, word);
		else if (options && word[0] == '-' && word[1])
			rc = short_options(&p, word);
		else
			rc = positional(&p, word);
	}
	return rc || args_flag(ret_args, "help") ? rc : missing(&p);
}

void
args_free(struct args *args)
{
	json_decref(args->values);
	json_decref(args->own);
	*args = (struct args){0};
}

const char *
args_text(const struct args *args, const char *name)
{
	return json_string_value(json_object_get(args->own, name));
}

bool
args_flag(const struct args *args, const char *name)
{
	return json_is_true(json_object_get(args->own, name));
}
