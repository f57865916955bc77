/* SPDX-License-Identifier: MIT */
/* Short forms over SQLite for the operations on the store's threads, and the events they write. */
#include <config.h>

#include "store/db.h"

#include "base/base.h"
#include "base/text.h"

#include <errno.h>

/* ---- the errors of a database as sentences ---- */

const char *
db_error_path(sqlite3 *handle)
{
	const char *path = handle ? sqlite3_db_filename(handle, "main") : NULL;
	return path ? path : "";
}

/* A quota and a limit of file size are full disks too; SQLite calls them input/output errors. */
static bool
is_full(sqlite3 *handle, int rc)
{
	int number = handle ? sqlite3_system_errno(handle) : 0;
	return (rc & 0xff) == SQLITE_FULL ||
		   ((rc & 0xff) == SQLITE_IOERR && (number == EDQUOT || number == EFBIG || number == ENOSPC));
}

int
db_error_fail(sqlite3 *handle, int rc, const char *doing, struct kettle_error *err)
{
	const char *path = db_error_path(handle);
	if (is_full(handle, rc))
		return kettle_blame(err, KETTLE_CAUSE_FULL, "",
			kettle_fail(err, KETTLE_EIO,
				"The disk that holds the database %s is full: nothing was stored; free some space and try again.",
				path));
	switch (rc & 0xff) {
	case SQLITE_CORRUPT:
		return kettle_fail(err, KETTLE_EIO,
			"The database %s is damaged (found while %s): stop Kettle and restore a backup.", path, doing);
	case SQLITE_NOTADB:
		return kettle_fail(err, KETTLE_EINVAL, "%s is not a database: name another file.", path);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return kettle_fail(err, KETTLE_EUNAVAIL,
			"The database %s is locked by another program: end that program and try again.", path);
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return kettle_fail(
			err, KETTLE_EIO, "The database %s cannot be written: make it and its folder writable.", path);
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return kettle_fail(err, KETTLE_EIO, "Reading or writing the database %s failed while %s: %s.", path, doing,
			handle ? sqlite3_errmsg(handle) : sqlite3_errstr(rc));
	case SQLITE_NOMEM:
		xalloc_fail();
	case SQLITE_INTERRUPT:
		return kettle_fail(err, KETTLE_ECANCELED, "The work on the database was cancelled.");
	case SQLITE_CONSTRAINT:
		if (rc == SQLITE_CONSTRAINT_UNIQUE || rc == SQLITE_CONSTRAINT_PRIMARYKEY)
			return kettle_fail(
				err, KETTLE_ECONFLICT, "The database already contains this: %s.", sqlite3_errmsg(handle));
		break;
	}
	return kettle_fail(err, KETTLE_EINTERNAL, "The database %s failed while %s: %s.", path, doing,
		handle ? sqlite3_errmsg(handle) : sqlite3_errstr(rc));
}

#define STATEMENTS_MAX 200 /* prepared statements kept; beyond, all that are idle go */

/* One prepared statement. Busy while it is stepped: another caller then gets one of its own. */
struct db_statement {
	struct db_statement *next;
	uint64_t hash;
	sqlite3_stmt *statement;
	bool busy;
};

static uint64_t
hash_of(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash;
}

static void
statements_drop(struct db *db, bool all)
{
	for (struct db_statement **slot = &db->statements; *slot;) {
		struct db_statement *entry = *slot;
		if (entry->busy && !all) {
			slot = &entry->next;
			continue;
		}
		*slot = entry->next;
		sqlite3_finalize(entry->statement);
		free(entry);
	}
}

void
db_close(struct db *db)
{
	if (!db)
		return;
	statements_drop(db, true);
	if (db->kept)
		db->kept_free(STEAL(db->kept));
	json_decref_all(STEAL(db->events), STEAL(db->actor));
	sqlite3_close(STEAL(db->handle));
}

static struct db_statement *
statement_find(struct db *db, const char *sql, uint64_t hash)
{
	size_t count = 0;
	for (struct db_statement **slot = &db->statements; *slot; slot = &(*slot)->next, count++) {
		struct db_statement *entry = *slot;
		if (entry->busy || entry->hash != hash || strcmp(sqlite3_sql(entry->statement), sql) != 0)
			continue;
		*slot = entry->next;
		entry->next = db->statements;
		return db->statements = entry;
	}
	if (count >= STATEMENTS_MAX)
		statements_drop(db, false);
	return NULL;
}

