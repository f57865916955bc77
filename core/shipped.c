/* SPDX-License-Identifier: MIT */
/* Where the tasks and harnesses are that Kettle brings with it. */
#include <config.h>

#include "shipped.h"

#include "cleanup.h"
#include "file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A link to the source tree's that `make` puts beside the programs: nothing that is installed knows of either tree. */
#define BUILD_LINK "shipped"

char *
shipped_dir(void)
{
	const char *named = getenv("KETTLE_TASKS");
	struct stat st;
	if (named && *named)
		return strdup(named);
	AUTO_FREE char *program = path_program_dir(), *link = program ? path_join(program, BUILD_LINK) : NULL;
	if (link && stat(link, &st) == 0 && S_ISDIR(st.st_mode))
		return STEAL(link);
	return strdup(KETTLE_TASKS_DIR);
}
