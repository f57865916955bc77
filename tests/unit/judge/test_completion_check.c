/* SPDX-License-Identifier: MIT */
/* Machines that lie: times that cannot be are unknown, and outcomes that the plan does not have are refused. */
#include <config.h>

#include "judge/completion.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "lib/unit_test.h"

#define AWAY INT64_C(60000000000) /* a minute */

/* One outcome of a job that was received at 1,000 s and ended at 1,050 s, with the members of a case in place of honest ones. */
static json_t *
reported(const char *stamps, const char *members)
{
	AUTO_FREE char *text = xasprintf(
		"{\"status\": \"done\", \"stamps\": %s, \"outcomes\": [{\"step\": \"build\", \"start_ns\": 1001000000000, "
		"\"wall_ns\": 7}, {\"step\": \"test\", \"kind\": \"run\"%s}]}",
		stamps, members);
	json_t *json = json_loads(text, 0, NULL);
	if (!json)
		fail_msg("%s", text);
	return json;
}

#define STAMPS "{\"received_ns\": 1000000000000, \"device_ns\": 1001000000000, \"done_ns\": 1050000000000}"
#define OWN(begun, queued, launched, ended) \
	", \"stamps\": {\"begun_ns\": " begun ", \"queued_ns\": " queued ", \"launched_ns\": " launched \
	", \"ended_ns\": " ended "}"

