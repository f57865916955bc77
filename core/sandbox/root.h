/* SPDX-License-Identifier: MIT */
/* The payload's file system: planned by the owner, built by init. Private to the library. */
#pragma once

#include "sandbox/plan.h"

#define ROOT_OLD "/.old" /* the machine's root while the payload's is built */
#define ROOT_OUT "/.out" /* the output folder of a prepared sandbox, until the job's folder is there */
#define ROOT_ATTR_RDONLY 0x1u
#define ROOT_ATTR_NOSUID 0x2u
#define ROOT_ATTR_NODEV 0x4u

/* Owner, before the clone: plans the part that is the same for all runs, by the machine's files. */
int sandbox_root_plan_base(struct sandbox_plan *plan, struct kettle_error *err);
/* Owner, before SANDBOX_OPEN or SANDBOX_GO: plans what does not depend on the job. */
int sandbox_root_plan_device(struct sandbox_plan *plan, const struct sandbox_config *config, struct kettle_error *err);
/* Owner, before SANDBOX_GO: plans the rest for a config. */
int sandbox_root_plan_job(struct sandbox_plan *plan, const struct sandbox_config *config, struct kettle_error *err);
/* Whether a config shows a device node. */
bool sandbox_root_has_device(const struct sandbox_config *config);
/*
 * Init: builds the base, with the new root as / and the old one below it. *ret_proc: a descriptor of a /proc without
 * hidepid. 0, or -1 with the failure in the plan.
 */
int sandbox_root_build_base(struct sandbox_plan *plan, int *ret_proc);
/* Init: builds what is planned, and the rest later. 0, or -1 with the failure in the plan. */
int sandbox_root_build_device(struct sandbox_plan *plan);
/*
 * Init: builds the rest and detaches the old root. `send_out` sends descriptors to the owner: of the output folder, and
 * of the payload's part of the cache, if there is one.
 */
int sandbox_root_build(struct sandbox_plan *plan, int (*send_out)(void *arg, const int *fds, size_t count), void *arg);
/*
 * Stores which of the writable file systems are full: those of this process, which is init, or of another init (its pid,
 * else 0). False: they cannot be looked at. [init, or the owner]
 */
bool sandbox_root_hits(struct sandbox_plan *plan, pid_t init);
