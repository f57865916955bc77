/* SPDX-License-Identifier: MIT */
/* The queue of one device: fair between users, in order within one. Pure. */
#ifndef KETTLE_ENGINE_FAIR_QUEUE_H
#define KETTLE_ENGINE_FAIR_QUEUE_H

#include "engine/rank_tree.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Start-time fair queueing with jobs of equal weight: each user has a list of jobs in their order and a turn; the user
 * with the lowest turn is next, and each job served moves it one on. A user who comes back does not collect turns
 * for the time away. Everything here costs O(log jobs).
 */
struct fair_queue;

/* Embedded in whatever is queued; zero-initialise. */
struct fair_queue_item {
	struct rank_node node; /* first: a node is its item */
	struct fair_queue_user *user_list;
};

struct fair_queue *fair_queue_new(void);
void fair_queue_free(struct fair_queue *queue); /* items stay the caller's; NULL is allowed */
/*
 * Of one user's jobs the one with the lowest order comes first, so that what was handed back gets
 * its place again; equal ones come in the order in which they were added.
 */
void fair_queue_add(struct fair_queue *queue, int64_t user, int64_t order, struct fair_queue_item *item);
/* The next job, taken out, or NULL. */
struct fair_queue_item *fair_queue_take(struct fair_queue *queue);
/* Takes out one that is queued; does nothing to one that is not. */
void fair_queue_remove(struct fair_queue *queue, struct fair_queue_item *item);
size_t fair_queue_length(const struct fair_queue *queue);
/* How many jobs would be taken before this one if nothing else came: 0 is next. */
size_t fair_queue_position(const struct fair_queue *queue, const struct fair_queue_item *item);

#endif
