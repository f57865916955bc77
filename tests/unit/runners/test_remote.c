/* SPDX-License-Identifier: MIT */
/* Jobs on a remote side (runners/common/remote.h) between the fake host and a remote side that the tests play. */
#include <config.h>

#include <kettle/testing.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "lib/fake_jobs.h"
#include "lib/unit_test.h"
#include "runners/common/remote.h"
#include "sealed/result_package.h"
#include "unit/scratch.h"

#define PATIENCE_MS 120000
#define NOW INT64_C(1790000000000)
#define KEY "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
#define NAME "kettle-1f0c9a3e-12.1"
#define LARGE (8u << 20)
#define LEAST_HELD (256u << 10) /* bytes that any result may need at once */
#define HASH "00000000000000000000000000000000000000000000000000000000000000aa"

static char *dir, *spool;
static struct kettle_fake *fake;
static const struct kettle_host *host;
static struct remote remote;
static struct kettle_error err;
static int sends, finds, cancels, releases, stops;
static struct remote_job *current;

/* ---- how much is held ---- */

static atomic_size_t most_allocated; /* bytes of the largest allocation, on any thread */

void *__real_xmalloc(size_t size);
void *__wrap_xmalloc(size_t size);
void *__real_xcalloc(size_t count, size_t size);
void *__wrap_xcalloc(size_t count, size_t size);
void *__real_xreallocarray(void *pointer, size_t count, size_t size);
void *__wrap_xreallocarray(void *pointer, size_t count, size_t size);

static void
note_allocation(size_t size)
{
	size_t most = atomic_load(&most_allocated);
	while (size > most && !atomic_compare_exchange_weak(&most_allocated, &most, size))
		;
}

void *
__wrap_xmalloc(size_t size)
{
	note_allocation(size);
	return __real_xmalloc(size);
}

void *
__wrap_xcalloc(size_t count, size_t size)
{
	note_allocation(count * size);
	return __real_xcalloc(count, size);
}

void *
__wrap_xreallocarray(void *pointer, size_t count, size_t size)
{
	note_allocation(count * size);
	return __real_xreallocarray(pointer, count, size);
}

/* ---- the remote side: remembers what it was given ---- */

static bool
on_begin(struct remote_job *job)
{
	(void)job;
	return false;
}

static void
on_send(struct remote_job *job)
{
	sends++;
	current = job;
}

static void
on_find(struct remote_job *job)
{
	finds++;
	current = job;
}

static void
on_ask(struct remote_job *job)
{
	current = job;
}

static void
on_cancel(struct remote_job *job)
{
	cancels++;
	current = job;
}

static void
on_release(struct remote_job *job)
{
	(void)job;
	releases++;
	current = NULL;
}

static const struct remote_ops ops = {
	.begin = on_begin, .send = on_send, .find = on_find, .ask = on_ask, .cancel = on_cancel, .release = on_release};

static void
configure(void)
{
	AUTO_JSON json_t *section = json_pack("{s:s}", "key", KEY);
	assert_int_equal(remote_configure(&remote, section, &err), 0);
	(void)remote_start(&remote, &err);
}

static int
setup(void **state)
{
	(void)state;
	dir = scratch_make();
	spool = path_join(dir, "spool");
	err = (struct kettle_error){0};
	sends = finds = cancels = releases = stops = 0;
	current = NULL;
	if (!dir || kettle_fake_new("far", &fake, &err) != 0)
		return -1;
	kettle_fake_simulate(fake, NOW);
	host = kettle_fake_host(fake);
	remote_init(&remote, host, &ops, "Faraway", NULL);
	return 0;
}

static void
on_stopped(void *arg)
{
	(void)arg;
	stops++;
}

static int
is_at_least(void *arg)
{
	const int *const *pair = arg;
	return *pair[0] >= *pair[1];
}

static void
wait_for(const int *counter, int wanted)
{
	const int *pair[] = {counter, &wanted};
	assert_int_equal(kettle_fake_run(fake, is_at_least, pair, PATIENCE_MS), 0);
}

/* The loop must close with nothing left. */
static int
teardown(void **state)
{
	(void)state;
	remote_stop(&remote, on_stopped, NULL);
	wait_for(&stops, 1);
	assert_null(remote.jobs);
	remote_close(&remote);
	if (kettle_fake_free(fake, &err) != 0)
		fail_msg("%s", err.message);
	scratch_remove(dir);
	free(spool);
	return 0;
}

static size_t
completions(void)
{
	return json_array_size(job_reports(fake, "12.1", "completions"));
}

