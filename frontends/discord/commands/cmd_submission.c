/* SPDX-License-Identifier: MIT */
/* Commands on the user's own submissions, and commands whose answers are files. */
#include <config.h>

#include "base/buf.h"
#include "base/base.h"
#include "base/number.h"
#include "discord/commands/handlers.h"
#include "discord/interaction/answer.h"
#include "discord/render/message.h"
#include "discord/render/plain.h"
#include "discord/text/escape.h"

#define LIST_MAX 20     /* submissions that commands/table.c requests */
#define CANCEL_MAX 5    /* buttons */
#define VERDICT_MAX 500 /* UTF-16 units */
#define REASON_MAX 300  /* UTF-16 units, of one job */
#define REASONS_SHOWN_MAX 3

/* ---- submissions ---- */

static bool
is_open(const json_t *submission)
{
	return member_is(submission, "state", "queued") || member_is(submission, "state", "running");
}

void
discord_submission_list(struct interaction *interaction, const json_t *submissions)
{
	static const struct view_column columns[] = {COLUMN_RIGHT("id", "{id}"),
		COLUMN_CUT("leaderboard", "{leaderboard_name}"), SPARE_COLUMN(2, "mode", "{practice?practice|{mode}}"),
		COLUMN_CUT("result", "{flagged?marked as a cheat|{runs@{gpu_type} {score?{score:seconds}|{state:word}}}}"),
		SPARE_COLUMN_CUT(1, "file", "{file_name}")};
	size_t buttons = 0;
	if (json_array_size(submissions) == 0) {
		interaction_say(interaction, "You have no submissions yet; `/leaderboard submit` makes one.");
		return;
	}
	AUTO_FREE char *table = plain_table(columns, ARRAY_SIZE(columns), submissions);
	json_t *message = message_block(
		json_array_size(submissions) == LIST_MAX ? "Your newest submissions:" : "Your submissions, the newest first:",
		table, "submissions.txt");
	json_array_each(submissions, submission) {
		if (!is_open(submission) || buttons == CANCEL_MAX)
			continue;
		AUTO_FREE char *id = xasprintf("cancel:%lld", (long long)member_int(submission, "id"));
		AUTO_FREE char *label = xasprintf("Cancel %lld", (long long)member_int(submission, "id"));
		message_button(message, MESSAGE_DANGER, label, id);
		buttons++;
	}
	interaction_answer(interaction, message);
}

/* ---- get-submission ---- */

/* Adds why jobs did not pass: after the verdict of an only job, below the verdict of several. */
static void
put_reasons(struct buf *out, const json_t *submission)
{
	AUTO_JSON json_t *jobs = plain_jobs(submission);
	json_array_each_at(jobs, i, job) {
		AUTO_FREE char *why = escape_sentence(json_text_or_empty(job, "error"), REASON_MAX);
		AUTO_FREE char *device = answer_bold(json_text_or_empty(job, "device"));
		if (*why && json_array_size(jobs) == 1)
			buf_printf(out, ": %s", why);
		else if (*why && i < REASONS_SHOWN_MAX)
			buf_printf(out, "\n❌ %s: %s", device, why);
	}
}

void
discord_submission_show(struct interaction *interaction, const json_t *submission)
{
	AUTO_FREE char *verdict = plain_verdict(submission), *report = plain_report(submission);
	AUTO_FREE char *shown = escape_sentence(verdict, VERDICT_MAX),
				   *board = answer_bold(json_text_or_empty(submission, "leaderboard_name"));
	const char *code = json_text_or_null(submission, "code");
	AUTO_BUF struct buf text = {0};
	buf_adds(&text, shown);
	put_reasons(&text, submission);
	buf_printf(&text, "\n%s", board);
	json_t *message = message_new(text.data);
	message_file(message, "report.txt", report);
	if (code)
		message_file(message, json_text_or_empty(submission, "file_name"), code);
	interaction_answer(interaction, message);
}

/* ---- the button ---- */

static void
on_cancelled(struct interaction *interaction, const json_t *result, void *arg)
{
	(void)arg;
	interaction_say(interaction, "Cancelled submission %lld.", (long long)member_int(result, "id"));
}

void
discord_submission_cancel(struct interaction *interaction, const char *arguments)
{
	long long id = 0;
	(void)number_parse_integer(arguments, &id);
	interaction_defer_update(interaction);
	interaction_call(
		interaction, "submission.cancel", json_pack("{s:I}", "id", (json_int_t)id), on_cancelled, NULL, NULL);
}

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
discord_files_task(struct interaction *interaction, const json_t *result)
{
	struct parcel parcel = {.message = message_new("")};
	AUTO_JSON json_t *yml = json_pack("{s:O}", "text", json_object_get(result, "yml"));
	AUTO_FREE char *line = answer_template("The task of {*leaderboard}: you submit the file {submission}.", result);
	pack(&parcel, "task.yml", yml);
	json_object_each(json_object_get(result, "templates"), name, contents)
		pack(&parcel, json_text_or_empty(contents, "file_name"), contents);
	json_object_each(json_object_get(result, "files"), name, contents)
		pack(&parcel, name, contents);
	deliver(interaction, &parcel, line);
}

/* ---- templates ---- */

void
discord_files_template(struct interaction *interaction, const json_t *result)
{
	struct parcel parcel = {.message = message_new("")};
	AUTO_FREE char *line = answer_template("Templates for {*leaderboard}: {templates@{language}}", result);
	json_array_each(json_object_get(result, "templates"), template)
		pack(&parcel, json_text_or_empty(template, "file_name"), template);
	deliver(interaction, &parcel, line);
}

/* ---- harnesses ---- */

void
discord_files_harness(struct interaction *interaction, const json_t *result)
{
	struct parcel parcel = {.message = message_new("")};
	AUTO_FREE char *line = answer_template(
		"The standard harness of {*language}. A task may bring its own: `/leaderboard task` shows it.", result);
	json_array_each(json_object_get(result, "files"), file)
		pack(&parcel, json_text_or_empty(file, "name"), file);
	deliver(interaction, &parcel, line);
}
