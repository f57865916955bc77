/* SPDX-License-Identifier: MIT */
/* The outbox: order, condensed edits, tries, what answers mean, and what is found again after a crash. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "discord/interaction/outbox.h"
#include "lib/unit_test.h"
#include "unit/discord/announce_fixture.h"

#define WAIT_MS 600000
#define NEW_MESSAGE "{\"id\": \"1576000000000000001\"}"
#define MESSAGE_PATH "/api/channels/700/messages/1576000000000000001"

/* How rows have ended. */
struct ends {
	struct fixture *f;
	size_t count, wanted;
	enum outbox_end last;
	char id[SNOWFLAKE_SIZE];
};

static void
on_end(void *arg, const struct outbox_answer *answer)
{
	struct ends *ends = arg;
	ends->count++;
	ends->last = answer->end;
	(void)snowflake_copy(ends->id, answer->id);
	assert_int_equal(answer->err->code == 0, answer->end == OUTBOX_DONE);
}

static int
has_ended(void *arg)
{
	struct ends *ends = arg;
	return ends->count >= ends->wanted;
}

/* Until so many have ended; how the last one has. */
static enum outbox_end
wait_for(struct ends *ends, size_t count)
{
	ends->wanted = count;
	assert_int_equal(kettle_fake_run(ends->f->fake, has_ended, ends, WAIT_MS), 0);
	assert_int_equal(ends->count, count);
	return ends->last;
}

static json_t *
said(const char *text)
{
	return json_pack("{s:s}", "content", text);
}

static void
post(struct ends *ends, const char *channel, const char *key, const char *text)
{
	outbox_post(&ends->f->bot, channel, key, AT_MS, json_pack("[o]", said(text)), on_end, ends);
}

static bool
keep(struct ends *ends, const char *text)
{
	const struct outbox_kept kept = {.key = "a/b", .channel = NEWS, .what_take = said(text)};
	return outbox_keep(&ends->f->bot, &kept, on_end, ends);
}

/* ---- order ---- */

static void
test_order(void **state)
{
	struct fixture *f = *state;
	struct ends ends = {.f = f};
	server_step(&f->server, POST_NEWS, SERVER_HOLD, NULL, NULL);
	post(&ends, NEWS, "1", "one");
	post(&ends, NEWS, "2", "two");
	post(&ends, OPERATORS, "3", "three");
	fixture_seen(f, POST_OPERATORS, 1);
	wait_for(&ends, 1);
	assert_int_equal(server_seen(&f->server, POST_NEWS), 1);
	server_release(&f->server, 0, 200);
	assert_int_equal(wait_for(&ends, 3), OUTBOX_DONE);
	fixture_assert_message(f, 2, POST_NEWS, "two");
}

static int
has_failed(void *arg)
{
	return fixture_logged(arg, "debug", "sends it again later");
}

/* Of the edits that wait while one is under way only the latest is sent; each receiver learns the end of its own. */
static void
test_condensed(void **state)
{
	struct fixture *f = *state;
	struct ends ends = {.f = f}, other = {.f = f};
	server_step(&f->server, POST_NEWS, 200, NULL, NEW_MESSAGE);
	server_step(&f->server, "PATCH", SERVER_HOLD, NULL, NULL);
	assert_true(keep(&ends, "one"));
	assert_int_equal(wait_for(&ends, 1), OUTBOX_DONE);
	assert_true(keep(&ends, "two"));
	assert_true(keep(&ends, "three"));
	assert_false(keep(&ends, "four"));
	assert_true(keep(&other, "five"));
	assert_true(keep(&ends, "six"));
	assert_false(keep(&ends, "seven"));
	fixture_seen(f, "PATCH", 1);
	server_release(&f->server, 1, 200);
	assert_int_equal(wait_for(&ends, 4), OUTBOX_DONE);
	assert_int_equal(other.count, 1);
	fixture_assert_message(f, 1, "PATCH " MESSAGE_PATH, "two");
	fixture_assert_message(f, 2, "PATCH " MESSAGE_PATH, "four");
	fixture_assert_message(f, 3, "PATCH " MESSAGE_PATH, "five");
	fixture_assert_message(f, 4, "PATCH " MESSAGE_PATH, "seven");
}

