/* SPDX-License-Identifier: MIT */
/*
 * Reports a job that has ended: its report in a private thread, a ranked result in a public one.
 *
 *     job.done ─▶ submission.show ─▶ files ─▶ private thread ─▶ messages ─▶ public thread, its message ─▶ archived ─▶ told
 *
 * A later process starts again, and the outbox finds what an earlier one has posted.
 */
#include <config.h>

#include "discord/flows/submission_message_internal.h"

#include "base/base.h"
#include "base/failpoint.h"
#include "base/text.h"
#include "common/format.h"
#include "common/report.h"
#include "common/source_path.h"
#include "common/template.h"
#include "discord/flows/announce.h"
#include "discord/flows/result_threads.h"
#include "discord/interaction/bot.h"
#include "discord/interaction/outbox.h"
#include "discord/interaction/stored.h"
#include "discord/render/message.h"
#include "discord/rest/rest.h"
#include "discord/text/escape.h"
#include "discord/text/split.h"

#define REPORT_WIDTH 76           /* columns that a window of common size shows */
#define MESSAGES_MAX 5            /* of a report; its rest is a file */
#define FILES_MAX 4               /* attached files of a job */
#define FILE_BYTES_MAX (7u << 20) /* of all files: a request has at most 8 MiB */
#define NAME_SHOWN_MAX 100        /* UTF-16 units */
#define NAME_PART_MAX 22          /* UTF-16 units of a board and of a user in a thread's name */
#define DEVICE_PART_MAX 15        /* ... and of a device */
#define REASON_SHOWN_MAX 300      /* UTF-16 units of the reason why a job did not pass; its report has all of it */
#define THREAD_NAME_MAX 100       /* UTF-16 units */
#define THREAD_ARCHIVE_MIN 1440   /* minutes without a message, after which Discord archives it */

enum { PUBLIC_THREAD = 11, PRIVATE_THREAD = 12 };

struct report {
	struct submission_message *msg;
	json_t *event; /* job.done */
	json_t *job;   /* in the record; borrowed from it */
	json_t *messages;
	json_t *files;    /* files of the job that are not fetched yet */
	json_t *fetched;  /* files of the last message */
	struct buf bytes; /* of the file being fetched */
	size_t used;
	bool anew;      /* the thread was deleted, and a new one made */
	unsigned tries; /* questions that the engine could not answer */
};

static void find_thread(struct report *report);
static void post_result(void *arg);
static void ask(void *arg);

static const json_t *
data_of(const struct report *report)
{
	return json_object_get(report->event, "data");
}

static void
free_report(struct report *report)
{
	json_decref_all(report->event, report->messages, report->files, report->fetched);
	buf_free(&report->bytes);
	free(report);
}

/* The bot stops: the next process reports what this one did not. */
static void
leave(struct report *report)
{
	submission_message_report_ended(report->msg, 0);
	free_report(report);
}

static void told(void *arg);

/* An event that stays open keeps all that come later from the bot. */
static void
on_told(void *arg, const struct kettle_error *err, json_t *result)
{
	struct report *report = arg;
	(void)result;
	failpoint("discord.told");
	if (err->code == KETTLE_ECANCELED || (err->code && report->msg->bot->stopping)) {
		leave(report);
	} else if (stored_may_pass(err)) {
		later_call(report->msg->bot, rest_backoff(++report->tries), told, report);
	} else {
		submission_message_report_ended(report->msg, member_int(report->event, "seq"));
		free_report(report);
	}
}

static void
told(void *arg)
{
	struct report *report = arg;
	json_object_set_new(report->job, "told", json_true());
	submission_message_store(report->msg, on_told, report);
}

static int64_t
since(const struct report *report)
{
	int64_t ms = 0;
	(void)format_parse_time(json_text_or_empty(report->event, "at"), &ms);
	return ms;
}

