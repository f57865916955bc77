/* SPDX-License-Identifier: MIT */
/* Slots for builds: at most N steps build at once, and no two steps build the same. */
#include <config.h>

#include "exec/build/build.h"

#include <assert.h>
#include <string.h>

#include "base/list.h"

bool
build_slots_acquire(struct build_slots *builds, struct build_waiter *slot, void (*granted)(void *arg), void *arg)
{
	assert(!slot->held);
	*slot = (struct build_waiter){.granted = granted, .arg = arg};
	if (builds->running < builds->max && !builds->queue) {
		builds->running++;
		slot->held = true;
		return true;
	}
	LIST_APPEND(builds->queue, slot);
	return false;
}

void
build_slots_release(struct build_slots *builds, struct build_waiter *slot)
{
	LIST_REMOVE(builds->queue, slot);
	if (!slot->held)
		return;
	slot->held = false;
	builds->running--;
	while (builds->queue && builds->running < builds->max) {
		struct build_waiter *next = builds->queue;
		builds->queue = next->next;
		builds->running++;
		next->held = true;
		next->granted(next->arg);
	}
}

static bool
is_flying(const struct build_slots *builds, const char *key)
{
	for (const struct build_inflight *flight = builds->flights; flight; flight = flight->next)
		if (flight->building && strcmp(flight->key, key) == 0)
			return true;
	return false;
}

bool
build_slots_begin(
	struct build_slots *builds, struct build_inflight *flight, const char *key, void (*granted)(void *arg), void *arg)
{
	assert(!flight->listed);
	*flight =
		(struct build_inflight){.granted = granted, .arg = arg, .listed = true, .building = !is_flying(builds, key)};
	memcpy(flight->key, key, sizeof(flight->key));
	LIST_APPEND(builds->flights, flight);
	return flight->building;
}

void
build_slots_end(struct build_slots *builds, struct build_inflight *flight)
{
	if (!flight->listed)
		return;
	LIST_REMOVE(builds->flights, flight);
	flight->listed = false;
	if (!flight->building)
		return;
	for (struct build_inflight *next = builds->flights; next; next = next->next)
		if (strcmp(next->key, flight->key) == 0) {
			next->building = true;
			next->granted(next->arg);
			break;
		}
}
