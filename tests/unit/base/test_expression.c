/* SPDX-License-Identifier: MIT */
/* Expressions of tasks: what they are worth, and that none is too much. */
#include <config.h>

#include "base/expression.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "lib/unit_test.h"

/* The value, or NAN with the sentence in *ret_err. */
static double
value_of(const char *text, struct kettle_error *ret_err)
{
	AUTO_JSON json_t *names = json_pack("{s:I, s:I, s:I, s:I, s:s, s:b, s:[i]}", "m", (json_int_t)3, "size",
		(json_int_t)5, "zero", (json_int_t)0, "least", (json_int_t)INT64_MIN, "kind", "dense", "log", 1, "shape", 7);
	double value = NAN;
	*ret_err = (struct kettle_error){0};
	int rc = expression_value(text, names, &value, ret_err);
	assert_true(rc == 0 ? isfinite(value) : rc == KETTLE_EINVAL && isnan(value));
	return value;
}

static void
test_values(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		double value;
	} good[] = {{"7", 7}, {" 12 * size ", 60}, {"2*m*size+1", 31}, {"1+2*m", 7}, {"(1+2)*m", 9}, {"10-m-2", 5},
		{"12/m/2", 2}, {"size/2", 2.5}, {"0.5*m", 1.5}, {"zero", 0}, {"m-size", -2}, {"least", -9223372036854775808.0},
		{"((((((((((((((((((((m))))))))))))))))))))", 3}, {"zero/m", 0}};
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct kettle_error err;
		if (value_of(good[i].text, &err) != good[i].value)
			fail_msg("%s: %s", good[i].text, err.message);
	}
}

static void
test_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"", " ", "+", "1+", "*2", "-1", "2 3", "m size", "(m", "m)", "()", "1..2", ".",
		"n", "siz", "kind", "log", "shape", "m^2", "m**2", "1e9", "0x10", "m/zero", "zero/zero", "1/(m-3)", "m;m", "$",
		"m\n", "(((((((((((((((((((((m)))))))))))))))))))))"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct kettle_error err;
		if (isfinite(value_of(bad[i], &err)))
			fail_msg("`%s` is taken", bad[i]);
		assert_sentence(err.message);
	}
}

/* What is long or deep is bounded before it is read, and what is too large is no infinity. */
static void
test_bounds(void **state)
{
	(void)state;
	struct kettle_error err;
	AUTO_BUF struct buf sum = {0}, deep = {0}, product = {0};
	for (size_t i = 0; i < 500; i++)
		buf_adds(&sum, i ? "+m" : "m");
	for (size_t i = 0; i < 1000; i++)
		buf_adds(&deep, "(");
	for (size_t i = 0; i < 16; i++)
		buf_adds(&product, i ? "*least" : "least");
	assert_true(isfinite(value_of(product.data, &err)));
	buf_adds(&product, "*least-0*least");
	const char *const refused[] = {sum.data, deep.data, product.data};
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		assert_true(isnan(value_of(refused[i], &err)));
		assert_sentence(err.message);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_values),
	cmocka_unit_test(test_refused),
	cmocka_unit_test(test_bounds),
};

UNIT_TESTS(test_expression);
