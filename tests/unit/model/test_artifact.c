/* SPDX-License-Identifier: MIT */
/* Files that jobs left: taken over, read in parts, told from what nothing speaks of. */
#include <config.h>

#include "unit/command_fixture.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "lib/unit_test.h"
#include "model/artifact.h"
#include "model/download_urls.h"
#include "model/jobs.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGE 700000 /* bytes: more than one part */

COMMANDS_FIXTURE_SET_UP_BY_FILE
static char spool[120];

static int
setup(void **state)
{
	(void)state;
	commands_open(&c);
	commands_board(&c, "arena", NULL);
	(void)snprintf(spool, sizeof(spool), "%s.spool", c.f.path);
	c.env.spool = spool;
	return 0;
}

/* A file of an attempt, and what its runner says of it; *name may hold folders. */
static json_t *
leave(const char *attempt, const char *name, size_t size)
{
	struct kettle_error err = {0};
	char hash[65];
	AUTO_FREE char *data = malloc(size + 1), *path = NULL;
	memset(data, 'x', size);
	assert_true(asprintf(&path, "%s/%s.run/step/%s", spool, attempt, name) > 0);
	AUTO_FREE char *folder = strndup(path, (size_t)(strrchr(path, '/') - path));
	assert_int_equal(file_mkdirs(folder, 0700, &err), 0);
	assert_int_equal(file_write(path, data, size, 0600, &err), 0);
	sha256_hex(data, size, hash);
	return json_pack("{s:s, s:s, s:I, s:s}", "step", "step", "name", name, "size", (json_int_t)size, "sha256", hash);
}

static bool
is_there(const char *below)
{
	struct stat status;
	AUTO_FREE char *path = path_join(spool, below);
	return stat(path, &status) == 0;
}

static void
test_take(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	AUTO_JSON json_t *list = json_pack("[o, o, o]", leave("1.1", "small", 10), leave("1.1", "folder/large", LARGE),
		leave("1.1", "folder/too-large", LARGE));
	json_decref(leave("1.1", "secret", 10));
	assert_int_equal(artifact_take(spool, "1.1", LARGE + 10, list, &err), KETTLE_ETOOBIG);
	assert_says(&err, "folder/too-large");
	assert_string_equal(commands_text(list, "0.contents.text"), "xxxxxxxxxx");
	assert_string_equal(commands_text(list, "1.path"), "1.1/1");
	assert_null(commands_at(list, "2.path"));
	assert_true(is_there("1.1/1"));
	assert_false(is_there("1.1/2"));
	/* What no verdict names is gone, as the files of secret runs. */
	assert_false(is_there("1.1.run"));
}

