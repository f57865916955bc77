/* SPDX-License-Identifier: MIT */
/* Makes and changes leaderboards, and plans changes. */
#include <config.h>

#include "model/board_update.h"

#include "base/base.h"
#include "base/text.h"
#include "model/blobs.h"
#include "task/task.h"

#define DIFFERS_SHOWN 5 /* names in the sentence that refuses */

/* A change on its way. */
struct update {
	struct db *db;
	const struct board *board;
	const struct board_change *change;
	json_t *row;       /* what the board is now */
	json_t *devices;   /* and on what */
	json_t *changes;   /* words: the settings that change */
	json_t *differs;   /* of the task */
	char *description; /* the new one */
	bool new_task, leaves_scores;
	int64_t ranked, open, counts_from;
};

static void
free_update(struct update *update)
{
	json_decref_all(update->row, update->devices, update->changes, update->differs);
	free(update->description);
}
#define AUTO_UPDATE __attribute__((cleanup(free_update)))

static void
note(json_t *words, const char *word)
{
	json_array_append_new(words, json_string(word));
}

/* ---- what changes ---- */

static int
board_update_load(struct update *update, struct kettle_error *err)
{
	update->changes = json_array();
	update->differs = json_array();
	int rc = db_object(update->db, &update->row, err,
		"SELECT b.name, b.description, b.visibility, b.code, b.jit_cache, b.after_deadline, coalesce(b.deadline_at, 0) "
		"AS "
		"deadline_at, coalesce(b.opens_at, 0) AS opens_at, b.counts_from, b.task, t.run_hash, t.content_hash, "
		"json_extract(t.bundle_json, '$.task.description') AS task_description, (SELECT count(*) FROM best WHERE "
		"leaderboard = b.id) AS ranked, (SELECT count(*) FROM submissions s JOIN jobs j ON j.submission = s.id WHERE "
		"s.leaderboard = b.id AND j.done_at IS NULL) AS open FROM leaderboards b JOIN tasks t ON t.id = b.task WHERE "
		"b.id = ?",
		"i", update->board->id);
	if (rc == 0)
		rc = board_devices(update->db, update->board->id, &update->devices, err);
	if (rc < 0)
		return rc;
	update->ranked = member_int(update->row, "ranked");
	update->open = member_int(update->row, "open");
	update->counts_from = member_int(update->row, "counts_from");
	return 0;
}

static void
note_differing(json_t *differs, const json_t *before, const json_t *after)
{
	json_object_each(before, name, value) {
		if (!json_equal(value, json_object_get(after, name)))
			note(differs, name);
	}
	json_object_each(after, name, value) {
		if (!json_object_get(before, name))
			note(differs, name);
	}
}

/* Names what differs, for people; whether anything does is a matter of the hashes. */
static int
compare_bundles(struct update *update, struct kettle_error *err)
{
	AUTO_JSON json_t *before = NULL;
	const json_t *after = update->change->bundle;
	int rc = blobs_get_task(update->db, member_int(update->row, "task"), &before, err);
	if (rc < 0)
		return rc;
	note_differing(update->differs, json_object_get(before, "files"), json_object_get(after, "files"));
	const json_t *old_task = json_object_get(before, "task"), *new_task = json_object_get(after, "task");
	for (const char *const *key = task_running_keys; *key; key++) {
		const json_t *old_value = json_object_get(old_task, *key), *new_value = json_object_get(new_task, *key);
		if ((old_value || new_value) && !json_equal(old_value, new_value))
			note(update->differs, *key);
	}
	if (json_array_size(update->differs) == 0)
		note(update->differs, "files");
	return 0;
}

static int
compare_task(struct update *update, struct kettle_error *err)
{
	char hash[65];
	const json_t *bundle = update->change->bundle;
	if (!bundle)
		return 0;
	blobs_task_hash(bundle, hash);
	if (strcmp(hash, json_text_or_empty(update->row, "content_hash")) == 0)
		return 0;
	update->new_task = true;
	note(update->changes, "task");
	update->leaves_scores =
		strcmp(json_text_or_empty(bundle, "hash"), json_text_or_empty(update->row, "run_hash")) != 0;
	return update->leaves_scores ? compare_bundles(update, err) : 0;
}