/* now_ms() in SQL: the store's clock, in place of SQLite's, which is the system's. */
static void
now_ms(sqlite3_context *context, int count, sqlite3_value **values)
{
	(void)count, (void)values;
	const struct db *db = sqlite3_user_data(context);
	sqlite3_result_int64(context, db->now_ms);
}

static int
statement_get(struct db *db, const char *sql, struct db_statement **ret_entry, struct kettle_error *err)
{
	uint64_t hash = hash_of(sql);
	struct db_statement *entry = statement_find(db, sql, hash);
	if (!entry) {
		sqlite3_stmt *statement = NULL;
		int rc = SQLITE_OK;
		if (!db->statements)
			rc = sqlite3_create_function(db->handle, "now_ms", 0, SQLITE_UTF8, db, now_ms, NULL, NULL);
		if (rc == SQLITE_OK)
			rc = sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL);
		if (rc != SQLITE_OK)
			return db_error_fail(db->handle, rc, "reading the schema", err);
		entry = xcalloc(1, sizeof(*entry));
		*entry = (struct db_statement){.next = db->statements, .hash = hash, .statement = statement};
		db->statements = entry;
	}
	entry->busy = true;
	*ret_entry = entry;
	return 0;
}

static int
bind_json(sqlite3_stmt *statement, int index, const json_t *value)
{
	if (!value || json_is_null(value))
		return sqlite3_bind_null(statement, index);
	return sqlite3_bind_text(statement, index, json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY), -1, free);
}

static int
bind_one(sqlite3_stmt *statement, int index, char letter, va_list *args)
{
	switch (letter) {
	case 'i':
		return sqlite3_bind_int64(statement, index, va_arg(*args, int64_t));
	case 'd':
		return sqlite3_bind_double(statement, index, va_arg(*args, double));
	case 's':
		return sqlite3_bind_text(statement, index, va_arg(*args, const char *), -1, SQLITE_STATIC);
	case 'b': {
		const void *data = va_arg(*args, const void *);
		size_t size = va_arg(*args, size_t);
		return sqlite3_bind_blob64(statement, index, data ? data : "", size, SQLITE_STATIC);
	}
	case 'r': {
		const json_t *number = va_arg(*args, const json_t *);
		return json_is_number(number) ? sqlite3_bind_double(statement, index, json_number_value(number))
									  : sqlite3_bind_null(statement, index);
	}
	case 'j':
		return bind_json(statement, index, va_arg(*args, const json_t *));
	case 'n':
		return sqlite3_bind_null(statement, index);
	}
	return SQLITE_MISUSE;
}

static int
db_run(
	struct db *db, struct kettle_error *err, db_row row, void *arg, const char *sql, const char *format, va_list *args)
{
	struct db_statement *entry = NULL;
	int rc = statement_get(db, sql, &entry, err);
	if (rc < 0)
		return rc;
	int result = SQLITE_OK;
	for (int i = 0; format && format[i] && result == SQLITE_OK; i++)
		result = bind_one(entry->statement, i + 1, format[i], args);
	while (result == SQLITE_OK && rc == 0) {
		result = sqlite3_step(entry->statement);
		if (result == SQLITE_ROW) {
			result = SQLITE_OK;
			rc = row ? row(arg, entry->statement) : 0;
		}
	}
	if (rc == 0 && result != SQLITE_DONE)
		rc = db_error_fail(db->handle, result, row ? "reading" : "writing", err);
	sqlite3_reset(entry->statement);
	sqlite3_clear_bindings(entry->statement);
	entry->busy = false;
	return rc;
}

int
db_exec(struct db *db, struct kettle_error *err, const char *sql, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int rc = db_run(db, err, NULL, NULL, sql, format, &args);
	va_end(args);
	return rc;
}

int
db_query(struct db *db, struct kettle_error *err, db_row row, void *arg, const char *sql, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int rc = db_run(db, err, row, arg, sql, format, &args);
	va_end(args);
	return rc;
}

/* Text of a column; what is not UTF-8 (a damaged database) is cleaned. */
static json_t *
text_value(const char *text, size_t size)
{
	json_t *value = json_stringn(text, size);
	if (value)
		return value;
	AUTO_BUF struct buf clean = {0};
	utf8_sanitize(text, size, &clean);
	return json_stringn(clean.data ? clean.data : "", clean.len);
}