static void
test_lies(void **state)
{
	(void)state;
	static const struct {
		const char *key, *value, *says;
	} lies[] = {
		{"name", "absent", "not there"},
		{"name", "../../../kettle.db", ".."},
		{"step", "..", ".."},
		{"sha256", "0000", "not what its runner reported"},
		{"name", "folder", "not what its runner reported"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		struct kettle_error err = {0};
		AUTO_JSON json_t *list = json_pack("[o, o]", leave("1.1", "small", 10), leave("1.1", "other", 10));
		json_decref(leave("1.1", "folder/file", 1));
		json_object_set_new(json_array_get(list, 0), lies[i].key, json_string(lies[i].value));
		assert_true(artifact_take(spool, "1.1", LARGE, list, &err) < 0);
		assert_says(&err, lies[i].says);
		assert_null(commands_at(list, "0.contents"));
		assert_non_null(commands_at(list, "1.contents"));
		assert_false(is_there("1.1.run"));
	}
}

static int
start_op(struct db *db, void *arg, struct kettle_error *err)
{
	int64_t attempt = 0;
	return jobs_start(db, *(int64_t *)arg, &(struct job_unit){"CPU.0", "CPU", "local"}, &attempt, err);
}

struct finish {
	int64_t job;
	json_t *verdict;
};

static int
finish_op(struct db *db, void *arg, struct kettle_error *err)
{
	const struct finish *finish = arg;
	return commands_jobs_finish(db, finish->job, 1, finish->verdict, err);
}

/* A submission with a small and a large file, and one that was not kept. */
static int64_t
submission(const char *who)
{
	struct kettle_error err = {0};
	char attempt[30];
	int64_t id = commands_submit(&c, who, "arena", "test"), job = fixture_int(&c.f, "SELECT max(id) FROM jobs");
	(void)snprintf(attempt, sizeof(attempt), "%lld.1", (long long)job);
	assert_int_equal(fixture_write(&c.f, start_op, &job, &err), 0);
	AUTO_JSON json_t *list =
		json_pack("[o, o, o]", leave(attempt, "small", 10), leave(attempt, "large", LARGE), leave(attempt, "lost", 9));
	assert_true(artifact_take(spool, attempt, LARGE + 10, list, &err) < 0);
	AUTO_JSON json_t *verdict = json_pack("{s:s, s:O}", "state", "passed", "artifacts", list);
	struct finish finish = {job, verdict};
	assert_int_equal(fixture_write(&c.f, finish_op, &finish, &err), 0);
	return id;
}

#define ID(id) json_pack("{s:I}", "id", (json_int_t)(id))
#define PART(id, at) json_pack("{s:I, s:I}", "artifact", (json_int_t)(id), "offset", (json_int_t)(at))

static void
test_commands(void **state)
{
	(void)state;
	int64_t id = submission("alice");
	const json_t *list = commands_must(&c, "alice", "submission.download", ID(id));
	assert_int_equal(json_array_size(list), 3);
	assert_string_equal(commands_text(list, "0.name"), "small");
	assert_true(json_is_null(commands_at(list, "1.expired")));
	assert_true(json_is_string(commands_at(list, "2.expired")));
	AUTO_FREE char *told = json_dumps(list, 0);
	assert_null(strstr(told, spool));
	int64_t small = commands_number(list, "0.artifact"), large = small + 1, lost = small + 2;
	commands_must(&c, "alice", "submission.artifact", PART(small, 0));
	assert_string_equal(commands_text(c.result, "base64"), "eHh4eHh4eHh4eA==");
	commands_must(&c, "alice", "submission.artifact", PART(small, 10));
	assert_string_equal(commands_text(c.result, "base64"), "");
	AUTO_BUF struct buf all = {0};
	do {
		AUTO_FREE void *data = NULL;
		size_t size = 0;
		commands_must(&c, "owner", "submission.artifact", PART(large, all.len));
		const char *base64 = commands_text(c.result, "base64");
		assert_int_equal(base64_decode(base64, strlen(base64), &data, &size), 0);
		assert_true(size > 0 && size <= ARTIFACT_CHUNK_MAX);
		buf_add(&all, data, size);
	} while (all.len < LARGE);
	char hash[65];
	sha256_hex(all.data, all.len, hash);
	assert_string_equal(hash, commands_text(c.result, "sha256"));
	commands_refused(&c, "alice", "submission.artifact", PART(lost, 0), KETTLE_ENOENT);
	commands_refused(&c, "alice", "submission.artifact", PART(99, 0), KETTLE_ENOENT);
	commands_refused(&c, "bob", "submission.artifact", PART(small, 0), KETTLE_EACCES);
	commands_refused(&c, "bob", "submission.download", ID(id), KETTLE_EACCES);
	commands_refused(&c, "alice", "submission.download", ID(99), KETTLE_ENOENT);
	assert_int_equal(file_remove_tree(spool, NULL), 0);
	commands_refused(&c, "alice", "submission.artifact", PART(large, 0), KETTLE_ENOENT);
}

#define OPEN(id) json_pack("{s:I}", "artifact", (json_int_t)(id))

/* The file that was opened has this size, and is the caller's alone to remove. */
static void
assert_lent(size_t size)
{
	struct stat status;
	const char *path = commands_text(c.result, "path");
	assert_int_equal(strncmp(path, c.env.links, strlen(c.env.links)), 0);
	assert_int_equal(lstat(path, &status), 0);
	assert_true(S_ISREG(status.st_mode));
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_equal(status.st_size, size);
	assert_int_equal(unlink(path), 0);
}

/* A whole file at once, for those who may download it, as often as they want. */
static void
test_open(void **state)
{
	(void)state;
	AUTO_FREE char *links = download_url_folder(c.f.path);
	c.env.links = links;
	int64_t id = submission("alice");
	const json_t *list = commands_must(&c, "alice", "submission.download", ID(id));
	int64_t small = commands_number(list, "0.artifact"), large = small + 1, lost = small + 2;
	for (int i = 0; i < 2; i++) {
		commands_must(&c, "alice", "artifact.open", OPEN(small));
		assert_lent(10);
		commands_must(&c, "owner", "artifact.open", OPEN(large));
		assert_string_equal(commands_text(c.result, "name"), "large");
		assert_lent(LARGE);
		assert_true(is_there("1.1/1"));
	}
	/* What is not removed goes an hour later, and the artifact stays. */
	commands_must(&c, "alice", "artifact.open", OPEN(large));
	AUTO_FREE char *left = strdup(commands_text(c.result, "path"));
	int64_t now = clock_utc_ms(&c.f.clock);
	download_url_sweep(links, now);
	assert_int_equal(access(left, F_OK), 0);
	download_url_sweep(links, now + DOWNLOAD_URL_SENDING_MS + 2000);
	assert_int_not_equal(access(left, F_OK), 0);
	assert_true(is_there("1.1/1"));
	commands_refused(&c, "alice", "artifact.open", OPEN(lost), KETTLE_ENOENT);
	commands_refused(&c, "alice", "artifact.open", OPEN(99), KETTLE_ENOENT);
	commands_refused(&c, "bob", "artifact.open", OPEN(small), KETTLE_EACCES);
	assert_int_equal(file_remove_tree(spool, NULL), 0);
	commands_refused(&c, "alice", "artifact.open", OPEN(large), KETTLE_ENOENT);
}

struct asking {
	json_t *names, *unknown;
};

static int
unknown_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct asking *asking = arg;
	return artifact_unknown(db, asking->names, &asking->unknown, err);
}

