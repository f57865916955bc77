/* SPDX-License-Identifier: MIT */
/* Finds the handler of an interaction, and calls it. */
#include <config.h>

#include "discord/commands/dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "discord/commands/complete.h"
#include "discord/commands/options.h"
#include "discord/interaction/answer.h"
#include "discord/interaction/boards.h"

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

/* Calls a command of the core. A long answer is a file with the command's last word as name. */
static void
call(struct interaction *interaction, const struct bot_command *command)
{
	const char *space = strrchr(command->path, ' ');
	AUTO_FREE char *file = xasprintf("%s.txt", space ? space + 1 : command->path);
	const struct kettle_host *host = interaction->bot->host;
	json_t *args = options_args(command, interaction);
	if (member_is(answer_row(host->commands(host), command->of), "kind", "write"))
		boards_forget(interaction->bot);
	if (command->answered)
		interaction_call(interaction, command->of, args, command->answered, NULL, NULL);
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
