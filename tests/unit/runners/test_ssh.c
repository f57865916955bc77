/* SPDX-License-Identifier: MIT */
/* The runner ssh between the fake host and programs that play ssh with a kettle-exec behind it, most of them badly. */
#include <config.h>

#include <kettle/plugin.h>
#include <kettle/testing.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_access.h"
#include "lib/fake_jobs.h"
#include "lib/held_pool.h"
#include "lib/unit_test.h"
#include "runners/ssh/ssh.h"
#include "unit/scratch.h"

#define PATIENCE_MS 120000

static char *dir;
static struct kettle_fake *fake;
static void *self;
static const struct kettle_runner *ops;
static struct kettle_error err;

#define HELLO(protocol) \
	"echo '{\"event\":\"hello\",\"protocol\":" protocol \
	",\"version\":\"9\",\"level\":\"full\",\"machine\":{},\"tools\":{}}'\n"
#define GREETING HELLO("1")
#define LOOP_HEAD \
	"while read -r line; do\n" \
	"  job=${line#*'\"job\":\"'}; job=${job%%'\"'*}; op=${line#*'\"op\":\"'}; op=${op%%'\"'*}\n"
#define LOOP(body) LOOP_HEAD body "\ndone\n"
#define BEAT "[ \"$op\" != heartbeat ] || echo '{\"event\":\"heartbeat\"}'\n"
#define DONE(status) \
	"[ \"$op\" != run ] || echo \"{\\\"event\\\":\\\"done\\\",\\\"job\\\":\\\"$job\\\",\\\"status\\\":\\\"" status \
	"\\\",\\\"outcomes\\\":[]}\""
#define FILE_EVENT(step, name, size, sha256, data, last) \
	"[ \"$op\" != run ] || echo \"{\\\"event\\\":\\\"file\\\",\\\"job\\\":\\\"$job\\\",\\\"step\\\":\\\"" step \
	"\\\",\\\"name\\\":\\\"" name "\\\",\\\"size\\\":" size ",\\\"sha256\\\":\\\"" sha256 \
	"\\\",\\\"data\\\":\\\"" data "\\\"" last "}\"\n"
#define LAST ",\\\"last\\\":true"
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

/* The script is ssh: $script is the text of the remote command. */
static void
play(const char *script, int connect_s)
{
	AUTO_FREE char *text = NULL;
	assert_true(asprintf(&text, "#!/bin/sh\nfor script; do :; done\n%s", script) > 0);
	AUTO_FREE char *path = scratch_write(dir, "ssh", text);
	AUTO_FREE char *archive = scratch_write(dir, "exec.tar.xz",
		"\xfd"
		"7zXZ");
	FILE *file = fopen(archive, "a");
	assert_non_null(file);
	assert_int_equal(fwrite("\0rest", 1, 5, file), 5);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0700), 0);
	AUTO_JSON json_t *options =
		json_pack("{s:s, s:i, s:i, s:s}", "ssh", path, "connect_s", connect_s, "lease_s", 3, "exec_archive", archive);
	assert_int_equal(kettle_plugin.configure(self, options, &err), 0);
	assert_int_equal(kettle_plugin.start(self, &err), 0);
}

static int
setup(void **state)
{
	(void)state;
	dir = scratch_make();
	err = (struct kettle_error){0};
	if (!dir || kettle_fake_new("ssh", &fake, &err) != 0)
		return -1;
	ops = kettle_plugin.runner;
	return kettle_plugin.create(kettle_fake_host(fake), &self, &err);
}

static int
setup_simulated(void **state)
{
	if (setup(state) != 0)
		return -1;
	kettle_plugin.destroy(self);
	kettle_fake_simulate(fake, INT64_C(1790000000000));
	return kettle_plugin.create(kettle_fake_host(fake), &self, &err);
}

/* The loop must close with nothing left. */
static int
teardown(void **state)
{
	(void)state;
	plugin_stop(fake, &kettle_plugin, self);
	kettle_plugin.destroy(self);
	if (kettle_fake_free(fake, &err) != 0)
		fail_msg("%s", err.message);
	scratch_remove(dir);
	return 0;
}

static json_t *
unit_of(const char *host, bool installed)
{
	return json_pack("{s:s, s:s, s:{s:s, s:s*}}", "runner", "ssh", "name", "FAR", "options", "host", host, "exec",
		installed ? "/opt/kettle-exec" : NULL);
}

