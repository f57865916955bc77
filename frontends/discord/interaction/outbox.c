/* SPDX-License-Identifier: MIT */
/*
 * The outbox.
 *
 * Theory of operation. A lane is a queue of rows; its first row is under way or waits for its next try. Each try
 * starts again at `attempt`, with the present knowledge: so a row that failed in the middle looks for what its last
 * try may have left. `ask` sends a request and continues with the row's next step, unless the answer means another try
 * or the end.
 */
#include <config.h>

#include "discord/interaction/outbox.h"

#include <sys/queue.h>

#include "base/base.h"
#include "base/failpoint.h"
#include "discord/interaction/bot.h"
#include "discord/interaction/send.h"
#include "discord/interaction/stored.h"
#include "discord/text/snowflake.h"

#define KEY_PREFIX "out/"
#define CLOCKS_DIFFER_MS 60000 /* how far Discord's clock may be behind this machine's */
#define TRIES_LOGGED 5         /* first tries, whose failures are not logged */
#define CHAINS 256

enum row_kind { ROW_POST, ROW_KEEP, ROW_REQUEST, ROW_ANSWER };

struct row;
typedef void (*step_fn)(struct row *row, enum outbox_end end, const struct rest_answer *answer);

struct row {
	TAILQ_ENTRY(row) link; /* after earlier rows */
	struct bot *bot;
	enum row_kind kind;
	char *lane;
	char *key; /* for a request: its path */
	char *method;
	char channel[SNOWFLAKE_SIZE];
	json_t *what; /* of ROW_POST: the messages; of a request: its body, or NULL */
	/* Of ROW_KEEP. */
	char *ping, *user;
	bool only_changed;
	/* Of ROW_POST. */
	size_t posted; /* messages that are posted */
	int64_t since_ms;
	int64_t expires_ms;      /* of ROW_ANSWER */
	char id[SNOWFLAKE_SIZE]; /* of the last message or thread made */
	unsigned tries;          /* failed tries */
	bool under_way;          /* its contents cannot change now */
	step_fn next;
	outbox_fn done;
	void *arg;
};
TAILQ_HEAD(rows, row);

struct outbox {
	struct bot *bot;
	json_t *kept; /* key → data in the state; also has "what" of a message */
	struct rows chains[CHAINS];
	kettle_fn done;
	void *arg;
};

static void attempt(void *arg);
static void on_made(struct row *row, enum outbox_end end, const struct rest_answer *answer);
static void post_next(struct row *row);
static void posted(struct row *row, const json_t *message);

/* ---- lanes ---- */

static struct rows *
chain_of(struct outbox *outbox, const char *lane)
{
	size_t chain = 0;
	for (const char *at = lane; *at; at++)
		chain = (chain * 31 + (unsigned char)*at) % CHAINS;
	return &outbox->chains[chain];
}

/* The first row of a lane; NULL: it is empty. */
static struct row *
first_of(struct outbox *outbox, const char *lane)
{
	struct row *row = TAILQ_FIRST(chain_of(outbox, lane));
	while (row && strcmp(row->lane, lane) != 0)
		row = TAILQ_NEXT(row, link);
	return row;
}

static void
free_row(struct row *row)
{
	free_all(row->lane, row->key, row->method, row->ping, row->user);
	json_decref(row->what);
	free(row);
}

/* Returns the last row of a lane with this key; NULL: there is none. */
static struct row *
last_about(struct rows *chain, const char *lane, const char *key)
{
	struct row *row = TAILQ_LAST(chain, rows);
	while (row && (strcmp(row->lane, lane) != 0 || strcmp(row->key, key) != 0))
		row = TAILQ_PREV(row, rows, link);
	return row;
}

/* Whether a row may replace an earlier one: that is not under way, and the same receiver gets its end. */
static bool
replaces(const struct row *row, const struct row *earlier)
{
	return !earlier->under_way && earlier->kind == row->kind && earlier->done == row->done && earlier->arg == row->arg;
}

