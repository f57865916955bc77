/* SPDX-License-Identifier: MIT */
/* Copies of a database that is in use. */
#pragma once

#include <kettle/error.h>
#include <stdbool.h>
#include <stdint.h>

struct sqlite3;

/* Reports progress, in units of the work; false: stop (ECANCELED). Called on the thread that works. */
typedef bool (*backup_progress)(void *arg, int64_t done, int64_t total);

/*
 * Copies the database behind a connection of its own as one snapshot into the new file `path` (0600), whole or not at
 * all: written beside it, checked, flushed to the disk, then named. Nothing waits for it: writers go on, the log only
 * grows meanwhile. The copy is a single file that Kettle opens as it is. ECONFLICT: something is there already; EIO,
 * ECANCELED. [any, blocks]
 */
int backup_make(struct sqlite3 *from, const char *path, backup_progress progress, void *arg, int64_t *ret_bytes,
	struct kettle_error *err);

/*
 * Makes the file (0600) or folder (0700) PATH.PID.part that is to become `path`. Removes those that a killed process
 * left: no process has the number, and no lock is held. *ret_fd locks a folder until it is closed. EACCES, ECONFLICT,
 * EIO. [any, blocks]
 */
int backup_part(const char *path, bool folder, char **ret_part, int *ret_fd, struct kettle_error *err);
/*
 * Renames the file or folder of backup_part to `path`. A folder may replace an empty one; nothing else is replaced.
 * Flushes the parent folder. ECONFLICT, EIO. [any, blocks]
 */
int backup_name(const char *written, const char *path, struct kettle_error *err);
