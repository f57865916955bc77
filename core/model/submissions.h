/* SPDX-License-Identifier: MIT */
/* Submissions as they are stored: listed, shown with their jobs, and deleted. Store's threads. Results are new references. */
#pragma once

#include "model/access.h"
#include "store/db.h"

struct board;

#define SUBMISSION_PAGE 500              /* submissions of one page of an export */
#define SUBMISSION_PAGE_BYTES (4u << 20) /* of code in one; the submission that goes beyond is its last */

/* The submission that a user made with this request identifier, as `submit` answered it. ENOENT. */
int submission_of_request(
	struct db *db, int64_t user, const char *request, json_t **ret_answer, struct kettle_error *err);
/*
 * {"id", "leaderboard_id", "leaderboard_name", "file_name", "user_id" (text), "user_name", "submission_time", "done", "mode",
 * "state", "flagged": why, or null, "practice", "note", "capture", "user", "creator": ids, "seen": whether the actor sees its
 * leaderboard}. ENOENT.
 */
int submission_get(struct db *db, const struct actor *actor, int64_t id, json_t **ret_row, struct kettle_error *err);
/* The same for a submission that counts or could count, without the owner's members, and with its "code". ENOENT. */
int submission_get_open(struct db *db, int64_t id, json_t **ret_row, struct kettle_error *err);
/* The number of a user's last submission. ENOENT: there is none. */
int submission_latest(struct db *db, int64_t user, int64_t *ret_id, struct kettle_error *err);
/* {"code", "source": the name of the file in the job's folder}. ENOENT. */
int submission_code(struct db *db, int64_t id, json_t **ret_row, struct kettle_error *err);
/* The task.yml, with all defaults, that it was submitted for. ENOENT. */
int submission_task(struct db *db, int64_t id, json_t **ret_task, struct kettle_error *err);

/* A page of a list; borrowed. */
struct submission_list {
	int64_t user;        /* who reads it; only this user's, unless all */
	int64_t leaderboard; /* or 0: any */
	bool all;            /* of the leaderboard, those of all users */
	const char *state;   /* or NULL: any */
	int64_t before;      /* only lower numbers; 0: from the newest */
	int64_t limit, offset;
};
/* Submissions as submission.list shows them, the highest number first. Each page is read from its place in an index. */
int submission_list(struct db *db, const struct submission_list *list, json_t **ret_rows, struct kettle_error *err);

#define SUBMISSION_LOOK_MAX 2000 /* submissions that one reading of a feed looks at, visible to the actor or not */
/*
 * Submissions to a board that the actor sees, with numbers below `before`, newest first, at most limit: {"submissions":
 * as submission.list shows them, "next": what `before` gets the next page, or null where there is none}. Its creator
 * and admins get all; others their own, those in the rankings, and where the board shows code, all that count or could.
 * Of others' they get only passed runs. A page may be short or empty before the last: each looks at SUBMISSION_LOOK_MAX
 * rows at most, in the order of an index. New reference.
 */
int submission_feed(struct db *db, const struct actor *actor, const struct board *board, int64_t before, int64_t limit,
	json_t **ret_page, struct kettle_error *err);
/*
 * The days (UTC) with ranked submissions of a user that count, on boards that the actor sees, newest first, at most
 * limit: [{"day": "2026-01-31", "submissions": how many}]. Reads all submissions of the user. New reference.
 */
int submission_days(
	struct db *db, const struct actor *actor, int64_t user, int64_t limit, json_t **ret_days, struct kettle_error *err);

#define SUBMISSION_COUNT_MOST 10000

/* 0 or NULL: no condition. A leaderboard or a user is given. */
struct submission_filter {
	int64_t leaderboard, user;
	const char *mode, *state, *device;
};
/*
 * Counts submissions. With ret_more it looks at the newest SUBMISSION_COUNT_MOST of the leaderboard or the user alone;
 * *ret_more: there may be more among older ones. NULL: it looks at all of them, however long that takes.
 */
int submission_count(struct db *db, const struct submission_filter *filter, int64_t *ret_count, bool *ret_more,
	struct kettle_error *err);
/* Completions for a shell, as board_names, newest first; others: all that the actor may moderate, not only its own. */
int submission_names(struct db *db, const struct actor *actor, const char *prefix, bool others, int64_t limit,
	json_t **ret_values, struct kettle_error *err);
/* Figures of submissions after a time, on a leaderboard (0: on all), as admin.stats shows them in "stats". */
int submission_stats(
	struct db *db, int64_t after_ms, int64_t leaderboard, json_t **ret_stats, struct kettle_error *err);
/*
 * A page of submissions with numbers over `after`, in order: {"submissions", "next": the last number, or null where it
 * is the last page}. Of a leaderboard (whole: all, else those that count or could), or of a user, as leaderboard.export
 * and user.export show them.
 */
int submission_page_of_board(
	struct db *db, int64_t leaderboard, bool whole, int64_t after, json_t **ret_page, struct kettle_error *err);
int submission_page_of_user(struct db *db, int64_t user, int64_t after, json_t **ret_page, struct kettle_error *err);

/*
 * For each device, the open rerun or else the job that counts, as submission.show has them in "jobs", with their places
 * in the rankings; of secret runs only the members that may be shown. row: as submission_get gives it.
 */
int submission_jobs(struct db *db, const json_t *row, json_t **ret_jobs, struct kettle_error *err);
/* The same for users other than the owner: jobs that passed, without their runs. */
int submission_jobs_open(struct db *db, const json_t *row, json_t **ret_jobs, struct kettle_error *err);
/* For each device, the job that counts (passed: if it did): [{"job", "device", "state", "score", "low", "high"}]. */
int submission_scores(struct db *db, int64_t id, bool passed, json_t **ret_jobs, struct kettle_error *err);
/* The results of the public runs of a job that passed, by their mode: leaderboard, benchmark. */
int submission_results(struct db *db, int64_t job, json_t **ret_results, struct kettle_error *err);
/* The open jobs: [{"job", "device", "state"}], and how many of them are reruns. */
int submission_open_jobs(struct db *db, int64_t id, json_t **ret_jobs, int64_t *ret_reruns, struct kettle_error *err);

/* Marks it as a cheat by this user (reason NULL: unmarks it), and recomputes the ranking. row: as of submission_get. */
int submission_set_flag(struct db *db, const json_t *row, const char *reason, int64_t user, struct kettle_error *err);
/*
 * The submissions of a user on a leaderboard: [{"id", "leaderboard_id", "user", "mode", "file_name", "flagged", "jobs",
 * "runs": how many}].
 */
int submission_all_of(struct db *db, int64_t leaderboard, int64_t user, json_t **ret_rows, struct kettle_error *err);
#define OWN_DELETED_PART 64 /* submissions of one transaction */
/*
 * At most `limit` submissions of a user that are not marked as cheats, the newest first, those in the rankings after all others, on this
 * leaderboard or (0) on the one of the newest: as submission_all_of, without the numbers.
 */
int submission_own_part(
	struct db *db, int64_t user, int64_t leaderboard, int64_t limit, json_t **ret_rows, struct kettle_error *err);
/* Whether the user has more of these, there or (0) on any leaderboard; if not, how many are marked as cheats. */
int submission_own_left(struct db *db, int64_t user, int64_t leaderboard, int64_t *ret_left, int64_t *ret_flagged,
	struct kettle_error *err);
/* Deletes submissions of one user on one leaderboard. rows: as submission_get or submission_all_of gives them. Events submission.deleted. */
int submission_delete(struct db *db, const json_t *rows, struct kettle_error *err);