static int
submit_plan(const char *ref, const char *host, bool installed, const json_t *plan)
{
	AUTO_JSON json_t *unit = unit_of(host, installed);
	AUTO_FREE char *spool = path_join(dir, ref);
	const struct kettle_job job = {.size = sizeof(job), .ref = ref, .device = "FAR", .unit = unit, .spool = spool};
	return ops->submit(self, &job, plan, &err);
}

static int
submit_to(const char *ref, const char *host, bool installed)
{
	AUTO_JSON json_t *plan = json_pack("{s:i, s:[]}", "version", 1, "steps");
	return submit_plan(ref, host, installed, plan);
}

static int
submit(const char *ref)
{
	return submit_to(ref, "far", true);
}

static void
await_lost(const char *ref, bool uncounted, const char *words)
{
	const json_t *done = job_ends(fake, ref, "lost");
	if (!strstr(json_text_or_empty(done, "error"), words))
		fail_msg("%s", json_text_or_empty(done, "error"));
	assert_int_equal(member_is(done, "loss", "failed") || member_is(done, "loss", "final"), !uncounted);
	assert_false(member_is(done, "loss", "gone"));
}

static const char *
event_of(const char *ref, size_t number)
{
	return json_text_or_empty(json_array_get(job_reports(fake, ref, "events"), number), "event");
}

static int
is_connecting(void *arg)
{
	return log_count(fake, arg) > 0;
}

struct answer {
	int answers, code;
	char version[16], message[200];
};

static void
answered(void *arg, const struct kettle_error *why, json_t *facts)
{
	struct answer *into = arg;
	into->answers++;
	into->code = why->code;
	(void)snprintf(into->version, sizeof(into->version), "%s", json_text_or_empty(facts, "version"));
	(void)snprintf(into->message, sizeof(into->message), "%.190s", why->code ? why->message : "");
}

static void
beaten(void *arg, const struct kettle_error *why)
{
	answered(arg, why, NULL);
}

static int
is_answered(void *arg)
{
	return ((struct answer *)arg)->answers > 0;
}

/* ---- jobs ---- */

/* They wait until there is a connection, one for both, and then for none. */
static void
test_jobs(void **state)
{
	(void)state;
	play("echo connected >&2\n" GREETING LOOP(BEAT DONE("done")), 60);
	assert_int_equal(submit("1.1"), 0);
	assert_int_equal(submit("2.1"), 0);
	assert_string_equal(event_of("1.1", 0), "waiting");
	job_ends(fake, "1.1", "done");
	job_ends(fake, "2.1", "done");
	assert_int_equal(submit("3.1"), 0);
	job_ends(fake, "3.1", "done");
	assert_string_equal(event_of("3.1", 0), "");
	assert_int_equal(log_count(fake, "connected"), 1);
}

/* A host of its own has a connection of its own. */
static void
test_machines(void **state)
{
	(void)state;
	AUTO_JSON json_t *one = unit_of("far", true), *same = unit_of("far", true), *other = unit_of("farther", true);
	assert_true(ops->same_machine(self, one, same));
	assert_false(ops->same_machine(self, one, other));
	play(GREETING LOOP("[ \"$op\" != run ] || kill -9 $$"), 60);
	assert_int_equal(submit_to("1.1", "far", true), 0);
	job_ends(fake, "1.1", "lost");
	play(GREETING LOOP(DONE("done")), 60);
	assert_int_equal(submit_to("2.1", "farther", true), 0);
	job_ends(fake, "2.1", "done");
}

/* What breaks the connection costs no attempt; a kettle-exec that ends by itself does. */
static void
test_ends(void **state)
{
	(void)state;
	play(GREETING LOOP("[ \"$op\" != run ] || { echo 'closed by remote host' >&2; exit 255; }"), 60);
	assert_int_equal(submit("1.1"), 0);
	await_lost("1.1", true, "The connection to far failed: closed by remote host");
	play(GREETING LOOP("[ \"$op\" != run ] || { echo 'kettle-exec: the disk is gone' >&2; exit 3; }"), 60);
	assert_int_equal(submit_to("2.1", "second", true), 0);
	await_lost("2.1", false, "kettle-exec on second exited with status 3: the disk is gone");
	play(GREETING LOOP("[ \"$op\" != run ] || exit 0"), 60);
	assert_int_equal(submit_to("3.1", "third", true), 0);
	await_lost("3.1", true, "status 0");
}

