/* SPDX-License-Identifier: MIT */
/* Histograms: each duration in its bucket, and the buckets added up. */
#include <config.h>

#include "base/cleanup.h"
#include "base/histogram.h"
#include "base/json_access.h"
#include "lib/unit_test.h"

static json_int_t
count_up_to(const json_t *json, double le)
{
	size_t i;
	const json_t *bucket;
	json_array_foreach(json_object_get(json, "buckets"), i, bucket)
		if (json_real_value(json_object_get(bucket, "le")) == le)
			return member_int(bucket, "count");
	fail_msg("no bucket %f", le);
	return -1;
}

static void
test_buckets(void **state)
{
	static const double durations[] = {-1, 0, 0.0005, 0.00051, 0.2, 30, 1800, 1801, 1e9};
	struct histogram histogram = {0};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(durations); i++)
		histogram_add(&histogram, durations[i]);
	AUTO_JSON json_t *json = histogram_json(&histogram);
	assert_int_equal(json_array_size(json_object_get(json, "buckets")), HISTOGRAM_BOUNDS + 1);
	assert_int_equal(count_up_to(json, 0.0005), 3);
	assert_int_equal(count_up_to(json, 0.001), 4);
	assert_int_equal(count_up_to(json, 0.1), 4);
	assert_int_equal(count_up_to(json, 0.25), 5);
	assert_int_equal(count_up_to(json, 30), 6);
	assert_int_equal(count_up_to(json, 1800), 7);
	const json_t *last = json_array_get(json_object_get(json, "buckets"), HISTOGRAM_BOUNDS);
	assert_true(json_is_null(json_object_get(last, "le")));
	assert_int_equal(member_int(last, "count"), 9);
	assert_int_equal(member_int(json, "count"), 9);
	assert_true(member_number(json, "sum") > 1e9 + 3631.2 && member_number(json, "sum") < 1e9 + 3631.3);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_buckets),
};

UNIT_TESTS(test_histogram);
