/* SPDX-License-Identifier: MIT */
/* Commands on the engine as a whole, on users, and on boards and submissions of others. */
#include <config.h>

#include "discord/commands/handlers.h"

#include "base/buf.h"
#include "base/base.h"
#include "base/number.h"
#include "common/template.h"
#include "common/value.h"
#include "discord/commands/registration.h"
#include "discord/flows/create.h"
#include "discord/interaction/answer.h"
#include "discord/interaction/interaction.h"
#include "discord/interaction/send.h"
#include "discord/render/message.h"
#include "discord/render/plain.h"
#include "discord/text/escape.h"

/* ---- statistics ---- */

void
discord_admin_stats(struct interaction *interaction, const json_t *result)
{
	static const struct view_column columns[] = {COLUMN_CUT("device", "{device}"),
		COLUMN_RIGHT("runs", "{num_run:count}"), SPARE_COLUMN_RIGHT(2, "passed", "{runs_passed:count}"),
		SPARE_COLUMN_RIGHT(1, "scored", "{runs_scored:count}"), COLUMN_RIGHT("waited", "{avg_delay:seconds}"),
		COLUMN_RIGHT("ran", "{total_runtime:seconds}")};
	const json_t *stats = json_object_get(result, "stats");
	AUTO_JSON json_t *rows = value_device_stats(stats);
	AUTO_FREE char *sentence = template_text(
		"{num_submissions:count} submission{num_submissions#|s} ({sub_waiting:count} of them open) of "
		"{num_users:count} user{num_users#|s}, {num_unique_codes:count} different file{num_unique_codes#|s}.",
		stats, NULL);
	AUTO_FREE char *before = xasprintf(
		"%s%s", sentence, member_true(result, "accepts_jobs") ? "" : "\nKettle accepts no submissions at the moment.");
	AUTO_FREE char *table = plain_table(columns, ARRAY_SIZE(columns), rows);
	interaction_answer(
		interaction, json_array_size(rows) > 0 ? message_block(before, table, "statistics.txt") : message_new(before));
}

/* ---- resync ---- */

/*
 * Registers the commands, then reads the guild's roles, then creates each role that the configuration names and the
 * guild lacks, one after the other.
 */
struct resync {
	struct interaction *interaction;
	struct buf said;
	int next; /* enum bot_role */
};

static void create_next(struct resync *resync);

static void
end_resync(struct resync *resync)
{
	interaction_answer(resync->interaction, message_new(resync->said.data));
	interaction_unref(resync->interaction);
	buf_free(&resync->said);
	free(resync);
}

/* Adds a line with a text from elsewhere. */
static void
say_line(struct resync *resync, const char *before, const char *text, const char *after)
{
	AUTO_FREE char *shown = answer_text(text);
	buf_printf(&resync->said, "%s%s%s%s", resync->said.len ? "\n" : "", before, shown, after);
}

static void
on_created(void *arg, const struct rest_answer *answer)
{
	struct resync *resync = arg;
	struct bot *bot = resync->interaction->bot;
	const char *name = bot->settings.roles[resync->next];
	if (answer->err->code == 0) {
		(void)snowflake_copy(bot->roles[resync->next], json_text_or_empty(answer->body, "id"));
		say_line(resync, "Created the role **", name, "**.");
	} else {
		say_line(resync, "Discord did not create a role: ", answer->err->message, "");
	}
	resync->next++;
	create_next(resync);
}

/*
 * Says nothing about existing roles. Does not create a role that is configured by its id, since a new role would have
 * another id.
 */
static void
create_next(struct resync *resync)
{
	struct bot *bot = resync->interaction->bot;
	for (; resync->next < BOT_ROLES; resync->next++) {
		const char *name = bot->settings.roles[resync->next];
		uint64_t id;
		if (!name || bot->roles[resync->next][0])
			continue;
		if (snowflake_parse(name, &id)) {
			say_line(
				resync, "The server has no role with the id ", name, ", which the configuration names: correct it.");
			continue;
		}
		AUTO_FREE char *path = xasprintf("/guilds/%s/roles", bot->settings.guild);
		send_request(bot, "POST", path,
			json_pack("{s:s, s:s, s:b, s:b}", "name", name, "permissions", "0", "mentionable", 0, "hoist", 0),
			on_created, resync);
		return;
	}
	end_resync(resync);
}

static void
on_roles(void *arg, const struct rest_answer *answer)
{
	struct resync *resync = arg;
	if (answer->err->code) {
		say_line(resync, "Kettle could not read the server's roles: ", answer->err->message, "");
		end_resync(resync);
		return;
	}
	bot_take_roles(resync->interaction->bot, answer->body);
	create_next(resync);
}

static void
on_registered(void *arg, bool failed, const char *text)
{
	struct resync *resync = arg;
	(void)failed;
	struct bot *bot = resync->interaction->bot;
	AUTO_FREE char *path = xasprintf("/guilds/%s/roles", bot->settings.guild);
	say_line(resync, "", text, "");
	send_request(bot, "GET", path, NULL, on_roles, resync);
}

void
discord_admin_resync(struct interaction *interaction)
{
	struct resync *resync = xnew(struct resync, .interaction = interaction_ref(interaction));
	registration_update(interaction->bot, on_registered, resync);
}

#define NAMES_SHOWN_MAX 20

/* ---- users ---- */

