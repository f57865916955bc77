/* SPDX-License-Identifier: MIT */
/* A bot with a fake engine and a fake Discord, for tests of what it tells by itself. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "unit/discord/announce_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "discord/flows/announce.h"
#include "discord/flows/announcement.h"
#include "discord/interaction/bot.h"
#include "discord/interaction/outbox.h"
#include "discord/render/news.h"
#include "discord/rest/rest.h"

#define WAIT_MS 600000

/* ---- the engine ---- */

static int
on_call(void *arg, const json_t *actor, const char *command, const json_t *args, json_t **ret_result,
	struct kettle_error *err)
{
	struct fixture *f = arg;
	const json_t *named = json_object_get(args, "name");
	AUTO_FREE char *name = json_is_string(named) ? xstrdup(json_string_value(named)) : json_dumps(named, 0);
	AUTO_FREE char *line = xasprintf("%s %s", command, name);
	assert_string_equal(json_text_or_empty(actor, "role"), "admin");
	json_array_append_new(f->calls, json_string(line));
	if (strcmp(command, "user.show") == 0)
		*ret_result = json_incref(f->user);
	else if (f->board)
		*ret_result = json_pack("{s:O, s:[]}", "leaderboard", f->board, "rankings");
	else
		return kettle_fail(err, KETTLE_ENOENT, "There is no leaderboard `%s`.", json_text_or_empty(args, "name"));
	return 0;
}

static int
has_begun(void *arg)
{
	return ((struct fixture *)arg)->bot.announce->started;
}

void
fixture_start(struct fixture *f)
{
	const struct rest_rules rules = {.base = f->base,
		.token = "token",
		.token_option = "token_file",
		.user_agent = "DiscordBot (https://kettle.example, 1)"};
	f->bot.stopping = false;
	assert_int_equal(rest_new(f->bot.host, &rules, &f->bot.rest, &f->err), 0);
	f->bot.later = later_new(&f->bot);
	f->bot.outbox = outbox_new(&f->bot, NULL, NULL);
	f->bot.announce = announce_new(&f->bot);
	assert_int_equal(kettle_fake_run(f->fake, has_begun, f, WAIT_MS), 0);
}

void
announce_fixture_stop(struct fixture *f)
{
	f->bot.stopping = true;
	rest_free(STEAL(f->bot.rest));
	later_stop(f->bot.later);
	announce_stop(f->bot.announce);
	announce_free(STEAL(f->bot.announce));
	outbox_free(STEAL(f->bot.outbox));
	later_free(STEAL(f->bot.later));
}

int
announce_fixture_setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	assert_int_equal(kettle_fake_new("discord", &f->fake, &f->err), 0);
	kettle_fake_simulate(f->fake, AT_MS);
	server_start(&f->server, f->fake);
	kettle_fake_answer(f->fake, on_call, f);
	f->base = xasprintf("http://127.0.0.1:%d/api", f->server.port);
	f->calls = json_array();
	f->board = json_pack("{s:i, s:s, s:s, s:s, s:[s, s], s:s, s:n, s:b}", "id", 7, "name", "vec_add", "description",
		"Add two vectors.", "deadline", "2026-12-01T00:00:00.000Z", "gpu_types", "H100", "CPU", "visibility", "public",
		"opens", "ended", 0);
	f->bot = (struct bot){
		.host = kettle_fake_host(f->fake),
		.settings = {.guild = "1", .announcements = NEWS, .forum = FORUM, .operators = OPERATORS, .submissions = "600"},
		.user = BOT,
		.roles = {[BOT_PARTICIPANTS] = ROLE},
		.started_ms = AT_MS - 1000,
	};
	fixture_start(f);
	*state = f;
	return 0;
}

int
announce_fixture_teardown(void **state)
{
	struct fixture *f = *state;
	announce_fixture_stop(f);
	server_stop(&f->server);
	json_decref(f->board);
	json_decref(f->user);
	json_decref(f->calls);
	assert_int_equal(kettle_fake_free(f->fake, &f->err), 0);
	free(f->base);
	free(f);
	return 0;
}

json_t *
announce_fixture_event(int seq, const char *kind, json_t *data_take)
{
	json_t *made = json_pack("{s:s, s:s, s:b, s:i, s:s, s:o*}", "at", AT, "kind", kind, "closed", 0, "leaderboard", 7,
		"leaderboard_name", "vec_add", "data", data_take);
	if (seq)
		json_object_set_new(made, "seq", json_integer(seq));
	return made;
}

