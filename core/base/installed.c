/* SPDX-License-Identifier: MIT */
/* Where the parts of an installation are, which may have been moved as a whole. */
#include <config.h>

#include "base/installed.h"

#include <unistd.h>

#include "base/buf.h"
#include "base/base.h"
#include "base/file.h"

#define BUILD_MARK "config.status" /* lies beside the programs in a build folder */

/* The next name of a path, of at most len bytes; 0: there is none. Moves *at behind it. */
static size_t
next_name(const char **at, const char **ret_name)
{
	*ret_name = *at + strspn(*at, "/");
	size_t len = strcspn(*ret_name, "/");
	*at = *ret_name + len;
	return len;
}

char *
installed_relative_path(const char *from, const char *to)
{
	AUTO_BUF struct buf way = {0};
	const char *one, *other, *rest = to;
	size_t len, other_len;
	buf_adds(&way, "");
	while ((len = next_name(&from, &one)) > 0) {
		other_len = next_name(&to, &other);
		if (len != other_len || memcmp(one, other, len) != 0)
			break;
		rest = to;
	}
	for (; len > 0; len = next_name(&from, &one))
		buf_adds(&way, "../");
	while ((len = next_name(&rest, &one)) > 0)
		buf_printf(&way, "%.*s/", (int)len, one);
	if (way.len > 0)
		way.data[way.len - 1] = '\0';
	return buf_take(&way);
}

bool
installed_is_build(void)
{
	AUTO_FREE char *program = path_program_dir(), *mark = program ? path_join(program, BUILD_MARK) : NULL;
	return mark && access(mark, F_OK) == 0;
}

char *
installed_path(const char *in_build, const char *configured)
{
	AUTO_FREE char *program = path_program_dir();
	AUTO_FREE char *way = installed_is_build() ? NULL : installed_relative_path(KETTLE_BIN_DIR, configured);
	const char *part = way ? way : in_build;
	if (!program || !part)
		return xstrdup(configured);
	unsigned levels = 0;
	for (; strncmp(part, "../", 3) == 0; part += 3)
		levels++;
	AUTO_FREE char *above = path_above(program, levels);
	char *near = path_join(*above ? above : "/", part), *real = realpath(near, NULL);
	if (!real)
		return near;
	free(near);
	return real;
}

char *
installed_tasks(void)
{
	const char *named = getenv("KETTLE_TASKS");
	return named && *named ? xstrdup(named) : installed_path(INSTALLED_TASKS);
}
