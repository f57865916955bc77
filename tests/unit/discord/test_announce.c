/* SPDX-License-Identifier: MIT */
/* What the bot tells by itself: to whom, what, once, in order, and when it is dealt with. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "discord/flows/announce.h"
#include "discord/render/news.h"
#include "lib/unit_test.h"
#include "unit/discord/announce_fixture.h"

/* ---- podiums ---- */

static void
test_podium(void **state)
{
	struct fixture *f = *state;
	fixture_has_post(f);
	server_step(&f->server, POST_NEWS, SERVER_HOLD, NULL, NULL);
	fixture_tell(f, fixture_podium(5));
	fixture_seen(f, POST_NEWS, 1);
	fixture_assert_message(f, 0, POST_NEWS, PODIUM);
	AUTO_JSON json_t *body = fixture_body(f, 0);
	assert_int_equal(strlen(json_text_or_empty(body, "nonce")), 25);
	assert_true(member_true(body, "enforce_nonce"));
	/* Until it has arrived, it is not dealt with. */
	assert_int_equal(json_array_size(kettle_fake_events_done(f->fake)), 0);
	server_release(&f->server, 0, 200);
	fixture_done(f, 1);
	assert_int_equal(json_integer_value(json_array_get(kettle_fake_events_done(f->fake), 0)), 5);
	assert_int_equal(f->server.count, 1);
}

static void
test_silent(void **state)
{
	struct fixture *f = *state;
	size_t events = 0;
	fixture_has_post(f);
	json_t *closed = fixture_podium(1);
	json_object_set_new(closed, "closed", json_true());
	fixture_tell(f, closed);
	fixture_done(f, ++events);
	json_object_set_new(f->board, "ended", json_true());
	fixture_tell(f, fixture_podium(2));
	/* Its post says that it has ended. */
	fixture_done(f, ++events);
	assert_int_equal(server_seen(&f->server, "POST"), 0);
	announce_fixture_stop(f);
	(void)json_object_clear(kettle_fake_state(f->fake));
	fixture_start(f);
	size_t before = f->server.count;
	json_object_set_new(f->board, "visibility", json_string("closed"));
	fixture_tell(f, fixture_podium(3));
	fixture_done(f, ++events);
	json_object_set_new(f->board, "ended", json_false());
	json_object_set_new(f->board, "visibility", json_string("public"));
	json_object_set_new(f->board, "opens", json_string("2999-01-01T00:00:00.000Z"));
	fixture_tell(f, fixture_podium(4));
	fixture_tell(f, announce_fixture_event(5, "leaderboard.created", NULL));
	fixture_tell(f, announce_fixture_event(6, "leaderboard.updated", NULL));
	fixture_done(f, events += 3);
	json_object_set_new(f->board, "opens", json_null());
	json_object_set_new(f->board, "id", json_integer(8)); /* another one by now */
	fixture_tell(f, fixture_podium(7));
	fixture_done(f, ++events);
	json_decref(STEAL(f->board));
	fixture_tell(f, fixture_podium(8));
	fixture_tell(f, announce_fixture_event(9, "leaderboard.ended", NULL));
	fixture_done(f, events += 2);
	assert_int_equal(f->server.count, before);
	assert_int_equal(json_object_size(kettle_fake_state(f->fake)), 0);
}

static void
test_not_its_kinds(void **state)
{
	struct fixture *f = *state;
	static const char *const kinds[] = {
		"leaderboard.joined", "leaderboard.limited", "submission.done", "device.ready", ""};
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		AUTO_JSON json_t *other = announce_fixture_event(1, kinds[i], NULL);
		assert_false(announce_event(&f->bot, other));
	}
}

/* The events of one board come one after the other; another board's do not wait for them. */
static void
test_order(void **state)
{
	struct fixture *f = *state;
	fixture_has_post(f);
	server_step(&f->server, POST_NEWS, SERVER_HOLD, NULL, NULL);
	fixture_tell(f, fixture_podium(5));
	fixture_tell(f, fixture_podium(6));
	json_t *other = fixture_podium(7);
	json_object_set_new(other, "leaderboard_name", json_string("other"));
	json_object_set_new(other, "leaderboard", json_integer(8));
	fixture_tell(f, other);
	fixture_seen(f, POST_NEWS, 1);
	fixture_done(f, 1); /* the other one, which is not the board that is there */
	assert_int_equal(json_integer_value(json_array_get(kettle_fake_events_done(f->fake), 0)), 7);
	AUTO_JSON json_t *calls = json_pack("[s, s]", "leaderboard.show vec_add", "leaderboard.show other");
	assert_true(json_equal(f->calls, calls));
	server_release(&f->server, 0, 200);
	fixture_done(f, 3);
	AUTO_JSON json_t *order = json_pack("[i, i, i]", 7, 5, 6);
	assert_true(json_equal(kettle_fake_events_done(f->fake), order));
}

