/* SPDX-License-Identifier: MIT */
/* The records of leaderboards and of their users. */
#include <config.h>

#include "model/records.h"

#include "base/cleanup.h"
#include "base/json_access.h"

#define INSERT "INSERT INTO records (leaderboard, device, user, submission, score) "
/* Of rows "submission, score": those that are better than all before them. */
#define BETTER(partition) \
	"min(score) OVER (" partition \
	"ORDER BY submission ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM "
#define IS_BETTER "WHERE before IS NULL OR score < before"
/* The best score of all users before a submission of these records. */
#define OF_ALL_BEFORE(submission, with) \
	"coalesce((SELECT a.score FROM records a WHERE a.leaderboard = ?1 AND a.device = ?2 AND a.user = " with \
	" AND a.submission < " submission " ORDER BY a.submission DESC LIMIT 1), 9e999)"

/* Puts a run in its place in a series, where it is a record, and takes out those that it makes none. */
static int
put(struct db *db, int64_t leaderboard, const char *device, int64_t user, int64_t submission, double score,
	bool *ret_put, struct kettle_error *err)
{
	int rc = db_exec(db, err,
		INSERT "SELECT ?1, ?2, ?3, ?4, ?5 WHERE ?5 < " OF_ALL_BEFORE("?4", "?3") " ON CONFLICT DO NOTHING", "isiid",
		leaderboard, device, user, submission, score);
	*ret_put = rc == 0 && db_changes(db) > 0;
	return *ret_put
			   ? db_exec(db, err,
					 "DELETE FROM records WHERE leaderboard = ? AND device = ? AND user = ? AND submission > ? AND "
					 "score >= ?",
					 "isiid", leaderboard, device, user, submission, score)
			   : rc;
}

int
records_offer(struct db *db, int64_t leaderboard, const char *device, int64_t user, int64_t submission, double score,
	struct kettle_error *err)
{
	bool is_own = false, is_of_all;
	int rc = put(db, leaderboard, device, user, submission, score, &is_own, err);
	return is_own ? put(db, leaderboard, device, 0, submission, score, &is_of_all, err) : rc;
}

/*
 * Whether the records of all have one of the user that is none any more, or lack one. They are few; those of all users may be
 * many.
 */
static int
differ(
	struct db *db, int64_t leaderboard, const char *device, int64_t user, int64_t *ret_differ, struct kettle_error *err)
{
	return db_int(db, ret_differ, err,
		"SELECT EXISTS (SELECT 1 FROM records o JOIN submissions s ON s.id = o.submission WHERE o.leaderboard = ?1 AND "
		"o.device = ?2 AND o.user = 0 AND s.user = ?3 AND NOT EXISTS (SELECT 1 FROM records r WHERE r.leaderboard = ?1 "
		"AND r.device = ?2 AND r.user = ?3 AND r.submission = o.submission AND r.score = o.score)) OR EXISTS (SELECT 1 "
		"FROM records r WHERE r.leaderboard = ?1 AND r.device = ?2 AND r.user = ?3 AND r.score < " OF_ALL_BEFORE(
			"r.submission", "0") " AND NOT EXISTS (SELECT 1 FROM records o WHERE o.leaderboard = ?1 AND o.device = ?2 "
								 "AND o.user = 0 AND o.submission = r.submission))",
		"isi", leaderboard, device, user);
}

static int
exec_series(
	struct db *db, const char *sql, int64_t leaderboard, const char *device, int64_t user, struct kettle_error *err)
{
	int rc = db_exec(db, err, "DELETE FROM records WHERE leaderboard = ? AND device = ? AND user = ?", "isi",
		leaderboard, device, user);
	return rc < 0 ? rc : db_exec(db, err, sql, "isi", leaderboard, device, user);
}

