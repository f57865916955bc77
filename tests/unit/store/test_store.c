/* SPDX-License-Identifier: MIT */
/* The store: order, grouped commits, failures that stay alone, and every reason to refuse a database. */
#include <config.h>

#include "unit/store_fixture.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "lib/unit_test.h"
#include "store/db_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NOBODY 65534

static int
insert(struct db *db, void *arg, struct kettle_error *err)
{
	return db_exec(db, err, "INSERT INTO settings (key, value_json) VALUES (?, '1')", "s", (const char *)arg);
}

static int
insert_and_fail(struct db *db, void *arg, struct kettle_error *err)
{
	int code = insert(db, arg, err);
	if (code == 0)
		code = db_event(db, "test.lost", 'p', 0, 0, 0, NULL, err);
	return code < 0 ? code : kettle_fail(err, KETTLE_ECONFLICT, "it was not meant to be");
}

static int
event(struct db *db, void *arg, struct kettle_error *err)
{
	return db_event(db, arg, 'p', 0, 0, 0, NULL, err);
}

static void
test_new(void **state)
{
	(void)state;
	struct fixture f;
	struct kettle_error err = {0};
	fixture_folder(&f);
	assert_int_equal(fixture_store(&f, &err), 0);
	struct stat status;
	assert_int_equal(stat(f.path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_equal(fixture_int(&f, "PRAGMA application_id"), MIGRATIONS_APPLICATION_ID);
	assert_int_equal(fixture_int(&f, "PRAGMA user_version"), migrations_newest());
	assert_int_equal(
		fixture_int(&f,
			"SELECT count(*) FROM users JOIN identities ON user = id WHERE role = 'admin' AND subject = 'owner' "
			"AND provider = 'cli'"),
		1);
	fixture_stop(&f);
	char wal[128];
	(void)snprintf(wal, sizeof(wal), "%s-wal", f.path);
	assert_int_equal(access(wal, F_OK), -1);
	assert_int_equal(fixture_store(&f, &err), 0);
	assert_int_equal(fixture_int(&f, "SELECT count(*) FROM users"), 1);
	fixture_close(&f);
}

static void
test_folder_is_made(void **state)
{
	(void)state;
	struct fixture f;
	struct kettle_error err = {0};
	fixture_folder(&f);
	(void)snprintf(f.path, sizeof(f.path), "%s/a/b/kettle.db", f.dir);
	assert_int_equal(fixture_store(&f, &err), 0);
	char folder[96];
	(void)snprintf(folder, sizeof(folder), "%s/a/b", f.dir);
	struct stat status;
	assert_int_equal(stat(folder, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0700);
	fixture_close(&f);
}

struct answers {
	int count, failed, order[8], last_code;
	char last[1000];
	struct fixture *f;
	size_t events_before[8];
};

static struct answers answers;

static void
answered(void *arg, const struct kettle_error *err)
{
	answers.events_before[answers.count % 8] = json_array_size(answers.f->events);
	answers.order[answers.count++ % 8] = (int)(intptr_t)arg;
	answers.failed += err != NULL;
	if (err) {
		answers.last_code = err->code;
		(void)snprintf(answers.last, sizeof(answers.last), "%s", err->message);
	}
}

/* Both of the read that holds the writer's thread. */
static uv_sem_t held, let_go;

static int
hold(struct db *db, void *arg, struct kettle_error *err)
{
	(void)db, (void)arg, (void)err;
	uv_sem_post(&held);
	uv_sem_wait(&let_go);
	return 0;
}

static void
let_go_of(void *arg, const struct kettle_error *err)
{
	(void)arg;
	assert_null(err);
	uv_sem_destroy(&held);
	uv_sem_destroy(&let_go);
}

/* Once it returns, the writer's thread takes nothing until let_go is posted, and then all that was queued at once. */
static void
hold_writer(struct fixture *f)
{
	assert_int_equal(uv_sem_init(&held, 0), 0);
	assert_int_equal(uv_sem_init(&let_go, 0), 0);
	store_read(f->store, hold, let_go_of, NULL);
	uv_sem_wait(&held);
}

static int commits;

static int
count_commit(void *arg)
{
	(void)arg;
	commits++;
	return 0;
}

static int
hook(struct db *db, void *arg, struct kettle_error *err)
{
	(void)arg, (void)err;
	commits = 0;
	sqlite3_commit_hook(db->handle, count_commit, NULL);
	return 0;
}

static int op_keys;

static int
insert_next(struct db *db, void *arg, struct kettle_error *err)
{
	char key[16];
	(void)arg;
	(void)snprintf(key, sizeof(key), "k%d", op_keys++);
	return insert(db, key, err);
}

/* Opens a store that counts its commits, and holds its thread. */
static void
open_held(struct fixture *f)
{
	fixture_open(f);
	answers = (struct answers){.f = f};
	op_keys = 0;
	assert_int_equal(fixture_write(f, hook, NULL, NULL), 0);
	hold_writer(f);
}

static void
test_grouped_commit(void **state)
{
	(void)state;
	struct fixture f;
	open_held(&f);
	for (int i = 0; i < 500; i++)
		store_write(f.store, insert_next, answered, NULL);
	uv_sem_post(&let_go);
	while (answers.count < 500)
		uv_run(&f.loop, UV_RUN_ONCE);
	assert_int_equal(answers.failed, 0);
	assert_int_equal(fixture_int(&f, "SELECT count(*) FROM settings"), 500);
	assert_int_equal(commits, 2); /* one is the hook's own */
	fixture_close(&f);
}

/* What may wait rides on a commit that there is anyway, or has one of its own when nothing else is written. */
static void
test_later(void **state)
{
	(void)state;
	struct fixture f;
	open_held(&f);
	commits = 0; /* the hook was there for its own */
	for (int i = 0; i < 3; i++)
		store_later(f.store, insert_next, answered, NULL);
	store_write(f.store, insert_next, answered, NULL);
	uv_sem_post(&let_go);
	while (answers.count < 4)
		uv_run(&f.loop, UV_RUN_ONCE);
	assert_int_equal(commits, 1);
	store_later(f.store, insert_next, answered, NULL);
	while (answers.count < 5)
		uv_run(&f.loop, UV_RUN_ONCE);
	assert_int_equal(commits, 2);
	/* Nothing is left behind by a store that closes. */
	store_later(f.store, insert_next, answered, NULL);
	fixture_stop(&f);
	assert_int_equal(answers.count, 6);
	assert_int_equal(answers.failed, 0);
	struct kettle_error err = {0};
	assert_int_equal(fixture_store(&f, &err), 0);
	assert_int_equal(fixture_int(&f, "SELECT count(*) FROM settings"), 6);
	fixture_close(&f);
}

static void
test_failure_stays_alone(void **state)
{
	(void)state;
	struct fixture f;
	fixture_open(&f);
	answers = (struct answers){.f = &f};
	hold_writer(&f);
	store_write(f.store, insert, answered, "a");
	store_write(f.store, event, answered, "test.first");
	store_write(f.store, insert_and_fail, answered, "b");
	store_write(f.store, insert, answered, "a");
	store_write(f.store, event, answered, "test.second");
	store_write(f.store, insert, answered, "c");
	uv_sem_post(&let_go);
	while (answers.count < 6)
		uv_run(&f.loop, UV_RUN_ONCE);
	assert_int_equal(answers.failed, 2);
	assert_int_equal(fixture_int(&f, "SELECT count(*) FROM settings WHERE key IN ('a', 'c')"), 2);
	assert_int_equal(fixture_int(&f, "SELECT count(*) FROM settings"), 2);
	assert_int_equal(json_array_size(f.events), 2);
	assert_int_equal(fixture_events(&f, "test.lost"), 0);
	/* Numbered without a gap, and there before any answer of their commit. */
	assert_int_equal(json_integer_value(json_object_get(json_array_get(f.events, 0), "seq")), 1);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(f.events, 1), "seq")), 2);
	assert_true(answers.events_before[5] == 2);
	fixture_close(&f);
}

