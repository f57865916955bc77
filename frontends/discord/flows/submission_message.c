/* SPDX-License-Identifier: MIT */
/*
 * Follows submissions.
 *
 * Theory of operation. Each submission has a subscription for its progress, which is shown and not kept. Its end comes
 * with stored events, which are done only when everything about them is posted. One timer serves all submissions: it
 * edits the messages that have changed, asks for the queue positions of waiting jobs, and moves messages whose token
 * is about to end.
 */
#include <config.h>

#include "discord/flows/submission_message.h"

#include "base/buf.h"
#include "base/base.h"
#include "discord/flows/submission_message_internal.h"
#include "discord/interaction/outbox.h"
#include "discord/interaction/stored.h"
#include "discord/render/message.h"
#include "discord/text/escape.h"

#define TICK_MS 1000
#define PLACE_TICKS 3      /* ticks between two questions for queue positions */
#define NAME_SHOWN_MAX 100 /* UTF-16 units */
#define REMARKS_MAX 3
#define REMARK_SHOWN_MAX 200  /* UTF-16 units */
#define STATES_SHOWN_MAX 1200 /* UTF-16 units */
#define PLACES_MAX 100        /* jobs in one question for positions: no argument takes more values */
#define MOVES_MAX 3           /* moves of a live message whose thread is deleted each time */
#define KEY_PREFIX "sub/"

struct submission_messages {
	struct bot *bot;
	struct submission_message **list;
	size_t count, room;
	struct kettle_timer *timer;
	unsigned ticks;
	json_t *unplaced; /* numbers of jobs whose positions are being asked for, in pieces; NULL: none */
	size_t placed;    /* how many of them were asked for */
	kettle_fn done;
	void *arg;
};

static const struct term no_terminal = {.out = NULL};

json_t *
submission_message_job(const struct submission_message *msg, json_int_t job)
{
	json_array_each(json_object_get(msg->record, "jobs"), item)
		if (member_int(item, "job") == job)
			return item;
	return NULL;
}

static json_int_t
submission_message_id(const struct submission_message *msg)
{
	return member_int(msg->record, "id");
}

char *
submission_message_key(const struct submission_message *msg, json_int_t job, const char *what)
{
	long long id = submission_message_id(msg);
	return job ? xasprintf(KEY_PREFIX "%lld/%lld/%s", id, (long long)job, what)
			   : xasprintf(KEY_PREFIX "%lld/%s", id, what);
}

const char *
submission_message_place(const struct submission_message *msg)
{
	AUTO_FREE char *key = submission_message_key(msg, 0, "live");
	return *outbox_id(msg->bot, key) ? json_text_or_empty(outbox_known(msg->bot, key), "channel") : "";
}

/* Returns the thread with the report of a job; "": there is none. Borrowed. */
static const char *
thread_of(const struct submission_message *msg, const json_t *job)
{
	AUTO_FREE char *key = submission_message_key(msg, member_int(job, "job"), "thread");
	return outbox_id(msg->bot, key);
}

static struct submission_message *
find(const struct submission_messages *lives, json_int_t id)
{
	for (size_t i = 0; i < lives->count; i++)
		if (submission_message_id(lives->list[i]) == id)
			return lives->list[i];
	return NULL;
}

void
submission_message_store(struct submission_message *msg, kettle_answer done, void *arg)
{
	AUTO_FREE char *key = xasprintf(KEY_PREFIX "%lld", (long long)submission_message_id(msg));
	int rc = bot_put(msg->bot, key, msg->record, done, arg);
	if (rc < 0 && done)
		done(arg, &(struct kettle_error){.code = rc, .message = "The state cannot be written."}, NULL);
}

static void
submission_message_free(struct submission_message *msg)
{
	const struct kettle_host *host = msg->bot->host;
	if (msg->subscribed)
		(void)host->unsubscribe(host, msg->subscription, NULL, NULL);
	progress_free(msg->progress);
	interaction_unref(msg->interaction);
	json_decref(msg->record);
	free_all(msg->last, msg);
}

/* ---- the message ---- */

static bool
is_open(const struct submission_message *msg)
{
	json_array_each(json_object_get(msg->record, "jobs"), job)
		if (!json_object_get(job, "line"))
			return msg->ended == 0;
	return false;
}

