/* SPDX-License-Identifier: MIT */
/* Numbers from outside, read strictly, and as they are shown. */
#include <config.h>

#include "base/number.h"

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NUMBER 64    /* bytes of its text */
#define SIZE_POWER_MAX 4 /* T */

bool
number_parse(const char *text, double *ret_number)
{
	size_t len = text ? strlen(text) : 0;
	char *end = NULL;
	if (len == 0 || len > MAX_NUMBER || strspn(text, "0123456789+-.eE") != len)
		return false;
	double number = strtod(text, &end);
	if (*end || !isfinite(number))
		return false;
	*ret_number = number;
	return true;
}

bool
number_parse_integer(const char *text, long long *ret_number)
{
	size_t len = text ? strlen(text) : 0;
	char *end = NULL;
	errno = 0;
	if (len == 0 || strspn(text, "0123456789+-") != len)
		return false;
	long long number = strtoll(text, &end, 10);
	if (*end || end == text || errno)
		return false;
	*ret_number = number;
	return true;
}

/*
 * Splits "4Gi" into the number, which consists of `digits`, and the power of its unit: 0: none, 1: K, … *ret_rest: what
 * follows the unit.
 */
static bool
split_unit(const char *text, const char *digits, char ret_number[24], int *ret_power, const char **ret_rest)
{
	static const char units[] = "KMGTPE";
	size_t len = text ? strspn(text, digits) : 0;
	if (len == 0 || len >= 24)
		return false;
	memcpy(ret_number, text, len);
	ret_number[len] = '\0';
	const char *unit = text[len] ? strchr(units, text[len]) : NULL;
	*ret_power = unit ? (int)(unit - units + 1) : 0;
	*ret_rest = text + len + (unit ? 1 : 0);
	return true;
}

bool
number_parse_size(const char *text, long long *ret_bytes)
{
	char number[24];
	const char *rest;
	int power;
	long long bytes;
	if (!split_unit(text, "0123456789", number, &power, &rest) || power > SIZE_POWER_MAX)
		return false;
	if (power && *rest == 'i')
		rest++;
	if (*rest || !number_parse_integer(number, &bytes) || bytes > LLONG_MAX >> 10 * power)
		return false;
	*ret_bytes = bytes << 10 * power;
	return true;
}

bool
number_parse_rate(const char *text, double *ret_rate)
{
	char number[24];
	const char *rest;
	int power;
	double rate;
	if (!split_unit(text, "0123456789.", number, &power, &rest) || *rest || !number_parse(number, &rate))
		return false;
	for (; power > 0; power--)
		rate *= 1000;
	*ret_rate = rate;
	return true;
}

/* "1e-05" is written as "1e-5", and "1e+20" as "1e20". */
static void
shorten_exponent(char *text)
{
	char *from = strchr(text, 'e'), *to = from ? from + 1 : NULL;
	if (!from)
		return;
	from++;
	if (*from == '-')
		*to++ = *from;
	from += strspn(from, "+-0");
	memmove(to, from, strlen(from) + 1);
}

void
number_text(double number, char ret_text[NUMBER_TEXT_SIZE])
{
	/* All numbers of 15 digits are different doubles, but for those that are so small that they have fewer. */
	int digits = fabs(number) < DBL_MIN ? 1 : DBL_DIG;
	do
		(void)snprintf(ret_text, NUMBER_TEXT_SIZE, "%.*g", digits, number);
	while (strtod(ret_text, NULL) != number && ++digits <= DBL_DECIMAL_DIG);
	shorten_exponent(ret_text);
}
