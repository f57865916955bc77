/* SPDX-License-Identifier: MIT */
/* Rankings: kept by every change that matters, read a page at a time. */
#include <config.h>

#include "model/ranking.h"

#include "base/base.h"
#include "base/ranking_columns.h"
#include "base/text.h"
#include "model/board.h"
#include "model/records.h"

/* A user's entry on a device, and what it should be. */
struct entry {
	int64_t leaderboard, user, submission, job;
	char device[256];
	double score, low, high;
	bool has_low, has_high;
};

/* leaderboard, device, user, submission, job, score, low, high */
static int
read_entry(void *arg, sqlite3_stmt *row)
{
	struct entry *entry = arg;
	entry->leaderboard = sqlite3_column_int64(row, 0);
	db_copy_text(entry->device, sizeof(entry->device), row, 1);
	entry->user = sqlite3_column_int64(row, 2);
	entry->submission = sqlite3_column_int64(row, 3);
	entry->job = sqlite3_column_int64(row, 4);
	entry->score = sqlite3_column_double(row, 5);
	entry->has_low = sqlite3_column_type(row, 6) != SQLITE_NULL;
	entry->low = sqlite3_column_double(row, 6);
	entry->has_high = sqlite3_column_type(row, 7) != SQLITE_NULL;
	entry->high = sqlite3_column_double(row, 7);
	return 1;
}

#define ENTRY_COLUMNS "s.leaderboard, j.device, s.user, s.id, j.id, j.score, j.low, j.high "

/*
 * A score's bucket: exponent and the first twelve bits of the fraction of the number, which for positive numbers grow
 * together with it. A bucket is 0.02 % wide.
 */
#define BUCKET_SHIFT 40

static int64_t
bucket_of(double score)
{
	int64_t bits;
	memcpy(&bits, &score, sizeof(bits));
	return bits >> BUCKET_SHIFT;
}

static double
bucket_begin(int64_t bucket)
{
	int64_t bits = bucket << BUCKET_SHIFT;
	double score;
	memcpy(&score, &bits, sizeof(score));
	return score;
}

static int
read_own(void *arg, sqlite3_stmt *row)
{
	struct ranking_position *position = arg;
	position->submission = sqlite3_column_int64(row, 0);
	position->job = sqlite3_column_int64(row, 1);
	position->score = sqlite3_column_double(row, 2);
	position->of = sqlite3_column_int64(row, 3);
	return 1;
}

/*
 * How many are better: counts of coarse buckets, of the finer ones in the last of those, of the finest in the last of
 * these, and what is better within the bucket itself. The cost does not depend on how many there are.
 */
static int
count_better(
	struct db *db, int64_t leaderboard, const char *device, double score, int64_t *ret_count, struct kettle_error *err)
{
	int64_t fine = bucket_of(score), middle = fine >> 6, coarse = fine >> 12;
	return db_int(db, ret_count, err,
		"SELECT coalesce((SELECT sum(entries) FROM best_counts WHERE leaderboard = ?1 AND device = ?2 AND level = 2 "
		"AND bucket < ?3), 0) + coalesce((SELECT sum(entries) FROM best_counts WHERE leaderboard = ?1 AND device = ?2 "
		"AND level = 1 AND bucket >= ?3 << 6 AND bucket < ?4), 0) + coalesce((SELECT sum(entries) FROM best_counts "
		"WHERE leaderboard = ?1 AND device = ?2 AND level = 0 AND bucket >= ?4 << 6 AND bucket < ?5), 0) + (SELECT "
		"count(*) FROM best WHERE leaderboard = ?1 AND device = ?2 AND score >= ?6 AND score < ?7)",
		"isiiidd", leaderboard, device, coarse, middle, fine, bucket_begin(fine), score);
}

