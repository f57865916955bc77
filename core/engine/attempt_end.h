/* SPDX-License-Identifier: MIT */
/* The end of an attempt: a verdict, another attempt, or nothing at all. Loop thread. */
#ifndef KETTLE_ENGINE_ATTEMPT_END_H
#define KETTLE_ENGINE_ATTEMPT_END_H

#include "engine/engine_internal.h"

/* Each of these takes the job from its unit, at once or when the database has it; the job may be gone afterwards. */

/* No caller waits for it, or the next engine will find it. */
void attempt_end_drop(struct engine_job *job);
/* Back to its queue here, where it is queued in the database. */
void attempt_end_queue(struct engine_job *job);
/* Back to the queue, or to the verdict "the runner failed" when the attempts are used up. uncounted: this one does not count. */
void attempt_end_requeue(struct engine_job *job, bool uncounted, const char *reason);
/* The machine's fault: the unit rests a little, and the job is tried again. `proven` as in engine_unit_lost. */
void attempt_end_retry(struct engine_job *job, const char *why, bool proven);
/* A verdict without any outcome: this sentence. */
void attempt_end_refuse(struct engine_job *job, const char *sentence);
/* The runner's one completion. */
void attempt_end_complete(struct engine_job *job, const struct completion *completion);

#endif
