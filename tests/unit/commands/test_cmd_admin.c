/* SPDX-License-Identifier: MIT */
/* Commands for operators: start and stop, statistics, backups. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "lib/unit_test.h"
#include "model/audit.h"
#include "model/export_files.h"
#include "model/jobs.h"
#include "model/settings.h"
#include "store/backup.h"
#include "store/db_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX (1u << 20)

COMMANDS_FIXTURE(commands_board(&c, "arena", NULL))

static void
run(int64_t submission, double score)
{
	char sql[100];
	(void)snprintf(sql, sizeof(sql), "SELECT id FROM jobs WHERE submission = %lld", (long long)submission);
	commands_finish(&c, fixture_int(&c.f, sql),
		json_pack("{s:s, s:f, s:[{s:s, s:b, s:b, s:s, s:I, s:I, s:{s:s}}, {s:s, s:b, s:b, s:f, s:s}]}", "state",
			"passed", "score", score, "runs", "mode", "test", "secret", 0, "passed", 1, "message", "a \"word\", two\n",
			"start_ns", (json_int_t)1, "wall_ns", (json_int_t)2000000000, "result", "check", "pass", "mode",
			"leaderboard", "secret", 1, "passed", 1, "score", score, "message", "SECRET"));
}

/* ---- the log ---- */

static int
put_entry(struct db *db, void *arg, struct kettle_error *err)
{
	const struct audit_entry entry = {0};
	return audit_put(db, *(const int64_t *)arg, NULL, "user.update", &entry, err);
}

/* One user's many calls remove the oldest of that user, and none of others. */
static void
test_log_bounds(void **state)
{
	(void)state;
	int64_t alice = 0;
	commands_must(&c, "alice:creator", "user.update", json_pack("{s:s}", "profile", "public"));
	alice = fixture_int(&c.f, "SELECT id FROM users WHERE name = 'alice'");
	char sql[700];
	(void)snprintf(sql, sizeof(sql),
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO audit (at, actor, "
		"command, boards_json, users_json, args_json) SELECT i, iif(i < 3, 1, %lld), 'x', '[]', '[]', '{}' FROM n",
		AUDIT_ACTOR_ROWS_MAX + 102, (long long)alice);
	fixture_sql(&c.f, "DELETE FROM audit");
	fixture_sql(&c.f, sql);
	for (int i = 0; i < AUDIT_TRIM_EVERY; i++)
		assert_int_equal(fixture_write(&c.f, put_entry, &alice, NULL), 0);
	int64_t own = fixture_int(&c.f, "SELECT count(*) FROM audit WHERE actor <> 1");
	assert_true(own >= AUDIT_ACTOR_ROWS_MAX && own < AUDIT_ACTOR_ROWS_MAX + AUDIT_TRIM_EVERY);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM audit WHERE actor = 1"), 2);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM audit WHERE command = 'user.update'"), AUDIT_TRIM_EVERY);
}

/* ---- start, stop, figures ---- */

static void
test_accepting(void **state)
{
	(void)state;
	commands_refused(&c, "alice", "admin.pause", json_object(), KETTLE_EACCES);
	commands_must(&c, "owner", "admin.pause", json_object());
	assert_true(json_is_false(commands_at(c.result, "accepts_jobs")));
	commands_must(&c, "owner", "admin.pause", json_object());
	assert_int_equal(fixture_events(&c.f, "admin.accepting"), 1);
	commands_refused(&c, "alice", "submit",
		json_pack("{s:o, s:s}", "file", commands_file("a.cpp", "x\n"), "leaderboard", "arena"), KETTLE_EUNAVAIL);
	/* It is kept. */
	struct kettle_error err = {0};
	fixture_stop(&c.f);
	assert_int_equal(fixture_store(&c.f, &err), 0);
	assert_true(json_is_false(commands_at(commands_must(&c, "owner", "admin.stats", json_object()), "accepts_jobs")));
	commands_must(&c, "owner", "admin.resume", json_object());
	commands_submit(&c, "alice", "arena", "test");
	assert_int_equal(fixture_events(&c.f, "admin.accepting"), 2);
	assert_string_equal(commands_text(fixture_event(&c.f, "admin.accepting"), "scope"), "a");
}

