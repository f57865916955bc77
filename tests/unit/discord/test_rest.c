/* SPDX-License-Identifier: MIT */
/* Requests to Discord: their order, its limits, repeats, what ends them, files, downloads. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "discord/rest/rest.h"
#include "lib/unit_test.h"
#include "unit/discord/rest_server.h"

#define WAIT_MS 600000
#define BOT_AT_ONCE 16 /* ROUTE_BOT in call.c */
#define BOT_TOKEN "MTk4NjIy.secret-of-the-bot"
#define USER_TOKEN "aW50ZXJhY3Rpb24secret"
#define RESULTS_MAX 8

struct result {
	int calls;
	int code, status;
	int64_t discord;
	char text[sizeof(((struct kettle_error *)NULL)->message)];
};

struct fixture {
	struct kettle_fake *fake;
	struct server server;
	struct rest_rules rules;
	char *base;
	struct rest *rest;
	struct kettle_error err;
	struct result results[RESULTS_MAX];
};

static int
setup(void **state)
{
	static const char *const cdn[] = {"cdn.discordapp.com", "media.discordapp.net", NULL};
	struct fixture *f = xcalloc(1, sizeof(*f));
	assert_int_equal(kettle_fake_new("discord", &f->fake, &f->err), 0);
	kettle_fake_simulate(f->fake, INT64_C(1790000000000));
	server_start(&f->server, f->fake);
	f->base = xasprintf("http://127.0.0.1:%d/api", f->server.port);
	f->rules = (struct rest_rules){
		.base = f->base,
		.token = BOT_TOKEN,
		.token_option = "discord.token_file",
		.user_agent = "DiscordBot (https://kettle.example, 1)",
		.cdn = cdn,
	};
	*state = f;
	return 0;
}

/* Also: no token is in the log. */
static int
teardown(void **state)
{
	struct fixture *f = *state;
	rest_free(f->rest);
	server_stop(&f->server);
	AUTO_FREE char *log = json_dumps(kettle_fake_log(f->fake), 0);
	assert_null(strstr(log, BOT_TOKEN));
	assert_null(strstr(log, USER_TOKEN));
	assert_int_equal(kettle_fake_free(f->fake, &f->err), 0);
	free(f->base);
	free(f);
	return 0;
}

static void
start(struct fixture *f)
{
	assert_int_equal(rest_new(kettle_fake_host(f->fake), &f->rules, &f->rest, &f->err), 0);
}

static void
on_done(void *arg, const struct rest_answer *answer)
{
	struct result *result = arg;
	result->calls++;
	result->code = answer->err->code;
	result->status = answer->status;
	result->discord = answer->code;
	(void)snprintf(result->text, sizeof(result->text), "%s",
		answer->err->code ? answer->err->message : json_text_or_empty(answer->body, "id"));
	assert_null(strstr(result->text, BOT_TOKEN));
	assert_null(strstr(result->text, USER_TOKEN));
}

static void
send(struct fixture *f, int number, const char *method, const char *path, json_t *body_take)
{
	struct rest_request request = {
		.method = method, .path = path, .body_take = body_take, .done = on_done, .arg = &f->results[number]};
	assert_int_equal(rest_send(f->rest, &request, &f->err), 0);
	assert_int_equal(f->results[number].calls, 0);
}

static json_t *
message(const char *text)
{
	return json_pack("{ss}", "content", text);
}

static int
has_ended(void *arg)
{
	return ((struct result *)arg)->calls > 0;
}

/* Waits for the end of a request; its status, 0 without one. */
static int
end(struct fixture *f, int number)
{
	assert_int_equal(kettle_fake_run(f->fake, has_ended, &f->results[number], WAIT_MS), 0);
	assert_int_equal(f->results[number].calls, 1);
	return f->results[number].status;
}

struct seen {
	struct server *server;
	const char *line;
	size_t count;
};

static int
was_seen(void *arg)
{
	struct seen *seen = arg;
	return server_seen(seen->server, seen->line) >= seen->count;
}

