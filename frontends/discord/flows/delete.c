/* SPDX-License-Identifier: MIT */
/* Deletes a leaderboard: a menu if the command names none, then a form in which the user must type its name. */
#include <config.h>

#include "discord/flows/delete.h"

#include "base/base.h"
#include "base/utf8.h"
#include "discord/interaction/answer.h"
#include "discord/interaction/interaction.h"
#include "discord/render/message.h"

#define NAME_MAX_BYTES 90 /* bytes of a board's name, which must fit into the form's custom id */

/* ---- the form ---- */

/* Whether a board can have this name. An invalid one cannot exist. */
static bool
is_name(const char *name)
{
	size_t len = strlen(name);
	return len > 0 && len <= NAME_MAX_BYTES &&
		   strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == len;
}

static void
show_form(struct interaction *interaction, const char *name)
{
	if (!is_name(name)) {
		AUTO_FREE char *shown = answer_bold(name);
		interaction_say(interaction, "There is no leaderboard %s.", shown);
		return;
	}
	AUTO_FREE char *id = xasprintf("deleted:%s", name);
	interaction_form(interaction, id, "Delete a leaderboard and its submissions",
		json_pack("[{s:s, s:s, s:s}]", "name", "name", "label", "To confirm, type its name", "placeholder", name));
}

static void
on_deleted(struct interaction *interaction, const json_t *result, void *arg)
{
	(void)arg;
	boards_forget(interaction->bot);
	answer_say(interaction, "Deleted leaderboard {*name} and its {submissions} submission{submissions#|s}.", result);
}

void
delete_confirmed(struct interaction *interaction, const char *arguments)
{
	const char *given = interaction_text(interaction, "name");
	AUTO_FREE char *typed = sanitize_line(given ? given : "", SIZE_MAX);
	if (!is_name(arguments) || strcasecmp(typed, arguments) != 0) {
		AUTO_FREE char *shown = answer_bold(typed), *name = answer_bold(arguments);
		interaction_say(interaction, "You typed %s, but the leaderboard is %s. Nothing was deleted.", shown, name);
		return;
	}
	interaction_defer(interaction, false);
	interaction_call(interaction, "leaderboard.delete", json_pack("{s:s, s:b}", "name", arguments, "force", 1),
		on_deleted, NULL, NULL);
}

/* ---- the menu ---- */

struct menu {
	size_t offset;
	json_t *boards; /* all boards that the user sees */
};

static void
free_menu(void *arg)
{
	struct menu *menu = arg;
	json_decref(menu->boards);
	free(menu);
}

/* Returns the boards that the user may delete: an admin all, others their own. New reference. */
static json_t *
deletable(const struct interaction *interaction, const json_t *boards, const json_t *user)
{
	json_t *names = json_array();
	bool admin = member_is(interaction->actor, "role", "admin") || member_is(user, "role", "admin");
	json_array_each(boards, board)
		if (admin ||
			(user && strcasecmp(json_text_or_empty(board, "creator"), json_text_or_empty(user, "user_name")) == 0))
			(void)json_array_append(names, json_object_get(board, "name"));
	return names;
}

/* user: NULL if the user has done nothing yet. */
static void
on_user(struct interaction *interaction, const json_t *user, void *arg)
{
	struct menu *menu = arg;
	AUTO_JSON json_t *names = deletable(interaction, menu->boards, user);
	size_t count = json_array_size(names), offset = menu->offset < count ? menu->offset : 0;
	free_menu(menu);
	if (count == 0) {
		interaction_say(interaction, "There is no leaderboard that you may delete.");
		return;
	}
	json_t *message = message_new("Which leaderboard do you want to delete, with all its submissions?");
	message_menu(message, "delete:", "Leaderboard", 1, message_names(names, offset));
	message_pages(message, "delete", "", offset, MESSAGE_CHOICES_MAX, count);
	interaction_answer(interaction, message);
}

static void
on_boards(struct interaction *interaction, const json_t *boards, void *arg)
{
	const struct menu *pending = arg;
	struct menu *menu = xnew(struct menu, .offset = pending->offset, .boards = json_incref((json_t *)boards));
	answer_try(interaction, "user.show", json_object(), on_user, menu);
}

static void
show_menu(struct interaction *interaction, size_t offset)
{
	struct menu *menu = xnew(struct menu, .offset = offset);
	interaction_call(
		interaction, "leaderboard.list", json_pack("{s:b, s:b}", "all", 1, "short", 1), on_boards, free_menu, menu);
}

void
delete_begin(struct interaction *interaction)
{
	const char *name = interaction_text(interaction, "leaderboard_name");
	if (name) {
		show_form(interaction, name);
		return;
	}
	interaction_defer(interaction, false);
	show_menu(interaction, 0);
}

void
delete_chosen(struct interaction *interaction, const char *arguments)
{
	const char *chosen = json_string_value(json_array_get(interaction->values, 0)), *what;
	size_t offset;
	if (chosen) {
		show_form(interaction, chosen);
	} else if (answer_page(arguments, &offset, &what)) {
		interaction_defer_update(interaction);
		show_menu(interaction, offset);
	} else {
		interaction_say(interaction, "This menu comes from an earlier version of the bot; use the command again.");
	}
}
