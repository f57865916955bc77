/* SPDX-License-Identifier: MIT */
/* A leaderboard as the commands see it: found by name, with who may see it. */
#include <config.h>

#include "model/board.h"

#include "base/base.h"
#include "base/text.h"
#include "judge/judging.h"
#include "judge/limit.h"
#include "model/ranking.h"

/* Boards among which the nearest name is looked for. */
#define NEAREST_MAX 1000

int64_t
board_sees_all(const struct actor *actor)
{
	return actor->role == RIGHT_ADMIN;
}

int64_t
board_user(const struct actor *actor)
{
	return actor->user > 0 ? actor->user : -1;
}

static enum board_code
code_of(const char *word)
{
	if (strcmp(word, "always") == 0)
		return BOARD_CODE_ALWAYS;
	return strcmp(word, "ended") == 0 ? BOARD_CODE_ENDED : BOARD_CODE_OWNER;
}

static int
read_board(void *arg, sqlite3_stmt *row)
{
	struct board *board = arg;
	board->id = sqlite3_column_int64(row, 0);
	db_copy_text(board->name, sizeof(board->name), row, 1);
	board->task = sqlite3_column_int64(row, 2);
	board->creator = sqlite3_column_int64(row, 3);
	board->deadline_at = sqlite3_column_int64(row, 4);
	board->closed = sqlite3_column_int(row, 5);
	board->code = code_of((const char *)sqlite3_column_text(row, 6));
	board->version = sqlite3_column_int64(row, 7);
	board->own = sqlite3_column_int64(row, 8);
	board->practice = sqlite3_column_int(row, 9);
	board->unopened = sqlite3_column_int(row, 10);
	return 1;
}

static int
add_board_name(void *arg, sqlite3_stmt *row)
{
	json_object_set_new(arg, (const char *)sqlite3_column_text(row, 0), json_true());
	return 0;
}

static int
fail_board_unknown(struct db *db, const struct actor *actor, const char *name, struct kettle_error *err)
{
	AUTO_JSON json_t *names = json_object();
	int rc = db_query(db, err, add_board_name, names, "SELECT name FROM leaderboards b WHERE " BOARD_MAY_SEE "LIMIT ?1",
		"iii", (int64_t)NEAREST_MAX, board_sees_all(actor), board_user(actor));
	if (rc < 0)
		return rc;
	const char *near = nearest_key(name, names);
	return kettle_fail(err, KETTLE_ENOENT, "There is no leaderboard `%s`%s%s%s", name, NEAREST_END(near));
}

#define BOARDS \
	"SELECT b.id, b.name, b.task, b.creator, b.deadline_at, b.visibility = 'closed', b.code, v.version, v.own, " \
	"b.after_deadline = 'practice', " DB_UNOPENED \
	" FROM leaderboards b JOIN board_versions v ON v.leaderboard = b.id "

/* 1: it is found; 0: there is none. */
static int
read_named(struct db *db, const char *name, struct board *ret_board, struct kettle_error *err)
{
	return db_query(db, err, read_board, ret_board, BOARDS "WHERE b.name = ?", "s", name);
}

int
board_find(
	struct db *db, const struct actor *actor, const char *name, struct board *ret_board, struct kettle_error *err)
{
	struct board board = {0};
	int rc = read_named(db, name, &board, err);
	if (rc == 1)
		*ret_board = board;
	if (rc != 0)
		return rc < 0 ? rc : 0;
	return fail_board_unknown(db, actor, name, err);
}

int
board_find_former(
	struct db *db, const struct actor *actor, const char *name, struct board *ret_board, struct kettle_error *err)
{
	return db_query(db, err, read_board, ret_board,
		BOARDS "JOIN former_names f ON f.leaderboard = b.id WHERE f.name = ?1 AND " BOARD_MAY_SEE
			   "ORDER BY f.id DESC LIMIT 1",
		"sii", name, board_sees_all(actor), board_user(actor));
}

int
board_exists(struct db *db, const char *name, bool *ret_exists, struct kettle_error *err)
{
	int64_t count = 0;
	int rc = db_int(db, &count, err, "SELECT count(*) FROM leaderboards WHERE name = ?", "s", name);
	*ret_exists = count > 0;
	return rc;
}

static int
read_language(void *arg, sqlite3_stmt *row)
{
	const char *language = (const char *)sqlite3_column_text(row, 0);
	(void)snprintf(arg, BOARD_LANGUAGE_SIZE, "%s", language ? language : "");
	return 1;
}