static void
test_condensed_with_a_failed_one(void **state)
{
	struct fixture *f = *state;
	struct ends ends = {.f = f};
	server_step(&f->server, POST_NEWS, 200, NULL, NEW_MESSAGE);
	server_step(&f->server, "PATCH", 503, NULL, NULL);
	assert_true(keep(&ends, "one"));
	assert_int_equal(wait_for(&ends, 1), OUTBOX_DONE);
	assert_true(keep(&ends, "two"));
	assert_int_equal(kettle_fake_run(f->fake, has_failed, f, WAIT_MS), 0);
	assert_false(keep(&ends, "three"));
	assert_int_equal(wait_for(&ends, 2), OUTBOX_DONE);
	fixture_assert_message(f, f->server.count - 1, "PATCH " MESSAGE_PATH, "three");
}

/* In front of one that waits for its next try and has another one behind it the latest would be overwritten by that one. */
static void
test_condensed_behind_a_failed_one(void **state)
{
	struct fixture *f = *state;
	struct ends ends = {.f = f};
	server_step(&f->server, POST_NEWS, 200, NULL, NEW_MESSAGE);
	server_step(&f->server, "PATCH", SERVER_HOLD, NULL, NULL);
	assert_true(keep(&ends, "one"));
	assert_int_equal(wait_for(&ends, 1), OUTBOX_DONE);
	assert_true(keep(&ends, "two"));
	fixture_seen(f, "PATCH", 1);
	assert_true(keep(&ends, "three"));
	server_release(&f->server, 1, 503);
	assert_int_equal(kettle_fake_run(f->fake, has_failed, f, WAIT_MS), 0);
	assert_false(keep(&ends, "four"));
	assert_int_equal(wait_for(&ends, 3), OUTBOX_DONE);
	fixture_assert_message(f, f->server.count - 1, "PATCH " MESSAGE_PATH, "four");
}

/*
 * Edits by two receivers while Discord takes some and fails others, in the orders of many seeds: no message goes back to an
 * earlier state, the last one is the latest, and each receiver learns one end for each row.
 */
#define SEEDS 200
#define EDITS 8
#define FAILURES 8

struct play {
	struct fixture *f;
	struct ends receivers[2];
	size_t rows[2];  /* of each receiver */
	size_t answered; /* requests */
	size_t heard_of; /* answers that had reached the bot before the last one */
};

static int
is_asked(void *arg)
{
	const struct play *play = arg;
	return play->f->server.count > play->answered;
}

/* The bot logs each failure, and a receiver learns of each success. */
static size_t
heard(const struct play *play)
{
	return play->receivers[0].count + play->receivers[1].count + json_array_size(kettle_fake_log(play->f->fake));
}

static int
is_heard(void *arg)
{
	return heard(arg) > ((const struct play *)arg)->heard_of;
}

/* Answers the next request, which has to come, and waits until the bot knows. */
static void
answer_next(struct play *play, int status)
{
	assert_int_equal(kettle_fake_run(play->f->fake, is_asked, play, WAIT_MS), 0);
	play->heard_of = heard(play);
	server_release(&play->f->server, play->answered++, status);
	assert_int_equal(kettle_fake_run(play->f->fake, is_heard, play, WAIT_MS), 0);
}

static bool
is_idle(const struct play *play)
{
	return play->receivers[0].count == play->rows[0] && play->receivers[1].count == play->rows[1];
}

static void
edit_and_answer(struct play *play, unsigned seed)
{
	size_t edits = 0, failures = 0;
	while (edits < EDITS || !is_idle(play)) {
		int who = rand_r(&seed) % 4 == 0, what = rand_r(&seed) % 3;
		if (edits < EDITS && (what == 0 || is_idle(play))) {
			AUTO_FREE char *text = xasprintf("%zu", ++edits);
			play->rows[who] += keep(&play->receivers[who], text);
		} else if (what == 1 && failures < FAILURES) {
			failures++;
			answer_next(play, rand_r(&seed) % 2 ? 503 : SERVER_DROP);
		} else {
			answer_next(play, 200);
		}
	}
}