static void
add_ended(const struct submission_message *msg, struct buf *text)
{
	json_array_each(json_object_get(msg->record, "jobs"), job) {
		const char *line = json_text_or_null(job, "line"), *thread = thread_of(msg, job);
		if (!line)
			continue;
		buf_printf(text, "\n%s", line);
		if (*thread)
			buf_printf(text, " · <#%s>", thread);
	}
}

static void
add_states(const struct submission_message *msg, struct buf *text)
{
	AUTO_FREE char *states = progress_text(msg->progress, "\n");
	char *rest = states;
	for (char *line; is_open(msg) && (line = strsep(&rest, "\n"));) {
		AUTO_FREE char *shown = escape_sentence(line, STATES_SHOWN_MAX);
		buf_printf(text, "\n⏳ %s", shown);
	}
}

/* Adds the engine's remarks on the file. */
static void
add_remarks(const struct submission_message *msg, struct buf *text)
{
	json_array_each_at(json_object_get(msg->record, "remarks"), i, remark) {
		AUTO_FREE char *shown = escape_sentence(json_string_value(remark), REMARK_SHOWN_MAX);
		if (i < REMARKS_MAX)
			buf_printf(text, "\n⚠️ %s", shown);
	}
}

static void
add_head(const struct submission_message *msg, struct buf *text)
{
	AUTO_FREE char *board = escape_markdown(json_text_or_empty(msg->record, "board"), NAME_SHOWN_MAX);
	AUTO_FREE char *file = escape_markdown(json_text_or_empty(msg->record, "file_name"), NAME_SHOWN_MAX);
	buf_printf(text, "**Submission %lld** to **%s** · %s%s · %s", (long long)submission_message_id(msg), board,
		json_text_or_empty(msg->record, "mode"), member_true(msg->record, "practice") ? " (practice)" : "", file);
	add_remarks(msg, text);
}

static json_t *
submission_message_message(const struct submission_message *msg)
{
	AUTO_BUF struct buf text = {0};
	add_head(msg, &text);
	add_ended(msg, &text);
	add_states(msg, &text);
	json_t *message = message_new(text.data);
	if (is_open(msg)) {
		AUTO_FREE char *cancel = xasprintf("cancel:%lld", (long long)submission_message_id(msg));
		message_button(message, MESSAGE_DANGER, "Cancel", cancel);
	}
	message_no_rows(message);
	return message;
}

/* Makes the last state of the command's answer, which says where the message continues. */
static json_t *
last_message(const struct submission_message *msg)
{
	AUTO_BUF struct buf text = {0};
	const char *thread = submission_message_place(msg);
	add_head(msg, &text);
	add_ended(msg, &text);
	if (*thread)
		buf_printf(&text, "\n➡️ The result will be in <#%s>.", thread);
	else
		buf_printf(&text,
			"\n➡️ Discord accepts no more changes to this message: `/leaderboard get-submission "
			"submission_id:%lld` "
			"shows the result.",
			(long long)submission_message_id(msg));
	return message_new(text.data);
}

/* Forgets the last content, which users cannot see. */
static void
unsay(struct submission_message *msg)
{
	free(STEAL(msg->last));
	msg->changed = true;
}

/* ---- the command's answer ---- */

static void
on_answered(void *arg, const struct outbox_answer *answer)
{
	struct submission_message *msg = arg;
	msg->edits--;
	/* The token has ended early, or the user has dismissed the message. */
	if (answer->end == OUTBOX_EXPIRED || answer->end == OUTBOX_MISSING || answer->err->code == KETTLE_EACCES) {
		interaction_expire(msg->interaction);
		unsay(msg);
	}
}

static void
answer(struct submission_message *msg, json_t *message_take)
{
	msg->edits++;
	if (!interaction_edit(msg->interaction, message_take, on_answered, msg))
		msg->edits--;
}

/* Says in the command's answer where the message continues, if Discord still takes that. */
static void
say_last(struct submission_message *msg)
{
	unsay(msg);
	if (interaction_lasts(msg->interaction))
		answer(msg, last_message(msg));
}

/* ---- a message of the bot's, after the end of the token ---- */

/* The message's thread was deleted, which each edit under way reports: moves the message again, at most MOVES_MAX times. */
static void
lose_thread(struct submission_message *msg)
{
	json_array_each(json_object_get(msg->record, "jobs"), job)
		if (strcmp(thread_of(msg, job), msg->thread) == 0) {
			AUTO_FREE char *key = submission_message_key(msg, member_int(job, "job"), "thread");
			outbox_forget(msg->bot, key);
		}
	msg->thread[0] = '\0';
	msg->nowhere = ++msg->moves >= MOVES_MAX;
	unsay(msg);
}

