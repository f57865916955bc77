/* SPDX-License-Identifier: MIT */
/* The post of a leaderboard: made, changed, hidden, ended, found again. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "discord/render/news.h"
#include "discord/text/split.h"
#include "lib/unit_test.h"
#include "unit/discord/announce_fixture.h"

#define POST \
	"**vec\\\\_add**\\nAdd two vectors\\\\.\\n\\nDevices: H100, CPU\\nDeadline: <t:1796083200:f> " \
	"(<t:1796083200:R>)\\nTake part with `/leaderboard submit ranked` in <#600>."

static void
test_post(void **state)
{
	struct fixture *f = *state;
	server_step(&f->server, POST_FORUM, 201, NULL, "{\"id\": \"801\", \"message\": {\"id\": \"801\"}}");
	fixture_tell(f, announce_fixture_event(1, "leaderboard.created", NULL));
	fixture_done(f, 1);
	fixture_assert_json(f, 0, POST_FORUM,
		"{\"name\": \"vec_add\", \"message\": {\"content\": \"<@&55>\\n" POST
		"\", \"allowed_mentions\": {\"parse\": [], \"roles\": [\"55\"]}}}");
	/* What changes nothing that is seen. */
	fixture_tell(f, announce_fixture_event(2, "leaderboard.updated", NULL));
	fixture_done(f, 2);
	assert_int_equal(f->server.count, 1);
	json_object_set_new(f->board, "deadline", json_null());
	json_object_set_new(f->board, "description", json_string(""));
	fixture_tell(f, announce_fixture_event(3, "leaderboard.updated", NULL));
	fixture_done(f, 3);
	fixture_assert_json(f, 1, "PATCH /api/channels/801", "{\"archived\": false}");
	fixture_assert_message(f, 2, "PATCH /api/channels/801/messages/801",
		"<@&55>\n**vec\\_add**\n\nDevices: H100, CPU\nTake part with `/leaderboard submit ranked` in <#600>.");
	/* Closed: nothing is left of it, until it is public again. */
	json_object_set_new(f->board, "visibility", json_string("closed"));
	fixture_tell(f, announce_fixture_event(4, "leaderboard.updated", NULL));
	fixture_done(f, 4);
	fixture_assert_json(f, 3, "PATCH /api/channels/801", "{\"archived\": false}");
	fixture_assert_message(
		f, 4, "PATCH /api/channels/801/messages/801", "The leaderboard of this post is no longer public.");
	fixture_assert_json(f, 5, "PATCH /api/channels/801",
		"{\"archived\": true, \"locked\": true, \"name\": \"A leaderboard that is no longer public\"}");
	fixture_tell(f, announce_fixture_event(5, "leaderboard.updated", NULL));
	fixture_done(f, 5);
	assert_int_equal(f->server.count, 6);
	json_object_set_new(f->board, "visibility", json_string("public"));
	fixture_tell(f, announce_fixture_event(6, "leaderboard.updated", NULL));
	fixture_done(f, 6);
	fixture_assert_json(
		f, 6, "PATCH /api/channels/801", "{\"archived\": false, \"locked\": false, \"name\": \"vec_add\"}");
	fixture_assert_message(f, 7, "PATCH /api/channels/801/messages/801",
		"**vec\\_add**\n\nDevices: H100, CPU\nTake part with `/leaderboard submit ranked` in <#600>.");
	/* Deleted. */
	fixture_tell(f, announce_fixture_event(7, "leaderboard.deleted", json_pack("{s:s}", "name", "vec_add")));
	fixture_done(f, 7);
	fixture_assert_message(
		f, 9, "PATCH /api/channels/801/messages/801", "The leaderboard **vec\\_add** has been deleted.");
	fixture_assert_json(f, 10, "PATCH /api/channels/801", "{\"archived\": true, \"locked\": true}");
	assert_int_equal(f->server.count, 11);
	assert_null(json_object_get(kettle_fake_state(f->fake), "out/post/7"));
}

/* Without a forum; and a board that was there before the bot gets its post with its first event, without a ping. */
static void
test_post_in_channel(void **state)
{
	struct fixture *f = *state;
	f->bot.settings.forum[0] = '\0';
	server_step(&f->server, POST_NEWS, 200, NULL, "{\"id\": \"710\"}");
	server_step(&f->server, POST_NEWS, 200, NULL, "{\"id\": \"711\"}");
	fixture_tell(f, fixture_podium(1));
	fixture_done(f, 1);
	fixture_assert_message(f, 0, POST_NEWS, PODIUM);
	AUTO_FREE char *text = news_board(f->board, "600");
	fixture_assert_message(f, 1, POST_NEWS, text);
	const json_t *post = json_object_get(kettle_fake_state(f->fake), "out/post/7");
	assert_string_equal(json_text_or_empty(post, "id"), "711");
	json_t *deleted = announce_fixture_event(2, "leaderboard.deleted", json_pack("{s:s}", "name", "vec_add"));
	json_object_set_new(deleted, "closed", json_true());
	fixture_tell(f, deleted);
	fixture_done(f, 2);
	fixture_assert_message(
		f, 2, "PATCH /api/channels/700/messages/711", "The leaderboard of this post is no longer public.");
	assert_int_equal(f->server.count, 3);
	assert_null(json_object_get(kettle_fake_state(f->fake), "out/post/7"));
}

