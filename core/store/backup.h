/* SPDX-License-Identifier: MIT */
/* Copies of a database that is in use. */
#ifndef KETTLE_STORE_BACKUP_H
#define KETTLE_STORE_BACKUP_H

#include <kettle/error.h>
#include <stdbool.h>
#include <stdint.h>

struct sqlite3;

/* How far something is, in units of its own; false: it shall stop (ECANCELED). Called where the work is done. */
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
 * Makes the file (0600) or folder (0700) PATH.PID.part that is to become `path`. Those that a killed process left are
 * removed: its number is no process's, and no lock is held. *ret_fd locks a folder until it is closed. EACCES, ECONFLICT,
 * EIO. [any, blocks]
 */
int backup_part(const char *path, bool folder, char **ret_part, int *ret_fd, struct kettle_error *err);
/* Gives what backup_part made its name; a folder may take the place of an empty one, nothing else is replaced. The folder
 * of both is flushed. ECONFLICT, EIO. [any, blocks] */
int backup_name(const char *written, const char *path, struct kettle_error *err);

#endif