static char *
job_key(const struct report *report, const char *what)
{
	return submission_message_key(report->msg, member_int(report->job, "job"), what);
}

static void
post(struct report *report, const char *thread, const char *part, json_t *messages_take, outbox_fn done)
{
	AUTO_FREE char *key = xasprintf("%lld%s", (long long)member_int(report->event, "seq"), part);
	outbox_post(report->msg->bot, thread, key, since(report), messages_take, done, report);
}

/* Returns the channel for threads: the configured one for submissions, else the command's. Borrowed. */
static const char *
thread_channel(const struct interaction *interaction)
{
	const char *configured = interaction->bot->settings.submissions;
	if (*configured)
		return configured;
	return *interaction->parent ? interaction->parent : interaction->channel;
}

/*
 * Returns the device's name for a thread's name; the number of the job if it is too long, so that thread names differ.
 * New string.
 */
static char *
device_part(const json_t *job)
{
	const char *device = json_text_or_empty(job, "device");
	return split_units(device) > DEVICE_PART_MAX ? xasprintf("job %lld", (long long)member_int(job, "job"))
												 : escape_plain(device, DEVICE_PART_MAX);
}

/*
 * Makes "ada on vectors, CPU, submission 8". more: text between board and submission, with a comma before each part.
 * New string.
 */
static char *
thread_name(const struct submission_message *msg, const char *user, const char *more)
{
	AUTO_FREE char *name = escape_plain(user, NAME_PART_MAX);
	AUTO_FREE char *board = escape_plain(json_text_or_empty(msg->record, "board"), NAME_PART_MAX);
	return xasprintf("%s on %s%s, submission %lld", name, board, more, (long long)member_int(msg->record, "id"));
}

/* Keeps a row for a thread of that name; user: the user to add, NULL: the thread is public. */
static void
keep_thread(const struct submission_message *msg, const char *key, const char *name, const char *user, outbox_fn done,
	void *arg)
{
	AUTO_FREE char *shown = escape_plain(name, THREAD_NAME_MAX);
	json_t *what = json_pack("{s:s, s:i, s:i}", "name", shown, "type", user ? PRIVATE_THREAD : PUBLIC_THREAD,
		"auto_archive_duration", THREAD_ARCHIVE_MIN);
	if (user)
		json_object_set_new(what, "invitable", json_false());
	const struct outbox_kept kept = {
		.key = key, .channel = thread_channel(msg->interaction), .what_take = what, .user = user};
	(void)outbox_keep(msg->bot, &kept, done, arg);
}

/* ---- the public result ---- */

static bool
is_public(const struct report *report)
{
	const json_t *data = data_of(report), *record = report->msg->record;
	return member_is(data, "mode", "ranked") && member_is(data, "state", "passed") &&
		   !member_true(report->event, "closed") && !member_true(record, "practice") &&
		   (json_is_integer(json_object_get(data, "rank")) || json_is_object(json_object_get(data, "better")));
}

static const char *
medal(json_int_t rank)
{
	static const char *const medals[] = {"", "🥇 ", "🥈 ", "🥉 "};
	return rank > 0 && rank < (json_int_t)ARRAY_SIZE(medals) ? medals[rank] : "";
}

/*
 * Makes "rank 1 of 2, up from 2 · personal best, previously 1.4 ms" or "not the user's best: submission 2, 1.4 ms, rank
 * 1".
 */
static char *
place(const json_t *data)
{
	AUTO_FREE char *change = report_change(member_int(data, "rank"), json_object_get(data, "rank_before"));
	AUTO_FREE char *better = report_better(json_object_get(data, "better"), "the user's best");
	if (*better)
		return xstrdup(better + strlen(", "));
	AUTO_FREE char *rank = template_text("rank {rank} of {of}", data, NULL);
	AUTO_FREE char *how = template_text(
		"{first?first success|personal best{previous_score?, previously {previous_score:seconds}}}", data, NULL);
	return xasprintf("%s%s · %s", rank, change, how);
}

