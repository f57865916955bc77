/* SPDX-License-Identifier: MIT */
/* Contents by their hashes: code and files once each, versions of tasks, and the removal of unused contents. */
#include <config.h>

#include "model/blobs.h"

#include "base/base.h"
#include "base/text.h"

int
blobs_put(struct db *db, const void *data, size_t size, int64_t *ret_blob, struct kettle_error *err)
{
	char hash[65];
	sha256_hex(data, size, hash);
	int rc = db_exec(db, err, "INSERT INTO blobs (sha256, size, data) VALUES (?, ?, ?) ON CONFLICT (sha256) DO NOTHING",
		"sib", hash, (int64_t)size, data, size);
	if (rc < 0)
		return rc;
	if (db_changes(db) == 1) {
		*ret_blob = db_last_id(db);
		return 0;
	}
	return db_int(db, ret_blob, err, "SELECT id FROM blobs WHERE sha256 = ?", "s", hash);
}

static int
put_file(struct db *db, int64_t task, const char *name, const json_t *contents, struct kettle_error *err)
{
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	int64_t blob = 0;
	int rc = contents_bytes(contents, &data, &size, err);
	if (rc == 0)
		rc = blobs_put(db, data, size, &blob, err);
	return rc < 0 ? rc
				  : db_exec(
						db, err, "INSERT INTO task_files (task, name, blob) VALUES (?, ?, ?)", "isi", task, name, blob);
}

static int
put_version(struct db *db, const json_t *bundle, const char *hash, int64_t *ret_task, struct kettle_error *err)
{
	AUTO_JSON json_t *rest = json_copy((json_t *)bundle);
	const char *run_hash = json_text_or_null(bundle, "hash");
	const char *name = json_text_or_null(bundle, "name");
	const json_t *yml = json_object_get(bundle, "task");
	const char *harness = json_text_or_null(yml, "harness");
	(void)json_object_del(rest, "files");
	int rc = db_exec(db, err,
		"INSERT INTO tasks (content_hash, run_hash, name, bundle_json, created_at, language, harness, judging_json) "
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		"sssjissj", hash, run_hash ? run_hash : "", name ? name : "", rest, db->now_ms, json_text_or_null(yml, "lang"),
		harness ? harness : "task", json_object_get(bundle, "judging"));
	int64_t task = db_last_id(db);
	json_object_each(json_object_get(bundle, "files"), file, contents) {
		if (rc == 0)
			rc = put_file(db, task, file, contents, err);
	}
	if (rc == 0)
		*ret_task = task;
	return rc;
}

void
blobs_task_hash(const json_t *bundle, char ret_hash[65])
{
	AUTO_JSON json_t *rest = json_copy((json_t *)bundle);
	(void)json_object_del(rest, "imported");
	AUTO_FREE char *text = json_dumps(rest, JSON_SORT_KEYS | JSON_COMPACT);
	sha256_hex(text, strlen(text), ret_hash);
}

/* Does nothing if the version has its imports: another board of the same task does not change how runs begin. */
static int
note_imports(struct db *db, int64_t task, const json_t *bundle, struct kettle_error *err)
{
	const json_t *imported = json_object_get(bundle, "imported");
	if (!imported)
		return 0;
	return db_exec(db, err,
		"UPDATE tasks SET bundle_json = json_set(bundle_json, '$.imported', json(?)) WHERE id = ? AND "
		"json_extract(bundle_json, '$.imported') IS NULL",
		"ji", imported, task);
}

int
blobs_put_task(struct db *db, const json_t *bundle, int64_t *ret_task, struct kettle_error *err)
{
	char hash[65];
	blobs_task_hash(bundle, hash);
	int rc = db_int(db, ret_task, err, "SELECT id FROM tasks WHERE content_hash = ?", "s", hash);
	if (rc == KETTLE_ENOENT)
		return put_version(db, bundle, hash, ret_task, err);
	return rc == 0 ? note_imports(db, *ret_task, bundle, err) : rc;
}

static int
add_blobs_file(void *arg, sqlite3_stmt *row)
{
	const void *data = sqlite3_column_blob(row, 1);
	json_t *contents = contents_json(data ? data : "", (size_t)sqlite3_column_bytes(row, 1));
	return json_object_set_new(arg, (const char *)sqlite3_column_text(row, 0), contents) < 0 ? KETTLE_EIO : 0;
}

