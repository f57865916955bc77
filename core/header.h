/* SPDX-License-Identifier: MIT */
/* The !POPCORN header of a submission. Pure. */
#ifndef KETTLE_HEADER_H
#define KETTLE_HEADER_H

#include <jansson.h>
#include <kettle/error.h>

/*
 * Reads the first comment block (lines that start with # or //). Returns {"leaderboard": name or absent,
 * "gpus": [names] or absent}. Unknown or repeated directives and missing arguments are errors that name the line. [any]
 */
int header_parse(const char *code, size_t size, json_t **ret_header, struct kettle_error *err);

#endif