/* The new description: the one given, else the new task's where the board had the old task's. */
static void
choose_description(struct update *update)
{
	const char *now = json_text_or_empty(update->row, "description"), *wanted = update->change->description;
	AUTO_FREE char *of_task = sanitize_text(json_text_or_empty(update->row, "task_description"), BOARD_DESCRIPTION_MAX);
	if (!wanted && update->new_task && strcmp(of_task, now) == 0)
		wanted = json_text_or_empty(json_object_get(update->change->bundle, "task"), "description");
	update->description = sanitize_text(wanted ? wanted : now, BOARD_DESCRIPTION_MAX);
}

static bool
differs(const struct update *update, const char *key, const char *wanted)
{
	return wanted && strcmp(json_text_or_empty(update->row, key), wanted) != 0;
}

static int
board_update_compare(struct update *update, struct kettle_error *err)
{
	const struct board_change *change = update->change;
	int rc = board_update_load(update, err);
	if (rc == 0)
		rc = compare_task(update, err);
	if (rc == 0)
		choose_description(update);
	if (rc < 0)
		return rc;
	if (change->set_deadline && change->deadline_at != member_int(update->row, "deadline_at"))
		note(update->changes, "deadline");
	if (change->devices && !json_equal(change->devices, update->devices))
		note(update->changes, "devices");
	if (differs(update, "visibility", change->visibility))
		note(update->changes, "visibility");
	if (differs(update, "code", change->code))
		note(update->changes, "code_visibility");
	if (differs(update, "jit_cache", change->jit_cache))
		note(update->changes, "jit_cache");
	if (differs(update, "after_deadline", change->after_deadline))
		note(update->changes, "after_deadline");
	if (change->set_opens && change->opens_at != member_int(update->row, "opens_at"))
		note(update->changes, "opens");
	if (differs(update, "description", update->description))
		note(update->changes, "description");
	if (differs(update, "name", change->name))
		note(update->changes, "name");
	return 0;
}

static json_t *
plan_of(const struct update *update)
{
	return json_pack("{s:O, s:O, s:s, s:I, s:I}", "changes", update->changes, "differs", update->differs, "scores",
		update->leaves_scores ? "left" : "kept", "ranked", (json_int_t)update->ranked, "open",
		(json_int_t)update->open);
}

int
board_update_plan(struct db *db, const struct board *board, const struct board_change *change, json_t **ret_plan,
	struct kettle_error *err)
{
	AUTO_UPDATE struct update update = {.db = db, .board = board, .change = change};
	int rc = board_update_compare(&update, err);
	if (rc == 0)
		*ret_plan = plan_of(&update);
	return rc;
}

/* ---- doing it ---- */

static int
board_update_refuse(const struct update *update, struct kettle_error *err)
{
	AUTO_JSON json_t *names = json_array();
	size_t count = json_array_size(update->differs);
	for (size_t i = 0; i < count && i < DIFFERS_SHOWN; i++)
		json_array_append(names, json_array_get(update->differs, i));
	if (count > DIFFERS_SHOWN)
		note(names, "more");
	AUTO_FREE char *what = board_join(names);
	if (update->ranked == 0)
		return kettle_blame(err, KETTLE_CAUSE_NONE, "force",
			kettle_fail(err, KETTLE_ECONFLICT,
				"The new task of `%s` runs differently (%s), so earlier submissions could not be compared with later "
				"ones; use `force` to confirm.",
				update->board->name, what ? what : ""));
	return kettle_blame(err, KETTLE_CAUSE_NONE, "force",
		kettle_fail(err, KETTLE_ECONFLICT,
			"The new task runs differently (%s), so earlier scores could not be compared with later ones: the %lld "
			"place%s in the rankings of `%s` would be lost; use `force` to confirm.",
			what ? what : "", (long long)update->ranked, update->ranked == 1 ? "" : "s", update->board->name));
}