/* How many folders of the spool nothing speaks of; they are removed. */
static size_t
sweep(void)
{
	struct kettle_error err = {0};
	struct asking asking = {0};
	assert_int_equal(artifact_folders(spool, &asking.names, &err), 0);
	assert_int_equal(fixture_read(&c.f, unknown_op, &asking, &err), 0);
	size_t count = json_array_size(asking.unknown);
	(void)artifact_remove(spool, asking.unknown);
	json_decref(asking.names);
	json_decref(asking.unknown);
	return count;
}

static void
test_sweep(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	assert_int_equal(sweep(), 0);
	int64_t id = submission("alice"), blobs = fixture_int(&c.f, "SELECT count(*) FROM blobs");
	/* A second job runs: what it leaves, and what was just taken over. */
	commands_submit(&c, "bob", "arena", "test");
	int64_t job = fixture_int(&c.f, "SELECT max(id) FROM jobs");
	assert_int_equal(fixture_write(&c.f, start_op, &job, &err), 0);
	static const char *const folders[] = {
		"2.1", "2.1.run", "2.2", "1.1.run", "1.1.run.part", "2.1.run.part", "1.0", "7.1", "other", "2.1.old", ".1"};
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		AUTO_FREE char *path = path_join(spool, folders[i]);
		assert_int_equal(file_mkdirs(path, 0700, &err), 0);
	}
	/* An attempt before the one that left an artifact goes, too. */
	assert_int_equal(sweep(), 5);
	static const char *const left[] = {"1.1/1", "2.1", "2.1.run", "2.1.run.part", "other", "2.1.old", ".1"};
	for (size_t i = 0; i < ARRAY_SIZE(left); i++)
		if (!is_there(left[i]))
			fail_msg("%s is gone", left[i]);
	commands_must(&c, "alice", "submission.delete", ID(id));
	assert_int_equal(sweep(), 1);
	assert_false(is_there("1.1"));
	assert_int_equal(fixture_int(&c.f, "SELECT count(*) FROM blobs"), blobs - 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
	TEST(test_take),
	TEST(test_lies),
	TEST(test_commands),
	TEST(test_open),
	TEST(test_sweep),
};

UNIT_TESTS(test_artifact);
