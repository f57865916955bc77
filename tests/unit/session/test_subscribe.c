/* SPDX-License-Identifier: MIT */
/* Subscriptions: what was, then what comes, each once, in order, over owners, and only to those who may see it. */
#include <config.h>

#include "unit/core_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "lib/unit_test.h"

struct ear {
	size_t count;
	int64_t seq[4000];
	json_t *kinds; /* in order */
	size_t place;
	uint64_t id;
	const uint64_t *ends; /* a subscription that is ended when something is heard */
};

static void
on_event(void *arg, const json_t *event)
{
	struct ear *ear = arg;
	const json_t *seq = json_object_get(event, "seq");
	if (seq) {
		assert_true(ear->count < ARRAY_SIZE(ear->seq));
		if (ear->count > 0)
			assert_true(json_integer_value(seq) > ear->seq[ear->count - 1]);
		ear->seq[ear->count++] = json_integer_value(seq);
	}
	json_array_append(ear->kinds, json_object_get(event, "kind"));
	if (ear->ends)
		(void)core_unsubscribe(cores.core[ear->place], *ear->ends, NULL, NULL);
}

/* A new ear of somebody for a filter (NULL: all). */
static struct ear *
listen_as(size_t place, const char *who, json_t *filter_take, int64_t after)
{
	struct ear *ear = calloc(1, sizeof(*ear));
	struct kettle_error err = {0};
	AUTO_JSON json_t *actor = cores_actor(who), *filter = filter_take;
	ear->kinds = json_array();
	ear->place = place;
	if (cores_subscribe(cores.core[place], actor, filter, after, on_event, ear, &ear->id, &err) < 0)
		fail_msg("%s", err.message);
	return ear;
}

/* No subscription has such a filter. */
static void
assert_refused_filter(size_t place, json_t *filter_take)
{
	uint64_t id = 0;
	struct kettle_error err = {0};
	AUTO_JSON json_t *actor = cores_actor("ada"), *filter = filter_take;
	assert_int_equal(cores_subscribe(cores.core[place], actor, filter, -1, on_event, NULL, &id, &err), KETTLE_EINVAL);
	assert_sentence(err.message);
}

static void
free_ear(struct ear **ear)
{
	if (!*ear)
		return;
	if (cores.core[(*ear)->place])
		(void)core_unsubscribe(cores.core[(*ear)->place], (*ear)->id, NULL, NULL);
	json_decref((*ear)->kinds);
	free(*ear);
}
#define EAR __attribute__((cleanup(free_ear))) struct ear *

static size_t
heard(const struct ear *ear, const char *kind)
{
	size_t count = 0, i;
	json_t *text;
	json_array_foreach(ear->kinds, i, text)
		count += strcmp(json_string_value(text), kind) == 0;
	return count;
}

static void
settle(void)
{
	for (int i = 0; i < 10; i++)
		cores_turn();
}

static int64_t
submit(size_t place, const char *who, const char *board)
{
	return commands_number(cores_must(place, who, "submit", cores_file(board)), "id");
}

static void
test_past_and_future(void **state)
{
	(void)state;
	submit(0, "ada", "arena");
	EAR ear = listen_as(0, "ada", NULL, 0);
	EAR late = listen_as(0, "ada", NULL, -1);
	submit(0, "ada", "arena");
	until(heard(ear, "submission.accepted") == 2);
	settle();
	assert_int_equal(heard(ear, "leaderboard.created"), 1);
	assert_true(heard(late, "submission.accepted") <= 1);
	assert_int_equal(heard(late, "leaderboard.created"), 0);
	EAR next = listen_as(0, "ada", NULL, ear->seq[0]);
	settle();
	assert_int_equal(next->count, ear->count - 1);
}

static void
test_who_sees(void **state)
{
	(void)state;
	EAR ada = listen_as(0, "ada", NULL, 0);
	EAR bob = listen_as(0, "bob", NULL, 0);
	EAR admin = listen_as(0, "owner", NULL, 0);
	settle();
	/* Ada was nobody when she began to listen. */
	submit(0, "ada", "arena");
	submit(0, "ada", "arena");
	until(heard(ada, "submission.accepted") == 2 && heard(admin, "submission.accepted") == 2);
	settle();
	assert_int_equal(heard(bob, "submission.accepted"), 0);
	assert_int_equal(heard(bob, "leaderboard.created"), 1);
	/* That somebody came is for admins alone. */
	assert_int_equal(heard(admin, "user.created"), 1);
	assert_int_equal(ada->count, admin->count - 1);
}

