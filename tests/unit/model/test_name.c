/* SPDX-License-Identifier: MIT */
/* Names in one form of Unicode, and of one script. */
#include <config.h>

#include "model/name.h"

#include "base/cleanup.h"
#include "lib/unit_test.h"
#include "unit/store_fixture.h"

static void
test_normal(void **state)
{
	static const char *const pairs[][2] = {
		{"bob", "bob"},
		{"  two \t words ", "two words"},
		{"e\xcc\x81", "\xc3\xa9"},              /* an accent of its own */
		{"\xef\xbc\xa1\xef\xbd\x82", "Ab"},     /* full width */
		{"\xf0\x9d\x94\xb8\xe2\x84\x93", "Al"}, /* of mathematics */
		{"\xe2\x80\xae"
		 "b\xe2\x80\x8bo\xef\xbb\xbf\xe2\x80\x8f"
		 "b",
			"bob"},                            /* marks of direction, of no width */
		{"a\xe2\x80\x83\xe3\x80\x80z", "a z"}, /* blanks */
		{"\xc2\xb4", "\xcc\x81"},              /* a sign that is a blank with a mark */
		{"", ""},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		AUTO_FREE char *normal = name_normal(pairs[i][0], 48);
		assert_string_equal(normal, pairs[i][1]);
		AUTO_FREE char *again = name_normal(normal, 48);
		assert_string_equal(again, normal);
	}
	AUTO_FREE char *cut = name_normal("\xef\xb7\xba", 3);
	/* One that becomes 18. */
	assert_string_equal(cut, "\xd8\xb5\xd9\x84\xd9\x89");
}

static void
test_scripts(void **state)
{
	static const char *const one[] = {"root", "bob-2_x.7", "gr\xc3\xbc\xc3\x9f e\xcc\x81",
		"\xd0\xb8\xd0\xb2\xd0\xb0\xd0\xbd 7", "\xce\xb1\xce\xb2\xce\xb3", "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
		"\xf0\x9f\x9a\x80 ada \xf0\x9f\x9a\x80", "123 \xe2\x99\xa5", "\xe5\xa4\xaa\xe9\x83\x8e",
		"\xe5\xa4\xaa\xe3\x81\x82\xe3\x82\xa2\xe3\x83\xbc" /* Han, Hiragana, Katakana */,
		"\xe9\x87\x91\xea\xb9\x80" /* Han, Hangul */, "\xe4\xb8\xad\xe3\x84\x85" /* Han, Bopomofo */, ""};
	static const char *const several[][3] = {{"r\xd0\xbeot", "Latin", "Cyrillic"},
		{"\xd1\x80\xd0\xb0ypal", "Cyrillic", "Latin"},
		{"\xce\x91"
		 "da",
			"Greek", "Latin"},
		{"\xd0\xb8\xd0\xb2\xd0\xb0\xd0\xbd ivan", "Cyrillic", "Latin"},
		{"taro\xe5\xa4\xaa\xe9\x83\x8e", "Latin", "Han"}, {"\xe3\x81\x82\xea\xb9\x80", "Hiragana", "Hangul"},
		{"\xe5\xa4\xaa\xe3\x81\x82\xea\xb9\x80", "Han", "Hangul"}, {"\xd5\xb0o", "Armenian", "Latin"},
		{"a\xe1\x8f\x9a", "Latin", "Cherokee"}};
	/* Wholly of another script, and yet as a Latin name looks: paco, Copy 7, TOM, o. */
	static const char *const alike[] = {"\xd1\x80\xd0\xb0\xd1\x81\xd0\xbe", "\xd0\xa1\xd0\xbe\xd1\x80\xd1\x83 7",
		"\xce\xa4\xce\x9f\xce\x9c", "\xce\xbf"};
	struct kettle_error err = {0};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(one); i++)
		assert_int_equal(name_check_scripts("The name", one[i], &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(alike); i++) {
		if (name_check_scripts("The name", alike[i], &err) != KETTLE_EINVAL)
			fail_msg("`%s` is taken", alike[i]);
		assert_says(&err, i < 2 ? "all of them are Cyrillic" : "all of them are Greek");
	}
	for (size_t i = 0; i < ARRAY_SIZE(several); i++) {
		if (name_check_scripts("The name of a set", several[i][0], &err) != KETTLE_EINVAL)
			fail_msg("`%s` is taken", several[i][0]);
		assert_says(&err, "The name of a set");
		assert_says(&err, several[i][1]);
		assert_says(&err, several[i][2]);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_normal),
	cmocka_unit_test(test_scripts),
};

UNIT_TESTS(test_name);