/* Adds a row. condensed: it replaces the last row with its key, but never an earlier one, whose turn comes before. */
static bool
put(struct row *row_take, const char *lane, bool condensed)
{
	struct outbox *outbox = row_take->bot->outbox;
	struct rows *chain = chain_of(outbox, lane);
	struct row *earlier = condensed ? last_about(chain, lane, row_take->key) : NULL;
	if (earlier && replaces(row_take, earlier)) {
		json_decref(earlier->what);
		earlier->what = STEAL(row_take->what);
		free_row(row_take);
		return false;
	}
	row_take->lane = xstrdup(lane);
	TAILQ_INSERT_TAIL(chain, row_take, link);
	if (first_of(outbox, lane) == row_take)
		attempt(row_take);
	return true;
}

/*
 * Ends a row. Forgets deleted and absent messages. Calls done before the lane's next row starts, so rows that done
 * puts come later.
 */
static void
finish(struct row *row, enum outbox_end end, const struct rest_answer *answer)
{
	static const struct kettle_error none = {0}, stopped = {.code = KETTLE_ECANCELED, .message = "The bot stops."};
	struct bot *bot = row->bot;
	const struct kettle_error *err = end == OUTBOX_DONE ? &none : answer ? answer->err : &stopped;
	bool keeps = row->kind == ROW_KEEP, lost = end == OUTBOX_GONE || end == OUTBOX_MISSING;
	if (keeps && (lost || (end == OUTBOX_REFUSED && !*outbox_id(bot, row->key))))
		outbox_forget(bot, row->key);
	const char *id = keeps ? outbox_id(bot, row->key) : row->id;
	if (row->done)
		row->done(row->arg, &(struct outbox_answer){end, err, *id ? id : NULL, answer ? answer->body : NULL});
	else if (end != OUTBOX_DONE && end != OUTBOX_STOPPED)
		bot_log(bot, KETTLE_LOG_WARNING, "A message could not be sent: %s", err->message);
	AUTO_FREE char *lane = STEAL(row->lane);
	TAILQ_REMOVE(chain_of(bot->outbox, lane), row, link);
	free_row(row);
	struct row *next = first_of(bot->outbox, lane);
	if (next)
		attempt(next);
}

static void
fail(struct row *row, enum outbox_end end, const char *message)
{
	struct kettle_error err = {0};
	(void)kettle_fail(&err, KETTLE_ENOENT, "%s", message);
	finish(row, end, &(struct rest_answer){.err = &err});
}

/* ---- the meaning of an answer ---- */

enum { AGAIN = -1 };

/* The first line that fits counts; 0 fits everything. Status 0: the request was not sent, or had no answer. */
static const struct {
	int status;
	int64_t code; /* Discord's own */
	int bots, interactions;
} meanings[] = {
	{401, 0, AGAIN, OUTBOX_EXPIRED},              /* the bot's token may be replaced at the next start */
	{403, 50007, OUTBOX_CLOSED, OUTBOX_REFUSED},  /* cannot send messages to this user */
	{404, 10008, OUTBOX_MISSING, OUTBOX_MISSING}, /* unknown message */
	{404, 0, OUTBOX_GONE, OUTBOX_EXPIRED},        /* 10003, unknown channel; 10015, unknown webhook */
	{400, 50035, OUTBOX_REFUSED, OUTBOX_REFUSED}, /* invalid form body: an error of the bot */
	{0, 0, OUTBOX_REFUSED, OUTBOX_REFUSED},
};
#define INVALID_FORM_BODY 50035

static int
meaning_of(const struct row *row, const struct rest_answer *answer)
{
	int code = answer->err->code;
	size_t i = 0;
	if (code == 0)
		return OUTBOX_DONE;
	if (code == KETTLE_ECANCELED || row->bot->stopping)
		return OUTBOX_STOPPED;
	/* A fault, a limit, or the bot's token, which was refused before. */
	if (code == KETTLE_EUNAVAIL || code == KETTLE_ERATE || code == KETTLE_EIO ||
		(code == KETTLE_EACCES && answer->status == 0))
		return AGAIN;
	while (meanings[i].status &&
		   (meanings[i].status != answer->status || (meanings[i].code && meanings[i].code != answer->code)))
		i++;
	return row->kind == ROW_ANSWER ? meanings[i].interactions : meanings[i].bots;
}

