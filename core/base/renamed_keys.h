/* SPDX-License-Identifier: MIT */
/* Keys of configuration files that had another name. Both are accepted until 1.0. */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct renamed_key {
	const char *section; /* of the document; NULL: the document itself */
	const char *from, *to;
};

/*
 * Gives the old keys of a document their new names, before it is checked. A key that is there by both names stays, so
 * that the check refuses the old one. `places` (of yaml_parse, may be NULL) follows. New reference: an array with a
 * sentence for each key that was renamed; `file` begins it. [any]
 */
json_t *renamed_keys_apply(
	json_t *root, const struct renamed_key *keys, size_t count, const char *file, json_t *places);
