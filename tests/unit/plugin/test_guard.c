/* SPDX-License-Identifier: MIT */
/* Operations that answer what no plugin may answer: an error with a sentence, and a line in the log. */
#include <config.h>

#include "plugin/guard.h"

#include <string.h>

#include "base/cleanup.h"
#include "lib/unit_test.h"
#include "loop/watch.h"
#include "unit/log_lines.h"

/* What every operation of the plugin answers. */
static struct {
	int rc;
	const char *sentence, *member;
	unsigned retry_s;
	void *self;
	int calls, late; /* the code of an answer that comes later */
} answer;

static int
answered(void *self, struct kettle_error *err)
{
	answer.calls++;
	assert_ptr_equal(self, answer.self);
	if (answer.sentence)
		(void)kettle_fail(err, answer.rc, "%s", answer.sentence);
	if (err && answer.member)
		(void)kettle_blame(err, KETTLE_CAUSE_LACKS, answer.member, 0);
	if (err)
		err->retry_s = answer.retry_s;
	return answer.rc;
}

static int
do_plan(void *self, const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err)
{
	(void)request;
	*ret_plan = NULL;
	return answered(self, err);
}

static int
do_capacity(void *self, const json_t *unit, unsigned *ret_slots, unsigned *ret_prefetch, struct kettle_error *err)
{
	(void)unit;
	*ret_slots = *ret_prefetch = 2;
	return answered(self, err);
}

static int
do_submit(void *self, const struct kettle_job *job, const json_t *plan, struct kettle_error *err)
{
	(void)job, (void)plan;
	return answered(self, err);
}

static void
do_cancel(void *self, const char *ref)
{
	assert_string_equal(ref, "1.1");
	(void)answered(self, NULL);
}

static int
do_recover(void *self, const struct kettle_job *job, const char *handle, struct kettle_error *err)
{
	(void)job, (void)handle;
	return answered(self, err);
}

static int
do_same_machine(void *self, const json_t *unit, const json_t *other)
{
	(void)unit, (void)other;
	return answered(self, NULL);
}

static int
do_describe(void *self, const json_t *unit, void (*done)(void *arg, const struct kettle_error *err, json_t *facts),
	void *arg, struct kettle_error *err)
{
	struct kettle_error late = {.code = answer.late};
	(void)unit;
	if (answer.rc == 0)
		done(arg, &late, NULL);
	return answered(self, err);
}

static int
do_heartbeat(void *self, const json_t *unit, void (*done)(void *arg, const struct kettle_error *err), void *arg,
	struct kettle_error *err)
{
	struct kettle_error late = {.code = answer.late};
	(void)unit;
	if (answer.rc == 0)
		done(arg, &late);
	return answered(self, err);
}

static int
do_run(void *self, int argc, const char *const *argv, const json_t *globals, void (*done)(void *arg, int status),
	void *arg, struct kettle_error *err)
{
	(void)argc, (void)argv, (void)globals, (void)done, (void)arg;
	return answered(self, err);
}

static const struct kettle_language language = {.size = sizeof(language), .comment = "#", .plan = do_plan};
static const struct kettle_runner runner = {.size = sizeof(runner),
	.capacity = do_capacity,
	.submit = do_submit,
	.cancel = do_cancel,
	.recover = do_recover,
	.describe = do_describe,
	.heartbeat = do_heartbeat,
	.same_machine = do_same_machine};
static const struct kettle_frontend frontend = {.size = sizeof(frontend), .run = do_run};

static struct guard guard;
static struct log_lines lines;

static void
begin(uint32_t kind, int rc, const char *sentence)
{
	static const char *const names[] = {NULL, "perl", "far", "chat"};
	const struct kettle_plugin plugin = {.kind = kind,
		.abi_minor = KETTLE_ABI_MINOR,
		.name = names[kind],
		.language = kind == KETTLE_LANGUAGE ? &language : NULL,
		.runner = kind == KETTLE_RUNNER ? &runner : NULL,
		.frontend = kind == KETTLE_FRONTEND ? &frontend : NULL};
	static struct kettle_plugin kept[4];
	kept[kind] = plugin;
	memset(&answer, 0, sizeof(answer));
	answer.rc = rc;
	answer.sentence = sentence;
	answer.self = &answer;
	guard_init(&guard, &kept[kind], &answer);
}