static void
assert_ascending(const struct fixture *f)
{
	int last = 0;
	for (size_t i = 1; i < f->server.count; i++) {
		AUTO_JSON json_t *body = fixture_body(f, i);
		int now = atoi(json_text_or_empty(body, "content"));
		assert_true(now >= last);
		last = now;
	}
	assert_int_equal(last, EDITS);
}

static void
test_orders(void **state)
{
	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		struct fixture *f = *state;
		struct play play = {.f = f, .receivers = {{.f = f}, {.f = f}}, .rows = {1, 0}, .answered = 1};
		print_message("# seed %u\n", seed);
		server_step(&f->server, POST_NEWS, 200, NULL, NEW_MESSAGE);
		for (int i = 1; i < SERVER_STEPS_MAX; i++)
			server_step(&f->server, "PATCH", SERVER_HOLD, NULL, NULL);
		assert_true(keep(&play.receivers[0], "0"));
		wait_for(&play.receivers[0], 1);
		edit_and_answer(&play, seed);
		assert_ascending(f);
		(void)announce_fixture_teardown(state);
		(void)announce_fixture_setup(state);
	}
}

/* ---- tries ---- */

/* What failed may have arrived: it is searched, and posted again where it is not there. */
static void
test_again(void **state)
{
	struct fixture *f = *state;
	struct ends ends = {.f = f};
	server_step(&f->server, POST_NEWS, SERVER_DROP, NULL, NULL);
	server_step(&f->server, "GET", 200, NULL,
		"[{\"id\": \"1576000000000000001\", \"content\": \"one\", \"author\": {\"id\": \"" BOT "\"}}]");
	post(&ends, NEWS, "1", "one");
	assert_int_equal(wait_for(&ends, 1), OUTBOX_DONE);
	assert_string_equal(ends.id, "1576000000000000001");
	assert_int_equal(f->server.count, 2);
	for (int i = 0; i < 6; i++)
		server_step(&f->server, POST_NEWS, 503, NULL, NULL);
	post(&ends, NEWS, "2", "two");
	assert_int_equal(wait_for(&ends, 2), OUTBOX_DONE);
	assert_int_equal(server_seen(&f->server, POST_NEWS), 8);
	assert_true(fixture_logged(f, "warning", "sends it again later"));
}

static void
test_meanings(void **state)
{
	static const struct {
		int status;
		const char *body;
		enum outbox_end bots, interactions;
	} cases[] = {
		{404, "{\"code\": 10003}", OUTBOX_GONE, OUTBOX_EXPIRED},
		{404, "{\"code\": 10008}", OUTBOX_MISSING, OUTBOX_MISSING},
		{404, "{\"code\": 10015}", OUTBOX_GONE, OUTBOX_EXPIRED},
		{403, "{\"code\": 50013}", OUTBOX_REFUSED, OUTBOX_REFUSED},
		{403, "{\"code\": 50007}", OUTBOX_CLOSED, OUTBOX_REFUSED},
		{400, "{\"code\": 50035}", OUTBOX_REFUSED, OUTBOX_REFUSED},
		{400, NULL, OUTBOX_REFUSED, OUTBOX_REFUSED},
		{204, NULL, OUTBOX_DONE, OUTBOX_DONE},
	};
	struct fixture *f = *state;
	struct ends ends = {.f = f};
	size_t count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		server_step(&f->server, "DELETE", cases[i].status, NULL, cases[i].body);
		outbox_request(&f->bot, "DELETE", "/channels/1", NULL, on_end, &ends);
		assert_int_equal(wait_for(&ends, ++count), cases[i].bots);
		server_step(&f->server, "PATCH", cases[i].status, NULL, cases[i].body);
		assert_true(outbox_answer(
			&f->bot, "PATCH", "/webhooks/1/T/messages/@original", "T", INT64_MAX, said("x"), on_end, &ends));
		assert_int_equal(wait_for(&ends, ++count), cases[i].interactions);
	}
	assert_true(fixture_logged(f, "error", "does not understand"));
	/* The token of an interaction is its own: the bot's is still good. */
	server_step(&f->server, "PATCH", 401, NULL, NULL);
	(void)outbox_answer(&f->bot, "PATCH", "/webhooks/1/T/messages/@original", "T", INT64_MAX, said("x"), on_end, &ends);
	assert_int_equal(wait_for(&ends, ++count), OUTBOX_EXPIRED);
	post(&ends, NEWS, "1", "one");
	assert_int_equal(wait_for(&ends, ++count), OUTBOX_DONE);
}

