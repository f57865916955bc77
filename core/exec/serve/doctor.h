/* SPDX-License-Identifier: MIT */
/* kettle-exec --doctor: what this machine offers, what is missing, how to get it. */
#ifndef KETTLE_EXEC_DOCTOR_H
#define KETTLE_EXEC_DOCTOR_H

#include "exec/context/exec_context.h"

/* Prints the report (as JSON or for people) on stdout; returns the exit status: 0 where the level is full, else 1. */
int doctor_run(const struct exec_options *options, bool json);

#endif