int
ranking_of(struct db *db, int64_t leaderboard, const char *device, int64_t user, struct ranking_position *ret_position,
	struct kettle_error *err)
{
	struct ranking_position position = {0};
	int64_t better = 0;
	int rc = db_query(db, err, read_own, &position,
		"SELECT submission, job, score, (SELECT ranked FROM leaderboard_devices WHERE leaderboard = ?1 AND device = "
		"?2) FROM best WHERE leaderboard = ?1 AND device = ?2 AND user = ?3",
		"isi", leaderboard, device, user);
	if (rc == 1) {
		rc = count_better(db, leaderboard, device, position.score, &better, err);
		position.rank = better + 1;
	}
	if (rc == 0)
		*ret_position = position;
	return rc;
}

int
ranking_offset(
	struct db *db, int64_t leaderboard, const char *device, int64_t user, int64_t *ret_offset, struct kettle_error *err)
{
	struct ranking_position position;
	int64_t ties = 0;
	int rc = ranking_of(db, leaderboard, device, user, &position, err);
	if (rc == 0 && position.rank)
		rc = db_int(db, &ties, err,
			"SELECT count(*) FROM best WHERE leaderboard = ? AND device = ? AND score = ? AND submission < ?", "isdi",
			leaderboard, device, position.score, position.submission);
	*ret_offset = position.rank - 1 + ties;
	return rc;
}

int
ranking_devices(struct db *db, int64_t leaderboard, json_t **ret_devices, struct kettle_error *err)
{
	return db_array(db, ret_devices, err,
		"SELECT device, ranked FROM leaderboard_devices WHERE leaderboard = ? ORDER BY position", "i", leaderboard);
}

int
ranking_overtaken_by(struct db *db, int64_t leaderboard, const char *device, const struct ranking_position *position,
	json_t **ret_entry, struct kettle_error *err)
{
	AUTO_JSON json_t *rows = NULL;
	int rc = db_array(db, &rows, err,
		"SELECT user_name, score, submission AS submission_id, created_at AS time_iso FROM (SELECT user_name, score, "
		"submission, created_at FROM best WHERE leaderboard = ?1 AND device = ?2 AND score < ?3 ORDER BY score DESC, "
		"submission DESC LIMIT ?5) WHERE submission > ?4 ORDER BY score DESC, submission DESC LIMIT 1",
		"isdii", leaderboard, device, position->score, position->submission, (int64_t)RANKING_NEAR_MAX);
	if (rc == 0)
		*ret_entry = json_array_size(rows) ? json_incref(json_array_get(rows, 0)) : json_null();
	return rc;
}

/* The first three, by the order of a page; with ties there may be more of one rank, but never more than three rows. */
int
ranking_podium(struct db *db, int64_t leaderboard, const char *device, json_t **ret_podium, struct kettle_error *err)
{
	return db_array(db, ret_podium, err,
		"SELECT rank() OVER (ORDER BY score) AS rank, user, user_name, submission, score FROM (SELECT best.user AS "
		"user, name AS user_name, submission, score FROM best JOIN users ON users.id = best.user WHERE leaderboard = ? "
		"AND device = ? ORDER BY score, submission LIMIT ?) ORDER BY score, submission",
		"isi", leaderboard, device, (int64_t)RANKING_PODIUM);
}

/* The rows of a podium whose users are not on the other one. New reference. */
static json_t *
only_on(const json_t *podium, const json_t *other)
{
	json_t *rows = json_array();
	json_array_each(podium, row) {
		bool there = false;
		json_array_each(other, on_other)
			there = there || member_int(on_other, "user") == member_int(row, "user");
		if (!there)
			(void)json_array_append(rows, row);
	}
	return rows;
}

static bool
same_places(const json_t *before, const json_t *after)
{
	size_t count = json_array_size(after);
	bool same = json_array_size(before) == count;
	for (size_t i = 0; i < count && same; i++) {
		const json_t *was = json_array_get(before, i), *is = json_array_get(after, i);
		same = member_int(was, "user") == member_int(is, "user") && member_int(was, "rank") == member_int(is, "rank");
	}
	return same;
}

static json_t *
rank_or_null(const struct ranking_position *position)
{
	return position->rank ? json_integer(position->rank) : json_null();
}