static void
wait_seen(struct fixture *f, const char *line, size_t count)
{
	struct seen seen = {.server = &f->server, .line = line, .count = count};
	assert_int_equal(kettle_fake_run(f->fake, was_seen, &seen, WAIT_MS), 0);
}

static const struct server_request *
request(struct fixture *f, size_t number)
{
	assert_true(number < f->server.count);
	return &f->server.requests[number];
}

/* What a request says of itself, and what an answer gives back. */
static void
test_request(void **state)
{
	struct fixture *f = *state;
	start(f);
	assert_int_equal(rest_latency(f->rest), -1);
	server_step(&f->server, "POST /api/channels/1/messages", 200, NULL, "{\"id\": \"77\"}");
	struct rest_request post = {.method = "POST",
		.path = "/channels/1/messages",
		.body_take = message("@everyone"),
		.done = on_done,
		.arg = &f->results[0]};
	assert_int_equal(rest_send(f->rest, &post, &f->err), 0);
	assert_int_equal(end(f, 0), 200);
	assert_string_equal(f->results[0].text, "77");
	const char *head = request(f, 0)->head;
	assert_non_null(strstr(head, "\r\nAuthorization: Bot " BOT_TOKEN "\r\n"));
	assert_non_null(strstr(head, "\r\nUser-Agent: DiscordBot (https://kettle.example, 1)\r\n"));
	assert_non_null(strstr(head, "\r\nContent-Type: application/json\r\n"));
	assert_string_equal(request(f, 0)->body, "{\"content\":\"@everyone\",\"allowed_mentions\":{\"parse\":[]}}");
	assert_true(rest_latency(f->rest) >= 0);
	/* Interactions have their right in the path; no mention is allowed in any kind of message. */
	send(f, 1, "POST", "/interactions/5/" USER_TOKEN "/callback",
		json_pack("{si s{ss}}", "type", 4, "data", "content", "x"));
	assert_int_equal(end(f, 1), 200);
	assert_null(strstr(request(f, 1)->head, "Authorization"));
	assert_string_equal(
		request(f, 1)->body, "{\"type\":4,\"data\":{\"content\":\"x\",\"allowed_mentions\":{\"parse\":[]}}}");
	send(f, 2, "PATCH", "/webhooks/6/" USER_TOKEN "/messages/@original", message("y"));
	send(f, 3, "POST", "/channels/8/threads", json_pack("{ss s{ss}}", "name", "t", "message", "content", "z"));
	send(f, 4, "POST", "/interactions/7/" USER_TOKEN "2/callback", json_pack("{si}", "type", 5));
	send(f, 5, "PATCH", "/channels/1/messages/77",
		json_pack("{ss s{s[s]}}", "content", "w", "allowed_mentions", "users", "9"));
	for (int i = 2; i < 6; i++)
		assert_int_equal(end(f, i), 200);
	for (size_t i = 2; i < 6; i++) {
		const char *line = request(f, i)->line, *body = request(f, i)->body;
		if (strstr(line, "callback"))
			assert_string_equal(body, "{\"type\":5}");
		else if (strstr(line, "messages/77"))
			assert_string_equal(body, "{\"content\":\"w\",\"allowed_mentions\":{\"users\":[\"9\"]}}");
		else
			assert_non_null(strstr(body, "\"allowed_mentions\":{\"parse\":[]}}"));
	}
}