int
blobs_get_task(struct db *db, int64_t task, json_t **ret_bundle, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	int rc = db_object(db, &row, err, "SELECT bundle_json FROM tasks WHERE id = ?", "i", task);
	if (rc == KETTLE_ENOENT)
		return kettle_fail(err, rc, "There is no such version of a task.");
	if (rc < 0)
		return rc;
	json_t *bundle = json_object_get(row, "bundle"), *files = json_object();
	if (json_object_set_new(bundle, "files", files) < 0) /* it has freed files */
		return kettle_fail(err, KETTLE_EIO, "The version %lld of a task is damaged in the database.", (long long)task);
	rc = db_query(db, err, add_blobs_file, files,
		"SELECT f.name, b.data FROM task_files f JOIN blobs b ON b.id = f.blob WHERE f.task = ? ORDER BY f.name", "i",
		task);
	if (rc == KETTLE_EIO)
		return kettle_fail(err, rc, "A file's name in the database is not UTF-8 text.");
	if (rc == 0)
		*ret_bundle = json_incref(bundle);
	return rc;
}

static int
exec_all(struct db *db, const char *const *sql, size_t count, int64_t id, int64_t last, struct kettle_error *err)
{
	int rc = 0;
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = db_exec(db, err, sql[i], strstr(sql[i], "?2") ? "ii" : strstr(sql[i], "?1") ? "i" : NULL, id, last);
	return rc;
}

#define NOTE_TABLES \
	"CREATE TEMP TABLE IF NOT EXISTS noted_blobs (id INTEGER PRIMARY KEY)", \
		"CREATE TEMP TABLE IF NOT EXISTS noted_tasks (id INTEGER PRIMARY KEY)"
#define NOTE_FILES \
	"INSERT OR IGNORE INTO temp.noted_blobs SELECT blob FROM task_files WHERE task IN (SELECT id FROM " \
	"temp.noted_tasks)"

int
blobs_note_submissions(struct db *db, int64_t leaderboard, int64_t last, struct kettle_error *err)
{
	static const char *const sql[] = {
		NOTE_TABLES,
		"INSERT OR IGNORE INTO temp.noted_tasks SELECT task FROM submissions WHERE leaderboard = ?1 AND id <= ?2",
		"INSERT OR IGNORE INTO temp.noted_blobs SELECT code FROM submissions WHERE leaderboard = ?1 AND id <= ?2",
		"INSERT OR IGNORE INTO temp.noted_blobs SELECT a.blob FROM submissions s JOIN jobs j ON j.submission = s.id "
		"JOIN artifacts a ON a.job = j.id WHERE s.leaderboard = ?1 AND s.id <= ?2 AND a.blob IS NOT NULL",
		NOTE_FILES,
	};
	return exec_all(db, sql, ARRAY_SIZE(sql), leaderboard, last, err);
}

int
blobs_note_submission(struct db *db, int64_t submission, struct kettle_error *err)
{
	static const char *const sql[] = {
		NOTE_TABLES,
		"INSERT OR IGNORE INTO temp.noted_tasks SELECT task FROM submissions WHERE id = ?1",
		"INSERT OR IGNORE INTO temp.noted_blobs SELECT code FROM submissions WHERE id = ?1",
		"INSERT OR IGNORE INTO temp.noted_blobs SELECT a.blob FROM jobs j JOIN artifacts a ON a.job = j.id WHERE "
		"j.submission = ?1 AND a.blob IS NOT NULL",
		NOTE_FILES,
	};
	return exec_all(db, sql, ARRAY_SIZE(sql), submission, 0, err);
}

int
blobs_note_task(struct db *db, int64_t task, struct kettle_error *err)
{
	static const char *const sql[] = {
		NOTE_TABLES,
		"INSERT OR IGNORE INTO temp.noted_tasks VALUES (?1)",
		NOTE_FILES,
	};
	return exec_all(db, sql, ARRAY_SIZE(sql), task, 0, err);
}

int
blobs_collect(struct db *db, struct kettle_error *err)
{
	static const char *const sql[] = {
		NOTE_TABLES,
		"DELETE FROM tasks WHERE id IN (SELECT id FROM temp.noted_tasks) AND NOT EXISTS (SELECT 1 FROM boards WHERE "
		"task = tasks.id) AND NOT EXISTS (SELECT 1 FROM submissions WHERE task = tasks.id)",
		"DELETE FROM blobs WHERE id IN (SELECT id FROM temp.noted_blobs) AND NOT EXISTS (SELECT 1 FROM submissions "
		"WHERE code = blobs.id) AND NOT EXISTS (SELECT 1 FROM task_files WHERE blob = blobs.id) AND NOT EXISTS (SELECT "
		"1 FROM artifacts WHERE blob = blobs.id)",
		"DELETE FROM temp.noted_blobs",
		"DELETE FROM temp.noted_tasks",
	};
	return exec_all(db, sql, ARRAY_SIZE(sql), 0, 0, err);
}
