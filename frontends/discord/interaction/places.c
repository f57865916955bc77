/* SPDX-License-Identifier: MIT */
/* Checks the guild's channels and roles when the bot starts, before a user misses one. */
#include <config.h>

#include "discord/interaction/places.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "discord/interaction/send.h"

enum { TYPE_TEXT = 0, TYPE_ANNOUNCEMENT = 5, TYPE_FORUM = 15 };

/* id: "" if the option is not set; type: the expected one; announcements may also be in a text channel. */
static void
check_channel(const struct bot *bot, const json_t *channels, const char *option, const char *id, int type)
{
	const struct kettle_host *host = bot->host;
	const json_t *channel = list_find(channels, "id", id);
	json_int_t found = member_int(channel, "type");
	if (!*id)
		return;
	if (!channel)
		host->log(host, KETTLE_LOG_WARNING,
			"The server has no channel %s, which the option `%s` names: correct the option and restart Kettle.", id,
			option);
	else if (found != type && !(type == TYPE_ANNOUNCEMENT && found == TYPE_TEXT))
		host->log(host, KETTLE_LOG_WARNING,
			"The channel %s, which the option `%s` names, is no %s: name another one and restart Kettle.", id, option,
			type == TYPE_FORUM ? "forum" : "text channel");
}

static void
on_channels(void *arg, const struct rest_answer *answer)
{
	const struct bot *bot = arg;
	const struct bot_settings *settings = &bot->settings;
	if (answer->err->code || bot->stopping)
		return;
	check_channel(bot, answer->body, "submissions_channel", settings->submissions, TYPE_TEXT);
	check_channel(bot, answer->body, "announcements_channel", settings->announcements, TYPE_ANNOUNCEMENT);
	check_channel(bot, answer->body, "operators_channel", settings->operators, TYPE_ANNOUNCEMENT);
	check_channel(bot, answer->body, "forum", settings->forum, TYPE_FORUM);
}

void
places_check(struct bot *bot)
{
	static const char *const options[] = {
		[BOT_ADMIN] = "admin_role", [BOT_CREATOR] = "creator_role", [BOT_PARTICIPANTS] = "participants_role"};
	const struct kettle_host *host = bot->host;
	AUTO_FREE char *path = xasprintf("/guilds/%s/channels", bot->settings.guild);
	for (int which = 0; which < BOT_ROLES; which++)
		if (bot->settings.roles[which] && !*bot->roles[which])
			host->log(host, KETTLE_LOG_WARNING,
				"The server has no role `%s`, which the option `%s` names: create it, or let `/admin resync` do it.",
				bot->settings.roles[which], options[which]);
	send_request(bot, "GET", path, NULL, on_channels, bot);
}