static void
test_order(void **state)
{
	(void)state;
	struct fixture f;
	fixture_open(&f);
	answers = (struct answers){.f = &f};
	static const char *const sql = "SELECT count(*) FROM settings";
	for (int i = 0; i < 20; i++) {
		fixture_sql(&f, "INSERT INTO settings VALUES (hex(randomblob(8)), '1')");
		assert_int_equal(fixture_int(&f, sql), i + 1);
	}
	fixture_close(&f);
}

static void
test_reader_cannot_write(void **state)
{
	(void)state;
	struct fixture f;
	struct kettle_error err = {0};
	fixture_open(&f);
	assert_true(fixture_query(&f, insert, "a", &err) < 0);
	assert_true(fixture_query(&f, event, "test.kind", &err) < 0);
	assert_int_equal(fixture_int(&f, "SELECT count(*) FROM settings"), 0);
	fixture_close(&f);
}

static void
test_close_drains(void **state)
{
	(void)state;
	struct fixture f;
	fixture_open(&f);
	answers = (struct answers){.f = &f};
	op_keys = 0;
	for (int i = 0; i < 100; i++)
		store_write(f.store, insert_next, answered, NULL);
	struct store *store = f.store;
	store_close(store, NULL, NULL);
	store_write(store, insert, answered, "late");
	store_query(store, insert, answered, "late");
	f.store = NULL;
	while (uv_run(&f.loop, UV_RUN_ONCE))
		;
	assert_int_equal(answers.count, 102);
	assert_int_equal(answers.failed, 2);
	assert_int_equal(answers.last_code, KETTLE_ECANCELED);
	struct kettle_error err = {0};
	assert_int_equal(fixture_store(&f, &err), 0);
	assert_int_equal(fixture_int(&f, "SELECT count(*) FROM settings"), 100);
	fixture_close(&f);
	store_close(NULL, NULL, NULL);
}

