/* SPDX-License-Identifier: MIT */
/*
 * Follows submissions.
 *
 * Theory of operation. Each submission has a subscription for its progress, which is shown and forgotten, while its end
 * comes by the stored events, which are said to be dealt with only when all has been told. One timer looks at all of them:
 * it edits the messages that have changed, asks for the places of those that wait, and moves messages whose token ends.
 */
#include <config.h>

#include "discord/flows/live.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "discord/flows/live_internal.h"
#include "discord/flows/thread.h"
#include "discord/interaction/send.h"
#include "discord/interaction/stored.h"
#include "discord/render/message.h"
#include "discord/text/escape.h"

#define TICK_MS 1000
#define PLACE_TICKS 3      /* so many ticks between two questions for the places of those that wait */
#define NAME_SHOWN_MAX 100 /* UTF-16 units */
#define REMARKS_MAX 3
#define REMARK_SHOWN_MAX 200  /* UTF-16 units */
#define STATES_SHOWN_MAX 1200 /* UTF-16 units */
#define PLACES_MAX 100        /* jobs of one question for places: no argument takes more values */
#define MOVES_MAX 3           /* of a live message whose thread is deleted again and again */
#define UNKNOWN_CHANNEL 10003 /* Discord: the thread was deleted */
#define KEY_PREFIX "sub/"

struct lives {
	struct bot *bot;
	struct live **list;
	size_t count, room;
	struct kettle_timer *timer;
	unsigned ticks;
	json_t *unplaced; /* numbers of jobs whose places are asked for, one piece after the other; NULL: none are */
	size_t placed;    /* of them, so far */
	kettle_fn done;
	void *arg;
};

static const struct term no_terminal = {.out = NULL};

json_t *
live_job(const struct live *live, json_int_t job)
{
	size_t i;
	json_t *item;
	json_array_foreach(json_object_get(live->record, "jobs"), i, item)
		if (member_int(item, "job") == job)
			return item;
	return NULL;
}

static json_int_t
live_id(const struct live *live)
{
	return member_int(live->record, "id");
}

static struct live *
find(const struct lives *lives, json_int_t id)
{
	for (size_t i = 0; i < lives->count; i++)
		if (live_id(lives->list[i]) == id)
			return lives->list[i];
	return NULL;
}

void
live_store(struct live *live, kettle_answer done, void *arg)
{
	const struct kettle_host *host = live->bot->host;
	AUTO_FREE char *key = xasprintf(KEY_PREFIX "%lld", (long long)live_id(live));
	int rc = host->state_put(host, key, live->record, done, arg);
	if (rc < 0 && done)
		done(arg, &(struct kettle_error){.code = rc, .message = "The state cannot be written."}, NULL);
}

static void
live_free(struct live *live)
{
	const struct kettle_host *host = live->bot->host;
	if (live->subscribed)
		(void)host->unsubscribe(host, live->subscription, NULL, NULL);
	progress_free(live->progress);
	interaction_unref(live->interaction);
	json_decref(live->record);
	free(live->last);
	free(live);
}

/* ---- the message ---- */

static bool
is_open(const struct live *live)
{
	size_t i;
	const json_t *job;
	json_array_foreach(json_object_get(live->record, "jobs"), i, job)
		if (!json_object_get(job, "line"))
			return live->ended == 0;
	return false;
}

static void
add_ended(const struct live *live, struct buf *text)
{
	size_t i;
	const json_t *job;
	json_array_foreach(json_object_get(live->record, "jobs"), i, job) {
		const char *line = member_string(job, "line"), *thread = member_text(job, "thread");
		if (!line)
			continue;
		buf_printf(text, "\n%s", line);
		if (*thread)
			buf_printf(text, " · <#%s>", thread);
	}
}

static void
add_states(const struct live *live, struct buf *text)
{
	AUTO_FREE char *states = progress_text(live->progress, "\n");
	char *rest = states;
	for (char *line; is_open(live) && (line = strsep(&rest, "\n"));) {
		AUTO_FREE char *shown = escape_markdown(line, STATES_SHOWN_MAX);
		buf_printf(text, "\n⏳ %s", shown);
	}
}

/* What the engine remarked on the file when it took it. */
static void
add_remarks(const struct live *live, struct buf *text)
{
	size_t i;
	const json_t *remark;
	json_array_foreach(json_object_get(live->record, "remarks"), i, remark) {
		AUTO_FREE char *shown = escape_markdown(json_string_value(remark), REMARK_SHOWN_MAX);
		if (i < REMARKS_MAX)
			buf_printf(text, "\n⚠️ %s", shown);
	}
}