static void
try_later(struct row *row, const struct rest_answer *answer)
{
	if (row->kind == ROW_ANSWER && strcmp(row->method, "POST") == 0) {
		finish(row, OUTBOX_REFUSED, answer);
		return;
	}
	row->tries++;
	row->under_way = false;
	bot_log(row->bot, row->tries == TRIES_LOGGED ? KETTLE_LOG_WARNING : KETTLE_LOG_DEBUG,
		"Discord does not accept a message now; Kettle sends it again later: %s", answer->err->message);
	later_call(row->bot, rest_backoff(row->tries), attempt, row);
}

static void
on_answer(void *arg, const struct rest_answer *answer)
{
	struct row *row = arg;
	int end = meaning_of(row, answer);
	if (answer->code == INVALID_FORM_BODY)
		bot_log(row->bot, KETTLE_LOG_ERROR, "Discord does not understand the bot: %s", answer->err->message);
	if (end == AGAIN)
		try_later(row, answer);
	else if (end == OUTBOX_STOPPED)
		finish(row, OUTBOX_STOPPED, answer);
	else
		row->next(row, (enum outbox_end)end, answer);
}

static void
ask(struct row *row, const char *method, const char *path, json_t *body_take, step_fn next)
{
	row->next = next;
	send_once(row->bot, method, path, body_take, on_answer, row);
}

/* ---- what the state has ---- */

json_t *
outbox_known(const struct bot *bot, const char *key)
{
	return json_object_get(bot->outbox->kept, key);
}

const char *
outbox_id(const struct bot *bot, const char *key)
{
	return json_text_or_empty(outbox_known(bot, key), "id");
}

void
outbox_forget(struct bot *bot, const char *key)
{
	size_t len = strlen(key);
	const char *name;
	json_t *value;
	void *next;
	json_object_foreach_safe(bot->outbox->kept, next, name, value)
		if (strncmp(name, key, len) == 0 && (name[len] == '\0' || name[len] == '/')) {
			AUTO_FREE char *stored = xasprintf(KEY_PREFIX "%s", name);
			(void)bot_put(bot, stored, NULL, NULL, NULL);
			(void)json_object_del(bot->outbox->kept, stored + strlen(KEY_PREFIX));
		}
}

static bool
is_thread(const struct row *row)
{
	return json_object_get(row->what, "name");
}

static void
on_stored(void *arg, const struct kettle_error *err, json_t *result)
{
	struct row *row = arg;
	(void)result;
	if (err->code && err->code != KETTLE_ECANCELED)
		bot_log(row->bot, KETTLE_LOG_ERROR,
			"The state of a message on Discord cannot be stored and would be lost in a crash: %s", err->message);
	if (row->bot->stopping)
		finish(row, OUTBOX_STOPPED, NULL);
	else
		row->next(row, OUTBOX_DONE, NULL);
}

/*
 * Stores what is known of a message or thread. A message with a number may change often: its contents are then not
 * stored.
 */
static void
store(struct row *row, step_fn next)
{
	AUTO_FREE char *key = xasprintf(KEY_PREFIX "%s", row->key);
	AUTO_JSON json_t *value = json_copy(outbox_known(row->bot, row->key));
	row->next = next;
	if (json_object_get(value, "id") && !is_thread(row))
		(void)json_object_del(value, "what");
	int rc = bot_put(row->bot, key, value, on_stored, row);
	if (rc < 0)
		on_stored(row, &(struct kettle_error){.code = rc, .message = "The engine does not accept it."}, NULL);
}

/* ---- changing a message or thread ---- */

