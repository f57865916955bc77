/* SPDX-License-Identifier: MIT */
/* The queue of one device: fair between users, in order within one. Pure. */
#pragma once

#include "engine/rank_tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Start-time fair queueing with jobs of equal weight: each user has a list of jobs in order, and a turn. The user with
 * the lowest turn is next, and each served job moves that turn by one. A user who comes back has collected no turns
 * while away. Every function but fair_queue_take_where costs O(log jobs).
 */
struct fair_queue;

/* Embedded in a queued element; zero-initialise. */
struct fair_queue_item {
	struct rank_node node; /* first: a node is its item */
	struct fair_queue_user *user_list;
};

struct fair_queue *fair_queue_new(void);
void fair_queue_free(struct fair_queue *queue); /* items stay the caller's; NULL is allowed */
/*
 * Adds a job that is not queued. A user's job with the lowest order comes first, so that a job which was handed back
 * gets its place again;
 * jobs of equal order keep their order of arrival.
 */
void fair_queue_add(struct fair_queue *queue, int64_t user, int64_t order, struct fair_queue_item *item);
/* Takes out and returns the next job; NULL: the queue is empty. */
struct fair_queue_item *fair_queue_take(struct fair_queue *queue);
/*
 * Takes out and returns the first job that is wanted of the user who is next among those who have one; NULL: there is
 * none. Costs O(jobs log jobs).
 */
struct fair_queue_item *fair_queue_take_where(
	struct fair_queue *queue, bool (*wanted)(struct fair_queue_item *item, void *arg), void *arg);
/* Takes out a job. Does nothing if it is not queued. */
void fair_queue_remove(struct fair_queue *queue, struct fair_queue_item *item);
size_t fair_queue_length(const struct fair_queue *queue);
/* The number of jobs that would be taken before this one if no other came: 0 is next. */
size_t fair_queue_position(const struct fair_queue *queue, const struct fair_queue_item *item);