static void
add_head(const struct live *live, struct buf *text)
{
	AUTO_FREE char *board = escape_markdown(member_text(live->record, "board"), NAME_SHOWN_MAX);
	AUTO_FREE char *file = escape_markdown(member_text(live->record, "file_name"), NAME_SHOWN_MAX);
	buf_printf(text, "**Submission %lld** to **%s** · %s%s · %s", (long long)live_id(live), board,
		member_text(live->record, "mode"), member_true(live->record, "practice") ? " (practice)" : "", file);
	add_remarks(live, text);
}

static json_t *
live_message(const struct live *live)
{
	AUTO_BUF struct buf text = {0};
	add_head(live, &text);
	add_ended(live, &text);
	add_states(live, &text);
	json_t *message = message_new(text.data);
	if (is_open(live)) {
		AUTO_FREE char *cancel = xasprintf("cancel:%lld", (long long)live_id(live));
		message_button(message, MESSAGE_DANGER, "Cancel", cancel);
	}
	message_no_rows(message);
	return message;
}

/* The last state of the command's answer: it says where the message goes on. */
static json_t *
last_message(const struct live *live)
{
	AUTO_BUF struct buf text = {0};
	const char *thread = member_text(live->record, "channel");
	add_head(live, &text);
	add_ended(live, &text);
	if (*thread)
		buf_printf(&text, "\n➡️ This goes on in <#%s>, where you will find the result.", thread);
	else
		buf_printf(&text,
			"\n➡️ Discord takes no more changes of this message: `/leaderboard get-submission submission_id:%lld` "
			"shows "
			"the result.",
			(long long)live_id(live));
	return message_new(text.data);
}

void
live_changed(struct live *live)
{
	live->changed = true;
}

static void close_live(struct live *live);

/* The thread that the message has moved to was deleted: it moves again, some times. */
static void
lose_thread(struct live *live)
{
	AUTO_FREE char *thread = xstrdup(member_text(live->record, "channel"));
	json_int_t moves = member_int(live->record, "moves") + 1;
	size_t i;
	json_t *job;
	json_array_foreach(json_object_get(live->record, "jobs"), i, job)
		if (member_is(job, "thread", thread))
			(void)json_object_del(job, "thread");
	json_object_set_new(live->record, "moves", json_integer(moves));
	(void)json_object_del(live->record, "channel");
	(void)json_object_del(live->record, "message");
	if (moves >= MOVES_MAX)
		json_object_set_new(live->record, "message", json_string(""));
	live_store(live, NULL, NULL);
}

/* A message that is not there takes no further edits. */
static void
lose_message(struct live *live, int64_t code)
{
	if (!json_object_get(live->record, "message"))
		/* Discord's token has ended before its time, or the user has dismissed the message. */
		interaction_expire(live->interaction);
	else if (code == UNKNOWN_CHANNEL)
		lose_thread(live);
	else
		json_object_set_new(live->record, "message", json_string(""));
}

static void
on_edited(void *arg, const struct rest_answer *answer)
{
	struct live *live = arg;
	live->editing = false;
	if (answer && (live->bot->stopping || send_may_pass(answer))) {
		/* The last state must arrive: by the timer's next try, or by the next process. */
		free(STEAL(live->last));
		live->changed = true;
		return;
	}
	if (answer && (answer->err->code == KETTLE_ENOENT || answer->err->code == KETTLE_EACCES))
		lose_message(live, answer->code);
	if (live->ended && !live->changed)
		close_live(live);
}

/* ---- a message of the bot's, after the end of the token ---- */

static void
moved(struct live *live, const char *id)
{
	live->moving = false;
	json_object_set_new(live->record, "message", json_string(id));
	live_store(live, NULL, NULL);
	live_changed(live);
}

struct move {
	struct live *live;
	char id[SNOWFLAKE_SIZE];
};

static void
on_last(void *arg, const struct rest_answer *answer)
{
	struct move *move = arg;
	(void)answer;
	if (move->live->bot->stopping)
		move->live->moving = false;
	else
		moved(move->live, move->id);
	free(move);
}