static void
test_refused_requests(void **state)
{
	struct fixture *f = *state;
	f->rules.queue_max = 4;
	start(f);
	struct rest_request wrong = {.method = "GET", .path = "channels"};
	assert_int_equal(rest_send(f->rest, &wrong, &f->err), KETTLE_EINVAL);
	wrong.path = "/a b";
	assert_int_equal(rest_send(f->rest, &wrong, &f->err), KETTLE_EINVAL);
	wrong = (struct rest_request){.method = "BREW", .path = "/", .body_take = json_object()};
	assert_int_equal(rest_send(f->rest, &wrong, &f->err), KETTLE_EINVAL);
	struct rest_file file = {.name = "x", .data_take = xstrdup("x"), .size = 1};
	wrong = (struct rest_request){.method = "POST", .path = "/channels/1/messages", .files = &file, .files_count = 1};
	assert_int_equal(rest_send(f->rest, &wrong, &f->err), KETTLE_EINVAL);
	file = (struct rest_file){.name = "x", .data_take = xcalloc(9, 1 << 20), .size = 9 << 20};
	wrong.body_take = json_object();
	assert_int_equal(rest_send(f->rest, &wrong, &f->err), KETTLE_ETOOBIG);
	for (int i = 0; i < 4; i++)
		send(f, i, "GET", "/y", NULL);
	struct rest_request full = {.method = "GET", .path = "/"};
	assert_int_equal(rest_send(f->rest, &full, &f->err), KETTLE_EUNAVAIL);
	assert_int_equal(end(f, 1), 200);
	assert_int_equal(rest_send(f->rest, &full, &f->err), 0);
	struct rest *other = NULL;
	f->rules.token = "with a blank";
	assert_int_equal(rest_new(kettle_fake_host(f->fake), &f->rules, &other, &f->err), KETTLE_EINVAL);
	assert_non_null(strstr(f->err.message, "discord.token_file"));
	assert_null(strstr(f->err.message, "blank,"));
	f->rules.token = BOT_TOKEN;
	f->rules.base = "discord.com";
	assert_int_equal(rest_new(kettle_fake_host(f->fake), &f->rules, &other, &f->err), KETTLE_EINVAL);
}

/* Messages of one channel wait for each other, also with different methods; nothing else waits for them. */
static void
test_order(void **state)
{
	struct fixture *f = *state;
	start(f);
	server_step(&f->server, "POST /api/channels/1/messages", SERVER_HOLD, NULL, NULL);
	send(f, 0, "POST", "/channels/1/messages", message("a"));
	send(f, 1, "PATCH", "/channels/1/messages/5", message("b"));
	send(f, 2, "DELETE", "/channels/1/messages/5", NULL);
	send(f, 3, "POST", "/channels/2/messages", message("c"));
	send(f, 4, "GET", "/channels/1/messages?limit=50", NULL);
	assert_int_equal(end(f, 3), 200);
	assert_int_equal(end(f, 4), 200);
	wait_seen(f, "POST /api/channels/1/messages", 1);
	assert_int_equal(f->server.count, 3);
	for (size_t i = 0; i < 3; i++)
		if (strcmp(request(f, i)->line, "POST /api/channels/1/messages") == 0)
			server_release(&f->server, i, 200);
	assert_int_equal(end(f, 2), 200);
	assert_int_equal(f->results[0].calls + f->results[1].calls, 2);
	assert_string_equal(request(f, 3)->line, "PATCH /api/channels/1/messages/5");
	assert_string_equal(request(f, 4)->line, "DELETE /api/channels/1/messages/5");
}

/* However many others are under way, an interaction is answered. */
static void
test_interactions_first(void **state)
{
	struct fixture *f = *state;
	start(f);
	for (int i = 0; i < BOT_AT_ONCE; i++)
		server_step(&f->server, "GET", SERVER_HOLD, NULL, NULL);
	for (int i = 0; i < 40; i++) {
		AUTO_FREE char *path = xasprintf("/channels/%d", i);
		struct rest_request get = {.method = "GET", .path = path};
		assert_int_equal(rest_send(f->rest, &get, &f->err), 0);
	}
	wait_seen(f, "GET", BOT_AT_ONCE);
	send(f, 0, "POST", "/interactions/5/" USER_TOKEN "/callback", json_pack("{si}", "type", 5));
	send(f, 1, "PATCH", "/webhooks/6/" USER_TOKEN "/messages/@original", message("y"));
	assert_int_equal(end(f, 1), 200);
	assert_int_equal(f->results[0].status, 200);
	assert_int_equal(f->server.count, BOT_AT_ONCE + 2);
}