static const char *
last_event(void)
{
	const json_t *events = job_reports(fake, "12.1", "events");
	return json_text_or_empty(json_array_get(events, json_array_size(events) - 1), "event");
}

static struct kettle_job
describe(const json_t *unit)
{
	return (struct kettle_job){.size = sizeof(struct kettle_job),
		.ref = "12.1",
		.device = "FAR",
		.unit = unit,
		.deadline_ms = 1000,
		.spool = spool,
		.name = NAME,
		.plan_hash = HASH};
}

static int
submit(void)
{
	AUTO_JSON json_t *unit = json_pack("{s:s, s:s}", "name", "FAR", "runner", "far");
	AUTO_JSON json_t *plan = json_pack("{s:i, s:s}", "version", 1, "seed", "31337");
	const struct kettle_job job = describe(unit);
	return remote_submit(&remote, &job, plan, &err);
}

static int
recover(const char *handle)
{
	AUTO_JSON json_t *unit = json_pack("{s:s}", "name", "FAR");
	const struct kettle_job job = describe(unit);
	return remote_recover(&remote, &job, handle, &err);
}

/* Submits and waits until the remote side has it. */
static void
send_job(void)
{
	configure();
	assert_int_equal(submit(), 0);
	wait_for(&sends, 1);
	remote_accepted(current);
}

/* A result sealed for this job, plan and run, with its files in a folder. */
static char *
seal_done(const char *job, const char *hash, const char *run, const json_t *done, const char *folder, size_t *ret_size)
{
	unsigned char key[SEALED_KEY_SIZE], attempt[SEALED_KEY_SIZE];
	const struct sealed_scope scope = {job, hash};
	AUTO_FREE char *packed = NULL;
	char *sealed = NULL;
	size_t size;
	assert_int_equal(result_package_write(done, folder, run, 2 * LARGE, &packed, &size, &err), 0);
	assert_int_equal(sealed_key_parse(KEY, key, &err), 0);
	sealed_key_derive(key, job, attempt);
	assert_int_equal(sealed_seal(attempt, SEALED_RESULT, &scope, packed, size, &sealed, ret_size, &err), 0);
	return sealed;
}

/* One with one file of this text, if any. */
static char *
seal_text(const char *job, const char *hash, const char *run, const char *text, size_t *ret_size)
{
	AUTO_FREE char *step = path_join(dir, "there"), *inside = path_join(step, "step");
	AUTO_JSON json_t *done = json_pack("{s:s, s:s, s:[]}", "event", "done", "status", "done", "outcomes");
	if (text) {
		char sha256[65];
		sha256_hex(text, strlen(text), sha256);
		assert_int_equal(file_mkdirs(inside, 0700, &err), 0);
		AUTO_FREE char *path = scratch_write(inside, "trace", text);
		json_array_append_new(
			json_object_get(done, "outcomes"), json_pack("{s:s, s:[{s:s, s:i, s:s}]}", "step", "step", "artifacts",
												   "name", "trace", "size", (int)strlen(text), "sha256", sha256));
	}
	return seal_done(job, hash, run, done, step, ret_size);
}

static char *
seal_result(const char *job, const char *hash, const char *run, bool file, size_t *ret_size)
{
	return seal_text(job, hash, run, file ? "spans" : NULL, ret_size);
}

/* The remote side has this result. */
static void
give(struct remote_job *job, char *data_take, size_t size)
{
	int fd = memfd_create("result", MFD_CLOEXEC);
	assert_true(fd >= 0 && write(fd, data_take, size) == (ssize_t)size);
	free(data_take);
	remote_result(job, fd, NULL);
}

/* ---- tests ---- */

