/* SPDX-License-Identifier: MIT */
/* The !POPCORN header of a submission. Pure. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>

#include "base/buf.h"

#define HEADER_MAX_DEVICES 32 /* names in one directive */

/*
 * Reads the first comment block (lines that start with # or //). Returns {"leaderboard": name or absent,
 * "gpus": [names] or absent, "remarks": [sentences] about lines that look like directives and are not read as such, or
 * absent}. Unknown or repeated directives and missing arguments are errors that name the line. [any]
 */
int popcorn_header_parse(const char *code, size_t size, json_t **ret_header, struct kettle_error *err);
/* Adds the code to a buffer without the directives of its first comment block. [any] */
void popcorn_header_strip(const char *code, size_t size, struct buf *text);
