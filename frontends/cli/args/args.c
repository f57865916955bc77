/* SPDX-License-Identifier: MIT */
/* Reads the command line by the core's command table. Pure. */
#include <config.h>

#include "cli/args/args.h"

#include <ctype.h>

#include "base/base.h"
#include "base/text.h"
#include "base/number.h"

#define ARGS_MAX_WORDS 3 /* of a command's name */

const struct args_option args_globals[] = {
	{"config", 0, "FILE", "the configuration (KETTLE_CONFIG; default: the user's, then the system's, if they exist)"},
	{"db", 0, "FILE", "the database (KETTLE_DB); commands that only read do not create it"},
	{"server", 0, "URL", "call a server by HTTP in place of a database (KETTLE_SERVER)"},
	{"user", 0, "NAME", "act as this user on a local database (KETTLE_USER; default: the login name)"},
	{"json", 0, NULL, "print one JSON document on standard output and nothing else (KETTLE_JSON)"},
	{"quiet", 0, NULL, "print only the last line, and why something failed (KETTLE_QUIET)"},
	{"log-format", 0, "text|json|journal", "the format of the log (KETTLE_LOG_FORMAT)"},
	{"log-level", 0, "error|warning|info|debug", "the least important messages that are logged (KETTLE_LOG_LEVEL)"},
	{"help", 'h', NULL, "show help, also for a command"},
	{"version", 0, NULL, "show the version"},
	{NULL, 0, NULL, NULL},
};

static void
option_name(const char *name, char ret_name[ARGS_NAME_SIZE])
{
	snprintf(ret_name, ARGS_NAME_SIZE, "%s", name);
	for (char *p = ret_name; *p; p++)
		if (*p == '_')
			*p = '-';
}

void
args_command_words(const json_t *command, char ret_words[ARGS_NAME_SIZE])
{
	option_name(json_text_or_empty(command, "name"), ret_words);
	for (char *p = ret_words; *p; p++)
		if (*p == '.')
			*p = ' ';
}

const struct args_ui *
args_ui(const struct args_ui *uis, const json_t *command)
{
	static const struct args_ui none;
	for (; uis->command; uis++)
		if (member_is(command, "name", uis->command))
			return uis;
	return &none;
}