static json_t *
result_message(const struct report *report)
{
	const json_t *data = data_of(report), *record = report->msg->record;
	json_int_t rank = member_int(data, "rank");
	bool best = member_true(data, "best");
	AUTO_FREE char *user = escape_markdown(json_text_or_empty(report->event, "user_name"), NAME_SHOWN_MAX);
	AUTO_FREE char *board = escape_markdown(json_text_or_empty(record, "board"), NAME_SHOWN_MAX);
	AUTO_FREE char *device = escape_markdown(json_text_or_empty(data, "device"), NAME_SHOWN_MAX);
	AUTO_FREE char *score = template_text("{score:score}", data, NULL);
	AUTO_FREE char *how = place(data);
	return message_printf(
		"%s**%s** on **%s** · %s: **%s** · %s", best ? medal(rank) : "", user, board, device, score, how);
}

static void
on_result_archived(void *arg, const struct outbox_answer *answer)
{
	failpoint("discord.archived");
	if (answer->end == OUTBOX_STOPPED)
		leave(arg);
	else
		told(arg);
}

static void
warn(const struct report *report, const char *what, const struct kettle_error *err)
{
	bot_log(report->msg->bot, KETTLE_LOG_WARNING, "%s: %s", what, err->message);
}

static void
on_result_posted(void *arg, const struct outbox_answer *answer)
{
	struct report *report = arg;
	AUTO_FREE char *key = job_key(report, "result");
	if (answer->end == OUTBOX_STOPPED) {
		leave(report);
		return;
	}
	if (answer->end != OUTBOX_DONE)
		warn(report, "A message could not be posted", answer->err);
	failpoint("discord.result");
	outbox_archive(report->msg->bot, outbox_id(report->msg->bot, key), on_result_archived, report);
}

static void
on_result_thread(void *arg, const struct outbox_answer *answer)
{
	struct report *report = arg;
	if (answer->end == OUTBOX_STOPPED) {
		leave(report);
	} else if (answer->end != OUTBOX_DONE) {
		warn(report, "A ranked result has no thread", answer->err);
		told(report);
	} else {
		post_result(report);
	}
}

/* Makes "alice on vectors, CPU, 607.3 µs, submission 8". New string. */
static char *
result_name(const struct report *report)
{
	AUTO_FREE char *score = template_text("{score:seconds}", data_of(report), NULL);
	AUTO_FREE char *device = device_part(report->job);
	AUTO_FREE char *more = xasprintf(", %s, %s", device, score);
	return thread_name(report->msg, json_text_or_empty(report->event, "user_name"), more);
}

static void
keep_result(struct report *report)
{
	AUTO_FREE char *key = job_key(report, "result"), *name = result_name(report);
	keep_thread(report->msg, key, name, NULL, on_result_thread, report);
}

/* Checks that the board is still public. If it closed after the event, a thread that was made since is removed. */
static void
on_board(void *arg, const struct kettle_error *err, json_t *result)
{
	struct report *report = arg;
	struct bot *bot = report->msg->bot;
	const json_t *board = json_object_get(result, "leaderboard");
	json_int_t id = member_int(report->event, "leaderboard");
	AUTO_FREE char *key = job_key(report, "result");
	const char *thread = outbox_id(bot, key);
	bool shown = err->code == 0 && member_int(board, "id") == id && member_is(board, "visibility", "public");
	if (bot->stopping || err->code == KETTLE_ECANCELED) {
		leave(report);
	} else if (stored_may_pass(err)) {
		later_call(bot, rest_backoff(++report->tries), post_result, report);
	} else if (shown && *thread) {
		post(report, thread, ":result", json_pack("[o]", result_message(report)), on_result_posted);
	} else if (shown) {
		keep_result(report);
	} else {
		if (*thread)
			announce_board(bot, id, json_text_or_empty(report->msg->record, "board"));
		told(report);
	}
}

