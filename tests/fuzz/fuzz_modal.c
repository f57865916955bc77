/* SPDX-License-Identifier: MIT */
/* Fuzzes what comes from Modal: the status (by the first byte), the URL after redirects (a line) and the body of an answer. */
#include <config.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "runners/modal/modal.h"

#define APP "https://a.modal.run"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A call's name becomes part of a path. */
static void
check_call(const struct modal_reply *reply)
{
	const char *why, *call = answer_call(reply, &why);
	if (!call && (!why || !why[0]))
		abort();
	if (call &&
		(reply->kind != REPLY_ANSWERED || !call[0] || strlen(call) > ANSWER_MAX_NAME || strpbrk(call, "/.?#% \r\n")))
		abort();
	if (answer_state(reply, call ? call : "fc-1") != REMOTE_INVALID && reply->kind != REPLY_ANSWERED)
		abort();
}

static void
check_text(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int statuses[] = {200, 202, 303, 400, 401, 404, 410, 503};
	const uint8_t *line = size > 0 ? memchr(data + 1, '\n', size - 1) : NULL;
	if (!line)
		return 0;
	AUTO_FREE char *url = xstrndup((const char *)data + 1, (size_t)(line - data - 1));
	const struct kettle_http_answer answer = {.size = sizeof(answer),
		.status = statuses[data[0] % ARRAY_SIZE(statuses)],
		.url = url,
		.body = line + 1,
		.body_size = size - (size_t)(line + 1 - data)};
	struct kettle_error why = {0};
	AUTO_JSON json_t *json = NULL;
	const struct modal_reply reply = answer_judge(APP, &answer, &json, &why);
	bool plain = reply.kind == REPLY_ANSWERED && reply.status < 300;
	if (plain == (why.message[0] != '\0') || (reply.json && !json_is_object(reply.json)))
		abort();
	if (reply.kind == REPLY_ANSWERED && strncasecmp(url, APP, strlen(APP)) != 0)
		abort();
	check_text(why.message);
	check_call(&reply);
	if (answer_unknown(&reply) && reply.status != 404)
		abort();
	AUTO_FREE char *health = answer_health(reply.json);
	check_text(health);
	return 0;
}
