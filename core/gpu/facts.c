/* SPDX-License-Identifier: MIT */
/* Shared by the makers' libraries of kettle-gpu: opening one, and noting its facts. */
#include <config.h>

#include "gpu/gpu.h"

#include <dlfcn.h>
#include <string.h>

int
facts_open(const char *path, const struct facts_symbol *symbols, size_t count, struct kettle_error *err)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const char *why = library ? NULL : dlerror();
	if (!library && why && strstr(why, "No such file"))
		return kettle_fail(err, KETTLE_ENOENT, "The library `%s` is not installed.", path);
	if (!library)
		return kettle_fail(
			err, KETTLE_EUNAVAIL, "The library `%s` cannot be loaded: %s.", path, why ? why : "unknown reason");
	for (size_t i = 0; i < count; i++) {
		void *address = dlsym(library, symbols[i].name);
		if (!address && !symbols[i].optional)
			return kettle_fail(err, KETTLE_EUNAVAIL, "The library `%s` has no function `%s`.", path, symbols[i].name);
		memcpy(symbols[i].address, &address, sizeof(address));
	}
	return 0;
}

void
facts_text(json_t *gpu, const char *key, int rc, const char *text)
{
	/* For a text that is not UTF-8 json_string gives NULL, and nothing is set. */
	if (rc == 0)
		json_object_set_new(gpu, key, json_string(text));
}

void
facts_number(json_t *gpu, const char *key, uint64_t number)
{
	if (number <= INT64_MAX)
		json_object_set_new(gpu, key, json_integer((json_int_t)number));
}
