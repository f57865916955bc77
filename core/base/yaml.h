/* SPDX-License-Identifier: MIT */
/* YAML becomes JSON, with the lines kept for messages. */
#ifndef KETTLE_YAML_H
#define KETTLE_YAML_H

#include <jansson.h>
#include <kettle/error.h>
#include <stddef.h>

#define YAML_MAX_BYTES (1u << 20)
#define YAML_MAX_NODES 100000
#define YAML_MAX_DEPTH 64

/*
 * Parses one document of at most YAML_MAX_BYTES. Aliases are refused beyond YAML_MAX_NODES nodes in all (they are
 * copied, and counted as copied), so that a small file cannot become a large value; merge keys (<<) are understood.
 * Plain scalars follow the YAML 1.2 core schema (true/True/false, null/~, integers, floats) and the field's
 * True/False; a repeated key is an error. lines maps the JSON pointer of every node ("", "/tests/0/size") to its
 * line. Errors begin with "NAME:LINE: ". Both results are new references. [any]
 */
int yaml_parse(
	const char *name, const char *text, size_t size, json_t **ret_value, json_t **ret_lines, struct kettle_error *err);

/* The line of a node, or of its nearest parent that has one; 0 when unknown. */
int yaml_line(const json_t *lines, const char *pointer);

#endif