static int
write_podium(struct db *db, const struct entry *entry, const struct ranking_position *was, json_t *before,
	json_t *after, struct kettle_error *err)
{
	if (same_places(before, after))
		return 0;
	AUTO_JSON json_t *data = json_pack("{s:s, s:o, s:o, s:O, s:O, s:{s:I, s:o}}", "device", entry->device, "came",
		only_on(after, before), "went", only_on(before, after), "before", before, "podium", after, "by", "user",
		(json_int_t)entry->user, "rank", rank_or_null(was));
	return db_event(db, "leaderboard.podium", 'p', entry->leaderboard, 0, 0, data, err);
}

static json_t *
score_or_null(const struct ranking_position *position)
{
	return position->rank ? json_real(position->score) : json_null();
}

static int
write_event(struct db *db, const struct entry *entry, const struct ranking_change *change, struct kettle_error *err)
{
	bool score = change->before.rank && change->after.rank && change->before.score != change->after.score &&
				 change->after.rank <= RANKING_PODIUM;
	if (!score && change->before.rank == change->after.rank)
		return 0;
	const struct ranking_position *position = change->after.rank ? &change->after : &change->before;
	AUTO_JSON json_t *data = json_pack("{s:s, s:o, s:o, s:o, s:o, s:I}", "device", entry->device, "before",
		rank_or_null(&change->before), "after", rank_or_null(&change->after), "score", score_or_null(&change->after),
		"previous_score", score_or_null(&change->before), "job", (json_int_t)position->job);
	return db_event(db, "rank.changed", 'p', entry->leaderboard, position->submission, entry->user, data, err);
}

/* The ended ranked submissions of ?3 on leaderboard ?1 and device ?2 since the ranking began, as in `tries` of best. */
#define TRIES \
	"(SELECT count(*) FROM submissions t JOIN jobs k ON k.submission = t.id AND k.device = ?2 AND NOT k.superseded " \
	"AND k.done_at IS NOT NULL WHERE t.leaderboard = ?1 AND t.user = ?3 AND t.mode = 'ranked' AND NOT t.practice AND " \
	"t.id >= (SELECT " \
	"counts_from FROM leaderboards WHERE id = ?1))"

int
ranking_recount_tries(struct db *db, int64_t user, struct kettle_error *err)
{
	AUTO_JSON json_t *entries = NULL;
	int rc = db_array(db, &entries, err, "SELECT leaderboard, device FROM best WHERE user = ?", "i", user);
	json_array_each(entries, entry)
		if (rc == 0)
			rc = db_exec(db, err,
				"UPDATE best SET tries = " TRIES " WHERE leaderboard = ?1 AND device = ?2 AND user = ?3", "isi",
				(int64_t)member_int(entry, "leaderboard"), json_text_or_null(entry, "device"), user);
	return rc;
}

/* Puts the entry into the table, or takes it out (job 0). One that is there keeps its tries. */
static int
store_entry(struct db *db, const struct entry *entry, struct kettle_error *err)
{
	if (entry->job == 0)
		return db_exec(db, err, "DELETE FROM best WHERE leaderboard = ? AND device = ? AND user = ?", "isi",
			entry->leaderboard, entry->device, entry->user);
	return db_exec(db, err,
		"INSERT INTO best (leaderboard, device, user, submission, job, score, low, high, bucket, created_at, "
		"file_name, user_name, tries) SELECT ?1, ?2, ?3, ?4, ?5, ?6, CASE WHEN ?7 THEN ?8 END, CASE WHEN ?9 THEN ?10 "
		"END, ?11, s.created_at, s.file_name, u.name, CASE WHEN EXISTS (SELECT 1 FROM best WHERE leaderboard = ?1 AND "
		"device = ?2 AND user = ?3) THEN 0 ELSE " TRIES
		" END FROM submissions s JOIN users u ON u.id = ?3 WHERE s.id = ?4 ON "
		"CONFLICT (leaderboard, device, user) DO UPDATE SET submission = excluded.submission, job = excluded.job, "
		"score = excluded.score, low = excluded.low, high = excluded.high, bucket = excluded.bucket, created_at = "
		"excluded.created_at, file_name = excluded.file_name, user_name = excluded.user_name",
		"isiiidididi", entry->leaderboard, entry->device, entry->user, entry->submission, entry->job, entry->score,
		(int64_t)entry->has_low, entry->low, (int64_t)entry->has_high, entry->high, bucket_of(entry->score));
}

