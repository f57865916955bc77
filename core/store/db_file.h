/* SPDX-License-Identifier: MIT */
/* The database file: opened, or refused with a sentence that says why. */
#pragma once

#include <kettle/error.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DBFILE_BUSY_MS 2000                /* how long another program's lock is waited for */
#define DBFILE_CACHE_KIB 8192              /* page cache of a connection */
#define DBFILE_FULL_CHECK_BYTES (4u << 20) /* a database up to this size is checked whole when it is opened */

/*
 * Opens or creates the database for writing: makes its folder (0700) and the file (0600), refuses files that cannot work
 * (a network file system, no regular file, not a database, another program's, corrupt, read-only, locked, newer), sets
 * WAL and the other settings of every connection, applies the migrations. `owner`: see migrations_apply. If it fails, it
 * removes the files that it created. Blocks. EINVAL, EACCES, EUNAVAIL, EVERSION, EIO.
 */
int db_file_open(const char *path, const char *owner, sqlite3 **ret_handle, struct kettle_error *err);
/* A second connection to a database that is open, which can only read. */
int db_file_open_reader(const char *path, sqlite3 **ret_handle, struct kettle_error *err);
/*
 * A connection to a database where nothing can be written (a full or read-only disk, a folder or file without the right).
 * `alone`: no other process has it, nor gets it while the connection is open (db_lock_share). Makes and changes nothing; refuses
 * what db_file_open refuses, an older schema, and a database whose log holds what is not in the file yet, where SQLite needs
 * to write for it. Blocks. EINVAL, EUNAVAIL, EVERSION, EIO.
 */
int db_file_open_fixed(const char *path, bool alone, sqlite3 **ret_handle, struct kettle_error *err);
/* Checks that the path still names the open file: otherwise everything written would be lost with it. EIO: it does not. */
int db_file_check_place(sqlite3 *handle, struct kettle_error *err);

/* The name of the network file system of statfs's f_type; NULL: none that is known, WAL works. [any] */
const char *db_file_network_name(uint32_t magic);

/* ---- DB.lock: who runs jobs on a database. The lock is the flock, never the file's existence. ---- */

/* The process that holds it, as far as it is known. */
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

/* ---- the numbered changes of the schema, forward only ---- */

/* In the header of every database of Kettle: "Ketl". */
#define MIGRATIONS_APPLICATION_ID 0x4b65746c

/* The schema that this program knows; a database with a higher number is refused. [any] */
int migrations_newest(void);
/*
 * Brings the database from its version (PRAGMA user_version) to the newest, each step in a transaction of its own, the
 * first one together with `owner`, who becomes the admin of a new database (identity cli:OWNER; NULL: none).
 * EVERSION: it is newer. EUNAVAIL: locked. EIO, EINTERNAL. Blocks.
 */
int migrations_apply(sqlite3 *handle, const char *owner, struct kettle_error *err);

/* Refuses a database of another schema than the newest, which reading cannot bring up to date. EVERSION, EIO. Blocks. */
int migrations_check(sqlite3 *handle, struct kettle_error *err);
