/* SPDX-License-Identifier: MIT */
/* JSON from other machines, bounded before it is parsed: a value takes up to a hundred times the bytes of its text. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stddef.h>

#define BOUNDED_JSON_DEPTH 64      /* objects and arrays in each other */
#define BOUNDED_JSON_VALUES 500000 /* of a text of a service: read in half a second */
/*
 * Limits of the one line that kettle-exec writes about a job: as much as all of its steps may report (BUDGET_BYTES,
 * BUDGET_VALUES), and the fixed report of each of up to 500 steps. A value takes up to 300 bytes, so one line takes up
 * to 100 MB.
 */
#define BOUNDED_JSON_RESULT_BYTES (16u << 20)
#define BOUNDED_JSON_RESULT 300000 /* values */

/*
 * Parses an object, with flags of jansson; a new reference. NULL: the text has too many values or levels (ETOOBIG), or
 * is no JSON object in valid UTF-8 (EINVAL). err may be NULL; its sentence begins with "it " and has no full stop, for
 * use inside another sentence. [any]
 */
json_t *bounded_json_parse(const char *text, size_t len, size_t max_values, size_t flags, struct kettle_error *err);
