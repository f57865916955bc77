/* SPDX-License-Identifier: MIT */
/* Steps under a profiler: the harness is started by kettle-profile, inside of the same sandbox. */
#include <config.h>

#include "exec/job/profiling.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

#define HELPER "kettle-profile"
#define HELPER_SHOWN "/run/kettle-profile" /* where it lies on the machine does not matter in a sandbox */

static int
find_helper(struct step *step, struct kettle_error *err)
{
	struct toolchain *toolchain = step->job->exec->toolchain;
	AUTO_FREE char *dir = path_program_dir();
	AUTO_FREE char *beside = dir ? path_join(dir, HELPER) : NULL;
	bool there = beside && access(beside, X_OK) == 0;
	return toolchain_find(toolchain, there ? beside : HELPER, &step->helper, err);
}

int
profiling_find(struct step *step, struct kettle_error *err)
{
	const char *name = json_string_value(json_object_get(step->plan, "profile"));
	struct kettle_error none = {0};
	int rc = find_helper(step, err);
	if (rc == KETTLE_ENOENT)
		step->missing = strdup(HELPER);
	if (rc != 0)
		return rc;
	rc = toolchain_find(step->job->exec->toolchain, name, &step->profiler, &none);
	return rc == KETTLE_ENOENT || rc == 0 ? 0 : kettle_fail(err, rc, "%s", none.message);
}

const char *
profiling_program(const struct step *step)
{
	return step->job->unit.level == SANDBOX_LEVEL_OFF ? step->helper->real : HELPER_SHOWN;
}

json_t *
profiling_argv(const struct step_process *process, const json_t *argv)
{
	const struct step *step = process->step;
	AUTO_JSON json_t *words = json_pack("[s, O, s, o]", HELPER, json_object_get(step->plan, "profile"),
		step->profiler ? step->profiler->path : "-", json_sprintf("%d", step->result.values ? STEP_FD_RESULT : 0));
	size_t own = json_array_size(words);
	if (!words || json_array_extend(words, (json_t *)argv) != 0)
		return NULL;
	/* The tool is the one that was found here, whatever PATH leads to. */
	if (process->tool && json_array_set_new(words, own, json_string(process->tool->path)) != 0)
		return NULL;
	return STEAL(words);
}

struct sandbox_bind
profiling_bind(const struct step *step)
{
	return (struct sandbox_bind){.source = step->helper->real, .target = HELPER_SHOWN};
}

bool
profiling_counts(const struct step *step)
{
	const char *name = json_string_value(json_object_get(step->plan, "profile"));
	return name && strcmp(name, "perf") == 0;
}