static void
on_changed(struct row *row, enum outbox_end end, const struct rest_answer *answer)
{
	json_t *kept = outbox_known(row->bot, row->key), *what = json_object_get(kept, "what");
	if (end != OUTBOX_DONE) {
		finish(row, end, answer);
		return;
	}
	bool pinged = json_text_or_null(kept, "ping");
	if (what && is_thread(row))
		(void)json_object_update(what, row->what);
	else
		json_object_set(kept, "what", row->what);
	json_object_set_new(kept, "ping", row->ping ? json_string(row->ping) : json_null());
	if (is_thread(row) || pinged != (row->ping != NULL))
		store(row, finish);
	else
		finish(row, OUTBOX_DONE, NULL);
}

/* Returns the members of the thread that differ. New reference. */
static json_t *
differences(const struct row *row)
{
	static const char *const members[] = {"archived", "locked", "name"};
	const json_t *what = json_object_get(outbox_known(row->bot, row->key), "what");
	json_t *changes = json_object();
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		json_t *is = json_object_get(what, members[i]), *shall = json_object_get(row->what, members[i]);
		bool same = json_is_boolean(shall) ? json_is_true(shall) == json_is_true(is) : !is || json_equal(shall, is);
		if (shall && !same)
			json_object_set(changes, members[i], shall);
	}
	return changes;
}

static char *
channel_path(const struct row *row)
{
	return xasprintf("/channels/%s", outbox_id(row->bot, row->key));
}

static void
change_last(struct row *row, enum outbox_end end, const struct rest_answer *answer)
{
	AUTO_JSON json_t *changes = differences(row);
	AUTO_FREE char *path = channel_path(row);
	if (end == OUTBOX_DONE && member_true(row->what, "archived") && json_object_size(changes) > 0)
		ask(row, "PATCH", path, STEAL(changes), on_changed);
	else
		on_changed(row, end, answer);
}

static void
change_message(struct row *row, enum outbox_end end, const struct rest_answer *answer)
{
	const char *id = outbox_id(row->bot, row->key);
	json_t *message = json_object_get(row->what, "message");
	AUTO_FREE char *path = xasprintf("/channels/%s/messages/%s", id, id);
	if (end == OUTBOX_DONE)
		ask(row, "PATCH", path, json_deep_copy(message), change_last);
	else
		finish(row, end, answer);
}

/* The messages of an archived thread cannot change: it is opened first, and archived last. */
static void
change_thread(struct row *row)
{
	const json_t *what = json_object_get(outbox_known(row->bot, row->key), "what"),
				 *message = json_object_get(row->what, "message");
	AUTO_JSON json_t *changes = differences(row);
	AUTO_FREE char *path = channel_path(row);
	if (message && !json_equal(message, json_object_get(what, "message"))) {
		if (member_true(row->what, "archived"))
			(void)json_object_clear(changes);
		json_object_set_new(changes, "archived", json_false());
		ask(row, "PATCH", path, STEAL(changes), change_message);
	} else if (json_object_size(changes) > 0) {
		ask(row, "PATCH", path, STEAL(changes), on_changed);
	} else {
		finish(row, OUTBOX_DONE, NULL);
	}
}

static void
change(struct row *row, enum outbox_end end, const struct rest_answer *answer)
{
	(void)end, (void)answer;
	const json_t *kept = outbox_known(row->bot, row->key);
	AUTO_FREE char *path =
		xasprintf("/channels/%s/messages/%s", json_text_or_empty(kept, "channel"), json_text_or_empty(kept, "id"));
	if (is_thread(row))
		change_thread(row);
	else if (json_equal(row->what, json_object_get(kept, "what")))
		finish(row, OUTBOX_DONE, NULL);
	else
		ask(row, "PATCH", path, json_deep_copy(row->what), on_changed);
}

/* ---- making a message or thread ---- */

static void
on_kept(struct row *row, enum outbox_end end, const struct rest_answer *answer)
{
	failpoint("discord.thread");
	change(row, end, answer);
}

