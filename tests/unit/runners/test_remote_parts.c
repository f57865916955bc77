/* SPDX-License-Identifier: MIT */
/* Jobs that build in another place first (runners/common/remote_parts.c), with a remote side that the tests play. */
#include <config.h>

#include <kettle/testing.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/contents.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "lib/fake_jobs.h"
#include "lib/unit_test.h"
#include "runners/common/options.h"
#include "runners/common/remote.h"
#include "sealed/result_package.h"
#include "unit/scratch.h"

#define PATIENCE_MS 120000
#define NOW INT64_C(1790000000000)
#define KEY "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
#define NAME "kettle-1f0c9a3e-12.1"
#define HASH "00000000000000000000000000000000000000000000000000000000000000aa"
#define SEED "31337"

static char *dir, *spool;
static struct kettle_fake *fake;
static struct remote remote;
static struct kettle_error err;
static int sends, releases, stops;
static struct remote_job *current;

static bool
on_begin(struct remote_job *job)
{
	current = job;
	return false;
}

static void
on_send(struct remote_job *job)
{
	(void)job;
	sends++;
}

static void
ignore(struct remote_job *job)
{
	(void)job;
}

static void
on_release(struct remote_job *job)
{
	(void)job;
	releases++;
}

static const struct kettle_option unit_options[] = {
	{.key = "place", .type = KETTLE_OPTION_STRING, .required = true, .help = "Where."},
	INT_OPTION("cores", NULL, 1, 8, "How many."),
	{.key = "labels", .type = KETTLE_OPTION_STRINGS, .help = "Which."},
	BUILD_OPTION,
};

static const struct remote_ops ops = {.begin = on_begin,
	.send = on_send,
	.find = ignore,
	.ask = ignore,
	.cancel = ignore,
	.release = on_release,
	.unit_options = unit_options,
	.unit_options_count = ARRAY_SIZE(unit_options)};

