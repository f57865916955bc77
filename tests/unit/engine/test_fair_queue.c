/* SPDX-License-Identifier: MIT */
/* The fair queue: order within a user, turns between users, places, removal. */
#include <config.h>

#include "engine/fair_queue.h"
#include "base/cleanup.h"
#include "lib/unit_test.h"

#include <stdlib.h>

#define JOBS 400

struct job {
	struct fair_queue_item item;
	int user, number;
	bool taken;
};

static void
add(struct fair_queue *queue, struct job *job, int user, int number)
{
	*job = (struct job){.user = user, .number = number};
	fair_queue_add(queue, user, number, &job->item);
}

static void
test_order_within_a_user(void **state)
{
	(void)state;
	struct fair_queue *queue = fair_queue_new();
	struct job jobs[5];
	for (int i = 0; i < 5; i++)
		add(queue, &jobs[i], 1, i);
	assert_int_equal(fair_queue_length(queue), 5);
	for (int i = 0; i < 5; i++)
		assert_ptr_equal(fair_queue_take(queue), &jobs[i].item);
	assert_null(fair_queue_take(queue));
	fair_queue_free(queue);
}

static void
test_one_user_does_not_starve_another(void **state)
{
	(void)state;
	struct fair_queue *queue = fair_queue_new();
	struct job flood[100], single;
	for (int i = 0; i < 100; i++)
		add(queue, &flood[i], 1, i);
	for (int i = 0; i < 10; i++)
		assert_ptr_equal(fair_queue_take(queue), &flood[i].item);
	add(queue, &single, 2, 0);
	assert_true(fair_queue_position(queue, &single.item) <= 1);
	struct fair_queue_item *first = fair_queue_take(queue), *second = fair_queue_take(queue);
	assert_true(first == &single.item || second == &single.item);
	fair_queue_free(queue);
}

static void
test_coming_back_is_no_advantage(void **state)
{
	(void)state;
	struct fair_queue *queue = fair_queue_new();
	struct job slow[20], quick = {.user = 2};
	for (int i = 0; i < 20; i++)
		add(queue, &slow[i], 1, i);
	int served = 0;
	for (int round = 0; round < 20; round++) {
		/* User 2 never queues more than one job at a time, user 1 has all of theirs there: both get half. */
		if (!quick.item.user_list)
			add(queue, &quick, 2, round);
		struct fair_queue_item *taken = fair_queue_take(queue);
		if (taken == &quick.item)
			served++;
	}
	assert_in_range(served, 9, 11);
	fair_queue_free(queue);
}

/* Whatever is handed back, and in which order: it comes where it came before. */
static void
test_back_in_order(void **state)
{
	static const int back[] = {2, 0, 1};
	(void)state;
	struct fair_queue *queue = fair_queue_new();
	struct job jobs[6];
	for (int i = 0; i < 5; i++)
		add(queue, &jobs[i], 1, i);
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(fair_queue_take(queue), &jobs[i].item);
	for (int i = 0; i < 3; i++)
		add(queue, &jobs[back[i]], 1, back[i]);
	add(queue, &jobs[5], 1, 5);
	assert_int_equal(fair_queue_position(queue, &jobs[2].item), 2);
	for (int i = 0; i < 6; i++)
		assert_ptr_equal(fair_queue_take(queue), &jobs[i].item);
	fair_queue_free(queue);
}

/* Random adds, takes and removals: the reported position is the number of takes until it comes. */
static void
test_places_are_kept(void **state)
{
	(void)state;
	struct job jobs[JOBS];
	srand(7);
	struct fair_queue *queue = fair_queue_new();
	for (int i = 0; i < JOBS; i++) {
		add(queue, &jobs[i], rand() % 9, i);
		if (rand() % 4 == 0) {
			struct job *taken = (struct job *)fair_queue_take(queue);
			if (taken)
				taken->taken = true;
		}
		int victim = rand() % (i + 1);
		if (rand() % 5 == 0 && !jobs[victim].taken) {
			fair_queue_remove(queue, &jobs[victim].item);
			jobs[victim].taken = true;
		}
	}
	size_t place[JOBS], order = 0, left = fair_queue_length(queue);
	for (int i = 0; i < JOBS; i++)
		place[i] = jobs[i].taken ? 0 : fair_queue_position(queue, &jobs[i].item);
	int last[9] = {-1, -1, -1, -1, -1, -1, -1, -1, -1};
	struct job *taken;
	while ((taken = (struct job *)fair_queue_take(queue))) {
		assert_int_equal(place[taken->number], order);
		assert_true(taken->number > last[taken->user]);
		last[taken->user] = taken->number;
		order++;
	}
	assert_int_equal(order, left);
	fair_queue_free(queue);
}

/* ---- against a plain model ---- */

struct plain {
	struct job jobs[JOBS];
	bool queued[JOBS];
	int64_t order[JOBS];
	uint64_t arrival[JOBS];
	size_t count[9];
	uint64_t turn[9], since[9];
	uint64_t now, users, arrivals;
};

static bool
is_earlier(const struct plain *plain, int a, int b)
{
	return plain->order[a] < plain->order[b] ||
		   (plain->order[a] == plain->order[b] && plain->arrival[a] < plain->arrival[b]);
}

