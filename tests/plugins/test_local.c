/* SPDX-License-Identifier: MIT */
/* The runner local between the fake host and programs that play kettle-exec, most of them badly. */
#include <config.h>

#include <kettle/plugin.h>
#include <kettle/testing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "lib/fake_jobs.h"
#include "lib/held_pool.h"
#include "lib/unit_test.h"
#include "unit/scratch.h"

#define PATIENCE_MS 120000

static char *dir;
static struct kettle_fake *fake;
static const struct kettle_host *host;
static void *self;
static const struct kettle_runner *ops;
static struct kettle_error err;

/* Greets, then runs `body` for each line, with $op and $job. */
#define GREETING \
	"echo '{\"event\":\"hello\",\"protocol\":1,\"version\":\"9\",\"level\":\"full\",\"machine\":{},\"tools\":{}}'\n"
#define LOOP(body) \
	"while read -r line; do\n" \
	"  job=${line#*'\"job\":\"'}; job=${job%%'\"'*}; op=${line#*'\"op\":\"'}; op=${op%%'\"'*}\n" body "\ndone\n"
#define DONE \
	"echo \"{\\\"event\\\":\\\"done\\\",\\\"job\\\":\\\"$job\\\",\\\"status\\\":\\\"done\\\",\\\"outcomes\\\":[]}\""
#define CANCELLED "echo \"{\\\"event\\\":\\\"done\\\",\\\"job\\\":\\\"$job\\\",\\\"status\\\":\\\"cancelled\\\"}\""
#define EVENT "echo \"{\\\"event\\\":\\\"waiting\\\",\\\"job\\\":\\\"$job\\\"}\""

/* A program of this name in the scratch folder. */
static char *
program(const char *name, const char *script)
{
	AUTO_FREE char *text = NULL;
	assert_true(asprintf(&text, "#!/bin/sh\n%s", script) > 0);
	char *path = scratch_write(dir, name, text);
	assert_int_equal(chmod(path, 0700), 0);
	return path;
}

static void
configure(const char *exec)
{
	AUTO_JSON json_t *options = json_pack("{s:s}", "exec", exec);
	assert_int_equal(kettle_plugin.configure(self, options, &err), 0);
	assert_int_equal(kettle_plugin.start(self, &err), 0);
}

static void
play(const char *script)
{
	AUTO_FREE char *path = program("exec", script);
	configure(path);
}

static int
setup(void **state)
{
	(void)state;
	dir = scratch_make();
	err = (struct kettle_error){0};
	if (!dir || kettle_fake_new("local", &fake, &err) != 0)
		return -1;
	host = kettle_fake_host(fake);
	ops = kettle_plugin.runner;
	return kettle_plugin.create(host, &self, &err);
}

/* The loop must close with nothing left. */
static int
teardown(void **state)
{
	(void)state;
	if (self)
		plugin_stop(fake, &kettle_plugin, self);
	kettle_plugin.destroy(self);
	if (kettle_fake_free(fake, &err) != 0)
		fail_msg("%s", err.message);
	scratch_remove(dir);
	return 0;
}

static int
submit(const char *ref)
{
	AUTO_JSON json_t *plan = json_pack("{s:i, s:[]}", "version", 1, "steps");
	AUTO_JSON json_t *unit = json_pack("{s:s, s:s}", "runner", "local", "name", "CPU");
	const struct kettle_job job = {.size = sizeof(job), .ref = ref, .device = "CPU", .unit = unit};
	return ops->submit(self, &job, plan, &err);
}

static const char *
reason(const char *ref)
{
	return json_string_value(json_object_get(json_array_get(job_reports(fake, ref, "completions"), 0), "error"));
}

static void
test_jobs(void **state)
{
	(void)state;
	play(GREETING LOOP(EVENT "; " DONE));
	assert_int_equal(submit("1.1"), 0);
	assert_int_equal(submit("2.1"), 0);
	job_ends(fake, "1.1", "done");
	job_ends(fake, "2.1", "done");
	const json_t *events = job_reports(fake, "1.1", "events");
	assert_int_equal(json_array_size(events), 1);
}

static void
test_cancel(void **state)
{
	(void)state;
	play(GREETING LOOP("[ \"$op\" != cancel ] || " CANCELLED));
	assert_int_equal(submit("1.1"), 0);
	ops->cancel(self, "unknown");
	ops->cancel(self, "1.1");
	job_ends(fake, "1.1", "cancelled");
	ops->cancel(self, "1.1");
}