/* ---- once ---- */

static void
test_again(void **state)
{
	struct fixture *f = *state;
	fixture_has_post(f);
	fixture_tell(f, fixture_podium(5));
	fixture_done(f, 1);
	assert_int_equal(f->server.count, 1);
	/* It comes again, since one before it was not done. */
	announce_fixture_stop(f);
	f->bot.started_ms = AT_MS + 1000;
	fixture_start(f);
	fixture_tell(f, fixture_podium(5));
	fixture_done(f, 2);
	assert_int_equal(f->server.count, 1);
	/* The process died between the message and what it wrote about it: the message is found. */
	(void)json_object_del(kettle_fake_state(f->fake), "announced");
	announce_fixture_stop(f);
	fixture_start(f);
	AUTO_JSON json_t *recent =
		json_pack("[{s:s, s:s, s:{s:s}}]", "id", "1576000000000000000", "content", PODIUM, "author", "id", BOT);
	AUTO_FREE char *answer = json_dumps(recent, 0);
	server_step(&f->server, "GET /api/channels/" NEWS "/messages", 200, NULL, answer);
	fixture_tell(f, fixture_podium(5));
	fixture_done(f, 3);
	assert_int_equal(server_seen(&f->server, POST_NEWS), 1);
	/* Somebody else's message with the same text is none of the bot's. */
	(void)json_object_del(kettle_fake_state(f->fake), "announced");
	announce_fixture_stop(f);
	fixture_start(f);
	json_object_set_new(json_object_get(json_array_get(recent, 0), "author"), "id", json_string("43"));
	AUTO_FREE char *others = json_dumps(recent, 0);
	server_step(&f->server, "GET /api/channels/" NEWS "/messages", 200, NULL, others);
	fixture_tell(f, fixture_podium(5));
	fixture_done(f, 4);
	assert_int_equal(server_seen(&f->server, POST_NEWS), 2);
}

static void
test_refused(void **state)
{
	struct fixture *f = *state;
	fixture_has_post(f);
	server_step(&f->server, POST_NEWS, 403, NULL, "{\"code\": 50001, \"message\": \"Missing Access\"}");
	fixture_tell(f, fixture_podium(5));
	fixture_done(f, 1);
	assert_int_equal(f->server.count, 1);
	assert_true(fixture_logged(f, "warning",
		"Discord refuses a new podium in the channel of the option "
		"`announcements_channel` (event 5, leaderboard.podium)"));
	assert_true(fixture_logged(f, "warning", "Missing Access"));
	assert_true(fixture_logged(f, "warning", "Give the bot the permissions View Channel"));
	server_step(&f->server, POST_NEWS, 404, NULL, "{\"code\": 10003, \"message\": \"Unknown Channel\"}");
	fixture_tell(f, fixture_podium(6));
	fixture_done(f, 2);
	assert_true(fixture_logged(f, "warning", "Name a channel of the guild that exists."));
}

/* A stop in the middle: not dealt with, and nothing is left behind. */
static void
test_stop(void **state)
{
	struct fixture *f = *state;
	fixture_has_post(f);
	server_step(&f->server, POST_NEWS, SERVER_HOLD, NULL, NULL);
	fixture_tell(f, fixture_podium(5));
	fixture_tell(f, fixture_podium(6));
	fixture_seen(f, POST_NEWS, 1);
	announce_fixture_stop(f);
	assert_int_equal(json_array_size(kettle_fake_events_done(f->fake)), 0);
	assert_null(json_object_get(kettle_fake_state(f->fake), "announced"));
	fixture_start(f);
	/* One that waits for Discord to come back, too. */
	for (int i = 0; i < 8; i++)
		server_step(&f->server, POST_NEWS, 503, NULL, NULL);
	fixture_tell(f, fixture_podium(5));
	fixture_seen(f, POST_NEWS, 2);
}

/* ---- the end ---- */