static int
setup(void **state)
{
	(void)state;
	dir = scratch_make();
	spool = path_join(dir, "12.1.run");
	err = (struct kettle_error){0};
	sends = releases = stops = 0;
	current = NULL;
	if (!dir || kettle_fake_new("far", &fake, &err) != 0)
		return -1;
	kettle_fake_simulate(fake, NOW);
	remote_init(&remote, kettle_fake_host(fake), &ops, "Faraway", NULL);
	AUTO_JSON json_t *section = json_pack("{s:s}", "key", KEY);
	assert_int_equal(remote_configure(&remote, section, &err), 0);
	return remote_start(&remote, &err);
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

static int
teardown(void **state)
{
	(void)state;
	remote_stop(&remote, on_stopped, NULL);
	wait_for(&stops, 1);
	remote_close(&remote);
	if (kettle_fake_free(fake, &err) != 0)
		fail_msg("%s", err.message);
	scratch_remove(dir);
	free(spool);
	return 0;
}

static json_t *
make_unit(json_t *build_take)
{
	return json_pack("{s:s, s:s, s:i, s:i, s:{s:s}, s:s, s:{s:s, s:o*}}", "name", "FAR", "runner", "far", "gpu", 0,
		"slots", 3, "expect", "gpu", "H100", "sandbox", "reduced", "options", "place", "gpus", "build", build_take);
}

static json_t *
make_plan(bool owned)
{
	json_t *plan =
		json_pack("{s:i, s:s, s:{s:{s:s}, s:{s:s}}, s:[{s:s, s:s, s:{s:{s:s}}, s:[s]}, {s:s, s:s, s:[s]}, {s:s, s:s, "
				  "s:i, s:{s:{s:s, s:s}, s:{s:s}}}]}",
			"version", 1, "owner", "user-1", "files", "code", "text", "x", "cases", "text", SEED, "steps", "id",
			"build", "kind", "build", "inputs", "a.cpp", "file", "code", "outputs", "p", "id", "warm", "kind",
			"prepare", "needs", "build", "id", "run", "kind", "run", "device", 1, "inputs", "p", "step", "build",
			"output", "p", "cases.txt", "file", "cases");
	if (owned)
		json_object_set_new(json_at(plan, "steps.0", 7), "owner", json_string("user-1"));
	return plan;
}

static struct kettle_job
describe(const json_t *unit, const char *folder)
{
	return (struct kettle_job){.size = sizeof(struct kettle_job),
		.ref = "12.1",
		.device = "FAR",
		.unit = unit,
		.deadline_ms = 1000,
		.spool = folder,
		.name = NAME,
		.plan_hash = HASH};
}

static void
submit_plan(const char *folder, bool owned)
{
	AUTO_JSON json_t *unit = make_unit(json_pack("{s:s, s:s}", "place", "cores", "labels", "small")),
					 *plan = make_plan(owned);
	const struct kettle_job job = describe(unit, folder);
	assert_int_equal(remote_submit(&remote, &job, plan, &err), 0);
	wait_for(&sends, 1);
}

static void
submit(const char *folder)
{
	submit_plan(folder, true);
}

/* What the remote side was given. New reference. */
static json_t *
open_sent(const char *name)
{
	const struct sealed_scope scope = {name, HASH};
	char *text = NULL;
	size_t size;
	assert_string_equal(current->name, name);
	if (sealed_open(current->key, SEALED_PLAN, &scope, current->envelope, current->envelope_size, 1 << 26, &text, &size,
			&err) != 0)
		fail_msg("%s", err.message);
	json_t *content = json_loads(text, 0, NULL);
	free(text);
	return content;
}

/* The sealed result of the current part with these outcomes; their artifacts lie in DIR/there. Its file. */
static int
make_result(json_t *outcomes_take)
{
	const struct sealed_scope scope = {current->name, HASH};
	AUTO_JSON json_t *done = json_pack("{s:s, s:s, s:o, s:{s:s, s:i, s:{s:s}}}", "event", "done", "status", "done",
		"outcomes", outcomes_take, "system", "cpu", "Small", "cores", 2, "tools", "g++", "12");
	AUTO_FREE char *folder = path_join(dir, "there"), *packed = NULL, *sealed = NULL;
	size_t size, sealed_size;
	assert_int_equal(result_package_write(done, folder, NULL, 64 << 20, &packed, &size, &err), 0);
	assert_int_equal(sealed_seal(current->key, SEALED_RESULT, &scope, packed, size, &sealed, &sealed_size, &err), 0);
	int fd = memfd_create("result", MFD_CLOEXEC);
	assert_true(fd >= 0 && write(fd, sealed, sealed_size) == (ssize_t)sealed_size);
	return fd;
}

/* The current part has ended with these outcomes. */
static void
give(json_t *outcomes_take)
{
	int fd = make_result(outcomes_take);
	remote_accepted(current);
	remote_running(current);
	remote_result(current, fd, NULL);
}

/* Outcomes of both steps, the first with a program of so many bytes. */
static json_t *
built(size_t size, const char *second)
{
	AUTO_FREE char *folder = path_join(dir, "there/build"), *path = path_join(folder, "p"),
				   *data = xcalloc(1, size + 1);
	char sha256[65];
	memset(data, 'x', size);
	sha256_hex(data, size, sha256);
	assert_int_equal(file_mkdirs(folder, 0700, &err), 0);
	assert_int_equal(file_write(path, data, size, 0600, &err), 0);
	return json_pack("[{s:s, s:s, s:s, s:i, s:{s:i}, s:[{s:s, s:i, s:s}], s:[{s:s, s:i, s:i, s:s}, {s:s, s:b}]}, {s:s, "
					 "s:s, s:s, s:[]}]",
		"step", "build", "kind", "build", "state", "passed", "start_ns", 5, "stamps", "begun_ns", 4, "artifacts",
		"name", "p", "size", (int)size, "sha256", sha256, "outputs", "path", "p", "mode", 0755, "size", (int)size,
		"sha256", sha256, "path", "empty", "folder", 1, "step", "warm", "kind", "prepare", "state", second, "outputs");
}

/* Answers about handles, which the test gives. */
static int handles;
static struct {
	kettle_answer answer;
	void *arg;
} kept_answers[2];

static int
keep_handle(const struct kettle_host *self, const char *ref, const char *handle, kettle_answer answer, void *arg)
{
	(void)self;
	(void)ref;
	(void)handle;
	assert_true(handles < (int)ARRAY_SIZE(kept_answers));
	kept_answers[handles].answer = answer;
	kept_answers[handles++].arg = arg;
	return 0;
}

static void
answer_handle(size_t number)
{
	const struct kettle_error none = {0};
	kept_answers[number].answer(kept_answers[number].arg, &none, NULL);
}

/* Work that the test lets begin. */
static struct {
	kettle_fn work, done;
	void *arg;
} kept_work;

static int
keep_work(const struct kettle_host *self, kettle_fn work, kettle_fn done, void *arg, struct kettle_error *ret_err)
{
	(void)self;
	(void)ret_err;
	kept_work.work = work;
	kept_work.done = done;
	kept_work.arg = arg;
	return 0;
}

static const char *
last_event(void)
{
	const json_t *events = job_reports(fake, "12.1", "events");
	return json_text_or_empty(json_array_get(events, json_array_size(events) - 1), "event");
}

/* How many of its starts were in the other place, without the device, or in the unit's own. */
static size_t
starts(bool elsewhere)
{
	size_t count = 0;
	json_array_each(job_reports(fake, "12.1", "events"), event)
		count += member_is(event, "event", "started") && member_true(event, "elsewhere") == elsewhere;
	return count;
}

/* ---- tests ---- */

static void
test_two_parts(void **state)
{
	(void)state;
	submit(spool);
	AUTO_JSON json_t *first = open_sent(NAME ".build");
	AUTO_JSON json_t *wanted = json_pack("{s:s, s:s, s:s, s:{s:s, s:[s]}}", "name", "FAR", "runner", "far", "sandbox",
		"reduced", "options", "place", "cores", "labels", "small");
	AUTO_FREE char *text = json_dumps(first, 0), *kept = path_join(spool, "plan");
	const json_t *plan = json_object_get(first, "plan");
	assert_true(json_equal(json_object_get(first, "unit"), wanted));
	assert_true(!strstr(text, SEED) && member_true(plan, "return_outputs") && member_is(plan, "owner", "user-1"));
	assert_int_equal(json_array_size(json_object_get(plan, "steps")), 2);
	assert_int_equal(access(kept, F_OK), 0);
	give(built(3, "passed"));
	wait_for(&sends, 2);
	assert_string_equal(last_event(), "waiting");
	assert_true(starts(true) == 1 && starts(false) == 0);
	assert_true(releases == 1 && access(spool, F_OK) != 0);
	AUTO_JSON json_t *second = open_sent(NAME);
	const json_t *steps = json_object_get(json_object_get(second, "plan"), "steps");
	const json_t *ended = json_object_get(json_array_get(steps, 0), "ended");
	assert_int_equal(json_array_size(steps), 3);
	assert_int_equal(member_int(json_object_get(second, "unit"), "slots"), 3);
	AUTO_JSON json_t *outcome = json_pack("{s:s, s:s, s:s}", "step", "build", "kind", "build", "state", "passed");
	assert_true(json_equal(json_object_get(ended, "outcome"), outcome));
	assert_true(member_is(json_at(ended, "outputs.0", 9), "base64", "eHh4"));
	assert_true(member_is(json_object_get(ended, "tools"), "g++", "12"));
	assert_true(member_true(json_at(ended, "outputs.1", 9), "folder"));
	assert_true(!json_object_get(json_array_get(steps, 2), "ended"));
	give(json_pack("[{s:s}]", "step", "run"));
	const json_t *completion = job_ends(fake, "12.1", "done");
	assert_int_equal(json_array_size(json_object_get(completion, "outcomes")), 1);
	assert_true(!json_object_get(completion, "elsewhere") && starts(true) == 1 && starts(false) == 1);
	assert_int_equal(releases, 2);
}

/* What cannot go on is built again, and the job is the whole one. */
static void
test_too_large(void **state)
{
	(void)state;
	submit(spool);
	give(built((32u << 20) + 1, "passed"));
	wait_for(&sends, 2);
	AUTO_JSON json_t *second = open_sent(NAME);
	const json_t *step = json_array_get(json_object_get(json_object_get(second, "plan"), "steps"), 0);
	assert_true(member_is(step, "id", "build") && !json_object_get(step, "ended"));
	assert_int_equal(log_count(fake, "builds again"), 1);
	assert_false(remote_send_whole(current));
}

/* The remote side does not take so much. */
static void
test_whole_is_sent(void **state)
{
	(void)state;
	submit(spool);
	give(built(3, "passed"));
	wait_for(&sends, 2);
	assert_true(remote_send_whole(current));
	wait_for(&sends, 3);
	AUTO_JSON json_t *second = open_sent(NAME);
	assert_null(json_object_get(json_array_get(json_object_get(json_object_get(second, "plan"), "steps"), 0), "ended"));
	assert_false(remote_send_whole(current));
}

/* A step that fails ends the job where nothing is left that could run; others go on. */
static void
test_failures(void **state)
{
	(void)state;
	submit(spool);
	json_t *outcomes = built(3, "skipped");
	json_object_set_new(json_array_get(outcomes, 0), "state", json_string("failed"));
	give(outcomes);
	const json_t *all = json_object_get(job_ends(fake, "12.1", "done"), "outcomes");
	assert_int_equal(json_array_size(all), 3);
	assert_true(
		member_is(json_array_get(all, 2), "step", "run") && member_is(json_array_get(all, 2), "state", "skipped"));
	assert_null(json_object_get(json_array_get(all, 0), "artifacts"));
	/* The machine that built is not the device's. */
	AUTO_JSON json_t *system = json_pack("{s:{s:s}}", "tools", "g++", "12");
	assert_true(json_equal(json_object_get(job_completion(fake, "12.1"), "system"), system));
	assert_true(member_true(job_completion(fake, "12.1"), "elsewhere") && starts(false) == 0);
	assert_true(sends == 1 && access(spool, F_OK) != 0);
}

/* The runs need an optional step, and go on with what it has left. */
static void
test_optional_failure(void **state)
{
	(void)state;
	AUTO_JSON json_t *unit = make_unit(json_pack("{s:s, s:s}", "place", "cores", "labels", "small")),
					 *plan = make_plan(true);
	const struct kettle_job job = describe(unit, spool);
	json_object_set_new(json_at(plan, "steps.0", 7), "optional", json_true());
	assert_int_equal(remote_submit(&remote, &job, plan, &err), 0);
	wait_for(&sends, 1);
	json_t *outcomes = built(3, "passed");
	json_object_set_new(json_array_get(outcomes, 0), "state", json_string("limit"));
	give(outcomes);
	wait_for(&sends, 2);
	AUTO_JSON json_t *second = open_sent(NAME);
	const json_t *ended =
		json_object_get(json_array_get(json_object_get(json_object_get(second, "plan"), "steps"), 0), "ended");
	assert_true(member_is(json_object_get(ended, "outcome"), "state", "limit"));
	assert_true(member_is(json_at(ended, "outputs.0", 9), "base64", "eHh4"));
}

static void
test_failure_that_stops_nothing(void **state)
{
	(void)state;
	submit(spool);
	give(built(3, "failed"));
	wait_for(&sends, 2);
	AUTO_JSON json_t *second = open_sent(NAME);
	const json_t *ended =
		json_object_get(json_array_get(json_object_get(json_object_get(second, "plan"), "steps"), 1), "ended");
	assert_true(member_is(json_object_get(ended, "outcome"), "state", "failed"));
}

static void
test_lies(void **state)
{
	(void)state;
	submit(spool);
	json_t *outcomes = built(3, "passed");
	(void)json_array_remove(outcomes, 1);
	give(outcomes);
	const json_t *completion = job_ends(fake, "12.1", "lost");
	assert_true(member_is(completion, "loss", "failed"));
	assert_sentence(json_text_or_empty(completion, "error"));
	assert_int_not_equal(access(spool, F_OK), 0);
}

static void
test_plan_is_gone(void **state)
{
	(void)state;
	submit(spool);
	AUTO_FREE char *path = path_join(spool, "plan");
	assert_int_equal(unlink(path), 0);
	give(built(3, "passed"));
	assert_true(member_is(job_ends(fake, "12.1", "lost"), "loss", "unreached"));
}

static void
test_one_part(void **state)
{
	(void)state;
	submit(NULL); /* nowhere to keep the plan */
	AUTO_JSON json_t *whole = open_sent(NAME);
	assert_int_equal(json_array_size(json_object_get(json_object_get(whole, "plan"), "steps")), 3);
}

/* A second job would only cost time. */
static void
test_nothing_of_the_submission(void **state)
{
	(void)state;
	submit_plan(spool, false);
	AUTO_JSON json_t *whole = open_sent(NAME);
	assert_int_equal(json_array_size(json_object_get(json_object_get(whole, "plan"), "steps")), 3);
}

static void
test_options(void **state)
{
	(void)state;
	static const char *const wrong[] = {"[]", "{}", "{\"cores\": 1}", "{\"place\": 1}",
		"{\"place\": \"a\", \"cores\": 9}", "{\"place\": \"a\", \"labels\": [1]}", "{\"place\": \"a\", \"build\": {}}",
		"{\"place\": \"a\", \"gpu\": 1}"};
	unsigned slots, prefetch;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		AUTO_JSON json_t *unit = make_unit(json_loads(wrong[i], 0, NULL));
		assert_int_equal(remote_capacity(&remote, unit, &slots, &prefetch, &err), KETTLE_EINVAL);
		assert_sentence(err.message);
	}
	AUTO_JSON json_t *unit = make_unit(json_pack("{s:s, s:i, s:[s]}", "place", "a", "cores", 8, "labels", "x"));
	assert_int_equal(remote_capacity(&remote, unit, &slots, &prefetch, &err), 0);
}

