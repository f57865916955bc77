/* SPDX-License-Identifier: MIT */
/* Reads the numbered events that an actor may see, and keeps the cursors of their consumers. */
#include <config.h>

#include "model/events.h"

#include "base/cleanup.h"
#include "base/json_access.h"

struct event
event_read(const json_t *json)
{
	return (struct event){
		.json = json,
		.kind = json_text_or_empty(json, "kind"),
		.scope = json_text_or_empty(json, "scope"),
		.board = json_text_or_empty(json, "leaderboard_name"),
		.seq = member_int(json, "seq"),
		.submission = member_int(json, "submission"),
		.user = member_int(json, "user"),
		.caller = member_int(json, "caller"),
		.closed = member_true(json, "closed"),
		.local = member_true(json, "task_run"),
		.jobs = json_object_get(json_object_get(json, "data"), "jobs"),
	};
}

int64_t
event_job(const struct event *event, size_t index, const char **ret_device)
{
	const json_t *job = json_array_get(event->jobs, index);
	*ret_device = json_text_or_empty(job, "device");
	return json_is_object(job) ? member_int(job, "job") : json_integer_value(job);
}

static int
add_event(void *arg, sqlite3_stmt *row)
{
	return json_array_append_new(arg, db_event_object(row)) < 0 ? KETTLE_EIO : 0;
}

/* A deleted board is as visible as it was; an existing one as it is now, and only to its creator until it opens. */
#define VISIBLE \
	"(?1 OR user IS ?2 AND scope <> 'a' OR scope = 'p' AND (CASE coalesce((SELECT iif(" DB_UNOPENED ", 'unopened', " \
	"visibility) FROM leaderboards WHERE id = events.leaderboard), iif(closed, 'closed', 'public')) WHEN 'public' " \
	"THEN " \
	"1 WHEN 'closed' THEN EXISTS (SELECT 1 FROM access WHERE access.leaderboard = events.leaderboard AND access.user " \
	"= " \
	"?2) ELSE 0 END OR EXISTS (SELECT 1 FROM leaderboards WHERE id = events.leaderboard AND creator = ?2))) "
#define OF_SUBMISSION "submission = ?5 AND (?6 IS NULL OR leaderboard_name = ?6 COLLATE NOCASE) AND "
#define OF_BOARD "leaderboard = (SELECT id FROM leaderboards WHERE name = ?6) AND "
#define PAGE(which) \
	"SELECT " DB_EVENT_COLUMNS " FROM events WHERE " which "seq > ?3 AND seq <= ?7 AND " VISIBLE "ORDER BY seq LIMIT " \
	"?4"
/* The last one that a reading looks at; 0: all that there are. */
#define BOUND(which) \
	"SELECT coalesce((SELECT seq FROM events WHERE " which "seq > ?3 ORDER BY seq LIMIT 1 OFFSET ?4), 0)"

/* The statement and its arguments for each filter. */
static const struct {
	const char *bound, *format, *page;
} readings[] = {{BOUND(""), "iiii", PAGE("")}, {BOUND(OF_BOARD), "iiiiis", PAGE(OF_BOARD)},
	{BOUND(OF_SUBMISSION), "iiiiis", PAGE(OF_SUBMISSION)}};

int
events_after(struct db *db, const struct actor *actor, const json_t *filter, int64_t after, int64_t limit,
	json_t **ret_events, int64_t *ret_next, struct kettle_error *err)
{
	AUTO_JSON json_t *events = json_array();
	const json_t *submission = json_object_get(filter, "submission");
	const char *board = json_text_or_null(filter, "leaderboard");
	size_t which = submission ? 2 : board ? 1 : 0;
	int64_t admin = actor->role == RIGHT_ADMIN, of = (int64_t)json_integer_value(submission), last = 0;
	/* An actor without a user: NULL would match events that concern no user, -1 matches none. */
	int64_t user = actor->user > 0 ? actor->user : -1;
	if (limit < 1 || limit > EVENTS_PAGE_MAX)
		limit = EVENTS_PAGE_MAX;
	int rc = db_int(db, &last, err, readings[which].bound, readings[which].format, admin, user, after,
		(int64_t)(EVENTS_LOOK_MAX - 1), of, board);
	if (rc == 0)
		rc = db_query(db, err, add_event, events, readings[which].page, "iiiiisi", admin, user, after, limit, of, board,
			last ? last : INT64_MAX);
	if (rc < 0)
		return err && err->code ? err->code : kettle_fail(err, rc, "The events cannot be read.");
	size_t count = json_array_size(events);
	*ret_next = (int64_t)count == limit ? member_int(json_array_get(events, count - 1), "seq") : last;
	*ret_events = STEAL(events);
	return 0;
}

int
events_last(struct db *db, int64_t *ret_seq, struct kettle_error *err)
{
	return db_int(db, ret_seq, err, "SELECT coalesce(max(seq), 0) FROM events", NULL);
}

int
events_range(struct db *db, int64_t *ret_oldest, int64_t *ret_newest, struct kettle_error *err)
{
	int rc = db_int(
		db, ret_newest, err, "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)", NULL);
	return rc < 0
			   ? rc
			   : db_int(db, ret_oldest, err, "SELECT coalesce((SELECT min(seq) FROM events), ? + 1)", "i", *ret_newest);
}

int
events_span(struct db *db, json_t **ret_span, struct kettle_error *err)
{
	int64_t oldest = 0, newest = 0;
	int rc = events_range(db, &oldest, &newest, err);
	return rc < 0
			   ? rc
			   : db_object(db, ret_span, err,
					 "SELECT ? AS oldest, ? AS newest, json_group_object(consumer, seq) AS cursors_json FROM cursors",
					 "ii", oldest, newest);
}

int
events_cursor_get(struct db *db, const char *consumer, int64_t *ret_seq, struct kettle_error *err)
{
	return db_int(db, ret_seq, err, "SELECT coalesce((SELECT seq FROM cursors WHERE consumer = ?), 0)", "s", consumer);
}

int
events_cursor_set(struct db *db, const char *consumer, int64_t seq, struct kettle_error *err)
{
	return db_exec(db, err,
		"INSERT INTO cursors (consumer, seq, used_at) VALUES (?, ?, ?) "
		"ON CONFLICT (consumer) DO UPDATE SET seq = max(seq, excluded.seq), used_at = excluded.used_at",
		"sii", consumer, seq, db->now_ms);
}

int
events_cursor_begin(struct db *db, const char *consumer, struct kettle_error *err)
{
	return db_exec(db, err,
		"INSERT INTO cursors (consumer, seq, used_at) SELECT ?, coalesce(max(seq), 0), ? FROM events WHERE true "
		"ON CONFLICT (consumer) DO UPDATE SET used_at = excluded.used_at",
		"si", consumer, db->now_ms);
}