/* Events of unknown jobs, duplicates and other lines are ignored; the job still ends. */
static void
test_garbage(void **state)
{
	(void)state;
	play("echo garbage before the greeting\n" GREETING LOOP(
		"echo; echo '[1]'; echo '{'; printf '\\377\\n'; echo '{\"event\":7}'; echo "
		"'{\"event\":\"done\",\"job\":\"9.9\"}'\n"
		"echo '{\"event\":\"done\"}'; echo '{\"event\":\"error\"}'; echo '{\"event\":\"error\",\"error\":\"odd\"}'\n"
		"echo '{\"event\":\"hello\"}'; echo words >&2\n" DONE "; " DONE));
	assert_int_equal(submit("1.1"), 0);
	job_ends(fake, "1.1", "done");
	assert_int_equal(submit("2.1"), 0);
	job_ends(fake, "2.1", "done");
	assert_true(log_count(fake, "not an event") && log_count(fake, "odd") && log_count(fake, "words"));
}

/* It dies in the middle, once; its successor takes the next job. */
static void
test_death(void **state)
{
	(void)state;
	play(GREETING LOOP("n=$((n + 1)); [ $n -lt 2 ] || ! mkdir \"$0.died\" 2>/dev/null || kill -9 $$\n"
					   "[ ! -e \"$0.died\" ] || " DONE));
	assert_int_equal(submit("1.1"), 0);
	assert_int_equal(submit("2.1"), 0);
	job_ends(fake, "1.1", "lost");
	job_ends(fake, "2.1", "lost");
	assert_non_null(strstr(reason("1.1"), "signal 9"));
	assert_int_equal(submit("3.1"), 0);
	job_ends(fake, "3.1", "done");
}

static void
test_ends_at_once(void **state)
{
	(void)state;
	play("echo 'it lacks something' >&2; exit 4");
	assert_int_equal(submit("1.1"), 0);
	job_ends(fake, "1.1", "lost");
	assert_non_null(strstr(reason("1.1"), "status 4"));
	assert_true(log_count(fake, "it lacks something"));
}

static void
test_no_program(void **state)
{
	(void)state;
	configure("/nonexistent/kettle-exec");
	assert_true(submit("1.1") < 0);
	assert_non_null(strstr(err.message, "/nonexistent/kettle-exec"));
	assert_null(job_reports(fake, "1.1", "completions"));
}

/* A line that never ends is bounded, and the program that writes it is killed. */
static void
test_endless_line(void **state)
{
	(void)state;
	play(GREETING "read -r line; while :; do printf '%01000000d' 0; done");
	assert_int_equal(submit("1.1"), 0);
	job_ends(fake, "1.1", "lost");
}

static void
test_stop_with_jobs(void **state)
{
	(void)state;
	play(GREETING LOOP(":"));
	assert_int_equal(submit("1.1"), 0);
	plugin_stop(fake, &kettle_plugin, self);
	job_ends(fake, "1.1", "lost");
	assert_true(submit("2.1") < 0);
	assert_null(job_reports(fake, "2.1", "completions"));
	assert_int_equal(kettle_plugin.start(self, &err), 0);
	assert_int_equal(submit("3.1"), 0);
}

static void
test_stop_without_process(void **state)
{
	(void)state;
	play(GREETING LOOP(DONE));
	plugin_stop(fake, &kettle_plugin, self);
	assert_true(submit("1.1") < 0);
	assert_non_null(strstr(err.message, "stopping"));
}

/* ---- describe ---- */

struct facts {
	int answers, code;
	char version[16];
};

static void
described(void *arg, const struct kettle_error *why, json_t *facts)
{
	struct facts *into = arg;
	const char *version = json_string_value(json_object_get(facts, "version"));
	into->answers++;
	into->code = why->code;
	(void)snprintf(into->version, sizeof(into->version), "%s", version ? version : "");
}

static int
is_described(void *arg)
{
	return ((struct facts *)arg)->answers > 0;
}