static json_t *
plain_value(sqlite3_stmt *row, int column)
{
	switch (sqlite3_column_type(row, column)) {
	case SQLITE_INTEGER:
		return json_integer(sqlite3_column_int64(row, column));
	case SQLITE_FLOAT:
		return json_real(sqlite3_column_double(row, column));
	case SQLITE_TEXT: {
		const char *text = (const char *)sqlite3_column_text(row, column);
		return text ? text_value(text, (size_t)sqlite3_column_bytes(row, column)) : NULL;
	}
	case SQLITE_BLOB: {
		const void *data = sqlite3_column_blob(row, column);
		return contents_json(data ? data : "", (size_t)sqlite3_column_bytes(row, column));
	}
	}
	return json_null();
}

static json_t *
value_parsed(sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);
	return text ? json_loadb(text, (size_t)sqlite3_column_bytes(row, column), JSON_DECODE_ANY, NULL) : NULL;
}

static json_t *
value_bool(sqlite3_stmt *row, int column)
{
	return json_boolean(sqlite3_column_int(row, column) != 0);
}

static json_t *
value_iso(sqlite3_stmt *row, int column)
{
	return json_string(TIME_TEXT(sqlite3_column_int64(row, column)));
}

json_t *
db_text(sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);
	return text ? text_value(text, (size_t)sqlite3_column_bytes(row, column)) : NULL;
}

void
db_copy_text(char *to, size_t size, sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);
	(void)snprintf(to, size, "%s", text ? text : "");
}

static const struct suffix {
	const char *text;
	json_t *(*value)(sqlite3_stmt *row, int column);
} suffixes[] = {{"_json", value_parsed}, {"_bool", value_bool}, {"_iso", value_iso}, {"_text", db_text}};

static const struct suffix *
suffix_of(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		size_t size = strlen(suffixes[i].text);
		/* The last letters differ: for nearly every column this is all there is to do. */
		if (name[len - 1] == suffixes[i].text[size - 1] && len > size &&
			memcmp(name + len - size, suffixes[i].text, size) == 0)
			return &suffixes[i];
	}
	return NULL;
}

static int
set_column(json_t *object, sqlite3_stmt *row, int column)
{
	const char *name = sqlite3_column_name(row, column);
	size_t len = name ? strlen(name) : 0;
	if (len == 0)
		return -1;
	const struct suffix *suffix = suffix_of(name, len);
	bool null = sqlite3_column_type(row, column) == SQLITE_NULL;
	/* Names of columns are ours: they need no check. */
	if (!suffix)
		return json_object_setn_new_nocheck(object, name, len, plain_value(row, column));
	return json_object_setn_new_nocheck(
		object, name, len - strlen(suffix->text), null ? json_null() : suffix->value(row, column));
}

json_t *
db_row_object(sqlite3_stmt *row)
{
	AUTO_JSON json_t *object = json_object();
	for (int i = 0; i < sqlite3_column_count(row); i++)
		if (set_column(object, row, i) < 0)
			return NULL;
	return STEAL(object);
}

static int
first_object(void *arg, sqlite3_stmt *row)
{
	json_t **object = arg;
	*object = db_row_object(row);
	return 1;
}

static int
add_object(void *arg, sqlite3_stmt *row)
{
	return json_array_append_new(arg, db_row_object(row)) < 0 ? KETTLE_EIO : 0;
}

static int
first_int(void *arg, sqlite3_stmt *row)
{
	*(int64_t *)arg = sqlite3_column_int64(row, 0);
	return 1;
}

static int
fail_row(struct db *db, struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_EIO, "The database %s is damaged (a row cannot be read): restore a backup.",
		db_error_path(db->handle));
}

static int
fail_none(struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_ENOENT, "There is no such row.");
}

int
db_object(struct db *db, json_t **ret_row, struct kettle_error *err, const char *sql, const char *format, ...)
{
	json_t *object = NULL;
	va_list args;
	va_start(args, format);
	int rc = db_run(db, err, first_object, &object, sql, format, &args);
	va_end(args);
	if (rc <= 0)
		return rc < 0 ? rc : fail_none(err);
	if (!object)
		return fail_row(db, err);
	*ret_row = object;
	return 0;
}

