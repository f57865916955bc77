/* SPDX-License-Identifier: MIT */
/* A message with files as one body (multipart/form-data). */
#pragma once

#include "discord/rest/rest.h"

#include "base/buf.h"

#define MULTIPART_NAME_MAX 100 /* bytes of a file's name */

/* A file's name in Discord's form: ASCII letters, digits, ".", "-" and "_". New string. */
char *multipart_name(const char *name);
/*
 * Makes the body: payload is the JSON of the message, as payload_json; the files are files[0], files[1], …. Returns
 * the content type with the boundary, which occurs nowhere else in the body; new string.
 */
char *multipart_make(const char *payload, const struct rest_file *files, size_t count, struct buf *out);
