/* SPDX-License-Identifier: MIT */
/* The contents of a database as files for other programs: one table after the other, a row at a time. */
#include <config.h>

#include "model/export_files.h"

#include "base/base.h"
#include "base/csv.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/text.h"

#include <errno.h>
#include <sys/stat.h>

#define EXPORT_LOOK_ROWS 1000 /* between two checks whether to stop */

/* The submissions of leaderboards that are not being deleted. */
#define SHOWN "submissions WHERE leaderboard IN (SELECT id FROM leaderboards)"

static const struct table {
	const char *name, *sql;
} tables[] = {
	{"leaderboards",
		"SELECT b.id, b.name, b.description, u.name AS creator, b.created_at AS created_iso, b.deadline_at AS "
		"deadline_iso, b.visibility, b.code, b.jit_cache, b.after_deadline, b.opens_at AS opens_iso, (SELECT "
		"json_group_array(device) FROM "
		"leaderboard_devices d "
		"WHERE "
		"d.leaderboard = b.id) AS devices_json, t.name AS task, t.content_hash AS task_hash, "
		"t.harness, coalesce(t.judging_json, json_object('cpu', 'one process', 'gpu', 'one process')) AS "
		"judging_json FROM leaderboards b JOIN "
		"users u ON u.id = b.creator JOIN tasks t ON t.id = b.task ORDER BY b.id"},
	{"users", "SELECT id AS user_id, name AS user_name, role, created_at AS created_iso, banned_at IS NOT NULL AS "
			  "banned_bool, merged_into AS joined_into FROM users ORDER BY id"},
	{"submissions",
		"SELECT s.id AS submission_id, b.name AS leaderboard, s.user AS user_id, u.name AS user_name, s.mode, "
		"s.practice AS practice_bool, s.file_name, s.state, s.created_at AS created_iso, s.done_at AS done_iso, "
		"CASE WHEN s.flagged_at IS NOT NULL THEN coalesce(s.flag_reason, '') END AS "
		"flagged, c.sha256 AS code_sha256, c.size AS code_bytes, t.content_hash AS task_hash FROM "
		"submissions s JOIN leaderboards b ON b.id = s.leaderboard JOIN users u ON u.id = s.user JOIN blobs c ON c.id "
		"= s.code JOIN tasks t ON t.id = s.task ORDER BY s.id"},
	{"jobs", "SELECT id AS job, submission AS submission_id, device, superseded = 0 AS counts_bool, state, attempt, "
			 "unit, queued_at AS queued_iso, started_at AS started_iso, done_at AS ended_iso, score, low, high, error, "
			 "system_json FROM jobs WHERE submission IN (SELECT id FROM " SHOWN ") ORDER BY id"},
	{"runs", "SELECT r.id AS run, r.job, j.submission AS submission_id, j.device, r.mode, r.secret AS secret_bool, "
			 "r.idx AS \"index\", r.passed AS passed_bool, iif(r.secret, NULL, r.state) AS state, r.score, "
			 "iif(r.secret, NULL, r.low) AS low, iif(r.secret, NULL, r.high) AS high, iif(r.secret, NULL, r.start_at) "
			 "AS start_iso, iif(r.secret, NULL, r.end_at) AS end_iso, r.message, r.result_json FROM runs r JOIN jobs j "
			 "ON j.id = r.job WHERE j.submission IN (SELECT id FROM " SHOWN ") ORDER BY r.id"},
	{"audit", "SELECT a.seq, a.at AS at_iso, a.actor AS user_id, coalesce(u.name, a.actor_name) AS user_name, "
			  "a.command, a.submission "
			  "AS submission_id, a.boards_json AS leaderboards_json, a.users_json AS user_ids_json, a.args_json, "
			  "a.error FROM "
			  "audit a LEFT "
			  "JOIN users u ON u.id = a.actor ORDER BY a.seq"},
};

/* Every submitted file, once. */
static const char code_sql[] = "SELECT sha256, data FROM blobs WHERE id IN (SELECT code FROM " SHOWN ") ORDER BY id";

struct export
{
	struct db *db;
	const char *folder;
	bool csv;
	backup_progress progress;
	void *arg;
	int64_t done, total;
	FILE *out;
	int64_t rows; /* of this table */
	int number;   /* why a file could not be written: errno */
	bool stopped;
};

static int
fail_write(const char *path, int number, struct kettle_error *err)
{
	return kettle_fail(
		err, number == EACCES ? KETTLE_EACCES : KETTLE_EIO, "`%s` cannot be written: %s.", path, strerror(number));
}

/* One row more; non-zero ends the reading. */
static int
count_row(struct export *export)
{
	export->rows++;
	if (++export->done % EXPORT_LOOK_ROWS || !export->progress)
		return 0;
	if (export->done > export->total)
		export->total = export->done;
	export->stopped = !export->progress(export->arg, export->done, export->total);
	return export->stopped ? KETTLE_ECANCELED : 0;
}

/* ---- rows ---- */

static int
write_row(void *arg, sqlite3_stmt *statement)
{
	struct export *export = arg;
	AUTO_JSON json_t *row = db_row_object(statement);
	if (!row)
		return KETTLE_EIO;
	if (export->csv) {
		csv_put(export->out, row, false);
	} else {
		json_print(row, export->out, JSON_COMPACT);
		(void)fputc('\n', export->out);
	}
	if (ferror(export->out))
		return KETTLE_EIO;
	return count_row(export);
}

