/* SPDX-License-Identifier: MIT */
/*
 * How the scores of a (leaderboard, device) became better: the table `records`, kept by rankings whenever what counts changes.
 *
 * A record is a run that counts (ranking.h) and is better than all that count of the submissions before it, by their numbers:
 * of one user, or of all users together (user 0). What is a record of all is one of its user. On the store's threads.
 */
#pragma once

#include "store/db.h"

/* In SQL on submissions s, jobs j, leaderboards b and users u: whether a run counts, or would if it were no practice. */
#define RECORDS_COUNTS "NOT s.practice AND " RECORDS_WOULD_COUNT
#define RECORDS_WOULD_COUNT \
	"s.mode = 'ranked' AND s.flagged_at IS NULL AND s.id >= b.counts_from AND u.banned_at IS NULL AND NOT " \
	"j.superseded AND j.state = 'passed' AND j.score IS NOT NULL "
#define RECORDS_JOINS \
	"FROM submissions s JOIN jobs j ON j.submission = s.id JOIN leaderboards b ON b.id = s.leaderboard JOIN users u " \
	"ON " \
	"u.id = s.user "

/* A run has come to count. */
int records_offer(struct db *db, int64_t leaderboard, const char *device, int64_t user, int64_t submission,
	double score, struct kettle_error *err);
/* What counts of a user's runs has changed. */
int records_renew(struct db *db, int64_t leaderboard, const char *device, int64_t user, struct kettle_error *err);
/*
 * The records of a user (0: of all). {"count", "points": [{"submission_id", "user_id", "user_name", "time", "score"}]}, the last
 * `limit` of them in the order of their submissions. New reference.
 */
int records_trend(struct db *db, int64_t leaderboard, const char *device, int64_t user, int64_t limit,
	json_t **ret_trend, struct kettle_error *err);
/* The best score that counts of those submitted before `until` (ms since 1970), a number or null. New reference. */
int records_best_until(struct db *db, int64_t leaderboard, const char *device, int64_t until, json_t **ret_score,
	struct kettle_error *err);
/* Compares the table with the runs, as ranking_verify does. */
int records_verify(struct db *db, db_row row, void *arg, struct kettle_error *err);
