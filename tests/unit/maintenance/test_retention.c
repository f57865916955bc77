/* SPDX-License-Identifier: MIT */
/* What need not be kept goes, in parts, and nothing else does. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "lib/unit_test.h"
#include "maintenance/maintenance.h"

#include <string.h>

COMMANDS_FIXTURE(commands_board(&c, "arena", NULL))

struct part {
	enum retention_step step;
	struct retention *retention;
	bool more;
};

static int
part_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct part *part = arg;
	return retention_part(db, part->step, part->retention, &part->more, err);
}

/* A step to its end; in how many parts. */
static int
step(enum retention_step step, struct retention *retention)
{
	struct kettle_error err = {0};
	struct part part = {step, retention, true};
	int parts = 0;
	retention->cursor = 0;
	for (; part.more; parts++) {
		part.more = false;
		if (fixture_write(&c.f, part_op, &part, &err) < 0)
			fail_msg("%s", err.message);
		assert_true(parts < 1000);
	}
	return parts;
}

#define DAYS_AGO(days) "now_ms() - 86400000 * " #days

/* A job with an artifact, logs and a run, done so long ago. */
static int64_t
submission(const char *who, const char *done_at)
{
	char sql[600];
	int64_t id = commands_submit(&c, who, "arena", "test"), job = fixture_int(&c.f, "SELECT max(id) FROM jobs");
	commands_finish(&c, job,
		json_pack("{s:s, s:[{s:s}], s:[{s:s, s:b, s:b, s:s, s:{s:s}, s:{s:s}}]}", "state", "passed", "compilation",
			"stdout", "many words", "runs", "mode", "test", "secret", 0, "passed", 1, "message", "kept", "stdout",
			"text", "many words", "result", "check", "pass"));
	(void)snprintf(sql, sizeof(sql),
		"INSERT INTO blobs (sha256, size, data) VALUES (printf('%%064d', %lld), 5, x'0102030405');"
		"INSERT INTO artifacts (job, name, size, sha256, blob, created_at) SELECT %lld, 'a', 5, 'x', max(id), %s FROM "
		"blobs; UPDATE jobs SET done_at = %s WHERE id = %lld",
		(long long)job, (long long)job, done_at, done_at, (long long)job);
	fixture_sql(&c.f, sql);
	return id;
}

static int64_t
artifacts(void)
{
	return fixture_int(&c.f, "SELECT count(*) FROM artifacts WHERE expired_at IS NULL");
}

static int64_t
logs(void)
{
	return fixture_int(&c.f, "SELECT count(*) FROM runs WHERE detail_json LIKE '%many words%'") +
		   fixture_int(&c.f, "SELECT count(*) FROM jobs WHERE compilation_json LIKE '%many words%'");
}

static void
test_artifacts_and_logs(void **state)
{
	(void)state;
	struct retention forever = {0}, month = {.limits = {.artifact_days = 30, .log_days = 30}};
	submission("alice", DAYS_AGO(40));
	int64_t cheat = submission("mallory", DAYS_AGO(40));
	submission("bob", DAYS_AGO(20));
	commands_must(&c, "owner", "submission.flag", json_pack("{s:I, s:s}", "id", (json_int_t)cheat, "reason", "x"));
	for (enum retention_step s = 0; s < RETENTION_END; s++)
		step(s, &forever);
	assert_int_equal(artifacts(), 3);
	assert_int_equal(logs(), 6);
	step(RETENTION_ARTIFACTS, &month);
	step(RETENTION_LOGS, &month);
	/* The old one's; the evidence stays, and what is young. */
	assert_int_equal(artifacts(), 2);
	assert_int_equal(logs(), 4);
	assert_int_equal(month.artifacts, 1);
	assert_int_equal(month.artifact_bytes, 5);
	assert_int_equal(month.logs, 1);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM runs WHERE message = 'kept' AND result_json LIKE "
									   "'%pass%'"),
		3);
	step(RETENTION_BLOBS, &month);
	assert_int_equal(month.blobs, 1);
	assert_int_equal(month.blob_bytes, 5);
	/* The second time there is nothing to do. */
	struct retention again = {.limits = {.artifact_days = 30, .log_days = 30}};
	for (enum retention_step s = 0; s < RETENTION_END; s++)
		step(s, &again);
	assert_int_equal(again.artifacts + again.logs + again.blobs, 0);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM submissions"), 3);
}

/* Neither a job that does not end nor an order of ends that the clock confused keeps the logs of others. */
static void
test_logs_behind_open_job(void **state)
{
	(void)state;
	struct retention month = {.limits = {.log_days = 30}};
	commands_submit(&c, "alice", "arena", "test");
	submission("bob", DAYS_AGO(20));
	submission("bob", DAYS_AGO(40));
	assert_int_equal(logs(), 4);
	step(RETENTION_LOGS, &month);
	assert_int_equal(logs(), 2);
	assert_int_equal(month.logs, 1);
	step(RETENTION_LOGS, &month);
	assert_int_equal(month.logs, 1);
}

