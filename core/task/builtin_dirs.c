/* SPDX-License-Identifier: MIT */
/* Where the tasks and harnesses are that Kettle brings with it. */
#include <config.h>

#include "task/builtin_dirs.h"

#include "base/installed.h"
#include "base/xalloc.h"

#include <stdlib.h>
#include <string.h>

char *
builtin_dirs_find(void)
{
	const char *named = getenv("KETTLE_TASKS");
	return named && *named ? xstrdup(named) : installed_path(INSTALLED_TASKS);
}
