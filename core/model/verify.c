/* SPDX-License-Identifier: MIT */
/* Checks that the database is intact and consistent. */
/*
 * Theory of operation. A check is a query whose rows are its violations, each a sentence. The files of jobs come first:
 * a file that is removed while this looks at an older snapshot would be missed, and what takes long comes later.
 */
#include <config.h>

#include "model/verify.h"

#include "base/base.h"
#include "base/file.h"
#include "base/text.h"
#include "model/jobs.h"
#include "model/ranking.h"

#include <sys/stat.h>

struct findings {
	json_t *sentences;
	bool more;
	const char *spool;
};

/* A row with a sentence. */
static int
add_finding(void *arg, sqlite3_stmt *row)
{
	struct findings *findings = arg;
	findings->more = json_array_size(findings->sentences) == VERIFY_LISTED;
	if (!findings->more)
		(void)json_array_append_new(findings->sentences, db_text(row, 0));
	return findings->more;
}

/* A file that a job left: sentence, path below the spool, size. */
static int
look_at_file(void *arg, sqlite3_stmt *row)
{
	struct findings *findings = arg;
	const char *path = (const char *)sqlite3_column_text(row, 1);
	AUTO_FREE char *file = path_join(findings->spool, path ? path : "");
	struct stat st;
	bool good =
		path && file && lstat(file, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == sqlite3_column_int64(row, 2);
	return good ? 0 : add_finding(arg, row);
}

/* "ok", or what is wrong with the file. */
static int
add_damage(void *arg, sqlite3_stmt *row)
{
	const char *text = (const char *)sqlite3_column_text(row, 0);
	return text && strcmp(text, "ok") == 0 ? 0 : add_finding(arg, row);
}

#define WORD(state) state " "
#define WORST "'" JOBS_END_STATES(WORD) "'" /* of two states the one that comes first */
#define OF_BOARDS(alias) "JOIN leaderboards b ON b.id = " alias ".leaderboard "

static const struct check {
	const char *name, *what;
	db_row row;
	const char *sql; /* NULL: ranking_verify */
} checks[] = {
	{"files", "files that jobs left", look_at_file,
		"SELECT printf('The file %s of job %d is missing from the spool, or has another size than %d bytes.', a.name, "
		"a.job, a.size), a.path, a.size FROM artifacts a JOIN jobs j ON j.id = a.job JOIN submissions s ON s.id = "
		"j.submission " OF_BOARDS("s") "WHERE a.expired_at IS NULL AND a.blob IS NULL"},
	{"database", "the file of the database", add_damage, "PRAGMA integrity_check(20)"},
	{"references", "what rows refer to", add_finding,
		"SELECT printf('A row of %s (%s) refers to a row of %s that does not exist.', \"table\", ifnull(rowid, "
		"'without "
		"a number'), parent) FROM pragma_foreign_key_check"},
	{"rankings", "the best run of each user", add_finding, NULL},
	{"counts", "the counts from which ranks are computed", add_finding,
		"SELECT printf('%s on %s: bucket %d of level %d counts %d entries, but there are %d.', b.name, c.device, "
		"c.bucket, "
		"c.level, sum(c.stored), sum(c.found)) FROM (SELECT leaderboard, device, level, bucket, entries AS stored, 0 "
		"AS "
		"found FROM best_counts UNION ALL SELECT leaderboard, device, 0, bucket, 0, 1 FROM best UNION ALL SELECT "
		"leaderboard, device, 1, bucket >> 6, 0, 1 FROM best UNION ALL SELECT leaderboard, device, 2, bucket >> 12, 0, "
		"1 "
		"FROM best) c " OF_BOARDS("c") "GROUP BY c.leaderboard, c.device COLLATE NOCASE, c.level, c.bucket HAVING "
									   "sum(c.stored) <> sum(c.found)"},
	{"ranked", "how many users are ranked", add_finding,
		"SELECT printf('%s on %s: %d users are counted as ranked, but there are %d.', b.name, d.device, d.ranked, "
		"(SELECT "
		"count(*) FROM best WHERE best.leaderboard = d.leaderboard AND best.device = d.device)) FROM "
		"leaderboard_devices "
		"d " OF_BOARDS("d") "WHERE d.ranked <> (SELECT count(*) FROM best WHERE best.leaderboard = d.leaderboard AND "
							"best.device = d.device)"},
	{"tries", "the submissions of each ranked user", add_finding,
		"SELECT printf('%s on %s: %d ranked submissions of %s are counted, but there are %d.', board, device, tries, "
		"user_name, "
		"found) FROM (SELECT b.name AS board, p.device, p.tries, p.user_name, (SELECT count(*) FROM submissions s JOIN "
		"jobs j ON "
		"j.submission = s.id AND j.device = p.device AND NOT j.superseded AND j.done_at IS NOT NULL WHERE "
		"s.leaderboard = p.leaderboard AND "
		"s.user = p.user "
		"AND s.mode = 'ranked' AND NOT s.practice AND s.id >= b.counts_from) AS found FROM best p " OF_BOARDS(
			"p") ") WHERE tries "
				 "<> found"},
	{"submissions", "submissions and their jobs", add_finding,
		"SELECT printf('Submission %d is %s, but %s.', id, state, why) FROM (SELECT s.id, s.state, CASE WHEN jobs = 0 "
		"THEN "
		"'has no job' WHEN done_at IS NULL AND open = 0 THEN 'all its jobs have ended' WHEN done_at IS NOT NULL AND "
		"open "
		"> 0 THEN 'a job of it has not ended' WHEN done_at IS NOT NULL AND worst IS NOT state THEN 'its jobs are ' || "
		"ifnull(worst, 'superseded') END AS why FROM (SELECT *, (SELECT count(*) FROM jobs j WHERE j.submission = "
		"submissions.id) AS jobs, (SELECT count(*) FROM jobs j WHERE j.submission = submissions.id AND j.done_at IS "
		"NULL) "
		"AS open, (SELECT j.state FROM jobs j WHERE j.submission = submissions.id AND NOT j.superseded ORDER BY "
		"instr(" WORST
		", j.state || ' ') LIMIT 1) AS worst FROM submissions) s " OF_BOARDS("s") ") WHERE why IS NOT NULL"},
	{"versions", "the versions of leaderboards", add_finding,
		"SELECT printf('Leaderboard %s has no version, so its pages are never made again.', b.name) FROM leaderboards "
		"b "
		"WHERE NOT EXISTS (SELECT 1 FROM board_versions v WHERE v.leaderboard = b.id)"},
};

int
verify_database(struct db *db, const char *spool, json_t **ret_checks, struct kettle_error *err)
{
	AUTO_JSON json_t *list = json_array();
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		const struct check *check = &checks[i];
		AUTO_JSON json_t *sentences = json_array();
		struct findings findings = {sentences, false, spool};
		int rc = check->sql ? db_query(db, err, check->row, &findings, check->sql, NULL)
							: ranking_verify(db, check->row, &findings, err);
		if (rc < 0)
			return rc;
		(void)json_array_append_new(list, json_pack("{s:s, s:s, s:O, s:b}", "name", check->name, "what", check->what,
											  "violations", sentences, "more", findings.more));
	}
	*ret_checks = STEAL(list);
	return 0;
}