/* A message that says that its board is gone calls for no role. */
static void
test_deleted(void **state)
{
	struct fixture *f = *state;
	fixture_has_post(f);
	json_t *post = json_deep_copy(json_object_get(kettle_fake_state(f->fake), "out/post/7"));
	json_object_set_new(post, "ping", json_string(ROLE));
	fixture_keeps_post(f, post);
	fixture_tell(f, announce_fixture_event(1, "leaderboard.deleted", json_pack("{s:s}", "name", "vec_add")));
	fixture_done(f, 1);
	fixture_assert_message(
		f, 1, "PATCH /api/channels/801/messages/801", "The leaderboard **vec\\_add** has been deleted.");
	assert_int_equal(f->server.count, 3);
	/* Also where Discord refuses that, nothing is kept of it. */
	fixture_has_post(f);
	server_step(&f->server, "PATCH /api/channels/801", 403, NULL, NULL);
	fixture_tell(f, announce_fixture_event(2, "leaderboard.deleted", json_pack("{s:s}", "name", "vec_add")));
	fixture_done(f, 2);
	assert_int_equal(f->server.count, 4);
	assert_null(json_object_get(kettle_fake_state(f->fake), "out/post/7"));
}

/* What was removed on Discord is forgotten; what is refused is logged. */
static void
test_post_lost(void **state)
{
	struct fixture *f = *state;
	fixture_has_post(f);
	json_object_set_new(f->board, "deadline", json_null());
	server_step(
		&f->server, "PATCH /api/channels/801", 403, NULL, "{\"code\": 50013, \"message\": \"Missing Permissions\"}");
	fixture_tell(f, announce_fixture_event(1, "leaderboard.updated", NULL));
	fixture_done(f, 1);
	assert_true(fixture_logged(f, "warning", "a leaderboard's post in the channel of the option `forum`"));
	assert_non_null(json_object_get(kettle_fake_state(f->fake), "out/post/7"));
	server_step(
		&f->server, "PATCH /api/channels/801", 404, NULL, "{\"code\": 10003, \"message\": \"Unknown Channel\"}");
	fixture_tell(f, announce_fixture_event(2, "leaderboard.updated", NULL));
	fixture_done(f, 2);
	assert_null(json_object_get(kettle_fake_state(f->fake), "out/post/7"));
	server_step(&f->server, POST_FORUM, 400, NULL, "{\"code\": 40067, \"message\": \"A tag is required\"}");
	fixture_tell(f, announce_fixture_event(3, "leaderboard.updated", NULL));
	fixture_done(f, 3);
	assert_true(fixture_logged(f, "warning", "A tag is required"));
	assert_null(json_object_get(kettle_fake_state(f->fake), "out/post/7"));
	assert_int_equal(f->server.count, 3);
}

/* What a process that died has left of a post that it was making. */
static void
has_begun_post(struct fixture *f, bool forum)
{
	static const char content[] = "<@&" ROLE ">\nolder";
	json_t *what = forum ? json_pack("{s:s, s:b, s:b, s:{s:s}}", "name", "vec_add", "archived", 0, "locked", 0,
							   "message", "content", content)
						 : json_pack("{s:s}", "content", content);
	fixture_keeps_post(f, json_pack("{s:s, s:I, s:s, s:o}", "channel", forum ? FORUM : NEWS, "since", (json_int_t)AT_MS,
							  "ping", ROLE, "what", what));
}

#define THREADS \
	"{\"threads\": [{\"id\": \"1576000000000000004\", \"parent_id\": \"800\", \"owner_id\": \"42\", \"name\": " \
	"\"vec_add\"}]}"

