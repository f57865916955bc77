/* SPDX-License-Identifier: MIT */
/* Steps under a profiler: the harness is started by kettle-profile, inside of the same sandbox. */
#ifndef KETTLE_EXEC_PROFILING_H
#define KETTLE_EXEC_PROFILING_H

#include "exec/job/job_internal.h"
#include "sandbox/sandbox.h"

/*
 * Finds kettle-profile (beside ourselves, else as a tool) and the profiler that the step names, for its `helper` and
 * `profiler`. A profiler that the machine lacks is no error: kettle-profile says so. KETTLE_ENOENT: no kettle-profile,
 * named in step->missing; KETTLE_ENOMEM.
 */
int profiling_find(struct step *step, struct kettle_error *err);
/* Where the sandbox shows kettle-profile; borrowed. */
const char *profiling_program(const struct step *step);
/* The command line of the step's process: kettle-profile's words, then argv. New reference; NULL: no memory. */
json_t *profiling_argv(const struct step_process *process, const json_t *argv);
/* How the sandbox shows kettle-profile. */
struct sandbox_bind profiling_bind(const struct step *step);
/* Whether the step may count events. */
bool profiling_counts(const struct step *step);

#endif
