/* SPDX-License-Identifier: MIT */
/* The errors of a database as sentences. */
#ifndef KETTLE_STORE_DB_ERROR_H
#define KETTLE_STORE_DB_ERROR_H

#include <kettle/error.h>
#include <sqlite3.h>

/* The path behind a connection, for messages; valid as long as it. */
const char *db_error_path(sqlite3 *handle);
/*
 * What SQLite's result code means, as a sentence: disk full (KETTLE_CAUSE_FULL), read-only, corrupt, … EIO; locked: EUNAVAIL; a uniqueness
 * that would be broken: ECONFLICT; the rest: EINTERNAL. `doing` completes "… failed while …".
 */
int db_error_fail(sqlite3 *handle, int rc, const char *doing, struct kettle_error *err);

#endif
