/* SPDX-License-Identifier: MIT */
/* Completes names that a user types: first the names that begin with the text, then those that contain it. */
#include <config.h>

#include "discord/commands/complete.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "discord/interaction/boards.h"

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

void
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
