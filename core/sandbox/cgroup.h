/* SPDX-License-Identifier: MIT */
/* cgroups of runs: v2 with delegation, or v1's memory, pids and cpuacct; cleaned up, also after owners that died. */
#ifndef KETTLE_SANDBOX_CGROUP_H
#define KETTLE_SANDBOX_CGROUP_H

#include <kettle/error.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Finds, and where allowed makes, the cgroup below which every run gets one of its own: KETTLE/OWNERPID-START, in v2
 * where memory and pids are delegated, else in v1's memory, pids and cpuacct. Removes what dead owners left there.
 * Each owner holds a lock on its level (close-on-exec descriptors, until sandbox_cgroup_leave).
 * Returns a new opaque string for sandbox_config.cgroup, or NULL: none to be had, and limits are polled. `reason` (may
 * be NULL) then says why. With v2 it may move the caller (and what shares its delegated cgroup) into a cgroup beside
 * it. [any, blocking]
 */
char *sandbox_cgroup_root(struct kettle_error *reason);
/* Removes the owner's own level when it ends, and gives its locks up. NULL is allowed. */
void sandbox_cgroup_leave(const char *root);
/* Which of MEMORY_CGROUP, PIDS_CGROUP and CPU_CGROUP a root gives. NULL: 0. */
unsigned sandbox_cgroup_protections(const char *root);

/* The controllers that a run uses. */
enum sandbox_controller { SANDBOX_CG_MEMORY, SANDBOX_CG_PIDS, SANDBOX_CG_CPU, SANDBOX_CG_COUNT };

/* The cgroup of one run: the library's own. With v2 all three are one folder. */
struct sandbox_cgroup {
	bool unified;
	int dir[SANDBOX_CG_COUNT];   /* O_PATH-like folder descriptors, -1 where there is none */
	int procs[SANDBOX_CG_COUNT]; /* v1: cgroup.procs, which init writes itself into */
	char *path[SANDBOX_CG_COUNT];
	int oom; /* readable (v1 eventfd: POLLIN, v2 memory.events: POLLPRI) when memory ran out; -1 */
	int cpu; /* the file that counts CPU time, for pread; -1 */
};

/* Makes the folders of one run. The caller owns it and ends it with sandbox_cgroup_remove. */
int sandbox_cgroup_make(const char *root, struct sandbox_cgroup *ret_cgroup, struct kettle_error *err);
/* Sets the limits (0: none) before anything runs. `processes` leaves room for init by itself. */
int sandbox_cgroup_limit(struct sandbox_cgroup *cgroup, uint64_t memory, uint64_t processes, struct kettle_error *err);
/* Removes the folders and closes everything. Nothing may run in it any more. */
void sandbox_cgroup_remove(struct sandbox_cgroup *cgroup);
/* Counters. 0 where there is none. */
uint64_t sandbox_cgroup_memory_peak(const struct sandbox_cgroup *cgroup);
uint64_t sandbox_cgroup_oom_kills(const struct sandbox_cgroup *cgroup);
uint64_t sandbox_cgroup_forks_refused(const struct sandbox_cgroup *cgroup);
/* CPU time in ns from the descriptor `cpu` of a cgroup. Allocates nothing: init calls it too. */
uint64_t sandbox_cgroup_cpu_ns(int cpu, bool unified);
/* Whether a descriptor `oom` that became readable tells of a kill (v2's file changes for less). For init. */
bool sandbox_cgroup_oom_happened(int oom, bool unified);

#endif
