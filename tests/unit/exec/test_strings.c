/* SPDX-License-Identifier: MIT */
/* Lists of strings, and lists of elements that have a `next`. */
#include <config.h>

#include <string.h>

#include "base/cleanup.h"
#include "base/list.h"
#include "exec/util/strings.h"
#include "lib/unit_test.h"

static void
holds_strings(void **state)
{
	(void)state;
	AUTO_STRINGS struct strings strings = {0};
	AUTO_STRINGS struct strings all = {0};
	AUTO_JSON json_t *array = json_pack("[s, i, s]", "b", 1, "a");
	assert_false(strings_have(&strings, "b"));
	strings_sort(&strings);
	strings_read(&strings, NULL);
	strings_read(&strings, array);
	assert_int_equal(strings.count, 2);
	assert_null(strings.list[2]);
	assert_true(strings_have(&strings, "a"));
	strings_take(&all, strdup("c"));
	strings_add_all(&all, &strings);
	strings_sort(&all);
	AUTO_JSON json_t *sorted = strings_json(&all);
	AUTO_JSON json_t *wanted = json_pack("[s, s, s]", "a", "b", "c");
	assert_true(json_equal(sorted, wanted));
}

static void
removes_strings(void **state)
{
	(void)state;
	AUTO_STRINGS struct strings strings = {0};
	AUTO_JSON json_t *array = json_pack("[s, s, s]", "a", "b", "a");
	strings_remove(&strings, "a");
	strings_read(&strings, array);
	strings_remove(&strings, "c");
	assert_int_equal(strings.count, 3);
	strings_remove(&strings, "a");
	assert_int_equal(strings.count, 2);
	assert_string_equal(strings.list[0], "b");
	assert_string_equal(strings.list[1], "a");
	assert_null(strings.list[2]);
	strings_remove(&strings, "a");
	strings_remove(&strings, "b");
	assert_int_equal(strings.count, 0);
	assert_null(strings.list[0]);
}

struct element {
	struct element *next;
};

static void
links_elements(void **state)
{
	(void)state;
	struct element *head = NULL, a = {0}, b, c;
	LIST_REMOVE(head, &a);
	LIST_APPEND(head, &a);
	LIST_APPEND(head, &b);
	LIST_APPEND(head, &c);
	LIST_REMOVE(head, &b);
	LIST_REMOVE(head, &b);
	assert_true(head == &a && a.next == &c && !c.next);
	LIST_REMOVE(head, &a);
	LIST_REMOVE(head, &c);
	assert_null(head);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(holds_strings),
	cmocka_unit_test(removes_strings),
	cmocka_unit_test(links_elements),
};

UNIT_TESTS(test_strings);
