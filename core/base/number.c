/* SPDX-License-Identifier: MIT */
/* Numbers from outside, read strictly. */
#include <config.h>

#include "base/number.h"

#include <errno.h>
#include <math.h>
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