/* The engine's own disk is full, which is no fault of the machine that built. */
static void
test_full_disk(void **state)
{
	(void)state;
	struct rlimit before, small;
	submit(spool);
	int fd = make_result(built(200000, "passed"));
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){.rlim_cur = 50000, .rlim_max = before.rlim_max};
	__sighandler_t signalled = signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	remote_accepted(current);
	remote_result(current, fd, NULL);
	const json_t *completion = job_ends(fake, "12.1", "lost");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	(void)signal(SIGXFSZ, signalled);
	assert_true(member_is(completion, "loss", "unreached"));
	assert_sentence(json_text_or_empty(completion, "error"));
	assert_int_not_equal(access(spool, F_OK), 0);
}

static int
has_no_job(void *arg)
{
	(void)arg;
	return !remote.jobs;
}

/* The whole plan is written after its job has ended. */
static void
test_ends_while_packed(void **state)
{
	(void)state;
	AUTO_JSON json_t *unit = make_unit(json_pack("{s:s}", "place", "cores")), *plan = make_plan(true);
	const struct kettle_job job = describe(unit, spool);
	struct kettle_host *host = (struct kettle_host *)remote.host;
	const struct kettle_host before = *host;
	host->work = keep_work;
	assert_int_equal(remote_submit(&remote, &job, plan, &err), 0);
	host->work = before.work;
	remote_lost(remote_find(&remote, "12.1"), KETTLE_LOSS_NODE_FAULT, "It is over.");
	assert_int_equal(host->work(host, kept_work.work, kept_work.done, kept_work.arg, &err), 0);
	assert_int_equal(kettle_fake_run(fake, has_no_job, NULL, PATIENCE_MS), 0);
	assert_int_not_equal(access(spool, F_OK), 0);
}

