/* SPDX-License-Identifier: MIT */
/* Which steps may build now: at most so many at once, and nothing twice at the same time. */
#include <config.h>

#include "exec/build/build_slots.h"

#include <stddef.h>
#include <string.h>

bool
build_slots_acquire(struct build_slots *builds, struct build_waiter *slot, void (*granted)(void *arg), void *arg)
{
	*slot = (struct build_waiter){.granted = granted, .arg = arg};
	if (builds->running < builds->max && !builds->queue) {
		builds->running++;
		slot->held = true;
		return true;
	}
	struct build_waiter **at = &builds->queue;
	while (*at)
		at = &(*at)->next;
	*at = slot;
	slot->waits = true;
	return false;
}

static void
stop_waiting(struct build_slots *builds, struct build_waiter *slot)
{
	for (struct build_waiter **at = &builds->queue; *at; at = &(*at)->next)
		if (*at == slot) {
			*at = slot->next;
			break;
		}
	slot->waits = false;
}

void
build_slots_release(struct build_slots *builds, struct build_waiter *slot)
{
	if (slot->waits)
		stop_waiting(builds, slot);
	if (!slot->held)
		return;
	slot->held = false;
	builds->running--;
	while (builds->queue && builds->running < builds->max) {
		struct build_waiter *next = builds->queue;
		stop_waiting(builds, next);
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
	*flight =
		(struct build_inflight){.granted = granted, .arg = arg, .listed = true, .building = !is_flying(builds, key)};
	memcpy(flight->key, key, sizeof(flight->key));
	struct build_inflight **at = &builds->flights;
	while (*at)
		at = &(*at)->next;
	*at = flight;
	return flight->building;
}

void
build_slots_end(struct build_slots *builds, struct build_inflight *flight)
{
	if (!flight->listed)
		return;
	for (struct build_inflight **at = &builds->flights; *at; at = &(*at)->next)
		if (*at == flight) {
			*at = flight->next;
			break;
		}
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
