/* SPDX-License-Identifier: MIT */
/* The database file: opened, or refused with a sentence that says why. */
#ifndef KETTLE_STORE_DB_FILE_H
#define KETTLE_STORE_DB_FILE_H

#include <kettle/error.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

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

#endif