static void
test_limited(void **state)
{
	struct fixture *f = *state;
	start(f);
	/* Of the bucket: the other channel does not wait; the message goes before those behind it. */
	server_step(&f->server, "POST /api/channels/1/messages", 429, "Retry-After: 1\r\nX-RateLimit-Scope: user\r\n",
		"{\"message\": \"You are being rate limited.\", \"retry_after\": 0.3, \"global\": false}");
	send(f, 0, "POST", "/channels/1/messages", message("first"));
	send(f, 1, "POST", "/channels/1/messages", message("second"));
	send(f, 2, "POST", "/channels/2/messages", message("other"));
	assert_int_equal(end(f, 2), 200);
	assert_int_equal(f->results[0].calls, 0);
	assert_int_equal(end(f, 1), 200);
	assert_int_equal(f->results[0].status, 200);
	assert_int_equal(f->server.count, 4);
	assert_non_null(strstr(request(f, 2)->body, "first"));
	assert_non_null(strstr(request(f, 3)->body, "second"));
	/* Of all: only interactions go on. */
	server_step(&f->server, "GET /api/users/@me", 429, "X-RateLimit-Global: true\r\n",
		"{\"retry_after\": 0.5, \"global\": true}");
	send(f, 3, "GET", "/users/@me", NULL);
	wait_seen(f, "GET /api/users/@me", 1);
	struct seen again = {.server = &f->server, .line = "GET /api/users/@me", .count = 2};
	send(f, 4, "PATCH", "/webhooks/6/" USER_TOKEN "/messages/@original", message("y"));
	assert_int_equal(end(f, 4), 200);
	send(f, 5, "GET", "/channels/3", NULL);
	assert_int_equal(end(f, 3), 200);
	assert_true(was_seen(&again));
	assert_int_equal(end(f, 5), 200);
	/* Longer than anybody waits. */
	server_step(&f->server, "GET /api/gateway/bot", 429, "Retry-After: 86400\r\nX-RateLimit-Scope: shared\r\n", "{}");
	send(f, 6, "GET", "/gateway/bot", NULL);
	assert_int_equal(end(f, 6), 0);
	assert_int_equal(f->results[6].code, KETTLE_ERATE);
	assert_string_equal(
		f->results[6].text, "Discord limits GET /gateway/bot for 86400 s, which is longer than Kettle waits.");
}

/* What may be repeated is; a POST that may have been carried out is not. */
static void
test_faults(void **state)
{
	struct fixture *f = *state;
	start(f);
	server_step(&f->server, "GET /api/channels/1", 500, NULL, "");
	server_step(&f->server, "GET /api/channels/1", 502, NULL, "<html>");
	server_step(&f->server, "GET /api/channels/1", SERVER_DROP, NULL, NULL);
	send(f, 0, "GET", "/channels/1", NULL);
	assert_int_equal(end(f, 0), 200);
	assert_int_equal(server_seen(&f->server, "GET /api/channels/1"), 4);
	server_step(&f->server, "POST /api/channels/2/messages", 503, NULL, "");
	send(f, 1, "POST", "/channels/2/messages", message("no nonce"));
	assert_int_equal(end(f, 1), 0);
	assert_int_equal(f->results[1].code, KETTLE_EUNAVAIL);
	assert_string_equal(
		f->results[1].text, "It is unknown whether Discord carried out POST /channels/:id/messages: it answered 503");
	assert_int_equal(server_seen(&f->server, "POST /api/channels/2/messages"), 1);
	server_step(&f->server, "POST /api/channels/3/messages", SERVER_DROP, NULL, NULL);
	send(f, 2, "POST", "/channels/3/messages",
		json_pack("{ss ss sb}", "content", "x", "nonce", "0123456789012345678901234", "enforce_nonce", 1));
	assert_int_equal(end(f, 2), 200);
	assert_int_equal(server_seen(&f->server, "POST /api/channels/3/messages"), 2);
	for (int i = 0; i < 5; i++)
		server_step(&f->server, "PUT /api/x", 500, NULL, "");
	send(f, 3, "PUT", "/x", NULL);
	assert_int_equal(end(f, 3), 0);
	assert_string_equal(f->results[3].text, "Discord did not carry out PUT /x (tries: 5): it answered 500");
	send(f, 4, "PUT", "/x", NULL);
	assert_int_equal(end(f, 4), 200);
}