/* A thread is noted before the board is looked at: what closes the board later finds it. */
static void
note_thread(const struct report *report, const char *thread)
{
	AUTO_FREE char *name = result_name(report);
	result_threads_add(report->msg->bot, member_int(report->event, "leaderboard"), thread,
		thread_channel(report->msg->interaction), name);
}

static void
post_result(void *arg)
{
	struct report *report = arg;
	AUTO_FREE char *key = job_key(report, "result");
	const char *thread = outbox_id(report->msg->bot, key);
	AUTO_JSON json_t *actor = bot_own_actor(), *args = json_pack("{s:s, s:i}", "name",
												   json_text_or_empty(report->msg->record, "board"), "limit", 1);
	if (*thread)
		note_thread(report, thread);
	if (report->msg->bot->stopping)
		leave(report);
	else if (!is_public(report))
		told(report);
	else if (bot_call(report->msg->bot, actor, "leaderboard.show", args, on_board, report) < 0)
		leave(report);
}

/* ---- the private thread ---- */

/* Without a thread, sends the report as follow-ups of the command, while the interaction takes answers. */
static void
follow_up(struct report *report)
{
	struct interaction *interaction = report->msg->interaction;
	interaction_follow_up(interaction, message_new("There is no thread for the report, so the report is here."));
	json_array_each(report->messages, message)
		interaction_follow_up(interaction, json_deep_copy(message));
	post_result(report);
}

static void
on_archived(void *arg, const struct outbox_answer *answer)
{
	if (answer->end == OUTBOX_STOPPED)
		leave(arg);
	else
		post_result(arg);
}

/* Makes a deleted thread anew, once. After any other refusal, sends the report as follow-ups of the command. */
static void
refused(struct report *report, const struct outbox_answer *answer)
{
	bool anew = answer->end == OUTBOX_GONE && !report->anew;
	AUTO_FREE char *key = job_key(report, "thread");
	warn(report, "A message could not be posted", answer->err);
	report->msg->changed = true;
	outbox_forget(report->msg->bot, key);
	report->anew = true;
	if (anew)
		find_thread(report);
	else
		follow_up(report);
}

static void
on_posted(void *arg, const struct outbox_answer *answer)
{
	struct report *report = arg;
	AUTO_FREE char *key = job_key(report, "thread");
	const char *thread = outbox_id(report->msg->bot, key);
	if (answer->end == OUTBOX_STOPPED)
		leave(report);
	else if (answer->end != OUTBOX_DONE)
		refused(report, answer);
	else if (strcmp(submission_message_place(report->msg), thread) == 0)
		/* The thread has the live message, which will be changed once more. */
		post_result(report);
	else
		outbox_archive(report->msg->bot, thread, on_archived, report);
}

static void
on_thread(void *arg, const struct outbox_answer *answer)
{
	struct report *report = arg;
	report->msg->changed = true;
	if (answer->end == OUTBOX_STOPPED) {
		leave(report);
	} else if (answer->end != OUTBOX_DONE) {
		warn(report, "A submission has no thread of its own", answer->err);
		follow_up(report);
	} else {
		post(report, answer->id, "", json_incref(report->messages), on_posted);
	}
}

static void
find_thread(struct report *report)
{
	report_thread(report->msg, report->job, on_thread, report);
}

void
report_thread(struct submission_message *msg, const json_t *job, outbox_fn done, void *arg)
{
	AUTO_FREE char *key = submission_message_key(msg, member_int(job, "job"), "thread");
	bool several = json_array_size(json_object_get(msg->record, "jobs")) > 1;
	AUTO_FREE char *device = device_part(job), *more = several ? xasprintf(", %s", device) : xstrdup("");
	AUTO_FREE char *name = thread_name(msg, json_text_or_empty(msg->interaction->actor, "name"), more);
	keep_thread(msg, key, name, msg->interaction->user, done, arg);
}