/* Whether the first three may change: the user leaves or joins them. */
static int
touches_podium(struct db *db, const struct entry *entry, const struct ranking_change *change, bool *ret_touches,
	struct kettle_error *err)
{
	int64_t better = RANKING_PODIUM;
	bool was = change->before.rank > 0 && change->before.rank <= RANKING_PODIUM;
	int rc = 0;
	if (!was && entry->job)
		rc = count_better(db, entry->leaderboard, entry->device, entry->score, &better, err);
	*ret_touches = was || better < RANKING_PODIUM;
	return rc;
}

/* Stores the new entry and reports what it changed. */
static int
apply(struct db *db, const struct entry *entry, struct ranking_change *change, struct kettle_error *err)
{
	AUTO_JSON json_t *before = NULL, *after = NULL;
	bool touches = false;
	int rc = touches_podium(db, entry, change, &touches, err);
	if (rc == 0 && touches)
		rc = ranking_podium(db, entry->leaderboard, entry->device, &before, err);
	if (rc == 0)
		rc = store_entry(db, entry, err);
	if (rc == 0)
		rc = ranking_of(db, entry->leaderboard, entry->device, entry->user, &change->after, err);
	if (rc == 0 && touches)
		rc = ranking_podium(db, entry->leaderboard, entry->device, &after, err);
	if (rc == 0)
		rc = write_event(db, entry, change, err);
	return rc < 0 || !touches ? rc : write_podium(db, entry, &change->before, before, after, err);
}

/* A job as an entry, and the position of its user; both zero where the job does not count. */
static int
read_job(struct db *db, int64_t job, struct entry *ret_entry, struct ranking_position *ret_position,
	struct kettle_error *err)
{
	*ret_entry = (struct entry){0};
	*ret_position = (struct ranking_position){0};
	int rc = db_query(db, err, read_entry, ret_entry,
		"SELECT " ENTRY_COLUMNS RECORDS_JOINS "WHERE j.id = ? AND " RECORDS_COUNTS, "i", job);
	if (rc == 1)
		rc = ranking_of(db, ret_entry->leaderboard, ret_entry->device, ret_entry->user, ret_position, err);
	return rc;
}

int
ranking_has(struct db *db, int64_t leaderboard, int64_t user, bool *ret_has, struct kettle_error *err)
{
	int64_t entries = 0;
	int rc = db_int(
		db, &entries, err, "SELECT count(*) FROM best WHERE leaderboard = ? AND user = ?", "ii", leaderboard, user);
	*ret_has = entries > 0;
	return rc;
}

int
ranking_of_job(struct db *db, int64_t job, struct ranking_position *ret_position, struct kettle_error *err)
{
	struct entry entry;
	return read_job(db, job, &entry, ret_position, err);
}

json_t *
ranking_better(const struct ranking_position *position)
{
	return json_pack("{s:I, s:f, s:I, s:I}", "submission", (json_int_t)position->submission, "score", position->score,
		"rank", (json_int_t)position->rank, "of", (json_int_t)position->of);
}

int
ranking_offer(struct db *db, int64_t job, struct ranking_change *ret_change, struct kettle_error *err)
{
	struct entry entry;
	struct ranking_change change = {0};
	int rc = read_job(db, job, &entry, &change.before, err);
	if (rc < 0)
		return rc;
	change.after = change.before;
	bool better = entry.job && (change.before.rank == 0 || entry.score < change.before.score ||
								   (entry.score == change.before.score && entry.submission < change.before.submission));
	/* Of those that are not better, only an earlier one can have been a record in its time. */
	if (entry.job && (better || entry.submission < change.before.submission))
		rc = records_offer(db, entry.leaderboard, entry.device, entry.user, entry.submission, entry.score, err);
	if (rc == 0 && better)
		rc = apply(db, &entry, &change, err);
	if (rc == 0 && ret_change)
		*ret_change = change;
	return rc;
}

