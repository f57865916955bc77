/* SPDX-License-Identifier: MIT */
/* How many submissions a leaderboard has. */
#include <config.h>

#include "model/submission_count.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"

/* What is not asked for is no condition, so that it is not read: all of a leaderboard are counted in an index alone. */
int
submission_count(struct db *db, int64_t board, int64_t user, const char *device, const char *mode, const char *state,
	int64_t *ret_count, bool *ret_more, struct kettle_error *err)
{
	AUTO_JSON json_t *row = NULL;
	AUTO_FREE char *sql = xasprintf(
		"SELECT coalesce(sum(fits), 0) AS fits, count(*) AS seen FROM (SELECT 1%s%s%s AS fits "
		"FROM submissions s WHERE s.leaderboard = ?1 %s LIMIT ?6)",
		device ? " AND EXISTS (SELECT 1 FROM jobs j WHERE j.submission = s.id AND j.device = ?3 AND NOT j.superseded)"
			   : "",
		mode ? " AND s.mode = iif(?4 = 'leaderboard', 'ranked', ?4)" : "", state ? " AND s.state = ?5" : "",
		user ? "AND s.user = ?2 ORDER BY s.created_at DESC" : "ORDER BY s.id DESC");
	int rc = db_object(db, &row, err, sql, "iisssi", board, user, device, mode, state, (int64_t)SUBMISSION_COUNT_MOST);
	if (rc < 0)
		return rc;
	*ret_count = member_int(row, "fits");
	*ret_more = member_int(row, "seen") == SUBMISSION_COUNT_MOST;
	return 0;
}