static void
test_a_job_goes_and_comes_back(void **state)
{
	(void)state;
	configure();
	assert_int_equal(submit(), 0);
	assert_string_equal(last_event(), "waiting");
	assert_int_equal(sends, 0); /* never before submit returns */
	wait_for(&sends, 1);
	AUTO_JSON json_t *handle = json_loads(json_string_value(job_reports(fake, "12.1", "handle")), 0, NULL);
	assert_true(member_is(handle, "name", NAME) && member_int(handle, "at") == NOW && json_object_size(handle) == 2);
	assert_null(memmem(current->envelope, current->envelope_size, "31337", 5));
	char *content;
	size_t size;
	const struct sealed_scope scope = {NAME, HASH};
	assert_int_equal(sealed_open(current->key, SEALED_PLAN, &scope, current->envelope, current->envelope_size, 1 << 20,
						 &content, &size, &err),
		0);
	AUTO_JSON json_t *plan = json_loads(content, 0, NULL);
	free(content);
	assert_string_equal(json_text_or_empty(json_object_get(plan, "plan"), "seed"), "31337");
	assert_string_equal(json_text_or_empty(json_object_get(plan, "unit"), "name"), "FAR");
	remote_accepted(current);
	assert_null(current->envelope);
	remote_running(current);
	assert_string_equal(last_event(), "started");
	AUTO_JSON json_t *step =
		json_pack("{s:s, s:s, s:s, s:s}", "event", "step", "step", "build", "state", "building", "x", "y");
	remote_progress(current, step);
	assert_string_equal(last_event(), "step");
	current->run = xstrdup("7");
	char *data = seal_result(NAME, HASH, "7", true, &size);
	give(current, data, size);
	(void)job_ends(fake, "12.1", "done");
	assert_int_equal(releases, 1);
	AUTO_FREE char *path = path_join(spool, "step/trace"), *text = NULL;
	assert_int_equal(file_read(path, 100, &text, &size, &err), 0);
	assert_string_equal(text, "spans");
}

static void
assert_void(const char *part)
{
	(void)job_ends(fake, "12.1", "lost");
	if (!strstr(json_text_or_empty(job_completion(fake, "12.1"), "error"), part))
		fail_msg("%s", json_text_or_empty(job_completion(fake, "12.1"), "error"));
}

static void
answer(const char *job, const char *hash, const char *run)
{
	size_t size;
	send_job();
	current->run = xstrdup("7");
	char *data = seal_result(job, hash, run, false, &size);
	give(current, data, size);
}

static void
test_result_of_another_attempt(void **state)
{
	(void)state;
	answer("kettle-1f0c9a3e-12.2", HASH, "7");
	assert_void("void");
}

static void
test_result_of_another_plan(void **state)
{
	(void)state;
	answer(NAME, "00000000000000000000000000000000000000000000000000000000000000ab", "7");
	assert_void("void");
}

static void
test_result_of_another_run(void **state)
{
	(void)state;
	answer(NAME, HASH, "6");
	assert_void("it is that of run 6, not of run 7");
}

static void
test_result_that_is_none(void **state)
{
	(void)state;
	send_job();
	give(current, xstrdup("<html>"), 6);
	assert_void("void");
	assert_true(member_is(job_completion(fake, "12.1"), "loss", "failed"));
}

static void
test_result_in_a_file(void **state)
{
	(void)state;
	size_t size;
	send_job();
	AUTO_FREE char *data = seal_result(NAME, HASH, NULL, true, &size), *text = sealed_to_text(data, size),
				   *path = scratch_write(dir, "result", text);
	remote_result(current, -1, path);
	remote_result(current, -1, path); /* what comes twice counts once */
	(void)job_ends(fake, "12.1", "done");
}

/* Of a result that is not proven to the end nothing is kept, wherever it is wrong. */
static void
test_result_is_proven_first(void **state)
{
	(void)state;
	size_t size;
	send_job();
	char *data = seal_result(NAME, HASH, NULL, true, &size);
	data[size - 1] ^= 1;
	give(current, data, size);
	assert_void("void");
	AUTO_FREE char *stage = xasprintf("%s" RESULT_PACKAGE_STAGE, spool);
	assert_int_not_equal(access(spool, F_OK), 0);
	assert_int_not_equal(access(stage, F_OK), 0);
}

/* However large it is, no part of it that is larger than a few pieces is in memory. */
static void
test_result_is_a_stream(void **state)
{
	(void)state;
	size_t size, len;
	AUTO_FREE char *noise = xcalloc(LARGE + 1, 1);
	for (size_t i = 0; i < LARGE; i += 8) {
		char digits[9];
		(void)snprintf(digits, sizeof(digits), "%08zx", i * 2654435761u & 0xffffffff);
		memcpy(noise + i, digits, 8);
	}
	send_job();
	AUTO_FREE char *data = seal_text(NAME, HASH, NULL, noise, &size), *text = sealed_to_text(data, size),
				   *path = scratch_write(dir, "result", text), *kept = path_join(spool, "step/trace"), *found = NULL;
	assert_true(size > 4 * LEAST_HELD);
	atomic_store(&most_allocated, 0);
	remote_result(current, -1, path);
	(void)job_ends(fake, "12.1", "done");
	const size_t most = atomic_load(&most_allocated);
	assert_in_range(most, 1, LEAST_HELD);
	assert_int_equal(file_read(kept, LARGE, &found, &len, &err), 0);
	assert_true(len == LARGE && memcmp(found, noise, len) == 0);
}