/* A host that was never reached, and one that was. */
static void
test_unreachable(void **state)
{
	(void)state;
	play("echo 'no such name' >&2; exit 255", 60);
	assert_int_equal(submit("1.1"), 0);
	await_lost("1.1", true, "The connection to far failed: no such name");
	assert_true(remote_errors(fake, "reached", 0, "The connection to far failed: no such name"));
	/* The next one waits for the pause to end. */
	assert_int_equal(submit("2.1"), 0);
	assert_string_equal(event_of("2.1", 0), "waiting");
	play(GREETING LOOP("[ \"$op\" != run ] || exit 255"), 60);
	await_lost("2.1", true, "The connection to far failed");
	play("exit 255", 60);
	assert_int_equal(submit("3.1"), 0);
	await_lost("3.1", true, "The connection to far failed");
	/* It never had this one, which so may be tried without end, unlike what it had. */
	assert_true(member_is(job_ends(fake, "3.1", "lost"), "loss", "away"));
	assert_true(member_is(job_ends(fake, "2.1", "lost"), "loss", "unreached"));
	assert_true(member_is(job_ends(fake, "1.1", "lost"), "loss", "away"));
}

static void
test_hangs(void **state)
{
	(void)state;
	play("exec sleep 1000", 1);
	assert_int_equal(submit("1.1"), 0);
	await_lost("1.1", true, "kettle-exec on far did not answer within 1 s");
	assert_int_equal(submit("2.1"), 0);
	ops->cancel(self, "unknown");
	ops->cancel(self, "2.1");
	job_ends(fake, "2.1", "cancelled");
}

/* The other end greets and is silent from then on: the lease ends here, too. */
static void
test_silence(void **state)
{
	(void)state;
	play(GREETING "exec sleep 1000", 60);
	assert_int_equal(submit("1.1"), 0);
	await_lost("1.1", true, "kettle-exec on far has not answered for 3 s");
}

/* A plan takes longer than the lease to get there, and an event in the meantime does not say that it is there. */
static void
test_slow(void **state)
{
	(void)state;
	struct answer beat = {0};
	AUTO_FREE char *long_text = calloc(1, 5 * SSH_SESSION_BYTES_A_SECOND + 1);
	memset(long_text, 'x', 5 * SSH_SESSION_BYTES_A_SECOND);
	AUTO_JSON json_t *plan = json_pack("{s:i, s:[], s:s}", "version", 1, "steps", "x", long_text);
	AUTO_JSON json_t *unit = unit_of("far", true);
	play(GREETING "sleep 0.5; echo '{\"event\":\"heartbeat\"}'; echo early >&2; sleep 5.5\n" LOOP(BEAT DONE("done")),
		60);
	assert_int_equal(submit_plan("1.1", "far", true, plan), 0);
	assert_int_equal(kettle_fake_run(fake, is_connecting, "early", PATIENCE_MS), 0);
	/* The engine learns nothing of a kettle-exec that hangs from how long it takes. */
	assert_true(ops->heartbeat(self, unit, beaten, &beat, &err) < 0);
	assert_non_null(strstr(err.message, "on its way to far"));
	job_ends(fake, "1.1", "done");
}

/* A line is sent in pieces, one for each heartbeat that comes, for much longer than a lease. */
static void
test_slow_line(void **state)
{
	(void)state;
	struct answer beat = {0};
	AUTO_JSON json_t *unit = unit_of("far", true);
	play(GREETING "IFS= read -r line; job=${line#*'\"job\":\"'}; job=${job%%'\"'*}\n"
				  "printf '{\"event\":\"done\",\"job\":\"%s\",\"status\":\"done\",\"error\":\"' \"$job\"; printf "
				  "'%070000d' 1; echo begun >&2\n"
				  "for i in 1 2 3 4 5 6 7 8; do read -r line; printf x; done\n"
				  "echo '\",\"outcomes\":[]}'\n" LOOP(BEAT),
		60);
	assert_int_equal(submit("1.1"), 0);
	assert_int_equal(kettle_fake_run(fake, is_connecting, "begun", PATIENCE_MS), 0);
	assert_int_equal(ops->heartbeat(self, unit, beaten, &beat, &err), 0);
	assert_int_equal(kettle_fake_run(fake, is_answered, &beat, PATIENCE_MS), 0);
	assert_int_equal(beat.code, 0);
	assert_int_equal(json_array_size(job_reports(fake, "1.1", "completions")), 0);
	job_ends(fake, "1.1", "done");
}