/* A callback that had arrived is a success; one that somebody else answered is not. */
static void
test_callback(void **state)
{
	struct fixture *f = *state;
	static const char acknowledged[] = "{\"message\": \"Interaction has already been acknowledged.\", \"code\": 40060}";
	start(f);
	server_step(&f->server, "POST /api/interactions/5/", SERVER_DROP, NULL, NULL);
	server_step(&f->server, "POST /api/interactions/5/", 400, NULL, acknowledged);
	server_step(&f->server, "POST /api/interactions/6/", 400, NULL, acknowledged);
	server_step(&f->server, "POST /api/interactions/7/", 401, NULL,
		"{\"message\": \"Invalid Webhook Token\", \"code\": 50027}");
	server_step(&f->server, "POST /api/interactions/8/", 429, NULL, "{\"retry_after\": 4, \"global\": false}");
	send(f, 3, "POST", "/interactions/8/" USER_TOKEN "8/callback", json_pack("{si}", "type", 5));
	send(f, 0, "POST", "/interactions/5/" USER_TOKEN "/callback", json_pack("{si}", "type", 5));
	send(f, 1, "POST", "/interactions/6/" USER_TOKEN "6/callback", json_pack("{si}", "type", 5));
	send(f, 2, "POST", "/interactions/7/" USER_TOKEN "7/callback", json_pack("{si}", "type", 5));
	assert_int_equal(end(f, 0), 204);
	assert_int_equal(f->results[0].code, 0);
	assert_int_equal(end(f, 1), 400);
	assert_int_equal(f->results[1].code, KETTLE_EINVAL);
	assert_int_equal(f->results[1].discord, 40060);
	assert_string_equal(f->results[1].text,
		"Discord answered POST /interactions/:id/:token/callback with 400: Interaction has "
		"already been acknowledged.");
	assert_int_equal(end(f, 2), 401);
	assert_int_equal(f->results[2].code, KETTLE_ENOENT);
	/* One that would come after Discord has stopped waiting is not sent again. */
	assert_int_equal(end(f, 3), 0);
	assert_int_equal(f->results[3].code, KETTLE_ERATE);
}

static void
test_errors(void **state)
{
	struct fixture *f = *state;
	start(f);
	server_step(
		&f->server, "PATCH /api/channels/1", 403, NULL, "{\"message\": \"Missing Permissions\", \"code\": 50013}");
	server_step(&f->server, "GET /api/channels/2", 404, NULL, "not JSON \xff");
	server_step(&f->server, "POST /api/channels/3", 400, NULL,
		"{\"message\": \"Invalid Form Body\", \"code\": 50035, \"errors\": {\"content\": 1}}");
	send(f, 0, "PATCH", "/channels/1", json_object());
	send(f, 1, "GET", "/channels/2", NULL);
	send(f, 2, "POST", "/channels/3/messages", message(""));
	assert_int_equal(end(f, 0), 403);
	assert_int_equal(f->results[0].discord, 50013);
	assert_string_equal(f->results[0].text,
		"Discord answered PATCH /channels/:id with 403: Missing Permissions. Give the bot's role the permissions of "
		"docs/discord.md, in this channel, too.");
	assert_int_equal(end(f, 1), 404);
	assert_int_equal(f->results[1].code, KETTLE_ENOENT);
	assert_int_equal(end(f, 2), 400);
	assert_non_null(strstr(f->results[2].text, "Invalid Form Body: {\"content\":1}"));
}

/* The caller repeats it. */
static void
test_single_try(void **state)
{
	struct fixture *f = *state;
	start(f);
	server_step(&f->server, "GET /api/x", 503, NULL, NULL);
	struct rest_request once = {.method = "GET", .path = "/x", .once = true, .done = on_done, .arg = &f->results[0]};
	assert_int_equal(rest_send(f->rest, &once, &f->err), 0);
	assert_int_equal(end(f, 0), 0);
	assert_int_equal(f->results[0].code, KETTLE_EUNAVAIL);
	assert_int_equal(f->server.count, 1);
	assert_in_range(rest_backoff(1), 250, 500);
	assert_in_range(rest_backoff(4), 2000, 4000);
	assert_in_range(rest_backoff(1000), 15000, 30000);
}

