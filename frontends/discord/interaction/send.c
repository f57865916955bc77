/* SPDX-License-Identifier: MIT */
/* Sends messages by Discord's REST. */
#include <config.h>

#include "discord/interaction/send.h"

#include "base/base.h"
#include "base/contents.h"

struct request {
	struct bot *bot;
	rest_fn done;
	void *arg;
};

static void
on_done(void *arg, const struct rest_answer *answer)
{
	struct request *request = arg;
	if (request->done)
		request->done(request->arg, answer);
	else if (answer->err->code && answer->err->code != KETTLE_ECANCELED)
		bot_log(request->bot, KETTLE_LOG_WARNING, "A message could not be sent: %s", answer->err->message);
	free(request);
}

/* Names of files stay borrowed. */
static size_t
take_files(const json_t *list, struct rest_file files[REST_FILES_MAX])
{
	size_t count = 0;
	json_array_each(list, file) {
		char *data;
		if (count == REST_FILES_MAX || contents_bytes(file, &data, &files[count].size, NULL) < 0)
			continue;
		files[count].name = json_text_or_empty(file, "name");
		files[count].content_type = NULL;
		files[count++].data_take = data;
	}
	return count;
}

static void
send(struct bot *bot, const char *method, const char *path, json_t *body_take, bool once, rest_fn done, void *arg)
{
	struct rest_file files[REST_FILES_MAX];
	struct request *request = xcalloc(1, sizeof(*request));
	struct kettle_error err = {0};
	json_t *data = json_object_get(body_take, "data"), *message = data ? data : body_take;
	AUTO_JSON json_t *list = json_incref(json_object_get(message, "files"));
	size_t count = take_files(list, files);
	(void)json_object_del(message, "files");
	*request = (struct request){.bot = bot, .done = done, .arg = arg};
	const struct rest_request sent = {.method = method,
		.path = path,
		.body_take = body_take,
		.files = files,
		.files_count = count,
		.once = once,
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
	send(bot, method, path, body_take, false, done, arg);
}

void
send_once(struct bot *bot, const char *method, const char *path, json_t *body_take, rest_fn done, void *arg)
{
	send(bot, method, path, body_take, true, done, arg);
}