/* Returns the user's name and mention: to a user who has not used Kettle the engine gives a number as name. */
static char *
describe_user(const struct interaction *interaction, const json_t *result)
{
	char id[SNOWFLAKE_SIZE];
	AUTO_FREE char *name = answer_bold(json_text_or_empty(result, "user_name"));
	(void)snowflake_copy(id, interaction_text(interaction, "user"));
	return xasprintf("%s (<@%s>)", name, id);
}

void
discord_moderate_ban(struct interaction *interaction, const json_t *result)
{
	AUTO_FREE char *user = describe_user(interaction, result);
	AUTO_FREE char *cancelled =
		template_text("{cancelled?; cancelled {cancelled:count} submission{cancelled#|s}}", result, NULL);
	interaction_say(interaction, "Banned %s%s.", user, cancelled);
}

void
discord_moderate_unban(struct interaction *interaction, const json_t *result)
{
	AUTO_FREE char *user = describe_user(interaction, result);
	interaction_say(interaction, "%s is no longer banned.", user);
}

/* ---- submissions ---- */

void
discord_moderate_delete(struct interaction *interaction, const json_t *submission)
{
	AUTO_FREE char *id = xasprintf("drop:%lld", (long long)member_int(submission, "id"));
	AUTO_FREE char *text = answer_template(
		"Delete submission {id} of {*user_name} to {*leaderboard_name}? This cannot be undone.", submission);
	json_t *message = message_new(text);
	message_button(message, MESSAGE_DANGER, "Delete", id);
	message_button(message, MESSAGE_SECONDARY, "Keep", "drop:keep");
	interaction_answer(interaction, message);
}

static void
on_dropped(struct interaction *interaction, const json_t *result, void *arg)
{
	(void)arg;
	interaction_answer(interaction, message_printf("Deleted submission %lld.", (long long)member_int(result, "id")));
}

void
discord_moderate_delete_confirm(struct interaction *interaction, const char *arguments)
{
	long long id = 0;
	interaction_defer_update(interaction);
	if (strcmp(arguments, "keep") == 0) {
		interaction_answer(interaction, message_new("Nothing was deleted."));
		return;
	}
	(void)number_parse_integer(arguments, &id);
	interaction_call(
		interaction, "submission.delete", json_pack("{s:I}", "id", (json_int_t)id), on_dropped, NULL, NULL);
}

/* ---- boards ---- */

void
discord_moderate_invite(struct interaction *interaction, const json_t *result)
{
	AUTO_FREE char *codes = answer_template("{codes@@{:code}\n}", result),
				   *before = answer_template(
					   "Each code opens {*leaderboards} to one user, with `/leaderboard join`:", result);
	if (*codes)
		codes[strlen(codes) - 1] = '\0';
	interaction_answer(interaction, message_block(before, codes, "invites.txt"));
}

/* ---- competitions ---- */

/* Adds "Created: a, b". */
static void
put_names(struct buf *out, const char *title, const json_t *names)
{
	size_t count = json_array_size(names);
	if (count == 0)
		return;
	buf_printf(out, "%s: ", title);
	for (size_t i = 0; i < count && i < NAMES_SHOWN_MAX; i++) {
		AUTO_FREE char *shown = answer_name(json_string_value(json_array_get(names, i)));
		buf_printf(out, "%s%s", i ? ", " : "", shown);
	}
	buf_printf(out, "%s\n", count > NAMES_SHOWN_MAX ? " and others" : "");
}

/* Adds plain lines, "name: why". */
static void
put_reasons(struct buf *out, const char *title, const json_t *list, const char *key)
{
	json_array_each(list, entry) {
		AUTO_FREE char *why = escape_quotes(json_text_or_empty(entry, key));
		buf_printf(out, "%s %s: %s\n", title, json_text_or_empty(entry, "name"), why);
	}
}

static void
on_synced(struct interaction *interaction, const json_t *result, void *arg)
{
	AUTO_BUF struct buf names = {0}, reasons = {0};
	(void)arg;
	boards_forget(interaction->bot);
	put_names(&names, "Created", json_object_get(result, "created"));
	put_names(&names, "Updated", json_object_get(result, "updated"));
	put_names(&names, "Unchanged", json_object_get(result, "unchanged"));
	put_names(&names, "No longer in the repository, and unchanged here", json_object_get(result, "absent"));
	put_reasons(&reasons, "skipped", json_object_get(result, "skipped"), "reason");
	put_reasons(&reasons, "error", json_object_get(result, "errors"), "error");
	if (names.len == 0 && reasons.len == 0)
		buf_adds(&names, "The repository has no leaderboard.");
	interaction_answer(interaction, reasons.len
										? message_block(names.len ? names.data : "", reasons.data, "problems.txt")
										: message_new(names.data));
}

void
discord_moderate_update_problems(struct interaction *interaction, const json_t *result)
{
	json_t *sets = json_object_get(result, "sets"), *boards = json_object();
	bool closed = interaction_flag(interaction, "closed");
	json_array_each(sets, set)
		json_array_each(json_object_get(set, "problems"), problem)
			(void)json_object_set_new(boards, json_text_or_empty(problem, "name"), json_true());
	trial_call(interaction, "competition.sync",
		json_pack("{s:{s:O}, s:b, s:s, s:s*}", "problems", "sets", sets, "force",
			(int)interaction_flag(interaction, "force"), "visibility", closed ? "closed" : "public", "harness",
			interaction_text(interaction, "harness")),
		boards, on_synced, NULL, NULL);
}
