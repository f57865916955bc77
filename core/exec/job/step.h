/* SPDX-License-Identifier: MIT */
/* One step of a job: its folder, its processes, its outcome. */
#ifndef KETTLE_EXEC_STEP_H
#define KETTLE_EXEC_STEP_H

#include "exec/job/job_internal.h"

/* Takes a step of a checked plan; nothing is done yet. */
int step_open(struct step *step, struct job *job, const json_t *plan, const char *dir, struct kettle_error *err);
void step_close(struct step *step);

/* Everything it needs has passed and it is its turn. The end comes by job->advance, perhaps before this returns. */
void step_begin(struct step *step);
/* Ends a step that has not begun. `why` (may be NULL) is a sentence. */
void step_end_unbegun(struct step *step, enum step_state state, const char *why);
/* Stops it, whatever it does; its end comes later unless it only waited. */
void step_cancel(struct step *step);
/* The job holds the device now: a step that waited for it goes on. */
void step_device_granted(struct step *step);

#endif
