/* SPDX-License-Identifier: MIT */
/* The registry of the jobs that runners have. */
#include <config.h>

#include "engine/inflight.h"
#include "lib/unit_test.h"

#include <kettle/error.h>
#include <stdio.h>
#include <string.h>

static void
test_many(void **state)
{
	(void)state;
	enum { COUNT = 500 };
	static struct inflight_job jobs[COUNT];
	struct inflight inflight = {0};
	for (int i = 0; i < COUNT; i++) {
		(void)snprintf(jobs[i].ref, sizeof(jobs[i].ref), "%d.1", i * 7 % COUNT);
		assert_int_equal(inflight_add(&inflight, &jobs[i]), 0);
	}
	assert_int_equal(inflight.count, COUNT);
	for (int i = 0; i < COUNT; i++)
		assert_ptr_equal(inflight_find(&inflight, jobs[i].ref), &jobs[i]);
	for (int i = 0; i < COUNT; i++) {
		inflight_remove(&inflight, &jobs[i]);
		assert_null(inflight_find(&inflight, jobs[i].ref));
	}
	assert_int_equal(inflight.count, 0);
	assert_null(inflight.by_ref);
}

/* Of two with one reference the first stays, and the second takes nothing with it. */
static void
test_twice(void **state)
{
	(void)state;
	struct inflight inflight = {0};
	struct inflight_job one = {.ref = "1.1"}, other = {.ref = "1.1"};
	assert_int_equal(inflight_add(&inflight, &one), 0);
	assert_int_equal(inflight_add(&inflight, &other), KETTLE_ECONFLICT);
	inflight_remove(&inflight, &other);
	assert_ptr_equal(inflight_find(&inflight, "1.1"), &one);
	inflight_remove(&inflight, &one);
	inflight_remove(&inflight, &one);
	assert_int_equal(inflight.count, 0);
}

/* A reference that is longer than any belongs to no job. */
static void
test_long(void **state)
{
	(void)state;
	struct inflight inflight = {0};
	struct inflight_job one = {0};
	char text[200];
	memset(one.ref, 'x', sizeof(one.ref) - 1);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(inflight_add(&inflight, &one), 0);
	assert_null(inflight_find(&inflight, text));
	assert_null(inflight_find(&inflight, ""));
	inflight_remove(&inflight, &one);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_many),
	cmocka_unit_test(test_twice),
	cmocka_unit_test(test_long),
};

UNIT_TESTS(test_inflight);
