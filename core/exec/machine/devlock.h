/* SPDX-License-Identifier: MIT */
/* Device locks: which job may run on a device, among all kettle-execs of a machine. */
#ifndef KETTLE_EXEC_MACHINE_DEVLOCK_H
#define KETTLE_EXEC_MACHINE_DEVLOCK_H

#include <kettle/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define DEVLOCK_RETRY_MS 25

/*
 * A lock is a flock on LOCKS/NAME.SLOT. Its descriptor is handed to the sandbox's init as well, so that a job that is
 * still dying keeps the device even when its kettle-exec is gone. Between processes the kernel decides; within one,
 * the job that came first goes first. All on the loop thread.
 */
struct devlock_table {
	uv_loop_t *loop;
	const char *dir; /* borrowed */
	uv_timer_t timer;
	struct devlock *waiting; /* by rank */
	bool open;
};

/* One request for a device. Zero-initialise (fd -1); it must stay where it is while it waits or holds. */
struct devlock {
	int fd; /* the lock while it is held, else -1 */
	unsigned slot;
	char *name; /* as on disk, without the slot */
	unsigned slots;
	bool waits;
	uint64_t rank, since_ns, waited_ns;
	void (*granted)(void *arg);
	void *arg;
	struct devlock *next;
};

int devlock_open(struct devlock_table *table, uv_loop_t *loop, const char *dir, struct kettle_error *err);
/* Closes the timer; none may wait any more. */
void devlock_close(struct devlock_table *table);

/* The name on disk for a name of a plan: what could lead elsewhere is replaced, a digest keeps it apart. New string. */
char *devlock_name(const char *name);
/*
 * Takes one of the slots; of those that wait the lowest rank goes first. Returns 1 when it is held at once, 0 when it
 * waits (granted is called later), or a code: KETTLE_EIO, the locks cannot be made here.
 */
int devlock_acquire(struct devlock_table *table, struct devlock *lock, const char *name, unsigned slots, uint64_t rank,
	void (*granted)(void *arg), void *arg, struct kettle_error *err);
/* Gives it back or stops waiting; harmless when neither. */
void devlock_release(struct devlock_table *table, struct devlock *lock);

#endif