/* ---- its text ---- */

/*
 * Makes ": wrong.cpp:8:25: error: expected ‘;’" for a job that did not pass, else "". source: the file's name in the
 * job, if known. New string.
 */
static char *
reason(const struct report *report, const char *source)
{
	const json_t *data = data_of(report);
	const char *error = json_text_or_empty(data, "error"), *name = json_text_or_empty(report->msg->record, "file_name");
	if (member_is(data, "state", "passed") || !*error)
		return xstrdup("");
	AUTO_FREE char *placed = source ? source_path_put(error, source, name) : xstrdup(error);
	AUTO_FREE char *shown = escape_sentence(placed, REASON_SHOWN_MAX);
	return xasprintf(": %s", shown);
}

/*
 * Makes "✅ H100: passed, 1.23 ms, rank 2 of 10, up from 3", "…, not your best: submission 2, 1.1 ms, rank 1" or "❌
 * H100: failed: 5 of 5 tests failed".
 */
static void
set_line(struct report *report, const char *source)
{
	const json_t *data = data_of(report);
	const char *state = json_text_or_empty(data, "state");
	AUTO_FREE char *device = escape_markdown(json_text_or_empty(data, "device"), NAME_SHOWN_MAX);
	AUTO_FREE char *text = template_text("{state:word}{score?, {score:score}}{rank?, rank {rank} of {of}}", data, NULL);
	AUTO_FREE char *change = report_change(member_int(data, "rank"), json_object_get(data, "rank_before"));
	AUTO_FREE char *better = report_better(json_object_get(data, "better"), "your best");
	AUTO_FREE char *why = reason(report, source);
	AUTO_FREE char *line = xasprintf(
		"%s **%s**: %s%s%s", strcmp(state, "passed") == 0 ? "✅" : "❌", device, text, *better ? better : change, why);
	json_object_set_new(report->job, "line", json_string(line));
}

static char *
report_text(const struct report *report, const json_t *show)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = term_memory(&text, &size);
	const struct term term = {.out = out, .width = REPORT_WIDTH};
	AUTO_JSON json_t *jobs = source_path_put_all(
		json_object_get(show, "jobs"), json_text_or_empty(show, "source"), json_text_or_empty(show, "file_name"));
	json_array_each(jobs, job)
		if (member_int(job, "job") == member_int(report->job, "job"))
			report_job(&term, job, json_text_or_empty(job, "device"), false);
	fclose(out);
	return text;
}

/*
 * The first line is the result, the second names the submission; the rest of a long report is a file of the last
 * message.
 */
static void
write_messages(struct report *report, const json_t *show)
{
	AUTO_FREE char *text = report_text(report, show), *rest = NULL;
	AUTO_BUF struct buf markdown = {0};
	AUTO_FREE char *board = escape_markdown(json_text_or_empty(report->msg->record, "board"), NAME_SHOWN_MAX);
	buf_printf(&markdown, "%s\n**Submission %lld** to **%s**\n", json_text_or_empty(report->job, "line"),
		(long long)member_int(report->msg->record, "id"), board);
	escape_code_block(&markdown, NULL, text + strspn(text, "\n"));
	AUTO_JSON json_t *parts = split_messages(markdown.data, MESSAGES_MAX, &rest);
	json_array_each(parts, part)
		(void)json_array_append_new(report->messages, message_new(json_string_value(part)));
	json_t *last = json_array_get(report->messages, json_array_size(report->messages) - 1);
	if (rest && last)
		message_file(last, "report.txt", text);
}

/* ---- files of the job ---- */

static void fetch_part(struct report *report);

static void
end_files(struct report *report)
{
	json_t *last = json_array_get(report->messages, json_array_size(report->messages) - 1);
	json_t *files = json_object_get(last, "files");
	if (last && json_array_size(report->fetched) > 0 && files)
		(void)json_array_extend(files, report->fetched);
	else if (last && json_array_size(report->fetched) > 0)
		json_object_set(last, "files", report->fetched);
	find_thread(report);
}

