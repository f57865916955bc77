/* SPDX-License-Identifier: MIT */
/* Waits for a submission (or a local task run) and shows what happens to it. Loop thread only. */
#ifndef KETTLE_CLI_FOLLOW_H
#define KETTLE_CLI_FOLLOW_H

#include "cli/run/invocation.h"

/*
 * Shows the events of a submission after number seq until it is done, then renders submission.show and ends the run.
 * jobs: [{"job", "device"}].
 */
void follow_submission(struct run *run, int64_t id, int64_t seq, const json_t *jobs);
/* Shows the events of this process's task run; the answer to task.run, not this, ends the run. */
void follow_task_run(struct run *run);
/* The same of task.verify: shows each solution that is done, on a line of its own. */
typedef void (*follow_solution)(const struct term *term, const json_t *solution);
void follow_verify(struct run *run, follow_solution solution);
/* Before the report: takes the live line away and ends the subscription. Does nothing without one. */
void follow_end(struct run *run);

#endif