static void
test_stats(void **state)
{
	(void)state;
	commands_board(&c, "other", NULL);
	run(commands_submit(&c, "alice", "arena", "ranked"), 1.0);
	run(commands_submit(&c, "bob", "arena", "ranked"), 2.0);
	commands_submit(&c, "bob", "other", "test");
	const json_t *stats = commands_at(commands_must(&c, "owner", "admin.stats", json_object()), "stats");
	assert_int_equal(commands_number(stats, "num_submissions"), 3);
	assert_int_equal(commands_number(stats, "sub_waiting"), 1);
	assert_int_equal(commands_number(stats, "num_users"), 2);
	assert_int_equal(commands_number(stats, "num_unique_codes"), 1);
	static const struct {
		const char *key;
		double value;
	} figures[] = {{"num_run.CPU", 4}, {"runs_passed.CPU", 4}, {"runs_scored.CPU", 2}, {"runs_secret.CPU", 2},
		{"total_runtime.CPU", 4}};
	for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
		assert_float_equal(json_number_value(json_object_get(stats, figures[i].key)), figures[i].value, 1e-6);
	assert_true(json_number_value(json_object_get(stats, "max_delay.CPU")) >= 0);
	assert_non_null(json_object_get(stats, "avg_delay.CPU"));
	stats = commands_at(commands_must(&c, "owner", "admin.stats", json_pack("{s:s}", "leaderboard", "other")), "stats");
	assert_int_equal(commands_number(stats, "num_submissions"), 1);
	assert_null(json_object_get(stats, "num_run.CPU"));
	fixture_sql(&c.f, "UPDATE submissions SET created_at = 1 WHERE id = 1");
	stats = commands_at(commands_must(&c, "owner", "admin.stats", json_pack("{s:b}", "last_day", 1)), "stats");
	assert_int_equal(commands_number(stats, "num_submissions"), 2);
	assert_int_equal(commands_number(stats, "sub_waiting"), 1);
	/* A task at fault, until it works again. */
	fixture_sql(&c.f, "UPDATE boards SET fault_at = 1000 WHERE name = 'other'");
	const json_t *failing = commands_at(commands_must(&c, "owner", "admin.stats", json_object()), "failing_tasks");
	assert_int_equal(json_array_size(failing), 1);
	assert_string_equal(commands_text(json_array_get(failing, 0), "leaderboard"), "other");
	assert_string_equal(commands_text(json_array_get(failing, 0), "at"), "1970-01-01T00:00:01.000Z");
	failing = commands_at(
		commands_must(&c, "owner", "admin.stats", json_pack("{s:s}", "leaderboard", "arena")), "failing_tasks");
	assert_int_equal(json_array_size(failing), 0);
	commands_refused(&c, "owner", "admin.stats", json_pack("{s:s}", "leaderboard", "othr"), KETTLE_ENOENT);
	commands_refused(&c, "alice", "admin.stats", json_object(), KETTLE_EACCES);
}

/* ---- copies ---- */

static struct db
connection(const char *path)
{
	struct kettle_error err = {0};
	struct db db = {0};
	if (db_file_open_reader(path, &db.handle, &err) < 0)
		fail_msg("%s", err.message);
	return db;
}

static void
path_of(char *path, size_t size, const char *name)
{
	(void)snprintf(path, size, "%s/%s", c.f.dir, name);
}

/* Submits between two steps of the copy; counts the calls, and stops after so many (0: never). */
struct watcher {
	int calls, stop;
};

static bool
watch(void *arg, int64_t done, int64_t total)
{
	struct watcher *watcher = arg;
	assert_true(done <= total);
	if (watcher->calls++ < 3)
		commands_submit(&c, "alice", "arena", "test");
	return watcher->stop == 0 || watcher->calls < watcher->stop;
}