int
db_array(struct db *db, json_t **ret_rows, struct kettle_error *err, const char *sql, const char *format, ...)
{
	AUTO_JSON json_t *rows = json_array();
	struct kettle_error local = {0};
	va_list args;
	va_start(args, format);
	int rc = db_run(db, &local, add_object, rows, sql, format, &args);
	va_end(args);
	if (rc < 0 && local.code == 0)
		return fail_row(db, err);
	if (rc < 0)
		return kettle_fail(err, rc, "%s", local.message);
	*ret_rows = STEAL(rows);
	return 0;
}

int
db_int(struct db *db, int64_t *ret_value, struct kettle_error *err, const char *sql, const char *format, ...)
{
	int64_t value = 0;
	va_list args;
	va_start(args, format);
	int rc = db_run(db, err, first_int, &value, sql, format, &args);
	va_end(args);
	if (rc <= 0)
		return rc < 0 ? rc : fail_none(err);
	*ret_value = value;
	return 0;
}

int64_t
db_last_id(struct db *db)
{
	return sqlite3_last_insert_rowid(db->handle);
}

int64_t
db_changes(struct db *db)
{
	return sqlite3_changes(db->handle);
}

json_t *
db_event_object(sqlite3_stmt *row)
{
	json_t *event = db_row_object(row), *value;
	const char *key;
	void *next;
	json_object_foreach_safe(event, next, key, value)
		if (json_is_null(value))
			(void)json_object_del(event, key);
	return event;
}

/* The names of the board and the user, which an event keeps because it outlives both. */
struct names {
	bool closed;
	json_t *board, *user;
};

static int
read_names(void *arg, sqlite3_stmt *row)
{
	struct names *names = arg;
	names->closed = sqlite3_column_int(row, 0) != 0;
	names->board = plain_value(row, 1);
	names->user = plain_value(row, 2);
	return 1;
}

static void
set_known(json_t *event, const char *key, json_t *value_take)
{
	if (json_is_null(value_take))
		json_decref(value_take);
	else
		json_object_set_new(event, key, value_take);
}

static json_t *
id_or_null(int64_t id)
{
	return id ? json_integer(id) : json_null();
}

/* Makes the event as db_event_object would read it. RETURNING would give the same for several times the cost. */
static void
post_event(struct db *db, const char *kind, const char *scope, const int64_t ids[3], const struct names *names,
	const json_t *data)
{
	json_t *event = json_pack("{s:I, s:s, s:s, s:s, s:b}", "seq", (json_int_t)db_last_id(db), "at",
		TIME_TEXT(db->now_ms), "kind", kind, "scope", scope, "closed", names->closed);
	set_known(event, "leaderboard", id_or_null(ids[0]));
	set_known(event, "leaderboard_name", json_incref(names->board));
	set_known(event, "submission", id_or_null(ids[1]));
	set_known(event, "user", id_or_null(ids[2]));
	set_known(event, "user_name", json_incref(names->user));
	if (data)
		json_object_set_new(event, "data", json_deep_copy(data));
	json_array_append_new(db->events, event);
}

int
db_event(struct db *db, const char *kind, char scope, int64_t leaderboard, int64_t submission, int64_t user,
	json_t *data, struct kettle_error *err)
{
	struct names names = {0};
	const char text[2] = {scope, '\0'};
	const int64_t ids[3] = {leaderboard, submission, user};
	int rc = db_query(db, err, read_names, &names,
		"SELECT coalesce(b.visibility = 'closed' OR " DB_UNOPENED
		", 0), b.name, u.name FROM (SELECT 1) LEFT JOIN leaderboards b ON b.id = ?1 LEFT JOIN users u ON u.id = ?2",
		"ii", leaderboard, user);
	if (rc > 0)
		rc = db_exec(db, err,
			"INSERT INTO events (at, kind, scope, closed, leaderboard, leaderboard_name, submission, user, user_name, "
			"data_json) VALUES (?, ?, ?, ?, nullif(?, 0), ?, nullif(?, 0), nullif(?, 0), ?, ?)",
			"issiisiisj", db->now_ms, kind, text, (int64_t)names.closed, leaderboard, json_string_value(names.board),
			submission, user, json_string_value(names.user), data);
	if (rc == 0)
		post_event(db, kind, text, ids, &names, data);
	json_decref_all(names.board, names.user);
	return rc;
}