static int
has_beaten(void *arg)
{
	(void)arg;
	return log_count(fake, "beat") > 6 || log_count(fake, "has not answered");
}

/* A long line has come whole and waits for a thread of the pool, for longer than two leases: this is no silence. */
static void
test_long_line(void **state)
{
	(void)state;
	play(GREETING
		"IFS= read -r line; job=${line#*'\"job\":\"'}; job=${job%%'\"'*}\n"
		"printf '{\"event\":\"done\",\"job\":\"%s\",\"status\":\"done\",\"error\":\"' \"$job\"\n"
		"printf '%0300000d\",\"outcomes\":[]}\\n' 1\n" LOOP(
			"[ \"$op\" != heartbeat ] || { echo beat >&2; echo '{\"event\":\"heartbeat\"}'; }\n" DONE("done")),
		60);
	pool_hold(fake);
	assert_int_equal(submit("1.1"), 0);
	const int beaten_in_time = kettle_fake_run(fake, has_beaten, NULL, PATIENCE_MS);
	const size_t broken = log_count(fake, "has not answered"),
				 ended = json_array_size(job_reports(fake, "1.1", "completions"));
	pool_release(fake);
	assert_true(beaten_in_time == 0 && broken == 0 && ended == 0);
	job_ends(fake, "1.1", "done");
	assert_int_equal(submit("1.2"), 0);
	job_ends(fake, "1.2", "done");
	assert_int_equal(log_count(fake, "has not answered"), 0);
}

static void
test_protocol(void **state)
{
	(void)state;
	play(HELLO("[2, \"x\"]") "exec sleep 1000", 60);
	assert_int_equal(submit("1.1"), 0);
	await_lost("1.1", true, "kettle-exec on far is version 9 with protocol [2,\"x\"], and this is Kettle ");
}

static void
test_garbage(void **state)
{
	(void)state;
	play("echo Welcome; echo '{'; echo '{\"event\":\"done\",\"job\":\"1.1\",\"status\":\"done\"}'\n" GREETING LOOP(
			 "echo '{\"event\":\"file\"}'; echo '{\"event\":\"done\",\"job\":\"9.9\"}'\n" DONE("done") "\n" DONE(
				 "done")),
		60);
	assert_int_equal(submit("1.1"), 0);
	/* A completion from before it was told of the job is none of it. */
	assert_non_null(json_object_get(job_ends(fake, "1.1", "done"), "outcomes"));
	assert_true(log_count(fake, "not an event"));
	play("yes rubbish", 60);
	assert_int_equal(submit_to("2.1", "endless", true), 0);
	await_lost("2.1", true, "signal 9: it wrote too many lines that are not events of its jobs");
	/* One line of a job that it does not have, nearly as long as a line may be. */
	play(GREETING "printf '{\"event\":\"done\",\"job\":\"9.9\",\"x\":\"'; head -c 66000000 /dev/zero | tr '\\0' x; "
				  "echo '\"}'; exec sleep 1000",
		60);
	assert_int_equal(submit_to("3.1", "long", true), 0);
	await_lost("3.1", true, "signal 9: it wrote too many lines that are not events of its jobs");
}

/* A report that is too large, by its values or its bytes, ends its own job alone, for good, and not the connection. */
static void
test_too_large(void **state)
{
	(void)state;
	play(GREETING LOOP("if [ \"$job\" = 1.1 ]; then printf '{\"event\":\"done\",\"job\":\"1.1\",\"outcomes\":['; "
					   "head -c 4000002 /dev/zero | tr '\\0' , ; echo ']}'; else " DONE("done") "; fi\n"),
		60);
	assert_int_equal(submit("1.1"), 0);
	const json_t *done = job_ends(fake, "1.1", "lost");
	assert_true(member_is(done, "loss", "final"));
	assert_non_null(strstr(json_string_value(json_object_get(done, "error")), "more than 300000 values"));
	assert_int_equal(submit("1.2"), 0);
	job_ends(fake, "1.2", "done");
	play(GREETING LOOP("if [ \"$job\" = 2.1 ]; then printf '{\"event\":\"done\",\"job\":\"2.1\",\"x\":\"'; "
					   "head -c 17000000 /dev/zero | tr '\\0' x; echo '\"}'; else " DONE("done") "; fi\n"),
		60);
	assert_int_equal(submit_to("2.1", "large", true), 0);
	done = job_ends(fake, "2.1", "lost");
	assert_true(member_is(done, "loss", "final"));
	assert_non_null(strstr(json_string_value(json_object_get(done, "error")), "more than 16 MiB"));
	assert_int_equal(submit_to("2.2", "large", true), 0);
	job_ends(fake, "2.2", "done");
}

