/* SPDX-License-Identifier: MIT */
/* Times of a report: which texts are numbers, and what a run cannot have taken. */
#include <config.h>

#include "judge/score.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "lib/unit_test.h"

static void
test_numbers(void **state)
{
	(void)state;
	static const char *const bad[] = {"nan", "-nan", "inf", "-inf", "0", "-1", "1e-9", ".5", "0.999", "0x10", " 1",
		"1 ", "1e999", "1,5", "", "1.2.3", "infinity", "1e", "--1",
		"1000000000000000000000000000000000000000000000000000000000000000000000000000"};
	static const char *const good[] = {"1", "1.5", "1e6", "+2", "1.0001", "1E3", "123456789.25"};
	for (size_t i = 0; i < ARRAY_SIZE(bad) + ARRAY_SIZE(good); i++) {
		bool wanted = i >= ARRAY_SIZE(bad);
		const char *text = wanted ? good[i - ARRAY_SIZE(bad)] : bad[i];
		AUTO_JSON json_t *result = json_pack("{s:s}", "benchmark.0.mean", text);
		struct score score = {0};
		struct kettle_error err = {0};
		int rc = score_read(result, 1, "last", score_interval_kinds, &score, &err);
		if ((rc == 0) != wanted)
			fail_msg("%s", text);
		if (wanted)
			assert_true(fabs(score.value * 1e9 / strtod(text, NULL) - 1) < 1e-12);
	}
}

/* Calls cannot take longer together than the run. */
static void
test_time_there_was(void **state)
{
	(void)state;
	static const struct {
		const char *runs, *mean, *raw;
		double wall_ns;
		bool possible;
	} reports[] = {{"10", "1e6", NULL, 1e7, true}, {"10", "1e6", NULL, 9e6, false}, {"10", "1e6", "8e5", 9e6, true},
		{"10", "1e5", "1e6", 9e6, false}, {"1e12", "1e6", NULL, 1e9, false}, {NULL, "1e6", NULL, 1e6, true},
		{NULL, "1e6", NULL, 9e5, false}, {NULL, "1e308", NULL, 6e7, false}, {NULL, "1e6", "8e5", 9e5, true},
		{"0", "1e6", NULL, 1e9, false}, {"1.5", "1e6", NULL, 1e9, false}, {"x", "1e6", NULL, 1e9, false},
		{"10", "1e6", NULL, 0, true}};
	for (size_t i = 0; i < ARRAY_SIZE(reports); i++) {
		AUTO_JSON json_t *result = json_pack("{s:s*, s:s, s:s*}", "benchmark.0.runs", reports[i].runs,
			"benchmark.0.mean", reports[i].mean, "benchmark.0.raw-mean", reports[i].raw);
		struct kettle_error err = {0};
		if ((score_check_time(result, 1, reports[i].wall_ns, &err) == 0) != reports[i].possible)
			fail_msg("report %zu: %s", i, err.message);
	}
	/* Together more than a number can be. */
	AUTO_JSON json_t *most = json_pack("{s:s, s:s}", "benchmark.0.mean", "1e308", "benchmark.1.mean", "1e308");
	struct kettle_error err = {0};
	assert_int_equal(score_check_time(most, 2, 6e7, &err), KETTLE_EINVAL);
	assert_null(strstr(err.message, "inf"));
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_numbers),
	cmocka_unit_test(test_time_there_was),
};

UNIT_TESTS(test_score);