/* A subscription has the rights of its user now, not those of its beginning. */
static void
test_lost_rights(void **state)
{
	(void)state;
	submit(0, "bob", "arena");
	cores_must(0, "owner", "user.role", json_pack("{s:s, s:s}", "name", "bob", "role", "admin"));
	EAR bob = listen_as(0, "bob", NULL, -1);
	EAR board = listen_as(0, "bob", json_pack("{s:s}", "leaderboard", "arena"), -1);
	EAR local = listen_as(0, "owner", json_pack("{s:b}", "task_run", 1), -1);
	settle();
	submit(0, "ada", "arena");
	until(heard(bob, "submission.accepted") == 1 && heard(board, "submission.accepted") == 1);
	cores_must(0, "owner", "user.role", json_pack("{s:s, s:s}", "name", "bob", "role", "user"));
	EAR admin = listen_as(0, "owner", NULL, -1);
	settle();
	submit(0, "ada", "arena");
	until(heard(admin, "submission.accepted") == 1);
	settle();
	assert_int_equal(heard(bob, "submission.accepted"), 1);
	assert_int_equal(heard(board, "submission.accepted"), 1);
	/* What is the user's own goes on, each event once. */
	submit(0, "bob", "arena");
	until(heard(bob, "submission.accepted") == 2 && heard(board, "submission.accepted") == 2);
	cores_must(0, "owner", "user.role", json_pack("{s:s, s:s}", "name", "bob", "role", "admin"));
	submit(0, "ada", "arena");
	until(heard(bob, "submission.accepted") == 3 && heard(board, "submission.accepted") == 3);
	/* What follows only this process's own work hears of none of it. */
	assert_int_equal(json_array_size(local->kinds), 0);
}

struct change {
	const char *sql;
	bool tell, done;
};

static int
change_op(struct db *db, void *arg, struct kettle_error *err)
{
	const struct change *change = arg;
	/* Which makes all subscriptions read their rights again. */
	int rc = change->tell ? db_event(db, "user.role", 'u', 0, 0, 0, NULL, err) : 0;
	return rc ? rc : db_exec(db, err, change->sql, NULL);
}

static void
change_done(void *arg, const struct kettle_error *err)
{
	assert_null(err);
	((struct change *)arg)->done = true;
}

static void
change_database(const char *sql, bool tell)
{
	struct change change = {.sql = sql, .tell = tell};
	store_write(cores.core[0]->store, change_op, change_done, &change);
	until(change.done);
}

/* A subscription whose rights cannot be read waits until they can, and misses nothing. */
static void
test_rights_unread(void **state)
{
	(void)state;
	submit(0, "ada", "arena");
	EAR admin = listen_as(0, "owner", NULL, -1);
	EAR ada = listen_as(0, "ada", NULL, 0);
	settle();
	change_database("ALTER TABLE identities RENAME TO elsewhere", true);
	EAR late = listen_as(0, "owner", NULL, 0);
	until(cores.core[0]->read_timer != NULL);
	assert_int_equal(late->count, 0);
	change_database("ALTER TABLE elsewhere RENAME TO identities", false);
	until(heard(late, "submission.accepted") == 1);
	submit(0, "bob", "arena");
	until(heard(late, "submission.accepted") == 2 && heard(admin, "submission.accepted") == 1);
	settle();
	assert_int_equal(heard(ada, "submission.accepted"), 1);
}

/* It is ended, and so is its core, before it could be read again. */
static void
test_end_unread(void **state)
{
	(void)state;
	change_database("ALTER TABLE identities RENAME TO elsewhere", true);
	EAR first = listen_as(0, "ada", NULL, 0);
	EAR second = listen_as(0, "ada", NULL, 0);
	until(cores.core[0]->read_timer != NULL);
	(void)core_unsubscribe(cores.core[0], first->id, NULL, NULL);
	cores_close(0);
	assert_int_equal(first->count + second->count, 0);
}

static void
on_fed(void *self, const json_t *event)
{
	(void)event;
	(*(size_t *)self)++;
}

