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

#define MAX_NUMBER 64 /* bytes of its text */

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

bool
number_parse_size(const char *text, long long *ret_bytes)
{
	static const char units[] = "KMGT";
	size_t digits = text ? strspn(text, "0123456789") : 0;
	char number[24];
	long long bytes;
	if (digits == 0 || digits >= sizeof(number))
		return false;
	memcpy(number, text, digits);
	number[digits] = '\0';
	const char *unit = text[digits] ? strchr(units, text[digits]) : NULL, *rest = text + digits + (unit ? 1 : 0);
	if (unit && *rest == 'i')
		rest++;
	if (*rest || !number_parse_integer(number, &bytes))
		return false;
	int shift = unit ? 10 * (int)(unit - units + 1) : 0;
	if (bytes > LLONG_MAX >> shift)
		return false;
	*ret_bytes = bytes << shift;
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