static void
test_times(void **state)
{
	(void)state;
	static const struct {
		const char *stamps, *members, *remark;
		bool job, wall, start, step; /* whether they are still known */
	} cases[] = {
		{STAMPS,
			", \"start_ns\": 1010000000000, \"wall_ns\": 40000000000" OWN(
				"1000000000000", "1001000000000", "1002000000000", "1050000000000"),
			"", true, true, true, true},
		{STAMPS, "", "", true, false, false, false},
		/* A run that took longer than the job, or ended after it; before its receipt; in 2036; negative ones. */
		{STAMPS, ", \"start_ns\": 1010000000000, \"wall_ns\": 50000000001", "the time of the step `test`", true, false,
			true, false},
		{STAMPS, ", \"start_ns\": 1010000000000, \"wall_ns\": 40000000001", "the start of the step `test`", true, true,
			false, false},
		{STAMPS, ", \"start_ns\": 999999999999, \"wall_ns\": 1", "the start of the step `test`", true, true, false,
			false},
		{STAMPS, ", \"start_ns\": 2082758400000000000, \"wall_ns\": 1", "the start of the step `test`", true, true,
			false, false},
		{STAMPS, ", \"start_ns\": 900000000000000000, \"wall_ns\": 1", "the start of the step `test`", true, true,
			false, false},
		{STAMPS, ", \"start_ns\": -1, \"wall_ns\": -1", "the time of the step `test`", true, false, false, false},
		{STAMPS, OWN("1000000000000", "1001000000000", "1002000000000", "1050000000001"),
			"the stamps of the step `test`", true, false, false, false},
		{STAMPS, OWN("1000000000000", "-5", "1002000000000", "1050000000000"), "the stamps of the step `test`", true,
			false, false, false},
		/* A job that took an hour of the minute that it was away, or ended before it began. */
		{"{\"received_ns\": 1000000000000, \"device_ns\": 0, \"done_ns\": 4600000000000}",
			", \"start_ns\": 1010000000000, \"wall_ns\": 40000000000", "the stamps of the job", false, true, true,
			false},
		{"{\"received_ns\": 1050000000000, \"device_ns\": 0, \"done_ns\": 1000000000000}", "", "the stamps of the job",
			false, false, false, false},
		{"{\"received_ns\": -1000000000000, \"device_ns\": 0, \"done_ns\": 1000000000000}", "", "the stamps of the job",
			false, false, false, false},
		{"{\"received_ns\": 1000000000000, \"device_ns\": 1060000000000, \"done_ns\": 1050000000000}", "",
			"the stamps of the job", false, false, false, false},
		/* Without stamps of the job: what the engine saw, and one clock of all programs. */
		{"{}", ", \"start_ns\": 1010000000000, \"wall_ns\": 60000000000", "", false, true, true, false},
		{"{}", ", \"start_ns\": 1010000000000, \"wall_ns\": 70000000000", "the time of the step `test`", false, false,
			true, false},
		{"{}", ", \"start_ns\": 900000000000000000, \"wall_ns\": 1", "the start of the step `build`", false, true,
			false, false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *json = reported(cases[i].stamps, cases[i].members);
		AUTO_COMPLETION struct completion completion = completion_read(json);
		struct kettle_error remark;
		completion_trim_times(&completion, AWAY, &remark);
		const struct outcome *test = &completion.outcomes[1];
		if (strcmp(remark.message, cases[i].remark) != 0)
			fail_msg("%zu: %s", i, remark.message);
		if (cases[i].job != (completion.done_ns > 0 && completion.received_ns > 0) ||
			cases[i].wall != test->wall_ns.given || cases[i].start != test->start_ns.given ||
			cases[i].step != (test->ended_ns > 0))
			fail_msg("%zu: %s", i, cases[i].members);
		assert_true((test->wall_ns.given || test->wall_ns.value == 0) && test->begun_ns >= 0 && test->queued_ns >= 0);
	}
}

/* Nothing is known of how long it was away: its own stamps still bound each other. */
static void
test_unknown_away(void **state)
{
	(void)state;
	AUTO_JSON json_t *json = reported(STAMPS, ", \"start_ns\": 1010000000000, \"wall_ns\": 50000000001");
	AUTO_COMPLETION struct completion completion = completion_read(json);
	struct kettle_error remark;
	completion_trim_times(&completion, 0, &remark);
	assert_string_equal(remark.message, "the time of the step `test`");
	assert_true(completion.done_ns > 0);
}

static void
test_outcomes(void **state)
{
	(void)state;
	static const struct {
		const char *outcomes, *words;
		int code;
	} cases[] = {
		{"[{\"step\": \"build\"}, {\"step\": \"test\"}]", "", 0},
		{"[{\"step\": \"test\"}, {\"step\": \"build\"}]", "", 0},
		{"[{\"step\": \"build\"}]", "", 0}, /* the verdict says what is missing */
		{"[]", "", 0},
		{"[{\"step\": \"test\"}, {\"step\": \"test\"}]", "several results of the step `test`", KETTLE_EINVAL},
		{"[{\"step\": \"build\"}, {\"step\": \"test\"}, {\"step\": \"test\"}, {\"step\": \"test\"}]", "4 results of",
			KETTLE_EINVAL},
		{"[{\"step\": \"other\\u001b[1m\"}]", "`other\xef\xbf\xbd[1m`, which is no step", KETTLE_EINVAL},
		{"[{\"step\": \"header\"}]", "no step", KETTLE_EINVAL}, /* kettle-exec says nothing of what all jobs share */
		{"[{\"state\": \"passed\"}]", "no step", KETTLE_EINVAL},
		{"[7]", "no step", KETTLE_EINVAL},
	};
	AUTO_PLAN struct plan *plan = plan_read(json_pack("{s:[{s:s, s:s, s:b}, {s:s}, {s:s, s:{s:b}}]}", "steps", "id",
		"header", "kind", "build", "shared", 1, "id", "build", "id", "test", "run", "secret", 0));
	assert_true(plan->steps[0].shared);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_JSON json_t *json = json_pack("{s:o}", "outcomes", json_loads(cases[i].outcomes, 0, NULL));
		AUTO_COMPLETION struct completion completion = completion_read(json);
		struct kettle_error err = {0};
		int rc = completion_check(&completion, plan, &err);
		if (rc != cases[i].code || !strstr(err.message, cases[i].words))
			fail_msg("%s: %d, %s", cases[i].outcomes, rc, err.message);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_times),
	cmocka_unit_test(test_unknown_away),
	cmocka_unit_test(test_outcomes),
};

UNIT_TESTS(test_completion_check);
