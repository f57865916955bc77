/* SPDX-License-Identifier: MIT */
/* Sends messages by Discord's REST. */
#include <config.h>

#include "discord/interaction/send.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/contents.h"
#include "base/json_access.h"
#include "base/times.h"
#include "base/xalloc.h"
#include "discord/text/snowflake.h"

#define CLOCKS_DIFFER_MS 60000 /* Discord's clock may be behind this machine's by so much */

/* ---- requests ---- */

struct request {
	struct bot *bot;
	rest_fn done;
	void *arg;
};

static void
on_done(void *arg, const struct rest_answer *answer)
{
	struct request *request = arg;
	const struct kettle_host *host = request->bot->host;
	if (request->done)
		request->done(request->arg, answer);
	else if (answer->err->code && answer->err->code != KETTLE_ECANCELED)
		host->log(host, KETTLE_LOG_WARNING, "A message could not be sent: %s", answer->err->message);
	free(request);
}

/* Takes "files" out of a message. */
static size_t
take_files(json_t *message, struct rest_file files[REST_FILES_MAX])
{
	AUTO_JSON json_t *list = json_incref(json_object_get(message, "files"));
	size_t i, count = 0;
	const json_t *file;
	json_array_foreach(list, i, file) {
		char *data;
		if (count == REST_FILES_MAX || contents_bytes(file, &data, &files[count].size, NULL) < 0)
			continue;
		files[count].name = json_text_or_empty(file, "name");
		files[count].content_type = NULL;
		files[count++].data_take = data;
	}
	return count;
}

void
send_message(struct bot *bot, const char *method, const char *path, json_t *body_take, rest_fn done, void *arg)
{
	struct rest_file files[REST_FILES_MAX];
	struct request *request = xcalloc(1, sizeof(*request));
	struct kettle_error err = {0};
	json_t *data = json_object_get(body_take, "data"), *message = data ? data : body_take;
	/* Names of files stay borrowed until they are copied. */
	AUTO_JSON json_t *list = json_incref(json_object_get(message, "files"));
	size_t count = take_files(message, files);
	(void)json_object_del(message, "files");
	*request = (struct request){.bot = bot, .done = done, .arg = arg};
	const struct rest_request sent = {.method = method,
		.path = path,
		.body_take = body_take,
		.files = files,
		.files_count = count,
		.done = on_done,
		.arg = request};
	if (bot->stopping) {
		json_decref(body_take);
		for (size_t i = 0; i < count; i++)
			free(files[i].data_take);
		kettle_fail(&err, KETTLE_ECANCELED, "The bot stops.");
		on_done(request, &(struct rest_answer){.err = &err});
	} else if (rest_send(bot->rest, &sent, &err) < 0) {
		on_done(request, &(struct rest_answer){.err = &err});
	}
}

void
send_request(struct bot *bot, const char *method, const char *path, json_t *body_take, rest_fn done, void *arg)
{
	send_message(bot, method, path, body_take, done, arg);
}

bool
send_may_pass(const struct rest_answer *answer)
{
	int code = answer->err->code;
	return code == KETTLE_EUNAVAIL || code == KETTLE_ERATE || code == KETTLE_EIO ||
		   (code == KETTLE_EACCES && (answer->status == 401 || answer->status == 0));
}

/* ---- messages that must not come twice ---- */

struct posting {
	struct bot *bot;
	enum send_mode mode;
	char channel[SNOWFLAKE_SIZE];
	int64_t since_ms;
	json_t *message;
	rest_fn done;
	void *arg;
};

static void
end_posting(void *arg, const struct rest_answer *answer)
{
	struct posting *posting = arg;
	posting->done(posting->arg, answer);
	json_decref(posting->message);
	free(posting);
}

static void
post(struct posting *posting)
{
	AUTO_FREE char *path = xasprintf("/channels/%s/messages", posting->channel);
	send_message(posting->bot, "POST", path, json_deep_copy(posting->message), end_posting, posting);
}

/* Whether a message of the channel is the one that was to be posted: by the bot, since then, with the same text. */
static bool
is_posted(const struct posting *posting, const json_t *message)
{
	uint64_t id = 0;
	const char *author = json_text_or_empty(json_object_get(message, "author"), "id");
	return snowflake_parse(json_text_or_empty(message, "id"), &id) && strcmp(author, posting->bot->user) == 0 &&
		   snowflake_time(id) >= posting->since_ms - CLOCKS_DIFFER_MS &&
		   strcmp(json_text_or_empty(message, "content"), json_text_or_empty(posting->message, "content")) == 0;
}

/* A search that Discord could not answer now says nothing; one that it refuses would be refused again. */
static void
on_recent(void *arg, const struct rest_answer *answer)
{
	struct posting *posting = arg;
	int code = answer->err->code;
	size_t i;
	const json_t *message;
	if (code && (posting->mode == SEND_FIND || (code != KETTLE_EACCES && code != KETTLE_ENOENT))) {
		end_posting(posting, answer);
		return;
	}
	json_array_foreach(code ? NULL : answer->body, i, message) {
		if (!is_posted(posting, message))
			continue;
		end_posting(posting, &(struct rest_answer){.err = answer->err, .status = answer->status, .body = message});
		return;
	}
	if (posting->mode != SEND_FIND) {
		post(posting);
		return;
	}
	struct kettle_error err = {0};
	(void)kettle_fail(&err, KETTLE_ENOENT, "The message is not in the channel.");
	end_posting(posting, &(struct rest_answer){.err = &err});
}

void
send_once_answer(struct bot *bot, enum send_mode mode, const char *channel, const char *key, int64_t since_ms,
	json_t *message_take, rest_fn done, void *arg)
{
	char nonce[NONCE_SIZE];
	struct posting *posting = xcalloc(1, sizeof(*posting));
	snowflake_nonce(key, channel, nonce);
	json_object_set_new(message_take, "nonce", json_string(nonce));
	json_object_set_new(message_take, "enforce_nonce", json_true());
	*posting = (struct posting){
		.bot = bot, .mode = mode, .since_ms = since_ms, .message = message_take, .done = done, .arg = arg};
	(void)snowflake_copy(posting->channel, channel);
	if (mode == SEND_ONCE && since_ms >= bot->started_ms) {
		post(posting);
		return;
	}
	AUTO_FREE char *path = xasprintf("/channels/%s/messages?limit=100", channel);
	send_request(bot, "GET", path, NULL, on_recent, posting);
}

struct once {
	struct bot *bot;
	send_posted_fn done;
	void *arg;
};

static void
on_once(void *arg, const struct rest_answer *answer)
{
	struct once *once = arg;
	const struct kettle_host *host = once->bot->host;
	struct kettle_error err = *answer->err;
	if (err.code && send_may_pass(answer))
		err.code = KETTLE_EUNAVAIL;
	if (err.code && err.code != KETTLE_ECANCELED)
		host->log(host, err.code == KETTLE_EUNAVAIL ? KETTLE_LOG_DEBUG : KETTLE_LOG_WARNING,
			"A message could not be posted: %s", err.message);
	if (once->done)
		once->done(once->arg, &err, err.code ? NULL : json_text_or_null(answer->body, "id"));
	free(once);
}

void
send_once(struct bot *bot, enum send_mode mode, const char *channel, const char *key, int64_t since_ms,
	json_t *message_take, send_posted_fn done, void *arg)
{
	struct once *once = xmalloc(sizeof(*once));
	*once = (struct once){bot, done, arg};
	send_once_answer(bot, mode, channel, key, since_ms, message_take, on_once, once);
}