/* More than any result may have is refused by its size: of this file there is not even room in memory. */
static void
test_result_that_is_too_large(void **state)
{
	(void)state;
	size_t size;
	send_job();
	AUTO_FREE char *data = seal_result(NAME, HASH, NULL, true, &size), *path = path_join(dir, "result");
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
	remote_result(current, fd, NULL);
	assert_void("exceeds");
}

/* A report of more values than are read is what the machine sealed: it ends its job, and another attempt says no less. */
static void
test_report_that_is_too_large(void **state)
{
	(void)state;
	size_t size;
	send_job();
	AUTO_JSON json_t *done = json_pack("{s:s, s:s, s:[], s:[]}", "event", "done", "status", "done", "outcomes", "x");
	for (int i = 0; i < BOUNDED_JSON_RESULT; i++)
		json_array_append_new(json_object_get(done, "x"), json_null());
	char *data = seal_done(NAME, HASH, NULL, done, dir, &size);
	give(current, data, size);
	assert_void("values");
	assert_true(member_is(job_completion(fake, "12.1"), "loss", "final"));
}

static int
is_away(void *arg)
{
	(void)arg;
	return current->phase == REMOTE_SUBMITTED;
}

/* A file that cannot be read for a moment is read once more. */
static void
test_result_file_away(void **state)
{
	(void)state;
	size_t size;
	send_job();
	AUTO_FREE char *data = seal_result(NAME, HASH, NULL, false, &size), *text = sealed_to_text(data, size),
				   *path = path_join(dir, "result");
	remote_result(current, -1, path);
	assert_int_equal(kettle_fake_run(fake, is_away, NULL, PATIENCE_MS), 0);
	free(scratch_write(dir, "result", text));
	remote_result(current, -1, path);
	(void)job_ends(fake, "12.1", "done");
}

static void
test_lost(void **state)
{
	(void)state;
	send_job();
	remote_lost(current, KETTLE_LOSS_NOT_STARTED, "It never began: %s", "\xff?");
	(void)job_ends(fake, "12.1", "lost");
	assert_true(member_is(job_completion(fake, "12.1"), "loss", "unstarted"));
	assert_null(remote_find(&remote, "12.1"));
}

static void
test_losses_without_another_attempt(void **state)
{
	(void)state;
	send_job();
	remote_lost(current, KETTLE_LOSS_PERMANENT, "It is too large.");
	assert_true(member_is(job_completion(fake, "12.1"), "loss", "final"));
}

static void
test_cancel_while_it_is_packed(void **state)
{
	(void)state;
	configure();
	assert_int_equal(submit(), 0);
	remote_cancel(&remote, "12.1");
	(void)job_ends(fake, "12.1", "cancelled");
	assert_int_equal(sends, 0);
	assert_int_equal(cancels, 0);
}

static void
test_cancel_while_it_is_away(void **state)
{
	(void)state;
	send_job();
	remote_cancel(&remote, "12.1");
	remote_cancel(&remote, "12.1");
	assert_int_equal(cancels, 1);
	assert_int_equal(completions(), 0);
	remote_cancelled(current);
	(void)job_ends(fake, "12.1", "cancelled");
}

static void
test_cancel_that_comes_too_late(void **state)
{
	(void)state;
	size_t size;
	send_job();
	char *data = seal_result(NAME, HASH, NULL, false, &size);
	give(current, data, size);
	remote_cancel(&remote, "12.1");
	assert_int_equal(cancels, 0);
	(void)job_ends(fake, "12.1", "cancelled");
}

static void
test_detach_and_recover(void **state)
{
	(void)state;
	size_t size;
	send_job();
	json_object_set_new(current->handle, "id", json_integer(9));
	remote_store(current);
	remote_detach(&remote, "12.1");
	assert_int_equal(releases, 1);
	assert_null(remote_find(&remote, "12.1"));
	/* What a killed engine had begun to write is in no one's way. */
	AUTO_FREE char *half = path_join(spool, "step");
	assert_int_equal(file_mkdirs(half, 0700, &err), 0);
	AUTO_FREE char *old = scratch_write(half, "trace", "half");
	AUTO_FREE char *handle = xstrdup(json_string_value(job_reports(fake, "12.1", "handle")));
	assert_int_equal(recover(handle), 0);
	wait_for(&finds, 1);
	assert_int_equal(member_int(current->handle, "id"), 9);
	char *data = seal_result(NAME, HASH, NULL, true, &size);
	give(current, data, size);
	(void)job_ends(fake, "12.1", "done");
	AUTO_FREE char *text = NULL;
	assert_int_equal(file_read(old, 100, &text, &size, &err), 0);
	assert_string_equal(text, "spans");
}