/* A user who has left the server cannot be added; the thread exists for the user's return. */
static void
on_joined(struct row *row, enum outbox_end end, const struct rest_answer *answer)
{
	if (end != OUTBOX_DONE)
		bot_log(row->bot, KETTLE_LOG_WARNING, "A user cannot be added to the thread of a submission: %s",
			answer->err->message);
	json_object_set_new(outbox_known(row->bot, row->key), "id", json_string(row->id));
	store(row, on_kept);
}

/* Discord answers a nonce that it knows with the message that has it, which may say what an earlier try wanted. */
static void
take_content(const struct row *row, const json_t *found)
{
	json_t *kept = outbox_known(row->bot, row->key);
	const char *is = json_text_or_null(found, "content");
	if (is && !is_thread(row) && !member_is(json_object_get(kept, "what"), "content", is))
		(void)json_object_del(kept, "what");
}

/* A new thread is stored with its number only after its user was added; until then a later try looks for it again. */
static void
have(struct row *row, const json_t *found)
{
	take_content(row, found);
	(void)snowflake_copy(row->id, json_text_or_null(found, "id"));
	AUTO_FREE char *path = xasprintf("/channels/%s/thread-members/%s", row->id, row->user ? row->user : "");
	if (!*row->id) {
		fail(row, OUTBOX_REFUSED, "Discord's answer has no \"id\".");
	} else if (row->user) {
		failpoint("discord.unjoined");
		ask(row, "PUT", path, NULL, on_joined);
	} else {
		on_joined(row, OUTBOX_DONE, NULL);
	}
}

static void
add_ping(const struct row *row, json_t *message)
{
	if (row->ping)
		json_object_set_new(message, "allowed_mentions", json_pack("{s:[], s:[s]}", "parse", "roles", row->ping));
}

static void
post(struct row *row, const json_t *message, const char *key)
{
	char nonce[NONCE_SIZE];
	AUTO_FREE char *path = xasprintf("/channels/%s/messages", row->channel);
	json_t *body = json_deep_copy(message);
	snowflake_nonce(key, row->channel, nonce);
	json_object_set_new(body, "nonce", json_string(nonce));
	json_object_set_new(body, "enforce_nonce", json_true());
	add_ping(row, body);
	ask(row, "POST", path, body, on_made);
}

static void
on_made(struct row *row, enum outbox_end end, const struct rest_answer *answer)
{
	if (end != OUTBOX_DONE)
		finish(row, end, answer);
	else if (row->kind == ROW_KEEP)
		have(row, answer->body);
	else
		posted(row, answer->body);
}

static void
make(struct row *row, enum outbox_end end, const struct rest_answer *answer)
{
	(void)end, (void)answer;
	failpoint("discord.begun");
	AUTO_FREE char *path = xasprintf("/channels/%s/threads", row->channel);
	AUTO_FREE char *key =
		xasprintf("%s@%lld", row->key, (long long)member_int(outbox_known(row->bot, row->key), "since"));
	if (!is_thread(row)) {
		post(row, row->what, key);
		return;
	}
	json_t *body = json_deep_copy(row->what), *message = json_object_get(body, "message");
	(void)json_object_del(body, "archived");
	(void)json_object_del(body, "locked");
	if (message)
		add_ping(row, message);
	ask(row, "POST", path, body, on_made);
}

/* Stores what is about to be made, so that a later try can find it, then makes it. */
static void
begin(struct row *row)
{
	const struct kettle_host *host = row->bot->host;
	json_t *begun = outbox_known(row->bot, row->key);
	if (!begun) {
		begun = json_pack("{s:I}", "since", (json_int_t)host->utc_ms(host));
		json_object_set_new(row->bot->outbox->kept, row->key, begun);
	}
	json_object_set_new(begun, "channel", json_string(row->channel));
	json_object_set(begun, "what", row->what);
	json_object_set_new(begun, "ping", row->ping ? json_string(row->ping) : json_null());
	store(row, make);
}

