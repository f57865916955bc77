/* SPDX-License-Identifier: MIT */
/* Rankings: ties, what counts, and every change at random against a computation from nothing. */
#include <config.h>

#include "unit/command_fixture.h"
#include "unit/store_fixture.h"

#include "base/cleanup.h"
#include "lib/unit_test.h"
#include "model/jobs.h"
#include "model/ranking.h"
#include "model/ranking_page.h"
#include "model/records.h"
#include "model/verify.h"

#include <stdlib.h>
#include <string.h>

#define USERS 12
#define STEPS 600

/* A board with two devices and USERS users, made without the commands. */
static void
make_board(struct fixture *f)
{
	fixture_sql(f,
		"INSERT INTO tasks VALUES (1, 'h', 'r', 't', '{}', 0, 'cpp', 'task', NULL);"
		"INSERT INTO boards (id, name, description, task, creator, created_at, updated_at) "
		"VALUES (1, 'arena', '', 1, 1, 0, 0);"
		"INSERT INTO leaderboard_devices (leaderboard, device, position) VALUES (1, 'CPU', 0), (1, 'H100', 1);"
		"INSERT INTO blobs VALUES (1, printf('%064d', 1), 1, x'20');"
		"WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 60) "
		"INSERT INTO users (id, name, created_at) SELECT i, 'user' || i, 0 FROM n");
}

struct entry {
	int64_t user;
	double score, low, high; /* low 0: no interval */
	const char *device, *state, *mode;
	int64_t submission, job, attempt;
};

static int
add(struct db *db, void *arg, struct kettle_error *err)
{
	struct entry *entry = arg;
	int code = db_exec(db, err,
		"INSERT INTO submissions (leaderboard, task, user, mode, file_name, code, created_at) VALUES (1, 1, ?, ?, "
		"'a.cpp', "
		"1, ?)",
		"isi", entry->user, entry->mode ? entry->mode : "ranked", db->now_ms);
	entry->submission = db_last_id(db);
	if (code == 0)
		code = db_exec(db, err,
			"INSERT INTO jobs (submission, device, seed, queued_at, changed_at) VALUES (?, ?, 7, 0, 0)", "is",
			entry->submission, entry->device ? entry->device : "CPU");
	entry->job = db_last_id(db);
	if (code == 0)
		code = jobs_start(db, entry->job, &(struct job_unit){"CPU.0", "CPU", "local"}, &entry->attempt, err);
	AUTO_JSON json_t *verdict =
		json_pack("{s:s, s:f, s:[]}", "state", entry->state ? entry->state : "passed", "score", entry->score, "runs");
	if (entry->low > 0)
		json_object_update_new(verdict, json_pack("{s:f, s:f}", "low", entry->low, "high", entry->high));
	return code < 0 ? code : commands_jobs_finish(db, entry->job, entry->attempt, verdict, err);
}

static int64_t
submit(struct fixture *f, int64_t user, double score)
{
	struct kettle_error err = {0};
	struct entry entry = {.user = user, .score = score};
	if (fixture_write(f, add, &entry, &err) < 0)
		fail_msg("%s", err.message);
	return entry.submission;
}

struct page {
	const char *device;
	int64_t limit, offset, user;
	json_t *page;
};

static int
read_page(struct db *db, void *arg, struct kettle_error *err)
{
	struct page *page = arg;
	const char *device = page->device ? page->device : "CPU";
	if (page->user)
		return ranking_page_of(db, 1, device, page->user, page->limit, page->offset, &page->page, err);
	struct ranking_page_request wanted = {
		.leaderboard = 1, .name = "arena", .device = device, .limit = page->limit, .offset = page->offset};
	struct ranking_page made = {0};
	int code = ranking_page_read(db, &wanted, NULL, &made, err);
	page->page = json_incref(made.object);
	ranking_page_free(&made);
	return code;
}

static json_t *
get_page(struct fixture *f, const char *device, int64_t limit, int64_t offset)
{
	struct kettle_error err = {0};
	struct page page = {.device = device, .limit = limit, .offset = offset};
	if (fixture_query(f, read_page, &page, &err) < 0)
		fail_msg("%s", err.message);
	return page.page;
}

static int64_t
field(const json_t *page, size_t i, const char *key)
{
	return json_integer_value(json_object_get(json_array_get(json_object_get(page, "entries"), i), key));
}