static void
test_refused_token(void **state)
{
	struct fixture *f = *state;
	start(f);
	server_step(&f->server, "GET /api/channels/1", SERVER_HOLD, NULL, NULL);
	server_step(&f->server, "GET /api/users/@me", 401, NULL, "{\"message\": \"401: Unauthorized\", \"code\": 0}");
	send(f, 0, "GET", "/channels/1", NULL);
	send(f, 1, "GET", "/channels/1", NULL);
	wait_seen(f, "GET /api/channels/1", 1);
	send(f, 2, "GET", "/users/@me", NULL);
	assert_int_equal(end(f, 2), 401);
	assert_int_equal(end(f, 0), 0);
	assert_int_equal(end(f, 1), 0);
	assert_int_equal(f->results[1].code, KETTLE_EACCES);
	struct rest_request more = {.method = "GET", .path = "/"};
	assert_int_equal(rest_send(f->rest, &more, &f->err), KETTLE_EACCES);
	assert_int_equal(f->server.count, 2);
	const json_t *log = kettle_fake_log(f->fake);
	assert_int_equal(json_array_size(log), 1);
	assert_true(member_is(json_array_get(log, 0), "message",
		"Discord refuses the bot's token: give discord.token_file a valid one and start Kettle again."));
}

/* Too many invalid answers: the others wait for ten minutes, interactions go on, and the log says so once. */
static void
test_invalid(void **state)
{
	struct fixture *f = *state;
	f->rules.invalid_max = 2;
	start(f);
	for (int i = 0; i < 3; i++)
		server_step(&f->server, "PATCH /api/webhooks/6/", 404, NULL, NULL);
	for (int i = 0; i < 3; i++)
		send(f, i, "PATCH", "/webhooks/6/" USER_TOKEN "/messages/@original", message("y"));
	assert_int_equal(end(f, 2), 404);
	send(f, 3, "GET", "/channels/1", NULL);
	send(f, 4, "PATCH", "/webhooks/6/" USER_TOKEN "/messages/@original", message("y"));
	assert_int_equal(end(f, 4), 200);
	assert_int_equal(server_seen(&f->server, "GET"), 0);
	size_t said = 0, i;
	const json_t *line;
	json_array_foreach(kettle_fake_log(f->fake), i, line)
		said += member_is(line, "level", "error");
	assert_int_equal(said, 1);
}

/* The bytes of a message with files, exactly; names cannot break out of their header. */
static void
test_files(void **state)
{
	struct fixture *f = *state;
	start(f);
	struct rest_file files[] = {
		{.name = "a\"\r\nX: y.txt", .content_type = "text/plain", .data_take = xmemdup("one\0two", 7), .size = 7},
		{.name = "", .data_take = xstrdup("--kettle-"), .size = 9}};
	struct rest_request post = {.method = "POST",
		.path = "/channels/1/messages",
		.body_take = message("two files"),
		.files = files,
		.files_count = 2,
		.done = on_done,
		.arg = &f->results[0]};
	assert_int_equal(rest_send(f->rest, &post, &f->err), 0);
	assert_int_equal(end(f, 0), 200);
	const struct server_request *got = request(f, 0);
	const char *type = strstr(got->head, "\r\nContent-Type: multipart/form-data; boundary=");
	assert_non_null(type);
	type += strlen("\r\nContent-Type: multipart/form-data; boundary=");
	AUTO_FREE char *boundary = xstrndup(type, strcspn(type, "\r"));
	assert_in_range(strlen(boundary), 30, 70);
	struct buf expected = {0};
	buf_printf(&expected,
		"--%s\r\nContent-Disposition: form-data; name=\"payload_json\"\r\nContent-Type: application/json\r\n\r\n"
		"{\"content\":\"two files\",\"allowed_mentions\":{\"parse\":[]},\"attachments\":[{\"id\":\"0\",\"filename\":"
		"\"a___X__y.txt\"},{\"id\":\"1\",\"filename\":\"file\"}]}\r\n"
		"--%s\r\nContent-Disposition: form-data; name=\"files[0]\"; filename=\"a___X__y.txt\"\r\n"
		"Content-Type: text/plain\r\n\r\n",
		boundary, boundary);
	buf_add(&expected, "one\0two", 7);
	buf_printf(&expected,
		"\r\n--%s\r\nContent-Disposition: form-data; name=\"files[1]\"; filename=\"file\"\r\n"
		"Content-Type: application/octet-stream\r\n\r\n--kettle-\r\n--%s--\r\n",
		boundary, boundary);
	assert_int_equal(got->size, expected.len);
	assert_memory_equal(got->body, expected.data, expected.len);
	buf_free(&expected);
}