static int
recompute_one(struct db *db, const struct entry *who, struct ranking_change *ret_change, struct kettle_error *err)
{
	struct entry entry = *who;
	struct ranking_change change = {0};
	int rc = ranking_of(db, who->leaderboard, who->device, who->user, &change.before, err);
	if (rc == 0)
		rc = db_query(db, err, read_entry, &entry,
			"SELECT " ENTRY_COLUMNS RECORDS_JOINS
			"WHERE s.leaderboard = ? AND s.user = ? AND j.device = ? AND " RECORDS_COUNTS
			"ORDER BY j.score, s.id LIMIT 1",
			"iis", who->leaderboard, who->user, who->device);
	if (rc < 0)
		return rc;
	change.after = change.before;
	rc = records_renew(db, who->leaderboard, who->device, who->user, err);
	if (rc == 0 && (entry.job != change.before.job || entry.score != change.before.score))
		rc = apply(db, &entry, &change, err);
	if (rc == 0 && ret_change)
		*ret_change = change;
	return rc;
}

int
ranking_renew(struct db *db, int64_t leaderboard, const char *device, int64_t user, struct ranking_change *ret_change,
	struct kettle_error *err)
{
	struct entry who = {.leaderboard = leaderboard, .user = user};
	(void)snprintf(who.device, sizeof(who.device), "%s", device);
	return recompute_one(db, &who, ret_change, err);
}

struct entries {
	struct entry *items;
	size_t count, room;
};

static int
add_who(void *arg, sqlite3_stmt *row)
{
	struct entries *entries = arg;
	if (entries->count == entries->room) {
		size_t room = entries->room ? entries->room * 2 : 16;
		entries->items = xreallocarray(entries->items, room, sizeof(*entries->items));
		entries->room = room;
	}
	struct entry *entry = &entries->items[entries->count++];
	*entry = (struct entry){.leaderboard = sqlite3_column_int64(row, 0), .user = sqlite3_column_int64(row, 2)};
	db_copy_text(entry->device, sizeof(entry->device), row, 1);
	return 0;
}

/* Users who have an entry or could have one: one user or all. */
#define WHO(of_entries, of_submissions) \
	"SELECT leaderboard, device, user FROM best WHERE leaderboard = ?1 AND (?2 IS NULL OR device = ?2) " of_entries \
	"UNION SELECT s.leaderboard, j.device, s.user FROM submissions s CROSS JOIN jobs j ON j.submission = s.id WHERE " \
	"s.leaderboard = ?1 " of_submissions \
	"AND s.mode = 'ranked' AND j.state = 'passed' AND (?2 IS NULL OR j.device = ?2)"

int
ranking_recompute(struct db *db, int64_t leaderboard, const char *device, int64_t user, struct kettle_error *err)
{
	struct entries who = {0};
	int rc = user ? db_query(db, err, add_who, &who, WHO("AND user = ?3 ", "AND s.user = ?3 "), "isi", leaderboard,
						device, user)
				  : db_query(db, err, add_who, &who, WHO("", ""), "is", leaderboard, device);
	for (size_t i = 0; i < who.count && rc == 0; i++)
		rc = recompute_one(db, &who.items[i], NULL, err);
	free(who.items);
	return rc;
}

int
ranking_recompute_user(struct db *db, int64_t user, struct kettle_error *err)
{
	AUTO_JSON json_t *boards = NULL;
	int rc = db_array(db, &boards, err,
		"SELECT leaderboard FROM (SELECT leaderboard FROM best WHERE user = ?1 UNION SELECT leaderboard FROM "
		"submissions WHERE user = ?1) JOIN leaderboards b ON b.id = leaderboard",
		"i", user);
	for (size_t i = 0; i < json_array_size(boards) && rc == 0; i++)
		rc = ranking_recompute(db, (int64_t)member_int(json_array_get(boards, i), "leaderboard"), NULL, user, err);
	return rc;
}

