/* SPDX-License-Identifier: MIT */
/* version: this installation, and the place of each of its parts. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/file.h"
#include "base/installed.h"
#include "config/configuration.h"
#include "session/core.h"

#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#define KERNEL_MAJOR 5 /* the first kernel with everything that a sandbox uses is 5.13 */
#define KERNEL_MINOR 13

static void
add_version_part(json_t *parts, const char *part, const char *path)
{
	(void)json_array_append_new(
		parts, json_pack("{s:s, s:s?, s:b}", "part", part, "path", path, "found", path && access(path, R_OK) == 0));
}

static void
add_program(json_t *parts, const char *name)
{
	AUTO_FREE char *folder = path_program_dir(), *path = folder ? path_join(folder, name) : NULL;
	add_version_part(parts, name, path);
}

static void
add_installed(json_t *parts, const char *part, const char *in_build, const char *configured)
{
	AUTO_FREE char *path = installed_path(in_build, configured);
	add_version_part(parts, part, path);
}

static json_t *
list_parts(const struct core *core)
{
	AUTO_FREE char *tasks = installed_tasks();
	json_t *parts = json_array();
	add_program(parts, "kettle");
	add_program(parts, "kettle-exec");
	add_program(parts, "kettle-gpu");
	add_program(parts, "kettle-profile");
	add_installed(parts, "shared memory", INSTALLED_SHM);
	/* Adds a part that an installation may lack. */
	AUTO_FREE char *folder = path_program_dir(), *path = folder ? path_join(folder, "kettle-plot") : NULL;
	if (path && access(path, X_OK) == 0)
		add_version_part(parts, "kettle-plot", path);
	for (size_t i = 0; i < core->plugins_count; i++)
		add_version_part(parts, core->plugins[i].plugin->name, core->plugins[i].file);
	if (KETTLE_HAVE_WARM)
		add_installed(parts, "warm Python", INSTALLED_WARM);
	if (KETTLE_HAVE_STAND_IN)
		add_installed(parts, "warm children", INSTALLED_STAND_IN);
	add_version_part(parts, "tasks", tasks);
	if (!installed_is_build()) {
		add_installed(parts, "manual", INSTALLED_MANUAL);
		add_installed(parts, "headers", INSTALLED_HEADERS);
	}
	return parts;
}

/* Parts that may not work although none is missing. */
static json_t *
list_warnings(const char *kernel)
{
	json_t *warnings = json_array();
	int major = 0, minor = 0;
	if (sscanf(kernel, "%d.%d", &major, &minor) == 2 &&
		(major < KERNEL_MAJOR || (major == KERNEL_MAJOR && minor < KERNEL_MINOR)))
		(void)json_array_append_new(
			warnings, json_sprintf("The kernel is Linux %.64s; Linux %d.%d or newer has everything that sandboxes use. "
								   "`kettle-exec --doctor` lists what is missing.",
						  kernel, KERNEL_MAJOR, KERNEL_MINOR));
	return warnings;
}

void
cmd_version(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct kettle_error none = {0};
	struct utsname system = {0};
	AUTO_JSON json_t *parts = list_parts(core);
	bool ok = true;
	(void)actor;
	(void)args;
	(void)uname(&system);
	json_array_each(parts, part)
		ok = ok && member_true(part, "found");
	AUTO_JSON json_t *result =
		json_pack("{s:s, s:b, s:O, s:s?, s:s, s:s, s:s, s:s, s:o}", "version", PACKAGE_VERSION, "ok", ok, "parts",
			parts, "config", core->config->file, "database", core->setup.database, "machine", system.machine, "kernel",
			system.release, "libc", gnu_get_libc_version(), "warnings", list_warnings(system.release));
	answer(arg, &none, result);
}