static void
on_shown(void *arg, const struct outbox_answer *answer)
{
	struct submission_message *msg = arg;
	bool moved = msg->moving;
	msg->edits--;
	msg->moving = false;
	if (answer->end == OUTBOX_STOPPED)
		return;
	if (answer->end == OUTBOX_GONE && *msg->thread && !msg->nowhere)
		lose_thread(msg);
	else if (answer->end == OUTBOX_MISSING || answer->err->code == KETTLE_EACCES || (moved && answer->err->code))
		msg->nowhere = true;
	if (moved && answer->end != OUTBOX_GONE)
		say_last(msg);
}

/* moves: it is not there yet. Any other time it is only changed, since it may be deleted before its edit's turn comes. */
static void
show(struct submission_message *msg, const char *thread, json_t *message_take, bool moves)
{
	AUTO_FREE char *key = submission_message_key(msg, 0, "live");
	(void)snowflake_copy(msg->thread, thread);
	const struct outbox_kept kept = {
		.key = key, .channel = msg->thread, .what_take = message_take, .only_changed = !moves};
	msg->edits++;
	if (!outbox_keep(msg->bot, &kept, on_shown, msg))
		msg->edits--;
}

static void
on_thread(void *arg, const struct outbox_answer *answer)
{
	struct submission_message *msg = arg;
	if (answer->end == OUTBOX_DONE) {
		show(msg, answer->id, submission_message_message(msg), true);
		return;
	}
	msg->moving = false;
	if (answer->end == OUTBOX_STOPPED)
		return;
	msg->nowhere = true;
	say_last(msg);
}

/* Moves the message into the thread of the first job that has not ended. */
static void
move(struct submission_message *msg)
{
	msg->moving = true;
	json_array_each(json_object_get(msg->record, "jobs"), job)
		if (!json_object_get(job, "line")) {
			report_thread(msg, job, on_thread, msg);
			return;
		}
}

static void
edit(struct submission_message *msg)
{
	const char *place = submission_message_place(msg);
	AUTO_JSON json_t *content = submission_message_message(msg);
	const char *text = json_text_or_empty(content, "content");
	msg->changed = false;
	if (msg->last && strcmp(msg->last, text) == 0)
		return;
	free(msg->last);
	msg->last = xstrdup(text);
	/* If the submission ends shortly before the message would move, the command's answer still shows the end. */
	if (*place && !msg->nowhere)
		show(msg, place, STEAL(content), false);
	else if (!msg->nowhere &&
			 (interaction_alive(msg->interaction) || (interaction_lasts(msg->interaction) && !is_open(msg))))
		answer(msg, STEAL(content));
}

/* ---- the end of a submission ---- */

static void
remove_live(struct submission_message *msg)
{
	struct submission_messages *lives = msg->bot->lives;
	for (size_t i = 0; i < lives->count; i++)
		if (lives->list[i] == msg) {
			lives->list[i] = lives->list[--lives->count];
			break;
		}
	submission_message_free(msg);
}

/* Ends following when everything is posted. An event that comes again then finds no submission, and is done at once. */
static void
close_live(struct submission_message *msg)
{
	const struct kettle_host *host = msg->bot->host;
	const char *place = submission_message_place(msg);
	if (msg->reports > 0 || msg->edits > 0 || msg->moving || msg->changed)
		return;
	AUTO_FREE char *key = xasprintf(KEY_PREFIX "%lld", (long long)submission_message_id(msg));
	if (*place)
		outbox_archive(msg->bot, place, NULL, NULL);
	outbox_forget(msg->bot, key);
	(void)host->state_put(host, key, NULL, NULL, NULL);
	(void)host->event_done(host, msg->ended);
	remove_live(msg);
}

void
submission_message_report_ended(struct submission_message *msg, json_int_t seq)
{
	const struct kettle_host *host = msg->bot->host;
	msg->reports--;
	if (seq)
		(void)host->event_done(host, seq);
	msg->changed = true;
}

/* ---- the timer ---- */

static void ask_piece(struct submission_messages *lives);

