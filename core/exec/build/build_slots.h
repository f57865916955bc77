/* SPDX-License-Identifier: MIT */
/* Who may build now: at most so many at once, and nothing twice at the same time. */
#ifndef KETTLE_EXEC_BUILDS_H
#define KETTLE_EXEC_BUILDS_H

#include <stdbool.h>

#include "exec/util/sha256.h"

/* The build slots of this machine, first come first served. Loop thread. */
struct builds {
	unsigned max, running;
	struct build_slot *queue;
	struct build_flight *flights;
};

/* A wish for a slot; zero-initialise, stays where it is. */
struct build_slot {
	bool waits, held;
	void (*granted)(void *arg);
	void *arg;
	struct build_slot *next;
};
/* Takes a slot. True: it is held now; false: granted comes later. */
bool builds_acquire(struct builds *builds, struct build_slot *slot, void (*granted)(void *arg), void *arg);
/* Gives it back, or stops waiting. */
void builds_release(struct builds *builds, struct build_slot *slot);

/* A build under way, by its key; zero-initialise, stays where it is. */
struct build_flight {
	char key[DIGEST_HEX_SIZE];
	bool listed, flies;
	void (*granted)(void *arg);
	void *arg;
	struct build_flight *next;
};
/* True: nobody builds this key, it is ours; false: granted comes when those before have ended. */
bool builds_take_off(
	struct builds *builds, struct build_flight *flight, const char *key, void (*granted)(void *arg), void *arg);
/* Ends it, or stops waiting. */
void builds_land(struct builds *builds, struct build_flight *flight);

#endif
