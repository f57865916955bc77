/* SPDX-License-Identifier: MIT */
/* Commands for all users: accounts, help, ping. */
#include <config.h>

#include "discord/commands/handlers.h"

#include "base/buf.h"
#include "base/base.h"
#include "discord/commands/options.h"
#include "discord/gateway/gateway.h"
#include "discord/interaction/answer.h"
#include "discord/interaction/interaction.h"
#include "discord/render/message.h"

#define CODE_MAX 80 /* bytes of a code, which must fit into a button */

/* ---- link ---- */

/* "**ada** (3 submissions; role: user; known as github ada)" */
#define USER \
	"{*user_name} ({submissions} submission{submissions#|s}; role: {role:code}{identities?; known as " \
	"{identities@{provider} {name}}})"

static void
on_code(struct interaction *interaction, const json_t *result, void *arg)
{
	(void)arg;
	answer_say(interaction,
		"Your code is `{code:code}`; it works once, and expires {expires:relative}.\nEnter it where you use your other "
		"account, on the command line with `kettle user link {code:code}`. All that your account here has, "
		"{user@" USER "}, then belongs to that account.\nDo not show the code to anyone else.",
		result);
}

static void
on_link(struct interaction *interaction, const json_t *result, void *arg)
{
	AUTO_FREE char *id = xasprintf("link:%s", interaction_text(interaction, "code"));
	AUTO_FREE char *text = answer_template("This merges the user {from@" USER "} into your user {into@" USER
										   "}, and cannot be undone.\nPress Merge only if "
										   "you created the code yourself: its creator can then do all that you can.",
		result);
	(void)arg;
	json_t *message = message_new(text);
	message_button(message, MESSAGE_DANGER, "Merge", id);
	interaction_answer(interaction, message);
}

void
discord_user_link(struct interaction *interaction)
{
	const char *code = interaction_text(interaction, "code");
	if (code && (strlen(code) > CODE_MAX || code[strcspn(code, "`:")]))
		interaction_say(interaction, "This is not a code: a code has ten letters and digits.");
	else
		interaction_call(
			interaction, "user.link", json_pack("{s:s*}", "code", code), code ? on_link : on_code, NULL, NULL);
}

static void
on_merged(struct interaction *interaction, const json_t *result, void *arg)
{
	AUTO_FREE char *text = answer_template("{*from.user_name} is now part of your user {*into.user_name}.", result);
	(void)arg;
	boards_forget(interaction->bot);
	interaction_answer(interaction, message_new(text));
}

void
discord_user_link_confirm(struct interaction *interaction, const char *arguments)
{
	interaction_defer_update(interaction);
	interaction_call(
		interaction, "user.link", json_pack("{s:s, s:b}", "code", arguments, "confirm", 1), on_merged, NULL, NULL);
}

/* ---- help ---- */

enum help_group { HELP_LEADERBOARDS, HELP_ADMINS, HELP_OTHER };

static enum help_group
group_of(const struct bot_command *command, const json_t *core)
{
	if (options_for_admins(command, core))
		return HELP_ADMINS;
	return strchr(command->path, ' ') ? HELP_LEADERBOARDS : HELP_OTHER;
}

static void
add_group(json_t *embeds, const struct bot *bot, const char *title, enum help_group group)
{
	AUTO_BUF struct buf out = {0};
	const json_t *core = bot->host->commands(bot->host);
	for (const struct bot_command *command = bot->commands; command->path; command++) {
		AUTO_FREE char *help = options_help(command, core);
		if (group_of(command, core) == group)
			buf_printf(&out, "%s`/%s` %s", out.len ? "\n" : "", command->path, help);
	}
	(void)json_array_append_new(embeds, json_pack("{s:s, s:s}", "title", title, "description", out.data));
}

void
discord_user_help(struct interaction *interaction)
{
	json_t *embeds = json_array();
	const struct bot *bot = interaction->bot;
	add_group(embeds, bot, "Leaderboards", HELP_LEADERBOARDS);
	if (member_is(interaction->actor, "role", "admin"))
		add_group(embeds, bot, "For admins", HELP_ADMINS);
	add_group(embeds, bot, "Other commands", HELP_OTHER);
	json_t *message =
		message_new("Begin with `/leaderboard list`, get a file to start from with `/leaderboard template`, "
					"and submit it with `/leaderboard submit test`.");
	(void)json_object_set_new(message, "embeds", embeds);
	interaction_answer(interaction, message);
}

/* ---- ping ---- */

void
discord_user_ping(struct interaction *interaction)
{
	uint64_t id = 0;
	int64_t latency = rest_latency(interaction->bot->rest);
	(void)snowflake_parse(interaction->id, &id);
	const struct kettle_host *host = interaction->bot->host;
	int64_t way = host->utc_ms(host) - snowflake_time(id);
	unsigned beat = interaction->bot->gateway ? gateway_latency_ms(interaction->bot->gateway) : 0;
	AUTO_FREE char *known = xasprintf("Discord answers the bot within %lld ms", (long long)latency);
	AUTO_FREE char *heartbeat = beat ? xasprintf(" The gateway answers heartbeats within %u ms.", beat) : xstrdup("");
	/* The clocks of Discord and of this machine may differ. */
	interaction_say(interaction, "Pong: your command arrived after %lld ms. %s.%s", (long long)(way > 0 ? way : 0),
		latency >= 0 ? known : "The bot has sent Discord no request yet", heartbeat);
}
