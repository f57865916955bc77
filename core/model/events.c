/* SPDX-License-Identifier: MIT */
/* Reads the numbered events that an actor may see, and keeps the cursors of their consumers. */
#include <config.h>

#include "model/events.h"

#include "base/base.h"

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
		.was = json_text_or_null(json_object_get(json, "data"), "was"),
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
#define OF_SUBMISSION \
	"submission = ?5 AND (?6 IS NULL OR leaderboard_name = ?6 COLLATE NOCASE OR leaderboard = " \
	"(SELECT id FROM leaderboards WHERE name = ?6)) AND "
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

/* ---- kinds ---- */

#define JOB_END "`state`, `score`, `low`, `high`, `error`, `fault`, `stage`, `retriable`: as in `submission.show`"

const struct event_kind event_kinds[] = {
	{"leaderboard.created", 'p', "`name`, `devices`: names, `deadline`: time or null"},
	{"leaderboard.updated", 'p',
		"`name`, `was`: its old name, where that changed, `changes`: the settings that changed, `scores`: kept, or "
		"left (the rankings started again), "
		"`deadline`: time or null, `devices`: names, `visibility`"},
	{"leaderboard.renamed", 'u',
		"`name`, `was`: the leaderboard has a new name, because the old one is now reserved for URLs; the user is its "
		"creator"},
	{"leaderboard.limited", 'p',
		"`name`, `category` (null: both), `device` (null: all together), `per_hour` (null: the limit is removed)"},
	{"leaderboard.joined", 'u', "`name`"},
	{"leaderboard.opened", 'p', "`name`, `deadline`: time or null; its opening time has come, once"},
	{"leaderboard.ended", 'p',
		"`name`, `deadline`, `devices`: rows of `device` and `podium` (as below); its deadline has passed and its last "
		"ranked submission is done, once"},
	{"leaderboard.podium", 'p',
		"`device`, `came`, `went`, `before`, `podium`: rows of `rank`, `user`, `user_name`, `submission`, `score`, "
		"`by`: "
		"`user` and former `rank` (or null) of whose result changed; the first three have changed, or their places"},
	{"leaderboard.fault", 'u',
		"`job`, `device`, `mode`, `error`; a job ended by a fault of the task, the first one since a job passed or the "
		"task changed. The user is the leaderboard's creator, not the submission's owner"},
	{"leaderboard.deleted", 'p',
		"`name`, `submissions`: how many, `jobs`: rows of `job`, `device`, `submission` that were open"},
	{"submission.accepted", 'u',
		"`mode`, `file_name`, `jobs`: rows of `job`, `device`, `request`: the identifier that came with it"},
	{"submission.cancelled", 'u', "`jobs`: rows of `job`, `device`, `attempt` that were open; submission.done follows"},
	{"submission.deleted", 'u', "`mode`, `file_name`, `jobs`: rows of `job`, `device`, `attempt` that were open"},
	{"submission.rerun", 'u',
		"`mode`, `file_name`, `jobs`: rows of `job`, `device` that are new; submission.done follows"},
	{"submission.flagged", 'u', "`mode`, `file_name`, `reason`; marked as a cheat"},
	{"submission.unflagged", 'u', "`mode`, `file_name`"},
	{"submission.done", 'u',
		"`mode`, `state`: the worst of its jobs', `jobs`: rows of `job`, `device` and what job.done says of each"},
	{"job.started", 'u', "`job`, `device`, `unit`, `attempt`"},
	{"job.requeued", 'u',
		"`job`, `device`, `attempt`, `loss`: how it was lost (docs/plugins.md), `spared`: it does not count, `reason`"},
	{"job.done", 'u',
		"`job`, `device`, `mode`; " JOB_END "; where it counts also `rank`, `of`, `rank_before`, `previous_score`, "
		"`best`: it is the user's best now, `first`: of theirs, `better`: another submission is the user's best, with "
		"`submission`, `score`, `rank`, `of`; then `rank` and `of` are null"},
	{"rank.changed", 'p', "`device`, `before`: rank or null, `after`: rank or null, `score`, `previous_score`, `job`"},
	{"invite.created", 'a', "`leaderboards`: names, `count`"},
	{"invite.revoked", 'a', "`leaderboards`: names, `was_claimed`; the user is who had claimed it"},
	{"device.disabled", 'a', "`device`, `unit`, `reason`; an operator has disabled the unit"},
	{"device.ready", 'a', "`device`, `unit`, `reason`; an operator has enabled it"},
	{"device.calibrated", 'a',
		"`device`, `unit`, `names`: nanoseconds by name, `leaderboard`: whose task's own they are, `missing`: tasks "
		"that "
		"are not measured yet"},
	{"unit.quarantined", 'a',
		"`device`, `unit`, `reason`; the engine has disabled it for a fault, or its runner says that no job can run "
		"there"},
	{"unit.returned", 'a', "`device`, `unit`, `reason`; the engine has found the unit ready and enabled it"},
	{"unit.unfit", 'a',
		"`device`, `unit`, `causes`, `reason`: its GPU is unfit to score, and ranked jobs wait for it or go to other "
		"units"},
	{"unit.fit", 'a', "`device`, `unit`, `reason`; it runs ranked jobs again"},
	{"storage.full", 'a',
		"`since`: time, `error`; sent at once without `seq`, and stored together with storage.ok, because nothing can "
		"be stored before"},
	{"storage.ok", 'a', "`since`: time; Kettle can store changes again"},
	{"runner.credential_failed", 'a',
		"`runner`, `error`; its remote side refuses the credential, once until it is taken again"},
	{"user.created", 'a', "`name`, `provider`"},
	{"user.banned", 'u', "`reason`, `cancelled`: submissions"},
	{"user.unbanned", 'u', "none"},
	{"user.role", 'u', "`role`, `was`"},
	{"user.updated", 'u', "`profile`: what others see of the user from now on"},
	{"user.code", 'u',
		"`expires`; the user has created a link code, which merges this user into the user who enters it"},
	{"user.deleted", 'a', "none; the user's identities are removed, and the user's name is the new one"},
	{"user.token", 'u', "`name`, `expires`: time or null; a token was made"},
	{"user.login", 'u', "`name`: of the program or page that has logged in as the user"},
	{"token.revoked", 'u', "`kind`, `name`; tokens of this name no longer act as the user"},
	{"login.revoked", 'u', "`kind`, `name`; logins of this name no longer act as the user"},
	{"user.merged", 'u',
		"`name`, `was`: number, `role`: of the user who was merged into this one, whose tokens act as this one now"},
	{"admin.accepting", 'a', "`accepting`: whether submissions are accepted from now on"},
	{"progress", '-',
		"of a job (with `submission`, `user`, `job`, `device`, `event`: what kettle-exec says) for who sees the "
		"submission; of a command (with `task_run`, `device`, `event`, or `solution`, `done`, `of`) for its caller "
		"alone. These members stand in the event itself"},
	{NULL},
};

const char *
event_scope_text(char scope)
{
	switch (scope) {
	case 'p':
		return "who sees the leaderboard";
	case 'u':
		return "the user, admins";
	case 'a':
		return "admins";
	}
	return "as it says; it is not stored";
}

int
event_kind_check(const json_t *event, struct kettle_error *err)
{
	const char *kind = json_text_or_empty(event, "kind"), *scope = json_text_or_empty(event, "scope");
	const struct event_kind *row = event_kinds;
	while (row->kind && strcmp(row->kind, kind) != 0)
		row++;
	if (!row->kind)
		return kettle_fail(err, KETTLE_EINVAL, "There is no event `%s`.", kind);
	if (scope[0] != row->scope)
		return kettle_fail(err, KETTLE_EINVAL, "An event `%s` must not have the scope `%s`.", kind, scope);
	json_object_each(json_object_get(event, "data"), key, value) {
		char quoted[80];
		(void)snprintf(quoted, sizeof(quoted), "`%s`", key);
		if (!strstr(row->data, quoted))
			return kettle_fail(err, KETTLE_EINVAL, "The data of an event `%s` must not have `%s`.", kind, key);
	}
	return 0;
}
