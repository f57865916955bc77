/* SPDX-License-Identifier: MIT */
/* The form that a request sends, as JSON. All [any]. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>

#include "http/server.h"

#define FIELDS_FILE_KEPT "file.base64" /* the field of text that may be as long as a file: one that was sent before */

/*
 * The fields of a form, of either type: texts, and of a file {"name", "base64"}; those that are not UTF-8, and files without
 * a name, are left out. New reference; NULL: the body is malformed (EINVAL), or a text is too long (ETOOBIG).
 */
json_t *visit_fields(const struct http_request *request, struct kettle_error *err);
/* The most bytes of body that such a request may have. */
size_t visit_fields_max(const struct http_request *request);
