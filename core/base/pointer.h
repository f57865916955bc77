/* SPDX-License-Identifier: MIT */
/* JSON pointers (RFC 6901): how a node of a value is named between the parser, the checker and people. All [any]. */
#pragma once

#include <jansson.h>

#include "base/buf.h"

/* Appends "/KEY" with the escapes of a pointer. */
void pointer_add_key(struct buf *pointer, const char *key);
/* Appends "/INDEX". */
void pointer_add_index(struct buf *pointer, size_t index);
/* Appends a pointer as people write it: "/tests/0/size" becomes "tests[0].size". */
void pointer_add_path(struct buf *out, const char *pointer);
/* Replaces the value at the pointer (value NULL: removes it), if there is one. "" empties the document. */
void pointer_replace(json_t *document, const char *pointer, json_t *value_take);
