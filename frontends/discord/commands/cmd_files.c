/* SPDX-License-Identifier: MIT */
/* Commands whose answers are files: tasks, templates, harnesses. */
#include <config.h>

#include "discord/commands/handlers.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "discord/interaction/answer.h"
#include "discord/render/message.h"

#define FILES_BYTES_MAX (7u << 20) /* of one message: the engine sends 8 MiB in a request */
#define LEFT_OUT_SHOWN_MAX 10

/* A message with as many files as fit. */
struct parcel {
	json_t *message;
	size_t count, bytes, left_out;
	struct buf names; /* of files that do not fit */
};

static size_t
contents_size(const json_t *contents)
{
	const json_t *text = json_object_get(contents, "text"), *base64 = json_object_get(contents, "base64");
	return text ? json_string_length(text) : json_string_length(base64) / 4 * 3;
}

/* Attaches a file's contents: {"text"} or {"base64"}. */
static void
pack(struct parcel *parcel, const char *name, const json_t *contents)
{
	size_t size = contents_size(contents);
	if (parcel->count < REST_FILES_MAX && parcel->bytes + size <= FILES_BYTES_MAX) {
		parcel->count++;
		parcel->bytes += size;
		if (json_object_get(contents, "text"))
			message_file(parcel->message, name, json_text_or_empty(contents, "text"));
		else
			message_file_base64(parcel->message, name, json_text_or_empty(contents, "base64"));
		return;
	}
	AUTO_FREE char *shown = answer_name(name);
	if (parcel->left_out++ < LEFT_OUT_SHOWN_MAX)
		buf_printf(&parcel->names, "%s%s", parcel->names.len ? ", " : "", shown);
}

/* Answers with the files below a line of Markdown. */
static void
deliver(struct interaction *interaction, struct parcel *parcel, const char *line)
{
	AUTO_BUF struct buf out = {0};
	buf_adds(&out, line);
	if (parcel->left_out > 0)
		buf_printf(&out, "\nThis message lacks %s%s: it has room for %d files of %u MiB together.", parcel->names.data,
			parcel->left_out > LEFT_OUT_SHOWN_MAX ? " and others" : "", REST_FILES_MAX, FILES_BYTES_MAX >> 20);
	(void)json_object_set_new(parcel->message, "content", json_string(out.data));
	interaction_answer(interaction, parcel->message);
	buf_free(&parcel->names);
}

/* ---- the task ---- */

void
discord_files_task(struct interaction *interaction, const json_t *result, void *arg)
{
	struct parcel parcel = {.message = message_new("")};
	AUTO_JSON json_t *yml = json_pack("{s:O}", "text", json_object_get(result, "yml"));
	AUTO_FREE char *board = answer_bold(json_text_or_empty(result, "leaderboard"));
	AUTO_FREE char *submission = answer_name(json_text_or_empty(result, "submission"));
	AUTO_FREE char *line = xasprintf("The task of %s: you submit the file %s.", board, submission);
	(void)arg;
	pack(&parcel, "task.yml", yml);
	json_object_each(json_object_get(result, "templates"), name, contents)
		pack(&parcel, json_text_or_empty(contents, "file_name"), contents);
	json_object_each(json_object_get(result, "files"), name, contents)
		pack(&parcel, name, contents);
	deliver(interaction, &parcel, line);
}

/* ---- templates ---- */

void
discord_files_template(struct interaction *interaction, const json_t *result, void *arg)
{
	struct parcel parcel = {.message = message_new("")};
	AUTO_BUF struct buf line = {0};
	AUTO_FREE char *board = answer_bold(json_text_or_empty(result, "leaderboard"));
	(void)arg;
	buf_printf(&line, "Templates for %s:", board);
	json_array_each_at(json_object_get(result, "templates"), i, template) {
		AUTO_FREE char *language = answer_name(json_text_or_empty(template, "language"));
		if (i < REST_FILES_MAX)
			buf_printf(&line, "%s %s", i ? "," : "", language);
		pack(&parcel, json_text_or_empty(template, "file_name"), template);
	}
	deliver(interaction, &parcel, line.data);
}

/* ---- harnesses ---- */

void
discord_files_harness(struct interaction *interaction, const json_t *result, void *arg)
{
	struct parcel parcel = {.message = message_new("")};
	AUTO_FREE char *language = answer_bold(json_text_or_empty(result, "language"));
	AUTO_FREE char *line =
		xasprintf("The standard harness of %s. A task may bring its own: `/leaderboard task` shows it.", language);
	(void)arg;
	json_array_each(json_object_get(result, "files"), file)
		pack(&parcel, json_text_or_empty(file, "name"), file);
	deliver(interaction, &parcel, line);
}