static void
test_ended(void **state)
{
	struct fixture *f = *state;
	static const char text[] = "🏁 **vec\\_add** has ended. The final podium:\n**H100**\n🥇 **ada** 1.000 ms\n🥇 "
							   "**bob** 1.000 ms\n**CPU**\nno results";
	fixture_has_post(f);
	json_object_set_new(f->board, "ended", json_true());
	fixture_tell(
		f, announce_fixture_event(1, "leaderboard.ended",
			   json_pack("{s:[{s:s, s:[o, o]}, {s:s, s:[]}]}", "devices", "device", "H100", "podium",
				   fixture_row(1, 1, "ada", 1e-3), fixture_row(1, 2, "bob", 1e-3), "device", "CPU", "podium")));
	fixture_done(f, 1);
	fixture_assert_json(f, 0, "PATCH /api/channels/801", "{\"archived\": false}");
	AUTO_JSON json_t *body = fixture_body(f, 1);
	assert_non_null(strstr(json_text_or_empty(body, "content"), "**This leaderboard has ended.**"));
	fixture_assert_message(f, 2, "POST /api/channels/801/messages", text);
	fixture_assert_message(f, 3, POST_NEWS, text);
	assert_int_equal(f->server.count, 4);
	/* Its deadline was moved before it was told. */
	json_object_set_new(f->board, "ended", json_false());
	fixture_tell(f, announce_fixture_event(2, "leaderboard.ended", NULL));
	fixture_done(f, 2);
	assert_int_equal(server_seen(&f->server, "POST"), 2);
}

/* The final podium of many devices is several messages. */
static void
test_long_end(void **state)
{
	struct fixture *f = *state;
	json_t *devices = json_array();
	AUTO_FREE char *name = xmalloc(101);
	memset(name, '_', 100);
	name[100] = '\0';
	for (int i = 0; i < 12; i++) {
		AUTO_FREE char *device = xasprintf("device%d", i);
		json_array_append_new(
			devices, json_pack("{s:s, s:[o, o, o]}", "device", device, "podium", fixture_row(1, 1, name, 1e-3),
						 fixture_row(2, 2, name, 1e-3), fixture_row(3, 3, name, 1e-3)));
	}
	f->bot.settings.forum[0] = '\0';
	json_object_set_new(f->board, "ended", json_true());
	fixture_tell(f, announce_fixture_event(1, "leaderboard.ended", json_pack("{s:o}", "devices", devices)));
	fixture_done(f, 1);
	assert_in_range(f->server.count, 3, 6);
	AUTO_JSON json_t *first = fixture_body(f, 0), *second = fixture_body(f, 1),
					 *last = fixture_body(f, f->server.count - 1);
	assert_non_null(strstr(json_text_or_empty(last, "content"), "device11"));
	assert_string_not_equal(json_text_or_empty(first, "nonce"), json_text_or_empty(second, "nonce"));
}

/* ---- operators ---- */

static json_t *
unit(const char *reason)
{
	return json_pack("{s:s, s:s, s:s}", "device", "H100", "unit", "gpu0@node", "reason", reason);
}

static void
test_operators(void **state)
{
	struct fixture *f = *state;
	fixture_tell(f, announce_fixture_event(1, "unit.quarantined", unit("two faults @here")));
	fixture_tell(f, announce_fixture_event(2, "unit.returned", unit("the GPU works")));
	fixture_tell(f, announce_fixture_event(3, "storage.ok", json_pack("{s:s}", "since", "2026-11-25T09:00:00.000Z")));
	fixture_tell(f, announce_fixture_event(4, "runner.credential_failed",
						json_pack("{s:s, s:s}", "runner", "modal", "error", "token expired")));
	fixture_done(f, 4);
	fixture_assert_message(f, 0, POST_OPERATORS,
		"The unit **gpu0\\@node** of the device **H100** is out of service; Kettle enables it again when it works: "
		"two faults \\@here\n<t:1795600800:f>");
	fixture_assert_message(f, 1, POST_OPERATORS,
		"The unit **gpu0\\@node** of the device **H100** works again: the GPU works\n<t:1795600800:f>");
	fixture_assert_message(f, 2, POST_OPERATORS,
		"The disk of the database has room again; Kettle could store nothing since <t:1795597200:f>\n<t:1795600800:f>");
	fixture_assert_message(f, 3, POST_OPERATORS,
		"🔑 The runner **modal** runs no jobs, because its credential is no longer valid: token "
		"expired\n<t:1795600800:f>");
	fixture_tell(f, announce_fixture_event(5, "unit.unfit", unit("too hot")));
	fixture_tell(f, announce_fixture_event(6, "unit.fit", unit("cool")));
	fixture_done(f, 6);
	fixture_assert_message(f, 4, POST_OPERATORS,
		"The unit **gpu0\\@node** of the device **H100** runs no ranked submissions: too hot\n<t:1795600800:f>");
	fixture_assert_message(f, 5, POST_OPERATORS,
		"The unit **gpu0\\@node** of the device **H100** runs ranked submissions again: cool\n<t:1795600800:f>");
	f->bot.settings.operators[0] = '\0';
	fixture_tell(f, announce_fixture_event(7, "unit.quarantined", unit("x")));
	fixture_done(f, 7);
	assert_int_equal(f->server.count, 6);
}