static void
test_describe(void **state)
{
	(void)state;
	struct facts first = {0}, second = {0}, third = {0};
	play(GREETING LOOP(
		"[ \"$op\" != hello ] || echo '{\"event\":\"hello\",\"protocol\":1,\"version\":\"10\",\"tools\":{}}'"));
	assert_int_equal(ops->describe(self, NULL, described, &first, &err), 0);
	assert_int_equal(ops->describe(self, NULL, described, &second, &err), 0);
	assert_int_equal(kettle_fake_run(fake, is_described, &first, PATIENCE_MS), 0);
	assert_int_equal(ops->describe(self, NULL, described, &third, &err), 0);
	assert_int_equal(kettle_fake_run(fake, is_described, &third, PATIENCE_MS), 0);
	assert_int_equal(first.answers + second.answers + third.answers, 3);
	assert_string_equal(second.version, "9");
	/* What has changed since the first greeting is told. */
	assert_string_equal(third.version, "10");
}

/* A greeting without tools answers brief requests; the others wait for one with tools. */
static void
test_describe_brief(void **state)
{
	(void)state;
	struct facts brief = {0}, whole = {0};
	AUTO_JSON json_t *unit = json_pack("{s:b}", "brief", 1);
	play("echo '{\"event\":\"hello\",\"protocol\":1,\"version\":\"8\"}'\n" LOOP(GREETING DONE));
	assert_int_equal(ops->describe(self, NULL, described, &whole, &err), 0);
	assert_int_equal(ops->describe(self, unit, described, &brief, &err), 0);
	assert_int_equal(kettle_fake_run(fake, is_described, &brief, PATIENCE_MS), 0);
	assert_string_equal(brief.version, "8");
	assert_int_equal(whole.answers, 0);
	assert_int_equal(submit("1.1"), 0);
	assert_int_equal(kettle_fake_run(fake, is_described, &whole, PATIENCE_MS), 0);
	assert_string_equal(whole.version, "9");
	job_ends(fake, "1.1", "done");
	assert_int_equal(brief.answers + whole.answers, 2);
}

static void
test_describe_fails(void **state)
{
	(void)state;
	struct facts facts = {0};
	play("exit 3");
	assert_int_equal(ops->describe(self, NULL, described, &facts, &err), 0);
	assert_int_equal(kettle_fake_run(fake, is_described, &facts, PATIENCE_MS), 0);
	assert_true(facts.code < 0 && facts.answers == 1);
	configure("/nonexistent/kettle-exec");
	assert_true(ops->describe(self, NULL, described, &facts, &err) < 0);
	assert_int_equal(facts.answers, 1);
}

/* It never greets: pending requests are answered at stop. */
static void
test_describe_silence(void **state)
{
	(void)state;
	struct facts facts = {0};
	play(LOOP(":"));
	assert_int_equal(ops->describe(self, NULL, described, &facts, &err), 0);
	plugin_stop(fake, &kettle_plugin, self);
	assert_int_equal(facts.answers, 1);
	assert_true(facts.code < 0);
	kettle_plugin.start(self, &err);
}

/* ---- kettle-exec --doctor ---- */

/* Each request starts one of its own, beside the kettle-exec that serves; its status does not matter if it reports. */
static void
test_doctor(void **state)
{
	(void)state;
	struct facts good = {0}, none = {0}, killed = {0};
	play("[ \"$1 $2\" = '--doctor --json' ] && printf '{\\n\"version\": \"11\"\\n}\\n'; exit 1");
	assert_int_equal(ops->doctor(self, NULL, described, &good, &err), 0);
	assert_int_equal(kettle_fake_run(fake, is_described, &good, PATIENCE_MS), 0);
	assert_int_equal(good.code, 0);
	assert_string_equal(good.version, "11");
	play("echo no report; echo 'kettle-exec: the moon is full' >&2; exit 2");
	assert_int_equal(ops->doctor(self, NULL, described, &none, &err), 0);
	assert_int_equal(kettle_fake_run(fake, is_described, &none, PATIENCE_MS), 0);
	assert_int_equal(none.code, KETTLE_EUNAVAIL);
	/* One that hangs ends with the runner. */
	play("exec sleep 1000");
	assert_int_equal(ops->doctor(self, NULL, described, &killed, &err), 0);
	plugin_stop(fake, &kettle_plugin, self);
	assert_true(killed.answers == 1 && killed.code == KETTLE_EUNAVAIL);
	assert_true(ops->doctor(self, NULL, described, &killed, &err) < 0);
	assert_int_equal(killed.answers, 1);
	kettle_plugin.start(self, &err);
}