static void
test_backup(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	struct watcher watcher = {0};
	char path[100], again[100];
	int64_t bytes = 0, rows = 0;
	path_of(path, sizeof(path), "copy.db");
	run(commands_submit(&c, "alice", "arena", "ranked"), 1.0);
	/* More pages than one step copies. */
	fixture_sql(&c.f,
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) INSERT INTO blobs "
		"(sha256, size, data) SELECT printf('%064d', i), 1000, randomblob(1000) FROM n");
	struct db db = connection(c.f.path);
	if (backup_make(db.handle, path, watch, &watcher, &bytes, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(watcher.calls > 3);
	/* One moment's, though three more came meanwhile; a file alone, for its owner. */
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM submissions"), 4);
	struct db copy = connection(path);
	assert_int_equal(db_int(&copy, &rows, &err, "SELECT count(*) FROM submissions", NULL), 0);
	assert_int_equal(rows, 1);
	db_close(&copy);
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_equal(status.st_size, bytes);
	assert_int_equal(backup_make(db.handle, path, NULL, NULL, &bytes, &err), KETTLE_ECONFLICT);
	assert_says(&err, "is not overwritten");
	path_of(again, sizeof(again), "absent/copy.db");
	assert_true(backup_make(db.handle, again, NULL, NULL, &bytes, &err) < 0);
	assert_says(&err, "cannot be written");
	/* Stopped: nothing is left of it. */
	path_of(again, sizeof(again), "stopped.db");
	watcher = (struct watcher){.calls = 3, .stop = 5};
	assert_int_equal(backup_make(db.handle, again, watch, &watcher, &bytes, &err), KETTLE_ECANCELED);
	assert_int_not_equal(stat(again, &status), 0);
	AUTO_DIR DIR *folder = opendir(c.f.dir);
	const struct dirent *entry;
	while ((entry = readdir(folder)))
		if (strstr(entry->d_name, ".part"))
			fail_msg("%s is left", entry->d_name);
	db_close(&db);
}

static char *
read_file(const char *folder, const char *name)
{
	AUTO_FREE char *path = path_join(folder, name);
	char *text = NULL;
	size_t size = 0;
	struct kettle_error err = {0};
	if (file_read(path, FILE_MAX, &text, &size, &err) < 0)
		fail_msg("%s", err.message);
	return text;
}

static void
test_export(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	char path[100], csv[100];
	AUTO_JSON json_t *files = NULL;
	path_of(path, sizeof(path), "out/");
	path_of(csv, sizeof(csv), "csv");
	run(commands_submit(&c, "alice", "arena", "ranked"), 1.5);
	commands_submit(&c, "bob", "arena", "test");
	fixture_sql(&c.f,
		"INSERT INTO tokens (hash, kind, created_at) VALUES ('HUSH', 'token', 1);"
		"INSERT INTO invites (code, created_by, created_at) VALUES ('HUSH', 1, 1);"
		"UPDATE identities SET subject = 'HUSH' WHERE name = 'bob'; UPDATE jobs SET seed = 987654321;"
		"INSERT INTO audit (at, actor, command, boards_json, users_json, args_json) VALUES (1, 1, 'user.ban', '[]', "
		"'[2]', '{}'); UPDATE submissions SET flagged_at = 1, flag_reason = 'copied' WHERE id = 1");
	struct db db = connection(c.f.path);
	if (export_make(&db, path, false, NULL, NULL, &files, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(commands_number(json_object_get(files, "submissions.jsonl"), ""), 2);
	assert_int_equal(commands_number(json_object_get(files, "runs.jsonl"), ""), 2);
	assert_int_equal(commands_number(json_object_get(files, "code/"), ""), 1);
	static const char *const names[] = {"leaderboards", "users", "submissions", "jobs", "runs", "audit"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char name[40];
		(void)snprintf(name, sizeof(name), "%s.jsonl", names[i]);
		AUTO_FREE char *text = read_file(path, name);
		if (strstr(text, "HUSH") || strstr(text, "SECRET") || strstr(text, "987654321"))
			fail_msg("%s tells too much: %s", name, text);
		AUTO_JSON json_t *row = json_loadb(text, strcspn(text, "\n"), 0, NULL);
		assert_true(json_is_object(row));
	}
	AUTO_FREE char *boards = read_file(path, "leaderboards.jsonl");
	AUTO_JSON json_t *board = json_loadb(boards, strcspn(boards, "\n"), 0, NULL);
	assert_string_equal(commands_text(board, "harness"), "task");
	assert_string_equal(commands_text(board, "judging.cpu"), "one process");
	assert_string_equal(commands_text(board, "judging.gpu"), "one process");
	AUTO_FREE char *text = read_file(path, "submissions.jsonl");
	AUTO_JSON json_t *row = json_loadb(text, strcspn(text, "\n"), 0, NULL);
	assert_string_equal(commands_text(row, "flagged"), "copied");
	AUTO_FREE char *code_path = NULL;
	assert_true(asprintf(&code_path, "code/%s", commands_text(row, "code_sha256")) > 0);
	AUTO_FREE char *code = read_file(path, code_path);
	assert_string_equal(code, "int a;\n");
	json_decref(STEAL(files));
	assert_int_equal(export_make(&db, csv, true, NULL, NULL, &files, &err), 0);
	AUTO_FREE char *runs = read_file(csv, "runs.csv");
	assert_true(strncmp(runs, "run,job,submission_id,device,", 29) == 0);
	assert_non_null(strstr(runs, ",\"a \"\"word\"\", two\n\",\"{\"\"check\"\":\"\"pass\"\"}\"\r\n"));
	json_decref(STEAL(files));
	assert_int_equal(export_make(&db, csv, true, NULL, NULL, &files, &err), KETTLE_ECONFLICT);
	assert_says(&err, "new or empty");
	db_close(&db);
}

static bool
stops(void *arg, int64_t done, int64_t total)
{
	(void)arg;
	(void)done;
	(void)total;
	return false;
}

/* A table without rows has its names, text is no formula, and a user's folder outlives an export that fails. */
static void
test_export_csv(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	char path[100], sql[200];
	AUTO_JSON json_t *files = NULL;
	path_of(path, sizeof(path), "own");
	assert_int_equal(mkdir(path, 0700), 0);
	commands_submit(&c, "bob", "arena", "test");
	fixture_sql(&c.f, "UPDATE users SET name = '=1+1' WHERE name = 'bob'");
	/* As many rows as it takes until an export asks whether to stop. */
	(void)snprintf(sql, sizeof(sql),
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000) INSERT INTO users (name, "
		"created_at) SELECT 'user' || i, 1 FROM n");
	fixture_sql(&c.f, sql);
	struct db db = connection(c.f.path);
	assert_int_equal(export_make(&db, path, true, stops, NULL, &files, &err), KETTLE_ECANCELED);
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	err = (struct kettle_error){0};
	if (export_make(&db, path, true, NULL, NULL, &files, &err) < 0)
		fail_msg("%s", err.message);
	AUTO_FREE char *runs = read_file(path, "runs.csv");
	assert_true(strncmp(runs, "run,job,submission_id,device,mode,secret,", 41) == 0);
	assert_string_equal(strchr(runs, '\n'), "\n");
	AUTO_FREE char *users = read_file(path, "users.csv");
	assert_non_null(strstr(users, ",'=1+1,"));
	db_close(&db);
}

/* What a process left that was killed while it wrote goes with the next copy of the same name; what is written now stays. */
static void
test_left_parts(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	char path[100], left[100], other[100], held[100];
	AUTO_FREE char *part = NULL;
	AUTO_FD int fd = -1;
	path_of(path, sizeof(path), "copy");
	path_of(left, sizeof(left), "copy.999999999.part");
	path_of(other, sizeof(other), "copy.1.part"); /* of a process that lives */
	path_of(held, sizeof(held), "copy.999999998.part");
	assert_int_equal(mkdir(left, 0700), 0);
	assert_int_equal(mkdir(other, 0700), 0);
	assert_int_equal(mkdir(held, 0700), 0);
	AUTO_FD int lock = open(held, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(lock, LOCK_EX), 0);
	if (backup_part(path, false, &part, &fd, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_not_equal(access(left, F_OK), 0);
	assert_int_equal(access(other, F_OK), 0);
	assert_int_equal(access(held, F_OK), 0);
	assert_int_equal(access(part, F_OK), 0);
}

/* ---- the speed of devices over time ---- */

struct calibrated {
	const char *device, *unit;
	int count;
};

static int
calibrate_op(struct db *db, void *arg, struct kettle_error *err)
{
	const struct calibrated *calibrated = arg;
	int rc = 0;
	for (int i = 0; i < calibrated->count && rc == 0; i++) {
		AUTO_JSON json_t *calibration = json_pack("{s:{s:f}}", "names", "cache", 1000.5 + i);
		rc = settings_calibration_add(db, calibrated->device, calibrated->unit, calibration, err);
	}
	return rc;
}

/* The newest first; of each unit only so many are kept. */
static void
test_calibrations(void **state)
{
	struct calibrated many = {"CPU", "CPU.0", CALIBRATIONS_KEPT + 2}, one = {"H100", "H100.0", 1};
	(void)state;
	assert_int_equal(json_array_size(commands_must(&c, "alice", "device.calibrations", json_object())), 0);
	assert_int_equal(fixture_write(&c.f, calibrate_op, &one, NULL), 0);
	assert_int_equal(fixture_write(&c.f, calibrate_op, &many, NULL), 0);
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM calibrations"), CALIBRATIONS_KEPT + 1);
	const json_t *list =
		commands_must(&c, "alice", "device.calibrations", json_pack("{s:s, s:i}", "device", "cpu", "limit", 2));
	assert_int_equal(json_array_size(list), 2);
	assert_string_equal(commands_text(list, "0.unit"), "CPU.0");
	assert_true(json_real_value(commands_at(list, "0.names.cache")) == 1000.5 + CALIBRATIONS_KEPT + 1);
	assert_true(json_real_value(commands_at(list, "1.names.cache")) == 1000.5 + CALIBRATIONS_KEPT);
	assert_null(commands_at(list, "0.spreads"));
	list = commands_must(&c, "alice", "device.calibrations", json_pack("{s:s}", "device", "H100"));
	assert_int_equal(json_array_size(list), 1);
	assert_string_equal(commands_text(list, "0.device"), "H100");
	commands_refused(&c, "alice", "device.calibrations", json_pack("{s:s}", "device", "CPV"), KETTLE_ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_log_bounds),
	TEST(test_accepting),
	TEST(test_stats),
	TEST(test_backup),
	TEST(test_export),
	TEST(test_export_csv),
	TEST(test_left_parts),
	TEST(test_calibrations),
};

UNIT_TESTS(test_cmd_admin);
