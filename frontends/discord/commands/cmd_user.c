/* SPDX-License-Identifier: MIT */
/* Commands for all users: accounts, help, ping. */
#include <config.h>

#include "discord/commands/handlers.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "discord/commands/options.h"
#include "discord/gateway/gateway.h"
#include "discord/interaction/answer.h"
#include "discord/interaction/boards.h"
#include "discord/render/message.h"
#include "discord/text/timestamp.h"

#define CODE_MAX 80 /* bytes of a code, which must fit into a button */

/* ---- link ---- */

/* Makes "**ada** (3 submissions; role: user; known as github ada)". */
static char *
describe_user(const json_t *user)
{
	AUTO_BUF struct buf out = {0};
	AUTO_FREE char *name = answer_bold(json_text_or_empty(user, "user_name"));
	long long submissions = member_int(user, "submissions");
	buf_printf(&out, "%s (%lld submission%s; role: %s", name, submissions, submissions == 1 ? "" : "s",
		json_text_or_empty(user, "role"));
	json_array_each_at(json_object_get(user, "identities"), i, identity) {
		AUTO_FREE char *provider = answer_name(json_text_or_empty(identity, "provider"));
		AUTO_FREE char *known = answer_name(json_text_or_empty(identity, "name"));
		buf_printf(&out, "%s%s %s", i ? ", " : "; known as ", provider, known);
	}
	buf_adds(&out, ")");
	return buf_take(&out);
}

static void
on_code(struct interaction *interaction, const json_t *result, void *arg)
{
	char expires[TIMESTAMP_SIZE];
	const char *code = json_text_or_empty(result, "code");
	(void)arg;
	timestamp_of(json_text_or_empty(result, "expires"), TIMESTAMP_RELATIVE, expires);
	AUTO_FREE char *user = describe_user(json_object_get(result, "user"));
	interaction_say(interaction,
		"Your code is `%s`; it works once, and expires %s.\nEnter it where you use your other account, on the command "
		"line with `kettle user link %s`. All that your account here has, %s, then belongs to that account.\nDo not "
		"show the code to anyone else.",
		code, expires, code, user);
}

static void
on_link(struct interaction *interaction, const json_t *result, void *arg)
{
	const char *code = interaction_text(interaction, "code");
	AUTO_FREE char *from = describe_user(json_object_get(result, "from"));
	AUTO_FREE char *into = describe_user(json_object_get(result, "into"));
	AUTO_FREE char *id = xasprintf("link:%s", code);
	(void)arg;
	json_t *message =
		message_printf("This merges the user %s into your user %s, and cannot be undone.\nPress Merge only if "
					   "you created the code yourself: its creator can then do all that you can.",
			from, into);
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
	AUTO_FREE char *from = answer_bold(json_text_or_empty(json_object_get(result, "from"), "user_name"));
	AUTO_FREE char *into = answer_bold(json_text_or_empty(json_object_get(result, "into"), "user_name"));
	(void)arg;
	boards_forget(interaction->bot);
	interaction_answer(interaction, message_printf("%s is now part of your user %s.", from, into));
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
