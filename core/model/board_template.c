/* SPDX-License-Identifier: MIT */
/* What a participant starts from: a board's templates, or the skeletons of its language, with a header. */
#include <config.h>

#include "model/board_template.h"

#include "model/board.h"
#include "base/cleanup.h"
#include "task/popcorn_header.h"
#include "base/text.h"

#include <string.h>
#include <strings.h>

static int
fail_memory(struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for the template.");
}

static const char *
text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

/* ---- the text ---- */

static int
add_directives(struct buf *text, const char *comment, const json_t *board)
{
	const json_t *devices = json_object_get(board, "gpu_types"), *device;
	size_t i, count = json_array_size(devices);
	int code = buf_printf(text, "%s!POPCORN leaderboard %s\n", comment, text_of(board, "name"));
	/* More than a header may name: left to whoever submits. */
	if (code < 0 || count == 0 || count > HEADER_MAX_DEVICES)
		return code;
	code = buf_printf(text, "%s!POPCORN gpus", comment);
	json_array_foreach((json_t *)devices, i, device) {
		if (code == 0)
			code = buf_printf(text, " %s", json_string_value(device));
	}
	return code < 0 ? code : buf_adds(text, "\n");
}

static int
add_description(struct buf *text, const char *comment, const char *description)
{
	int code = buf_printf(text, "%s\n", comment);
	while (code == 0 && *description) {
		size_t len = strcspn(description, "\n");
		code = buf_printf(text, "%s%s%.*s\n", comment, len ? " " : "", (int)len, description);
		description += len + (description[len] == '\n');
	}
	return code;
}

static int
add_deadline(struct buf *text, const char *comment, const char *deadline)
{
	if (!*deadline)
		return buf_printf(text, "%s\n%s Deadline: none\n\n", comment, comment);
	return buf_printf(text, "%s\n%s Deadline: %.10s %.5s UTC\n\n", comment, comment, deadline, deadline + 11);
}

/* The whole file; new string. */
static int
compose(const json_t *board, const char *comment, const char *code, char **ret_text)
{
	AUTO_BUF struct buf text = {0};
	if (add_directives(&text, comment, board) < 0 ||
		add_description(&text, comment, text_of(board, "description")) < 0 ||
		add_deadline(&text, comment, text_of(board, "deadline")) < 0 ||
		popcorn_header_strip(code, strlen(code), &text) < 0)
		return KETTLE_ENOMEM;
	*ret_text = buf_take(&text);
	return *ret_text ? 0 : KETTLE_ENOMEM;
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

static int
template_add(
	struct template_choice *choice, const char *name, const char *file_name, const char *code, const char *source)
{
	AUTO_FREE char *text = NULL;
	if (compose(choice->board, comment_of(choice, file_name), code, &text) < 0)
		return KETTLE_ENOMEM;
	return json_array_append_new(choice->starters,
		json_pack("{s:s, s:s, s:s, s:s}", "language", name, "file_name", file_name, "text", text, "source", source));
}

static int
add_templates(struct template_choice *choice, const json_t *templates, const char *wanted)
{
	const struct language *language = wanted ? language_find(choice->languages, wanted) : NULL;
	const char *name;
	json_t *one;
	json_object_foreach((json_t *)templates, name, one) {
		bool of_language = language && lists(language->ops->template_names, name);
		if (wanted && strcasecmp(wanted, name) != 0 && !of_language)
			continue;
		if (template_add(choice, name, text_of(one, "file_name"), text_of(one, "text"), "template") < 0)
			return KETTLE_ENOMEM;
	}
	return 0;
}

static int
add_skeletons(struct template_choice *choice, const char *wanted)
{
	const struct language *language = choice->language;
	bool whole = !wanted || language_find(choice->languages, wanted) == language;
	for (size_t i = 0; language && i < language->ops->skeletons_count; i++) {
		const struct kettle_skeleton *one = &language->ops->skeletons[i];
		if (!whole && strcasecmp(wanted, one->template_name) != 0)
			continue;
		if (template_add(choice, one->template_name, one->file_name, one->text, "skeleton") < 0)
			return KETTLE_ENOMEM;
	}
	return 0;
}

static int
fail_nothing(
	const struct template_choice *choice, const json_t *templates, const char *wanted, struct kettle_error *err)
{
	AUTO_JSON json_t *names = json_array();
	const char *name;
	json_t *one;
	json_object_foreach((json_t *)templates, name, one) {
		(void)json_array_append_new(names, json_string(name));
	}
	size_t skeletons =
		choice->language && json_object_size(templates) == 0 ? choice->language->ops->skeletons_count : 0;
	for (size_t i = 0; i < skeletons; i++)
		(void)json_array_append_new(names, json_string(choice->language->ops->skeletons[i].template_name));
	AUTO_FREE char *all = board_join(names);
	if (!wanted || json_array_size(names) == 0)
		return kettle_fail(err, KETTLE_ENOENT, "The leaderboard `%s` has no template, and its language no skeleton.",
			text_of(choice->board, "name"));
	return kettle_fail(err, KETTLE_EINVAL, "The leaderboard `%s` has no template `%.64s`; there is %s.",
		text_of(choice->board, "name"), wanted, all ? all : "none");
}

int
board_template_list(const struct languages *languages, const json_t *board, const json_t *templates, const char *wanted,
	json_t **ret_starters, struct kettle_error *err)
{
	AUTO_JSON json_t *starters = json_array();
	struct template_choice choice = {
		.languages = languages,
		.language = language_find(languages, text_of(json_object_get(board, "task"), "lang")),
		.board = board,
		.starters = starters,
	};
	if (!starters || add_templates(&choice, templates, wanted) < 0)
		return fail_memory(err);
	if (json_array_size(starters) == 0 && (wanted || json_object_size(templates) == 0) &&
		add_skeletons(&choice, wanted) < 0)
		return fail_memory(err);
	if (json_array_size(starters) == 0)
		return fail_nothing(&choice, templates, wanted, err);
	*ret_starters = STEAL(starters);
	return 0;
}
