/* SPDX-License-Identifier: MIT */
/* DB.lock: who runs jobs on a database. */
#ifndef KETTLE_STORE_DB_LOCK_H
#define KETTLE_STORE_DB_LOCK_H

#include <kettle/error.h>
#include <stdbool.h>
#include <sys/types.h>

/* Who holds it, as far as it is known. */
struct lock_holder {
	pid_t pid;      /* 0: unknown, or it has just gone */
	bool is_server; /* a server, not a command line */
};

/*
 * Tries to become the engine of the database: makes its folder (0700) and takes the lock beside it without waiting.
 * `stays` is written there for others to read. *ret_fd holds it until it is closed, which also happens when the process
 * dies. KETTLE_ECONFLICT: another process is; *ret_holder (may be NULL) names it. Blocking, short.
 */
int db_lock_take(
	const char *database, bool is_server, int *ret_fd, struct lock_holder *ret_holder, struct kettle_error *err);
/*
 * Keeps others from becoming the engine while *ret_fd is open, without writing anything. *ret_fd is -1 where there is
 * no lock file, and so no engine. KETTLE_ECONFLICT: another process is the engine. Blocking, short.
 */
int db_lock_share(const char *database, int *ret_fd, struct kettle_error *err);
/* The process that the lock's file names, if it lives. The lock is not taken, and no file is made. Blocking, short. */
struct lock_holder db_lock_holder(const char *database);

#endif