int
board_language(
	struct db *db, const struct board *board, char ret_language[BOARD_LANGUAGE_SIZE], struct kettle_error *err)
{
	ret_language[0] = '\0';
	int rc =
		db_query(db, err, read_language, ret_language, "SELECT language FROM tasks WHERE id = ?", "i", board->task);
	return rc < 0 ? rc : 0;
}

int
board_may_see(
	struct db *db, const struct actor *actor, const struct board *board, bool *ret_sees, struct kettle_error *err)
{
	int64_t sees = 1;
	int rc = board->closed || board->unopened
				 ? db_int(db, &sees, err, "SELECT count(*) FROM leaderboards b WHERE " BOARD_MAY_SEE "AND b.id = ?1",
					   "iii", board->id, board_sees_all(actor), board_user(actor))
				 : 0;
	if (rc == 0)
		*ret_sees = sees;
	return rc;
}

bool
board_owns(const struct actor *actor, const struct board *board)
{
	return actor->role == RIGHT_ADMIN || (actor->user && actor->user == board->creator);
}

bool
board_ended(const struct board *board, int64_t now_ms)
{
	return board->deadline_at && now_ms > board->deadline_at;
}

bool
board_code_open(const struct board *board, int64_t now_ms)
{
	switch (board->code) {
	case BOARD_CODE_OWNER:
		return false;
	case BOARD_CODE_ENDED:
		return board_ended(board, now_ms);
	case BOARD_CODE_ALWAYS:
		return true;
	}
	return false;
}

int
board_deadline(const char *text, int64_t now_ms, int64_t *ret_ms, struct kettle_error *err)
{
	if (strcasecmp(text, "none") != 0)
		return time_parse_deadline(text, now_ms, ret_ms, err);
	*ret_ms = 0;
	return 0;
}

int
board_opening(const char *text, int64_t now_ms, int64_t *ret_ms, struct kettle_error *err)
{
	if (strcasecmp(text, "none") != 0)
		return time_parse_opening(text, now_ms, ret_ms, err);
	*ret_ms = 0;
	return 0;
}

int
board_check_times(int64_t opens_at, int64_t deadline_at, struct kettle_error *err)
{
	char opens[TIME_TEXT_SIZE], deadline[TIME_TEXT_SIZE];
	if (!opens_at || !deadline_at || opens_at < deadline_at)
		return 0;
	time_text(opens_at, opens);
	time_text(deadline_at, deadline);
	return kettle_fail(err, KETTLE_EINVAL,
		"The leaderboard would open on %.10s %.5s UTC, which is not before its deadline, %.10s %.5s UTC.", opens,
		opens + 11, deadline, deadline + 11);
}

int
board_check_owner(const struct actor *actor, const struct board *board, struct kettle_error *err)
{
	if (board_owns(actor, board))
		return 0;
	return kettle_fail(err, KETTLE_EACCES,
		"The leaderboard `%s` belongs to another user; only its creator and admins may do this.", board->name);
}

/* 1: there is such a board, and the actor may see it, or with `own` has submitted to it; 0: else. */
static int
read_seen(struct db *db, const struct actor *actor, const char *name, bool own, struct board *ret_board,
	struct kettle_error *err)
{
	bool sees = false;
	int64_t has = 0;
	int rc = read_named(db, name, ret_board, err);
	if (rc != 1)
		return rc;
	rc = board_may_see(db, actor, ret_board, &sees, err);
	if (rc == 0 && !sees && own)
		rc = db_int(db, &has, err, "SELECT EXISTS (SELECT 1 FROM submissions WHERE user = ? AND leaderboard = ?)", "ii",
			board_user(actor), ret_board->id);
	return rc < 0 ? rc : sees || has;
}

/* The error repeats the name as it was given: it must reveal nothing, not even how the board's name is written. */
static int
find_seen(struct db *db, const struct actor *actor, const char *name, bool own, struct board *ret_board,
	struct kettle_error *err)
{
	struct board board = {0};
	int rc = read_seen(db, actor, name, own, &board, err);
	if (rc == 0)
		return fail_board_unknown(db, actor, name, err);
	if (rc == 1)
		*ret_board = board;
	return rc < 0 ? rc : 0;
}

int
board_find_visible(
	struct db *db, const struct actor *actor, const char *name, struct board *ret_board, struct kettle_error *err)
{
	return find_seen(db, actor, name, false, ret_board, err);
}