static void
test_ties(void **state)
{
	(void)state;
	struct fixture f;
	fixture_open(&f);
	make_board(&f);
	submit(&f, 2, 2.0);
	int64_t first = submit(&f, 3, 1.0);
	submit(&f, 4, 1.0);
	submit(&f, 3, 1.0); /* its own equal one changes nothing */
	submit(&f, 4, 1.5);
	AUTO_JSON json_t *page = get_page(&f, "cpu", 100, 0);
	assert_int_equal(json_integer_value(json_object_get(page, "count")), 3);
	assert_int_equal(field(page, 0, "rank"), 1);
	assert_int_equal(field(page, 0, "submission_id"), first);
	assert_int_equal(field(page, 1, "rank"), 1);
	assert_int_equal(field(page, 2, "rank"), 3);
	for (int64_t offset = 0; offset < 3; offset++) {
		AUTO_JSON json_t *one = get_page(&f, "CPU", 1, offset);
		assert_int_equal(field(one, 0, "rank"), field(page, (size_t)offset, "rank"));
	}
	fixture_close(&f);
}

static void
test_what_counts(void **state)
{
	(void)state;
	struct fixture f;
	struct kettle_error err = {0};
	fixture_open(&f);
	make_board(&f);
	struct entry failed = {.user = 2, .score = 0.1, .state = "failed"};
	struct entry tested = {.user = 3, .score = 0.1, .mode = "benchmark"};
	struct entry elsewhere = {.user = 4, .score = 0.1, .device = "H100"};
	assert_int_equal(fixture_write(&f, add, &failed, &err), 0);
	assert_int_equal(fixture_write(&f, add, &tested, &err), 0);
	assert_int_equal(fixture_write(&f, add, &elsewhere, &err), 0);
	AUTO_JSON json_t *cpu = get_page(&f, "CPU", 100, 0), *h100 = get_page(&f, "H100", 100, 0);
	assert_int_equal(json_integer_value(json_object_get(cpu, "count")), 0);
	assert_int_equal(json_integer_value(json_object_get(h100, "count")), 1);
	fixture_close(&f);
}

static void
test_events(void **state)
{
	(void)state;
	struct fixture f;
	fixture_open(&f);
	make_board(&f);
	for (int i = 0; i < 5; i++)
		submit(&f, 10 + i, 1.0 + i);
	assert_int_equal(fixture_events(&f, "rank.changed"), 5);
	submit(&f, 14, 1.5);
	const json_t *event = fixture_event(&f, "rank.changed"), *data = json_object_get(event, "data");
	assert_int_equal(json_integer_value(json_object_get(event, "user")), 14);
	assert_int_equal(json_integer_value(json_object_get(data, "before")), 5);
	assert_int_equal(json_integer_value(json_object_get(data, "after")), 2);
	assert_int_equal(fixture_events(&f, "leaderboard.podium"), 4);
	data = json_object_get(fixture_event(&f, "leaderboard.podium"), "data");
	const json_t *came = json_object_get(data, "came"), *went = json_object_get(data, "went");
	assert_int_equal(json_array_size(came), 1);
	assert_string_equal(json_string_value(json_object_get(json_array_get(came, 0), "user_name")), "user14");
	assert_int_equal(json_array_size(went), 1);
	assert_string_equal(json_string_value(json_object_get(json_array_get(went, 0), "user_name")), "user12");
	assert_int_equal(json_array_size(json_object_get(data, "podium")), 3);
	/* Worse than what one has: no event, and job.done says that it is not the best. */
	size_t count = fixture_events(&f, "rank.changed");
	submit(&f, 14, 1.7);
	assert_int_equal(fixture_events(&f, "rank.changed"), count);
	data = json_object_get(fixture_event(&f, "job.done"), "data");
	assert_false(json_is_true(json_object_get(data, "best")));
	assert_true(json_is_null(json_object_get(data, "rank")));
	assert_int_equal(json_integer_value(json_object_get(json_object_get(data, "better"), "rank")), 2);
	/* Better at the same rank, below the podium: none. On it: the score of the podium changed. */
	submit(&f, 10, 0.5);
	assert_int_equal(fixture_events(&f, "rank.changed"), count + 1);
	submit(&f, 12, 2.5);
	assert_int_equal(fixture_events(&f, "rank.changed"), count + 1);
	assert_int_equal(fixture_events(&f, "leaderboard.podium"), 4);
	/* Two change their places: none comes, none goes. */
	submit(&f, 14, 0.1);
	assert_int_equal(fixture_events(&f, "leaderboard.podium"), 5);
	data = json_object_get(fixture_event(&f, "leaderboard.podium"), "data");
	assert_int_equal(json_array_size(json_object_get(data, "came")), 0);
	fixture_close(&f);
}

