/* SPDX-License-Identifier: MIT */
/* YAML becomes JSON, with the places kept for messages. */
#pragma once

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
#define YAML_MAX_POINTER 256 /* bytes: the place of a node further down is that of its parent */

/*
 * Parses one document of at most YAML_MAX_BYTES. Aliases are copied, and counted as copied, so that a small file cannot
 * become a large value; merge keys (<<) are understood. Plain scalars follow the YAML 1.2 core schema (true, True and
 * TRUE, null and ~, integers of 64 bits, finite floats; a date stays a string); a repeated key is an error; keys are
 * strings as written. An empty document is null. places maps the JSON pointer of every node ("", "/tests/0/size") to
 * [line, column, line of its key, column of its key], counted from 1, columns in characters; a list or a map over
 * several lines has the place of its key. Errors begin with "NAME:LINE:COLUMN: ", that of a file that is too large with
 * "NAME: ". EINVAL, ETOOBIG. Both results are new references; ret_places may be NULL. [any]
 */
int yaml_parse(
	const char *name, const char *text, size_t size, json_t **ret_value, json_t **ret_places, struct kettle_error *err);

/* One plain scalar as yaml_parse would read it. New reference. EINVAL (without a place). [any] */
int yaml_scalar(const char *text, size_t size, json_t **ret_value, struct kettle_error *err);

#define YAML_MAX_REMARKS 20
/*
 * A remark ("NAME:LINE:COLUMN: …", a string) for each of the first YAML_MAX_REMARKS plain scalars that readers of YAML
 * 1.1, such as PyYAML, read differently: `no`, `1_000`, `0b11`, `017`, `1e5`, `1:30`, dates. text: a document that
 * yaml_parse has read; own_key: a key whose value no other program reads. [any]
 */
void yaml_add_remarks(const char *name, const char *text, size_t size, const char *own_key, json_t *remarks);

/*
 * Appends "NAME:LINE:COLUMN: " of a node, or of its nearest parent that has a place; "NAME: " if there is none (places
 * may be NULL), nothing without a name. [any]
 */
void yaml_add_place(struct buf *out, const char *name, const json_t *places, const char *pointer);
/* The same for the key of a member. [any] */
void yaml_add_key_place(struct buf *out, const char *name, const json_t *places, const char *pointer);
/* Puts the place of a node in front of err's message, and returns err's code. EINVAL without err. [any] */
int yaml_fail_at(const char *name, const json_t *places, const char *pointer, struct kettle_error *err);

/* ---- changes of single values, which leave every other byte as it is, comments too ---- */

/*
 * text: what yaml_parse takes. edits: JSON pointer → new string; each must name a plain or quoted scalar that is
 * written out at its place, not one that an alias or a merge key brings. New text. EINVAL: one of them is not found, or
 * is another node. [any]
 */
int yaml_edit(const char *text, size_t size, const json_t *edits, char **ret_text, struct kettle_error *err);