static void
test_network_file_systems(void **state)
{
	(void)state;
	assert_string_equal(db_file_network_name(0x6969), "NFS");
	assert_string_equal(db_file_network_name(0xff534d42), "CIFS");
	assert_string_equal(db_file_network_name(0x01021997), "9p");
	assert_string_equal(db_file_network_name(0x73757245), "Coda");
	assert_string_equal(db_file_network_name(0x5346414f), "AFS");
	assert_null(db_file_network_name(0xef53));
	assert_null(db_file_network_name(0x01021994));
	assert_null(db_file_network_name(0x58465342));
}

static void
refused(struct fixture *f, int code, const char *word)
{
	struct kettle_error err = {0};
	assert_int_equal(fixture_store(f, &err), code);
	assert_says(&err, word);
	assert_int_equal(err.code, code);
	assert_null(f->store);
}

static void
write_file(const char *path, const char *text)
{
	assert_int_equal(file_write(path, text, strlen(text), 0600, NULL), 0);
}

static void
outside_sql(const char *path, const char *sql)
{
	sqlite3 *handle = NULL;
	assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
	assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(handle);
}

static void
test_no_database(void **state)
{
	(void)state;
	struct fixture f;
	fixture_folder(&f);
	write_file(f.path, "short");
	refused(&f, KETTLE_EINVAL, "not a database");
	char text[5000];
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	write_file(f.path, text);
	refused(&f, KETTLE_EINVAL, "not a database");
	assert_int_equal(unlink(f.path), 0);
	assert_int_equal(mkdir(f.path, 0700), 0);
	refused(&f, KETTLE_EINVAL, "is a folder");
	assert_int_equal(rmdir(f.path), 0);
	assert_int_equal(mkfifo(f.path, 0600), 0);
	refused(&f, KETTLE_EINVAL, "not a regular file");
	assert_int_equal(unlink(f.path), 0);
	/* An empty file is a new database. */
	write_file(f.path, "");
	struct kettle_error err = {0};
	assert_int_equal(fixture_store(&f, &err), 0);
	fixture_close(&f);
}

static void
test_other_program(void **state)
{
	(void)state;
	struct fixture f;
	fixture_folder(&f);
	outside_sql(f.path, "CREATE TABLE mine (a)");
	refused(&f, KETTLE_EINVAL, "another program");
	outside_sql(f.path, "DROP TABLE mine; PRAGMA application_id = 7");
	refused(&f, KETTLE_EINVAL, "another program");
	fixture_close(&f);
}

static void
test_newer(void **state)
{
	(void)state;
	struct fixture f;
	fixture_open(&f);
	fixture_stop(&f);
	outside_sql(f.path, "PRAGMA user_version = 999");
	refused(&f, KETTLE_EVERSION, "schema 999");
	fixture_close(&f);
}

static void
test_locked(void **state)
{
	(void)state;
	struct fixture f;
	fixture_open(&f);
	fixture_stop(&f);
	sqlite3 *other = NULL;
	assert_int_equal(sqlite3_open(f.path, &other), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(other, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	refused(&f, KETTLE_EUNAVAIL, "locked by another program");
	sqlite3_close(other);
	fixture_close(&f);
}

static void
fill(struct fixture *f)
{
	fixture_sql(f, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) "
				   "INSERT INTO blobs (sha256, size, data) SELECT printf('%064d', i), 500, zeroblob(500) FROM n");
	fixture_sql(f, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) "
				   "INSERT INTO events (at, kind, scope, closed) SELECT 1, 'test.kind', 'p', 0 FROM n");
}

static int
read_all(struct db *db, void *arg, struct kettle_error *err)
{
	(void)arg;
	AUTO_JSON json_t *rows = NULL;
	int code = db_array(db, &rows, err, "SELECT * FROM blobs", NULL);
	json_decref(STEAL(rows));
	return code < 0 ? code : db_array(db, &rows, err, "SELECT * FROM events ORDER BY kind, seq", NULL);
}