/* ---- finding the work of an earlier try ---- */

static void
not_found(struct row *row)
{
	if (row->only_changed)
		fail(row, OUTBOX_GONE, "It is not there.");
	else
		begin(row);
}

/* Whether Discord's object is not older than `since_ms`. */
static bool
is_since(const json_t *object, int64_t since_ms)
{
	uint64_t id = 0;
	return snowflake_parse(json_text_or_empty(object, "id"), &id) && snowflake_time(id) >= since_ms - CLOCKS_DIFFER_MS;
}

static bool
is_posted(const struct row *row, const json_t *message, const json_t *like, int64_t since_ms)
{
	return is_since(message, since_ms) && member_is(json_object_get(message, "author"), "id", row->bot->user) &&
		   member_is(message, "content", json_text_or_empty(like, "content"));
}

/*
 * Looks for the message among recent ones. If the bot may not read the channel, only the nonce prevents a second
 * message.
 */
static void
on_recent(struct row *row, enum outbox_end end, const struct rest_answer *answer)
{
	const json_t *like = row->kind == ROW_POST ? json_array_get(row->what, row->posted)
											   : json_object_get(outbox_known(row->bot, row->key), "what");
	int64_t since_ms = row->kind == ROW_POST ? row->since_ms : member_int(outbox_known(row->bot, row->key), "since");
	json_array_each(end == OUTBOX_DONE ? answer->body : NULL, message)
		if (is_posted(row, message, like, since_ms)) {
			on_made(row, OUTBOX_DONE, &(struct rest_answer){.body = message});
			return;
		}
	if (row->kind == ROW_POST)
		post_next(row);
	else
		not_found(row);
}

static void
on_threads(struct row *row, enum outbox_end end, const struct rest_answer *answer)
{
	const json_t *kept = outbox_known(row->bot, row->key), *what = json_object_get(kept, "what");
	if (end != OUTBOX_DONE) {
		finish(row, end, answer);
		return;
	}
	json_array_each(json_object_get(answer->body, "threads"), thread)
		if (is_since(thread, member_int(kept, "since")) &&
			member_is(thread, "parent_id", json_text_or_empty(kept, "channel")) &&
			member_is(thread, "owner_id", row->bot->user) &&
			member_is(thread, "name", json_text_or_empty(what, "name")) &&
			(!json_object_get(what, "type") || member_int(thread, "type") == member_int(what, "type"))) {
			have(row, thread);
			return;
		}
	not_found(row);
}

static void
search(struct row *row, const char *channel)
{
	AUTO_FREE char *path = xasprintf("/channels/%s/messages?limit=100", channel);
	ask(row, "GET", path, NULL, on_recent);
}

static void
attempt_keep(struct row *row)
{
	const json_t *kept = outbox_known(row->bot, row->key);
	AUTO_FREE char *threads = xasprintf("/guilds/%s/threads/active", row->bot->settings.guild);
	if (!kept)
		not_found(row);
	else if (json_object_get(kept, "id"))
		change(row, OUTBOX_DONE, NULL);
	else if (is_thread(row))
		ask(row, "GET", threads, NULL, on_threads);
	else
		search(row, json_text_or_empty(kept, "channel"));
}

/* ---- posting ---- */

static void
attempt_post(struct row *row)
{
	if (row->posted == json_array_size(row->what))
		finish(row, OUTBOX_DONE, NULL);
	else if (row->tries > 0 || row->since_ms < row->bot->started_ms)
		search(row, row->channel);
	else
		post_next(row);
}

static void
post_next(struct row *row)
{
	AUTO_FREE char *key = xasprintf("%s:%zu", row->key, row->posted);
	post(row, json_array_get(row->what, row->posted), key);
}

static void
posted(struct row *row, const json_t *message)
{
	(void)snowflake_copy(row->id, json_text_or_null(message, "id"));
	failpoint("discord.posted");
	row->posted++;
	row->tries = 0;
	attempt_post(row);
}

