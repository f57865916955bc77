/* SPDX-License-Identifier: MIT */
/* Where the parts of an installation are, which may have been moved as a whole. [any] */
#pragma once

#include <stdbool.h>

/* Arguments of installed_path for each part. */
#define INSTALLED_PLUGINS "plugins", KETTLE_PLUGIN_DIR
#define INSTALLED_TASKS "shipped", KETTLE_TASKS_DIR /* a link to the source tree's, which `make` puts there */
#define INSTALLED_WARM "warm/python.so", KETTLE_WARM_DIR "/python.so"
#define INSTALLED_STAND_IN "warm/python", KETTLE_WARM_DIR "/python"
#define INSTALLED_SHM "warm/shm.so", KETTLE_WARM_DIR "/shm.so"
#define INSTALLED_MANUAL NULL, KETTLE_MAN_DIR
#define INSTALLED_HEADERS NULL, KETTLE_INCLUDE_DIR "/kettle"
#define INSTALLED_CONFIGURATION(file) NULL, KETTLE_SYSCONF_DIR "/" file

/*
 * Finds the file or folder that configure gave the absolute path `configured`, starting from the running program's
 * place (/proc/self/exe). In a build folder it is `in_build` below that; elsewhere it has the same place relative to
 * the program as at configure time, so an installation can be moved as a whole. `configured` itself, which may belong
 * to another installation, is used only without /proc, and in a build folder where in_build is NULL. Real path if it
 * exists. New string.
 */
char *installed_path(const char *in_build, const char *configured);
/* Whether the running program is in a build folder, whose layout differs from that of an installation. */
bool installed_is_build(void);
/* The relative path from one absolute folder to another place, by their names alone (`../lib/x`). New string. */
char *installed_relative_path(const char *from, const char *to);
/*
 * The folder of the tasks that come with Kettle, `harness` among them: the value of KETTLE_TASKS, else the folder that
 * belongs to this program. It may not exist. New string.
 */
char *installed_tasks(void);
