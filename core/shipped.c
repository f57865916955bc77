/* SPDX-License-Identifier: MIT */
/* Where the tasks and harnesses are that Kettle brings with it. */
#include <config.h>

#include "shipped.h"

#include "installed.h"

#include <stdlib.h>
#include <string.h>

/* A link to the source tree's that `make` puts beside the programs: nothing that is installed knows of either tree. */
#define BUILD_LINK "shipped"

char *
shipped_dir(void)
{
	const char *named = getenv("KETTLE_TASKS");
	return named && *named ? strdup(named) : installed_path(BUILD_LINK, KETTLE_TASKS_DIR);
}
