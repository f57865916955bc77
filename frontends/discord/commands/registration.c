/* SPDX-License-Identifier: MIT */
/* Registers the bot's commands at Discord, if they differ from those that Discord has. */
#include <config.h>

#include "discord/commands/registration.h"

#include "base/base.h"
#include "discord/commands/options.h"
#include "discord/interaction/send.h"

enum { TYPE_SUBCOMMAND = 1, TYPE_GROUP = 2 };

static const struct {
	const char *path, *help;
} groups[] = {
	{"leaderboard", "Leaderboards, and what you submit to them"},
	{"leaderboard submit", "Submit a file to a leaderboard"},
	{"admin", "For those who run the competitions"},
};

static const char *
group_help(const char *path, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (strlen(groups[i].path) == len && strncmp(groups[i].path, path, len) == 0)
			return groups[i].help;
	return "";
}

/* Returns the object with this name among options or commands; makes it if there is none. Borrowed. */
static json_t *
named(json_t *list, const char *path, size_t begin, size_t len, int type)
{
	size_t i;
	json_t *item;
	json_array_foreach(list, i, item)
		if (strlen(json_text_or_empty(item, "name")) == len &&
			strncmp(json_text_or_empty(item, "name"), path + begin, len) == 0)
			return item;
	item = json_pack(
		"{s:i, s:s%, s:s}", "type", type, "name", path + begin, len, "description", group_help(path, begin + len));
	(void)json_array_append_new(list, item);
	return item;
}

static json_t *
below(json_t *object)
{
	json_t *options = json_object_get(object, "options");
	if (!options)
		json_object_set_new(object, "options", options = json_array());
	return options;
}

/* Adds a row: "a b c" is the command a, in it the group b, in it the subcommand c. */
static void
add_command(json_t *commands, const struct bot_command *command, const json_t *core)
{
	json_t *list = commands, *object = NULL;
	size_t begin = 0;
	int depth = 0, words = 1;
	for (const char *at = command->path; (at = strchr(at, ' ')); at++)
		words++;
	for (;; depth++) {
		size_t len = strcspn(command->path + begin, " ");
		/* Discord also gives type 1 to commands of the first level. */
		int type = depth == 0 || depth == words - 1 ? TYPE_SUBCOMMAND : TYPE_GROUP;
		object = named(list, command->path, begin, len, type);
		begin += len;
		if (!command->path[begin])
			break;
		begin++;
		list = below(object);
	}
	AUTO_FREE char *help = options_help(command, core);
	AUTO_JSON json_t *options = options_of(command, core);
	json_object_set_new(object, "description", json_string(help));
	json_array_each(options, option) {
		(void)json_object_del(option, "argument");
		(void)json_array_append(below(object), option);
	}
}

/* Whether everything that Discord shows under this name is for admins. */
static bool
is_for_admins(const char *name, const struct bot_command *rows, const json_t *core)
{
	size_t len = strlen(name);
	for (const struct bot_command *command = rows; command->path; command++)
		if (strcspn(command->path, " ") == len && strncmp(command->path, name, len) == 0 &&
			!options_for_admins(command, core))
			return false;
	return true;
}

/*
 * Discord shows an admin's command to administrators of the server, and to roles that they add; a bot cannot add any.
 */
json_t *
registration_commands(const struct bot_command *rows, const json_t *core)
{
	json_t *commands = json_array();
	for (const struct bot_command *command = rows; command->path; command++)
		add_command(commands, command, core);
	json_array_each(commands, object)
		if (is_for_admins(json_text_or_empty(object, "name"), rows, core))
			json_object_set_new(object, "default_member_permissions", json_integer(0));
	return commands;
}

/* ---- comparing with Discord's commands ---- */

static bool
is_default(const json_t *value)
{
	return !value || json_is_null(value) || json_is_false(value) ||
		   (json_is_array(value) && json_array_size(value) == 0);
}

static bool same(const json_t *ours, const json_t *theirs);

static bool
same_lists(const json_t *ours, const json_t *theirs)
{
	if (json_array_size(ours) != json_array_size(theirs))
		return false;
	json_array_each_at(ours, i, item)
		if (!same(item, json_array_get(theirs, i)))
			return false;
	return true;
}

/* Whether both show a command to the same members. The bot sends a number, Discord answers with text. */
static bool
same_permissions(const json_t *ours, const json_t *theirs)
{
	if (!ours || is_default(theirs))
		return !ours && is_default(theirs);
	const char *text = json_string_value(theirs);
	return json_integer_value(ours) == (text ? strtoll(text, NULL, 10) : json_integer_value(theirs));
}

/* Discord adds members of its own, and leaves out members with their default value. */
static bool
same(const json_t *ours, const json_t *theirs)
{
	static const char *const plain[] = {"type", "name", "description", "required", "autocomplete", "value"};
	static const char permissions[] = "default_member_permissions";
	if (!json_is_object(theirs) ||
		!same_permissions(json_object_get(ours, permissions), json_object_get(theirs, permissions)))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		const json_t *a = json_object_get(ours, plain[i]), *b = json_object_get(theirs, plain[i]);
		if (!(is_default(a) && is_default(b)) && !json_equal(a, b))
			return false;
	}
	return same_lists(json_object_get(ours, "options"), json_object_get(theirs, "options")) &&
		   same_lists(json_object_get(ours, "choices"), json_object_get(theirs, "choices"));
}

/* Compares without order: Discord answers commands in its own. */
static bool
same_commands(const json_t *ours, const json_t *theirs)
{
	if (json_array_size(ours) != json_array_size(theirs))
		return false;
	json_array_each(ours, mine) {
		bool found = false;
		json_array_each(theirs, other)
			found = found || same(mine, other);
		if (!found)
			return false;
	}
	return true;
}

struct update {
	struct bot *bot;
	void (*done)(void *arg, bool failed, const char *text);
	void *arg;
};

static char *
commands_path(const struct bot *bot)
{
	return xasprintf("/applications/%s/guilds/%s/commands", bot->application, bot->settings.guild);
}

static void
finish(struct update *update, const struct rest_answer *answer, const char *text)
{
	AUTO_FREE char *failed =
		answer->err->code ? xasprintf("The commands cannot be registered: %s", answer->err->message) : NULL;
	update->done(update->arg, failed, failed ? failed : text);
	free(update);
}

static void
on_put(void *arg, const struct rest_answer *answer)
{
	finish(arg, answer, "The commands are registered.");
}

static void
on_known(void *arg, const struct rest_answer *answer)
{
	struct update *update = arg;
	AUTO_JSON json_t *commands =
		registration_commands(update->bot->commands, update->bot->host->commands(update->bot->host));
	if (answer->err->code || same_commands(commands, answer->body)) {
		finish(update, answer, "The commands are registered already.");
		return;
	}
	AUTO_FREE char *path = commands_path(update->bot);
	send_request(update->bot, "PUT", path, STEAL(commands), on_put, update);
}

void
registration_update(struct bot *bot, void (*done)(void *arg, bool failed, const char *text), void *arg)
{
	struct update *update = xcalloc(1, sizeof(*update));
	AUTO_FREE char *path = commands_path(bot);
	*update = (struct update){bot, done, arg};
	send_request(bot, "GET", path, NULL, on_known, update);
}