int
board_find_renamed(
	struct db *db, const struct actor *actor, const char *name, struct board *ret_board, struct kettle_error *err)
{
	struct board board = {0};
	int rc = read_seen(db, actor, name, false, &board, err);
	if (rc == 0)
		rc = board_find_former(db, actor, name, &board, err);
	if (rc == 0)
		return fail_board_unknown(db, actor, name, err);
	if (rc == 1)
		*ret_board = board;
	return rc < 0 ? rc : 0;
}

int
board_find_own(
	struct db *db, const struct actor *actor, const char *name, struct board *ret_board, struct kettle_error *err)
{
	return find_seen(db, actor, name, true, ret_board, err);
}

int
board_find_owned(
	struct db *db, const struct actor *actor, const char *name, struct board *ret_board, struct kettle_error *err)
{
	int rc = board_find_visible(db, actor, name, ret_board, err);
	return rc < 0 ? rc : board_check_owner(actor, ret_board, err);
}

int
board_devices(struct db *db, int64_t leaderboard, json_t **ret_devices, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	int rc = db_object(db, &row, err,
		"SELECT json_group_array(device) AS devices_json FROM (SELECT device FROM leaderboard_devices WHERE "
		"leaderboard = ? ORDER BY position)",
		"i", leaderboard);
	if (rc == 0)
		*ret_devices = json_incref(json_object_get(row, "devices"));
	return rc;
}

char *
board_join(const json_t *names)
{
	AUTO_BUF struct buf text = {0};
	size_t count = json_array_size(names);
	for (size_t i = 0; i < count; i++) {
		const char *between = i == 0 ? "" : i + 1 < count ? ", " : " and ";
		buf_printf(&text, "%s%s", between, json_string_value(json_array_get(names, i)));
	}
	return buf_take(&text);
}

static const char *
nearest_name(const json_t *names, const char *word)
{
	AUTO_JSON json_t *keys = json_object();
	json_array_each(names, name) {
		json_object_set_new(keys, json_string_value(name), json_true());
	}
	const char *near = nearest_key(word, keys);
	json_array_each(names, name) {
		if (near && strcmp(json_string_value(name), near) == 0)
			return json_string_value(name);
	}
	return NULL;
}

int
board_pick_device(
	const json_t *devices, const char *word, const char *where, const char **ret_device, struct kettle_error *err)
{
	const char *found = list_find_text(devices, word);
	if (found) {
		*ret_device = found;
		return 0;
	}
	const char *near = nearest_name(devices, word);
	AUTO_FREE char *all = board_join(devices);
	return kettle_fail(err, KETTLE_EINVAL, "%s no device `%.64s`; it has %s%s%s%s", where, word,
		all && *all ? all : "none", NEAREST_END(near));
}

int
board_choose_devices(
	struct db *db, const struct board *board, const char *word, json_t **ret_devices, struct kettle_error *err)
{
	AUTO_JSON json_t *devices = NULL;
	const char *name = NULL;
	char where[BOARD_NAME_MAX + 32];
	int rc = board_devices(db, board->id, &devices, err);
	(void)snprintf(where, sizeof(where), "The leaderboard `%s` has", board->name);
	if (rc == 0 && word)
		rc = board_pick_device(devices, word, where, &name, err);
	if (rc == 0)
		*ret_devices = name ? json_pack("[s]", name) : STEAL(devices);
	return rc;
}

const json_t *
board_configured_device(const struct command_env *env, const char *device)
{
	json_object_each(env->devices, name, configured)
		if (strcasecmp(name, device) == 0)
			return configured;
	return NULL;
}

double
board_limit(const struct command_env *env, const json_t *task, const char *device)
{
	struct limit_peak peak = limit_peak_of(board_configured_device(env, device));
	return limit_of_score(task, &peak);
}

int
board_configured_units(const struct command_env *env, const char *device, const char **ret_name,
	const json_t **ret_units, struct kettle_error *err)
{
	json_object_each(env->devices, name, configured) {
		if (strcasecmp(name, device) != 0)
			continue;
		*ret_name = name;
		*ret_units = json_object_get(configured, "units");
		return 0;
	}
	return kettle_fail(err, KETTLE_EUNAVAIL, "The device `%s` is not configured at the moment.", device);
}

json_t *
board_configured(const struct command_env *env)
{
	json_t *names = json_array();
	json_object_each(env->devices, name, value) {
		json_array_append_new(names, json_string(name));
	}
	return names;
}

