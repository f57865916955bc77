/* SPDX-License-Identifier: MIT */
/* Discord's REST API: requests are checked, completed and put into their lanes. */
#include <config.h>

#include "discord/rest/rest.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "discord/rest/answer.h"
#include "discord/rest/call.h"
#include "discord/rest/download.h"
#include "discord/rest/multipart.h"

#define BODY_MAX (8u << 20) /* limit of host->http */
#define ANSWER_MAX (8u << 20)
#define BYTES_MAX (128u << 20) /* of all requests that wait or are under way */

/* Whether a text can be in a header: printable ASCII. */
static bool
is_printable(const char *text, bool blanks)
{
	for (const char *at = text; *at; at++)
		if (*at < (blanks ? ' ' : '!') || *at > '~')
			return false;
	return *text != '\0';
}

static int
check_rules(const struct rest_rules *rules, struct kettle_error *err)
{
	bool http = strncmp(rules->base, "https://", 8) == 0 || strncmp(rules->base, "http://", 7) == 0;
	if (!http || !is_printable(rules->base, false) || rules->base[strlen(rules->base) - 1] == '/')
		return kettle_fail(err, KETTLE_EINVAL,
			"The address of Discord's API must be a URL like https://discord.com/api/v10, without a slash at its end.");
	if (!is_printable(rules->token, false))
		return kettle_fail(err, KETTLE_EINVAL,
			"The bot's token, from %s, must have printable characters without blanks.", rules->token_option);
	if (!is_printable(rules->user_agent, true))
		return kettle_fail(err, KETTLE_EINVAL, "The name of the client for Discord must have printable characters.");
	return 0;
}

