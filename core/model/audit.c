/* SPDX-License-Identifier: MIT */
/* The log of who did what. */
#include <config.h>

#include "model/audit.h"

#include "base/cleanup.h"
#include "base/json_access.h"

void
audit_entry_free(struct audit_entry *entry)
{
	json_decref_all(entry->boards, entry->users, entry->args);
	*entry = (struct audit_entry){0};
}

static void
add_once(json_t **list, json_t *value_take)
{
	AUTO_JSON json_t *value = value_take;
	bool known = false;
	if (!*list)
		*list = json_array();
	json_array_each(*list, one)
		known = known || json_equal(one, value);
	if (!known && json_array_size(*list) < AUDIT_NAMES_MAX)
		(void)json_array_append(*list, value);
}

int
audit_add_board(struct db *db, struct audit_entry *entry, const char *name, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	int rc = db_object(
		db, &row, err, "SELECT coalesce((SELECT name FROM leaderboards WHERE name = ?1), ?1) AS name", "s", name);
	if (rc == 0)
		add_once(&entry->boards, json_incref(json_object_get(row, "name")));
	return rc;
}

void
audit_add_user(struct audit_entry *entry, int64_t user)
{
	if (user > 0)
		add_once(&entry->users, json_integer((json_int_t)user));
}

int
audit_add_submission(struct db *db, struct audit_entry *entry, int64_t submission, struct kettle_error *err)
{
	AUTO_JSON json_t *rows = NULL;
	int rc = db_array(db, &rows, err,
		"SELECT b.name, s.user FROM submissions s JOIN leaderboards b ON b.id = s.leaderboard WHERE s.id = ?", "i",
		submission);
	entry->submission = submission;
	json_array_each(rows, row) {
		add_once(&entry->boards, json_incref(json_object_get(row, "name")));
		audit_add_user(entry, member_int(row, "user"));
	}
	return rc;
}

/* First the actor's own oldest rows go, so that one user's many calls remove no row of another's; each query walks an index. */
static int
trim(struct db *db, int64_t user, struct kettle_error *err)
{
	int rc = db_exec(db, err,
		"DELETE FROM audit WHERE actor IS nullif(?1, 0) AND seq <= (SELECT seq FROM audit WHERE actor IS nullif(?1, 0) "
		"ORDER BY seq DESC LIMIT 1 OFFSET ?2)",
		"ii", user, (int64_t)AUDIT_ACTOR_ROWS_MAX);
	return rc < 0 ? rc
				  : db_exec(db, err,
						"DELETE FROM audit WHERE seq IN (SELECT seq FROM audit ORDER BY seq LIMIT max(0, (SELECT "
						"count(*) FROM audit) - ?))",
						"i", (int64_t)AUDIT_ROWS_MAX);
}

int
audit_put(struct db *db, int64_t user, const char *name, const char *command, const struct audit_entry *entry,
	struct kettle_error *err)
{
	AUTO_JSON json_t *none = json_array(), *empty = json_object();
	int rc = db_exec(db, err,
		"INSERT INTO audit (at, actor, actor_name, command, submission, boards_json, users_json, args_json, error) "
		"VALUES (?1, nullif(?2, 0), iif(?2, NULL, ?3), ?4, nullif(?5, 0), ?6, ?7, ?8, ?9)",
		"iissijjjs", db->now_ms, user, name, command, entry->submission, entry->boards ? entry->boards : none,
		entry->users ? entry->users : none, entry->args ? entry->args : empty, entry->error);
	return rc == 0 && db_last_id(db) % AUDIT_TRIM_EVERY == 0 ? trim(db, user, err) : rc;
}

/* {"a": 1} as [{"name": "a", "value": 1}]. New reference. */
static json_t *
listed(const json_t *args)
{
	json_t *list = json_array();
	json_object_each(args, name, value)
		(void)json_array_append_new(list, json_pack("{s:s, s:O}", "name", name, "value", value));
	return list;
}

#define ENTRIES \
	"SELECT a.seq, a.at AS at_iso, coalesce(m.name, u.name, a.actor_name) AS actor, a.command, a.submission, " \
	"a.boards_json AS leaderboards_json, (SELECT json_group_array(coalesce(o.name, n.name)) FROM " \
	"json_each(a.users_json) e JOIN users n ON n.id = e.value LEFT JOIN users o ON o.id = n.merged_into) AS " \
	"users_json, a.args_json AS with_json, a.error FROM audit a LEFT JOIN users u ON u.id = a.actor LEFT JOIN users " \
	"m ON m.id " \
	"= " \
	"u.merged_into "

int
audit_page(struct db *db, const struct audit_filter *filter, json_t **ret_page, struct kettle_error *err)
{
	AUTO_JSON json_t *entries = NULL;
	int rc = db_array(db, &entries, err,
		ENTRIES "WHERE a.seq < ?1 AND (NOT ?2 OR a.actor = ?2) AND (?3 IS NULL OR EXISTS (SELECT 1 FROM "
				"json_each(a.boards_json) b WHERE b.value = ?3 COLLATE NOCASE)) ORDER BY a.seq DESC LIMIT ?4",
		"iisi", filter->before ? filter->before : INT64_MAX, filter->actor, filter->board, filter->limit);
	if (rc < 0)
		return rc;
	json_array_each(entries, entry)
		(void)json_object_set_new(entry, "with", listed(json_object_get(entry, "with")));
	size_t count = json_array_size(entries);
	json_t *next = (int64_t)count == filter->limit
					   ? json_incref(json_object_get(json_array_get(entries, count - 1), "seq"))
					   : json_null();
	*ret_page = json_pack("{s:O, s:o}", "entries", entries, "next", next);
	return 0;
}