static void
test_post_begun(void **state)
{
	struct fixture *f = *state;
	/* A message that has arrived, and is then brought up to date. */
	has_begun_post(f, false);
	server_step(&f->server, "GET /api/channels/700/messages", 200, NULL,
		"[{\"id\": \"1576000000000000001\", \"content\": \"<@&55>\\nolder\", \"author\": {\"id\": \"42\"}}]");
	fixture_tell(f, announce_fixture_event(1, "leaderboard.created", NULL));
	fixture_done(f, 1);
	AUTO_FREE char *text = news_board(f->board, "600"), *content = xasprintf("<@&55>\n%s", text);
	fixture_assert_message(f, 1, "PATCH /api/channels/700/messages/1576000000000000001", content);
	assert_int_equal(f->server.count, 2);
	/* One that has not. */
	has_begun_post(f, false);
	server_step(&f->server, "GET /api/channels/700/messages", 200, NULL, "[]");
	server_step(&f->server, POST_NEWS, 200, NULL, "{\"id\": \"711\"}");
	fixture_tell(f, announce_fixture_event(2, "leaderboard.created", NULL));
	fixture_done(f, 2);
	fixture_assert_request(f, 3, POST_NEWS);
	/* A thread of a board that is no longer public, or was deleted, says nothing of it. */
	has_begun_post(f, true);
	server_step(&f->server, "GET /api/guilds/1/threads/active", 200, NULL, THREADS);
	json_object_set_new(f->board, "visibility", json_string("closed"));
	fixture_tell(f, announce_fixture_event(3, "leaderboard.updated", NULL));
	fixture_done(f, 3);
	fixture_assert_request(f, 6, "PATCH /api/channels/1576000000000000004/messages/1576000000000000004");
	AUTO_JSON json_t *last = fixture_body(f, 7);
	assert_true(member_true(last, "archived"));
	has_begun_post(f, true);
	server_step(&f->server, "GET /api/guilds/1/threads/active", 200, NULL, THREADS);
	fixture_tell(f, announce_fixture_event(4, "leaderboard.deleted", json_pack("{s:s}", "name", "vec_add")));
	fixture_done(f, 4);
	fixture_assert_request(f, 10, "PATCH /api/channels/1576000000000000004/messages/1576000000000000004");
	assert_null(json_object_get(kettle_fake_state(f->fake), "out/post/7"));
	/* One that was never made. */
	has_begun_post(f, true);
	fixture_tell(f, announce_fixture_event(5, "leaderboard.deleted", json_pack("{s:s}", "name", "vec_add")));
	fixture_done(f, 5);
	fixture_assert_request(f, 12, "GET /api/guilds/1/threads/active");
	assert_int_equal(f->server.count, 13);
	assert_null(json_object_get(kettle_fake_state(f->fake), "out/post/7"));
}

/* A thread is not made again where it may be there: it is searched. */
static void
test_unavailable(void **state)
{
	struct fixture *f = *state;
	server_step(&f->server, POST_FORUM, 502, NULL, NULL);
	server_step(&f->server, "GET /api/guilds/1/threads/active", 200, NULL,
		"{\"threads\": ["
		"{\"id\": \"1576000000000000001\", \"parent_id\": \"801\", \"owner_id\": \"42\", \"name\": \"vec_add\"},"
		"{\"id\": \"1576000000000000002\", \"parent_id\": \"800\", \"owner_id\": \"43\", \"name\": \"vec_add\"},"
		"{\"id\": \"1110000000000000003\", \"parent_id\": \"800\", \"owner_id\": \"42\", \"name\": \"vec_add\"},"
		"{\"id\": \"1576000000000000004\", \"parent_id\": \"800\", \"owner_id\": \"42\", \"name\": \"vec_add\"}]}");
	fixture_tell(f, announce_fixture_event(3, "leaderboard.created", NULL));
	fixture_seen(f, POST_FORUM, 1);
	assert_int_equal(json_array_size(kettle_fake_events_done(f->fake)), 0);
	fixture_done(f, 1);
	assert_int_equal(f->server.count, 2);
	const json_t *post = json_object_get(kettle_fake_state(f->fake), "out/post/7");
	assert_string_equal(json_text_or_empty(post, "id"), "1576000000000000004");
	assert_true(fixture_logged(f, "debug", "sends it again later"));
}

/* ---- texts ---- */

/* However long and hostile, a board's post is one message. */
static void
test_board_text(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE char *description = xmalloc(10001);
	static const char *const parts[] = {"*", "🚀", "# h\n", "\n"};
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		size_t length = strlen(parts[i]), count = 10000 / length;
		for (size_t j = 0; j < count; j++)
			memcpy(description + j * length, parts[i], length);
		description[count * length] = '\0';
		json_object_set_new(f->board, "description", json_string(description));
		AUTO_FREE char *text = news_board(f->board, "600");
		assert_in_range(split_units(text), 1, SPLIT_UNITS);
		assert_non_null(strstr(text, "\nTake part with"));
	}
	json_object_set_new(f->board, "description", json_string("# h\n- l\n\n@everyone\n<@&55>"));
	AUTO_FREE char *text = news_board(f->board, "");
	assert_non_null(strstr(text, "**\n\\# h\n\\- l\n\n\\@everyone\n\\<\\@&55\\>\n\nDevices"));
	assert_non_null(strstr(text, "ranked`."));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, announce_fixture_setup, announce_fixture_teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_post),
	TEST(test_post_in_channel),
	TEST(test_deleted),
	TEST(test_post_lost),
	TEST(test_post_begun),
	TEST(test_unavailable),
	TEST(test_board_text),
};

UNIT_TESTS(test_board_post, .words = "waiting");
