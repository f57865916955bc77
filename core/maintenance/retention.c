/* SPDX-License-Identifier: MIT */
/* Removes rows that the database need not keep any longer, in small parts. */
#include <config.h>

#include "maintenance/maintenance.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "model/rate_limit.h"
#include "model/settings.h"

#define DAY_MS INT64_C(86400000)

/* ---- files that jobs left ---- */

#define NOT_EVIDENCE(job) \
	"NOT EXISTS (SELECT 1 FROM jobs e JOIN submissions s ON s.id = e.submission WHERE e.id = " job \
	" AND s.flagged_at IS NOT NULL) "

/*
 * Keeps the row, which shows that there was a file. Contents without another use are removed with the contents, files
 * by a sweep.
 */
static int
expire_artifacts(struct db *db, struct retention *retention, bool *ret_more, struct kettle_error *err)
{
	AUTO_JSON json_t *rows = NULL;
	if (retention->limits.artifact_days == 0)
		return 0;
	int rc = db_array(db, &rows, err,
		"SELECT id, size FROM artifacts WHERE expired_at IS NULL AND created_at < ? AND " NOT_EVIDENCE(
			"artifacts.job") "ORDER BY created_at LIMIT ?",
		"ii", db->now_ms - retention->limits.artifact_days * DAY_MS, (int64_t)RETENTION_PART);
	for (size_t i = 0; i < json_array_size(rows) && rc == 0; i++) {
		const json_t *row = json_array_get(rows, i);
		rc = db_exec(db, err, "UPDATE artifacts SET expired_at = ?, path = NULL, blob = NULL WHERE id = ?", "ii",
			db->now_ms, member_int(row, "id"));
		retention->artifacts++;
		retention->artifact_bytes += member_int(row, "size");
	}
	*ret_more = json_array_size(rows) == RETENTION_PART;
	return rc;
}

/* ---- logs ---- */

static int
drop_log(struct db *db, int64_t job, bool compiled, struct retention *retention, struct kettle_error *err)
{
	int rc = db_exec(db, err,
		"UPDATE runs SET detail_json = json_remove(detail_json, '$.stdout', '$.stderr') WHERE job = ? AND detail_json "
		"IS NOT NULL",
		"i", job);
	int64_t changes = rc == 0 ? db_changes(db) : 0;
	if (rc == 0)
		rc = db_exec(db, err, "UPDATE jobs SET logs = 0, compilation_json = NULL WHERE id = ?", "i", job);
	if (rc == 0 && (compiled || changes > 0))
		retention->logs++;
	return rc;
}

static int
drop_logs(struct db *db, struct retention *retention, bool *ret_more, struct kettle_error *err)
{
	AUTO_JSON json_t *rows = NULL;
	if (retention->limits.log_days == 0)
		return 0;
	int rc = db_array(db, &rows, err,
		"SELECT id, compilation_json IS NOT NULL AS compiled_bool FROM jobs WHERE logs AND done_at IS NOT NULL AND "
		"done_at < ? AND " NOT_EVIDENCE("jobs.id") "LIMIT ?",
		"ii", db->now_ms - retention->limits.log_days * DAY_MS, (int64_t)RETENTION_PART);
	for (size_t i = 0; i < json_array_size(rows) && rc == 0; i++) {
		const json_t *row = json_array_get(rows, i);
		rc = drop_log(db, member_int(row, "id"), member_true(row, "compiled"), retention, err);
	}
	*ret_more = json_array_size(rows) == RETENTION_PART;
	return rc;
}

/* ---- events, tokens ---- */

/*
 * A plugin that no server has loaded for this long begins anew when it comes back. A time in the future does not count
 * as a use: the clock was set back since.
 */
static int
drop_cursors(struct db *db, int64_t before, struct kettle_error *err)
{
	int rc = db_exec(db, err, "UPDATE cursors SET used_at = ?1 WHERE used_at > ?1", "i", db->now_ms);
	if (rc < 0)
		return rc;
	return db_exec(db, err,
		"DELETE FROM cursors WHERE used_at < ?1 AND EXISTS (SELECT 1 FROM events WHERE seq > cursors.seq AND at < ?1)",
		"i", before);
}

/* The next events after the cursor that every consumer has read: how many, how many that must stay, the last. */
static int
look_at_events(struct db *db, int64_t cursor, int64_t before, json_t **ret_row, struct kettle_error *err)
{
	/* A time in the future says nothing about the events after it: the clock was set back since. */
	return db_object(db, ret_row, err,
		"SELECT count(*) AS count, coalesce(sum(at BETWEEN ?3 AND ?4), 0) AS kept, coalesce(max(seq), 0) AS last FROM "
		"(SELECT seq, at FROM events WHERE seq > ?1 AND seq <= coalesce((SELECT min(seq) FROM cursors), seq) "
		"ORDER BY seq LIMIT ?2)",
		"iiii", cursor, (int64_t)RETENTION_PART, before, db->now_ms);
}