static int
own_page(struct db *db, int64_t leaderboard, const char *device, int64_t user, json_t *entries, json_t **ret_page,
	struct kettle_error *err)
{
	int64_t count = 0;
	int rc = db_int(db, &count, err,
		"SELECT count(*) " RECORDS_JOINS "WHERE s.leaderboard = ? AND s.user = ? AND j.device = ? AND " RECORDS_COUNTS,
		"iis", leaderboard, user, device);
	if (rc == 0)
		*ret_page = json_pack("{s:s, s:I, s:O}", "device", device, "count", (json_int_t)count, "entries", entries);
	return rc;
}

#define RUN(name, type, best, run, ...) run
#define RANK_SQL "CASE WHEN s.id = ?1 THEN ?2 END"

int
ranking_page_of(struct db *db, int64_t leaderboard, const char *device, int64_t user, int64_t limit, int64_t offset,
	json_t **ret_page, struct kettle_error *err)
{
	AUTO_JSON json_t *entries = NULL;
	struct ranking_position position;
	int rc = ranking_of(db, leaderboard, device, user, &position, err);
	if (rc == 0)
		rc = db_array(db, &entries, err,
			"SELECT " RANKING_COLUMNS(RUN,
				RUN) " " RECORDS_JOINS "WHERE s.leaderboard = ?3 AND s.user = ?4 AND j.device = ?5 AND " RECORDS_COUNTS
					 "ORDER BY j.score, s.id LIMIT ?6 OFFSET ?7",
			"iiiisii", position.submission, position.rank, leaderboard, user, device, limit, offset);
	return rc < 0 ? rc : own_page(db, leaderboard, device, user, entries, ret_page, err);
}

#undef RANK_SQL
#define RANK_SQL "rank() OVER (ORDER BY j.score)"
#define PRACTICE \
	RECORDS_JOINS \
	"WHERE s.leaderboard = ?1 AND j.device = ?2 AND s.practice AND ?3 IN (0, s.user) AND " RECORDS_WOULD_COUNT

int
ranking_page_practice(struct db *db, int64_t leaderboard, const char *device, int64_t user, int64_t limit,
	int64_t offset, json_t **ret_page, struct kettle_error *err)
{
	AUTO_JSON json_t *entries = NULL;
	int64_t count = 0;
	int rc = db_int(db, &count, err, "SELECT count(DISTINCT CASE WHEN ?3 THEN s.id ELSE -s.user END) " PRACTICE, "isi",
		leaderboard, device, user);
	if (rc == 0)
		rc = db_array(db, &entries, err,
			"SELECT " RANKING_COLUMNS(RUN, RUN) " " RECORDS_JOINS
												"WHERE j.id IN (SELECT id FROM (SELECT j.id, row_number() OVER "
												"(PARTITION BY s.user ORDER BY j.score, s.id) AS place " PRACTICE
												") WHERE place = 1 OR ?3) ORDER BY j.score, s.id LIMIT ?4 OFFSET ?5",
			"isiii", leaderboard, device, user, limit, offset);
	if (rc == 0)
		*ret_page = json_pack("{s:s, s:I, s:O}", "device", device, "count", (json_int_t)count, "entries", entries);
	return rc;
}

struct bucket_check {
	db_row row;
	void *arg;
};

/* Sentence, score, bucket. */
static int
check_bucket(void *arg, sqlite3_stmt *row)
{
	const struct bucket_check *check = arg;
	bool good = bucket_of(sqlite3_column_double(row, 1)) == sqlite3_column_int64(row, 2);
	return good ? 0 : check->row(check->arg, row);
}