/* Chooses the placeholder for a value in help if the table has none. */
static void
make_meta(struct args_row *row)
{
	static const struct {
		const char *type, *meta;
	} metas[] = {{"int", "N"}, {"device", "DEVICE"}, {"board", "LEADERBOARD"}, {"id", "ID"}, {"when", "WHEN"},
		{"file", "FILE"}, {"task", "PATH"}, {"path", "PATH"}};
	const json_t *choice;
	size_t i, used = 0;
	json_array_foreach(json_object_get(row->data, "choices"), i, choice)
		if (used + json_string_length(choice) + 2 < ARGS_NAME_SIZE)
			used += (size_t)snprintf(
				row->meta + used, ARGS_NAME_SIZE - used, "%s%s", i > 0 ? "|" : "", json_string_value(choice));
	if (used > 0)
		return;
	snprintf(row->meta, ARGS_NAME_SIZE, "%s", row->option);
	for (char *p = row->meta; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	for (i = 0; i < ARRAY_SIZE(metas); i++)
		if (!row->positional && strcmp(row->type, metas[i].type) == 0)
			snprintf(row->meta, ARGS_NAME_SIZE, "%s", metas[i].meta);
}

/* The letters of options that many commands have; 0: no letter. */
static char
letter_of(const char *name)
{
	static const char *const names[] = {"leaderboard", "mode", "device"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return *name;
	return '\0';
}

bool
args_row(const json_t *command, const struct args_option *own, size_t i, struct args_row *ret_row)
{
	const json_t *rows = json_object_get(command, "args"), *data = json_array_get(rows, i);
	const char *meta = json_text_or_null(data, "meta");
	if (data) {
		*ret_row = (struct args_row){.data = data,
			.name = json_text_or_empty(data, "name"),
			.alias = json_text_or_empty(data, "also"),
			.type = json_text_or_empty(data, "type"),
			.help = json_text_or_empty(data, "help"),
			.positional = member_true(data, "positional"),
			.required = member_true(data, "required"),
			.repeated = member_true(data, "repeated"),
			.flag = member_is(data, "type", "bool")};
		ret_row->letter = ret_row->positional ? '\0' : letter_of(ret_row->name);
	} else {
		for (i -= json_array_size(rows); own && own->name && i > 0; i--)
			own++;
		if (!own || !own->name)
			return false;
		meta = own->meta;
		*ret_row = (struct args_row){
			.name = own->name, .alias = "", .type = "", .help = own->help, .letter = own->letter, .flag = !own->meta};
	}
	option_name(ret_row->name, ret_row->option);
	if (meta)
		snprintf(ret_row->meta, ARGS_NAME_SIZE, "%s", meta);
	else
		make_meta(ret_row);
	return true;
}

/* Whether the table's name ("leaderboard.create") begins with these words; *ret_rest: the rest of it. */
static bool
starts_with(const json_t *command, int words, const char *const *argv, const char **ret_rest)
{
	char name[ARGS_NAME_SIZE];
	option_name(json_text_or_empty(command, "name"), name);
	size_t at = 0;
	for (int i = 0; i < words; i++) {
		size_t len = strcspn(argv[i], ".");
		if (argv[i][len] != '\0') /* "leaderboard.create" is a name of the table, not a typed word */
			return false;
		if (i > 0 && name[at++] != '.')
			return false;
		if (strncmp(name + at, argv[i], len) != 0 || (name[at + len] != '.' && name[at + len] != '\0'))
			return false;
		at += len;
	}
	*ret_rest = json_text_or_empty(command, "name") + at;
	return true;
}

json_t *
args_following(const json_t *table, int words, const char *const *argv)
{
	json_t *names = json_object();
	json_array_each(table, command) {
		const char *rest;
		char word[ARGS_NAME_SIZE];
		if (member_true(command, "hidden") || !starts_with(command, words, argv, &rest))
			continue;
		option_name(rest + (*rest == '.'), word);
		word[strcspn(word, ".")] = '\0';
		if (*word)
			json_object_set_new(names, word, json_true());
	}
	return names;
}

/* Finds a command by its last word if only one group has it: "leaderboard join" for "join". NULL: none, or several. */
static const char *
command_in_group(const json_t *table, const char *word, char ret_words[2 * ARGS_NAME_SIZE])
{
	const char *found = NULL;
	json_array_each(table, command) {
		const char *name = json_text_or_empty(command, "name"), *dot = strchr(name, '.');
		char last[ARGS_NAME_SIZE];
		option_name(dot ? dot + 1 : "", last);
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
	if (words == 0) /* commands that only the command line or main has */
		json_object_update_missing_new(names, json_pack("{s:b, s:b, s:b}", "help", 1, "serve", 1, "completion", 1));
	char elsewhere[2 * ARGS_NAME_SIZE];
	const char *near = words == 0 ? command_in_group(table, argv[0], elsewhere) : NULL;
	if (!near)
		near = nearest_key(argv[words], names);
	const char *group = words > 0 ? argv[0] : "";
	if (near)
		return kettle_fail(err, KETTLE_EINVAL, "There is no command `%s%s%s`; did you mean `%s%s%s`?", group,
			words > 0 ? " " : "", argv[words], group, words > 0 ? " " : "", near);
	return kettle_fail(err, KETTLE_EINVAL, "There is no command `%s%s%s`; `kettle help%s%s` lists the commands.", group,
		words > 0 ? " " : "", argv[words], words > 0 ? " " : "", group);
}

/* Finds a command by its alias. */
static bool
find_also(const json_t *table, int argc, const char *const *argv, const json_t **ret_command, int *ret_words)
{
	char typed[ARGS_NAME_SIZE] = "";
	for (int words = 0; words < argc && words < ARGS_MAX_WORDS; words++) {
		size_t used = strlen(typed);
		if (snprintf(typed + used, sizeof(typed) - used, "%s%s", words ? "." : "", argv[words]) >=
			(int)(sizeof(typed) - used))
			return false;
		json_array_each(table, command) {
			char alias[ARGS_NAME_SIZE];
			option_name(json_text_or_empty(command, "also"), alias);
			if (!*alias || strcmp(alias, typed) != 0)
				continue;
			*ret_command = command;
			*ret_words = words + 1;
			return true;
		}
	}
	return false;
}

/* Whether so many words begin the names of commands: `login confirm` is no argument of `login`. */
static bool
is_group(const json_t *table, int words, int argc, const char *const *argv)
{
	const char *rest;
	json_array_each(table, command)
		if (words <= argc && starts_with(command, words, argv, &rest))
			return true;
	return false;
}

int
args_find(const json_t *table, int argc, const char *const *argv, const json_t **ret_command, int *ret_words,
	struct kettle_error *err)
{
	int words = 0;
	if (find_also(table, argc, argv, ret_command, ret_words))
		return 0;
	while (words < argc && words < ARGS_MAX_WORDS && argv[words][0] != '-') {
		bool group = false;
		json_array_each(table, command) {
			const char *rest;
			if (!starts_with(command, words + 1, argv, &rest))
				continue;
			group = true;
			if (*rest != '\0' || is_group(table, words + 2, argc, argv))
				continue;
			*ret_command = command;
			*ret_words = words + 1;
			return 0;
		}
		if (!group && argc > 1 && strcmp(argv[0], "serve") == 0) /* main takes it only alone */
			return kettle_fail(err, KETTLE_EINVAL, "`kettle serve` takes no further arguments, but got `%s`.", argv[1]);
		if (!group)
			return no_command(table, words, argv, err);
		words++;
	}
	*ret_command = NULL;
	*ret_words = words;
	return 0;
}

struct parser {
	const json_t *command;
	const struct args_option *own;
	int argc, at;
	const char *const *argv;
	struct args *args;
	size_t positionals; /* positional arguments so far */
	char words[ARGS_NAME_SIZE];
	struct kettle_error *err;
};

static int
set_int(struct parser *p, const struct args_row *row, const char *shown, const char *text, json_t **ret_value)
{
	long long number;
	/* An id whose default is a word accepts that word, too. */
	if (strcmp(row->type, "id") == 0 && strcmp(text, json_text_or_empty(row->data, "default")) == 0) {
		*ret_value = json_string(text);
		return 0;
	}
	if (!number_parse_integer(text, &number))
		return kettle_fail(p->err, KETTLE_EINVAL, "%s takes %s, not `%s`.", shown,
			strcmp(row->type, "id") == 0 ? "the number of a submission" : "a whole number", text);
	*ret_value = json_integer(number);
	return 0;
}

static int
set_flag(struct parser *p, const char *shown, const char *text, json_t **ret_value)
{
	bool yes = !text || strcmp(text, "true") == 0 || strcmp(text, "yes") == 0;
	if (!yes && strcmp(text, "false") != 0 && strcmp(text, "no") != 0)
		return kettle_fail(p->err, KETTLE_EINVAL, "%s must be true or false, not `%s`.", shown, text);
	*ret_value = json_boolean(yes);
	return 0;
}

/* Stores the value of an argument; shown: its name in messages. text: NULL only for a flag. */
static int
set_value(struct parser *p, const struct args_row *row, const char *shown, const char *text)
{
	json_t *values = row->data ? p->args->values : p->args->own, *value = NULL;
	int rc = 0;
	if (row->flag)
		rc = set_flag(p, shown, text, &value);
	else if (strcmp(row->type, "int") == 0 || strcmp(row->type, "id") == 0)
		rc = set_int(p, row, shown, text, &value);
	else if (!(value = json_string(text)))
		rc = kettle_fail(p->err, KETTLE_EINVAL, "The value of %s is not valid UTF-8.", shown);
	if (rc)
		return rc;
	if (row->repeated) {
		if (!json_object_get(values, row->name))
			json_object_set_new(values, row->name, json_array());
		json_array_append_new(json_object_get(values, row->name), value);
		return 0;
	}
	if (row->data && json_object_get(values, row->name)) {
		json_decref(value);
		return kettle_fail(p->err, KETTLE_EINVAL, "%s was given twice.", shown);
	}
	json_object_set_new(values, row->name, value);
	return 0;
}

/* Stores an option with the value after its "=" (text), or with text NULL the next word. */
static int
set_option(struct parser *p, const struct args_row *row, const char *shown, const char *text)
{
	if (row->flag && !row->data && text)
		return kettle_fail(p->err, KETTLE_EINVAL, "%s takes no value.", shown);
	if (!row->flag && !text && p->at >= p->argc)
		return kettle_fail(p->err, KETTLE_EINVAL, "%s needs a value: %s %s.", shown, shown, row->meta);
	return set_value(p, row, shown, row->flag || text ? text : p->argv[p->at++]);
}

static bool
is_named(const struct args_row *row, const char *name, size_t len)
{
	return (strlen(row->option) == len && strncmp(row->option, name, len) == 0) ||
		   (strlen(row->alias) == len && len > 0 && strncmp(row->alias, name, len) == 0);
}

bool
args_option(const json_t *command, const struct args_option *own, const char *name, size_t len, char letter,
	struct args_row *ret_row)
{
	for (int global = 0; global < 2; global++)
		for (size_t i = 0; args_row(global ? NULL : command, global ? args_globals : own, i, ret_row); i++)
			if (letter ? ret_row->letter == letter : !ret_row->positional && is_named(ret_row, name, len))
				return true;
	return false;
}

static void
add_options(const json_t *command, const struct args_option *own, json_t *names)
{
	char dashed[ARGS_NAME_SIZE + 2];
	struct args_row row;
	for (size_t i = 0; args_row(command, own, i, &row); i++) {
		snprintf(dashed, sizeof(dashed), "--%s", row.option);
		if (!row.positional)
			json_object_set_new(names, dashed, json_true());
	}
}

int
args_unknown_global(const char *word, struct kettle_error *err)
{
	AUTO_JSON json_t *names = json_object();
	AUTO_FREE char *shown = xstrndup(word, strcspn(word, "="));
	add_options(NULL, args_globals, names);
	const char *near = nearest_key(shown, names);
	if (near)
		return kettle_fail(err, KETTLE_EINVAL, "There is no global option `%s`; did you mean `%s`?", shown, near);
	return kettle_fail(err, KETTLE_EINVAL, "There is no global option `%s`; `kettle help` lists them.", shown);
}

static int
unknown_option(struct parser *p, const char *shown)
{
	AUTO_JSON json_t *names = json_object();
	add_options(p->command, p->own, names);
	add_options(NULL, args_globals, names);
	const char *near = nearest_key(shown, names);
	if (near)
		return kettle_fail(
			p->err, KETTLE_EINVAL, "`kettle %s` has no option `%s`; did you mean `%s`?", p->words, shown, near);
	return kettle_fail(p->err, KETTLE_EINVAL, "`kettle %s` has no option `%s`; `kettle help %s` lists its options.",
		p->words, shown, p->words);
}

static int
long_option(struct parser *p, const char *word)
{
	const char *name = word + 2, *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	char shown[ARGS_NAME_SIZE];
	struct args_row row;
	snprintf(shown, sizeof(shown), "--%.*s", (int)(len < ARGS_NAME_SIZE ? len : ARGS_NAME_SIZE), name);
	if (!args_option(p->command, p->own, name, len, 0, &row))
		return unknown_option(p, shown);
	return set_option(p, &row, shown, equals ? equals + 1 : NULL);
}

/* Reads -o VALUE, -oVALUE, or several flags: -qh. */
static int
short_options(struct parser *p, const char *word)
{
	struct args_row row;
	for (const char *letter = word + 1; *letter; letter++) {
		char shown[] = {'-', *letter, '\0'};
		if (!args_option(p->command, p->own, NULL, 0, *letter, &row))
			return unknown_option(p, shown);
		int rc = set_option(p, &row, shown, !row.flag && letter[1] ? letter + 1 : NULL);
		if (rc || !row.flag)
			return rc;
	}
	return 0;
}

bool
args_place(const json_t *command, size_t before, struct args_row *ret_row)
{
	for (size_t i = 0; args_row(command, NULL, i, ret_row); i++)
		if (ret_row->positional && before-- == 0)
			return true;
	return false;
}

static int
positional(struct parser *p, const char *word)
{
	struct args_row row;
	if (args_place(p->command, p->positionals, &row)) {
		p->positionals += !row.repeated;
		return set_value(p, &row, row.meta, word);
	}
	return kettle_fail(p->err, KETTLE_EINVAL, "`kettle %s` takes no further arguments, but got `%s`.", p->words, word);
}

static int
missing(struct parser *p)
{
	AUTO_BUF struct buf names = {0};
	struct args_row row;
	for (size_t i = 0; args_row(p->command, NULL, i, &row); i++) {
		if (!row.required || json_object_get(p->args->values, row.name))
			continue;
		buf_adds(&names, names.len ? " and " : "");
		if (!row.positional)
			buf_printf(&names, "--%s ", row.option);
		buf_adds(&names, row.meta);
	}
	return names.len ? kettle_fail(p->err, KETTLE_EINVAL, "`kettle %s` needs %s.", p->words, names.data) : 0;
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
	json_decref_all(args->values, args->own);
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
