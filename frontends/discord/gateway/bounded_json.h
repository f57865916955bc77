/* SPDX-License-Identifier: MIT */
/* JSON from the network, bounded before it is parsed. */
#ifndef KETTLE_DISCORD_BOUNDED_JSON_H
#define KETTLE_DISCORD_BOUNDED_JSON_H

#include <jansson.h>
#include <kettle/error.h>
#include <stddef.h>

#define BOUNDED_JSON_DEPTH 64      /* objects and arrays in each other */
#define BOUNDED_JSON_VALUES 500000 /* of one text: read in half a second */

/*
 * Parses an object; a new reference. NULL: the text has too many values or levels (ETOOBIG), or is no JSON object in valid
 * UTF-8 (EINVAL). err may be NULL; its sentence begins with "it " and has no full stop, for use in another one. [any]
 */
json_t *bounded_json_parse(const char *text, size_t len, struct kettle_error *err);

#endif