/* What a frontend is fed comes as soon as it can be read, not with the next event. */
static void
test_feed_unread(void **state)
{
	(void)state;
	static const struct kettle_frontend ops = {.size = sizeof(ops), .event = on_fed};
	static const struct kettle_plugin plugin = {.name = "ear", .frontend = &ops};
	static size_t fed;
	static struct core_plugin loaded = {.plugin = &plugin, .self = &fed};
	cores_close(0);
	struct core *core = cores_make(0, true);
	core->plugins = &loaded;
	core->plugins_count = 1;
	submit(0, "ada", "arena");
	until(fed > 0);
	settle();
	size_t before = fed;
	change_database("ALTER TABLE events RENAME TO elsewhere", true);
	until(core->read_timer != NULL);
	assert_int_equal(fed, before);
	change_database("ALTER TABLE elsewhere RENAME TO events", false);
	until(fed == before + 1);
}

/* Who follows a board follows it under its new name, in this process and in others, also a closed one. */
static void
test_renamed_board(void **state)
{
	(void)state;
	cores_make(1, false);
	cores_board(0, "shut", true);
	cores_must(1, "bob", "leaderboard.list", json_object());
	EAR open = listen_as(0, "bob", json_pack("{s:s}", "leaderboard", "arena"), 0);
	EAR client = listen_as(1, "bob", json_pack("{s:s}", "leaderboard", "arena"), 0);
	EAR closed = listen_as(0, "owner:creator", json_pack("{s:s}", "leaderboard", "shut"), 0);
	until(heard(open, "leaderboard.created") && heard(client, "leaderboard.created") &&
		  heard(closed, "leaderboard.created"));
	for (int i = 0; i < 2; i++) {
		cores_must(0, "owner", "leaderboard.update",
			i == 0 ? json_pack("{s:s, s:s}", "name", "arena", "rename", "stadium")
				   : json_pack("{s:s, s:s}", "name", "stadium", "deadline", "+1d"));
		cores_must(0, "owner", "leaderboard.update",
			i == 0 ? json_pack("{s:s, s:s}", "name", "shut", "rename", "hidden")
				   : json_pack("{s:s, s:s}", "name", "hidden", "deadline", "+1d"));
		until(heard(open, "leaderboard.updated") == (size_t)i + 1);
		until(heard(client, "leaderboard.updated") == (size_t)i + 1);
		until(heard(closed, "leaderboard.updated") == (size_t)i + 1);
	}
	/* Another board of the old name is another one. */
	cores_board(0, "arena", false);
	submit(0, "bob", "arena");
	submit(0, "bob", "stadium");
	until(heard(open, "submission.accepted") == 1 && heard(client, "submission.accepted") == 1);
	settle();
	assert_int_equal(heard(open, "submission.accepted"), 1);
	assert_int_equal(heard(client, "submission.accepted"), 1);
}

/* Live events of a closed board go where its stored ones go. */
static void
test_closed_board(void **state)
{
	(void)state;
	submit(0, "bob", "arena");
	EAR bob = listen_as(0, "bob", NULL, -1);
	EAR again = listen_as(0, "bob", NULL, 0);
	EAR admin = listen_as(0, "owner", NULL, -1);
	settle();
	cores_board(0, "secret", true);
	cores_board(0, "open", false);
	until(heard(admin, "leaderboard.created") == 2);
	until(heard(bob, "leaderboard.created") == 1 && heard(again, "leaderboard.created") == 2);
	settle();
	assert_int_equal(heard(bob, "leaderboard.created"), 1);
	assert_int_equal(heard(again, "leaderboard.created"), 2);
	EAR past = listen_as(0, "bob", NULL, 0);
	settle();
	assert_int_equal(past->count, again->count);
}

static void
test_filters(void **state)
{
	(void)state;
	int64_t first = submit(0, "ada", "arena");
	EAR of_first = listen_as(0, "ada", json_pack("{s:I}", "submission", (json_int_t)first), 0);
	EAR of_board = listen_as(0, "ada", json_pack("{s:s}", "leaderboard", "ARENA"), 0);
	EAR of_none = listen_as(0, "ada", json_pack("{s:s}", "leaderboard", "none"), 0);
	EAR local = listen_as(0, "ada", json_pack("{s:b}", "task_run", 1), 0);
	EAR all = listen_as(0, "ada", NULL, -1);
	cores_board(0, "second", false);
	submit(0, "ada", "second");
	until(heard(all, "submission.accepted") == 1);
	AUTO_JSON json_t *run = json_pack("{s:s, s:b}", "kind", "progress", "task_run", 1);
	core_publish(cores.core[0], run);
	settle();
	assert_int_equal(heard(of_first, "submission.accepted"), 1);
	assert_int_equal(heard(of_board, "submission.accepted"), 1);
	assert_int_equal(json_array_size(of_none->kinds), 0);
	assert_int_equal(json_array_size(local->kinds), 1);
	assert_int_equal(heard(all, "submission.accepted"), 1);
}