/* Jobs before it: its user's own, and of each other user those whose turn comes first. */
static size_t
walk(const struct plain *plain, int job)
{
	size_t own = 0, ahead = 0;
	int mine = plain->jobs[job].user;
	for (int i = 0; i < JOBS; i++)
		own += plain->queued[i] && plain->jobs[i].user == mine && is_earlier(plain, i, job);
	for (int user = 0; user < 9; user++)
		for (size_t i = 0; user != mine && i < plain->count[user]; i++) {
			uint64_t turn = plain->turn[user] + i, due = plain->turn[mine] + own;
			ahead += turn < due || (turn == due && plain->since[user] < plain->since[mine]);
		}
	return own + ahead;
}

static void
plain_add(struct plain *plain, struct fair_queue *queue, int job, int user, int64_t order)
{
	plain->jobs[job] = (struct job){.user = user, .number = job};
	plain->queued[job] = true;
	plain->order[job] = order;
	plain->arrival[job] = plain->arrivals++;
	if (plain->count[user]++ == 0) {
		plain->since[user] = plain->users++;
		plain->turn[user] = plain->turn[user] > plain->now ? plain->turn[user] : plain->now;
	}
	fair_queue_add(queue, user + 1, order, &plain->jobs[job].item);
}

static void
plain_take(struct plain *plain, struct fair_queue *queue)
{
	struct job *taken = (struct job *)fair_queue_take(queue);
	if (!taken)
		return;
	assert_int_equal(walk(plain, taken->number), 0);
	plain->queued[taken->number] = false;
	plain->count[taken->user]--;
	plain->now = plain->turn[taken->user]++;
}

/* Jobs of any order come, go first and are removed, users come back: each place is that of a walk over all jobs. */
static void
test_places_are_those_of_a_walk(void **state)
{
	(void)state;
	struct plain plain = {0};
	srand(8);
	struct fair_queue *queue = fair_queue_new();
	for (int round = 0; round < 6 * JOBS; round++) {
		int job = rand() % JOBS;
		bool fills = round / JOBS % 2 == 0;
		if (rand() % 3 == 0) {
			plain_take(&plain, queue);
		} else if (!plain.queued[job]) {
			if (fills)
				plain_add(&plain, queue, job, rand() % 9, rand() % 50);
		} else {
			plain.queued[job] = false;
			plain.count[plain.jobs[job].user]--;
			fair_queue_remove(queue, &plain.jobs[job].item);
		}
		for (int i = round % 7; i < JOBS; i += 7)
			assert_int_equal(fair_queue_position(queue, &plain.jobs[i].item), plain.queued[i] ? walk(&plain, i) : 0);
	}
	fair_queue_free(queue);
}

static bool
is_even(struct fair_queue_item *item, void *arg)
{
	++*(int *)arg;
	return ((struct job *)item)->number % 2 == 0;
}

/* Users with a wanted job are served in turns, and what is not wanted keeps its place. */
static void
test_only_some(void **state)
{
	static const int users[] = {1, 1, 1, 2, 2, 3}, numbers[] = {1, 2, 4, 3, 6, 5}, taken[] = {1, 4, 2};
	(void)state;
	struct fair_queue *queue = fair_queue_new();
	struct job jobs[ARRAY_SIZE(users)];
	int seen = 0;
	for (size_t i = 0; i < ARRAY_SIZE(users); i++)
		add(queue, &jobs[i], users[i], numbers[i]);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		assert_ptr_equal(fair_queue_take_where(queue, is_even, &seen), &jobs[taken[i]].item);
	seen = 0;
	assert_null(fair_queue_take_where(queue, is_even, &seen));
	assert_int_equal(seen, 3); /* each job that is left, once */
	assert_int_equal(fair_queue_length(queue), 3);
	/* User 3 has had no turn, user 2 one, user 1 two. */
	assert_int_equal(fair_queue_position(queue, &jobs[0].item), 2);
	assert_ptr_equal(fair_queue_take(queue), &jobs[5].item);
	assert_ptr_equal(fair_queue_take(queue), &jobs[3].item);
	assert_ptr_equal(fair_queue_take(queue), &jobs[0].item);
	assert_null(fair_queue_take_where(queue, is_even, &seen));
	fair_queue_free(queue);
}

static void
test_remove_twice(void **state)
{
	(void)state;
	struct fair_queue *queue = fair_queue_new();
	struct job a;
	add(queue, &a, 1, 0);
	fair_queue_remove(queue, &a.item);
	fair_queue_remove(queue, &a.item);
	assert_int_equal(fair_queue_length(queue), 0);
	assert_null(fair_queue_take(queue));
	fair_queue_free(queue);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_order_within_a_user),
	cmocka_unit_test(test_one_user_does_not_starve_another),
	cmocka_unit_test(test_coming_back_is_no_advantage),
	cmocka_unit_test(test_back_in_order),
	cmocka_unit_test(test_places_are_kept),
	cmocka_unit_test(test_places_are_those_of_a_walk),
	cmocka_unit_test(test_only_some),
	cmocka_unit_test(test_remove_twice),
};

UNIT_TESTS(test_fair_queue, .words = "tsan");