static int
fail_table(const struct export *export, const char *path, int number, struct kettle_error *err)
{
	if (export->stopped)
		return kettle_fail(err, KETTLE_ECANCELED, "The export was stopped; its files were removed.");
	if (err && err->code)
		return err->code;
	return fail_write(path, number, err);
}

/* The line of names, which a table without rows has too: it is joined to a row that is always there. */
static int
write_names(struct export *export, const struct table *table, struct kettle_error *err)
{
	AUTO_FREE char *sql = xasprintf("SELECT t.* FROM (SELECT 1) LEFT JOIN (%s LIMIT 1) t", table->sql);
	AUTO_JSON json_t *row = NULL;
	int rc = db_object(export->db, &row, err, sql, NULL);
	if (rc == 0)
		csv_put(export->out, row, true);
	return rc;
}

static int
write_table(struct export *export, const struct table *table, json_t *files, struct kettle_error *err)
{
	AUTO_FREE char *name = xasprintf("%s.%s", table->name, export->csv ? "csv" : "jsonl");
	AUTO_FREE char *path = path_join(export->folder, name);
	AUTO_FILE FILE *out = fopen(path, "wxe");
	if (!out)
		return fail_write(path, errno, err);
	export->out = out;
	export->rows = 0;
	int rc = export->csv ? write_names(export, table, err) : 0;
	if (rc == 0)
		rc = db_query(export->db, err, write_row, export, table->sql, NULL);
	int number = errno;
	if (rc == 0 && fflush(out) != 0) {
		rc = KETTLE_EIO;
		number = errno;
	}
	if (rc < 0)
		return fail_table(export, path, number, err);
	json_object_set_new(files, name, json_integer(export->rows));
	return 0;
}

/* ---- code ---- */

static int
write_code(void *arg, sqlite3_stmt *row)
{
	struct export *export = arg;
	struct kettle_error err = {0};
	AUTO_FREE char *path = xasprintf("%s/code/%s", export->folder, (const char *)sqlite3_column_text(row, 0));
	const void *data = sqlite3_column_blob(row, 1);
	if (file_write(path, data ? data : "", (size_t)sqlite3_column_bytes(row, 1), 0600, &err) < 0) {
		export->number = errno;
		return KETTLE_EIO;
	}
	return count_row(export);
}

static int
write_all_code(struct export *export, json_t *files, struct kettle_error *err)
{
	AUTO_FREE char *folder = path_join(export->folder, "code");
	if (mkdir(folder, 0700) != 0)
		return fail_write(folder, errno, err);
	export->rows = 0;
	int rc = db_query(export->db, err, write_code, export, code_sql, NULL);
	if (rc < 0)
		return fail_table(export, folder, export->number, err);
	json_object_set_new(files, "code/", json_integer(export->rows));
	return 0;
}

/* ---- all of it ---- */

static int
write_all(struct export *export, json_t *files, struct kettle_error *err)
{
	int rc = db_exec(export->db, err, "BEGIN", NULL);
	if (rc == 0)
		/* About how many rows there will be: numbers are given once, so what was deleted counts too. */
		rc = db_int(export->db, &export->total, err,
			"SELECT coalesce((SELECT max(id) FROM users), 0) + 2 * coalesce((SELECT max(id) FROM submissions), 0) + "
			"coalesce((SELECT max(id) FROM jobs), 0) + coalesce((SELECT max(id) FROM runs), 0)",
			NULL);
	for (size_t i = 0; i < ARRAY_SIZE(tables) && rc == 0; i++)
		rc = write_table(export, &tables[i], files, err);
	if (rc == 0)
		rc = write_all_code(export, files, err);
	if (!sqlite3_get_autocommit(export->db->handle))
		(void)db_exec(export->db, NULL, "ROLLBACK", NULL);
	return rc;
}

/* Nothing, or an empty folder. */
static int
check_free(const char *path, struct kettle_error *err)
{
	AUTO_DIR DIR *folder = opendir(path);
	size_t entries = 0;
	if (!folder && errno == ENOENT)
		return 0;
	while (folder && readdir(folder))
		entries++;
	if (folder && entries <= 2)
		return 0;
	return kettle_fail(err, KETTLE_ECONFLICT, "`%s` already exists%s: name a folder that is new or empty.", path,
		folder ? " and not empty" : "");
}

int
export_make(struct db *db, const char *path, bool csv, backup_progress progress, void *arg, json_t **ret_files,
	struct kettle_error *err)
{
	AUTO_JSON json_t *files = json_object();
	size_t len = strlen(path);
	while (len > 1 && path[len - 1] == '/')
		len--;
	AUTO_FREE char *bare = xasprintf("%.*s", (int)len, path), *folder = NULL;
	AUTO_FD int lock = -1;
	int rc = check_free(path, err);
	if (rc == 0)
		rc = backup_part(bare, true, &folder, &lock, err);
	if (rc < 0)
		return rc;
	struct export export = {.db = db, .folder = folder, .csv = csv, .progress = progress, .arg = arg};
	rc = write_all(&export, files, err);
	if (rc == 0)
		rc = backup_name(folder, bare, err);
	if (rc < 0)
		(void)file_remove_tree(folder, NULL);
	else
		*ret_files = STEAL(files);
	return rc;
}