struct trend {
	const char *device;
	int64_t user, limit;
	json_t *made;
};

static int
read_trend(struct db *db, void *arg, struct kettle_error *err)
{
	struct trend *trend = arg;
	return records_trend(db, 1, trend->device, trend->user, trend->limit, &trend->made, err);
}

/* Fails the test unless the trend has these scores and so many in all. */
static void
assert_trend(struct fixture *f, struct trend trend, int64_t count, size_t shown, const double *scores)
{
	struct kettle_error err = {0};
	if (fixture_query(f, read_trend, &trend, &err) < 0)
		fail_msg("%s", err.message);
	AUTO_JSON json_t *made = trend.made;
	json_t *points = json_object_get(made, "points");
	assert_int_equal(json_integer_value(json_object_get(made, "count")), count);
	assert_int_equal(json_array_size(points), shown);
	for (size_t i = 0; i < shown; i++)
		assert_true(json_real_value(json_object_get(json_array_get(points, i), "score")) == scores[i]);
}

static int
offer(struct db *db, void *arg, struct kettle_error *err)
{
	return ranking_offer(db, *(int64_t *)arg, NULL, err);
}

static int
recompute(struct db *db, void *arg, struct kettle_error *err)
{
	(void)arg;
	return ranking_recompute(db, 1, NULL, 0, err);
}

/* A submission that is judged after later ones was a record in its time, and makes none of those that are worse. */
static void
test_late_record(void **state)
{
	(void)state;
	struct fixture f;
	struct kettle_error err = {0};
	fixture_open(&f);
	make_board(&f);
	submit(&f, 2, 9.0);
	struct entry late = {.user = 2, .score = 6.0, .state = "failed"},
				 worse = {.user = 3, .score = 9.5, .state = "failed"};
	assert_int_equal(fixture_write(&f, add, &worse, &err), 0);
	assert_int_equal(fixture_write(&f, add, &late, &err), 0);
	submit(&f, 2, 7.0);
	submit(&f, 3, 8.0);
	submit(&f, 2, 5.0);
	assert_trend(&f, (struct trend){"CPU", 0, 100, NULL}, 3, 3, (const double[]){9, 7, 5});
	char sql[200];
	for (size_t i = 0; i < 2; i++) {
		struct entry *entry = i == 0 ? &worse : &late;
		(void)snprintf(sql, sizeof(sql),
			"UPDATE jobs SET state = 'passed', score = %g WHERE id = %lld; UPDATE submissions SET state = 'passed' "
			"WHERE "
			"id = %lld",
			entry->score, (long long)entry->job, (long long)entry->submission);
		fixture_sql(&f, sql);
		assert_int_equal(fixture_write(&f, offer, &entry->job, &err), 0);
	}
	assert_trend(&f, (struct trend){"CPU", 0, 100, NULL}, 3, 3, (const double[]){9, 6, 5});
	assert_trend(&f, (struct trend){"CPU", 2, 100, NULL}, 3, 3, (const double[]){9, 6, 5});
	assert_trend(&f, (struct trend){"CPU", 3, 100, NULL}, 2, 2, (const double[]){9.5, 8});
	fixture_close(&f);
}

static void
test_trend(void **state)
{
	(void)state;
	struct fixture f;
	fixture_open(&f);
	make_board(&f);
	submit(&f, 2, 5.0);
	submit(&f, 3, 6.0);
	submit(&f, 3, 4.0);
	submit(&f, 2, 4.0);
	int64_t flagged = submit(&f, 4, 0.1), practice = submit(&f, 5, 0.2);
	submit(&f, 2, 3.0);
	submit(&f, 6, 1.0);
	struct kettle_error err = {0};
	struct entry tested = {.user = 2, .score = 0.3, .mode = "test"},
				 failed = {.user = 2, .score = 0.3, .state = "failed"};
	assert_int_equal(fixture_write(&f, add, &tested, &err), 0);
	assert_int_equal(fixture_write(&f, add, &failed, &err), 0);
	char sql[300];
	(void)snprintf(sql, sizeof(sql),
		"UPDATE submissions SET created_at = id; UPDATE users SET banned_at = 1 WHERE id = 6; UPDATE submissions SET "
		"flagged_at = 1 WHERE id = %lld; UPDATE submissions SET practice = 1 WHERE id = %lld",
		(long long)flagged, (long long)practice);
	fixture_sql(&f, sql);
	assert_int_equal(fixture_write(&f, recompute, NULL, &err), 0);
	assert_trend(&f, (struct trend){"CPU", 0, 100, NULL}, 3, 3, (const double[]){5, 4, 3});
	assert_trend(&f, (struct trend){"CPU", 0, 2, NULL}, 3, 2, (const double[]){4, 3});
	assert_trend(&f, (struct trend){"CPU", 2, 100, NULL}, 3, 3, (const double[]){5, 4, 3});
	assert_trend(&f, (struct trend){"CPU", 3, 100, NULL}, 2, 2, (const double[]){6, 4});
	assert_trend(&f, (struct trend){"CPU", 6, 100, NULL}, 0, 0, NULL);
	assert_trend(&f, (struct trend){"H100", 0, 100, NULL}, 0, 0, NULL);
	fixture_close(&f);
}

