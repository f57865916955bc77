/* SPDX-License-Identifier: MIT */
/* A bot without a gateway: the real REST with a server of the test, and an engine whose answers the test writes down. */
#include <config.h>

#include "unit/discord/bot_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/times.h"
#include "base/xalloc.h"
#include "commands/handlers.h"
#include "discord/commands/table.h"
#include "discord/commands/dispatch.h"
#include "discord/flows/create.h"
#include "discord/interaction/bot.h"
#include "discord/interaction/outbox.h"
#include "discord/rest/rest.h"

#define APPLICATION "900"
#define GUILD "1"
#define DISCORD_EPOCH_MS INT64_C(1420070400000) /* 2015-01-01: identifiers begin with the time since then */

static int
on_call(void *arg, const json_t *actor, const char *command, const json_t *args, json_t **ret_result,
	struct kettle_error *err)
{
	struct bot_fixture *f = arg;
	const json_t *answer = json_object_get(f->answers, command);
	(void)json_array_append_new(
		f->calls, json_pack("{s:s, s:O, s:O}", "command", command, "args", args, "actor", actor));
	if (f->engine)
		return f->engine(actor, command, args, ret_result, err);
	if (!answer)
		return kettle_fail(err, KETTLE_ENOENT, "The test has no answer to %s.", command);
	if (json_object_get(answer, "fails"))
		return kettle_fail(err, (int)member_int(answer, "fails"), "%s", json_text_or_empty(answer, "message"));
	*ret_result = json_deep_copy(answer);
	return 0;
}

static void
begin_bot(struct bot_fixture *f)
{
	static const char *const cdn[] = {"cdn.discordapp.com", NULL};
	const struct rest_rules rules = {
		.base = f->base, .token = "token", .token_option = "token_file", .user_agent = "test", .cdn = cdn};
	f->bot = (struct bot){.host = kettle_fake_host(f->fake),
		.commands = discord_commands,
		.settings = {.guild = GUILD,
			.roles = {[BOT_ADMIN] = "Leaderboard Admin", [BOT_CREATOR] = "Leaderboard Creator"},
			.max_script = 1u << 20,
			.max_zip = 1000,
			.life_ms = 870000},
		.application = APPLICATION,
		.user = "901",
		.roles = {[BOT_ADMIN] = "50", [BOT_CREATOR] = "51"},
		.started_ms = time_now_ms(),
		.boards = json_object(),
		.seen = json_array()};
	assert_int_equal(rest_new(f->bot.host, &rules, &f->bot.rest, &f->err), 0);
	f->bot.later = later_new(&f->bot);
	f->bot.outbox = outbox_new(&f->bot, NULL, NULL);
	f->bot.creations = creations_new(&f->bot);
}

static void
end_bot(struct bot_fixture *f)
{
	f->bot.stopping = true;
	rest_free(STEAL(f->bot.rest));
	later_stop(f->bot.later);
	/* Answers of the engine may still be under way. */
	(void)kettle_fake_run(f->fake, NULL, NULL, 1);
	creations_free(f->bot.creations);
	outbox_free(f->bot.outbox);
	later_free(f->bot.later);
	json_decref(f->bot.boards);
	json_decref(f->bot.seen);
}

int
fixture_setup(void **state)
{
	struct bot_fixture *f = xcalloc(1, sizeof(*f));
	AUTO_JSON json_t *table = command_data(commands);
	assert_int_equal(kettle_fake_new("discord", &f->fake, &f->err), 0);
	kettle_fake_simulate(f->fake, time_now_ms());
	kettle_fake_answer(f->fake, on_call, f);
	assert_int_equal(kettle_fake_commands(f->fake, table), 0);
	server_start(&f->server, f->fake);
	f->base = xasprintf("http://127.0.0.1:%d/api", f->server.port);
	f->answers = json_object();
	f->calls = json_array();
	f->messages = json_array();
	f->user = FIXTURE_ADA;
	f->permissions = "0";
	f->next = (uint64_t)(time_now_ms() - DISCORD_EPOCH_MS) << 22;
	begin_bot(f);
	*state = f;
	return 0;
}