static void
on_places(void *arg, const struct kettle_error *err, json_t *result)
{
	struct submission_messages *lives = arg;
	json_array_each(json_object_get(result, "places"), place)
		for (size_t k = 0; k < lives->count; k++) {
			struct submission_message *msg = lives->list[k];
			const json_t *position = json_object_get(place, "place"), *wait = json_object_get(place, "wait_s");
			if (!submission_message_job(msg, member_int(place, "job")))
				continue;
			progress_queued(msg->progress, json_text_or_empty(place, "device"),
				json_is_integer(position) ? json_integer_value(position) : -1,
				json_is_integer(wait) ? json_integer_value(wait) : -1, json_text_or_empty(place, "waits"));
			msg->changed = true;
		}
	if (err->code)
		json_decref(STEAL(lives->unplaced));
	else
		ask_piece(lives);
}

/* Asks, as the bot, for as many positions as one question may have. */
static void
ask_piece(struct submission_messages *lives)
{
	AUTO_JSON json_t *jobs = json_array();
	while (json_array_size(jobs) < PLACES_MAX && lives->placed < json_array_size(lives->unplaced))
		(void)json_array_append(jobs, json_array_get(lives->unplaced, lives->placed++));
	AUTO_JSON json_t *args = json_pack("{s:O}", "job", jobs);
	AUTO_JSON json_t *actor = bot_own_actor();
	if (json_array_size(jobs) == 0 || bot_call(lives->bot, actor, "queue.place", args, on_places, lives) < 0)
		json_decref(STEAL(lives->unplaced));
}

/* Asks for the positions of all waiting jobs. */
static void
ask_places(struct submission_messages *lives)
{
	lives->unplaced = json_array();
	lives->placed = 0;
	for (size_t k = 0; k < lives->count; k++)
		if (progress_waits(lives->list[k]->progress) && is_open(lives->list[k]))
			json_array_each(json_object_get(lives->list[k]->record, "jobs"), job)
				(void)json_array_append(lives->unplaced, json_object_get(job, "job"));
	ask_piece(lives);
}

static void
on_tick(void *arg)
{
	struct submission_messages *lives = arg;
	if (++lives->ticks % PLACE_TICKS == 1 && !lives->unplaced)
		ask_places(lives);
	for (size_t i = lives->count; i-- > 0;) {
		struct submission_message *msg = lives->list[i];
		bool stays = msg->nowhere || *submission_message_place(msg) || interaction_alive(msg->interaction);
		if (msg->moving)
			continue;
		if (!stays && is_open(msg))
			move(msg);
		else if (msg->changed)
			edit(msg);
		else if (msg->ended)
			close_live(msg);
	}
}

/* ---- following ---- */

static void
on_progress(void *arg, const json_t *event)
{
	struct submission_message *msg = arg;
	if (member_is(event, "kind", "caught_up"))
		return; /* nothing has happened */
	progress_event(msg->progress, event);
	msg->changed = true;
}

static struct submission_message *
add_live(struct submission_messages *lives, struct interaction *interaction, json_t *record_take)
{
	const struct kettle_host *host = lives->bot->host;
	struct submission_message *msg =
		xnew(struct submission_message, .bot = lives->bot, .interaction = interaction_ref(interaction),
			.record = record_take, .progress = progress_new(&no_terminal, true), .changed = true);
	json_array_each(json_object_get(record_take, "jobs"), job)
		if (!json_object_get(job, "line"))
			progress_queued(msg->progress, json_text_or_empty(job, "device"), -1, -1, "");
	if (lives->count == lives->room) {
		lives->room = lives->room ? 2 * lives->room : 16;
		lives->list = xreallocarray(lives->list, lives->room, sizeof(*lives->list));
	}
	lives->list[lives->count++] = msg;
	AUTO_JSON json_t *filter = json_pack("{s:I}", "submission", submission_message_id(msg));
	msg->subscribed =
		host->subscribe(host, interaction->actor, filter, -1, on_progress, msg, &msg->subscription, NULL) == 0;
	return msg;
}

void
lives_open(
	struct interaction *interaction, const json_t *submission, const char *file_name, kettle_answer stored, void *arg)
{
	struct submission_messages *lives = interaction->bot->lives;
	struct submission_message *msg = find(lives, member_int(submission, "id"));
	if (!msg) {
		json_t *record = json_pack("{s:o, s:O, s:O, s:O, s:s, s:b, s:o}", "interaction", interaction_save(interaction),
			"id", json_object_get(submission, "id"), "board", json_object_get(submission, "leaderboard"), "mode",
			json_object_get(submission, "mode"), "file_name", file_name, "practice",
			member_true(submission, "practice"), "jobs", json_deep_copy(json_object_get(submission, "jobs")));
		json_t *remarks = json_object_get(submission, "remarks");
		if (remarks)
			json_object_set(record, "remarks", remarks);
		msg = add_live(lives, interaction, record);
		lives->ticks = 0; /* asks for its position at once */
		edit(msg);
	}
	submission_message_store(msg, stored, arg);
}

