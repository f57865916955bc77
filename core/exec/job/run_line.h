/* SPDX-License-Identifier: MIT */
/* Reads where a job is to run from its run line. */
#ifndef KETTLE_EXEC_UNIT_H
#define KETTLE_EXEC_UNIT_H

#include "exec/job/job_internal.h"

/*
 * Takes a `unit` object (NULL: this machine without a device of its own) apart and checks that this machine can be it:
 * its cores are here, its level is offered. KETTLE_EINVAL or KETTLE_EUNAVAIL with the sentence. The result is closed
 * with run_line_close, also after a failure.
 */
int run_line_read(
	const struct exec_context *exec, const json_t *object, struct unit *ret_unit, struct kettle_error *err);
void run_line_close(struct unit *unit);

#endif