static char **
copy_list(const char *const *list)
{
	size_t count = 0;
	while (list && list[count])
		count++;
	char **copy = xcalloc(count + 1, sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		copy[i] = xstrdup(list[i]);
	return copy;
}

int
rest_new(
	const struct kettle_host *host, const struct rest_rules *rules, struct rest **ret_rest, struct kettle_error *err)
{
	int rc = check_rules(rules, err);
	if (rc != 0)
		return rc;
	struct rest *rest = xcalloc(1, sizeof(*rest));
	struct rest_rules *own = &rest->rules;
	rest->host = host;
	*own = (struct rest_rules){
		.per_second = rules->per_second ? rules->per_second : REST_PER_SECOND,
		.queue_max = rules->queue_max ? rules->queue_max : REST_QUEUE_MAX,
		.invalid_max = rules->invalid_max ? rules->invalid_max : REST_INVALID_MAX,
		.wait_max_ms = rules->wait_max_ms ? rules->wait_max_ms : REST_WAIT_MAX_MS,
	};
	rest->base = xstrdup(rules->base);
	rest->authorization = xasprintf("Authorization: Bot %s", rules->token);
	rest->user_agent = xasprintf("User-Agent: %s", rules->user_agent);
	rest->token_option = xstrdup(rules->token_option);
	rest->cdn = copy_list(rules->cdn);
	rest->limits = limits_new(own->per_second, own->invalid_max, own->wait_max_ms);
	rest->latency = -1;
	for (size_t i = 0; i < ROUTE_CLASSES; i++)
		TAILQ_INIT(&rest->lanes[i]);
	*ret_rest = rest;
	return 0;
}

void
rest_free(struct rest *rest)
{
	if (!rest)
		return;
	struct kettle_error err = {0};
	(void)kettle_fail(&err, KETTLE_ECANCELED, "The connection to Discord is being closed.");
	rest->closing = true;
	answer_all(rest, &err);
	rest->host->timer_stop(rest->host, rest->timer);
	limits_free(rest->limits);
	for (size_t i = 0; rest->cdn[i]; i++)
		free(rest->cdn[i]);
	free(rest->cdn);
	free(rest->base);
	explicit_bzero(rest->authorization, strlen(rest->authorization));
	free(rest->authorization);
	free(rest->user_agent);
	free(rest->token_option);
	free(rest);
}

int64_t
rest_latency(const struct rest *rest)
{
	return rest->latency;
}

/* Checks that a request of so many bytes may be added. */
static int
check_room(const struct rest *rest, size_t size, struct kettle_error *err)
{
	if (rest->closing)
		return kettle_fail(err, KETTLE_ECANCELED, "The connection to Discord is being closed.");
	if (rest->refused)
		return kettle_fail(err, KETTLE_EACCES, "Discord has refused the bot's token, from %s.", rest->token_option);
	if (size > BODY_MAX)
		return kettle_fail(err, KETTLE_ETOOBIG, "A request to Discord must have at most %u MiB.", BODY_MAX >> 20);
	if (rest->count >= rest->rules.queue_max || rest->bytes + size > BYTES_MAX)
		return kettle_fail(err, KETTLE_EUNAVAIL, "Too many requests wait for Discord: try again later.");
	return 0;
}

/* Completes a message: it pings no user, and its files have names. */
static void
complete_message(json_t *message, const struct rest_request *request)
{
	if (!json_object_get(message, "allowed_mentions"))
		json_object_set_new(message, "allowed_mentions", json_pack("{s[]}", "parse"));
	if (request->files_count == 0 || json_object_get(message, "attachments"))
		return;
	json_t *attachments = json_array();
	for (size_t i = 0; i < request->files_count; i++) {
		AUTO_FREE char *name = multipart_name(request->files[i].name), *id = xasprintf("%zu", i);
		json_array_append_new(attachments, json_pack("{ss ss}", "id", id, "filename", name));
	}
	json_object_set_new(message, "attachments", attachments);
}

/* Makes the body's bytes and their type, in the call. */
static int
make_body(struct call *call, const struct rest_request *request, struct kettle_error *err)
{
	json_t *message = route_message(&call->route, request->body_take), *body = request->body_take;
	size_t bytes = 0;
	for (size_t i = 0; i < request->files_count; i++)
		bytes += request->files[i].size < BODY_MAX ? request->files[i].size : BODY_MAX;
	if (request->files_count > REST_FILES_MAX || (request->files_count > 0 && !message))
		return kettle_fail(err, KETTLE_EINVAL, "Only a message to Discord has files, and at most %d.", REST_FILES_MAX);
	if (bytes > BODY_MAX)
		return kettle_fail(err, KETTLE_ETOOBIG, "The files of a message must have at most %u MiB.", BODY_MAX >> 20);
	if (message)
		complete_message(message, request);
	call->route.idempotent |= message && member_true(message, "enforce_nonce") && json_object_get(message, "nonce");
	if (!body)
		return 0;
	AUTO_FREE char *text = json_dumps(body, JSON_COMPACT | JSON_ENCODE_ANY);
	if (!text)
		return kettle_fail(err, KETTLE_EINVAL, "The body of %s cannot be written as JSON.", call->route.name);
	struct buf out = {0};
	if (request->files_count > 0) {
		call->type = multipart_make(text, request->files, request->files_count, &out);
	} else {
		call->type = xstrdup("application/json");
		buf_adds(&out, text);
	}
	call->size = out.len;
	call->body = buf_take(&out);
	return 0;
}

int
rest_send(struct rest *rest, const struct rest_request *request, struct kettle_error *err)
{
	struct call *call = xcalloc(1, sizeof(*call));
	int rc = route_parse(request->method, request->path, &call->route, err);
	if (rc == 0)
		rc = make_body(call, request, err);
	if (rc == 0)
		rc = check_room(rest, call->size, err);
	json_decref(request->body_take);
	for (size_t i = 0; i < request->files_count; i++)
		free(request->files[i].data_take);
	if (rc != 0) {
		call_free(call);
		return rc;
	}
	call->method = xstrdup(request->method);
	call->url = xasprintf("%s%s", rest->base, request->path);
	call->max_answer = ANSWER_MAX;
	call->once = request->once;
	call->done = request->done;
	call->arg = request->arg;
	call_add(rest, call);
	return 0;
}

int
rest_download(
	struct rest *rest, const char *url, size_t max_size, rest_download_fn done, void *arg, struct kettle_error *err)
{
	int rc = download_check(url, (const char *const *)rest->cdn, strncmp(rest->base, "http://", 7) == 0, err);
	if (rc == 0)
		rc = check_room(rest, 0, err);
	if (rc != 0)
		return rc;
	struct call *call = xcalloc(1, sizeof(*call));
	call->route.class = ROUTE_DOWNLOAD;
	call->route.name = xstrdup("an attachment");
	call->route.major = xstrdup("");
	call->route.lane = xasprintf("download %llu", (unsigned long long)++rest->downloads);
	call->method = xstrdup("GET");
	call->url = xstrdup(url);
	call->max_answer = max_size;
	call->got = done;
	call->arg = arg;
	call_add(rest, call);
	return 0;
}