/* ---- heartbeats ---- */

static void
beaten(void *arg, const struct kettle_error *why)
{
	described(arg, why, NULL);
}

/* One question for all that wait, and an answer for each. */
static void
test_heartbeat(void **state)
{
	(void)state;
	struct facts first = {0}, second = {0}, third = {0};
	play(GREETING LOOP("[ \"$op\" != heartbeat ] || echo \"asked $((n += 1))\" >&2\n"
					   "[ \"$op\" != run ] || echo '{\"event\":\"heartbeat\"}'"));
	assert_int_equal(ops->heartbeat(self, NULL, beaten, &first, &err), 0);
	assert_int_equal(ops->heartbeat(self, NULL, beaten, &second, &err), 0);
	assert_int_equal(submit("1.1"), 0);
	assert_int_equal(kettle_fake_run(fake, is_described, &second, PATIENCE_MS), 0);
	assert_int_equal(kettle_fake_run(fake, is_described, &first, PATIENCE_MS), 0);
	assert_true(first.code == 0 && second.code == 0);
	assert_int_equal(ops->heartbeat(self, NULL, beaten, &third, &err), 0);
	plugin_stop(fake, &kettle_plugin, self);
	assert_true(third.answers == 1 && third.code < 0);
	assert_int_equal(first.answers + second.answers, 2);
	assert_true(log_count(fake, "asked 1") && !log_count(fake, "asked 3"));
	assert_true(ops->heartbeat(self, NULL, beaten, &third, &err) < 0);
	assert_int_equal(third.answers, 1);
	kettle_plugin.start(self, &err);
}

/* The one that runs is told of other tools, and the next one is started with them. */
static void
test_tools(void **state)
{
	(void)state;
	struct facts facts = {0};
	AUTO_JSON json_t *tools = json_pack("[s]", "/opt/python");
	play(GREETING LOOP("[ \"$op\" != tools ] || echo \"told $line\" >&2"));
	assert_int_equal(ops->tools(self, tools, &err), 0);
	assert_int_equal(ops->describe(self, NULL, described, &facts, &err), 0);
	assert_int_equal(kettle_fake_run(fake, is_described, &facts, PATIENCE_MS), 0);
	assert_int_equal(ops->tools(self, tools, &err), 0);
	plugin_stop(fake, &kettle_plugin, self);
	assert_true(log_count(fake, "told") && log_count(fake, "/opt/python"));
	kettle_plugin.start(self, &err);
}

/* One that ends answers with an error, and the next heartbeat starts another. */
static void
test_heartbeat_ended(void **state)
{
	(void)state;
	struct facts first = {0}, second = {0};
	play(GREETING LOOP("mkdir \"$0.died\" 2>/dev/null && kill -9 $$\necho '{\"event\":\"heartbeat\"}'"));
	assert_int_equal(ops->heartbeat(self, NULL, beaten, &first, &err), 0);
	assert_int_equal(kettle_fake_run(fake, is_described, &first, PATIENCE_MS), 0);
	assert_true(first.code < 0);
	assert_int_equal(ops->heartbeat(self, NULL, beaten, &second, &err), 0);
	assert_int_equal(kettle_fake_run(fake, is_described, &second, PATIENCE_MS), 0);
	assert_int_equal(second.code, 0);
}

static void
test_capacity(void **state)
{
	(void)state;
	static const struct {
		const char *unit;
		int status;
		unsigned slots, prefetch;
	} cases[] = {
		{"{}", 0, 1, 1},
		{"{\"slots\": 4, \"prefetch\": 0}", 0, 4, 0},
		{"{\"slots\": 0}", KETTLE_EINVAL, 7, 7},
		{"{\"slots\": 1025}", KETTLE_EINVAL, 7, 7},
		{"{\"prefetch\": -1}", KETTLE_EINVAL, 7, 7},
		{"{\"slots\": \"x\"}", KETTLE_EINVAL, 7, 7},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO_JSON json_t *unit = json_loads(cases[i].unit, 0, NULL);
		unsigned slots = 7, prefetch = 7;
		assert_int_equal(ops->capacity(self, unit, &slots, &prefetch, &err), cases[i].status);
		assert_int_equal(slots, cases[i].slots);
		assert_int_equal(prefetch, cases[i].prefetch);
	}
}