/* ---- a try ---- */

static void
attempt(void *arg)
{
	struct row *row = arg;
	const struct kettle_host *host = row->bot->host;
	row->under_way = true;
	if (row->bot->stopping)
		finish(row, OUTBOX_STOPPED, NULL);
	else if (row->kind == ROW_ANSWER && host->utc_ms(host) >= row->expires_ms)
		fail(row, OUTBOX_EXPIRED, "Discord no longer accepts answers to this command.");
	else if (row->kind == ROW_POST)
		attempt_post(row);
	else if (row->kind == ROW_KEEP)
		attempt_keep(row);
	else
		ask(row, row->method, row->key, json_deep_copy(row->what), finish);
}

/* ---- rows ---- */

static struct row *
row_new(struct bot *bot, enum row_kind kind, const char *key, json_t *what_take, outbox_fn done, void *arg)
{
	struct row *row =
		xnew(struct row, .bot = bot, .kind = kind, .key = xstrdup(key), .what = what_take, .done = done, .arg = arg);
	return row;
}

void
outbox_post(struct bot *bot, const char *channel, const char *key, int64_t since_ms, json_t *messages_take,
	outbox_fn done, void *arg)
{
	struct row *row = row_new(bot, ROW_POST, key, messages_take, done, arg);
	(void)snowflake_copy(row->channel, channel);
	row->since_ms = since_ms;
	(void)put(row, channel, false);
}

bool
outbox_keep(struct bot *bot, const struct outbox_kept *kept, outbox_fn done, void *arg)
{
	struct row *row = row_new(bot, ROW_KEEP, kept->key, kept->what_take, done, arg);
	(void)snowflake_copy(row->channel, kept->channel);
	row->ping = kept->ping ? xstrdup(kept->ping) : NULL;
	row->user = kept->user ? xstrdup(kept->user) : NULL;
	row->only_changed = kept->only_changed;
	return put(row, is_thread(row) ? row->key : row->channel, true);
}

void
outbox_request(struct bot *bot, const char *method, const char *path, json_t *body_take, outbox_fn done, void *arg)
{
	struct row *row = row_new(bot, ROW_REQUEST, path, body_take, done, arg);
	row->method = xstrdup(method);
	(void)put(row, path, false);
}

void
outbox_archive(struct bot *bot, const char *thread, outbox_fn done, void *arg)
{
	AUTO_FREE char *path = xasprintf("/channels/%s", thread);
	outbox_request(bot, "PATCH", path, json_pack("{s:b}", "archived", 1), done, arg);
}

bool
outbox_answer(struct bot *bot, const char *method, const char *path, const char *token, int64_t expires_ms,
	json_t *message_take, outbox_fn done, void *arg)
{
	struct row *row = row_new(bot, ROW_ANSWER, path, message_take, done, arg);
	row->method = xstrdup(method);
	row->expires_ms = expires_ms;
	return put(row, token, strcmp(method, "PATCH") == 0);
}

/* ---- life ---- */

static void
on_record(void *arg, const char *key, json_t *record)
{
	struct outbox *outbox = arg;
	json_object_set(outbox->kept, key + strlen(KEY_PREFIX), record);
}

static void
on_records(void *arg)
{
	struct outbox *outbox = arg;
	if (outbox->done)
		outbox->done(outbox->arg);
}

struct outbox *
outbox_new(struct bot *bot, kettle_fn done, void *arg)
{
	struct outbox *outbox = xnew(struct outbox, .bot = bot, .kept = json_object(), .done = done, .arg = arg);
	for (size_t i = 0; i < CHAINS; i++)
		TAILQ_INIT(&outbox->chains[i]);
	stored_each(bot, KEY_PREFIX, on_record, on_records, outbox);
	return outbox;
}

void
outbox_free(struct outbox *outbox)
{
	if (!outbox)
		return;
	json_decref(outbox->kept);
	free(outbox);
}