/* The move counts once the command's answer says where to, as far as Discord still takes that. */
static void
say_last(struct live *live, const char *id)
{
	if (!interaction_lasts(live->interaction)) {
		moved(live, id);
		return;
	}
	struct move *move = xcalloc(1, sizeof(*move));
	move->live = live;
	(void)snowflake_copy(move->id, id);
	interaction_edit(live->interaction, last_message(live), on_last, move);
}

static void
on_moved(void *arg, const struct kettle_error *err, const char *id)
{
	struct live *live = arg;
	if (live->bot->stopping || err->code == KETTLE_EUNAVAIL) {
		live->moving = false; /* the timer or the next process tries it again */
		return;
	}
	if (err->code == KETTLE_ENOENT)
		lose_thread(live);
	if (err->code == KETTLE_ENOENT && !json_object_get(live->record, "message"))
		live->moving = false;
	else
		say_last(live, err->code ? "" : id);
}

static void
on_thread(void *arg, const char *thread)
{
	struct live *live = arg;
	if (live->bot->stopping) {
		live->moving = false;
		return;
	}
	if (!*thread) {
		say_last(live, "");
		return;
	}
	AUTO_FREE char *key = xasprintf("live:%lld", (long long)live_id(live));
	json_object_set_new(live->record, "channel", json_string(thread));
	send_once(live->bot, SEND_ONCE, thread, key, live->interaction->begun_ms, live_message(live), on_moved, live);
}

/* The first job that has not ended lends its thread. */
static void
move(struct live *live)
{
	size_t i;
	json_t *job;
	live->moving = true;
	json_array_foreach(json_object_get(live->record, "jobs"), i, job)
		if (!json_object_get(job, "line")) {
			report_thread(live, job, on_thread, live);
			return;
		}
	moved(live, "");
}

static void
edit(struct live *live)
{
	const char *message = member_string(live->record, "message");
	json_t *content = live_message(live);
	AUTO_FREE char *text = xstrdup(member_text(content, "content"));
	live->changed = false;
	bool same = live->last && strcmp(live->last, text) == 0;
	free(live->last);
	live->last = STEAL(text);
	live->editing = true;
	/* An end that comes when the message would soon have moved is still told there. */
	bool answers =
		interaction_alive(live->interaction) || (interaction_lasts(live->interaction) && !is_open(live) && !message);
	if (!same && answers) {
		interaction_edit(live->interaction, content, on_edited, live);
		return;
	}
	if (!same && message && *message) {
		AUTO_FREE char *path = xasprintf("/channels/%s/messages/%s", member_text(live->record, "channel"), message);
		send_message(live->bot, "PATCH", path, content, on_edited, live);
		return;
	}
	json_decref(content);
	on_edited(live, NULL);
}

/* ---- its end ---- */

static void
remove_live(struct live *live)
{
	struct lives *lives = live->bot->lives;
	for (size_t i = 0; i < lives->count; i++)
		if (lives->list[i] == live) {
			lives->list[i] = lives->list[--lives->count];
			break;
		}
	live_free(live);
}

/* All has been told: an event that comes again finds nothing, and is dealt with at once. */
static void
close_live(struct live *live)
{
	const struct kettle_host *host = live->bot->host;
	if (live->reports > 0 || live->editing || live->moving || live->changed)
		return;
	AUTO_FREE char *key = xasprintf(KEY_PREFIX "%lld", (long long)live_id(live));
	if (*member_text(live->record, "channel"))
		thread_archive(live->bot, member_text(live->record, "channel"), NULL, NULL);
	(void)host->state_put(host, key, NULL, NULL, NULL);
	(void)host->event_done(host, live->ended);
	remove_live(live);
}

void
live_report_ended(struct live *live, json_int_t seq)
{
	const struct kettle_host *host = live->bot->host;
	live->reports--;
	if (seq)
		(void)host->event_done(host, seq);
	live_changed(live);
}

/* ---- the timer ---- */

static void ask_piece(struct lives *lives);

static void
on_places(void *arg, const struct kettle_error *err, json_t *result)
{
	struct lives *lives = arg;
	size_t i;
	const json_t *place;
	json_array_foreach(json_object_get(result, "places"), i, place)
		for (size_t k = 0; k < lives->count; k++) {
			struct live *live = lives->list[k];
			const json_t *position = json_object_get(place, "place"), *wait = json_object_get(place, "wait_s");
			if (!live_job(live, member_int(place, "job")))
				continue;
			progress_queued(live->progress, member_text(place, "device"),
				json_is_integer(position) ? json_integer_value(position) : -1,
				json_is_integer(wait) ? json_integer_value(wait) : -1, member_text(place, "waits"));
			live_changed(live);
		}
	if (err->code)
		json_decref(STEAL(lives->unplaced));
	else
		ask_piece(lives);
}

