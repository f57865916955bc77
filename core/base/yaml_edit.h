/* SPDX-License-Identifier: MIT */
/* Changes single values in a YAML text and leaves every other byte, comments too, as it is. */
#ifndef KETTLE_BASE_YAML_EDIT_H
#define KETTLE_BASE_YAML_EDIT_H

#include <jansson.h>
#include <kettle/error.h>
#include <stddef.h>

/*
 * text: what yaml_parse takes. edits: JSON pointer → new string; each must name a plain or quoted scalar that is
 * written out at its place, not one that an alias or a merge key brings. New text. EINVAL: one of them is not found, or
 * is another node. [any]
 */
int yaml_edit(const char *text, size_t size, const json_t *edits, char **ret_text, struct kettle_error *err);

#endif
