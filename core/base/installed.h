/* SPDX-License-Identifier: MIT */
/* Where the parts of an installation are, which may have been moved as a whole. [any] */
#ifndef KETTLE_BASE_INSTALLED_H
#define KETTLE_BASE_INSTALLED_H

#include <stdbool.h>

/* Arguments of installed_path for each part. */
#define INSTALLED_PLUGINS "plugins/.libs", KETTLE_PLUGIN_DIR
#define INSTALLED_TASKS "shipped", KETTLE_TASKS_DIR /* a link to the source tree's, which `make` puts there */
#define INSTALLED_WARM "warm/.libs/python.so", KETTLE_WARM_DIR "/python.so"
#define INSTALLED_STAND_IN "warm/python", KETTLE_WARM_DIR "/python"
#define INSTALLED_MANUAL NULL, KETTLE_MAN_DIR
#define INSTALLED_HEADERS NULL, KETTLE_INCLUDE_DIR "/kettle"
#define INSTALLED_CONFIGURATION(file) NULL, KETTLE_SYSCONF_DIR "/" file

/*
 * The file or folder that configure gave the absolute path `configured`. It is looked for from where the running program
 * lies (/proc/self/exe): in a build folder as `in_build` below it (NULL: it is none of a build folder's parts), else where
 * it is when everything was moved together; never at `configured`, where another installation may lie, but for a part that
 * is none of a build folder's, and without /proc. Real path if it exists. New string.
 */
char *installed_path(const char *in_build, const char *configured);
/* Whether the running program lies in a build folder, whose parts lie elsewhere than an installation's. */
bool installed_is_build(void);
/*
 * The path that leads from one absolute folder to another place (`../lib/x` from `/usr/bin` to `/usr/lib/x`), by their
 * names alone. New string.
 */
char *installed_relative_path(const char *from, const char *to);
/*
 * The folder of the tasks that come with Kettle, `harness` among them: what KETTLE_TASKS names, else the one that belongs
 * to this program. It may not exist. New string.
 */
char *installed_tasks(void);

#endif