/* Asks for as many places as one question may, as the bot itself. */
static void
ask_piece(struct lives *lives)
{
	const struct kettle_host *host = lives->bot->host;
	AUTO_JSON json_t *jobs = json_array();
	while (json_array_size(jobs) < PLACES_MAX && lives->placed < json_array_size(lives->unplaced))
		(void)json_array_append(jobs, json_array_get(lives->unplaced, lives->placed++));
	AUTO_JSON json_t *args = json_pack("{s:O}", "job", jobs);
	AUTO_JSON json_t *actor = bot_own_actor();
	if (json_array_size(jobs) == 0 || host->call(host, actor, "queue.place", args, on_places, lives) < 0)
		json_decref(STEAL(lives->unplaced));
}

/* The places of all that wait. */
static void
ask_places(struct lives *lives)
{
	size_t i;
	const json_t *job;
	lives->unplaced = json_array();
	lives->placed = 0;
	for (size_t k = 0; k < lives->count; k++)
		if (progress_waits(lives->list[k]->progress) && is_open(lives->list[k]))
			json_array_foreach(json_object_get(lives->list[k]->record, "jobs"), i, job)
				(void)json_array_append(lives->unplaced, json_object_get(job, "job"));
	ask_piece(lives);
}

static void
on_tick(void *arg)
{
	struct lives *lives = arg;
	if (++lives->ticks % PLACE_TICKS == 1 && !lives->unplaced)
		ask_places(lives);
	for (size_t i = lives->count; i-- > 0;) {
		struct live *live = lives->list[i];
		bool alive = interaction_alive(live->interaction);
		if (live->editing || live->moving)
			continue;
		if (!alive && is_open(live) && !json_object_get(live->record, "message"))
			move(live);
		else if (live->changed)
			edit(live);
		else if (live->ended)
			close_live(live);
	}
}

/* ---- following ---- */

static void
on_progress(void *arg, const json_t *event)
{
	struct live *live = arg;
	progress_event(live->progress, event);
	live_changed(live);
}

static struct live *
add_live(struct lives *lives, struct interaction *interaction, json_t *record_take)
{
	const struct kettle_host *host = lives->bot->host;
	struct live *live = xcalloc(1, sizeof(*live));
	size_t i;
	const json_t *job;
	*live = (struct live){.bot = lives->bot,
		.interaction = interaction_ref(interaction),
		.record = record_take,
		.progress = progress_new(&no_terminal, true),
		.changed = true};
	json_array_foreach(json_object_get(record_take, "jobs"), i, job)
		if (!json_object_get(job, "line"))
			progress_queued(live->progress, member_text(job, "device"), -1, -1, "");
	if (lives->count == lives->room) {
		lives->room = lives->room ? 2 * lives->room : 16;
		lives->list = xreallocarray(lives->list, lives->room, sizeof(*lives->list));
	}
	lives->list[lives->count++] = live;
	AUTO_JSON json_t *filter = json_pack("{s:I}", "submission", live_id(live));
	live->subscribed =
		host->subscribe(host, interaction->actor, filter, -1, on_progress, live, &live->subscription, NULL) == 0;
	return live;
}

struct opened {
	kettle_fn stored;
	void *arg;
	struct bot *bot;
};

static void
on_opened(void *arg, const struct kettle_error *err, json_t *result)
{
	struct opened *opened = arg;
	const struct kettle_host *host = opened->bot->host;
	(void)result;
	if (err->code)
		host->log(host, KETTLE_LOG_WARNING, "A submission's messages would not outlast a crash: %s", err->message);
	opened->stored(opened->arg);
	free(opened);
}