int
records_renew(struct db *db, int64_t leaderboard, const char *device, int64_t user, struct kettle_error *err)
{
	int64_t is_other = 0;
	int rc = exec_series(db,
		INSERT "SELECT ?1, ?2, ?3, submission, score FROM (SELECT submission, score, " BETTER(
			"") "(SELECT s.id AS submission, j.score " RECORDS_JOINS
				"WHERE s.leaderboard = ?1 AND j.device = ?2 AND s.user = ?3 AND " RECORDS_COUNTS ")) " IS_BETTER,
		leaderboard, device, user, err);
	if (rc == 0)
		rc = differ(db, leaderboard, device, user, &is_other, err);
	if (rc == 0 && is_other)
		rc = exec_series(db,
			INSERT "SELECT ?1, ?2, ?3, submission, score FROM (SELECT submission, score, " BETTER(
				"") "records WHERE leaderboard = ?1 AND device = ?2 AND user <> 0) " IS_BETTER,
			leaderboard, device, 0, err);
	return rc;
}

int
records_trend(struct db *db, int64_t leaderboard, const char *device, int64_t user, int64_t limit, json_t **ret_trend,
	struct kettle_error *err)
{
	AUTO_JSON json_t *points = NULL;
	int64_t count = 0;
	int rc = db_int(db, &count, err, "SELECT count(*) FROM records WHERE leaderboard = ? AND device = ? AND user = ?",
		"isi", leaderboard, device, user);
	if (rc == 0)
		rc = db_array(db, &points, err,
			"SELECT * FROM (SELECT r.submission AS submission_id, u.id AS user_id_text, u.name AS user_name, "
			"s.created_at AS time_iso, r.score FROM records r JOIN submissions s ON s.id = r.submission JOIN users u "
			"ON "
			"u.id = s.user WHERE r.leaderboard = ?1 AND r.device = ?2 AND r.user = ?3 ORDER BY r.submission DESC LIMIT "
			"?4) ORDER BY submission_id",
			"isii", leaderboard, device, user, limit);
	if (rc == 0)
		*ret_trend = json_pack("{s:I, s:O}", "count", (json_int_t)count, "points", points);
	return rc;
}

int
records_best_until(
	struct db *db, int64_t leaderboard, const char *device, int64_t until, json_t **ret_score, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	int rc = db_object(db, &row, err,
		"SELECT (SELECT r.score FROM records r JOIN submissions s ON s.id = r.submission WHERE r.leaderboard = ?1 AND "
		"r.device = ?2 AND r.user = 0 AND s.created_at < ?3 ORDER BY r.submission DESC LIMIT 1) AS score",
		"isi", leaderboard, device, until);
	if (rc == 0)
		*ret_score = json_incref(json_object_get(row, "score"));
	return rc;
}

int
records_verify(struct db *db, db_row row, void *arg, struct kettle_error *err)
{
	return db_query(db, err, row, arg,
		"WITH counted AS MATERIALIZED (SELECT s.leaderboard, j.device, s.user, s.id AS submission, "
		"j.score " RECORDS_JOINS "WHERE " RECORDS_COUNTS
		"), expected AS MATERIALIZED (SELECT leaderboard, device, user, submission, score FROM "
		"(SELECT *, " BETTER(
			"PARTITION BY leaderboard, device, user ") "counted) " IS_BETTER
													   " UNION ALL SELECT leaderboard, device, 0, submission, score "
													   "FROM (SELECT *, " BETTER(
														   "PARTITION BY leaderboard, device ") "counted) " IS_BETTER
																								"), kept AS "
																								"MATERIALIZED (SELECT "
																								"r.* FROM records r "
																								"JOIN leaderboards b "
																								"ON b.id = "
																								"r.leaderboard) SELECT "
																								"printf('%s on %s: the "
																								"records%s are not "
																								"those of the runs, at "
																								"submission %d.', "
																								"b.name, w.device, "
																								"iif(w.user, "
																								"' of a user', ''), "
																								"w.submission) FROM "
																								"(SELECT * FROM "
																								"(SELECT * FROM "
																								"expected EXCEPT "
																								"SELECT * FROM kept) "
																								"UNION "
																								"SELECT * FROM (SELECT "
																								"* FROM kept EXCEPT "
																								"SELECT * FROM "
																								"expected)) w JOIN "
																								"leaderboards b ON "
																								"b.id = "
																								"w.leaderboard",
		NULL);
}
