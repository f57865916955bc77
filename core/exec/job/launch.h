/* SPDX-License-Identifier: MIT */
/* Starts the processes of a step: what each of them sees, gets and may use. */
#ifndef KETTLE_EXEC_LAUNCH_H
#define KETTLE_EXEC_LAUNCH_H

#include "exec/job/job_internal.h"

/*
 * Starts the process of a step, or its solver and its referee. `ended` and `on_lost` get the struct step_process. After
 * a failure (no memory, no descriptors) those that were started are marked running and must be killed. Loop thread.
 */
int launch_step(struct step *step, void (*ended)(void *arg), void (*on_lost)(void *arg), struct kettle_error *err);

/*
 * Before launch_step: looks for a warm process that the step can begin from (step->warm). True: one is being made, and
 * `again` is called with the step when that is over, however it ended. Loop thread.
 */
bool launch_request_warm(struct step *step, void (*again)(void *arg));

/* Puts the secret of a step that wants it by descriptor into a pipe (step->secret), before launch_step. */
int launch_secret(struct step *step, struct kettle_error *err);
/* Whether a secret that was handed over so is still there, when the step has ended: it worked without it. */
bool launch_secret_unread(const struct step *step);

/* The tool whose toolkit the arguments mean: a compiler of devices, if the step names one, else its program; or NULL. */
const struct tool *launch_toolkit(const struct step_process *process);

#endif
