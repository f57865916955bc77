/* SPDX-License-Identifier: MIT */
/*
 * Callers: the clients of a frontend, each a number by which its progress is found and its calls end with it.
 *
 * Theory of operation. The numbers are drawn from the same counter as those of the connections of DB.sock. Any thread
 * opens and closes them, so the table has a lock. Closing removes the number at once; the caller's calls and
 * subscriptions end in a posted function, so that no callback comes before the plugin's call has returned.
 */
#include <config.h>

#include "session/core_internal.h"

#include "base/base.h"

#define CALLERS_MAX 65536

struct caller {
	uint64_t number;
	const void *owner;
	struct caller *next;
};

static struct caller **
bucket_of(struct callers *callers, uint64_t number)
{
	return &callers->buckets[number % CALLER_BUCKETS];
}

void
callers_init(struct callers *callers)
{
	if (uv_mutex_init(&callers->lock) != 0)
		xalloc_fail();
}

void
callers_free(struct callers *callers)
{
	for (size_t i = 0; i < CALLER_BUCKETS; i++)
		for (struct caller *caller = callers->buckets[i], *next; caller; caller = next) {
			next = caller->next;
			free(caller);
		}
	uv_mutex_destroy(&callers->lock);
}

uint64_t
callers_number(struct callers *callers)
{
	return __atomic_add_fetch(&callers->last, 1, __ATOMIC_RELAXED);
}

int
core_caller_open(struct core *core, const void *owner, uint64_t *ret_caller, struct kettle_error *err)
{
	struct callers *callers = &core->callers;
	struct caller *caller = xnew(struct caller, .number = callers_number(callers), .owner = owner);
	uint64_t number = caller->number;
	uv_mutex_lock(&callers->lock);
	bool full = callers->count == CALLERS_MAX;
	if (!full) {
		struct caller **first = bucket_of(callers, number);
		caller->next = *first;
		*first = caller;
		callers->count++;
	}
	uv_mutex_unlock(&callers->lock);
	if (full) {
		free(caller);
		return kettle_fail(err, KETTLE_ETOOBIG, "%d callers are open, which is the limit.", CALLERS_MAX);
	}
	*ret_caller = number;
	return 0;
}

bool
core_caller_is_open(struct core *core, const void *owner, uint64_t number)
{
	struct callers *callers = &core->callers;
	uv_mutex_lock(&callers->lock);
	const struct caller *caller = *bucket_of(callers, number);
	while (caller && caller->number != number)
		caller = caller->next;
	bool open = caller && (!owner || caller->owner == owner);
	uv_mutex_unlock(&callers->lock);
	return open;
}

/* Takes the number out; false: it is not an open one of this owner. */
static bool
remove_caller(struct callers *callers, const void *owner, uint64_t number)
{
	uv_mutex_lock(&callers->lock);
	struct caller **link = bucket_of(callers, number);
	while (*link && (*link)->number != number)
		link = &(*link)->next;
	struct caller *found = *link && (*link)->owner == owner ? *link : NULL;
	if (found) {
		*link = found->next;
		callers->count--;
	}
	uv_mutex_unlock(&callers->lock);
	free(found);
	return found;
}

struct closing_caller {
	struct core *core;
	uint64_t number;
	kettle_fn ended;
	void *arg;
};

static void
close_posted(void *arg)
{
	AUTO_FREE struct closing_caller *closing = arg;
	calls_cancel_of(closing->core, closing->number);
	subscriptions_end_of(closing->core, closing->number);
	if (closing->ended)
		closing->ended(closing->arg);
}

int
core_caller_close(struct core *core, const void *owner, uint64_t number, kettle_fn ended, void *arg)
{
	if (!remove_caller(&core->callers, owner, number))
		return KETTLE_EINVAL;
	struct closing_caller *closing = xnew(struct closing_caller, core, number, ended, arg);
	int rc = loop_post(core->setup.io, close_posted, closing);
	if (rc < 0)
		free(closing);
	return rc;
}

void
core_callers_end(struct core *core, const void *owner)
{
	struct callers *callers = &core->callers;
	for (size_t i = 0; i < CALLER_BUCKETS; i++) {
		uint64_t number = 0;
		do {
			uv_mutex_lock(&callers->lock);
			const struct caller *caller = callers->buckets[i];
			while (caller && caller->owner != owner)
				caller = caller->next;
			number = caller ? caller->number : 0;
			uv_mutex_unlock(&callers->lock);
			if (number) {
				(void)remove_caller(callers, owner, number);
				subscriptions_end_of(core, number);
			}
		} while (number);
	}
}
