/* SPDX-License-Identifier: MIT */
/*
 * Connections that only read, for operations that run beside the store's threads.
 *
 * Theory of operation. To open a connection and to prepare its statements costs more than most reads. So a few that are not
 * in use stay open with their statements, but without their pages. The newest is taken first. One whose file is no longer the
 * database is closed instead. An open connection would keep the store from emptying its log at the end, so from
 * readers_close on none is kept.
 */
#pragma once

#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#define READERS_IDLE_MAX 3 /* connections that stay open */

struct db;

struct readers {
	const char *path;
	uv_mutex_t lock;
	struct db *idle[READERS_IDLE_MAX];
	size_t count;
	bool closed;
};

/* path: of the database; borrowed. Opens nothing. */
void readers_init(struct readers *readers, const char *path);
/* A connection for one operation at a time, without a transaction. Blocks. Errors of db_file_open_reader. [any] */
int readers_take(struct readers *readers, struct db **ret_db, struct kettle_error *err);
/* Keeps the connection, or closes it. [any] */
void readers_give(struct readers *readers, struct db *db_take);
/* Closes the connections that are not in use, and from now on each one that is given. [any] */
void readers_close(struct readers *readers);
/* After the last readers_give. Closes them, too. */
void readers_free(struct readers *readers);