/* An answer is tried for as long as Discord takes it; a further message, which Discord does not recognise, once. */
static void
test_answers(void **state)
{
	struct fixture *f = *state;
	struct ends ends = {.f = f};
	for (int i = 0; i < 20; i++)
		server_step(&f->server, "PATCH", 503, NULL, NULL);
	(void)outbox_answer(
		&f->bot, "PATCH", "/webhooks/1/T/messages/@original", "T", AT_MS + 20000, said("x"), on_end, &ends);
	assert_int_equal(wait_for(&ends, 1), OUTBOX_EXPIRED);
	assert_in_range(f->server.count, 3, 12);
	server_step(&f->server, "POST", 503, NULL, NULL);
	(void)outbox_answer(&f->bot, "POST", "/webhooks/1/T", "T", INT64_MAX, said("x"), on_end, &ends);
	assert_int_equal(wait_for(&ends, 2), OUTBOX_REFUSED);
	assert_int_equal(server_seen(&f->server, "POST"), 1);
}

static void
test_stop(void **state)
{
	struct fixture *f = *state;
	struct ends ends = {.f = f};
	server_step(&f->server, POST_NEWS, 503, NULL, NULL);
	server_step(&f->server, POST_OPERATORS, SERVER_HOLD, NULL, NULL);
	post(&ends, NEWS, "1", "one");
	post(&ends, NEWS, "2", "two");
	assert_int_equal(kettle_fake_run(f->fake, has_failed, f, WAIT_MS), 0);
	post(&ends, OPERATORS, "3", "three");
	fixture_seen(f, POST_OPERATORS, 1);
	announce_fixture_stop(f);
	fixture_start(f);
	assert_int_equal(ends.count, 3);
	assert_int_equal(ends.last, OUTBOX_STOPPED);
	assert_int_equal(f->server.count, 2);
}

/* ---- what is kept ---- */

static void
test_kept(void **state)
{
	struct fixture *f = *state;
	struct ends ends = {.f = f};
	const json_t *stored = kettle_fake_state(f->fake);
	server_step(&f->server, POST_NEWS, SERVER_HOLD, NULL, NULL);
	server_step(&f->server, POST_NEWS, 200, NULL, NEW_MESSAGE);
	(void)keep(&ends, "one");
	fixture_seen(f, POST_NEWS, 1);
	assert_true(member_is(json_object_get(json_object_get(stored, "out/a/b"), "what"), "content", "one"));
	/* The process ends: the next one does not find it, and posts what it shall be now. */
	announce_fixture_stop(f);
	fixture_start(f);
	assert_int_equal(wait_for(&ends, 1), OUTBOX_STOPPED);
	server_step(&f->server, "GET", 200, NULL, "[]");
	(void)keep(&ends, "two");
	assert_int_equal(wait_for(&ends, 2), OUTBOX_DONE);
	fixture_assert_message(f, 2, POST_NEWS, "two");
	assert_string_equal(outbox_id(&f->bot, "a/b"), "1576000000000000001");
	assert_null(json_object_get(json_object_get(stored, "out/a/b"), "what"));
	/* It is as it shall be. */
	(void)keep(&ends, "two");
	assert_int_equal(ends.count, 3);
	assert_int_equal(f->server.count, 3);
	/* Somebody has deleted it: the next one is another message. */
	server_step(&f->server, "PATCH", 404, NULL, "{\"code\": 10008}");
	(void)keep(&ends, "three");
	assert_int_equal(wait_for(&ends, 4), OUTBOX_MISSING);
	assert_null(json_object_get(stored, "out/a/b"));
	assert_int_equal(kettle_fake_run(f->fake, NULL, NULL, 1000), 0);
	server_step(&f->server, POST_NEWS, 200, NULL, NEW_MESSAGE);
	(void)keep(&ends, "two");
	assert_int_equal(wait_for(&ends, 5), OUTBOX_DONE);
	AUTO_JSON json_t *before = fixture_body(f, 2), *after = fixture_body(f, 4);
	assert_string_not_equal(json_text_or_empty(before, "nonce"), json_text_or_empty(after, "nonce"));
	outbox_forget(&f->bot, "a");
	assert_null(outbox_known(&f->bot, "a/b"));
	assert_null(json_object_get(stored, "out/a/b"));
}