static int
setup(void **state)
{
	(void)state;
	watch_settings.quiet_ms = 0;
	lines = log_lines_begin();
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	log_lines_end(&lines);
	watch_settings.quiet_ms = WATCH_QUIET_MS;
	return 0;
}

static void
expect_logged(const char *part)
{
	AUTO_FREE char *text = log_lines_text(&lines);
	if (!strstr(text, part))
		fail_msg("not in the log: %s: %s", part, text);
}

static void
expect_silence(void)
{
	AUTO_FREE char *text = log_lines_text(&lines);
	assert_string_equal(text, "");
}

/* What is in order passes as it is. */
static void
test_good(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	unsigned slots = 0, prefetch = 0;
	begin(KETTLE_RUNNER, 0, NULL);
	assert_int_equal(guard.plugin.runner->capacity(&guard, NULL, &slots, &prefetch, &err), 0);
	assert_int_equal(slots, 2);
	guard.plugin.runner->cancel(&guard, "1.1");
	assert_int_equal(answer.calls, 2);
	assert_null(guard.plugin.runner->tools);
	assert_null(guard.plugin.runner->detach);
	assert_null(guard.plugin.language);
	begin(KETTLE_RUNNER, 1, NULL);
	assert_int_equal(guard.plugin.runner->same_machine(&guard, NULL, NULL), 1);
	begin(KETTLE_RUNNER, KETTLE_ERATE, "It is too early.");
	answer.retry_s = 7;
	assert_int_equal(guard.plugin.runner->submit(&guard, NULL, NULL, &err), KETTLE_ERATE);
	assert_int_equal(err.code, KETTLE_ERATE);
	assert_int_equal(err.retry_s, 7);
	assert_string_equal(err.message, "It is too early.");
	assert_int_equal(guard.plugin.runner->submit(&guard, NULL, NULL, NULL), KETTLE_ERATE);
	/* The code says all. */
	begin(KETTLE_RUNNER, KETTLE_ENOENT, NULL);
	assert_int_equal(guard.plugin.runner->recover(&guard, NULL, "h", &err), KETTLE_ENOENT);
	begin(KETTLE_LANGUAGE, 0, NULL);
	assert_string_equal(guard.plugin.language->comment, "#");
	expect_silence();
}

static void
test_positive(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	begin(KETTLE_RUNNER, 7, NULL);
	assert_int_equal(guard.plugin.runner->submit(&guard, NULL, NULL, &err), KETTLE_EINTERNAL);
	assert_int_equal(err.code, KETTLE_EINTERNAL);
	assert_string_equal(err.message, "The runner `far` failed in `submit` and does not say why.");
	expect_logged("far: `submit` returned 7, which is neither 0 nor a code of kettle/error.h: it counts as an error.");
	begin(KETTLE_RUNNER, 1, "It is done.");
	assert_int_equal(guard.plugin.runner->recover(&guard, NULL, "h", &err), KETTLE_EINTERNAL);
	assert_string_equal(err.message, "It is done.");
	expect_logged("far: `recover` returned 1,");
	begin(KETTLE_FRONTEND, 2, NULL);
	assert_int_equal(guard.plugin.frontend->run(&guard, 0, NULL, NULL, NULL, NULL, &err), KETTLE_EINTERNAL);
	assert_string_equal(err.message, "The frontend `chat` failed in `run` and does not say why.");
}

static void
test_no_sentence(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	json_t *plan = NULL;
	begin(KETTLE_LANGUAGE, KETTLE_EINVAL, NULL);
	assert_int_equal(guard.plugin.language->plan(&guard, NULL, &plan, &err), KETTLE_EINVAL);
	assert_string_equal(err.message, "The language `perl` failed in `plan` and does not say why.");
	expect_logged("perl: `plan` failed without a sentence that says why.");
	begin(KETTLE_LANGUAGE, -77, NULL);
	assert_int_equal(guard.plugin.language->plan(&guard, NULL, &plan, &err), KETTLE_EINTERNAL);
	expect_logged("perl: `plan` returned -77,");
}

