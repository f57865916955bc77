/* SPDX-License-Identifier: MIT */
/* Short forms over SQLite for the operations on the store's threads, and the events that they write. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <sqlite3.h>
#include <stdint.h>

struct db_statement;

struct db {
	sqlite3 *handle;
	int64_t now_ms; /* wall clock at the beginning of the operation's batch */
	json_t *events; /* written so far in this batch; NULL on a connection that only reads */
	json_t *actor;  /* the row behind the last actor_resolve: its strings live as long as the operation */
	struct db_statement *statements; /* the cache, newest first; only db.c touches it */
	void *kept;                      /* state that outlives operations on this connection (board_cache.h); NULL: none */
	void (*kept_free)(void *kept);
};

/* Closes the connection and frees everything that belongs to it. db and its handle may be NULL. */
void db_close(struct db *db);

/*
 * Runs one statement with bindings. format has a letter for each parameter: i int64_t (cast narrower types), d double,
 * s text or NULL, b (const void *, size_t) blob, j json_t * as text (NULL or JSON null: null), r json_t * as a real
 * (not a number: null), n NULL. A statement is prepared once and kept. Errors as db_error_fail.
 */
int db_exec(struct db *db, struct kettle_error *err, const char *sql, const char *format, ...);
/* The same for queries: row is called for each row; non-zero ends it with that value. It may query again. */
typedef int (*db_row)(void *arg, sqlite3_stmt *row);
int db_query(struct db *db, struct kettle_error *err, db_row row, void *arg, const char *sql, const char *format, ...);
/*
 * The first row as an object of column name → value. The suffix of a name is cut off, and gives the type: _json is
 * parsed, _bool becomes a boolean, _iso (ms since 1970) an ISO 8601 time, _text the number as a string. A blob becomes
 * contents ({"text"} or {"base64"}). ENOENT: no row (the caller has a better message).
 */
int db_object(struct db *db, json_t **ret_row, struct kettle_error *err, const char *sql, const char *format, ...);
/* All rows as an array of such objects. */
int db_array(struct db *db, json_t **ret_rows, struct kettle_error *err, const char *sql, const char *format, ...);
/* The first column of the first row; NULL reads as 0; ENOENT: no row. */
int db_int(struct db *db, int64_t *ret_value, struct kettle_error *err, const char *sql, const char *format, ...);
int64_t db_last_id(struct db *db);
int64_t db_changes(struct db *db);

/* A text column as a string, with what is not UTF-8 cleaned. New reference. */
json_t *db_text(sqlite3_stmt *row, int column);
/* Copies a text column into an array of size bytes; "" for NULL. */
void db_copy_text(char *to, size_t size, sqlite3_stmt *row, int column);
/* One row as such an object, for a db_row. NULL: a member holds invalid JSON. New reference. */
json_t *db_row_object(sqlite3_stmt *row);

/*
 * Writes a numbered event in the transaction at hand. ids that do not apply are 0. data is borrowed, may be NULL.
 * scope says who may see it: 'p' users who may see the board, 'u' the user (and admins) alone, 'a' admins. The
 * kinds and their data are listed in events.h.
 */
int db_event(struct db *db, const char *kind, char scope, int64_t leaderboard, int64_t submission, int64_t user,
	json_t *data, struct kettle_error *err);
/* In SQL on a row of boards: whether its opening time is still to come. now_ms() is now_ms of struct db. */
#define DB_UNOPENED "coalesce(opens_at > now_ms(), 0)"
/* The columns of an event as it is published. */
#define DB_EVENT_COLUMNS \
	"seq, at AS at_iso, kind, scope, closed AS closed_bool, leaderboard, leaderboard_name, submission, user, " \
	"user_name, data_json"
/* A row of DB_EVENT_COLUMNS, without the members that do not apply. New reference. */
json_t *db_event_object(sqlite3_stmt *row);

/* The path behind a connection, for messages; valid as long as the connection. */
const char *db_error_path(sqlite3 *handle);
/*
 * The sentence for a result code of SQLite: disk full (KETTLE_CAUSE_FULL), read-only, corrupt, … EIO; locked: EUNAVAIL;
 * violated uniqueness: ECONFLICT; any other: EINTERNAL. `doing` completes "… failed while …".
 */
int db_error_fail(sqlite3 *handle, int rc, const char *doing, struct kettle_error *err);
