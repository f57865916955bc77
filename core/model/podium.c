/* SPDX-License-Identifier: MIT */
/* The changes of the first places of a board's rankings, from the stored events. */
#include <config.h>

#include "model/podium.h"

#include "base/base.h"
#include "model/ranking.h"

/* The row of a user on a podium; NULL: there is none. */
static const json_t *
row_of(const json_t *podium, json_int_t user)
{
	json_array_each(podium, row)
		if (member_int(row, "user") == user)
			return row;
	return NULL;
}

/*
 * The rank that a user had who was not among the first, as JSON: of the user whose result changed the event has it; others moved
 * up from the next place, whose rank is that of the last row where the scores are equal. New reference.
 */
static json_t *
former_rank(const json_t *data, const json_t *row)
{
	const json_t *by = json_object_get(data, "by"), *before = json_object_get(data, "before");
	const json_t *last = json_array_get(before, RANKING_PODIUM - 1);
	if (by && member_int(by, "user") == member_int(row, "user"))
		return json_incref(json_object_get(by, "rank"));
	if (!by || !last)
		return json_null();
	bool tied = member_number(last, "score") == member_number(row, "score");
	return tied ? json_incref(json_object_get(last, "rank")) : json_integer(RANKING_PODIUM + 1);
}

/* names: by the user's number, as text. A user without a name there is left out. */
static void
add_moved(json_t *moved, const json_t *names, const json_t *row, json_t *before_take, json_t *after_take)
{
	AUTO_FREE char *user = xasprintf("%lld", (long long)member_int(row, "user"));
	json_t *name = json_object_get(names, user);
	if (name && !json_equal(before_take, after_take))
		(void)json_array_append_new(
			moved, json_pack("{s:O, s:O, s:O}", "user_name", name, "before", before_take, "after", after_take));
	json_decref_all(before_take, after_take);
}

/* Those who came, moved and went, in the order of their present and then of their former places. New reference. */
static json_t *
moved_of(const json_t *data, const json_t *names)
{
	json_t *moved = json_array();
	const json_t *before = json_object_get(data, "before"), *after = json_object_get(data, "podium");
	json_array_each(after, row) {
		const json_t *was = row_of(before, member_int(row, "user"));
		add_moved(moved, names, row, was ? json_incref(json_object_get(was, "rank")) : former_rank(data, row),
			json_incref(json_object_get(row, "rank")));
	}
	json_array_each(before, row)
		if (!row_of(after, member_int(row, "user")))
			add_moved(moved, names, row, json_incref(json_object_get(row, "rank")), json_null());
	return moved;
}

/* The present names of all users in the events, without banned ones: by the number, as text. */
static int
read_names(struct db *db, const json_t *events, json_t **ret_names, struct kettle_error *err)
{
	AUTO_JSON json_t *users = json_object(), *list = json_array(), *rows = NULL;
	json_array_each(events, event) {
		const json_t *data = json_object_get(event, "data");
		json_array_each(json_object_get(data, "before"), row)
			(void)json_array_append(list, json_object_get(row, "user"));
		json_array_each(json_object_get(data, "podium"), row)
			(void)json_array_append(list, json_object_get(row, "user"));
	}
	int rc = db_array(db, &rows, err,
		"SELECT DISTINCT u.id AS id_text, coalesce(m.name, u.name) AS name FROM json_each(?) n CROSS JOIN users u ON "
		"u.id = "
		"n.value LEFT JOIN users m ON m.id = u.merged_into WHERE coalesce(m.banned_at, u.banned_at) IS NULL",
		"j", list);
	json_array_each(rows, row)
		(void)json_object_set(users, json_text_or_empty(row, "id"), json_object_get(row, "name"));
	if (rc == 0)
		*ret_names = STEAL(users);
	return rc;
}

int
podium_changes(struct db *db, const struct board *board, const char *device, int64_t before, int64_t limit,
	json_t **ret_page, struct kettle_error *err)
{
	AUTO_JSON json_t *events = NULL, *names = NULL, *changes = json_array();
	int rc = db_array(db, &events, err,
		"SELECT seq, at AS time_iso, data_json FROM events INDEXED BY events_podium WHERE leaderboard = ?1 AND kind = "
		"'leaderboard.podium' AND seq < ?2 AND (?3 IS NULL OR data_json ->> 'device' = ?3 COLLATE NOCASE) ORDER BY seq "
		"DESC LIMIT "
		"?4",
		"iisi", board->id, before ? before : INT64_MAX, device, limit);
	if (rc == 0)
		rc = read_names(db, events, &names, err);
	if (rc < 0)
		return rc;
	json_array_each(events, event) {
		const json_t *data = json_object_get(event, "data");
		AUTO_JSON json_t *moved = moved_of(data, names);
		if (json_array_size(moved) > 0)
			(void)json_array_append_new(changes,
				json_pack("{s:O, s:O, s:O, s:O}", "seq", json_object_get(event, "seq"), "time",
					json_object_get(event, "time"), "device", json_object_get(data, "device"), "moved", moved));
	}
	size_t count = json_array_size(events);
	json_t *next =
		(int64_t)count == limit ? json_incref(json_object_get(json_array_get(events, count - 1), "seq")) : json_null();
	*ret_page = json_pack("{s:s, s:O, s:o}", "leaderboard", board->name, "changes", changes, "next", next);
	return 0;
}