/* ---- at random, against the definition ---- */

struct naive {
	int64_t user, submission;
	double score;
	int64_t rank;
};

static int
read_naive(void *arg, sqlite3_stmt *row)
{
	struct {
		struct naive *items;
		size_t count;
	} *list = arg;
	struct naive *item = &list->items[list->count++];
	item->user = sqlite3_column_int64(row, 0);
	item->submission = sqlite3_column_int64(row, 1);
	item->score = sqlite3_column_double(row, 2);
	return 0;
}

static int
compare(const void *a, const void *b)
{
	const struct naive *x = a, *y = b;
	if (x->score != y->score)
		return x->score < y->score ? -1 : 1;
	return (x->submission > y->submission) - (x->submission < y->submission);
}

/* From all runs: the best of each user by hand, then ranks by counting who is strictly better. */
static size_t
compute(struct naive *runs, size_t count, struct naive *best)
{
	size_t users = 0;
	qsort(runs, count, sizeof(*runs), compare);
	for (size_t i = 0; i < count; i++) {
		bool seen = false;
		for (size_t j = 0; j < users; j++)
			seen = seen || best[j].user == runs[i].user;
		if (!seen)
			best[users++] = runs[i];
	}
	for (size_t i = 0; i < users; i++) {
		best[i].rank = 1;
		for (size_t j = 0; j < users; j++)
			best[i].rank += best[j].score < best[i].score;
	}
	return users;
}

static int
check(struct db *db, void *arg, struct kettle_error *err)
{
	const char *device = arg;
	struct naive runs[STEPS + 1], best[USERS + 1];
	struct {
		struct naive *items;
		size_t count;
	} list = {runs, 0};
	AUTO_JSON json_t *page = NULL;
	int code = db_query(db, err, read_naive, &list,
		"SELECT s.user, s.id, j.score FROM submissions s JOIN jobs j ON j.submission = s.id WHERE j.device = ? AND "
		"j.state = "
		"'passed' AND s.flagged_at IS NULL AND s.mode = 'ranked' AND s.user NOT IN (SELECT id FROM users WHERE "
		"banned_at IS "
		"NOT NULL) AND s.id >= (SELECT counts_from FROM leaderboards WHERE id = 1)",
		"s", device);
	size_t users = compute(runs, list.count, best);
	struct page all = {.device = device, .limit = 1000};
	if (code == 0)
		code = read_page(db, &all, err);
	page = all.page;
	if (code < 0)
		return code;
	if ((size_t)json_integer_value(json_object_get(page, "count")) != users)
		return kettle_fail(err, KETTLE_EINTERNAL, "count differs");
	for (size_t i = 0; i < users; i++) {
		struct ranking_position place;
		code = ranking_of(db, 1, device, best[i].user, &place, err);
		if (code < 0)
			return code;
		if (field(page, i, "rank") != best[i].rank || field(page, i, "submission_id") != best[i].submission ||
			place.rank != best[i].rank)
			return kettle_fail(err, KETTLE_EINTERNAL, "place %zu differs", i);
	}
	return 0;
}

static int
flag(struct db *db, void *arg, struct kettle_error *err)
{
	int64_t id = *(int64_t *)arg, user = 0;
	int code = db_int(db, &user, err, "SELECT user FROM submissions WHERE id = ?", "i", id);
	if (code == 0)
		code = db_exec(db, err,
			"UPDATE submissions SET flagged_at = CASE WHEN flagged_at IS NULL THEN 1 END WHERE id = ?", "i", id);
	return code == 0 ? ranking_recompute(db, 1, NULL, user, err) : code == KETTLE_ENOENT ? 0 : code;
}