void
lives_open(
	struct interaction *interaction, const json_t *submission, const char *file_name, kettle_fn stored, void *arg)
{
	struct lives *lives = interaction->bot->lives;
	struct opened *opened = xcalloc(1, sizeof(*opened));
	*opened = (struct opened){stored, arg, interaction->bot};
	struct live *live = find(lives, member_int(submission, "id"));
	if (!live) {
		json_t *record = json_pack("{s:o, s:O, s:O, s:O, s:s, s:b, s:o}", "interaction", interaction_save(interaction),
			"id", json_object_get(submission, "id"), "board", json_object_get(submission, "leaderboard"), "mode",
			json_object_get(submission, "mode"), "file_name", file_name, "practice",
			member_true(submission, "practice"), "jobs", json_deep_copy(json_object_get(submission, "jobs")));
		json_t *remarks = json_object_get(submission, "remarks");
		if (remarks)
			json_object_set(record, "remarks", remarks);
		live = add_live(lives, interaction, record);
		edit(live);
	}
	live_store(live, on_opened, opened);
}

/* ---- events ---- */

/* Jobs that will not end any more, since the submission has. */
static void
end_jobs(struct live *live, const char *how)
{
	size_t i;
	json_t *job;
	json_array_foreach(json_object_get(live->record, "jobs"), i, job)
		if (!json_object_get(job, "line")) {
			AUTO_FREE char *device = escape_markdown(member_text(job, "device"), NAME_SHOWN_MAX);
			AUTO_FREE char *line = xasprintf("⚪ %s: %s", device, how);
			json_object_set_new(job, "line", json_string(line));
		}
}

static void
end_live(struct live *live, const json_t *event, const char *how)
{
	end_jobs(live, how);
	live->ended = member_int(event, "seq");
	live_changed(live);
}

/* A job that a rerun added, or one that is run again, is not followed here. */
static bool
job_done(struct live *live, const json_t *event)
{
	json_t *job = live_job(live, member_int(json_object_get(event, "data"), "job"));
	if (!job || member_true(job, "told"))
		return false;
	live->reports++;
	report_begin(live, event);
	return true;
}

bool
lives_event(struct bot *bot, const json_t *event)
{
	const char *kind = member_text(event, "kind");
	struct live *live = find(bot->lives, member_int(event, "submission"));
	if (!live)
		return false;
	if (strcmp(kind, "job.done") == 0)
		return job_done(live, event);
	if (live->ended)
		return false;
	if (strcmp(kind, "submission.done") == 0)
		end_live(live, event, "ended");
	else if (strcmp(kind, "submission.cancelled") == 0)
		end_live(live, event, "cancelled");
	else if (strcmp(kind, "submission.deleted") == 0)
		end_live(live, event, "deleted");
	else
		return false;
	return true;
}

/* ---- start and end ---- */

/* What has begun meanwhile is not in a queue any more. */
static void
on_state(void *arg, const struct kettle_error *err, json_t *result)
{
	struct lives *lives = arg;
	struct live *live = find(lives, member_int(result, "id"));
	size_t i;
	const json_t *job;
	json_array_foreach(json_object_get(result, "jobs"), i, job)
		if (err->code == 0 && live && member_is(job, "state", "running"))
			progress_begun(live->progress, member_text(job, "device"));
}

static void
on_record(void *arg, const char *key, json_t *record)
{
	struct lives *lives = arg;
	const struct kettle_host *host = lives->bot->host;
	struct interaction *interaction = interaction_restore(lives->bot, json_object_get(record, "interaction"));
	(void)key;
	if (!interaction)
		return;
	AUTO_JSON json_t *args = json_pack("{s:O}", "id", json_object_get(record, "id"));
	(void)add_live(lives, interaction, json_deep_copy(record));
	(void)host->call(host, interaction->actor, "submission.show", args, on_state, lives);
	interaction_unref(interaction);
}

static void
on_records(void *arg)
{
	struct lives *lives = arg;
	lives->done(lives->arg);
}

struct lives *
lives_new(struct bot *bot, kettle_fn done, void *arg)
{
	const struct kettle_host *host = bot->host;
	struct lives *lives = xcalloc(1, sizeof(*lives));
	*lives = (struct lives){.bot = bot, .done = done, .arg = arg};
	(void)host->timer_start(host, TICK_MS, TICK_MS, on_tick, lives, &lives->timer, NULL);
	stored_each(bot, KEY_PREFIX, on_record, on_records, lives);
	return lives;
}

void
lives_stop(struct lives *lives)
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
lives_free(struct lives *lives)
{
	if (!lives)
		return;
	for (size_t i = 0; i < lives->count; i++)
		live_free(lives->list[i]);
	json_decref(lives->unplaced);
	free(lives->list);
	free(lives);
}
