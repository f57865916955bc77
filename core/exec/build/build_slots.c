/* SPDX-License-Identifier: MIT */
/* Who may build now: at most so many at once, and nothing twice at the same time. */
#include <config.h>

#include "exec/build/build_slots.h"

#include <stddef.h>
#include <string.h>

bool
builds_acquire(struct builds *builds, struct build_slot *slot, void (*granted)(void *arg), void *arg)
{
	*slot = (struct build_slot){.granted = granted, .arg = arg};
	if (builds->running < builds->max && !builds->queue) {
		builds->running++;
		slot->held = true;
		return true;
	}
	struct build_slot **at = &builds->queue;
	while (*at)
		at = &(*at)->next;
	*at = slot;
	slot->waits = true;
	return false;
}

static void
stop_waiting(struct builds *builds, struct build_slot *slot)
{
	for (struct build_slot **at = &builds->queue; *at; at = &(*at)->next)
		if (*at == slot) {
			*at = slot->next;
			break;
		}
	slot->waits = false;
}

void
builds_release(struct builds *builds, struct build_slot *slot)
{
	if (slot->waits)
		stop_waiting(builds, slot);
	if (!slot->held)
		return;
	slot->held = false;
	builds->running--;
	while (builds->queue && builds->running < builds->max) {
		struct build_slot *next = builds->queue;
		stop_waiting(builds, next);
		builds->running++;
		next->held = true;
		next->granted(next->arg);
	}
}

static bool
is_flying(const struct builds *builds, const char *key)
{
	for (const struct build_flight *flight = builds->flights; flight; flight = flight->next)
		if (flight->flies && strcmp(flight->key, key) == 0)
			return true;
	return false;
}

bool
builds_take_off(
	struct builds *builds, struct build_flight *flight, const char *key, void (*granted)(void *arg), void *arg)
{
	*flight = (struct build_flight){.granted = granted, .arg = arg, .listed = true, .flies = !is_flying(builds, key)};
	memcpy(flight->key, key, sizeof(flight->key));
	struct build_flight **at = &builds->flights;
	while (*at)
		at = &(*at)->next;
	*at = flight;
	return flight->flies;
}

void
builds_land(struct builds *builds, struct build_flight *flight)
{
	if (!flight->listed)
		return;
	for (struct build_flight **at = &builds->flights; *at; at = &(*at)->next)
		if (*at == flight) {
			*at = flight->next;
			break;
		}
	flight->listed = false;
	if (!flight->flies)
		return;
	for (struct build_flight *next = builds->flights; next; next = next->next)
		if (strcmp(next->key, flight->key) == 0) {
			next->flies = true;
			next->granted(next->arg);
			break;
		}
}
