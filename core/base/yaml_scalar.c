/* SPDX-License-Identifier: MIT */
/* The value of a plain scalar of YAML, by the core schema of version 1.2. */
#include <config.h>

#include "base/yaml.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool
is_one_of(const char *text, const char *const *list)
{
	for (; *list; list++) {
		if (strcmp(text, *list) == 0)
			return true;
	}
	return false;
}

static bool
all_of(const char *text, const char *set)
{
	return *text && text[strspn(text, set)] == '\0';
}

/* The base of an integer, and where its digits begin; 0: it is none. */
static int
integer_base(const char *text, const char **ret_digits)
{
	const char *digits = text + (*text == '-' || *text == '+');
	*ret_digits = text;
	if (all_of(digits, "0123456789"))
		return 10;
	*ret_digits = text + 2;
	if (strncmp(text, "0o", 2) == 0 && all_of(text + 2, "01234567"))
		return 8;
	if (strncmp(text, "0x", 2) == 0 && all_of(text + 2, "0123456789abcdefABCDEF"))
		return 16;
	return 0;
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool
is_float(const char *text)
{
	static const char digits[] = "0123456789";
	text += *text == '-' || *text == '+';
	size_t whole = strspn(text, digits);
	text += whole;
	if (*text == '.') {
		size_t part = strspn(++text, digits);
		text += part;
		whole += part;
	}
	if (whole == 0)
		return false;
	if (*text == '\0')
		return true;
	if (*text != 'e' && *text != 'E')
		return false;
	text++;
	text += *text == '-' || *text == '+';
	return all_of(text, digits);
}

static int
read_integer(const char *text, const char *digits, int base, json_t **ret_value, struct kettle_error *err)
{
	errno = 0;
	long long number = strtoll(digits, NULL, base);
	if (errno)
		return kettle_fail(
			err, KETTLE_EINVAL, "the integer %.40s does not fit in 64 bits; quote it to make it a string.", text);
	*ret_value = json_integer(number);
	return 0;
}

static int
read_float(const char *text, json_t **ret_value, struct kettle_error *err)
{
	double number = strtod(text, NULL);
	if (!isfinite(number))
		return kettle_fail(err, KETTLE_EINVAL, "the number %.40s is not finite; quote it to make it a string.", text);
	*ret_value = json_real(number);
	return 0;
}

/* text holds no NUL. */
static int
read_text(const char *text, size_t size, json_t **ret_value, struct kettle_error *err)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
	static const char *const trues[] = {"true", "True", "TRUE", NULL};
	static const char *const falses[] = {"false", "False", "FALSE", NULL};
	static const char *const odd[] = {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN", NULL};
	const char *digits;
	int base = integer_base(text, &digits);
	if (is_one_of(text, nulls))
		*ret_value = json_null();
	else if (is_one_of(text, trues))
		*ret_value = json_true();
	else if (is_one_of(text, falses))
		*ret_value = json_false();
	else if (base)
		return read_integer(text, digits, base, ret_value, err);
	else if (is_float(text))
		return read_float(text, ret_value, err);
	else if (is_one_of(text + (*text == '-' || *text == '+'), odd))
		return kettle_fail(err, KETTLE_EINVAL, "the number %s is not finite; quote it to make it a string.", text);
	else
		*ret_value = json_stringn(text, size);
	return 0;
}

int
yaml_scalar(const char *text, size_t size, json_t **ret_value, struct kettle_error *err)
{
	if (memchr(text, '\0', size))
		return kettle_fail(err, KETTLE_EINVAL, "a string contains a NUL character.");
	return read_text(text, size, ret_value, err);
}