int
fixture_teardown(void **state)
{
	struct bot_fixture *f = *state;
	end_bot(f);
	server_stop(&f->server);
	assert_int_equal(kettle_fake_free(f->fake, &f->err), 0);
	json_decref(f->answers);
	json_decref(f->calls);
	json_decref(f->messages);
	free(f->base);
	free(f);
	return 0;
}

void
fixture_restart(struct bot_fixture *f)
{
	end_bot(f);
	begin_bot(f);
}

void
fixture_answer(struct bot_fixture *f, const char *command, json_t *answer_take)
{
	assert_non_null(answer_take);
	(void)json_object_set_new(f->answers, command, answer_take);
}

void
fixture_fail(struct bot_fixture *f, const char *command, int code, const char *message)
{
	fixture_answer(f, command, json_pack("{s:i, s:s}", "fails", code, "message", message));
}

/* ---- interactions ---- */

static void
dispatch(struct bot_fixture *f, int type, json_t *data_take)
{
	AUTO_FREE char *id = xasprintf("%llu", (unsigned long long)f->next++), *token = xasprintf("token%s", id);
	AUTO_JSON json_t *interaction = json_pack("{s:s, s:i, s:s, s:s, s:s, s:{s:{s:s, s:s}, s:[s*], s:s}, s:o}", "id", id,
		"type", type, "token", token, "guild_id", GUILD, "channel_id", "2", "member", "user", "id", f->user, "username",
		strcmp(f->user, FIXTURE_ADA) == 0 ? "ada" : "bob", "roles", f->role, "permissions", f->permissions, "data",
		data_take);
	assert_non_null(interaction);
	dispatch_interaction(&f->bot, interaction);
}

static json_t *
option(const char *name, json_t *value, json_t *attachments)
{
	int type = json_is_object(value) ? 11 : json_is_boolean(value) ? 5 : json_is_integer(value) ? 4 : 3;
	if (type != 11)
		return json_pack("{s:s, s:i, s:O}", "name", name, "type", type, "value", value);
	AUTO_FREE char *id = xasprintf("%zu", 300 + json_object_size(attachments));
	(void)json_object_set(attachments, id, value);
	return json_pack("{s:s, s:i, s:s}", "name", name, "type", type, "value", id);
}

void
fixture_command(struct bot_fixture *f, const char *path, json_t *options_take)
{
	json_t *options = json_array(), *attachments = json_object(), *value;
	AUTO_JSON json_t *given = options_take;
	const char *name;
	AUTO_FREE char *words = xstrdup(path);
	json_object_foreach(given, name, value)
		(void)json_array_append_new(options, option(name, value, attachments));
	for (int type = 1;; type++) {
		char *space = strrchr(words, ' ');
		if (!space)
			break;
		options = json_pack("[{s:s, s:i, s:o}]", "name", space + 1, "type", type, "options", options);
		*space = '\0';
	}
	dispatch(f, 2,
		json_pack("{s:s, s:o, s:{s:o}}", "name", words, "options", options, "resolved", "attachments", attachments));
}

void
fixture_press(struct bot_fixture *f, const char *custom_id, json_t *values_take)
{
	dispatch(f, 3, json_pack("{s:s, s:o*}", "custom_id", custom_id, "values", values_take));
}

void
fixture_form(struct bot_fixture *f, const char *custom_id, json_t *fields_take)
{
	AUTO_JSON json_t *fields = fields_take;
	json_t *rows = json_array(), *value;
	const char *name;
	json_object_foreach(fields, name, value)
		(void)json_array_append_new(
			rows, json_pack("{s:[{s:s, s:O}]}", "components", "custom_id", name, "value", value));
	dispatch(f, 5, json_pack("{s:s, s:o}", "custom_id", custom_id, "components", rows));
}

/* ---- what Discord got ---- */

/* A message with files has its JSON in the first part. */
static json_t *
body_of(const struct server_request *request)
{
	const char *json = request->body;
	if (strncmp(json, "--", 2) == 0)
		json = strstr(json, "\r\n\r\n") + 4;
	json_t *body = json_loads(json, JSON_DISABLE_EOF_CHECK, NULL);
	assert_non_null(body);
	return body;
}