int
board_pick_devices(const struct command_env *env, const json_t *wanted, json_t **ret_devices, struct kettle_error *err)
{
	AUTO_JSON json_t *devices = json_array(), *configured = board_configured(env);
	for (size_t i = 0; i < json_array_size(wanted); i++) {
		const char *word = json_string_value(json_array_get(wanted, i)), *name = NULL;
		int rc = board_pick_device(configured, word ? word : "", "The configuration has", &name, err);
		if (rc < 0)
			return rc;
		if (!list_has_text(devices, name))
			json_array_append_new(devices, json_string(name));
	}
	*ret_devices = STEAL(devices);
	return 0;
}

#define TASK "json_extract(t.bundle_json, '$.task') AS task_json, "
/* task: TASK, or nothing; with: further columns. */
#define OBJECT(task, with) \
	"SELECT b.id, b.name, b.description, " task "b.deadline_at AS deadline_iso, (SELECT json_group_array(device) " \
	"FROM (SELECT device FROM leaderboard_devices d WHERE " \
	"d.leaderboard = b.id ORDER BY position)) AS gpu_types_json, b.visibility, b.code, b.jit_cache, " \
	"b.after_deadline, u.name AS creator, b.created_at AS created_iso, b.opens_at AS opens_iso, " \
	"coalesce(b.deadline_at < ?1, 0) AS ended_bool, t.judging_json, " \
	"t.harness" with " FROM leaderboards b JOIN tasks t ON " \
	"t.id = b.task JOIN users u ON u.id = b.creator "

/* In place of what its task's bundle keeps. */
static void
show_judging(json_t *object)
{
	(void)json_object_set_new(object, "judging", judging_shown(json_object_get(object, "judging")));
}

int
board_object(struct db *db, int64_t leaderboard, json_t **ret_object, struct kettle_error *err)
{
	int rc = db_object(db, ret_object, err, OBJECT(TASK, "") "WHERE b.id = ?2", "ii", db->now_ms, leaderboard);
	if (rc == 0)
		show_judging(*ret_object);
	return rc;
}

int
board_judging(struct db *db, const struct board *board, json_t **ret_kept, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	int rc = db_object(db, &row, err, "SELECT judging_json FROM tasks WHERE id = ?", "i", board->task);
	if (rc == 0)
		*ret_kept = json_incref(json_object_get(row, "judging"));
	return rc;
}

#define LIST(task) \
	OBJECT(task, ", t.language, (SELECT version FROM board_versions WHERE leaderboard = b.id) AS version") \
	"WHERE " BOARD_MAY_SEE "AND (?4 OR b.deadline_at IS NULL OR b.deadline_at >= ?1) ORDER BY b.name"

int
board_list(
	struct db *db, const struct actor *actor, bool all, bool tasks, json_t **ret_boards, struct kettle_error *err)
{
	int rc = db_array(db, ret_boards, err, tasks ? LIST(TASK) : LIST(""), "iiii", db->now_ms, board_sees_all(actor),
		board_user(actor), (int64_t)all);
	json_array_each(rc == 0 ? *ret_boards : NULL, one)
		show_judging(one);
	return rc;
}

/* Of one device the number is kept; users of several are told apart. */
#define PEOPLE \
	"CASE WHEN (SELECT count(*) FROM leaderboard_devices d WHERE d.leaderboard = b.id) = 1 THEN (SELECT ranked FROM " \
	"leaderboard_devices d WHERE d.leaderboard = b.id) ELSE (SELECT count(DISTINCT user) FROM best WHERE " \
	"best.leaderboard = " \
	"b.id) END AS people "

int
board_overview(struct db *db, const struct actor *actor, json_t **ret_boards, struct kettle_error *err)
{
	return db_array(db, ret_boards, err,
		"SELECT b.id, b.name, substr(b.description, 1, ?4) AS description, b.deadline_at AS deadline_iso, b.opens_at "
		"AS "
		"opens_iso, NOT " DB_UNOPENED
		" AS opened_bool, coalesce(b.deadline_at < ?1, 0) AS ended_bool, b.visibility, EXISTS "
		"(SELECT 1 FROM submissions s WHERE s.leaderboard = b.id AND s.user = ?3) AS submitted_bool, " PEOPLE
		"FROM leaderboards b WHERE " BOARD_MAY_SEE "ORDER BY b.name",
		"iiii", db->now_ms, board_sees_all(actor), board_user(actor), (int64_t)BOARD_ABOUT_MAX);
}

