/* SPDX-License-Identifier: MIT */
/* The environment of the processes that kettle-exec starts for plans: nothing of its own is in it. */
#include <config.h>

#include "exec/tools/environment.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

#define SYSTEM_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Appends the folder of a program, between colons. */
static int
add_folder(struct buf *path, const char *program)
{
	const char *slash = strrchr(program, '/');
	return buf_printf(path, "%s%.*s", path->len ? ":" : "", slash > program ? (int)(slash - program) : 1, program);
}

static char *
make_path(const struct execconfig *config, const char *program, const json_t *further)
{
	AUTO_BUF struct buf path = {0};
	const char *name;
	json_t *value;
	size_t i;
	int rc = program ? add_folder(&path, program) : 0;
	json_array_foreach(further, i, value)
		if (rc == 0)
			rc = add_folder(&path, json_string_value(value));
	if (rc == 0)
		rc = buf_printf(&path, "%s%s", path.len ? ":" : "", SYSTEM_PATH);
	json_object_foreach(config->tools, name, value)
		if (rc == 0)
			rc = add_folder(&path, json_string_value(value));
	return rc == 0 ? buf_take(&path) : NULL;
}

json_t *
environment_make(const struct execconfig *config, const char *program, const json_t *further)
{
	AUTO_FREE char *path = make_path(config, program, further);
	return path ? json_pack("{s:s, s:s, s:s}", "PATH", path, "LANG", "C.UTF-8", "USER", "kettle") : NULL;
}

int
environment_add_tool(const struct execconfig *config, const char *name, json_t *environment)
{
	json_t *more = json_object_get(config->env, name);
	return more ? json_object_update(environment, more) : 0;
}

json_t *
environment_flatten(const json_t *environment)
{
	AUTO_JSON json_t *list = json_array();
	const char *name;
	json_t *value;
	json_object_foreach((json_t *)environment, name, value)
		if (json_array_append_new(list, json_sprintf("%s=%s", name, json_string_value(value))) != 0)
			return NULL;
	return STEAL(list);
}

const char **
environment_pointers(const json_t *array)
{
	size_t count = json_array_size(array);
	const char **list = calloc(count + 1, sizeof(*list));
	for (size_t i = 0; list && i < count; i++)
		list[i] = json_string_value(json_array_get(array, i));
	return list;
}