static void
test_handles_of_others(void **state)
{
	(void)state;
	configure();
	assert_int_equal(recover("{\"name\": \"kettle-00000000-12.1\"}"), KETTLE_ENOENT);
	assert_int_equal(recover("12345"), KETTLE_ENOENT);
	assert_int_equal(recover("["), KETTLE_ENOENT);
	assert_int_equal(finds, 0);
}

static void
test_no_key(void **state)
{
	(void)state;
	AUTO_JSON json_t *none = json_object(), *wrong = json_pack("{s:s}", "key", "short");
	assert_int_equal(remote_configure(&remote, none, &err), 0);
	(void)remote_start(&remote, &err);
	assert_int_equal(submit(), 0);
	assert_true(member_is(job_completion(fake, "12.1"), "loss", "unusable") &&
				strstr(json_text_or_empty(job_completion(fake, "12.1"), "error"), "key_file"));
	assert_true(sends == 0 && !remote.jobs);
	assert_int_equal(remote_configure(&remote, wrong, &err), KETTLE_EINVAL);
	assert_null(strstr(err.message, "short"));
}

static void
test_stop_with_jobs(void **state)
{
	(void)state;
	int before = stops;
	send_job();
	remote_stop(&remote, on_stopped, NULL);
	assert_int_equal(cancels, 1);
	assert_int_equal(stops, before);
	assert_int_equal(submit(), KETTLE_EUNAVAIL);
	remote_cancelled(current);
	/* The runner may still be in the callback that said so. */
	assert_int_equal(stops, before);
	wait_for(&stops, before + 1);
	stops = 0;
}

/* What its engine does at once when the last one has stopped. */
static void
on_stopped_for_good(void *arg)
{
	remote_close(&remote);
	memset(&remote, 0xff, sizeof(remote));
	on_stopped(arg);
}

/* A remote side that never answers holds nothing up, and what it says afterwards is for no one. */
static void
test_stop_without_an_answer(void **state)
{
	(void)state;
	send_job();
	remote_stop(&remote, on_stopped_for_good, NULL);
	assert_int_equal(cancels, 1);
	kettle_fake_advance(fake, REMOTE_STOP_MS - 1);
	assert_true(stops == 0 && completions() == 0);
	kettle_fake_advance(fake, 1);
	assert_int_equal(stops, 1);
	(void)job_ends(fake, "12.1", "cancelled");
	assert_int_equal(releases, 1);
	stops = 0;
	remote_init(&remote, host, &ops, "Faraway", NULL);
}

static void
test_cancel_without_an_answer(void **state)
{
	(void)state;
	send_job();
	struct remote_job *job = current;
	job->busy++; /* as where an answer is under way */
	remote_cancel(&remote, "12.1");
	kettle_fake_advance(fake, REMOTE_CANCEL_MS - 1);
	assert_int_equal(completions(), 0);
	kettle_fake_advance(fake, 1);
	(void)job_ends(fake, "12.1", "cancelled");
	remote_running(job);
	remote_lost(job, KETTLE_LOSS_NODE_FAULT, "Too late.");
	remote_cancelled(job);
	remote_store(job);
	size_t size;
	char *data = seal_result(NAME, HASH, NULL, true, &size);
	give(job, data, size);
	assert_int_equal(completions(), 1);
	assert_int_not_equal(access(spool, F_OK), 0);
	assert_string_equal(last_event(), "waiting");
	job->busy--;
}

static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	TEST(test_a_job_goes_and_comes_back),
	TEST(test_result_of_another_attempt),
	TEST(test_result_of_another_plan),
	TEST(test_result_of_another_run),
	TEST(test_result_that_is_none),
	TEST(test_result_in_a_file),
	TEST(test_result_is_proven_first),
	TEST(test_result_is_a_stream),
	TEST(test_result_that_is_too_large),
	TEST(test_report_that_is_too_large),
	TEST(test_result_file_away),
	TEST(test_lost),
	TEST(test_losses_without_another_attempt),
	TEST(test_cancel_while_it_is_packed),
	TEST(test_cancel_while_it_is_away),
	TEST(test_cancel_that_comes_too_late),
	TEST(test_detach_and_recover),
	TEST(test_handles_of_others),
	TEST(test_no_key),
	TEST(test_stop_with_jobs),
	TEST(test_stop_without_an_answer),
	TEST(test_cancel_without_an_answer),
};

UNIT_TESTS(test_remote);
