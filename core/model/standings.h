/* SPDX-License-Identifier: MIT */
/*
 * Competitions: the leaderboards of one set, and who is ahead over all of them. Store's threads.
 *
 * The rule. On each leaderboard and device the first ten places get 10, 9, … 1 points. Users of equal score share the
 * places that they take, and so the mean of their points. A user who is on no place of a ranking gets nothing for it. The
 * sum decides; equal sums share a rank.
 */
#ifndef KETTLE_MODEL_STANDINGS_H
#define KETTLE_MODEL_STANDINGS_H

#include "model/access.h"
#include "store/db.h"

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

#endif
