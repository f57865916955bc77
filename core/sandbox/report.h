/* SPDX-License-Identifier: MIT */
/* The report of a sandbox that has ended. Private to the library; runs in the owner. */
#pragma once

#include "sandbox/sandbox.h"
#include "sandbox/spawn.h"

/*
 * Makes the report of an init that was reaped with this status and usage, before its cgroup is removed; or, with the
 * status -1, of a sandbox that is still ending (sandbox_exiting_look).
 */
void sandbox_report_make(
	const struct sandbox_child *child, int status, const struct rusage *usage, struct sandbox_report *ret_report);
