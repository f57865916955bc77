/* SPDX-License-Identifier: MIT */
/* JSON from other machines, bounded before it is parsed: a value takes up to a hundred times the bytes of its text. */
#ifndef KETTLE_BASE_BOUNDED_JSON_H
#define KETTLE_BASE_BOUNDED_JSON_H

#include <jansson.h>
#include <kettle/error.h>
#include <stddef.h>

#define BOUNDED_JSON_DEPTH 64      /* objects and arrays in each other */
#define BOUNDED_JSON_VALUES 500000 /* of a text of a service: read in half a second */
#define BOUNDED_JSON_RESULT \
	2000000 /* of what kettle-exec says of a job, such as 100 steps with as many keys of a result as each may have */

/*
 * Parses an object, with flags of jansson; a new reference. NULL: the text has too many values or levels (ETOOBIG), or is no JSON object in valid
 * UTF-8 (EINVAL). err may be NULL; its sentence begins with "it " and has no full stop, for use in another one. [any]
 */
json_t *bounded_json_parse(const char *text, size_t len, size_t max_values, size_t flags, struct kettle_error *err);

#endif