int
board_names(struct db *db, const struct actor *actor, const char *prefix, int64_t limit, json_t **ret_boards,
	struct kettle_error *err)
{
	return db_array(db, ret_boards, err,
		"SELECT b.name AS value, (SELECT group_concat(device, ', ') FROM (SELECT device FROM leaderboard_devices WHERE "
		"leaderboard = b.id ORDER BY position)) || iif(b.deadline_at < ?1, '; ended', '') AS about FROM leaderboards b "
		"WHERE " BOARD_MAY_SEE
		"AND substr(b.name, 1, length(?4)) = ?4 COLLATE NOCASE ORDER BY ifnull(b.deadline_at < ?1, 0), b.name LIMIT ?5",
		"iiisi", db->now_ms, board_sees_all(actor), board_user(actor), prefix, limit);
}

int
board_tasks(struct db *db, const char *device, int64_t limit, json_t **ret_boards, struct kettle_error *err)
{
	return db_array(db, ret_boards, err,
		"SELECT b.name AS leaderboard, b.task, t.run_hash AS hash FROM leaderboards b JOIN tasks t ON t.id = b.task "
		"JOIN leaderboard_devices d ON d.leaderboard = b.id WHERE d.device = ?1 AND t.run_hash <> '' AND "
		"coalesce(b.deadline_at >= ?2, 1) ORDER BY b.id DESC LIMIT ?3",
		"sii", device, db->now_ms, limit);
}

int
board_task_hashes(struct db *db, json_t **ret_hashes, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	int rc = db_object(db, &row, err,
		"SELECT json_group_object(hash, 1) AS hashes_json FROM (SELECT DISTINCT t.run_hash AS hash FROM leaderboards b "
		"JOIN tasks t ON t.id = b.task)",
		NULL);
	if (rc == 0)
		*ret_hashes = json_incref(json_object_get(row, "hashes"));
	return rc;
}

int
board_oldest_task(struct db *db, int64_t *ret_ms, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	int rc = db_object(db, &row, err,
		"SELECT min(created_at) AS oldest FROM tasks WHERE id IN (SELECT task FROM leaderboards UNION ALL "
		"SELECT s.task FROM jobs j JOIN submissions s ON s.id = j.submission WHERE j.done_at IS NULL)",
		NULL);
	const json_t *oldest = json_object_get(row, "oldest");
	if (rc == 0)
		*ret_ms = json_is_integer(oldest) ? (int64_t)json_integer_value(oldest) : INT64_MAX;
	return rc;
}

/* ---- the opening and the end, each told once; faults of the task ---- */

#define STEP_MAX 100 /* boards of one transaction, of each kind */

static int
open_boards(struct db *db, struct board_life *life, struct kettle_error *err)
{
	AUTO_JSON json_t *boards = NULL;
	int rc = db_array(db, &boards, err,
		"SELECT id, name, deadline_at AS deadline_iso FROM leaderboards WHERE opens_at IS NOT NULL AND opened_at IS "
		"NULL AND NOT " DB_UNOPENED " LIMIT ?",
		"i", (int64_t)STEP_MAX);
	json_array_each(boards, board) {
		int64_t id = member_int(board, "id");
		AUTO_JSON json_t *data = json_pack(
			"{s:O, s:O}", "name", json_object_get(board, "name"), "deadline", json_object_get(board, "deadline"));
		if (rc == 0)
			rc = db_exec(db, err, "UPDATE boards SET opened_at = ? WHERE id = ?", "ii", db->now_ms, id);
		if (rc == 0)
			rc = db_event(db, "leaderboard.opened", 'p', id, 0, 0, data, err);
	}
	life->more = life->more || json_array_size(boards) == STEP_MAX;
	return rc;
}

static int
read_podiums(struct db *db, int64_t board, json_t **ret_podiums, struct kettle_error *err)
{
	AUTO_JSON json_t *devices = NULL, *podiums = json_array();
	int rc = board_devices(db, board, &devices, err);
	json_array_each(devices, device) {
		json_t *podium = NULL;
		if (rc == 0)
			rc = ranking_podium(db, board, json_string_value(device), &podium, err);
		if (rc == 0)
			(void)json_array_append_new(podiums, json_pack("{s:O, s:o}", "device", device, "podium", podium));
	}
	if (rc == 0)
		*ret_podiums = STEAL(podiums);
	return rc;
}

