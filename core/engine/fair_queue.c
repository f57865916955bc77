/* SPDX-License-Identifier: MIT */
/*
 * The queue of one device.
 *
 * Theory of operation. A user's jobs have turns, one each, counted from the user's `turn`; a pair of user and turn is a
 * *slot*. Slots are served in the order of their turns, and within a turn in the order in which the users came. A
 * served slot takes its user's first job at that moment. So a job that comes or goes adds or removes its user's last
 * slot, wherever the job is in the user's order, and its position is the number of slots before the slot of its index.
 */
#include <config.h>

#include "engine/fair_queue.h"
#include "base/base.h"

#include <assert.h>
#include <search.h>

struct fair_queue_user {
	int64_t id;
	int64_t turn;           /* virtual time at which the user's next job is due */
	uint64_t order;         /* of arrival, to break ties */
	struct rank_node *jobs; /* items */
};

struct slot {
	struct rank_node node; /* key: turn, order of the user; first: a node is its slot */
	struct fair_queue_user *user;
};

struct fair_queue {
	struct rank_node *slots;
	void *by_id;                   /* users with jobs, a tree for tsearch(3) */
	int64_t now;                   /* turn of the job served last */
	uint64_t arrivals, users_seen; /* of jobs; of users */
	struct {
		int64_t id, turn;
	} recent[64]; /* turns of users who left lately, so that they gain nothing by coming back job by job */
	size_t recent_next;
};

static int
by_user_id(const void *a, const void *b)
{
	const struct fair_queue_user *x = a, *y = b;
	return (x->id > y->id) - (x->id < y->id);
}

struct fair_queue *
fair_queue_new(void)
{
	return xcalloc(1, sizeof(struct fair_queue));
}

static int64_t
recent_turn(const struct fair_queue *queue, int64_t id)
{
	int64_t turn = queue->now;
	for (size_t i = 0; i < ARRAY_SIZE(queue->recent); i++)
		if (queue->recent[i].id == id && queue->recent[i].turn > turn)
			turn = queue->recent[i].turn;
	return turn;
}

static struct fair_queue_user *
add_user(struct fair_queue *queue, int64_t id)
{
	struct fair_queue_user *user =
		xnew(struct fair_queue_user, .id = id, .turn = recent_turn(queue, id), .order = queue->users_seen++);
	if (!tsearch(user, &queue->by_id, by_user_id))
		xalloc_fail();
	return user;
}

static struct rank_key
slot_key(const struct fair_queue_user *user, size_t index)
{
	return (struct rank_key){user->turn + (int64_t)index, user->order};
}

/* Takes out a job and the user's slot `index`, and the user with the last job. */
static void
drop(struct fair_queue *queue, struct fair_queue_item *item, size_t index, int64_t next_turn)
{
	struct fair_queue_user *user = item->user_list;
	(void)rank_tree_remove(&user->jobs, item->node.key);
	free(rank_tree_remove(&queue->slots, slot_key(user, index)));
	*item = (struct fair_queue_item){0};
	user->turn = next_turn;
	if (user->jobs)
		return;
	queue->recent[queue->recent_next].id = user->id;
	queue->recent[queue->recent_next].turn = user->turn;
	queue->recent_next = (queue->recent_next + 1) % ARRAY_SIZE(queue->recent);
	(void)tdelete(user, &queue->by_id, by_user_id);
	free(user);
}

void
fair_queue_free(struct fair_queue *queue)
{
	if (!queue)
		return;
	while (queue->slots)
		free(rank_tree_remove(&queue->slots, queue->slots->key));
	tdestroy(queue->by_id, free);
	free(queue);
}

void
fair_queue_add(struct fair_queue *queue, int64_t id, int64_t order, struct fair_queue_item *item)
{
	struct fair_queue_user key = {.id = id};
	struct fair_queue_user *const *found = tfind(&key, &queue->by_id, by_user_id);
	struct fair_queue_user *user = found ? *found : NULL;
	assert(!item->user_list);
	if (!user)
		user = add_user(queue, id);
	struct slot *slot = xnew(struct slot, .user = user);
	rank_tree_add(&queue->slots, &slot->node, slot_key(user, rank_tree_count(user->jobs)));
	item->user_list = user;
	rank_tree_add(&user->jobs, &item->node, (struct rank_key){order, queue->arrivals++});
}

struct fair_queue_item *
fair_queue_take(struct fair_queue *queue)
{
	struct slot *slot = (struct slot *)rank_tree_first(queue->slots);
	if (!slot)
		return NULL;
	struct fair_queue_user *user = slot->user;
	struct fair_queue_item *item = (struct fair_queue_item *)rank_tree_first(user->jobs);
	queue->now = user->turn;
	drop(queue, item, 0, user->turn + 1);
	return item;
}

/* The user's first job that is wanted; NULL: there is none. */
static struct fair_queue_item *
first_wanted(const struct fair_queue_user *user, bool (*wanted)(struct fair_queue_item *item, void *arg), void *arg)
{
	struct rank_node *job = rank_tree_first(user->jobs);
	while (job && !wanted((struct fair_queue_item *)job, arg))
		job = rank_tree_next(user->jobs, job->key);
	return (struct fair_queue_item *)job;
}

/* Serving a later slot does not advance the queue's time, which is that of the slots that are left out. */
struct fair_queue_item *
fair_queue_take_where(struct fair_queue *queue, bool (*wanted)(struct fair_queue_item *item, void *arg), void *arg)
{
	struct rank_node *node = rank_tree_first(queue->slots);
	for (; node; node = rank_tree_next(queue->slots, node->key)) {
		const struct fair_queue_user *user = ((const struct slot *)node)->user;
		/* Only the first slot of each user counts. */
		struct fair_queue_item *item = node->key.first == user->turn ? first_wanted(user, wanted, arg) : NULL;
		if (!item)
			continue;
		drop(queue, item, 0, user->turn + 1);
		return item;
	}
	return NULL;
}

void
fair_queue_remove(struct fair_queue *queue, struct fair_queue_item *item)
{
	struct fair_queue_user *user = item->user_list;
	if (user)
		drop(queue, item, rank_tree_count(user->jobs) - 1, user->turn);
}

size_t
fair_queue_length(const struct fair_queue *queue)
{
	return rank_tree_count(queue->slots);
}

size_t
fair_queue_position(const struct fair_queue *queue, const struct fair_queue_item *item)
{
	const struct fair_queue_user *user = item->user_list;
	if (!user)
		return 0;
	return rank_tree_rank(queue->slots, slot_key(user, rank_tree_rank(user->jobs, item->node.key)));
}
