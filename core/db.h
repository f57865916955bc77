/* SPDX-License-Identifier: MIT */
/* What operations on the store's thread work with: short forms over SQLite, and the events they write. */
#ifndef KETTLE_DB_H
#define KETTLE_DB_H

#include "store.h"

#include <sqlite3.h>

struct db {
	sqlite3 *handle;
	int64_t now_ms; /* wall clock at the beginning of the operation */
	json_t *events; /* written so far in this batch */
};

/*
 * Runs one statement with bindings: format has a letter for each parameter: i int64_t, d double, s text or NULL,
 * b (const void *, size_t) blob, j json_t * as text (NULL: null), n NULL. A statement is prepared once and kept.
 */
int db_exec(struct db *db, struct kettle_error *err, const char *sql, const char *format, ...);
/* The same for queries: row is called for each row; non-zero ends it with that value. */
typedef int (*db_row)(void *arg, sqlite3_stmt *row);
int db_query(struct db *db, struct kettle_error *err, db_row row, void *arg, const char *sql, const char *format, ...);
/* The first row as an object of column name → value (columns that end in _json are parsed and lose the suffix); ENOENT:
 * none. */
int db_object(struct db *db, json_t **ret_row, struct kettle_error *err, const char *sql, const char *format, ...);
/* All rows as an array of such objects. */
int db_array(struct db *db, json_t **ret_rows, struct kettle_error *err, const char *sql, const char *format, ...);
/* The first column of the first row; ENOENT: no row. */
int db_int(struct db *db, int64_t *ret_value, struct kettle_error *err, const char *sql, const char *format, ...);
int64_t db_last_id(struct db *db);
int64_t db_changes(struct db *db);

/*
 * Writes a numbered event in the transaction at hand. ids that do not apply are 0. data is borrowed, may be NULL.
 * scope says who may see it: 'p' everybody who may see the board, 'u' the user (and admins) alone, 'a' admins.
 */
int db_event(struct db *db, const char *kind, char scope, int64_t leaderboard, int64_t submission, int64_t user,
	json_t *data, struct kettle_error *err);

#endif
