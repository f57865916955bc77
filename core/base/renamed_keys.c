/* SPDX-License-Identifier: MIT */
#include <config.h>

#include "base/renamed_keys.h"

#include "base/base.h"

/* Gives the places of a key and of all below it the new key. */
static void
move_places(json_t *places, const char *from, const char *to)
{
	const char *pointer;
	json_t *place;
	void *next;
	size_t len = strlen(from);
	json_object_foreach_safe(places, next, pointer, place) {
		if (strncmp(pointer, from, len) != 0 || (pointer[len] && pointer[len] != '/'))
			continue;
		AUTO_FREE char *moved = xasprintf("%s%s", to, pointer + len);
		(void)json_object_set(places, moved, place);
		(void)json_object_del(places, pointer);
	}
}

json_t *
renamed_keys_apply(json_t *root, const struct renamed_key *keys, size_t count, const char *file, json_t *places)
{
	json_t *warnings = json_array();
	for (size_t i = 0; i < count; i++) {
		json_t *section = keys[i].section ? json_object_get(root, keys[i].section) : root;
		json_t *value = json_object_get(section, keys[i].from);
		if (!value || json_object_get(section, keys[i].to))
			continue;
		(void)json_object_set(section, keys[i].to, value);
		(void)json_object_del(section, keys[i].from);
		const char *slash = keys[i].section ? "/" : "", *name = keys[i].section ? keys[i].section : "";
		AUTO_FREE char *from = xasprintf("%s%s/%s", slash, name, keys[i].from);
		AUTO_FREE char *to = xasprintf("%s%s/%s", slash, name, keys[i].to);
		move_places(places, from, to);
		(void)json_array_append_new(
			warnings, json_sprintf("%s: the key `%s%s%s` is now called `%s`; its old name is accepted until 1.0.", file,
						  name, keys[i].section ? "." : "", keys[i].from, keys[i].to));
	}
	return warnings;
}