/* The event of a full disk comes at once, without a number, and stored when there is room. */
static void
test_full(void **state)
{
	struct fixture *f = *state;
	json_t *data = json_pack("{s:s, s:s}", "since", "2026-11-25T09:00:00.000Z", "error", "no space left");
	f->bot.started_ms -= 7200000;
	fixture_tell(f, announce_fixture_event(0, "storage.full", json_incref(data)));
	fixture_seen(f, POST_OPERATORS, 1);
	fixture_assert_message(f, 0, POST_OPERATORS,
		"🚨 The disk of the database has been full since <t:1795597200:f>; Kettle stores nothing until there is room: "
		"no "
		"space left");
	fixture_tell(f, announce_fixture_event(1, "storage.full", data));
	fixture_done(f, 1);
	assert_int_equal(f->server.count, 1);
	/* The next time. */
	fixture_tell(f, announce_fixture_event(2, "storage.full",
						json_pack("{s:s, s:s}", "since", "2026-11-25T09:30:00.000Z", "error", "no space left")));
	fixture_done(f, 2);
	assert_int_equal(f->server.count, 2);
}

static json_t *
fault(int seq)
{
	json_t *made = announce_fixture_event(seq, "leaderboard.fault",
		json_pack("{s:i, s:s, s:s, s:s}", "job", 4, "device", "H100", "mode", "ranked", "error", "``` @everyone"));
	json_object_set_new(made, "user", json_integer(12));
	json_object_set_new(made, "submission", json_integer(99));
	return made;
}

static void
test_fault(void **state)
{
	struct fixture *f = *state;
	static const char text[] = "🔧 The task of **vec\\_add** has a fault: it failed on **H100** in "
							   "submission 99 (ranked), and fails for every user until its creator corrects "
							   "it.\n```\n`` ` @everyone\n```";
	f->user = json_pack("{s:[{s:s, s:s}, {s:s, s:s}]}", "identities", "provider", "cli", "subject", "ada", "provider",
		"discord", "subject", "77");
	server_step(&f->server, "POST /api/users/@me/channels", 200, NULL, "{\"id\": \"78\"}");
	fixture_tell(f, fault(1));
	fixture_done(f, 1);
	fixture_assert_json(f, 0, "POST /api/users/@me/channels", "{\"recipient_id\": \"77\"}");
	fixture_assert_message(f, 1, "POST /api/channels/78/messages", text);
	fixture_assert_message(f, 2, POST_OPERATORS, text);
	assert_string_equal(json_string_value(json_array_get(f->calls, 0)), "user.show {\"number\": 12}");
	/* A user who takes no messages of the bot is no fault. */
	server_step(&f->server, "POST /api/users/@me/channels", 200, NULL, "{\"id\": \"79\"}");
	server_step(
		&f->server, "POST /api/channels/79/messages", 403, NULL, "{\"code\": 50007, \"message\": \"Cannot send\"}");
	fixture_tell(f, fault(2));
	fixture_done(f, 2);
	assert_true(fixture_logged(f, "info", "The creator of `vec_add` accepts no direct messages from the bot."));
	assert_false(fixture_logged(f, "warning", ""));
	fixture_assert_message(f, 5, POST_OPERATORS, text);
	/* One who is not on Discord. */
	json_decref(f->user);
	f->user = json_pack("{s:[{s:s, s:s}]}", "identities", "provider", "discord", "subject", "bot");
	fixture_tell(f, fault(3));
	fixture_done(f, 3);
	fixture_assert_message(f, 6, POST_OPERATORS, text);
	assert_int_equal(f->server.count, 7);
}

static void
test_renamed(void **state)
{
	struct fixture *f = *state;
	json_t *made = announce_fixture_event(
		1, "leaderboard.renamed", json_pack("{s:s, s:s}", "name", "my_users-board", "was", "my_users"));
	json_object_set_new(made, "user", json_integer(12));
	AUTO_FREE char *text = news_creator(made);
	assert_sentence(text);
	f->user = json_pack("{s:[{s:s, s:s}]}", "identities", "provider", "discord", "subject", "77");
	server_step(&f->server, "POST /api/users/@me/channels", 200, NULL, "{\"id\": \"78\"}");
	fixture_tell(f, made);
	fixture_done(f, 1);
	fixture_assert_message(f, 1, "POST /api/channels/78/messages", text);
	fixture_assert_message(f, 2, POST_OPERATORS, text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, announce_fixture_setup, announce_fixture_teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_podium),
	TEST(test_silent),
	TEST(test_not_its_kinds),
	TEST(test_order),
	TEST(test_again),
	TEST(test_refused),
	TEST(test_stop),
	TEST(test_ended),
	TEST(test_long_end),
	TEST(test_operators),
	TEST(test_full),
	TEST(test_fault),
	TEST(test_renamed),
};

UNIT_TESTS(test_announce);
