/* SPDX-License-Identifier: MIT */
/* What happened to a step: whether it passed, and the object that says so. */
#ifndef KETTLE_EXEC_OUTCOME_H
#define KETTLE_EXEC_OUTCOME_H

#include "exec/job/job_internal.h"

/*
 * Reads the reports of a step whose processes have ended: its state, and where a sentence is needed its fault or
 * error. PASSED still depends on the outputs being there.
 */
enum step_state outcome_judge(struct step *step);
/* The outcome object (event.schema.json) for a step in its final state; new reference, NULL: no memory. */
json_t *outcome_make(const struct step *step);
/* The words of a command as a shell would take them, at most max bytes; new string (exported for its test). */
char *outcome_command(const json_t *argv, size_t max);

#endif