static void
test_cancel(void **state)
{
	struct fixture *f = *state;
	start(f);
	server_step(&f->server, "POST /api/channels/1/messages", SERVER_HOLD, NULL, NULL);
	send(f, 0, "POST", "/channels/1/messages", message("a"));
	send(f, 1, "POST", "/channels/1/messages", message("b"));
	wait_seen(f, "POST", 1);
	rest_free(STEAL(f->rest));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(f->results[i].calls, 1);
		assert_int_equal(f->results[i].code, KETTLE_ECANCELED);
	}
	assert_int_equal(f->server.count, 1);
}

static void
on_got(void *arg, const struct kettle_error *err, const void *data, size_t size)
{
	struct result *result = arg;
	result->calls++;
	result->code = err->code;
	result->status = (int)size;
	(void)snprintf(result->text, sizeof(result->text), "%s", data ? (const char *)data : err->message);
}

static void
test_download(void **state)
{
	struct fixture *f = *state;
	start(f);
	AUTO_FREE char *url = xasprintf("http://127.0.0.1:%d/attachments/1/a.py?ex=1", f->server.port);
	static const char *const wrong[] = {"http://cdn.discordapp.com/x", "https://cdn.discordapp.com.example/x",
		"https://evil@127.0.0.1/x", "https://cdn.discordapp.com:444/x", "https://cdn.discordapp.com@evil.example/x",
		"https://evil.example\\@cdn.discordapp.com/x", "https://evil.example#@cdn.discordapp.com", "file:///etc/passwd",
		"https://127.0.0.1/x", "", "https://cdn.discordapp.com/x\r\nHost: y", "http://127.0.0.1.example/x"};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(rest_download(f->rest, wrong[i], 10, on_got, f, &f->err), KETTLE_EINVAL);
	assert_string_equal(f->err.message, "The attachment is not on Discord's own servers.");
	server_step(&f->server, "GET /attachments", 200, NULL, "import x\n");
	server_step(&f->server, "GET /attachments", 200, NULL, "import x\n");
	server_step(&f->server, "GET /attachments", 404, NULL, "gone");
	server_step(&f->server, "GET /attachments", 302, "Location: /api\r\n", "");
	static const struct {
		size_t max;
		int code;
		const char *text;
	} cases[] = {{9, 0, "import x\n"}, {8, KETTLE_ETOOBIG, "The attachment is larger than 8 B."},
		{9, KETTLE_ENOENT, "Discord no longer has the attachment: attach it again."},
		{9, KETTLE_EUNAVAIL, "Discord answered 302 in place of the attachment: try again."}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(rest_download(f->rest, url, cases[i].max, on_got, &f->results[i], &f->err), 0);
		(void)end(f, (int)i);
		assert_int_equal(f->results[i].code, cases[i].code);
		assert_string_equal(f->results[i].text, cases[i].text);
		assert_null(strstr(request(f, i)->head, "Authorization"));
	}
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_request),
	TEST(test_refused_requests),
	TEST(test_order),
	TEST(test_interactions_first),
	TEST(test_limited),
	TEST(test_faults),
	TEST(test_callback),
	TEST(test_errors),
	TEST(test_single_try),
	TEST(test_refused_token),
	TEST(test_invalid),
	TEST(test_files),
	TEST(test_cancel),
	TEST(test_download),
};

UNIT_TESTS(test_rest, .words = "waiting");
