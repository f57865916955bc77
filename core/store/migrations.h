/* SPDX-License-Identifier: MIT */
/* The numbered changes of the schema, forward only. */
#ifndef KETTLE_STORE_MIGRATIONS_H
#define KETTLE_STORE_MIGRATIONS_H

#include <kettle/error.h>
#include <sqlite3.h>

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

#endif