/*
 * Discord answers a nonce that it knows with the message that has it. Where the bot may not read the channel, that is how an edit
 * meets what an earlier try has posted.
 */
static void
test_kept_by_nonce(void **state)
{
	struct fixture *f = *state;
	struct ends ends = {.f = f};
	server_step(&f->server, POST_NEWS, SERVER_DROP, NULL, NULL);
	server_step(&f->server, "GET", 200, NULL, "[]");
	server_step(&f->server, POST_NEWS, 200, NULL, "{\"id\": \"1576000000000000001\", \"content\": \"one\"}");
	assert_true(keep(&ends, "one"));
	assert_int_equal(kettle_fake_run(f->fake, has_failed, f, WAIT_MS), 0);
	assert_false(keep(&ends, "two"));
	assert_int_equal(wait_for(&ends, 1), OUTBOX_DONE);
	assert_int_equal(f->server.count, 4);
	fixture_assert_message(f, 3, "PATCH " MESSAGE_PATH, "two");
}

/* A thread that was made, but is not known yet, is found, and its user let in. */
static void
test_thread(void **state)
{
	struct fixture *f = *state;
	struct ends ends = {.f = f};
	struct outbox_kept kept = {.key = "t", .channel = NEWS, .user = "77"};
	json_object_set_new(kettle_fake_state(f->fake), "out/t",
		json_pack(
			"{s:s, s:I, s:{s:s, s:i}}", "channel", NEWS, "since", (json_int_t)AT_MS, "what", "name", "n", "type", 12));
	announce_fixture_stop(f);
	fixture_start(f);
	server_step(&f->server, "GET /api/guilds/1/threads/active", 200, NULL,
		"{\"threads\": ["
		"{\"id\": \"1576000000000000001\", \"parent_id\": \"700\", \"owner_id\": \"42\", \"name\": \"n\", \"type\": "
		"11},"
		"{\"id\": \"1576000000000000002\", \"parent_id\": \"700\", \"owner_id\": \"42\", \"name\": \"n\", \"type\": "
		"12}]}");
	kept.what_take = json_pack("{s:s, s:i}", "name", "n", "type", 12);
	(void)outbox_keep(&f->bot, &kept, on_end, &ends);
	assert_int_equal(wait_for(&ends, 1), OUTBOX_DONE);
	assert_string_equal(ends.id, "1576000000000000002");
	fixture_assert_request(f, 1, "PUT /api/channels/1576000000000000002/thread-members/77");
	assert_int_equal(f->server.count, 2);
	/* One that is only to be changed is not made. */
	kept = (struct outbox_kept){
		.key = "u", .channel = NEWS, .what_take = json_pack("{s:s}", "name", "n"), .only_changed = true};
	(void)outbox_keep(&f->bot, &kept, on_end, &ends);
	assert_int_equal(ends.last, OUTBOX_GONE);
	assert_int_equal(f->server.count, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, announce_fixture_setup, announce_fixture_teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_order),
	TEST(test_condensed),
	TEST(test_condensed_with_a_failed_one),
	TEST(test_condensed_behind_a_failed_one),
	TEST(test_orders),
	TEST(test_again),
	TEST(test_meanings),
	TEST(test_answers),
	TEST(test_stop),
	TEST(test_kept),
	TEST(test_kept_by_nonce),
	TEST(test_thread),
};

UNIT_TESTS(test_outbox);
