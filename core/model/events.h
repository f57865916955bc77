/* SPDX-License-Identifier: MIT */
/* The numbered events: which there are, who may read them, and how far each consumer has come. */
#pragma once

#include "model/access.h"
#include "store/db.h"

#include <jansson.h>
#include <kettle/error.h>

#define EVENTS_PAGE_MAX 1000 /* events of one reading */
#define EVENTS_LOOK_MAX 2000 /* events that one reading examines at most, visible to the actor or not */

/*
 * An event is {"seq": number, "at": ISO time, "kind", "scope": "p"|"u"|"a", "closed": whether the board was closed,
 * "leaderboard": id, "leaderboard_name", "submission": id, "user": id, "user_name", "data": {…}}; what does not apply
 * is absent. It is written in the transaction that causes it. No seed, no result and no message of a secret run is ever
 * in one. `user` is the user concerned, mostly the submission's owner, not the one who acted.
 */

/* An event as the core works with it; strings and JSON belong to json. */
struct event {
	const json_t *json;
	const char *kind, *scope, *board; /* "": none */
	json_int_t seq;                   /* 0: it is not stored */
	json_int_t submission, user;      /* 0: none */
	bool closed;
	bool local;         /* progress of a command, for its caller alone (task_run) */
	int64_t caller;     /* of such: see struct actor */
	const char *was;    /* the old name of a board that has a new one; else NULL, or something else */
	const json_t *jobs; /* that its data name: objects with "job" and "device", or numbers */
};

/* [any] */
struct event event_read(const json_t *json);
/* The number of one of its jobs, and the device, "" where the event does not name that. [any] */
int64_t event_job(const struct event *event, size_t index, const char **ret_device);

/*
 * Stored events with numbers over `after` that the actor may see (admins all; others what is public on boards that they
 * may see, and their own), in order, at most limit. filter: {"submission": id}, {"leaderboard": name} or {}; may be
 * NULL. New array. *ret_next: where the next reading goes on, also after an empty page; 0: there is no more. It never takes
 * longer than EVENTS_LOOK_MAX events do.
 */
int events_after(struct db *db, const struct actor *actor, const json_t *filter, int64_t after, int64_t limit,
	json_t **ret_events, int64_t *ret_next, struct kettle_error *err);
/* The number of the newest event; 0: there is none. */
int events_last(struct db *db, int64_t *ret_seq, struct kettle_error *err);
/*
 * The numbers of the oldest event that is stored, and of the last one that was given, whether it is still stored or
 * not: there is none if *ret_oldest is above *ret_newest.
 */
int events_range(struct db *db, int64_t *ret_oldest, int64_t *ret_newest, struct kettle_error *err);

/* {"oldest", "newest": as events_range, "cursors": how far each consumer has come, by its name}. New reference. */
int events_span(struct db *db, json_t **ret_span, struct kettle_error *err);

/* The number of the last event that a consumer ("plugin:discord") has taken; 0: none. */
int events_cursor_get(struct db *db, const char *consumer, int64_t *ret_seq, struct kettle_error *err);
/* Moves a consumer's cursor, only forwards. */
int events_cursor_set(struct db *db, const char *consumer, int64_t seq, struct kettle_error *err);
/* Makes a new consumer begin at the newest event, not at the first; no change for one that exists. */
int events_cursor_begin(struct db *db, const char *consumer, struct kettle_error *err);

/* ---- the one list of the kinds, who may read them, and the members of their data (as in docs/plugins.md) ---- */

struct event_kind {
	const char *kind;
	char scope; /* as stored: 'p', 'u', 'a'; '-': it is never stored */
	const char
		*data; /* its members, each between backticks, and their meaning; a member that does not apply is absent */
};

extern const struct event_kind event_kinds[]; /* ends with a NULL kind */

/* The readers of a scope's events, in words. */
const char *event_scope_text(char scope);
/* Checks that a stored event is as its row says: scope, and no member of data that the row lacks. EINVAL. [any] */
int event_kind_check(const json_t *event, struct kettle_error *err);