/* The one event that it has heard. */
static const char *
only(const struct ear *ear)
{
	assert_int_equal(json_array_size(ear->kinds), 1);
	return json_string_value(json_array_get(ear->kinds, 0));
}

/* The progress of a command reaches those of the connection that sent it, through the socket, and no other. */
static void
test_progress(void **state)
{
	(void)state;
	cores_make(1, false);
	cores_make(2, false);
	EAR own = listen_as(0, "owner", json_pack("{s:b}", "task_run", 1), -1);
	EAR client = listen_as(1, "owner", json_pack("{s:b}", "task_run", 1), -1);
	EAR events = listen_as(1, "owner", NULL, -1);
	/* A client cannot choose whose progress it hears. */
	assert_refused_filter(2, json_pack("{s:b, s:i}", "task_run", 1, "caller", 1));
	EAR other = listen_as(2, "owner", json_pack("{s:b}", "task_run", 1), -1);
	cores_board(1, "first", false);
	cores_board(2, "second", false);
	until(heard(events, "leaderboard.created") > 0);
	settle();
	/* Connections have numbers from 1 on. */
	for (int caller = 0; caller <= 8; caller++) {
		char kind[16];
		(void)snprintf(kind, sizeof(kind), "for %d", caller);
		AUTO_JSON json_t *run = json_pack("{s:s, s:b, s:i}", "kind", kind, "task_run", 1, "caller", caller);
		core_publish(cores.core[0], run);
	}
	until(json_array_size(client->kinds) > 0 && json_array_size(other->kinds) > 0);
	settle();
	assert_string_equal(only(own), "for 0");
	assert_string_not_equal(only(client), "for 0");
	assert_string_not_equal(only(other), "for 0");
	assert_string_not_equal(only(other), only(client));
	assert_int_equal(heard(events, only(client)) + heard(events, only(other)), 0);
}

struct many {
	int count;
	bool done;
};

static int
many_op(struct db *db, void *arg, struct kettle_error *err)
{
	const struct many *many = arg;
	AUTO_JSON json_t *data = json_object();
	int code = 0;
	for (int i = 0; i < many->count && code == 0; i++)
		code = db_event(db, "leaderboard.created", 'p', 0, 0, 0, data, err);
	return code;
}

static void
many_done(void *arg, const struct kettle_error *err)
{
	assert_null(err);
	((struct many *)arg)->done = true;
}

/* More than a page, and more while it is read. */
static void
test_pages(void **state)
{
	(void)state;
	struct many many = {.count = 2500}, more = {.count = 500};
	store_write(cores.core[0]->store, many_op, many_done, &many);
	until(many.done);
	EAR ear = listen_as(0, "ada", NULL, 0);
	store_write(cores.core[0]->store, many_op, many_done, &more);
	until(more.done && ear->count >= 3001);
	settle();
	assert_int_equal(ear->count, 3001);
	assert_int_equal(ear->seq[3000], 3001);
}

/* The store closes between two pages. */
static void
test_end_between_pages(void **state)
{
	(void)state;
	struct many many = {.count = 2500};
	store_write(cores.core[0]->store, many_op, many_done, &many);
	until(many.done);
	EAR ear = listen_as(0, "ada", NULL, 0);
	cores_close(0);
	assert_true(ear->count <= 2501);
}

/* Ended while it is read, by itself, and by one that hears before it. */
static void
test_unsubscribe(void **state)
{
	(void)state;
	EAR reading = listen_as(0, "ada", NULL, 0);
	(void)core_unsubscribe(cores.core[0], reading->id, NULL, NULL);
	EAR first = listen_as(0, "ada", NULL, -1);
	EAR second = listen_as(0, "ada", NULL, -1);
	EAR third = listen_as(0, "ada", NULL, -1);
	settle();
	second->ends = &first->id; /* the newest hears first */
	third->ends = &third->id;
	cores_board(0, "b2", false);
	cores_board(0, "b3", false);
	settle();
	assert_int_equal(reading->count, 0);
	assert_int_equal(first->count, 0);
	assert_int_equal(second->count, 2);
	assert_int_equal(third->count, 1);
	(void)core_unsubscribe(cores.core[0], 4711, NULL, NULL);
	EAR past = listen_as(0, "ada", NULL, 0);
	past->ends = &past->id; /* in the middle of a page */
	settle();
	assert_int_equal(past->count, 1);
}