/* Removes the old version if no submission needs it any more. */
static int
store_task(struct update *update, struct kettle_error *err)
{
	int64_t task = 0, before = member_int(update->row, "task");
	int rc = blobs_put_task(update->db, update->change->bundle, &task, err);
	if (rc == 0)
		rc = blobs_note_task(update->db, before, err);
	if (rc == 0)
		rc = db_exec(update->db, err, "UPDATE boards SET task = ? WHERE id = ?", "ii", task, update->board->id);
	return rc < 0 ? rc : blobs_collect(update->db, err);
}

/* Counts from the next submission on; the rankings begin anew. Numbers come once, so open submissions count no more. */
static int
leave_scores(struct update *update, struct kettle_error *err)
{
	static const char *const sql[] = {
		/* The counts first, without which the triggers of best have nothing to do. */
		"DELETE FROM best_counts WHERE leaderboard = ?",
		"DELETE FROM best WHERE leaderboard = ?",
		"DELETE FROM records WHERE leaderboard = ?",
		"UPDATE leaderboard_devices SET ranked = 0 WHERE leaderboard = ?",
	};
	int rc = db_int(update->db, &update->counts_from, err,
		"SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'submissions'), 0) + 1", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(sql) && rc == 0; i++)
		rc = db_exec(update->db, err, sql[i], "i", update->board->id);
	if (rc == 0)
		rc = db_exec(update->db, err, "UPDATE boards SET counts_from = ? WHERE id = ?", "ii", update->counts_from,
			update->board->id);
	return rc;
}

/* A device that is left out loses its page, not its scores: named again, it has its ranking back. */
static int
store_devices(struct db *db, int64_t board, const json_t *devices, struct kettle_error *err)
{
	int rc = db_exec(db, err, "DELETE FROM leaderboard_devices WHERE leaderboard = ?", "i", board);
	for (size_t i = 0; i < json_array_size(devices) && rc == 0; i++)
		rc = db_exec(db, err,
			"INSERT INTO leaderboard_devices (leaderboard, device, position, ranked) VALUES (?1, ?2, ?3, (SELECT "
			"count(*) FROM best WHERE leaderboard = ?1 AND device = ?2))",
			"isi", board, json_string_value(json_array_get(devices, i)), (int64_t)i);
	return rc;
}

/*
 * Changes the board's own row. A deadline or an opening time in the future takes back its announcement, a new task the
 * report of the old one's fault.
 */
static int
store_row(struct update *update, struct kettle_error *err)
{
	const struct board_change *change = update->change;
	int64_t deadline = change->set_deadline ? change->deadline_at : member_int(update->row, "deadline_at");
	int64_t opens = change->set_opens ? change->opens_at : member_int(update->row, "opens_at");
	return db_exec(update->db, err,
		"UPDATE boards SET description = ?1, visibility = coalesce(?2, visibility), code = coalesce(?3, code), "
		"jit_cache = coalesce(?7, jit_cache), after_deadline = coalesce(?8, after_deadline), deadline_at = nullif(?4, "
		"0), ended_at = CASE WHEN ?4 = 0 OR ?4 > ?5 THEN NULL ELSE ended_at END, opens_at = nullif(?9, 0), opened_at = "
		"CASE WHEN ?9 > ?5 THEN NULL ELSE opened_at END, fault_at = CASE WHEN ?10 THEN NULL ELSE fault_at END, accuser "
		"= CASE WHEN ?10 THEN NULL ELSE accuser END, name = coalesce(?11, name), updated_at = ?5 WHERE id = ?6",
		"sssiiissiis", update->description, change->visibility, change->code, deadline, update->db->now_ms,
		update->board->id, change->jit_cache, change->after_deadline, opens, (int64_t)update->new_task, change->name);
}

