/* SPDX-License-Identifier: MIT */
/* Numbers from outside, read strictly, and as they are shown. */
#pragma once

#include <stdbool.h>

/*
 * A plain decimal number, finite (strtod alone also accepts spaces, hexadecimal, "inf" and "nan"). false for anything
 * else and for NULL; *ret_number is then untouched. [any]
 */
bool number_parse(const char *text, double *ret_number);
/* A decimal integer, an optional sign and digits, in the same way. [any] */
bool number_parse_integer(const char *text, long long *ret_number);

/* A size in bytes: a decimal integer of at least 0, with K, M, G or T (1024 and its powers; Ki, Mi, … are the same). [any] */
bool number_parse_size(const char *text, long long *ret_bytes);

/* A rate: a decimal number of at least 0, with K, M, G, T, P or E (1000 and its powers): "3.35T". [any] */
bool number_parse_rate(const char *text, double *ret_rate);

#define NUMBER_TEXT_SIZE 32
/* The fewest digits that read back as the same number, which is finite: "0.00001" is 1e-5. [any] */
void number_text(double number, char ret_text[NUMBER_TEXT_SIZE]);