static void
test_events_and_tokens(void **state)
{
	(void)state;
	struct retention month = {.limits = {.event_days = 30}};
	for (int i = 0; i < 10; i++)
		commands_submit(&c, "alice", "arena", "test");
	int64_t last = fixture_int(&c.f, "SELECT max(seq) FROM events");
	fixture_sql(&c.f,
		"UPDATE events SET at = " DAYS_AGO(
			40) " WHERE seq <= 8;"
				"INSERT INTO cursors VALUES ('plugin:web', 5, 1e15), ('plugin:gone', 3, " DAYS_AGO(
					31) ");"
						"INSERT INTO tokens (hash, kind, created_at, expires_at) VALUES ('a', 'link', 1, 1), ('b', "
						"'token', 1, NULL), ('c', 'link', 1, 1e15);"
						"INSERT INTO rate_spent VALUES (1, 1, 1, 1, 'CPU', 'test'), (1, 1, 1e15, 1, 'CPU', 'test')");
	step(RETENTION_EVENTS, &month);
	/* One consumer has not read on. */
	assert_int_equal(fixture_int(&c.f, "SELECT min(seq) FROM events"), 6);
	fixture_sql(&c.f, "UPDATE cursors SET seq = 100");
	step(RETENTION_EVENTS, &month);
	assert_int_equal(fixture_int(&c.f, "SELECT min(seq) FROM events"), 9);
	assert_int_equal(month.events, 8);
	fixture_sql(&c.f, "UPDATE events SET at = 1");
	step(RETENTION_EVENTS, &month);
	commands_submit(&c, "alice", "arena", "test");
	assert_int_equal(fixture_int(&c.f, "SELECT max(seq) FROM events"), last + 1);
	fixture_sql(&c.f, "INSERT INTO links VALUES ('old', 1), ('open', 1e15)");
	step(RETENTION_TOKENS, &month);
	assert_int_equal(month.tokens, 1);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM links WHERE hash = 'open'"), 1);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM links"), 1);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM rate_spent"), 1);
}

/* Entries of the log of who did what go by their age, in parts. */
static void
test_audit(void **state)
{
	(void)state;
	struct retention ever = {0}, year = {.limits = {.audit_days = 365}};
	fixture_sql(&c.f, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO audit "
					  "(at, command, boards_json, "
					  "users_json, args_json) SELECT CASE WHEN i <= 450 THEN " DAYS_AGO(366) " ELSE " DAYS_AGO(
						  364) " END, 'x', '[]', '[]', "
							   "'{}' FROM n");
	step(RETENTION_AUDIT, &ever);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM audit"), 500);
	step(RETENTION_AUDIT, &year);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM audit"), 50);
	assert_int_equal(year.audit, 450);
}

/* Events and uses of a time when the clock was ahead keep nothing of what came after them. */
static void
test_events_of_the_future(void **state)
{
	(void)state;
	struct retention month = {.limits = {.event_days = 30}};
	fixture_sql(&c.f, "DELETE FROM events");
	fixture_sql(&c.f,
		"INSERT INTO cursors VALUES ('plugin:gone', 900, 1e15); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + "
		"1 "
		"FROM n WHERE i < 700) INSERT INTO events (seq, at, kind, scope, closed) SELECT 1000 + i, CASE WHEN i <= 500 "
		"THEN 1e15 ELSE " DAYS_AGO(40) " END, 'x', 'p', 0 FROM n");
	step(RETENTION_EVENTS, &month);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM events"), 700);
	/* The use becomes one of today, and is old when the plugin has not come back for so long. */
	assert_true(fixture_int(&c.f, "SELECT used_at FROM cursors") < (int64_t)1e15);
	fixture_sql(&c.f, "UPDATE cursors SET used_at = " DAYS_AGO(31));
	step(RETENTION_EVENTS, &month);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM events"), 500);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM events WHERE at = 1e15"), 500);
	assert_int_equal(month.events, 200);
}

static void
test_parts(void **state)
{
	(void)state;
	struct retention retention = {0};
	int64_t used = fixture_int(&c.f, "SELECT count(*) FROM blobs");
	fixture_sql(&c.f,
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) INSERT INTO blobs "
		"(sha256, size, data) SELECT printf('%064d', i), 4000, randomblob(4000) FROM n");
	fixture_sql(&c.f,
		"INSERT INTO tasks (content_hash, run_hash, name, bundle_json, created_at) VALUES ('x', 'x', 'x', "
		"'{}', 1); INSERT INTO task_files SELECT last_insert_rowid(), 'f', max(id) FROM blobs");
	assert_true(step(RETENTION_BLOBS, &retention) >= 5);
	assert_int_equal(retention.blobs, 1000);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM blobs"), used);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM tasks"), 1);
	int64_t pages = fixture_int(&c.f, "PRAGMA page_count");
	assert_true(step(RETENTION_PAGES, &retention) >= 5);
	assert_true(retention.page_bytes >= 1000 * 4000);
	assert_true(fixture_int(&c.f, "PRAGMA page_count") < pages - 900);
	assert_int_equal(fixture_int(&c.f, "PRAGMA freelist_count"), 0);
	/* One part each where there is nothing. */
	for (enum retention_step s = 0; s < RETENTION_END; s++)
		assert_int_equal(step(s, &retention), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_artifacts_and_logs),
	TEST(test_logs_behind_open_job),
	TEST(test_events_and_tokens),
	TEST(test_audit),
	TEST(test_events_of_the_future),
	TEST(test_parts),
};

UNIT_TESTS(test_retention);
