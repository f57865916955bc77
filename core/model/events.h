/* SPDX-License-Identifier: MIT */
/* The numbered events: which there are, who may read them, and how far each consumer has come. */
#ifndef KETTLE_MODEL_EVENTS_H
#define KETTLE_MODEL_EVENTS_H

#include "model/access.h"
#include "store/db.h"

#define EVENTS_PAGE_MAX 1000 /* events of one reading */
#define EVENTS_LOOK_MAX 2000 /* events that one reading examines at most, visible to the actor or not */

/*
 * An event is {"seq": number, "at": ISO time, "kind", "scope": "p"|"u"|"a", "closed": whether the board was closed,
 * "leaderboard": id, "leaderboard_name", "submission": id, "user": id, "user_name", "data": {…}}; what does not apply
 * is absent. It is written in the transaction that causes it. No seed, no result and no message of a secret run is ever
 * in one. `user` is the user concerned, mostly the submission's owner, not the one who acted.
 *
 * kind                   scope data
 * leaderboard.created    p     {"name", "devices": [name], "deadline": ISO or null}
 * leaderboard.updated    p     {"name", "changes": the settings that changed, "scores": "kept" or "left" (the rankings started again),
 *                              "deadline": ISO or null, "devices": [name], "visibility"}
 * leaderboard.limited    p     {"name", "category" (null: both), "device" (null: all together), "per_hour" (null: removed)}
 * leaderboard.joined     u     {"name"}
 * leaderboard.opened     p     {"name", "deadline": ISO or null}: its opening time has come, once
 * leaderboard.ended      p     {"name", "deadline", "devices": [{"device", "podium": as below}]}: its deadline has passed and its
 *                              last ranked submission is done, once
 * leaderboard.podium     p     {"device", "came": [row], "went": [row], "before": [row], "podium": [row]}: the first three have
 *                              changed, or their places; a row is {"rank", "user", "user_name", "submission", "score"}
 * leaderboard.fault      u     {"job", "device", "mode", "error"}: a job ended by a fault of the task, the first one since
 *                              a job passed or the task changed; the user is the board's creator, not the submission's owner
 * leaderboard.deleted    p     {"name", "submissions": how many, "jobs": [{"job", "device", "submission"}] that were open}
 * submission.accepted    u     {"mode", "file_name", "jobs": [{"job", "device"}]}
 * submission.cancelled   u     {"jobs": [{"job", "device", "attempt"}] that were open}; submission.done follows
 * submission.deleted     u     {"mode", "file_name", "jobs": [{"job", "device", "attempt"}] that were open}
 * submission.rerun       u     {"mode", "file_name", "jobs": [{"job", "device"}] that are new}; submission.done follows
 * submission.flagged     u     {"mode", "file_name", "reason"}: marked as a cheat
 * submission.unflagged   u     {"mode", "file_name"}
 * submission.done        u     {"mode", "state": the worst of its jobs', "jobs": [{"job", "device", "state", "score",
 *                              "low", "high", "error", "fault", "stage", "retriable", "rank", "of", "better"}]}
 * job.started            u     {"job", "device", "unit", "attempt"}
 * job.requeued           u     {"job", "device", "attempt", "loss": enum kettle_loss, "spared": it does not count, "reason"}
 * job.done               u     {"job", "device", "mode", "state", "score", "low", "high", "error", "fault", "stage",
 *                              "retriable": as in submission.show, "rank", "of",
 *                              "rank_before", "previous_score", "best": this is the user's best now, "first": of theirs,
 *                              "better"}; the ranks only where it counts. "rank" and "of" are null where another submission
 *                              is the user's best, which is "better" then: {"submission", "score", "rank", "of"}
 * rank.changed           p     {"device", "before": rank or null, "after": rank or null, "score", "previous_score", "job"}
 * invite.created         a     {"leaderboards": [name], "count"}; codes are in no event
 * invite.revoked         a     {"leaderboards": [name], "was_claimed"}; the user is who had claimed it
 * device.disabled        a     {"device", "unit", "reason"}: an operator has disabled the unit: nothing runs there until an
 *                              operator enables it
 * device.calibrated      a     {"device", "unit", "names": {NAME: ns}, "leaderboard": the one whose task's own they are,
 *                              "missing": [the shipped tasks that are not measured yet], where there are such}
 * device.ready           a     {"device", "unit", "reason"}: an operator has enabled it
 * unit.quarantined       a     {"device", "unit", "reason"}: the engine has disabled it for a fault, or its runner says that
 *                              no job can run there as it is configured
 * unit.returned          a     {"device", "unit", "reason"}: the engine found it in order again
 * storage.full           a     {"since": ISO, "error"}: the disk of the database is full. It comes at once without "seq" to those who
 *                              listen, and is stored together with storage.ok, since nothing can be before
 * storage.ok             a     {"since": ISO}: changes can be stored again
 * runner.credential_failed  a  {"runner", "error"}: the remote side refuses its credential; once until it is taken again
 * user.created           a     {"name", "provider"}
 * user.banned            u     {"reason", "cancelled": [submission]}
 * user.unbanned          u     none
 * user.role              u     {"role", "was"}
 * user.code              u     {"expires"}: a code was made that merges this user into the one who types it
 * user.deleted           a     none: the user's identity is removed; the name is the new one
 * user.token             u     {"name", "expires": time or null}: a token was made
 * user.login             u     {"name"}: of the program or page that has logged in as the user
 * user.merged            u     {"name", "was": number, "role"} of the user who was merged into this one
 * admin.accepting        a     {"accepting"}: whether submissions are accepted from now on
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

/* How far a consumer ("plugin:discord") has come; 0: it has none. */
int events_cursor_get(struct db *db, const char *consumer, int64_t *ret_seq, struct kettle_error *err);
/* Moves a consumer's cursor, only forwards. */
int events_cursor_set(struct db *db, const char *consumer, int64_t seq, struct kettle_error *err);
/* Makes a new consumer begin at the newest event, not at the first; no change for one that exists. */
int events_cursor_begin(struct db *db, const char *consumer, struct kettle_error *err);

#endif