static void
add_message(json_t *messages, size_t number, json_t *message, const char *kind)
{
	json_t *copy = json_copy(message);
	(void)json_object_set_new(copy, "_request", json_integer((json_int_t)number));
	(void)json_object_set_new(copy, kind, json_true());
	(void)json_array_append_new(messages, copy);
}

/* Types of callbacks: 4 a message, 7 an update, 9 a form. */
static void
read_request(const struct bot_fixture *f, size_t number)
{
	const struct server_request *request = &f->server.requests[number];
	bool callback = strstr(request->line, "/callback") != NULL, hook = strstr(request->line, "/webhooks/") != NULL;
	if (!callback && !hook)
		return;
	AUTO_JSON json_t *body = body_of(request);
	json_t *data = json_object_get(body, "data");
	json_int_t type = member_int(body, "type");
	if (hook)
		add_message(f->messages, number, body, strncmp(request->line, "POST", 4) == 0 ? "_follow_up" : "_answer");
	else if (type == 4 || type == 7 || type == 9)
		add_message(f->messages, number, data, type == 4 ? "_answer" : type == 7 ? "_update" : "_form");
}

size_t
fixture_count(struct bot_fixture *f)
{
	(void)json_array_clear(f->messages);
	for (size_t i = 0; i < f->server.count; i++)
		read_request(f, i);
	return json_array_size(f->messages);
}

struct awaited {
	struct bot_fixture *f;
	size_t at;
};

static int
has_come(void *arg)
{
	const struct awaited *awaited = arg;
	return fixture_count(awaited->f) > awaited->at;
}

const json_t *
fixture_message(struct bot_fixture *f, size_t at)
{
	struct awaited awaited = {f, at};
	if (!has_come(&awaited))
		assert_int_equal(kettle_fake_run(f->fake, has_come, &awaited, FIXTURE_WAIT_MS), 0);
	return json_array_get(f->messages, at);
}

const json_t *
fixture_run(struct bot_fixture *f, const char *path, json_t *options_take)
{
	size_t before = fixture_count(f);
	fixture_command(f, path, options_take);
	return fixture_message(f, before);
}

const json_t *
fixture_pressed(struct bot_fixture *f, const char *custom_id, json_t *values_take)
{
	size_t before = fixture_count(f);
	fixture_press(f, custom_id, values_take);
	return fixture_message(f, before);
}

/* ---- checks ---- */

void
fixture_says(const json_t *message, const char *content)
{
	assert_string_equal(json_text_or_empty(message, "content"), content);
}

void
fixture_has(const json_t *message, const char *part)
{
	if (!strstr(json_text_or_empty(message, "content"), part))
		fail_msg("\"%s\" is not in \"%s\"", part, json_text_or_empty(message, "content"));
}

void
fixture_called(const struct bot_fixture *f, size_t back, const char *command, json_t *args_take)
{
	AUTO_JSON json_t *args = args_take;
	size_t count = json_array_size(f->calls);
	assert_true(count > back);
	const json_t *call = json_array_get(f->calls, count - 1 - back);
	assert_string_equal(json_text_or_empty(call, "command"), command);
	AUTO_FREE char *expected = json_dumps(args, JSON_SORT_KEYS),
				   *found = json_dumps(json_object_get(call, "args"), JSON_SORT_KEYS);
	assert_string_equal(found, expected);
}

void
fixture_has_file(const struct bot_fixture *f, const json_t *message, const char *name, const char *text)
{
	const struct server_request *request = &f->server.requests[member_int(message, "_request")];
	AUTO_FREE char *head = xasprintf("filename=\"%s\"", name), *end = xasprintf("%s\r\n--", text);
	const char *at = memmem(request->body, request->size, head, strlen(head));
	if (!at)
		fail_msg("there is no file %s in %s", name, request->body);
	const char *begin = strstr(at, "\r\n\r\n") + 4;
	if (strncmp(begin, end, strlen(end)) != 0)
		fail_msg("%s is: %.200s", name, begin);
}

const char *
fixture_button(const json_t *message, size_t row, size_t at)
{
	const json_t *components =
		json_object_get(json_array_get(json_object_get(message, "components"), row), "components");
	return json_text_or_empty(json_array_get(components, at), "custom_id");
}