/* ---- events ---- */

/* Ends the lines of jobs that will not end, since the submission has. */
static void
end_jobs(struct submission_message *msg, const char *how)
{
	json_array_each(json_object_get(msg->record, "jobs"), job)
		if (!json_object_get(job, "line")) {
			AUTO_FREE char *device = escape_markdown(json_text_or_empty(job, "device"), NAME_SHOWN_MAX);
			AUTO_FREE char *line = xasprintf("⚪ %s: %s", device, how);
			json_object_set_new(job, "line", json_string(line));
		}
}

static void
end_live(struct submission_message *msg, const json_t *event, const char *how)
{
	end_jobs(msg, how);
	msg->ended = member_int(event, "seq");
	msg->changed = true;
}

/* Reports a job. Ignores jobs that a rerun added or repeats. */
static bool
job_done(struct submission_message *msg, const json_t *event)
{
	json_t *job = submission_message_job(msg, member_int(json_object_get(event, "data"), "job"));
	if (!job || member_true(job, "told"))
		return false;
	msg->reports++;
	report_begin(msg, event);
	return true;
}

bool
lives_event(struct bot *bot, const json_t *event)
{
	const char *kind = json_text_or_empty(event, "kind");
	struct submission_message *msg = find(bot->lives, member_int(event, "submission"));
	if (!msg)
		return false;
	if (strcmp(kind, "job.done") == 0)
		return job_done(msg, event);
	if (msg->ended)
		return false;
	if (strcmp(kind, "submission.done") == 0)
		end_live(msg, event, "ended");
	else if (strcmp(kind, "submission.cancelled") == 0)
		end_live(msg, event, "cancelled");
	else if (strcmp(kind, "submission.deleted") == 0)
		end_live(msg, event, "deleted");
	else
		return false;
	return true;
}

/* ---- start and end ---- */

/* Records jobs that began meanwhile: they have no queue position. */
static void
on_state(void *arg, const struct kettle_error *err, json_t *result)
{
	struct submission_messages *lives = arg;
	struct submission_message *msg = find(lives, member_int(result, "id"));
	json_array_each(json_object_get(result, "jobs"), job)
		if (err->code == 0 && msg && member_is(job, "state", "running"))
			progress_begun(msg->progress, json_text_or_empty(job, "device"));
}

static void
on_record(void *arg, const char *key, json_t *record)
{
	struct submission_messages *lives = arg;
	struct interaction *interaction = interaction_restore(lives->bot, json_object_get(record, "interaction"));
	(void)key;
	if (!interaction)
		return;
	AUTO_JSON json_t *args = json_pack("{s:O}", "id", json_object_get(record, "id"));
	struct submission_message *msg = add_live(lives, interaction, json_deep_copy(record));
	if (*submission_message_place(msg))
		say_last(msg);
	(void)bot_call(lives->bot, interaction->actor, "submission.show", args, on_state, lives);
	interaction_unref(interaction);
}

static void
on_records(void *arg)
{
	struct submission_messages *lives = arg;
	lives->done(lives->arg);
}

struct submission_messages *
lives_new(struct bot *bot, kettle_fn done, void *arg)
{
	const struct kettle_host *host = bot->host;
	struct submission_messages *lives = xnew(struct submission_messages, .bot = bot, .done = done, .arg = arg);
	(void)host->timer_start(host, TICK_MS, TICK_MS, on_tick, lives, &lives->timer, NULL);
	stored_each(bot, KEY_PREFIX, on_record, on_records, lives);
	return lives;
}

void
lives_stop(struct submission_messages *lives)
{
	if (!lives)
		return;
	const struct kettle_host *host = lives->bot->host;
	host->timer_stop(host, STEAL(lives->timer));
	for (size_t i = 0; i < lives->count; i++)
		if (lives->list[i]->subscribed) {
			(void)host->unsubscribe(host, lives->list[i]->subscription, NULL, NULL);
			lives->list[i]->subscribed = false;
		}
}

void
lives_free(struct submission_messages *lives)
{
	if (!lives)
		return;
	for (size_t i = 0; i < lives->count; i++)
		submission_message_free(lives->list[i]);
	json_decref(lives->unplaced);
	free_all(lives->list, lives);
}
