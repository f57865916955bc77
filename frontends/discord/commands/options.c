/* SPDX-License-Identifier: MIT */
/* Options that are arguments of the core's commands. */
#include <config.h>

#include "discord/commands/options.h"

#include <ctype.h>

#include "base/base.h"
#include "discord/interaction/answer.h"
#include "discord/text/escape.h"

#define HELP_MAX 100 /* UTF-16 units */

/*
 * How Discord gets an argument of a type. name: the option's name, if it differs from the argument's. completes: the
 * option takes names of boards or devices; options for languages are known by the argument's name.
 */
static const struct {
	const char *type, *name;
	enum option_kind kind;
	bool completes;
	const char *help; /* replaces the core's */
} kinds[] = {
	{"string", .kind = OPTION_KIND_TEXT},
	{"choice", .kind = OPTION_KIND_TEXT},
	{"when", .kind = OPTION_KIND_TEXT},
	{"int", .kind = OPTION_KIND_INTEGER},
	{"bool", .kind = OPTION_KIND_FLAG},
	{"board", "leaderboard_name", OPTION_KIND_TEXT, .completes = true},
	{"device", "gpu", OPTION_KIND_TEXT, .completes = true},
	{"id", "submission_id", .kind = OPTION_KIND_INTEGER, .help = "the number of the submission"},
	{"user", "user", OPTION_KIND_USER, .help = "the user"},
};

/*
 * Fits a text of the core into Discord's limit: a text that is too long ends before its first colon or semicolon. New
 * string.
 */
static char *
help_text(const char *help)
{
	AUTO_FREE char *text = xstrdup(help);
	if (strlen(text) > HELP_MAX)
		text[strcspn(text, ":;")] = '\0';
	text[0] = (char)toupper((unsigned char)text[0]);
	AUTO_FREE char *quoted = escape_quotes(text);
	return escape_plain(quoted, HELP_MAX);
}

char *
options_help(const struct bot_command *command, const json_t *core)
{
	return command->help ? xstrdup(command->help)
						 : help_text(json_text_or_empty(list_find(core, "name", command->of), "help"));
}

bool
options_for_admins(const struct bot_command *command, const json_t *core)
{
	return strncmp(command->path, "admin ", strlen("admin ")) == 0 ||
		   (command->of && member_is(list_find(core, "name", command->of), "right", "admin"));
}

static void
add_choice(json_t *option, json_t *value)
{
	if (!json_object_get(option, "choices"))
		json_object_set_new(option, "choices", json_array());
	(void)json_array_append_new(
		json_object_get(option, "choices"), json_pack("{s:O, s:o}", "name", value, "value", value));
}

static json_t *
own_option(const struct option *option)
{
	json_t *json =
		json_pack("{s:i, s:s, s:s}", "type", (int)option->kind, "name", option->name, "description", option->help);
	if (option->required)
		json_object_set_new(json, "required", json_true());
	if (option->completes)
		json_object_set_new(json, "autocomplete", json_true());
	for (const char *const *choice = option->choices; choice && *choice; choice++)
		add_choice(json, json_string(*choice));
	return json;
}

/* Makes the option for an argument; NULL: Discord has no kind for it. name: the option's, or NULL. */
static json_t *
core_option(const json_t *argument, const char *name, bool required)
{
	size_t i = 0;
	json_t *choices = json_object_get(argument, "choices");
	while (i < ARRAY_SIZE(kinds) && !member_is(argument, "type", kinds[i].type))
		i++;
	if (i == ARRAY_SIZE(kinds))
		return NULL;
	const char *also = json_text_or_null(argument, "also"), *own = json_text_or_empty(argument, "name");
	AUTO_FREE char *help = help_text(kinds[i].help ? kinds[i].help : json_text_or_empty(argument, "help"));
	const struct option option = {.name = name            ? name
										  : kinds[i].name ? kinds[i].name
										  : also          ? also
														  : own,
		.help = help,
		.kind = kinds[i].kind,
		.required = required,
		.completes = kinds[i].completes || strncmp(own, "lang", 4) == 0};
	json_t *json = own_option(&option);
	json_object_set(json, "argument", (json_t *)argument);
	json_array_each(choices, choice)
		add_choice(json, json_incref(choice));
	return json;
}

/* Whether a word of `args` names an argument; see table.h. */
static bool
means(const struct bot_command *command, const char *word, const json_t *argument)
{
	const char *own = json_text_or_empty(argument, "name");
	size_t len = strcspn(word, "=?!");
	AUTO_FREE char *without = xasprintf("-%s", own);
	if (strcmp(word, "*") == 0)
		return !member_true(argument, "repeated") && !strstr(command->args, without);
	return strlen(own) == len && strncmp(own, word, len) == 0;
}

/* Adds the arguments that a word names, in their order. */
static void
add_options(json_t *options, const struct bot_command *command, const json_t *arguments, const char *word)
{
	size_t end = strcspn(word, "?!");
	AUTO_FREE char *name = strchr(word, '=') ? xstrndup(strchr(word, '=') + 1, end - strcspn(word, "=") - 1) : NULL;
	json_array_each(arguments, argument) {
		bool required = word[end] == '!' || (word[end] != '?' && member_true(argument, "required"));
		json_t *option = means(command, word, argument) ? core_option(argument, name, required) : NULL;
		if (option)
			(void)json_array_append_new(options, option);
	}
}

json_t *
options_of(const struct bot_command *command, const json_t *core)
{
	AUTO_JSON json_t *options = json_array();
	json_t *sorted = json_array();
	const json_t *arguments = json_object_get(command->of ? list_find(core, "name", command->of) : NULL, "args");
	AUTO_FREE char *words = xstrdup(command->args ? command->args : "");
	char *rest = words, *word;
	size_t i;
	json_t *option;
	while ((word = strsep(&rest, " ")))
		add_options(options, command, arguments, word);
	for (const struct option *own = command->options; own && own->name; own++)
		(void)json_array_append_new(options, own_option(own));
	for (int required = 1; required >= 0; required--)
		json_array_foreach(options, i, option)
			if (member_true(option, "required") == (bool)required)
				(void)json_array_append(sorted, option);
	return sorted;
}

static json_t *
value_of(const json_t *argument, json_t *given)
{
	json_t *value = member_is(argument, "type", "user")
						? json_pack("{s:s, s:O}", "provider", "discord", "subject", given)
						: json_incref(given);
	return member_true(argument, "repeated") ? json_pack("[o]", value) : value;
}

json_t *
options_args(const struct bot_command *command, const struct interaction *interaction)
{
	const struct kettle_host *host = interaction->bot->host;
	AUTO_JSON json_t *options = options_of(command, host->commands(host));
	json_t *args = command->with ? json_loads(command->with, 0, NULL) : json_object();
	json_array_each(options, option) {
		const json_t *argument = json_object_get(option, "argument");
		json_t *given = json_object_get(interaction->options, json_text_or_empty(option, "name"));
		if (argument && given)
			json_object_set_new(args, json_text_or_empty(argument, "name"), value_of(argument, given));
	}
	return args;
}