void
fixture_tell(struct fixture *f, json_t *event_take)
{
	assert_true(announce_event(&f->bot, event_take));
	json_decref(event_take);
}

struct wanted {
	struct fixture *f;
	const char *line;
	size_t count;
};

static int
is_done(void *arg)
{
	struct wanted *wanted = arg;
	return json_array_size(kettle_fake_events_done(wanted->f->fake)) >= wanted->count;
}

void
fixture_done(struct fixture *f, size_t count)
{
	assert_int_equal(kettle_fake_run(f->fake, is_done, &(struct wanted){f, NULL, count}, WAIT_MS), 0);
	assert_int_equal(json_array_size(kettle_fake_events_done(f->fake)), count);
}

static int
is_seen(void *arg)
{
	struct wanted *wanted = arg;
	return server_seen(&wanted->f->server, wanted->line) >= wanted->count;
}

void
fixture_seen(struct fixture *f, const char *line, size_t count)
{
	assert_int_equal(kettle_fake_run(f->fake, is_seen, &(struct wanted){f, line, count}, WAIT_MS), 0);
}

json_t *
fixture_body(const struct fixture *f, size_t number)
{
	assert_true(number < f->server.count);
	json_t *body = json_loads(f->server.requests[number].body, 0, NULL);
	assert_non_null(body);
	return body;
}

void
fixture_assert_request(const struct fixture *f, size_t number, const char *line)
{
	assert_true(number < f->server.count);
	assert_string_equal(f->server.requests[number].line, line);
}

void
fixture_assert_message(const struct fixture *f, size_t number, const char *line, const char *content)
{
	fixture_assert_request(f, number, line);
	AUTO_JSON json_t *body = fixture_body(f, number), *nobody = json_pack("{s:[]}", "parse");
	assert_string_equal(json_text_or_empty(body, "content"), content);
	assert_true(json_equal(json_object_get(body, "allowed_mentions"), nobody));
}

void
fixture_assert_json(const struct fixture *f, size_t number, const char *line, const char *expected)
{
	fixture_assert_request(f, number, line);
	AUTO_JSON json_t *body = fixture_body(f, number), *wanted = json_loads(expected, 0, NULL);
	if (!json_equal(body, wanted))
		assert_string_equal(f->server.requests[number].body, expected);
}

bool
fixture_logged(const struct fixture *f, const char *level, const char *part)
{
	size_t i;
	const json_t *line;
	json_array_foreach(kettle_fake_log(f->fake), i, line)
		if (member_is(line, "level", level) && strstr(json_text_or_empty(line, "message"), part))
			return true;
	return false;
}

json_t *
fixture_row(int rank, int user, const char *name, double score)
{
	return json_pack(
		"{s:i, s:i, s:s, s:i, s:f}", "rank", rank, "user", user, "user_name", name, "submission", user, "score", score);
}

json_t *
fixture_podium(int seq)
{
	json_t *before = json_pack(
		"[o, o, o]", fixture_row(1, 2, "bob", 2e-3), fixture_row(2, 3, "c_c", 3e-3), fixture_row(3, 4, "dave", 4e-3));
	json_t *after = json_pack("[o, o, o]", fixture_row(1, 1, "@everyone **x**", 1e-3), fixture_row(2, 2, "bob", 2e-3),
		fixture_row(3, 3, "c_c", 2.5e-3));
	return announce_fixture_event(seq, "leaderboard.podium",
		json_pack("{s:s, s:[o], s:[o], s:o, s:o}", "device", "H100", "came", fixture_row(1, 1, "@everyone **x**", 1e-3),
			"went", fixture_row(3, 4, "dave", 4e-3), "before", before, "podium", after));
}

void
fixture_keeps_post(struct fixture *f, json_t *post_take)
{
	json_object_set_new(kettle_fake_state(f->fake), "out/post/7", post_take);
	announce_fixture_stop(f);
	fixture_start(f);
}

void
fixture_has_post(struct fixture *f)
{
	AUTO_FREE char *text = news_board(f->board, f->bot.settings.submissions);
	fixture_keeps_post(
		f, json_pack("{s:s, s:i, s:s, s:{s:s, s:b, s:b, s:{s:s}}}", "channel", FORUM, "since", 0, "id", "801", "what",
			   "name", "vec_add", "archived", 0, "locked", 0, "message", "content", text));
}