static int
ban(struct db *db, void *arg, struct kettle_error *err)
{
	int64_t user = *(int64_t *)arg;
	int code =
		db_exec(db, err, "UPDATE users SET banned_at = CASE WHEN banned_at IS NULL THEN 1 END WHERE id = ?", "i", user);
	return code < 0 ? code : ranking_recompute(db, 1, NULL, user, err);
}

static int
reset(struct db *db, void *arg, struct kettle_error *err)
{
	int code = db_exec(db, err, "UPDATE boards SET counts_from = ? WHERE id = 1", "i", *(int64_t *)arg);
	if (code == 0)
		code = ranking_recompute(db, 1, NULL, 0, err);
	/* A leaderboard whose rankings start again has no entries, and here some stay. */
	for (int64_t user = 2; user < 2 + USERS && code == 0; user++)
		code = ranking_recount_tries(db, user, err);
	return code;
}

static void
must(struct fixture *f, store_op op, void *arg)
{
	struct kettle_error err = {0};
	if (fixture_write(f, op, arg, &err) < 0)
		fail_msg("%s", err.message);
}

/* What an operator may ask for says the same. */
static int
verify(struct db *db, void *arg, struct kettle_error *err)
{
	(void)arg;
	AUTO_JSON json_t *checks = NULL;
	int rc = verify_database(db, "/nonexistent", &checks, err);
	for (size_t i = 0; i < json_array_size(checks); i++)
		assert_int_equal(json_array_size(json_object_get(json_array_get(checks, i), "violations")), 0);
	return rc;
}

static void
test_random(void **state)
{
	(void)state;
	struct fixture f;
	unsigned seed = 20260701;
	fixture_open(&f);
	make_board(&f);
	int64_t last = 0;
	for (int i = 0; i < STEPS; i++) {
		static const char *const states[] = {"passed", "passed", "passed", "failed"};
		struct entry entry = {
			.user = 2 + rand_r(&seed) % USERS,
			.score = 1.0 + rand_r(&seed) % 20 / 8.0,
			.state = states[rand_r(&seed) % 4],
			.device = rand_r(&seed) % 2 ? "CPU" : "H100",
		};
		int64_t any = last ? 1 + rand_r(&seed) % last : 0, user = 2 + rand_r(&seed) % USERS, from = any / 2;
		switch (rand_r(&seed) % 8) {
		case 0:
			must(&f, flag, &any);
			break;
		case 1:
			must(&f, ban, &user);
			break;
		case 2:
			if (i % 10 == 0)
				must(&f, reset, &from);
			break;
		default:
			must(&f, add, &entry);
			last = entry.submission;
		}
		must(&f, check, "CPU");
		must(&f, check, "H100");
	}
	must(&f, verify, NULL);
	fixture_close(&f);
}

/* Marked is whose gap to the one above is within the combined error, on a later page too; the order stays. */
static void
test_close(void **state)
{
	(void)state;
	struct fixture f;
	static const struct {
		double score, low, high;
		bool close;
	} rows[] = {{1.0, 0.99, 1.03, false}, {1.045, 1.005, 1.05, true}, {1.1, 1.09, 1.11, false}, {1.11, 0, 0, false},
		{1.111, 1.1, 1.2, false}};
	fixture_open(&f);
	make_board(&f);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct kettle_error err = {0};
		struct entry entry = {.user = (int64_t)i + 2, .score = rows[i].score, .low = rows[i].low, .high = rows[i].high};
		assert_int_equal(fixture_write(&f, add, &entry, &err), 0);
	}
	for (size_t offset = 0; offset < ARRAY_SIZE(rows); offset++) {
		struct kettle_error err = {0};
		struct page page = {.limit = 10, .offset = (int64_t)offset};
		assert_int_equal(fixture_write(&f, read_page, &page, &err), 0);
		size_t i;
		json_t *entry;
		json_array_foreach(json_object_get(page.page, "entries"), i, entry) {
			assert_true(json_number_value(json_object_get(entry, "submission_score")) == rows[offset + i].score);
			assert_int_equal(json_is_true(json_object_get(entry, "close")), rows[offset + i].close);
		}
		assert_int_equal(i, ARRAY_SIZE(rows) - offset);
		json_decref(page.page);
	}
	fixture_close(&f);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_ties),
	cmocka_unit_test(test_what_counts),
	cmocka_unit_test(test_events),
	cmocka_unit_test(test_late_record),
	cmocka_unit_test(test_trend),
	cmocka_unit_test(test_close),
	cmocka_unit_test(test_random),
};

UNIT_TESTS(test_ranking);