static int
drop_events(struct db *db, struct retention *retention, bool *ret_more, struct kettle_error *err)
{
	int64_t before = db->now_ms - retention->limits.event_days * DAY_MS;
	AUTO_JSON json_t *row = NULL;
	if (retention->limits.event_days == 0)
		return 0;
	int rc = drop_cursors(db, before, err);
	if (rc == 0)
		rc = look_at_events(db, retention->cursor, before, &row, err);
	int64_t last = member_int(row, "last");
	/* Numbers are never reused: the next event's is higher even where all others are removed. */
	if (rc == 0)
		rc = db_exec(db, err, "DELETE FROM events WHERE seq > ? AND seq <= ? AND at < ?", "iii", retention->cursor,
			last, before);
	retention->events += rc == 0 ? db_changes(db) : 0;
	*ret_more = rc == 0 && member_int(row, "count") == RETENTION_PART && member_int(row, "kept") == 0;
	retention->cursor = *ret_more ? last : 0;
	return rc;
}

/* One with a time in the future (the clock was set back since) stays until it is old. */
static int
drop_audit(struct db *db, struct retention *retention, bool *ret_more, struct kettle_error *err)
{
	if (retention->limits.audit_days == 0)
		return 0;
	int rc =
		db_exec(db, err, "DELETE FROM audit WHERE seq IN (SELECT seq FROM audit WHERE at < ? ORDER BY seq LIMIT ?)",
			"ii", db->now_ms - retention->limits.audit_days * DAY_MS, (int64_t)RETENTION_PART);
	retention->audit += rc == 0 ? db_changes(db) : 0;
	*ret_more = rc == 0 && db_changes(db) == RETENTION_PART;
	return rc;
}

static int
drop_tokens(struct db *db, struct retention *retention, struct kettle_error *err)
{
	int rc = db_exec(db, err, "DELETE FROM tokens WHERE expires_at IS NOT NULL AND expires_at < ?", "i", db->now_ms);
	if (rc == 0)
		retention->tokens += db_changes(db);
	if (rc == 0)
		rc = db_exec(db, err, "DELETE FROM links WHERE expires_at < ?", "i", db->now_ms);
	return rc < 0 ? rc : db_exec(db, err, "DELETE FROM rate_spent WHERE at <= ?", "i", db->now_ms - RATE_WINDOW_MS);
}

/* ---- contents, pages ---- */

static int
count_blob(void *arg, sqlite3_stmt *row)
{
	struct retention *retention = arg;
	retention->blobs++;
	retention->blob_bytes += sqlite3_column_int64(row, 0);
	return 0;
}

/* A reference that this misses is safe: the foreign keys of the database would refuse the deletion. */
static int
drop_blobs(struct db *db, struct retention *retention, bool *ret_more, struct kettle_error *err)
{
	int64_t last = 0;
	int rc = 0;
	if (retention->cursor == 0)
		rc = db_exec(db, err,
			"DELETE FROM tasks WHERE NOT EXISTS (SELECT 1 FROM boards WHERE task = tasks.id) AND NOT EXISTS (SELECT 1 "
			"FROM submissions WHERE task = tasks.id)",
			NULL);
	if (rc == 0)
		rc = db_int(db, &last, err, "SELECT coalesce(max(id), 0) FROM blobs", NULL);
	if (rc == 0)
		rc = db_query(db, err, count_blob, retention,
			"DELETE FROM blobs WHERE id > ?1 AND id <= ?1 + ?2 AND NOT EXISTS (SELECT 1 FROM submissions WHERE code = "
			"blobs.id) AND NOT EXISTS (SELECT 1 FROM task_files WHERE blob = blobs.id) AND NOT EXISTS (SELECT 1 FROM "
			"artifacts WHERE blob = blobs.id) RETURNING size",
			"ii", retention->cursor, (int64_t)RETENTION_PART);
	retention->cursor += RETENTION_PART;
	*ret_more = rc == 0 && retention->cursor < last;
	return rc;
}

static int
free_pages(struct db *db, struct retention *retention, bool *ret_more, struct kettle_error *err)
{
	char sql[60];
	int64_t before = 0, after = 0, size = 0;
	(void)snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%d)", RETENTION_PART);
	int rc = db_int(db, &before, err, "PRAGMA freelist_count", NULL);
	if (rc == 0 && before > 0)
		rc = db_exec(db, err, sql, NULL);
	if (rc == 0)
		rc = db_int(db, &after, err, "PRAGMA freelist_count", NULL);
	if (rc == 0)
		rc = db_int(db, &size, err, "PRAGMA page_size", NULL);
	retention->page_bytes += (before - after) * size;
	*ret_more = rc == 0 && after > 0 && after < before;
	return rc;
}

int
retention_part(
	struct db *db, enum retention_step step, struct retention *retention, bool *ret_more, struct kettle_error *err)
{
	bool more = false;
	int rc = 0;
	switch (step) {
	case RETENTION_ARTIFACTS:
		rc = expire_artifacts(db, retention, &more, err);
		break;
	case RETENTION_LOGS:
		rc = drop_logs(db, retention, &more, err);
		break;
	case RETENTION_EVENTS:
		rc = drop_events(db, retention, &more, err);
		break;
	case RETENTION_AUDIT:
		return drop_audit(db, retention, ret_more, err);
	case RETENTION_TOKENS:
		rc = drop_tokens(db, retention, err);
		break;
	case RETENTION_BLOBS:
		rc = drop_blobs(db, retention, &more, err);
		break;
	case RETENTION_PAGES:
		rc = free_pages(db, retention, &more, err);
		break;
	case RETENTION_END:
		break;
	}
	if (rc == 0)
		*ret_more = more;
	return rc;
}