/* A client hears what the owner would tell it, and goes on at the next owner where it was. */
static void
test_over_owners(void **state)
{
	(void)state;
	cores_make(1, false);
	EAR ada = listen_as(1, "ada", NULL, 0);
	EAR bob = listen_as(1, "bob", NULL, -1);
	EAR gone = listen_as(1, "ada", NULL, 0);
	submit(1, "ada", "arena");
	until(heard(ada, "submission.accepted") == 1);
	settle();
	(void)core_unsubscribe(cores.core[1], gone->id, NULL, NULL);
	size_t before = gone->count;
	cores_close(0);
	submit(1, "ada", "arena");
	until(heard(ada, "submission.accepted") == 2);
	settle();
	assert_int_equal(cores.core[1]->role, CORE_OWNER);
	assert_int_equal(heard(ada, "leaderboard.created"), 1);
	assert_int_equal(heard(bob, "submission.accepted"), 0);
	assert_int_equal(gone->count, before);
}

static void
subscribe_elsewhere(void *arg)
{
	*(struct ear **)arg = listen_as(0, "ada", NULL, 0);
}

/* Another thread subscribes and unsubscribes. */
static void
test_other_thread(void **state)
{
	(void)state;
	struct ear *ear = NULL;
	uv_thread_t thread;
	assert_int_equal(uv_thread_create(&thread, subscribe_elsewhere, &ear), 0);
	assert_int_equal(uv_thread_join(&thread), 0);
	until(ear->count == 1);
	free_ear(&ear);
}

/* Subscribed and unsubscribed when the core is closed or closing. */
static void
test_after_the_end(void **state)
{
	(void)state;
	cores_leave(0);
	EAR during = listen_as(0, "ada", NULL, 0);
	settle();
	EAR after = listen_as(0, "ada", NULL, 0);
	settle();
	assert_true(during->count <= 1);
	assert_int_equal(after->count, 0);
	cores_close(0);
}

/* A server says by itself when a board opens and ends, also what came while there was none. */
static void
test_board_clock(void **state)
{
	char opens[32];
	time_t soon = (time_t)(clock_utc_ms(cores_clock()) / 1000) + 3600;
	struct tm tm;
	(void)state;
	(void)strftime(opens, sizeof(opens), "%Y-%m-%d %H:%M:%S", gmtime_r(&soon, &tm));
	(void)cores_must(
		0, "root:admin", "leaderboard.update", json_pack("{s:s, s:s}", "name", "arena", "deadline", "2020-01-01"));
	cores_close(0);
	cores_make(0, true);
	EAR ear = listen_as(0, "ada", NULL, 0);
	(void)cores_must(0, "ada", "leaderboard.list", json_object());
	until(heard(ear, "leaderboard.ended") == 1);
	(void)cores_must(0, "root:admin", "leaderboard.update",
		json_pack("{s:s, s:s, s:s}", "name", "arena", "deadline", "none", "opens", opens));
	cores_pass(3598000);
	assert_int_equal(heard(ear, "leaderboard.opened"), 0);
	cores_pass(2000);
	until(heard(ear, "leaderboard.opened") == 1);
	(void)cores_must(0, "root:admin", "leaderboard.update",
		json_pack("{s:s, s:s, s:s}", "name", "arena", "deadline", "2020-01-01", "opens", "none"));
	until(heard(ear, "leaderboard.ended") == 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, cores_setup, cores_teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_past_and_future),
	TEST(test_who_sees),
	TEST(test_lost_rights),
	TEST(test_rights_unread),
	TEST(test_end_unread),
	TEST(test_feed_unread),
	TEST(test_renamed_board),
	TEST(test_closed_board),
	TEST(test_filters),
	TEST(test_progress),
	TEST(test_pages),
	TEST(test_end_between_pages),
	TEST(test_unsubscribe),
	TEST(test_over_owners),
	TEST(test_other_thread),
	TEST(test_after_the_end),
	TEST(test_board_clock),
};

UNIT_TESTS(test_subscribe, .words = "waiting tsan");