int
ranking_verify(struct db *db, db_row row, void *arg, struct kettle_error *err)
{
	struct bucket_check check = {row, arg};
	int rc = db_query(db, err, row, arg,
		"WITH e AS MATERIALIZED (SELECT * FROM (SELECT s.leaderboard, j.device, s.user, s.id, j.id AS job, j.score, "
		"j.low, j.high, s.created_at, s.file_name, u.name, b.name AS board, row_number() OVER (PARTITION BY "
		"s.leaderboard, j.device, s.user ORDER BY j.score, s.id) AS place " RECORDS_JOINS "WHERE " RECORDS_COUNTS
		") WHERE place = 1) SELECT printf('%s on %s: %s %s.', e.board, e.device, e.name, CASE WHEN best.user IS NULL "
		"THEN printf('is not ranked, but submission %d counts', e.id) ELSE printf('is ranked with submission %d and "
		"%.9g s, but the best run is that of submission %d with %.9g s', best.submission, best.score, e.id, e.score) "
		"END) FROM e LEFT JOIN best ON best.leaderboard = e.leaderboard AND best.device = e.device AND best.user = "
		"e.user WHERE (best.submission, best.job, best.score, best.low, best.high, best.created_at, best.file_name, "
		"best.user_name) IS NOT (e.id, e.job, e.score, e.low, e.high, e.created_at, e.file_name, e.name) UNION ALL "
		"SELECT printf('%s on %s: %s is ranked with submission %d, but has no run that counts.', b.name, best.device, "
		"best.user_name, best.submission) FROM best JOIN leaderboards b ON b.id = best.leaderboard LEFT JOIN e ON "
		"e.leaderboard = best.leaderboard AND e.device = best.device AND e.user = best.user WHERE e.user IS NULL",
		NULL);
	if (rc == 0)
		rc = db_query(db, err, check_bucket, &check,
			"SELECT printf('%s on %s: the score of %s is in bucket %d, which is not its own.', b.name, best.device, "
			"best.user_name, best.bucket), best.score, best.bucket FROM best JOIN leaderboards b ON b.id = "
			"best.leaderboard",
			NULL);
	if (rc == 0)
		rc = records_verify(db, row, arg, err);
	return rc < 0 ? rc : 0;
}

/* ---- competitions: who is ahead over all leaderboards of a set ---- */

int
standings_competitions(struct db *db, const struct actor *actor, json_t **ret_list, struct kettle_error *err)
{
	return db_array(db, ret_list, err,
		"SELECT problem_set AS name, count(*) AS leaderboards, iif(count(deadline_at) = count(*), max(deadline_at), "
		"NULL) "
		"AS deadline_iso, min(coalesce(deadline_at < ?1, 0)) AS ended_bool FROM leaderboards b WHERE problem_set IS "
		"NOT "
		"NULL AND " BOARD_MAY_SEE "GROUP BY problem_set COLLATE NOCASE ORDER BY problem_set COLLATE NOCASE",
		"iii", db->now_ms, board_sees_all(actor), board_user(actor));
}

static int
fail_unknown(struct db *db, const struct actor *actor, const char *name, struct kettle_error *err)
{
	AUTO_JSON json_t *list = NULL, *names = json_object();
	int rc = standings_competitions(db, actor, &list, err);
	if (rc < 0)
		return rc;
	json_array_each(list, one)
		(void)json_object_set_new(names, json_text_or_empty(one, "name"), json_true());
	const char *near = nearest_key(name, names);
	return kettle_fail(err, KETTLE_ENOENT, "There is no competition `%s`%s%s%s", name, NEAREST_END(near));
}

static int
add_leaders(struct db *db, json_t *board, struct kettle_error *err)
{
	json_t *devices = NULL;
	int rc = ranking_devices(db, member_int(board, "id"), &devices, err);
	if (rc < 0)
		return rc;
	(void)json_object_set_new(board, "devices", devices);
	json_array_each(devices, device) {
		AUTO_JSON json_t *podium = NULL;
		rc = ranking_podium(db, member_int(board, "id"), json_text_or_empty(device, "device"), &podium, err);
		if (rc < 0)
			return rc;
		const json_t *first = json_array_get(podium, 0);
		(void)json_object_set_new(device, "leader",
			first ? json_pack("{s:O, s:O, s:O}", "user_name", json_object_get(first, "user_name"), "score",
						json_object_get(first, "score"), "submission", json_object_get(first, "submission"))
				  : json_null());
	}
	return 0;
}

