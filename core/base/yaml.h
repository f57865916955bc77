/* SPDX-License-Identifier: MIT */
/* YAML becomes JSON, with the lines kept for messages. */
#ifndef KETTLE_BASE_YAML_H
#define KETTLE_BASE_YAML_H

#include <jansson.h>
#include <kettle/error.h>
#include <stddef.h>

#include "base/buf.h"

#define YAML_MAX_BYTES (1u << 20)
#define YAML_MAX_NODES 100000
#define YAML_MAX_TEXT (8u << 20) /* bytes of all keys and strings, aliases counted as copied */
#define YAML_MAX_TAGS 8          /* `%TAG`: libyaml compares each of these directives with all before it */
#define YAML_MAX_DEPTH 64
#define YAML_MAX_KEY 1000    /* bytes */
#define YAML_MAX_POINTER 256 /* bytes: the line of a node further down is that of its parent */

/*
 * Parses one document of at most YAML_MAX_BYTES. Aliases are copied, and counted as copied, so that a small file cannot
 * become a large value; merge keys (<<) are understood. Plain scalars follow the YAML 1.2 core schema (true, True and
 * TRUE, null and ~, integers of 64 bits, finite floats; a date stays a string); a repeated key is an error; keys are
 * strings as written. An empty document is null. lines maps the JSON pointer of every node ("", "/tests/0/size") to its
 * line, a member to the line of its key. Errors begin with "NAME:LINE: ". EINVAL, ETOOBIG. Both results are new
 * references; ret_lines may be NULL. [any]
 */
int yaml_parse(
	const char *name, const char *text, size_t size, json_t **ret_value, json_t **ret_lines, struct kettle_error *err);

/* One plain scalar as yaml_parse would read it. New reference. EINVAL (without a place). [any] */
int yaml_scalar(const char *text, size_t size, json_t **ret_value, struct kettle_error *err);

/* The line of a node, or of its nearest parent that has one; 0 when unknown. [any] */
int yaml_line(const json_t *lines, const char *pointer);
/* Appends "NAME:LINE: " of a node, "NAME: " where its line is unknown (lines may be NULL), nothing without a name. [any] */
void yaml_add_place(struct buf *out, const char *name, const json_t *lines, const char *pointer);

#endif
