/* SPDX-License-Identifier: MIT */
/* Arithmetic expressions from files, by recursive descent. */
#include <config.h>

#include "base/expression.h"

#include <math.h>

#include "base/base.h"
#include "base/nearest.h"
#include "base/number.h"

#define SHOWN 40 /* bytes of the rest in a message */

/* The rest of the text. */
struct reader {
	const char *at;
	unsigned depth;
	const json_t *names;
	struct kettle_error *err;
};

static int read_sum(struct reader *reader, double *ret_value);

static char
next(struct reader *reader)
{
	reader->at += strspn(reader->at, " ");
	return *reader->at;
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int
read_number(struct reader *reader, double *ret_value)
{
	size_t len = strspn(reader->at, "0123456789.");
	AUTO_FREE char *text = xstrndup(reader->at, len);
	if (!number_parse(text, ret_value))
		return kettle_fail(reader->err, KETTLE_EINVAL, "has `%.*s`, which is not a number.", SHOWN, text);
	reader->at += len;
	return 0;
}

static int
read_name(struct reader *reader, double *ret_value)
{
	size_t len = 0;
	while (is_letter(reader->at[len]) || (reader->at[len] >= '0' && reader->at[len] <= '9'))
		len++;
	AUTO_FREE char *name = xstrndup(reader->at, len);
	const json_t *value = json_object_get(reader->names, name);
	const char *near = value ? NULL : nearest_key(name, reader->names);
	if (!value)
		return kettle_fail(reader->err, KETTLE_EINVAL, "has the name `%.64s`, which is no key of the case%s%s%s", name,
			NEAREST_END(near));
	if (!json_is_integer(value))
		return kettle_fail(reader->err, KETTLE_EINVAL, "uses the key `%s`, which is not an integer in the case.", name);
	*ret_value = (double)json_integer_value(value);
	reader->at += len;
	return 0;
}

static int
read_group(struct reader *reader, double *ret_value)
{
	if (reader->depth == EXPRESSION_DEPTH)
		return kettle_fail(
			reader->err, KETTLE_EINVAL, "has more than %d parentheses inside each other.", EXPRESSION_DEPTH);
	reader->depth++;
	reader->at++;
	int rc = read_sum(reader, ret_value);
	if (rc == 0 && next(reader) != ')')
		rc = kettle_fail(reader->err, KETTLE_EINVAL, "lacks a `)`.");
	if (rc < 0)
		return rc;
	reader->at++;
	reader->depth--;
	return 0;
}

static int
read_operand(struct reader *reader, double *ret_value)
{
	char c = next(reader);
	if (c == '(')
		return read_group(reader, ret_value);
	if (is_letter(c))
		return read_name(reader, ret_value);
	if (c && strchr("0123456789.", c))
		return read_number(reader, ret_value);
	return kettle_fail(reader->err, KETTLE_EINVAL,
		c ? "has `%.*s` in place of a number or a name." : "is not complete.", SHOWN, reader->at);
}

static double
apply(char sign, double a, double b)
{
	return sign == '+' ? a + b : sign == '-' ? a - b : sign == '*' ? a * b : a / b;
}

/* Operands with the operators of a level between them, from the left. */
static int
read_level(struct reader *reader, const char *operators, int (*read)(struct reader *, double *), double *ret_value)
{
	double value = 0, operand = 0;
	int rc = read(reader, &value);
	while (rc == 0 && next(reader) && strchr(operators, *reader->at)) {
		char sign = *reader->at++;
		rc = read(reader, &operand);
		if (rc == 0 && sign == '/' && operand == 0)
			return kettle_fail(reader->err, KETTLE_EINVAL, "divides by zero.");
		if (rc == 0)
			value = apply(sign, value, operand);
		if (!isfinite(value))
			return kettle_fail(reader->err, KETTLE_EINVAL, "has a step whose result is too large for a number.");
	}
	*ret_value = value;
	return rc;
}

static int
read_product(struct reader *reader, double *ret_value)
{
	return read_level(reader, "*/", read_operand, ret_value);
}

static int
read_sum(struct reader *reader, double *ret_value)
{
	return read_level(reader, "+-", read_product, ret_value);
}

int
expression_value(const char *text, const json_t *names, double *ret_value, struct kettle_error *err)
{
	struct reader reader = {.at = text, .names = names, .err = err};
	double value = 0;
	if (strlen(text) > EXPRESSION_MAX)
		return kettle_fail(err, KETTLE_EINVAL, "has more than %d characters.", EXPRESSION_MAX);
	int rc = read_sum(&reader, &value);
	if (rc == 0 && next(&reader))
		rc = kettle_fail(err, KETTLE_EINVAL, "has `%.*s` in place of an operator.", SHOWN, reader.at);
	if (rc == 0)
		*ret_value = value;
	return rc;
}
