/* SPDX-License-Identifier: MIT */
/* Where the time of a submission went, for people. */
#ifndef KETTLE_CLI_RENDER_TIMING_H
#define KETTLE_CLI_RENDER_TIMING_H

#include "cli/run/invocation.h"

/* Prints parts and steps of every job of a submission.show that has them. */
void render_timing(struct run *run, const json_t *submission);

#endif
