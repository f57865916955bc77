/* SPDX-License-Identifier: MIT */
/* Numbers from outside, read strictly. */
#ifndef KETTLE_BASE_NUMBER_H
#define KETTLE_BASE_NUMBER_H

#include <stdbool.h>

/*
 * A plain decimal number, finite: strtod alone would take spaces, hexadecimal, "inf" and "nan" as well. false, also for
 * NULL: it is none, and *ret_number stays as it was. [any]
 */
bool number_parse(const char *text, double *ret_number);
/* A decimal integer, an optional sign and digits, in the same way. [any] */
bool number_parse_integer(const char *text, long long *ret_number);

#endif
