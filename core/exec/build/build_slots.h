/* SPDX-License-Identifier: MIT */
/* Which steps may build now: at most so many at once, and nothing twice at the same time. */
#ifndef KETTLE_EXEC_BUILD_BUILD_SLOTS_H
#define KETTLE_EXEC_BUILD_BUILD_SLOTS_H

#include <stdbool.h>

#include "exec/util/sha256.h"

/* The build slots of this machine, first come first served. Loop thread. */
struct build_slots {
	unsigned max, running;
	struct build_waiter *queue;
	struct build_inflight *flights;
};

/* One request for a slot; zero-initialise, stays where it is. */
struct build_waiter {
	bool waits, held;
	void (*granted)(void *arg);
	void *arg;
	struct build_waiter *next;
};
/* Takes a slot. True: it is held now; false: granted comes later. */
bool build_slots_acquire(struct build_slots *builds, struct build_waiter *slot, void (*granted)(void *arg), void *arg);
/* Gives it back, or stops waiting. */
void build_slots_release(struct build_slots *builds, struct build_waiter *slot);

/* A build under way, by its key; zero-initialise, stays where it is. */
struct build_inflight {
	char key[DIGEST_HEX_SIZE];
	bool listed, building;
	void (*granted)(void *arg);
	void *arg;
	struct build_inflight *next;
};
/* True: no other builds this key, it is ours; false: granted comes when those before have ended. */
bool build_slots_begin(
	struct build_slots *builds, struct build_inflight *flight, const char *key, void (*granted)(void *arg), void *arg);
/* Ends it, or stops waiting. */
void build_slots_end(struct build_slots *builds, struct build_inflight *flight);

#endif