static int
record_update(const struct update *update, const struct actor *actor, struct kettle_error *err)
{
	AUTO_JSON json_t *now = NULL;
	int rc = board_object(update->db, update->board->id, &now, err);
	if (rc < 0)
		return rc;
	const char *was = list_has_text(update->changes, "name") ? update->board->name : NULL;
	AUTO_JSON json_t *data = json_pack("{s:O, s:s*, s:O, s:s, s:O, s:O, s:O}", "name", json_object_get(now, "name"),
		"was", was, "changes", update->changes, "scores", update->leaves_scores ? "left" : "kept", "deadline",
		json_object_get(now, "deadline"), "devices", json_object_get(now, "gpu_types"), "visibility",
		json_object_get(now, "visibility"));
	return db_event(update->db, "leaderboard.updated", 'p', update->board->id, 0, actor->user, data, err);
}

/* Consumers of events that are behind will ask for the board by the name that an event has. */
static int
rename_events(const struct update *update, struct kettle_error *err)
{
	return db_exec(update->db, err,
		"UPDATE events SET leaderboard_name = ? WHERE leaderboard = ? AND seq > (SELECT min(seq) FROM cursors)", "si",
		update->change->name, update->board->id);
}

static int
board_update_store(struct update *update, const struct actor *actor, struct kettle_error *err)
{
	int rc = update->new_task ? store_task(update, err) : 0;
	if (rc == 0 && update->leaves_scores)
		rc = leave_scores(update, err);
	if (rc == 0 && update->change->devices)
		rc = store_devices(update->db, update->board->id, update->change->devices, err);
	if (rc == 0)
		rc = store_row(update, err);
	if (rc == 0 && update->change->name)
		rc = rename_events(update, err);
	return rc < 0 ? rc : record_update(update, actor, err);
}

static int
compare_and_check(struct update *update, struct kettle_error *err)
{
	const struct board_change *change = update->change;
	int rc = board_update_compare(update, err);
	if (rc == 0 && (change->set_deadline || change->set_opens))
		rc = board_check_times(change->set_opens ? change->opens_at : member_int(update->row, "opens_at"),
			change->set_deadline ? change->deadline_at : member_int(update->row, "deadline_at"), err);
	return rc == 0 && update->leaves_scores && !change->force ? board_update_refuse(update, err) : rc;
}

int
board_update_check(
	struct db *db, const struct board *board, const struct board_change *change, struct kettle_error *err)
{
	AUTO_UPDATE struct update update = {.db = db, .board = board, .change = change};
	return compare_and_check(&update, err);
}

int
board_update(struct db *db, const struct actor *actor, const struct board *board, const struct board_change *change,
	json_t **ret_plan, struct kettle_error *err)
{
	AUTO_UPDATE struct update update = {.db = db, .board = board, .change = change};
	int rc = compare_and_check(&update, err);
	if (rc == 0 && json_array_size(update.changes) > 0)
		rc = board_update_store(&update, actor, err);
	if (rc < 0)
		return rc;
	json_t *plan = plan_of(&update);
	json_object_set_new(plan, "counts_from", json_integer(update.counts_from));
	*ret_plan = plan;
	return 0;
}

int
board_create(struct db *db, const struct actor *actor, const char *name, const struct board_change *first,
	json_t **ret_object, struct kettle_error *err)
{
	AUTO_JSON json_t *object = NULL;
	int64_t task = 0;
	int rc = blobs_put_task(db, first->bundle, &task, err);
	if (rc == 0)
		rc = db_exec(db, err,
			"INSERT INTO boards (name, description, task, creator, created_at, updated_at, deadline_at, visibility, "
			"code, jit_cache, after_deadline, opens_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5, nullif(?6, 0), ?7, ?8, ?9, "
			"?10, nullif(?11, 0))",
			"ssiiiissssi", name, first->description, task, actor->user, db->now_ms, first->deadline_at,
			first->visibility, first->code, first->jit_cache, first->after_deadline, first->opens_at);
	int64_t id = db_last_id(db);
	if (rc == 0)
		rc = store_devices(db, id, first->devices, err);
	if (rc == 0)
		rc = board_object(db, id, &object, err);
	if (rc < 0)
		return rc;
	AUTO_JSON json_t *data = json_pack("{s:O, s:O, s:O}", "name", json_object_get(object, "name"), "devices",
		first->devices, "deadline", json_object_get(object, "deadline"));
	*ret_object = STEAL(object);
	return db_event(db, "leaderboard.created", 'p', id, 0, actor->user, data, err);
}