static void
next_file(struct report *report)
{
	buf_free(&report->bytes);
	(void)json_array_remove(report->files, 0);
	if (json_array_size(report->files) > 0 && json_array_size(report->fetched) < FILES_MAX)
		fetch_part(report);
	else
		end_files(report);
}

static void
on_part(void *arg, const struct kettle_error *err, json_t *result)
{
	struct report *report = arg;
	void *data = NULL;
	size_t size = 0;
	const char *coded = json_text_or_empty(result, "base64");
	if (err->code || base64_decode(coded, strlen(coded), &data, &size) < 0 || size == 0 ||
		report->used + size > FILE_BYTES_MAX) {
		free(data);
		next_file(report);
		return;
	}
	buf_add(&report->bytes, data, size);
	report->used += size;
	free(data);
	if ((json_int_t)report->bytes.len < member_int(result, "size")) {
		fetch_part(report);
		return;
	}
	json_t *file = contents_json(report->bytes.data, report->bytes.len);
	json_object_set(file, "name", json_object_get(result, "name"));
	(void)json_array_append_new(report->fetched, file);
	next_file(report);
}

static void
fetch_part(struct report *report)
{
	const struct submission_message *msg = report->msg;
	const json_t *file = json_array_get(report->files, 0);
	AUTO_JSON json_t *args =
		json_pack("{s:O, s:I}", "artifact", json_object_get(file, "artifact"), "offset", (json_int_t)report->bytes.len);
	if (bot_call(msg->bot, msg->interaction->actor, "submission.artifact", args, on_part, report) < 0)
		end_files(report);
}

static void
on_files(void *arg, const struct kettle_error *err, json_t *result)
{
	struct report *report = arg;
	(void)err;
	json_array_each(result, file)
		if (member_int(file, "job") == member_int(report->job, "job") &&
			json_is_null(json_object_get(file, "expired")) && member_int(file, "size") <= (json_int_t)FILE_BYTES_MAX)
			(void)json_array_append(report->files, file);
	if (json_array_size(report->files) > 0)
		fetch_part(report);
	else
		end_files(report);
}

static void
on_shown(void *arg, const struct kettle_error *err, json_t *result)
{
	struct report *report = arg;
	if (err->code == KETTLE_ECANCELED) {
		leave(report);
		return;
	}
	if (stored_may_pass(err)) {
		later_call(report->msg->bot, rest_backoff(++report->tries), ask, report);
		return;
	}
	if (err->code) {
		/* The submission was deleted meanwhile, or the user lost access. */
		told(report);
		return;
	}
	set_line(report, json_text_or_null(result, "source"));
	report->msg->changed = true;
	write_messages(report, result);
	AUTO_JSON json_t *args = json_pack("{s:O}", "id", json_object_get(report->msg->record, "id"));
	if (bot_call(report->msg->bot, report->msg->interaction->actor, "submission.download", args, on_files, report) < 0)
		leave(report);
}

static void
ask(void *arg)
{
	struct report *report = arg;
	const struct submission_message *msg = report->msg;
	AUTO_JSON json_t *args = json_pack("{s:O}", "id", json_object_get(msg->record, "id"));
	if (msg->bot->stopping ||
		bot_call(msg->bot, msg->interaction->actor, "submission.show", args, on_shown, report) < 0)
		leave(report);
}

void
report_begin(struct submission_message *msg, const json_t *event)
{
	struct report *report = xnew(struct report, .msg = msg, .event = json_deep_copy(event),
		.job = submission_message_job(msg, member_int(json_object_get(event, "data"), "job")), .messages = json_array(),
		.files = json_array(), .fetched = json_array());
	set_line(report, NULL);
	msg->changed = true;
	ask(report);
}