/* Answers about handles of the first part, which come late, do not send the second one. */
static void
test_late_handle(void **state)
{
	(void)state;
	submit(spool);
	int fd = make_result(built(3, "passed"));
	struct kettle_host *host = (struct kettle_host *)remote.host;
	const struct kettle_host before = *host;
	handles = 0;
	host->job_handle = keep_handle;
	remote_accepted(current);
	remote_store(current);
	remote_running(current);
	remote_result(current, fd, NULL);
	wait_for(&handles, 2);
	answer_handle(0);
	assert_int_equal(sends, 1);
	answer_handle(1);
	assert_int_equal(sends, 2);
	host->job_handle = before.job_handle;
}

/* The handle names the part and its place, which may be gone from the configuration. */
static void
test_recover(void **state)
{
	(void)state;
	AUTO_JSON json_t *unit = make_unit(NULL);
	const struct kettle_job job = describe(unit, spool);
	assert_int_equal(remote_recover(&remote, &job, "{\"name\": \"" NAME ".build\"}", &err), KETTLE_ENOENT);
	assert_sentence(err.message);
	submit(spool);
	AUTO_FREE char *handle = xstrdup(json_string_value(job_reports(fake, "12.1", "handle")));
	remote_detach(&remote, "12.1");
	assert_int_equal(remote_recover(&remote, &job, handle, &err), 0);
	AUTO_JSON json_t *options = json_pack("{s:s, s:[s]}", "place", "cores", "labels", "small");
	assert_true(json_equal(json_object_get(current->unit, "options"), options));
	remote_detach(&remote, "12.1");
	assert_int_equal(remote_recover(&remote, &job, "{\"name\": \"" NAME "\"}", &err), 0);
	remote_detach(&remote, "12.1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {TEST(test_two_parts), TEST(test_too_large), TEST(test_whole_is_sent),
	TEST(test_failures), TEST(test_optional_failure), TEST(test_failure_that_stops_nothing), TEST(test_lies),
	TEST(test_plan_is_gone), TEST(test_one_part), TEST(test_nothing_of_the_submission), TEST(test_options),
	TEST(test_recover), TEST(test_full_disk), TEST(test_ends_while_packed), TEST(test_late_handle)};

UNIT_TESTS(test_remote_parts);
