/* SPDX-License-Identifier: MIT */
/* Follows a submission or a local task run until its end. Loop thread only. */
#pragma once

#include "cli/run/invocation.h"

/*
 * Shows the events of a submission after number seq until it is done, then renders submission.show and ends the run.
 * jobs: [{"job", "device", "state" (default: queued)}]. alone: no server continues it when this command ends, so an
 * interruption cancels it.
 */
void follow_submission(struct run *run, int64_t id, int64_t seq, const json_t *jobs, bool alone);
/* Calls the run's command and shows the progress of a task run in this process; the answer ends the run. */
void follow_command(struct run *run);
/* Like follow_command, but shows the progress only on a terminal, and what a task that fails by its own fault printed. */
void follow_trial(struct run *run);
/* Like follow_command for task.verify: shows a line for each finished solution, and no progress. */
typedef void (*follow_solution)(const struct term *term, const json_t *solution);
void follow_call(struct run *run, follow_solution solution);
