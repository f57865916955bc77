/* SPDX-License-Identifier: MIT */
/* Comma-separated values, RFC 4180, for programs and for spreadsheets. [any] */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/*
 * Writes a row: the values of an object in their order, or its names. null is an empty field; a value that is not text
 * is written as JSON. Text that a spreadsheet would evaluate as a formula gets an apostrophe before it.
 */
void csv_put(FILE *out, const json_t *row, bool names);
