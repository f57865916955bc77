/* SPDX-License-Identifier: MIT */
/* The folder of what jobs have on disk while they run; nothing in it outlives its kettle-exec for long. */
#ifndef KETTLE_EXEC_MACHINE_SPOOL_H
#define KETTLE_EXEC_MACHINE_SPOOL_H

#include <kettle/error.h>

/*
 * STATE/spool/PID-RANDOM/ (0700) is one kettle-exec's, as long as it holds the flock on the file `lock` in it. One
 * that no process locks was left by a dead process, and is removed when the next one opens its own.
 */
struct spool {
	char *dir;
	int lock;
	unsigned next;
};

/* Removes what the dead left, makes a folder of its own. Opened spools must be closed. [blocks] */
int spool_open(struct spool *spool, const char *state, struct kettle_error *err);
/* A new empty folder (0700) in it; new string. */
int spool_make(struct spool *spool, const char *prefix, char **ret_dir, struct kettle_error *err);
/* Removes everything. */
void spool_close(struct spool *spool);

#endif
