/* SPDX-License-Identifier: MIT */
/* Follows a submission or a local task run until its end. Loop thread only. */
#ifndef KETTLE_CLI_RUN_FOLLOW_H
#define KETTLE_CLI_RUN_FOLLOW_H

#include "cli/run/invocation.h"

/*
 * Shows the events of a submission after number seq until it is done, then renders submission.show and ends the run.
 * jobs: [{"job", "device", "state" (default: queued)}]. alone: no server goes on with it when this command ends: an
 * interruption cancels it.
 */
void follow_submission(struct run *run, int64_t id, int64_t seq, const json_t *jobs, bool alone);
/* Calls the run's command and shows the progress of the task run in this process; the answer ends the run. */
void follow_command(struct run *run);
/* Shows on a terminal alone, until the run's work ends, the progress of what is tried before the command. */
void follow_trial(struct run *run);
/* The same, and calls the run's command. */
void follow_check(struct run *run);
/* As follow_command for task.verify: shows a line for each solution that is done, and no progress. */
typedef void (*follow_solution)(const struct term *term, const json_t *solution);
void follow_call(struct run *run, follow_solution solution);

#endif
