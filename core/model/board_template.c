/* SPDX-License-Identifier: MIT */
/* What a participant starts from: a board's templates, or the skeletons of its language, with a header. */
#include <config.h>

#include "model/board_template.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/popcorn_header.h"
#include "base/text.h"
#include "model/board.h"

#include <string.h>
#include <strings.h>

/* ---- the text ---- */

static void
add_directives(struct buf *text, const char *comment, const json_t *board)
{
	const json_t *devices = json_object_get(board, "gpu_types"), *device;
	size_t i, count = json_array_size(devices);
	buf_printf(text, "%s!POPCORN leaderboard %s\n", comment, member_text(board, "name"));
	/* More than a header may name: the submitter chooses. */
	if (count == 0 || count > HEADER_MAX_DEVICES)
		return;
	buf_printf(text, "%s!POPCORN gpus", comment);
	json_array_foreach((json_t *)devices, i, device)
		buf_printf(text, " %s", json_string_value(device));
	buf_adds(text, "\n");
}

/* The whole file; new string. */
static char *
compose(const json_t *board, const char *comment, const char *code)
{
	AUTO_BUF struct buf text = {0};
	const char *description = member_text(board, "description"), *deadline = member_text(board, "deadline");
	add_directives(&text, comment, board);
	buf_printf(&text, "%s\n", comment);
	while (*description) {
		size_t len = strcspn(description, "\n");
		buf_printf(&text, "%s%s%.*s\n", comment, len ? " " : "", (int)len, description);
		description += len + (description[len] == '\n');
	}
	if (*deadline)
		buf_printf(&text, "%s\n%s Deadline: %.10s %.5s UTC\n\n", comment, comment, deadline, deadline + 11);
	else
		buf_printf(&text, "%s\n%s Deadline: none\n\n", comment, comment);
	popcorn_header_strip(code, strlen(code), &text);
	return buf_take(&text);
}

/* ---- the choice ---- */

struct template_choice {
	const struct languages *languages;
	const struct language *language; /* of the board; NULL: not loaded */
	const json_t *board;
	json_t *starters;
};

static bool
lists(const char *const *names, const char *word)
{
	for (; names && *names; names++)
		if (strcasecmp(*names, word) == 0)
			return true;
	return false;
}

/* How comments begin in a file: the board's language where it takes such files, else the first that does. */
static const char *
comment_of(const struct template_choice *choice, const char *file_name)
{
	const char *dot = strrchr(file_name, '.');
	const struct language *found = choice->language;
	if (dot && !(found && lists(found->ops->extensions, dot)))
		for (size_t i = 0; i < choice->languages->count; i++)
			if (lists(choice->languages->items[i].ops->extensions, dot)) {
				found = &choice->languages->items[i];
				break;
			}
	return found && found->ops->comment ? found->ops->comment : "#";
}

static void
template_add(
	struct template_choice *choice, const char *name, const char *file_name, const char *code, const char *source)
{
	AUTO_FREE char *text = compose(choice->board, comment_of(choice, file_name), code);
	json_array_append_new(choice->starters,
		json_pack("{s:s, s:s, s:s, s:s}", "language", name, "file_name", file_name, "text", text, "source", source));
}

static void
add_templates(struct template_choice *choice, const json_t *templates, const char *wanted)
{
	const struct language *language = wanted ? language_find(choice->languages, wanted) : NULL;
	const char *name;
	json_t *one;
	json_object_foreach((json_t *)templates, name, one) {
		bool of_language = language && lists(language->ops->template_names, name);
		if (wanted && strcasecmp(wanted, name) != 0 && !of_language)
			continue;
		template_add(choice, name, member_text(one, "file_name"), member_text(one, "text"), "template");
	}
}

static void
add_skeletons(struct template_choice *choice, const char *wanted)
{
	const struct language *language = choice->language;
	bool whole = !wanted || language_find(choice->languages, wanted) == language;
	for (size_t i = 0; language && i < language->ops->skeletons_count; i++) {
		const struct kettle_skeleton *one = &language->ops->skeletons[i];
		if (!whole && strcasecmp(wanted, one->template_name) != 0)
			continue;
		template_add(choice, one->template_name, one->file_name, one->text, "skeleton");
	}
}

static int
fail_nothing(
	const struct template_choice *choice, const json_t *templates, const char *wanted, struct kettle_error *err)
{
	AUTO_JSON json_t *names = json_array();
	const char *name;
	json_t *one;
	json_object_foreach((json_t *)templates, name, one)
		json_array_append_new(names, json_string(name));
	size_t skeletons =
		choice->language && json_object_size(templates) == 0 ? choice->language->ops->skeletons_count : 0;
	for (size_t i = 0; i < skeletons; i++)
		json_array_append_new(names, json_string(choice->language->ops->skeletons[i].template_name));
	AUTO_FREE char *all = board_join(names);
	if (!wanted || json_array_size(names) == 0)
		return kettle_fail(err, KETTLE_ENOENT, "The leaderboard `%s` has no template, and its language no skeleton.",
			member_text(choice->board, "name"));
	return kettle_fail(err, KETTLE_EINVAL, "The leaderboard `%s` has no template `%.64s`; there is %s.",
		member_text(choice->board, "name"), wanted, all ? all : "none");
}

int
board_template_list(const struct languages *languages, const json_t *board, const json_t *templates, const char *wanted,
	json_t **ret_starters, struct kettle_error *err)
{
	AUTO_JSON json_t *starters = json_array();
	struct template_choice choice = {
		.languages = languages,
		.language = language_find(languages, member_text(json_object_get(board, "task"), "lang")),
		.board = board,
		.starters = starters,
	};
	add_templates(&choice, templates, wanted);
	if (json_array_size(starters) == 0 && (wanted || json_object_size(templates) == 0))
		add_skeletons(&choice, wanted);
	if (json_array_size(starters) == 0)
		return fail_nothing(&choice, templates, wanted, err);
	*ret_starters = STEAL(starters);
	return 0;
}