/* The arguments of the program. */
static void
test_settings(void **state)
{
	(void)state;
	AUTO_FREE char *path = program("exec", "printf '%s\\n' \"$@\" >&2\n" GREETING LOOP(DONE));
	AUTO_JSON json_t *options = json_pack("{s:s, s:s, s:{s:s}, s:{s:[s]}, s:s}", "exec", path, "config", "/etc/e.yml",
		"build", "cores", "2-3", "sandbox", "extra_paths", "/opt/venv", "state", "/var/x");
	assert_int_equal(kettle_plugin.configure(self, options, &err), 0);
	assert_int_equal(submit("1.1"), 0);
	job_ends(fake, "1.1", "done");
	assert_true(log_count(fake, "--serve") && log_count(fake, "--config") && log_count(fake, "/etc/e.yml"));
	assert_true(log_count(fake, "2-3") && log_count(fake, "/opt/venv") && log_count(fake, "/var/x"));
}

static void
test_unused(void **state)
{
	(void)state;
	kettle_plugin.destroy(NULL);
}

/* ---- long events ---- */

static int
has_written(void *arg)
{
	(void)arg;
	return log_count(fake, "written") > 0;
}

static size_t
events_of(const char *ref)
{
	return json_array_size(job_reports(fake, ref, "events"));
}

/*
 * A long event is read by a thread of the pool: while that is held up, it and what comes after it wait, and what
 * kettle-exec writes to its standard error is heard. Then all come in their order.
 */
static void
test_long_event(void **state)
{
	(void)state;
	play(
		GREETING LOOP(EVENT "; printf '{\"event\":\"waiting\",\"job\":\"%s\",\"x\":\"%0300000d\"}\\n' \"$job\" 0; " DONE
							"; echo written >&2"));
	pool_hold(fake);
	assert_int_equal(submit("1.1"), 0);
	assert_int_equal(kettle_fake_run(fake, has_written, NULL, PATIENCE_MS), 0);
	size_t events = events_of("1.1"), ends = json_array_size(job_reports(fake, "1.1", "completions"));
	pool_release(fake);
	job_ends(fake, "1.1", "done");
	assert_int_equal(events, 1);
	assert_int_equal(ends, 0);
	assert_int_equal(events_of("1.1"), 2);
}

static int
has_reported(void *arg)
{
	(void)arg;
	return log_count(fake, "reported") > 0;
}

/* A long report is read by a thread of the pool, and a short one is answered meanwhile. */
static void
test_long_report(void **state)
{
	(void)state;
	struct facts first = {0}, second = {0};
	pool_hold(fake);
	play("printf '{\"version\": \"11\", \"x\": \"%0300000d\"}\n' 0; echo reported >&2");
	assert_int_equal(ops->doctor(self, NULL, described, &first, &err), 0);
	assert_int_equal(kettle_fake_run(fake, has_reported, NULL, PATIENCE_MS), 0);
	play("echo '{\"version\": \"12\"}'");
	assert_int_equal(ops->doctor(self, NULL, described, &second, &err), 0);
	assert_int_equal(kettle_fake_run(fake, is_described, &second, PATIENCE_MS), 0);
	int answered = first.answers;
	pool_release(fake);
	assert_int_equal(kettle_fake_run(fake, is_described, &first, PATIENCE_MS), 0);
	assert_int_equal(answered, 0);
	assert_string_equal(first.version, "11");
	assert_string_equal(second.version, "12");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_jobs),
	TEST(test_long_event),
	TEST(test_long_report),
	TEST(test_heartbeat),
	TEST(test_tools),
	TEST(test_heartbeat_ended),
	TEST(test_cancel),
	TEST(test_garbage),
	TEST(test_death),
	TEST(test_ends_at_once),
	TEST(test_no_program),
	TEST(test_endless_line),
	TEST(test_stop_with_jobs),
	TEST(test_stop_without_process),
	TEST(test_describe),
	TEST(test_describe_brief),
	TEST(test_describe_fails),
	TEST(test_describe_silence),
	TEST(test_doctor),
	TEST(test_capacity),
	TEST(test_settings),
	TEST(test_unused),
};

UNIT_TESTS(test_local);
