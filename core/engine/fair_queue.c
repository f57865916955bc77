/* SPDX-License-Identifier: MIT */
/* The queue of one device: a heap of users by turn, each with a list of jobs. */
#include <config.h>

#include "engine/fair_queue.h"
#include "base/cleanup.h"
#include "base/xalloc.h"

#include <kettle/error.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>

struct fair_queue_user {
	int64_t id;
	uint64_t turn;  /* virtual time at which the user's next job is due */
	uint64_t order; /* of arrival, to break ties */
	size_t index;   /* in the heap */
	size_t count;
	struct fair_queue_item *first, *last;
};

struct fair_queue {
	struct fair_queue_user **heap; /* users with jobs, lowest turn first */
	size_t users, room;
	void *by_id; /* the same users, a tree for tsearch(3) */
	size_t jobs;
	uint64_t now, arrivals; /* turn of the job served last; users seen */
	struct {
		int64_t id;
		uint64_t turn;
	} recent[64]; /* turns of users who left lately, so that coming back job by job is no advantage */
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

void
fair_queue_free(struct fair_queue *queue)
{
	if (!queue)
		return;
	for (size_t i = 0; i < queue->users; i++) {
		(void)tdelete(queue->heap[i], &queue->by_id, by_user_id);
		free(queue->heap[i]);
	}
	free(queue->heap);
	free(queue);
}

static bool
before(const struct fair_queue_user *a, const struct fair_queue_user *b)
{
	return a->turn < b->turn || (a->turn == b->turn && a->order < b->order);
}

static void
set(struct fair_queue *queue, size_t index, struct fair_queue_user *user)
{
	queue->heap[index] = user;
	user->index = index;
}

static void
sift_up(struct fair_queue *queue, struct fair_queue_user *user)
{
	size_t index = user->index;
	while (index > 0 && before(user, queue->heap[(index - 1) / 2])) {
		set(queue, index, queue->heap[(index - 1) / 2]);
		index = (index - 1) / 2;
	}
	set(queue, index, user);
}

static void
sift_down(struct fair_queue *queue, struct fair_queue_user *user)
{
	size_t index = user->index;
	for (;;) {
		size_t child = 2 * index + 1;
		if (child >= queue->users)
			break;
		if (child + 1 < queue->users && before(queue->heap[child + 1], queue->heap[child]))
			child++;
		if (!before(queue->heap[child], user))
			break;
		set(queue, index, queue->heap[child]);
		index = child;
	}
	set(queue, index, user);
}

static struct fair_queue_user *
find_user(const struct fair_queue *queue, int64_t id)
{
	struct fair_queue_user key = {.id = id};
	struct fair_queue_user *const *found = tfind(&key, &queue->by_id, by_user_id);
	return found ? *found : NULL;
}

static uint64_t
recent_turn(const struct fair_queue *queue, int64_t id)
{
	uint64_t turn = queue->now;
	for (size_t i = 0; i < ARRAY_SIZE(queue->recent); i++)
		if (queue->recent[i].id == id && queue->recent[i].turn > turn)
			turn = queue->recent[i].turn;
	return turn;
}

static struct fair_queue_user *
add_user(struct fair_queue *queue, int64_t id)
{
	if (queue->users == queue->room) {
		queue->room = queue->room ? queue->room * 2 : 16;
		queue->heap = xreallocarray(queue->heap, queue->room, sizeof(struct fair_queue_user *));
	}
	struct fair_queue_user *user = xcalloc(1, sizeof(*user));
	user->id = id;
	user->turn = recent_turn(queue, id);
	user->order = queue->arrivals++;
	if (!tsearch(user, &queue->by_id, by_user_id))
		xalloc_fail();
	set(queue, queue->users++, user);
	sift_up(queue, user);
	return user;
}

static void
drop_user(struct fair_queue *queue, struct fair_queue_user *user)
{
	queue->recent[queue->recent_next].id = user->id;
	queue->recent[queue->recent_next].turn = user->turn;
	queue->recent_next = (queue->recent_next + 1) % ARRAY_SIZE(queue->recent);
	struct fair_queue_user *moved = queue->heap[--queue->users];
	if (moved != user) {
		set(queue, user->index, moved);
		sift_up(queue, moved);
		sift_down(queue, moved);
	}
	(void)tdelete(user, &queue->by_id, by_user_id);
	free(user);
}

/* The one it comes before; NULL: it comes last. What is added is nearly always the newest, else mostly the oldest. */
static struct fair_queue_item *
find_next(const struct fair_queue_user *user, int64_t order)
{
	if (user->first && order < user->first->order)
		return user->first;
	struct fair_queue_item *next = NULL;
	for (struct fair_queue_item *item = user->last; item && item->order > order; item = item->previous)
		next = item;
	return next;
}

void
fair_queue_add(struct fair_queue *queue, int64_t id, int64_t order, struct fair_queue_item *item)
{
	struct fair_queue_user *user = find_user(queue, id);
	if (!user)
		user = add_user(queue, id);
	item->user_list = user;
	item->order = order;
	item->next = find_next(user, order);
	item->previous = item->next ? item->next->previous : user->last;
	*(item->previous ? &item->previous->next : &user->first) = item;
	*(item->next ? &item->next->previous : &user->last) = item;
	user->count++;
	queue->jobs++;
}

static void
unlink_item(struct fair_queue *queue, struct fair_queue_item *item)
{
	struct fair_queue_user *user = item->user_list;
	*(item->previous ? &item->previous->next : &user->first) = item->next;
	*(item->next ? &item->next->previous : &user->last) = item->previous;
	*item = (struct fair_queue_item){0};
	user->count--;
	queue->jobs--;
}

struct fair_queue_item *
fair_queue_take(struct fair_queue *queue)
{
	if (queue->users == 0)
		return NULL;
	struct fair_queue_user *user = queue->heap[0];
	struct fair_queue_item *item = user->first;
	unlink_item(queue, item);
	queue->now = user->turn++;
	if (user->count == 0)
		drop_user(queue, user);
	else
		sift_down(queue, user);
	return item;
}

void
fair_queue_remove(struct fair_queue *queue, struct fair_queue_item *item)
{
	struct fair_queue_user *user = item->user_list;
	if (!user)
		return;
	unlink_item(queue, item);
	if (user->count == 0)
		drop_user(queue, user);
}

size_t
fair_queue_length(const struct fair_queue *queue)
{
	return queue->jobs;
}

size_t
fair_queue_position(const struct fair_queue *queue, const struct fair_queue_item *item)
{
	const struct fair_queue_user *mine = item->user_list;
	if (!mine)
		return 0;
	size_t ahead = 0;
	for (const struct fair_queue_item *i = item->previous; i; i = i->previous)
		ahead++;
	uint64_t due = mine->turn + ahead;
	for (size_t i = 0; i < queue->users; i++) {
		const struct fair_queue_user *user = queue->heap[i];
		if (user == mine || user->turn > due)
			continue;
		size_t earlier = (size_t)(due - user->turn);
		if (user->turn + earlier == due && user->order < mine->order)
			earlier++;
		ahead += earlier < user->count ? earlier : user->count;
	}
	return ahead;
}
