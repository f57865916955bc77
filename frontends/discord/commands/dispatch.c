/* SPDX-License-Identifier: MIT */
/* Finds the handler of an interaction, and calls it. Completes names that a user types. */
#include <config.h>

#include "discord/commands/dispatch.h"

#include "base/base.h"
#include "discord/commands/options.h"
#include "discord/interaction/answer.h"
#include "discord/interaction/interaction.h"

/* ---- completion: first the names that begin with the typed text, then those that contain it ---- */

#define CHOICES_MAX 25
#define CHOICE_BYTES_MAX 100

static const char *
typed(const struct interaction *interaction)
{
	const char *text = interaction_text(interaction, interaction->focused);
	return text ? text : "";
}

static void
add_choice(json_t *choices, const char *name, const char *value)
{
	if (*value && strlen(value) <= CHOICE_BYTES_MAX && strlen(name) <= CHOICE_BYTES_MAX &&
		json_array_size(choices) < CHOICES_MAX)
		(void)json_array_append_new(choices, json_pack("{s:s, s:s}", "name", name, "value", value));
}

/* Returns the names that match the typed text, each after `before`, the unchanged part. */
static json_t *
fitting(const json_t *names, const char *before, const char *text)
{
	json_t *choices = json_array();
	size_t len = strlen(text);
	for (int begins = 1; begins >= 0; begins--)
		json_array_each(names, name) {
			const char *word = json_string_value(name);
			bool first = strncasecmp(word, text, len) == 0;
			if (first != (bool)begins || !strcasestr(word, text))
				continue;
			AUTO_FREE char *value = xasprintf("%s%s", before, word);
			add_choice(choices, value, value);
		}
	return choices;
}

/* Adds a member of each object of a list. */
static void
complete_from(struct interaction *interaction, const json_t *list, const char *member)
{
	AUTO_JSON json_t *names = json_array();
	json_array_each(list, item)
		(void)json_array_append(names, json_object_get(item, member));
	interaction_choices(interaction, fitting(names, "", typed(interaction)));
}

static void
complete_board(struct interaction *interaction, const json_t *boards, void *arg)
{
	(void)arg;
	complete_from(interaction, boards, "name");
}

/* Completes devices of the chosen board, else of all boards, after the last comma. */
static void
complete_device(struct interaction *interaction, const json_t *boards, void *arg)
{
	const char *chosen = interaction_text(interaction, "leaderboard_name"), *text = typed(interaction);
	const char *comma = strrchr(text, ','), *last = comma ? comma + 1 : text;
	AUTO_JSON json_t *names = json_array();
	(void)arg;
	last += strspn(last, " ");
	AUTO_FREE char *before = xstrndup(text, (size_t)(last - text));
	json_array_each(boards, board) {
		if (chosen && strcasecmp(json_text_or_empty(board, "name"), chosen) != 0)
			continue;
		json_array_each(json_object_get(board, "gpu_types"), device)
			if (!list_has_text(names, json_string_value(device)) && !strcasestr(before, json_string_value(device)))
				(void)json_array_append(names, device);
	}
	interaction_choices(interaction, fitting(names, before, last));
}

static void
complete_template(struct interaction *interaction, const json_t *result, void *arg)
{
	(void)arg;
	complete_from(interaction, json_object_get(result, "templates"), "language");
}

static void
complete_language(struct interaction *interaction)
{
	const char *board = interaction_text(interaction, "leaderboard_name");
	if (board && *board) {
		interaction_call(
			interaction, "leaderboard.template", json_pack("{s:s}", "name", board), complete_template, NULL, NULL);
		return;
	}
	/* The names that users know; the commands also accept the languages' aliases. */
	AUTO_JSON json_t *names = json_pack("[s, s, s, s]", "python", "cuda", "hip", "cpp");
	interaction_choices(interaction, fitting(names, "", typed(interaction)));
}