/* What it says without end does not fill the disk with the log. */
static void
test_talks(void **state)
{
	(void)state;
	play(GREETING "i=0; while [ $i -lt 300 ]; do i=$((i + 1)); echo words >&2; echo "
				  "'{\"event\":\"error\",\"error\":\"words\"}'; done\n" LOOP(DONE("done")),
		60);
	assert_int_equal(submit("1.1"), 0);
	job_ends(fake, "1.1", "done");
	plugin_stop(fake, &kettle_plugin, self);
	assert_int_equal(log_count(fake, "writes too much"), 1);
	assert_int_equal(log_count(fake, "words"), EXEC_CLIENT_LOGGED_MAX);
}

/* ---- artifacts ---- */

static bool
has_file(const char *path, const char *wanted)
{
	AUTO_FREE char *full = path_join(dir, path), *data = NULL;
	size_t size;
	return file_read(full, 1000, &data, &size, NULL) == 0 && size == strlen(wanted) && memcmp(data, wanted, size) == 0;
}

static void
test_files(void **state)
{
	(void)state;
	play(GREETING LOOP(FILE_EVENT("a", "x", "3", ABC, "YWI=", "") FILE_EVENT("a", "x", "3", ABC, "Yw==", LAST)
				 FILE_EVENT("b", "d/e", "3", ABC, "YWJj", LAST) DONE("done")),
		60);
	assert_int_equal(submit("1.1"), 0);
	job_ends(fake, "1.1", "done");
	assert_true(has_file("1.1/a/x", "abc") && has_file("1.1/b/d/e", "abc"));
}