/* ---- sets ---- */

int
board_set_get(struct db *db, const struct board *board, json_t **ret_set, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	int rc = db_object(db, &row, err, "SELECT problem_set FROM leaderboards WHERE id = ?", "i", board->id);
	if (rc == 0)
		*ret_set = json_incref(json_object_get(row, "problem_set"));
	return rc;
}

int
board_set_put(struct db *db, const char *name, const char *set, const json_t *source, struct kettle_error *err)
{
	return db_exec(
		db, err, "UPDATE boards SET problem_set = ?, source_json = ? WHERE name = ?", "sjs", set, source, name);
}

int
board_set_list(struct db *db, const char *set, json_t **ret_boards, struct kettle_error *err)
{
	return db_array(db, ret_boards, err,
		"SELECT name, hidden_at IS NULL AND problem_set = ?1 AS listed_bool FROM boards WHERE problem_set = ?1 COLLATE "
		"NOCASE ORDER BY name",
		"s", set);
}

/* {"description", "owner", "held": whether a board of the set is the owner's}; ENOENT. */
static int
read_set(struct db *db, const char *set, json_t **ret_row, struct kettle_error *err)
{
	return db_object(db, ret_row, err,
		"SELECT description, owner, EXISTS (SELECT 1 FROM leaderboards WHERE problem_set = c.name COLLATE NOCASE AND "
		"creator = "
		"c.owner) AS held_bool FROM competitions c WHERE name = ?",
		"s", set);
}

/* EACCES: neither an admin nor the owner of a board of the set, or another owner of one described it. */
static int
check_describer(
	struct db *db, const struct actor *actor, const char *set, bool joins, const json_t *row, struct kettle_error *err)
{
	int64_t boards = 0;
	int rc = joins ? 0
				   : db_int(db, &boards, err,
						 "SELECT EXISTS (SELECT 1 FROM leaderboards WHERE problem_set = ?1 COLLATE NOCASE AND (?2 OR "
						 "creator = ?3))",
						 "sii", set, (int64_t)(actor->role == RIGHT_ADMIN), actor->user);
	if (rc < 0)
		return rc;
	if (!joins && !boards)
		return kettle_fail(
			err, KETTLE_EACCES, "its description was left out: no leaderboard of the competition is yours");
	if (actor->role != RIGHT_ADMIN && row && member_true(row, "held") && member_int(row, "owner") != actor->user)
		return kettle_fail(err, KETTLE_EACCES, "its description is that of another creator's file, and stays");
	return 0;
}

int
board_set_describe(struct db *db, const struct actor *actor, const char *set, const char *description, bool joins,
	bool dry, bool *ret_changes, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	int rc = read_set(db, set, &row, err);
	if (rc < 0 && rc != KETTLE_ENOENT)
		return rc;
	*ret_changes = strcmp(json_text_or_empty(row, "description"), description) != 0;
	rc = *ret_changes ? check_describer(db, actor, set, joins, row, err) : 0;
	if (rc < 0 || !*ret_changes || dry)
		return rc;
	return db_exec(db, err,
		"INSERT INTO competitions (name, description, owner) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
		"description = excluded.description, owner = excluded.owner",
		"ssi", set, description, actor->user);
}

int
board_set_description(struct db *db, const char *set, json_t **ret_description, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	int rc = read_set(db, set, &row, err);
	if (rc == 0 || rc == KETTLE_ENOENT)
		*ret_description = json_string(json_text_or_empty(row, "description"));
	return rc == KETTLE_ENOENT ? 0 : rc;
}