/* A damaged file is refused, or works, or says in an operation that it is damaged; nothing else. */
static void
test_damaged(void **state)
{
	(void)state;
	struct fixture f;
	fixture_open(&f);
	fill(&f);
	fixture_stop(&f);
	char *good = NULL;
	size_t size = 0, refusals = 0, step = everything_runs() ? 1 : 5;
	assert_int_equal(file_read(f.path, 64u << 20, &good, &size, NULL), 0);
	AUTO_FREE char *bad = malloc(size);
	for (size_t at = 0; at < size; at += step * (at < 110 ? 1 : 1021)) {
		memcpy(bad, good, size);
		for (size_t i = at; i < at + 16 && i < size; i++)
			bad[i] = (char)(bad[i] ^ 0xa5);
		assert_int_equal(file_write(f.path, bad, size, 0600, NULL), 0);
		struct kettle_error err = {0};
		if (fixture_store(&f, &err) < 0) {
			refusals++;
			assert_says(&err, f.path);
			assert_null(strchr(err.message, '\n'));
			continue;
		}
		if (fixture_read(&f, read_all, NULL, &err) < 0)
			assert_true(err.code == KETTLE_EIO || err.code == KETTLE_EINTERNAL);
		(void)fixture_write(&f, insert, "a", &err);
		fixture_stop(&f);
	}
	assert_true(refusals > 50 / step);
	assert_int_equal(file_write(f.path, good, size / 2, 0600, NULL), 0);
	refused(&f, KETTLE_EIO, "damaged");
	free(good);
	fixture_close(&f);
}

/* Runs fn in a child as an ordinary user; its exit status must be 0. */
static void
as_nobody(struct fixture *f, void (*fn)(struct fixture *f))
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
			_exit(9);
		fn(f);
		_exit(0);
	}
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void
expect_read_only(struct fixture *f)
{
	struct kettle_error err = {0};
	if (fixture_store(f, &err) != KETTLE_EIO || !strstr(err.message, "cannot be written"))
		_exit(1);
}

static void
test_read_only(void **state)
{
	(void)state;
	struct fixture f;
	fixture_open(&f);
	fixture_stop(&f);
	assert_int_equal(chmod(f.dir, 0777), 0);
	assert_int_equal(chmod(f.path, 0444), 0);
	as_nobody(&f, expect_read_only);
	assert_int_equal(chmod(f.path, 0666), 0);
	assert_int_equal(chmod(f.dir, 0555), 0);
	as_nobody(&f, expect_read_only);
	assert_int_equal(unlink(f.path) == 0 || errno == EACCES, 1);
	as_nobody(&f, expect_read_only);
	assert_int_equal(chmod(f.dir, 0755), 0);
	fixture_close(&f);
}

static int
insert_small(struct db *db, void *arg, struct kettle_error *err)
{
	(void)arg;
	return db_exec(
		db, err, "INSERT INTO blobs (sha256, size, data) VALUES (lower(hex(randomblob(32))), 1, zeroblob(1))", NULL);
}

static void
expect_moved(struct fixture *f)
{
	struct kettle_error err = {0};
	assert_int_equal(fixture_write(f, insert_small, NULL, &err), KETTLE_EIO);
	assert_says(&err, "was moved, replaced or removed while it is in use: nothing was stored");
}

/* What is written to a file without its name would be accepted and lost. */
static void
test_moved(void **state)
{
	(void)state;
	struct fixture f;
	fixture_open(&f);
	AUTO_FREE char *away = path_join(f.dir, "away");
	assert_int_equal(fixture_write(&f, insert_small, NULL, NULL), 0);
	int64_t before = fixture_int(&f, "SELECT count(*) FROM blobs");
	assert_int_equal(rename(f.path, away), 0);
	expect_moved(&f);
	assert_int_equal(file_write(f.path, "another", 7, 0600, NULL), 0);
	expect_moved(&f);
	assert_int_equal(unlink(f.path), 0);
	assert_int_equal(rename(away, f.path), 0);
	assert_int_equal(fixture_write(&f, insert_small, NULL, NULL), 0);
	assert_int_equal(fixture_int(&f, "SELECT count(*) FROM blobs"), before + 1);
	fixture_close(&f);
}

static int
insert_big(struct db *db, void *arg, struct kettle_error *err)
{
	(void)arg;
	return db_exec(db, err,
		"INSERT INTO blobs (sha256, size, data) VALUES (lower(hex(randomblob(32))), 3000000, zeroblob(3000000))", NULL);
}

