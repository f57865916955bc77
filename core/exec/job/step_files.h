/* SPDX-License-Identifier: MIT */
/* The parts of a step that read and write files, for threads of the pool. */
#ifndef KETTLE_EXEC_STEPWORK_H
#define KETTLE_EXEC_STEPWORK_H

#include "exec/job/job_internal.h"

#define STEPWORK_MAX_STAMPS 50000 /* files of one of the machine's folders that a key looks at */

/* All of them: the step is theirs while they run; what goes wrong is left in step->error or step->fault. */

/* Computes the key of a cacheable step. */
void step_files_key(struct step *step);
/* Brings a cacheable step's outputs from the cache (step->hit), or makes the folders of its processes. */
void step_files_prepare(struct step *step);
/* Looks at the GPUs of a step whose processes have ended: step->gpus, step->gpu_reading. */
void step_files_check_gpus(struct step *step);
/* Makes the folders of its processes anew. */
void step_files_reset(struct step *step);
/* Takes over outputs and artifacts where step->collect says so, stores a build, removes the processes' folders. */
void step_files_collect(struct step *step);

#endif