static void
on_late(void *arg, const struct kettle_error *err)
{
	*(struct kettle_error *)arg = *err;
}

static void
on_late_facts(void *arg, const struct kettle_error *err, json_t *facts)
{
	assert_null(facts);
	*(struct kettle_error *)arg = *err;
}

/* The same of answers that come later. */
static void
test_late(void **state)
{
	(void)state;
	struct kettle_error late = {0}, err = {0};
	const struct kettle_runner *ops = &guard.runner;
	begin(KETTLE_RUNNER, 0, NULL);
	assert_int_equal(ops->heartbeat(&guard, NULL, on_late, &late, &err), 0);
	assert_int_equal(late.code, 0);
	expect_silence();
	answer.late = 5;
	assert_int_equal(ops->heartbeat(&guard, NULL, on_late, &late, &err), 0);
	assert_int_equal(late.code, KETTLE_EINTERNAL);
	assert_string_equal(late.message, "The runner `far` failed in `heartbeat` and does not say why.");
	expect_logged("far: `heartbeat` returned 5,");
	answer.late = KETTLE_EUNAVAIL;
	assert_int_equal(ops->describe(&guard, NULL, on_late_facts, &late, &err), 0);
	assert_int_equal(late.code, KETTLE_EUNAVAIL);
	assert_string_equal(late.message, "The runner `far` failed in `describe` and does not say why.");
	/* Refused at once: nothing comes later. */
	begin(KETTLE_RUNNER, KETTLE_EUNAVAIL, "It is night.");
	late = (struct kettle_error){0};
	assert_int_equal(ops->describe(&guard, NULL, on_late_facts, &late, &err), KETTLE_EUNAVAIL);
	assert_int_equal(ops->heartbeat(&guard, NULL, on_late, &late, &err), KETTLE_EUNAVAIL);
	assert_int_equal(late.code, 0);
	assert_string_equal(err.message, "It is night.");
}

/* What is wrong, and a cause; of a plugin that was built before there were both, they are the end of its message. */
static void
test_members(void **state)
{
	(void)state;
	struct kettle_error err = {0};
	begin(KETTLE_RUNNER, KETTLE_EUNAVAIL, "It has no cuBLAS.");
	answer.member = "cuBLAS";
	assert_int_equal(guard.runner.submit(&guard, NULL, NULL, &err), KETTLE_EUNAVAIL);
	assert_int_equal(err.cause, KETTLE_CAUSE_LACKS);
	assert_string_equal(err.member, "cuBLAS");
	struct kettle_plugin old = *guard.inner;
	old.abi_minor = 1;
	guard_init(&guard, &old, &answer);
	assert_int_equal(guard.runner.submit(&guard, NULL, NULL, &err), KETTLE_EUNAVAIL);
	assert_int_equal(err.cause, KETTLE_CAUSE_NONE);
	assert_string_equal(err.member, "");
	assert_string_equal(err.message, "It has no cuBLAS.");
}

/* One line of each kind and plugin, until the time has passed. */
static void
test_quiet(void **state)
{
	(void)state;
	watch_settings.quiet_ms = UINT64_C(1) << 40;
	begin(KETTLE_RUNNER, 3, "No.");
	for (int i = 0; i < 3; i++)
		(void)guard.plugin.runner->submit(&guard, NULL, NULL, NULL);
	AUTO_FREE char *text = log_lines_text(&lines);
	assert_null(strchr(strchr(text, '\n') + 1, '\n'));
	watch_settings.quiet_ms = 0;
	(void)guard.plugin.runner->submit(&guard, NULL, NULL, NULL);
	AUTO_FREE char *more = log_lines_text(&lines);
	assert_true(strlen(more) > strlen(text));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
/* The last one first: no line on this plugin has come yet. */
static const struct CMUnitTest tests[] = {TEST(test_quiet), TEST(test_good), TEST(test_positive),
	TEST(test_no_sentence), TEST(test_late), TEST(test_members)};

UNIT_TESTS(test_guard);