static void
test_bad_files(void **state)
{
	(void)state;
	static const struct {
		const char *script, *words;
	} cases[] = {
		{FILE_EVENT("..", "x", "3", ABC, "YWJj", LAST), "does not stay inside its folder"},
		{FILE_EVENT("a", "../../x", "3", ABC, "YWJj", LAST), "does not stay inside its folder"},
		{FILE_EVENT("a", "/x", "3", ABC, "YWJj", LAST), "does not stay inside its folder"},
		{FILE_EVENT("a/b", "x", "3", ABC, "YWJj", LAST), "no plain step"},
		{FILE_EVENT("a", "x", "-3", ABC, "YWJj", LAST), "no plain step, no size"},
		{FILE_EVENT("a", "x", "3", "abc", "YWJj", LAST), "no sha256"},
		{FILE_EVENT("a", "x", "3", ABC, "YWJk", LAST), "is not what was announced"},
		{FILE_EVENT("a", "x", "4", ABC, "YWJj", LAST), "is not what was announced"},
		{FILE_EVENT("a", "x", "2", ABC, "YWJj", LAST), "is larger than was announced"},
		{FILE_EVENT("a", "x", "3", ABC, "YWJ", LAST), "is not base64"},
		{FILE_EVENT("a", "x", "3", ABC, "YWI=", "") FILE_EVENT("a", "y", "3", ABC, "Yw==", LAST), "to another file"},
		{FILE_EVENT("a", "x", "3", ABC, "YWI=", ""), "arrived incomplete"},
		{FILE_EVENT("a", "x", "99999999999", ABC, "YWI=", ""), "more than 1024 MiB"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO_FREE char *script = NULL, *ref = NULL, *host = NULL;
		static const char head[] = GREETING LOOP_HEAD, tail[] = DONE("done") "\ndone\n";
		assert_true(asprintf(&script, "%s%s%s", head, cases[i].script, tail) > 0);
		assert_true(asprintf(&ref, "%zu.1", i) > 0 && asprintf(&host, "host%zu", i) > 0);
		play(script, 60);
		assert_int_equal(submit_to(ref, host, true), 0);
		await_lost(ref, false, cases[i].words);
		AUTO_FREE char *file = NULL;
		assert_true(asprintf(&file, "%s/%s/a/x", dir, ref) > 0);
		assert_int_not_equal(access(file, F_OK), 0);
	}
}

/* A spool that cannot be written costs the files alone. */
static void
test_no_room(void **state)
{
	(void)state;
	play(GREETING LOOP(FILE_EVENT("a", "x", "3", ABC, "YWJj", LAST) DONE("done")), 60);
	free(scratch_write(dir, "1.1", "no folder"));
	assert_int_equal(submit("1.1"), 0);
	job_ends(fake, "1.1", "done");
	assert_true(log_count(fake, "not all of its files were stored"));
}

/* ---- copies of kettle-exec ---- */

static void
test_missing(void **state)
{
	(void)state;
	play("case $script in *mktemp*) cat >\"$0.copied\"; exit 0;; esac\n"
		 "[ -e \"$0.copied\" ] || exit 113\n" GREETING LOOP(DONE("done")),
		60);
	assert_int_equal(submit_to("1.1", "far", false), 0);
	job_ends(fake, "1.1", "done");
	AUTO_FREE char *copy = path_join(dir, "ssh.copied"), *archive = path_join(dir, "exec.tar.xz");
	AUTO_FREE char *there = NULL, *here = NULL;
	size_t there_size, here_size;
	assert_int_equal(file_read(copy, 1000, &there, &there_size, &err), 0);
	assert_int_equal(file_read(archive, 1000, &here, &here_size, &err), 0);
	assert_true(there_size == here_size && memcmp(there, here, here_size) == 0);
}

static void
test_copy_fails(void **state)
{
	(void)state;
	play("case $script in *mktemp*) echo 'the disk is full' >&2; exit 1;; esac\nexit 113\n", 60);
	assert_int_equal(submit_to("1.1", "far", false), 0);
	await_lost("1.1", true, "The copy of kettle-exec to far exited with status 1: the disk is full");
	play("case $script in *mktemp*) exit 0;; esac\nexit 113\n", 60);
	assert_int_equal(submit_to("2.1", "second", false), 0);
	await_lost("2.1", true, "kettle-exec was copied to second, but is missing there");
	/* An installed one is never copied. */
	assert_int_equal(submit_to("3.1", "third", true), 0);
	await_lost("3.1", true, "kettle-exec on third exited with status 113");
}

/* What the operator has forgotten costs nobody an attempt: jobs wait for it. */
static void
test_no_archive(void **state)
{
	(void)state;
	play(GREETING LOOP(DONE("done")), 60);
	AUTO_FREE char *archive = path_join(dir, "exec.tar.xz");
	assert_int_equal(unlink(archive), 0);
	assert_int_equal(submit_to("1.1", "far", false), 0);
	await_lost("1.1", true, "make it with `make portable-exec`");
	assert_true(member_is(job_ends(fake, "1.1", "lost"), "loss", "unusable"));
}

/* ---- requests ---- */

static void
test_requests(void **state)
{
	(void)state;
	struct answer facts = {0}, beat = {0}, report = {0};
	AUTO_JSON json_t *unit = unit_of("far", true), *tools = json_pack("[s]", "/opt/python");
	play("case $script in *--doctor*) echo '{\"version\": \"11\"}'; exit 1;; esac\n" GREETING LOOP(
			 BEAT "[ \"$op\" != tools ] || echo \"told $line\" >&2"),
		60);
	/* Without a connection the engine learns nothing of a kettle-exec that hangs. */
	assert_true(ops->heartbeat(self, unit, beaten, &beat, &err) < 0);
	assert_int_equal(ops->doctor(self, unit, answered, &report, &err), 0);
	assert_int_equal(ops->describe(self, unit, answered, &facts, &err), 0);
	assert_int_equal(facts.answers + report.answers, 0);
	assert_int_equal(kettle_fake_run(fake, is_answered, &facts, PATIENCE_MS), 0);
	assert_int_equal(kettle_fake_run(fake, is_answered, &report, PATIENCE_MS), 0);
	assert_string_equal(facts.version, "9");
	assert_string_equal(report.version, "11");
	assert_int_equal(ops->heartbeat(self, unit, beaten, &beat, &err), 0);
	assert_int_equal(kettle_fake_run(fake, is_answered, &beat, PATIENCE_MS), 0);
	assert_true(beat.answers == 1 && beat.code == 0);
	assert_int_equal(ops->tools(self, tools, &err), 0);
	plugin_stop(fake, &kettle_plugin, self);
	assert_true(log_count(fake, "told") && log_count(fake, "/opt/python"));
	kettle_plugin.start(self, &err);
	play("echo nothing there >&2; exit 255", 60);
	struct answer late[2] = {{0}};
	assert_int_equal(ops->describe(self, unit, answered, &late[0], &err), 0);
	assert_int_equal(ops->doctor(self, unit, answered, &late[1], &err), 0);
	assert_int_equal(kettle_fake_run(fake, is_answered, &late[1], PATIENCE_MS), 0);
	assert_true(late[0].answers == 1 && late[0].code < 0 && strstr(late[0].message, "nothing there"));
	assert_true(late[1].answers == 1 && late[1].code < 0 && strstr(late[1].message, "nothing there"));
}

/* A doctor ends the pause before the next connection: the report of a repaired host is not delayed by it. */
static void
test_doctor_in_a_pause(void **state)
{
	(void)state;
	const struct kettle_host *host = kettle_fake_host(fake);
	AUTO_JSON json_t *unit = unit_of("far", true);
	struct answer failed = {0}, report = {0};
	play("[ -e ${0%ssh}mended ] || exit 255\n"
		 "case $script in *--doctor*) echo '{\"version\": \"11\"}'; exit 0;; esac\n" GREETING LOOP(BEAT),
		60);
	assert_int_equal(ops->doctor(self, unit, answered, &failed, &err), 0);
	assert_int_equal(kettle_fake_run(fake, is_answered, &failed, PATIENCE_MS), 0);
	assert_true(failed.code < 0);
	AUTO_FREE char *mended = scratch_write(dir, "mended", "");
	uint64_t asked_ms = host->monotonic_ms(host);
	assert_int_equal(ops->doctor(self, unit, answered, &report, &err), 0);
	assert_int_equal(kettle_fake_run(fake, is_answered, &report, PATIENCE_MS), 0);
	assert_string_equal(report.version, "11");
	assert_int_equal(host->monotonic_ms(host), asked_ms);
}

/* A doctor is answered before a connection that may take long has failed; the job that waits for it goes on waiting. */
static void
test_doctor_of_a_slow_host(void **state)
{
	(void)state;
	AUTO_JSON json_t *unit = unit_of("far", true);
	struct answer report = {0};
	play("echo no route yet >&2; kill -STOP $$", 600);
	assert_int_equal(submit("1.1"), 0);
	assert_int_equal(ops->doctor(self, unit, answered, &report, &err), 0);
	assert_int_equal(kettle_fake_run(fake, is_answered, &report, PATIENCE_MS), 0);
	assert_int_equal(report.code, KETTLE_EUNAVAIL);
	assert_sentence(report.message);
	assert_int_equal(json_array_size(job_reports(fake, "1.1", "completions")), 0);
}

/* ---- the end ---- */

/* In each phase, with a job: at once, and no attempt counts. */
static void
test_stop(void **state)
{
	(void)state;
	static const struct {
		const char *script;
		bool installed;
		const char *phase;
	} cases[] = {
		{"echo phase-connecting >&2; exec sleep 1000", true, "phase-connecting"},
		{"case $script in *mktemp*) echo phase-copying >&2; exec sleep 1000;; esac; exit 113", false, "phase-copying"},
		{GREETING LOOP("[ \"$op\" != run ] || echo phase-up >&2"), true, "phase-up"},
		{GREETING "echo phase-deaf >&2; exec sleep 1000", true, "phase-deaf"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO_FREE char *ref = NULL, *host = NULL;
		assert_true(asprintf(&ref, "%zu.1", i) > 0 && asprintf(&host, "host%zu", i) > 0);
		play(cases[i].script, 60);
		assert_int_equal(submit_to(ref, host, cases[i].installed), 0);
		assert_int_equal(kettle_fake_run(fake, is_connecting, (void *)cases[i].phase, PATIENCE_MS), 0);
		plugin_stop(fake, &kettle_plugin, self);
		assert_false(member_is(job_ends(fake, ref, "lost"), "loss", "failed"));
		assert_true(submit("9.9") < 0);
		assert_non_null(strstr(err.message, "stopping"));
	}
	/* Before anything has begun, and in a pause. */
	play("exit 255", 60);
	assert_int_equal(submit_to("5.1", "host5", false), 0);
	plugin_stop(fake, &kettle_plugin, self);
	job_ends(fake, "5.1", "lost");
	kettle_plugin.start(self, &err);
	assert_int_equal(submit_to("6.1", "host6", true), 0);
	job_ends(fake, "6.1", "lost");
	assert_int_equal(submit_to("7.1", "host6", true), 0);
	plugin_stop(fake, &kettle_plugin, self);
	job_ends(fake, "7.1", "lost");
}

/* ---- command lines ---- */

static void
test_options(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"{}",
		"{\"host\": \"\"}",
		"{\"host\": \"-oProxyCommand=touch x\"}",
		"{\"host\": \"a b\"}",
		"{\"host\": \"a\\nb\"}",
		"{\"host\": \"a\", \"exec\": \"/x\\n\"}",
		"{\"host\": \"a\", \"folder\": \"\"}",
		"{\"host\": \"a\", \"flags\": [\"\\u007f\"]}",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		AUTO_JSON json_t *options = json_loads(bad[i], 0, NULL);
		assert_int_equal(ssh_command_check(options, &err), KETTLE_EINVAL);
	}
	AUTO_JSON json_t *unit = json_pack("{s:{s:s}}", "options", "host", "-x");
	const struct kettle_job job = {.size = sizeof(job), .ref = "1.1", .device = "FAR", .unit = unit};
	assert_int_equal(ops->submit(self, &job, unit, &err), KETTLE_EINVAL);
}

/* What is quoted comes out of a shell as it was, and what must not be weakened comes before all else. */
static void
test_command(void **state)
{
	(void)state;
	static const char name[] = "a \"b\" 'c' $HOME `x` !y \\z";
	AUTO_FREE char *program = scratch_write(dir, name, "#!/bin/sh\nprintf '<%s>' \"$@\"\n");
	assert_int_equal(chmod(program, 0700), 0);
	AUTO_JSON json_t *options =
		json_pack("{s:s, s:s, s:[s, s]}", "host", "far", "exec", program, "flags", "-o", "BatchMode=no");
	struct ssh_setup ssh = {
		.program = "ssh", .connect_s = 7, .lease_s = 30, .options = options, .settings = "{\"a\": \"it's\"}"};
	AUTO_ARGUMENTS struct arguments argv = {0};
	ssh_command(&ssh, SSH_SERVE, &argv);
	assert_string_equal(argv.list[0], "ssh");
	assert_string_equal(argv.list[argv.count - 2], "far");
	assert_string_equal(argv.list[argv.count - 3], "--");
	size_t own = 0, weaker = 0;
	for (size_t i = 0; i < argv.count; i++) {
		own = strcmp(argv.list[i], "-oBatchMode=yes") == 0 ? i : own;
		weaker = strcmp(argv.list[i], "BatchMode=no") == 0 ? i : weaker;
	}
	assert_true(own > 0 && weaker > own);
	FILE *shell = popen(argv.list[argv.count - 1], "r");
	char said[400] = "";
	assert_non_null(shell);
	assert_true(fread(said, 1, sizeof(said) - 1, shell) > 0);
	assert_int_equal(pclose(shell), 0);
	assert_string_equal(said, "<--serve><--lease><30><--settings><{\"a\": \"it's\"}>");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(test_jobs),
	TEST(test_machines),
	TEST(test_ends),
	TEST(test_unreachable),
	TEST(test_hangs),
	TEST(test_silence),
	TEST(test_slow),
	TEST(test_slow_line),
	TEST(test_long_line),
	TEST(test_protocol),
	TEST(test_garbage),
	TEST(test_too_large),
	TEST(test_talks),
	TEST(test_files),
	TEST(test_bad_files),
	TEST(test_no_room),
	TEST(test_missing),
	TEST(test_copy_fails),
	TEST(test_no_archive),
	TEST(test_requests),
	cmocka_unit_test_setup_teardown(test_doctor_in_a_pause, setup_simulated, teardown),
	cmocka_unit_test_setup_teardown(test_doctor_of_a_slow_host, setup_simulated, teardown),
	TEST(test_stop),
	TEST(test_options),
	TEST(test_command),
};

UNIT_TESTS(test_ssh, .words = "waiting");