/* More than the disk has. Less may fit once what is stored has moved from the log into the database. */
static int
insert_too_big(struct db *db, void *arg, struct kettle_error *err)
{
	(void)arg;
	return db_exec(db, err,
		"INSERT INTO blobs (sha256, size, data) VALUES (lower(hex(randomblob(32))), 16000000, zeroblob(16000000))",
		NULL);
}

static void
expect_full(struct fixture *f)
{
	struct kettle_error err = {0};
	int code = fixture_write(f, insert_big, NULL, &err);
	assert_true(code == 0 && store_wrote_ns(f->store) > 0);
	for (int i = 0; i < 20 && code == 0; i++)
		code = fixture_write(f, insert_big, NULL, &err);
	assert_int_equal(code, KETTLE_EIO);
	assert_true(store_wrote_ns(f->store) == 0);
	assert_says(&err, "full");
	/* Each of a batch hears of it: what was done before is undone with it. */
	answers = (struct answers){.f = f};
	hold_writer(f);
	store_write(f->store, event, answered, "test.kind");
	store_write(f->store, insert_too_big, answered, NULL);
	uv_sem_post(&let_go);
	while (answers.count < 2)
		uv_run(&f->loop, UV_RUN_ONCE);
	assert_true(answers.failed == 2);
	assert_true(fixture_int(f, "SELECT count(*) FROM blobs") > 0);
}

static int
limit_pages(struct db *db, void *arg, struct kettle_error *err)
{
	(void)arg;
	int64_t pages = 0;
	return db_int(db, &pages, err, "PRAGMA max_page_count = 3000", NULL);
}

static int
lift_limit(struct db *db, void *arg, struct kettle_error *err)
{
	(void)arg;
	int64_t pages = 0;
	return db_int(db, &pages, err, "PRAGMA max_page_count = 1073741823", NULL);
}

static void
test_full_by_pages(void **state)
{
	(void)state;
	struct fixture f;
	fixture_open(&f);
	assert_int_equal(fixture_write(&f, limit_pages, NULL, NULL), 0);
	expect_full(&f);
	assert_int_equal(fixture_write(&f, lift_limit, NULL, NULL), 0);
	assert_int_equal(fixture_write(&f, insert_big, NULL, NULL), 0);
	fixture_close(&f);
}

static void
test_full_by_file_size(void **state)
{
	(void)state;
	struct fixture f;
	fixture_open(&f);
	struct rlimit old, limit;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = (struct rlimit){.rlim_cur = 12u << 20, .rlim_max = old.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	expect_full(&f);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(fixture_write(&f, insert_big, NULL, NULL), 0);
	fixture_close(&f);
}

static void
test_full_disk(void **state)
{
	(void)state;
	struct fixture f;
	fixture_folder(&f);
	/* In a mount namespace of its own: tests beside this one look for mounts that are left. */
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("tmpfs", f.dir, "tmpfs", 0, "size=12m") != 0) {
		print_message("# only root can mount a small disk; the other two tests of a full one have run\n");
		fixture_close(&f);
		return;
	}
	struct kettle_error err = {0};
	assert_int_equal(fixture_store(&f, &err), 0);
	expect_full(&f);
	fixture_stop(&f);
	assert_int_equal(umount(f.dir), 0);
	/* No room even to begin: a refusal, and nothing left. */
	assert_int_equal(mount("tmpfs", f.dir, "tmpfs", 0, "size=16k"), 0);
	refused(&f, KETTLE_EIO, "full");
	assert_int_equal(access(f.path, F_OK), -1);
	assert_int_equal(umount(f.dir), 0);
	fixture_close(&f);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_new),
	cmocka_unit_test(test_folder_is_made),
	cmocka_unit_test(test_grouped_commit),
	cmocka_unit_test(test_later),
	cmocka_unit_test(test_failure_stays_alone),
	cmocka_unit_test(test_order),
	cmocka_unit_test(test_reader_cannot_write),
	cmocka_unit_test(test_close_drains),
	cmocka_unit_test(test_network_file_systems),
	cmocka_unit_test(test_no_database),
	cmocka_unit_test(test_other_program),
	cmocka_unit_test(test_newer),
	cmocka_unit_test(test_locked),
	cmocka_unit_test(test_damaged),
	cmocka_unit_test(test_read_only),
	cmocka_unit_test(test_moved),
	cmocka_unit_test(test_full_by_pages),
	cmocka_unit_test(test_full_by_file_size),
	cmocka_unit_test(test_full_disk),
};

UNIT_TESTS(test_store, .words = "waiting tsan");
