/* SPDX-License-Identifier: MIT */
/* What others may see of a user: places in rankings, how they came about, medals, days of activity. */
#include <config.h>

#include "model/user_page.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "model/board.h"
#include "model/ranking.h"
#include "model/submissions.h"

/* The user's improvements on the ranking of a row, the last ones. */
static int
add_history(struct db *db, int64_t user, json_t *row, struct kettle_error *err)
{
	AUTO_JSON json_t *trend = NULL;
	size_t i;
	json_t *point;
	int rc = ranking_trend(
		db, member_int(row, "board"), json_text_or_null(row, "device"), user, USER_PAGE_POINTS_MAX, &trend, err);
	if (rc < 0)
		return rc;
	json_t *points = json_object_get(trend, "points");
	json_array_foreach(points, i, point) {
		(void)json_object_del(point, "user_id");
		(void)json_object_del(point, "user_name");
	}
	(void)json_object_set(row, "history", points);
	return 0;
}

/* Only a ranking that has ended gives medals. */
static void
count_medal(const json_t *row, int64_t rank, int medals[RANKING_PODIUM])
{
	if (member_true(row, "ended") && rank >= 1 && rank <= RANKING_PODIUM)
		medals[rank - 1]++;
}

static int
add_ranks(struct db *db, const struct actor *actor, int64_t user, json_t *page, struct kettle_error *err)
{
	AUTO_JSON json_t *rows = NULL;
	int medals[RANKING_PODIUM] = {0};
	int rc = db_array(db, &rows, err,
		"SELECT b.name AS leaderboard, p.leaderboard AS board, p.device, p.score, p.submission AS submission_id, "
		"coalesce(b.deadline_at < now_ms(), 0) AS ended_bool FROM best p JOIN leaderboards b ON b.id = p.leaderboard "
		"WHERE p.user = ?1 AND " BOARD_MAY_SEE "ORDER BY p.leaderboard DESC, p.device LIMIT ?4",
		"iiii", user, board_sees_all(actor), board_user(actor), (int64_t)USER_PAGE_RANKS_MAX);
	for (size_t i = 0; i < json_array_size(rows) && rc == 0; i++) {
		json_t *row = json_array_get(rows, i);
		struct ranking_position position = {0};
		rc = ranking_of(db, member_int(row, "board"), json_text_or_null(row, "device"), user, &position, err);
		if (rc == 0)
			rc = add_history(db, user, row, err);
		count_medal(row, position.rank, medals);
		(void)json_object_del(row, "board");
		(void)json_object_set_new(row, "rank", json_integer(position.rank));
		(void)json_object_set_new(row, "of", json_integer(position.of));
	}
	if (rc < 0)
		return rc;
	(void)json_object_set(page, "ranks", rows);
	(void)json_object_set_new(
		page, "medals", json_pack("{s:i, s:i, s:i}", "gold", medals[0], "silver", medals[1], "bronze", medals[2]));
	return 0;
}

int
user_page(
	struct db *db, const struct actor *actor, const struct user *user, json_t **ret_page, struct kettle_error *err)
{
	AUTO_JSON json_t *page = NULL, *days = NULL;
	int rc = db_object(db, &page, err,
		"SELECT id AS user_id_text, name AS user_name, profile = 'hidden' AS hidden_bool, created_at AS since_iso FROM "
		"users WHERE id = ?",
		"i", user->id);
	if (rc < 0)
		return rc;
	if (member_true(page, "hidden") && actor->role != RIGHT_ADMIN && actor->user != user->id) {
		(void)json_object_del(page, "since");
		*ret_page = STEAL(page);
		return 0;
	}
	rc = add_ranks(db, actor, user->id, page, err);
	if (rc == 0)
		rc = submission_days(db, actor, user->id, USER_PAGE_DAYS_MAX, &days, err);
	if (rc < 0)
		return rc;
	(void)json_object_set(page, "activity", days);
	*ret_page = STEAL(page);
	return 0;
}

int
user_set_profile(struct db *db, int64_t user, const char *profile, struct kettle_error *err)
{
	return db_exec(db, err, "UPDATE users SET profile = ? WHERE id = ?", "si", profile, user);
}
