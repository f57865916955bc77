/* SPDX-License-Identifier: MIT */
/*
 * Rankings: the best of each user on each (leaderboard, device), kept in the table `best`.
 *
 * A run counts when its submission is ranked, not flagged, no practice, at or after the board's first that counts, its user
 * is not banned, and the device's current job passed with a score. Lower is better; equal scores share a rank and the next is
 * skipped (1, 1, 3); of one user's equal scores the earliest submission counts. Pages are in the order of score, then
 * of submission. All on the store's thread.
 */
#pragma once

#include "model/access.h"
#include "store/db.h"

#include <stdbool.h>

#define RANKING_PODIUM 3

/* A place in a ranking. */
struct ranking_position {
	int64_t rank, of; /* 0: not ranked */
	int64_t submission, job;
	double score;
};

/* The effect of an offer or a recomputation on one user's entry. */
struct ranking_change {
	struct ranking_position before, after;
};

/*
 * A job has passed: takes it as its user's best if it is better than what there is and counts. Writes rank.changed
 * where the rank changed, or the score of one of the first three, and leaderboard.podium where their places did. ret_change may
 * be NULL.
 */
int ranking_offer(struct db *db, int64_t job, struct ranking_change *ret_change, struct kettle_error *err);
/* Recomputes a user's (0: every user's) entry of a board's device (NULL: all), with rank.changed where it moved. */
int ranking_recompute(struct db *db, int64_t leaderboard, const char *device, int64_t user, struct kettle_error *err);
/* The same for one user on one device; reports the effect. ret_change may be NULL. */
int ranking_renew(struct db *db, int64_t leaderboard, const char *device, int64_t user,
	struct ranking_change *ret_change, struct kettle_error *err);
/* Recomputes a user's entries on every board: after a ban or its end. */
int ranking_recompute_user(struct db *db, int64_t user, struct kettle_error *err);
/* Counts the tries of a user's entries anew: after another user's submissions became this one's. */
int ranking_recount_tries(struct db *db, int64_t user, struct kettle_error *err);
/* A user's place; all 0 without one. */
int ranking_of(struct db *db, int64_t leaderboard, const char *device, int64_t user,
	struct ranking_position *ret_position, struct kettle_error *err);
/* The number of entries before a user's own in the order of a page; -1: the user is not ranked. */
int ranking_offset(struct db *db, int64_t leaderboard, const char *device, int64_t user, int64_t *ret_offset,
	struct kettle_error *err);
/* Whether the user has a place on any device of the board. */
int ranking_has(struct db *db, int64_t leaderboard, int64_t user, bool *ret_has, struct kettle_error *err);
/*
 * The place that a job's user has on its device, by this job or (ret_position->job is another) by a better one. All 0: the job
 * does not count.
 */
int ranking_of_job(struct db *db, int64_t job, struct ranking_position *ret_position, struct kettle_error *err);
/* {"submission", "score", "rank", "of"} of a place, shown with a job that is not its user's best. New reference. */
json_t *ranking_better(const struct ranking_position *position);
/* [{"device", "ranked": places}] of a board, in its order. New reference. */
int ranking_devices(struct db *db, int64_t leaderboard, json_t **ret_devices, struct kettle_error *err);
/*
 * [{"rank", "user", "user_name", "submission", "score"}]: the first three, by the order of a page; with ties there may be
 * more of one rank, but never more than three rows. New reference.
 */
int ranking_podium(
	struct db *db, int64_t leaderboard, const char *device, json_t **ret_podium, struct kettle_error *err);
/*
 * The nearest entry above a place that is of a later submission, among the RANKING_NEAR_MAX above it: {"user_name", "score",
 * "submission_id", "time"}, or null. New reference.
 */
#define RANKING_NEAR_MAX 1000
int ranking_overtaken_by(struct db *db, int64_t leaderboard, const char *device,
	const struct ranking_position *position, json_t **ret_entry, struct kettle_error *err);
/*
 * A page of one user alone, in the form of ranking_page.h without "close": all of their runs that count or could, best
 * first; only the one in the ranking has a rank. New reference.
 */
int ranking_page_of(struct db *db, int64_t leaderboard, const char *device, int64_t user, int64_t limit, int64_t offset,
	json_t **ret_page, struct kettle_error *err);
/*
 * A page of submissions after the deadline: each user's best run that would count otherwise; user (not 0): all runs of
 * that user instead. New reference.
 */
int ranking_page_practice(struct db *db, int64_t leaderboard, const char *device, int64_t user, int64_t limit,
	int64_t offset, json_t **ret_page, struct kettle_error *err);
/*
 * Compares `best` and `records` with the runs, for all boards, and changes nothing: calls row for each entry that is wrong, with a
 * sentence in its first column.
 */
int ranking_verify(struct db *db, db_row row, void *arg, struct kettle_error *err);
/*
 * Competitions: the leaderboards of one set, and who is ahead over all of them. On each leaderboard and device the first
 * ten places get 10, 9, … 1 points. Users of equal score share the places that they take, and so the mean of their
 * points. A user who is on no place of a ranking gets nothing for it. The sum decides; equal sums share a rank.
 */

#define STANDINGS_PLACES 10 /* of a ranking that get points */

/*
 * The competitions with a leaderboard that the actor sees: [{"name", "leaderboards": how many, "deadline": the last one
 * or null, "ended": whether all have}], by name. New reference.
 */
int standings_competitions(struct db *db, const struct actor *actor, json_t **ret_list, struct kettle_error *err);
/*
 * The leaderboards of a competition that the actor sees, by deadline and name: [{"id", "name", "description", "deadline", "opens",
 * "ended", "devices": [{"device", "ranked": places, "leader": {"user_name", "score", "submission"} or null}]}], and whether it has
 * standings. ENOENT: there is none of that name, without case; names the nearest. New reference.
 */
int standings_boards(struct db *db, const struct actor *actor, const char *name, json_t **ret_boards,
	bool *ret_has_standings, struct kettle_error *err);
/*
 * {"count": users with points, "entries": [{"rank", "user_id" (text), "user_name", "points", "places": how many gave
 * points}]}: a page of them over these leaderboards. New reference.
 */
int standings_page(
	struct db *db, const json_t *boards, int64_t limit, int64_t offset, json_t **ret_page, struct kettle_error *err);
