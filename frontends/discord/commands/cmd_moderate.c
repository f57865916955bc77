/* SPDX-License-Identifier: MIT */
/* Commands on users, and on boards and submissions of others. */
#include <config.h>

#include "discord/commands/handlers.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/number.h"
#include "base/xalloc.h"
#include "common/template.h"
#include "discord/flows/trial.h"
#include "discord/interaction/answer.h"
#include "discord/interaction/boards.h"
#include "discord/render/message.h"
#include "discord/text/escape.h"

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
discord_moderate_ban(struct interaction *interaction, const json_t *result, void *arg)
{
	AUTO_FREE char *user = describe_user(interaction, result);
	AUTO_FREE char *cancelled =
		template_text("{cancelled?; cancelled {cancelled:count} submission{cancelled#|s}}", result, NULL);
	(void)arg;
	interaction_say(interaction, "Banned %s%s.", user, cancelled);
}

void
discord_moderate_unban(struct interaction *interaction, const json_t *result, void *arg)
{
	AUTO_FREE char *user = describe_user(interaction, result);
	(void)arg;
	interaction_say(interaction, "%s is no longer banned.", user);
}

/* ---- submissions ---- */

void
discord_moderate_delete(struct interaction *interaction, const json_t *submission, void *arg)
{
	long long number = member_int(submission, "id");
	AUTO_FREE char *id = xasprintf("drop:%lld", number),
				   *board = answer_bold(json_text_or_empty(submission, "leaderboard_name"));
	AUTO_FREE char *user = answer_bold(json_text_or_empty(submission, "user_name"));
	(void)arg;
	json_t *message = message_printf("Delete submission %lld of %s to %s? This cannot be undone.", number, user, board);
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

void
discord_moderate_rerun(struct interaction *interaction, const json_t *result, void *arg)
{
	AUTO_BUF struct buf out = {0};
	(void)arg;
	json_array_each_at(json_object_get(result, "devices"), i, device) {
		AUTO_FREE char *name = answer_name(json_string_value(device));
		buf_printf(&out, "%s%s", i ? ", " : " on ", name);
	}
	interaction_say(interaction, "Submission %lld runs again%s; until it ends, the earlier verdict counts.",
		(long long)member_int(result, "id"), out.len ? out.data : "");
}

/* ---- boards ---- */

void
discord_moderate_invite(struct interaction *interaction, const json_t *result, void *arg)
{
	AUTO_BUF struct buf out = {0};
	AUTO_FREE char *board = answer_bold(json_string_value(json_array_get(json_object_get(result, "leaderboards"), 0)));
	(void)arg;
	json_array_each_at(json_object_get(result, "codes"), i, code)
		buf_printf(&out, "%s%s", i ? "\n" : "", json_string_value(code));
	AUTO_FREE char *before = xasprintf("Each code opens %s to one user, with `/leaderboard join`:", board);
	interaction_answer(interaction, message_block(before, out.len ? out.data : "", "invites.txt"));
}

/* ---- competitions ---- */

/* Adds "Created: a, b". */
static void
put_names(struct buf *out, const char *title, const json_t *names)
{
	size_t i;
	const json_t *name;
	if (json_array_size(names) == 0)
		return;
	buf_printf(out, "%s: ", title);
	json_array_foreach(names, i, name) {
		AUTO_FREE char *shown = answer_name(json_string_value(name));
		if (i < NAMES_SHOWN_MAX)
			buf_printf(out, "%s%s", i ? ", " : "", shown);
	}
	buf_printf(out, "%s\n", i > NAMES_SHOWN_MAX ? " and others" : "");
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
discord_moderate_update_problems(struct interaction *interaction, const json_t *result, void *arg)
{
	json_t *sets = json_object_get(result, "sets"), *boards = json_object();
	bool closed = interaction_flag(interaction, "closed");
	(void)arg;
	json_array_each(sets, set)
		json_array_each(json_object_get(set, "problems"), problem)
			(void)json_object_set_new(boards, json_text_or_empty(problem, "name"), json_true());
	trial_call(interaction, "competition.sync",
		json_pack("{s:{s:O}, s:b, s:s}", "problems", "sets", sets, "force", (int)interaction_flag(interaction, "force"),
			"visibility", closed ? "closed" : "public"),
		boards, on_synced, NULL, NULL);
}
