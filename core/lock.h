/* SPDX-License-Identifier: MIT */
/* DB.lock: who runs jobs on a database. */
#ifndef KETTLE_LOCK_H
#define KETTLE_LOCK_H

#include <kettle/error.h>
#include <sys/types.h>

/*
 * Tries to become the engine of the database: makes its folder (0700) and takes the lock beside it without waiting.
 * *ret_fd holds it until it is closed, which also happens when the process dies. KETTLE_ECONFLICT: somebody else is,
 * and *ret_holder (may be NULL) is their process id as far as it is known, else 0. Blocking, short.
 */
int lock_take(const char *database, int *ret_fd, pid_t *ret_holder, struct kettle_error *err);

#endif
