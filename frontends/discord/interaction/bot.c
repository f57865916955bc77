/* SPDX-License-Identifier: MIT */
/* The guild's roles and members in the engine's form, and calls that happen later. */
#include <config.h>

#include "discord/interaction/bot.h"

#include "base/base.h"
#include "discord/interaction/send.h"

#define SEEN_MAX 2000        /* interactions that are remembered */
#define ADMINISTRATOR 0x8ULL /* the permission that includes all others */

/* Whether a role is older than another one. than "": there is no other one. */
static bool
is_older(const char *id, const char *than)
{
	uint64_t number = 0, other = UINT64_MAX;
	(void)snowflake_parse(than, &other);
	return snowflake_parse(id, &number) && number < other;
}

/*
 * A member who may manage roles may make another role of the same name, even if he cannot change the real one. So of
 * several roles with that name the oldest counts.
 */
void
bot_take_roles(struct bot *bot, const json_t *roles)
{
	for (int which = 0; which < BOT_ROLES; which++) {
		const char *wanted = bot->settings.roles[which];
		uint64_t number;
		bool by_id = snowflake_parse(wanted, &number);
		bot->roles[which][0] = '\0';
		json_array_each(roles, role) {
			const char *id = json_text_or_empty(role, "id");
			bool named =
				wanted && (by_id ? strcmp(id, wanted) == 0 : strcasecmp(json_text_or_empty(role, "name"), wanted) == 0);
			if (named && is_older(id, bot->roles[which]))
				(void)snowflake_copy(bot->roles[which], id);
		}
	}
}

/* Whether a permission is set in a number as text, Discord's form. */
static bool
is_administrator(const json_t *member)
{
	uint64_t permissions = 0;
	return snowflake_parse(json_text_or_empty(member, "permissions"), &permissions) &&
		   (permissions & ADMINISTRATOR) != 0;
}

static bool
has_role(const struct bot *bot, const json_t *member, enum bot_role role)
{
	return bot->roles[role][0] && list_has_text(json_object_get(member, "roles"), bot->roles[role]);
}

json_t *
bot_actor(const struct bot *bot, const json_t *member)
{
	const json_t *user = json_object_get(member, "user");
	const char *names[] = {json_text_or_null(member, "nick"), json_text_or_null(user, "global_name"),
		json_text_or_null(user, "username"), json_text_or_empty(user, "id")};
	const char *name = names[0];
	for (size_t i = 1; !name || !*name; i++)
		name = names[i];
	const char *role = is_administrator(member) || has_role(bot, member, BOT_ADMIN) ? "admin"
					   : has_role(bot, member, BOT_CREATOR)                         ? "creator"
																					: NULL;
	return json_pack("{s:s, s:s, s:s, s:s*}", "provider", "discord", "subject", json_text_or_empty(user, "id"), "name",
		name, "role", role);
}

json_t *
bot_own_actor(void)
{
	return json_pack(
		"{s:s, s:s, s:s, s:s}", "provider", "discord", "subject", "bot", "name", "the Discord bot", "role", "admin");
}

bool
bot_is_new(struct bot *bot, const char *id)
{
	if (list_has_text(bot->seen, id))
		return false;
	if (json_array_size(bot->seen) < SEEN_MAX)
		(void)json_array_append_new(bot->seen, json_string(id));
	else
		(void)json_array_set_new(bot->seen, bot->seen_next, json_string(id));
	bot->seen_next = (bot->seen_next + 1) % SEEN_MAX;
	return true;
}

/* ---- whether the guild has what the options name ---- */

enum { TYPE_TEXT = 0, TYPE_ANNOUNCEMENT = 5, TYPE_FORUM = 15 };

/* id: "" if the option is not set; type: the expected one; announcements may also be in a text channel. */
static void
check_channel(const struct bot *bot, const json_t *channels, const char *option, const char *id, int type)
{
	const json_t *channel = list_find(channels, "id", id);
	json_int_t found = member_int(channel, "type");
	if (!*id)
		return;
	if (!channel)
		bot_log(bot, KETTLE_LOG_WARNING,
			"The server has no channel %s, which the option `%s` names: correct the option and restart Kettle.", id,
			option);
	else if (found != type && !(type == TYPE_ANNOUNCEMENT && found == TYPE_TEXT))
		bot_log(bot, KETTLE_LOG_WARNING,
			"The channel %s, which the option `%s` names, is not a %s: name another one and restart Kettle.", id,
			option, type == TYPE_FORUM ? "forum channel" : "text channel");
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
bot_check_places(struct bot *bot)
{
	static const char *const options[] = {
		[BOT_ADMIN] = "admin_role", [BOT_CREATOR] = "creator_role", [BOT_PARTICIPANTS] = "participants_role"};
	AUTO_FREE char *path = xasprintf("/guilds/%s/channels", bot->settings.guild);
	for (int which = 0; which < BOT_ROLES; which++)
		if (bot->settings.roles[which] && !*bot->roles[which])
			bot_log(bot, KETTLE_LOG_WARNING,
				"The server has no role `%s`, which the option `%s` names: create it, or let `/admin resync` do it.",
				bot->settings.roles[which], options[which]);
	send_request(bot, "GET", path, NULL, on_channels, bot);
}

/* ---- calls that happen later: one timer for all, so that nothing is left when the bot stops ---- */

struct later;

#define TICK_MS 500

struct wait {
	uint64_t due_ms;
	kettle_fn fn;
	void *arg;
};

struct later {
	struct bot *bot;
	struct wait *waits;
	size_t count, room;
	struct kettle_timer *timer;
};

/* Calls that are added meanwhile are at the end. */
static void
call_due(struct later *later, bool all)
{
	const struct kettle_host *host = later->bot->host;
	for (size_t i = 0; i < later->count;) {
		struct wait wait = later->waits[i];
		if (!all && wait.due_ms > host->monotonic_ms(host)) {
			i++;
			continue;
		}
		later->waits[i] = later->waits[--later->count];
		wait.fn(wait.arg);
	}
}

static void
on_tick(void *arg)
{
	call_due(arg, false);
}

struct later *
later_new(struct bot *bot)
{
	struct later *later = xnew(struct later, .bot = bot);
	(void)bot->host->timer_start(bot->host, TICK_MS, TICK_MS, on_tick, later, &later->timer, NULL);
	return later;
}

void
later_stop(struct later *later)
{
	later->bot->host->timer_stop(later->bot->host, later->timer);
	later->timer = NULL;
	call_due(later, true);
}

void
later_free(struct later *later)
{
	if (!later)
		return;
	free_all(later->waits, later);
}

void
later_call(struct bot *bot, uint64_t ms, kettle_fn fn, void *arg)
{
	struct later *later = bot->later;
	if (bot->stopping) {
		fn(arg);
		return;
	}
	if (later->count == later->room) {
		later->room = later->room ? 2 * later->room : 16;
		later->waits = xreallocarray(later->waits, later->room, sizeof(*later->waits));
	}
	later->waits[later->count++] = (struct wait){bot->host->monotonic_ms(bot->host) + ms, fn, arg};
}
