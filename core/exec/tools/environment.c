/* SPDX-License-Identifier: MIT */
/*
 * The environment of processes that kettle-exec starts for plans. It contains nothing from kettle-exec's own
 * environment.
 */
#include <config.h>

#include "exec/tools/tools.h"

#include "base/base.h"
#include "base/text.h"

#define SYSTEM_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/*
 * Appends the folder of a program, separated by colons. Leaves out a folder that is not UTF-8 text, since JSON cannot
 * hold it.
 */
static void
add_folder(struct buf *path, const char *program)
{
	const char *slash = strrchr(program, '/');
	int len = slash > program ? (int)(slash - program) : 1;
	if (utf8_valid(program, (size_t)len))
		buf_printf(path, "%s%.*s", path->len ? ":" : "", len, program);
}

json_t *
environment_make(const struct execconfig *config, const char *program, const struct strings *further)
{
	AUTO_BUF struct buf path = {0};
	if (program)
		add_folder(&path, program);
	for (size_t i = 0; further && i < further->count; i++)
		add_folder(&path, further->list[i]);
	buf_printf(&path, "%s%s", path.len ? ":" : "", SYSTEM_PATH);
	json_object_each(config->tools, name, value)
		add_folder(&path, json_string_value(value));
	return json_pack("{s:s, s:s, s:s}", "PATH", path.data, "LANG", "C.UTF-8", "USER", "kettle");
}

void
environment_add_tool(const struct execconfig *config, const char *name, json_t *environment)
{
	json_object_update(environment, json_object_get(config->env, name));
}

void
environment_list(const json_t *environment, struct strings *list)
{
	json_object_each(environment, name, value)
		strings_take(list, xasprintf("%s=%s", name, json_string_value(value)));
}