static int
end_board(struct db *db, const json_t *board, struct kettle_error *err)
{
	int64_t id = member_int(board, "id");
	AUTO_JSON json_t *podiums = NULL;
	int rc = read_podiums(db, id, &podiums, err);
	if (rc == 0)
		rc = db_exec(db, err, "UPDATE boards SET ended_at = ? WHERE id = ?", "ii", db->now_ms, id);
	if (rc < 0)
		return rc;
	AUTO_JSON json_t *data = json_pack("{s:O, s:O, s:O}", "name", json_object_get(board, "name"), "deadline",
		json_object_get(board, "deadline"), "devices", podiums);
	return db_event(db, "leaderboard.ended", 'p', id, 0, 0, data, err);
}

/* The open jobs first: they are few, and the submissions of a board may be many. */
static int
end_boards(struct db *db, struct board_life *life, struct kettle_error *err)
{
	AUTO_JSON json_t *boards = NULL;
	int rc = db_array(db, &boards, err,
		"SELECT id, name, deadline_at AS deadline_iso, EXISTS (SELECT 1 FROM jobs j CROSS JOIN submissions s ON s.id = "
		"j.submission WHERE j.done_at IS NULL AND s.leaderboard = b.id AND s.mode = 'ranked' AND NOT s.practice) AS "
		"open_bool FROM leaderboards b WHERE deadline_at IS NOT NULL AND ended_at IS NULL AND deadline_at < ? ORDER BY "
		"open_bool LIMIT ?",
		"ii", db->now_ms, (int64_t)STEP_MAX);
	json_array_each(boards, board) {
		if (member_true(board, "open"))
			life->waiting = true;
		else if (rc == 0)
			rc = end_board(db, board, err);
	}
	life->more = life->more || (json_array_size(boards) == STEP_MAX && !life->waiting);
	return rc;
}

int
board_life_step(struct db *db, struct board_life *ret_life, struct kettle_error *err)
{
	struct board_life life = {0};
	int rc = open_boards(db, &life, err);
	if (rc == 0)
		rc = end_boards(db, &life, err);
	/* A board opens at a whole second, and has ended when its deadline has passed. */
	if (rc == 0)
		rc = db_int(db, &life.next_ms, err,
			"SELECT coalesce(min(at), 0) FROM (SELECT min(deadline_at) + 1 AS at FROM leaderboards WHERE deadline_at "
			"IS NOT NULL AND ended_at IS NULL AND deadline_at >= ?1 UNION ALL SELECT (min(opens_at) + 999) / 1000 * "
			"1000 FROM leaderboards WHERE opens_at IS NOT NULL AND opened_at IS NULL)",
			"i", db->now_ms);
	if (rc == 0)
		*ret_life = life;
	return rc;
}

int
board_life_fault(
	struct db *db, int64_t leaderboard, int64_t submission, int64_t accuser, json_t *data, struct kettle_error *err)
{
	int64_t creator = 0;
	int rc = db_int(db, &creator, err,
		"SELECT coalesce((SELECT creator FROM boards WHERE id = ?1 AND fault_at IS NULL AND (?2 IN (0, creator) OR "
		"accuser <> ?2)), 0)",
		"ii", leaderboard, accuser);
	if (rc == 0 && creator == 0)
		return db_exec(db, err, "UPDATE boards SET accuser = ? WHERE id = ? AND accuser IS NULL AND fault_at IS NULL",
			"ii", accuser, leaderboard);
	if (rc == 0)
		rc = db_exec(db, err, "UPDATE boards SET fault_at = ? WHERE id = ?", "ii", db->now_ms, leaderboard);
	return rc < 0 ? rc : db_event(db, "leaderboard.fault", 'u', leaderboard, submission, creator, data, err);
}

int
board_life_works(struct db *db, int64_t leaderboard, struct kettle_error *err)
{
	return db_exec(db, err,
		"UPDATE boards SET fault_at = NULL, accuser = NULL WHERE id = ? AND (fault_at IS NOT NULL OR accuser IS NOT "
		"NULL)",
		"i", leaderboard);
}

int
board_life_faults(struct db *db, int64_t leaderboard, json_t **ret_boards, struct kettle_error *err)
{
	return db_array(db, ret_boards, err,
		"SELECT name AS leaderboard, fault_at AS at_iso FROM leaderboards WHERE fault_at IS NOT NULL AND ?1 IN (0, id) "
		"ORDER BY fault_at, id",
		"i", leaderboard);
}