int
standings_boards(struct db *db, const struct actor *actor, const char *name, json_t **ret_boards,
	bool *ret_has_standings, struct kettle_error *err)
{
	AUTO_JSON json_t *boards = NULL;
	bool without = false;
	int rc = db_array(db, &boards, err,
		"SELECT id, name, description, deadline_at AS deadline_iso, opens_at AS opens_iso, coalesce(deadline_at < ?1, "
		"0) AS "
		"ended_bool, coalesce(json_extract(source_json, '$.standings') = 0, 0) AS without_bool FROM leaderboards b "
		"WHERE "
		"problem_set = ?4 COLLATE NOCASE AND " BOARD_MAY_SEE "ORDER BY coalesce(deadline_at, 1 << 62), name",
		"iiis", db->now_ms, board_sees_all(actor), board_user(actor), name);
	if (rc == 0 && json_array_size(boards) == 0)
		rc = fail_unknown(db, actor, name, err);
	for (size_t i = 0; i < json_array_size(boards) && rc == 0; i++) {
		json_t *board = json_array_get(boards, i);
		without = without || member_true(board, "without");
		(void)json_object_del(board, "without");
		rc = add_leaders(db, board, err);
	}
	if (rc < 0)
		return rc;
	*ret_boards = STEAL(boards);
	*ret_has_standings = !without;
	return 0;
}

/*
 * Only the places of a ranking that get points are read. A rank r that n users share takes the places r to r + n - 1,
 * of which m are among the first ten: together m * (11 - r) - m * (m - 1) / 2 points.
 */
#define POINTS \
	"WITH boards (id) AS (SELECT json_extract(value, '$.id') FROM json_each(?1)), places AS (SELECT p.user, rank() " \
	"OVER " \
	"(PARTITION BY p.leaderboard, p.device ORDER BY p.score) AS r, count(*) OVER (PARTITION BY p.leaderboard, " \
	"p.device, " \
	"p.score) AS n FROM boards CROSS JOIN leaderboard_devices d ON d.leaderboard = boards.id CROSS JOIN best p ON " \
	"p.leaderboard = d.leaderboard AND p.device = d.device WHERE p.score <= coalesce((SELECT q.score FROM best q " \
	"WHERE " \
	"q.leaderboard = d.leaderboard AND q.device = d.device ORDER BY q.score LIMIT 1 OFFSET ?2 - 1), 9e999)), shares " \
	"AS " \
	"(SELECT user, n, ?2 + 1 - r AS top, min(n, ?2 + 1 - r) AS m FROM places WHERE r <= ?2), points AS (SELECT user, " \
	"sum((m * top - m * (m - 1) / 2.0) / n) AS points, count(*) AS places FROM shares GROUP BY user) "

int
standings_page(
	struct db *db, const json_t *boards, int64_t limit, int64_t offset, json_t **ret_page, struct kettle_error *err)
{
	AUTO_JSON json_t *entries = NULL;
	int64_t count = 0;
	int rc = db_int(db, &count, err, POINTS "SELECT count(*) FROM points", "ji", boards, (int64_t)STANDINGS_PLACES);
	if (rc == 0)
		rc = db_array(db, &entries, err,
			POINTS "SELECT rank() OVER (ORDER BY round(points, 6) DESC) AS rank, user AS user_id_text, u.name AS "
				   "user_name, round(points, 2) AS points, places FROM points JOIN users u ON u.id = user ORDER BY "
				   "points.points DESC, u.name LIMIT ?3 OFFSET ?4",
			"jiii", boards, (int64_t)STANDINGS_PLACES, limit, offset);
	if (rc == 0)
		*ret_page = json_pack("{s:I, s:O}", "count", (json_int_t)count, "entries", entries);
	return rc;
}