static void
complete(struct interaction *interaction)
{
	const char *option = interaction->focused ? interaction->focused : "";
	if (strcmp(option, "leaderboard_name") == 0)
		boards_get(interaction, complete_board, NULL, NULL);
	else if (strcmp(option, "gpu") == 0)
		boards_get(interaction, complete_device, NULL, NULL);
	else if (strcmp(option, "lang") == 0 || strcmp(option, "language") == 0)
		complete_language(interaction);
	else
		interaction_choices(interaction, json_array());
}

/* ---- the handler of an interaction ---- */

static const struct bot_command *
find_command(const char *path)
{
	for (const struct bot_command *command = discord_commands; command->path; command++)
		if (strcmp(command->path, path) == 0)
			return command;
	return NULL;
}

/* Checks the right here too: a server's settings can show an admin's command to others. */
static bool
may_run(struct interaction *interaction, const struct bot_command *command)
{
	const struct kettle_host *host = interaction->bot->host;
	const char *role = interaction->bot->roles[BOT_ADMIN];
	int len = (int)strcspn(command->path, " ");
	if (!options_for_admins(command, host->commands(host)) || member_is(interaction->actor, "role", "admin"))
		return true;
	if (*role)
		interaction_say(
			interaction, "Only <@&%s> and administrators of this server may use `/%.*s`.", role, len, command->path);
	else
		interaction_say(interaction, "Only administrators of this server may use `/%.*s`.", len, command->path);
	return false;
}

static void
on_answer(struct interaction *interaction, const json_t *result, void *arg)
{
	const struct bot_command *command = arg;
	if (command->says)
		answer_say(interaction, command->says, result);
	else
		command->answered(interaction, result);
}

/* Calls a command of the core. A long answer is a file with the command's last word as name. */
static void
call(struct interaction *interaction, const struct bot_command *command)
{
	const char *space = strrchr(command->path, ' ');
	AUTO_FREE char *file = xasprintf("%s.txt", space ? space + 1 : command->path);
	const struct kettle_host *host = interaction->bot->host;
	json_t *args = options_args(command, interaction);
	if (member_is(list_find(host->commands(host), "name", command->of), "kind", "write"))
		boards_forget(interaction->bot);
	if (command->answered || command->says)
		interaction_call(interaction, command->of, args, on_answer, NULL, (void *)command);
	else
		answer_call(interaction, command->of, args, file);
}

static void
run_command(struct interaction *interaction)
{
	const struct bot_command *command = find_command(interaction->command);
	if (!command) {
		interaction_say(interaction, "This command has changed; try it again in a minute, or see `/leaderboard help`.");
		return;
	}
	if (!may_run(interaction, command))
		return;
	if (!command->at_once)
		interaction_defer(interaction, command->open);
	if (command->run)
		command->run(interaction);
	else
		call(interaction, command);
}

static void
run_verb(struct interaction *interaction)
{
	const char *colon = strchr(interaction->custom_id, ':');
	size_t len = colon ? (size_t)(colon - interaction->custom_id) : strlen(interaction->custom_id);
	for (const struct verb *verb = discord_verbs; verb->name; verb++) {
		if (strlen(verb->name) != len || strncmp(verb->name, interaction->custom_id, len) != 0)
			continue;
		verb->run(interaction, colon ? colon + 1 : "");
		return;
	}
	interaction_say(interaction, "This button comes from an earlier version of the bot; use the command again.");
}

void
dispatch_interaction(struct bot *bot, const json_t *data)
{
	struct interaction *interaction;
	interaction_read(bot, data, &interaction);
	if (!interaction)
		return;
	switch (interaction->kind) {
	case INTERACTION_PING:
		break;
	case INTERACTION_COMMAND:
		run_command(interaction);
		break;
	case INTERACTION_COMPONENT:
	case INTERACTION_FORM:
		run_verb(interaction);
		break;
	case INTERACTION_COMPLETION:
		complete(interaction);
		break;
	}
	interaction_unref(interaction);
}
