/* SPDX-License-Identifier: MIT */
/* cgroups of runs: v2 with delegation, or v1's memory, pids and cpuacct. Also removes those of dead owners. */
#pragma once

#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The controllers that a run uses. */
enum sandbox_controller { SANDBOX_CG_MEMORY, SANDBOX_CG_PIDS, SANDBOX_CG_CPU, SANDBOX_CG_COUNT };

/* An owner's folder in a hierarchy. */
struct sandbox_cgroup_owner {
	char *path; /* NULL: none */
	int lock;   /* held on it (close-on-exec); -1 */
};

/* The folders of an owner, below which every run gets its own. */
struct sandbox_cgroup_root {
	bool unified; /* v2: one folder, the first, for all controllers */
	struct sandbox_cgroup_owner owners[SANDBOX_CG_COUNT];
};

/*
 * Finds or makes the cgroup below which every run gets its own: KETTLE/OWNERPID-START, in v2 where memory and pids are
 * delegated (with cpu and io, where they are too), else in v1's memory, pids and cpuacct. Removes the cgroups of dead
 * owners. Returns NULL if no cgroup is available and limits are polled; `reason` (may be NULL) then says why. With v2 it
 * may move the caller, and the processes that share its delegated cgroup, into a cgroup beside it. The caller releases it
 * with sandbox_cgroup_leave. [any, blocking]
 */
struct sandbox_cgroup_root *sandbox_cgroup_root(struct kettle_error *reason);
/* Removes the owner's cgroup, releases its locks and frees the root. NULL is allowed. */
void sandbox_cgroup_leave(struct sandbox_cgroup_root *root);
/* The set of MEMORY_CGROUP, PIDS_CGROUP and CPU_CGROUP that a root provides. NULL: 0. */
unsigned sandbox_cgroup_protections(const struct sandbox_cgroup_root *root);

/*
 * A cgroup above those of several runs, by which they share a limit of memory; private to the library. It lives while
 * its maker or a run in it refers to it.
 */
struct sandbox_cgroup_group;

/* Makes a group. NULL if the root has no memory controller, or if it cannot. Release it with sandbox_cgroup_group_unref. */
struct sandbox_cgroup_group *sandbox_cgroup_group_new(const struct sandbox_cgroup_root *root);
/* Removes the group with the last reference. NULL is allowed. [any] */
void sandbox_cgroup_group_unref(struct sandbox_cgroup_group *group);
/* Sets the limit of memory, in bytes, of all runs in the group. */
int sandbox_cgroup_group_limit(const struct sandbox_cgroup_group *group, uint64_t memory, struct kettle_error *err);

/* The cgroup of one run, private to the library. With v2 all three controllers share one folder. */
struct sandbox_cgroup {
	bool unified;
	int dir[SANDBOX_CG_COUNT]; /* folder descriptors; -1: none */
	int procs
		[SANDBOX_CG_COUNT]; /* cgroup.procs, which init writes itself into; with v2 the first, for warm processes */
	char *path[SANDBOX_CG_COUNT];
	int oom; /* readable (v1 eventfd: POLLIN, v2 memory.events: POLLPRI) when memory ran out; -1 */
	int cpu; /* the file that counts CPU time, for pread; -1 */
	struct sandbox_cgroup_group *group; /* referred to; NULL: it shares its memory with no other run */
};

/* Makes the folders of one run, in a group or not (NULL). The caller releases it with sandbox_cgroup_remove. */
int sandbox_cgroup_make(const struct sandbox_cgroup_root *root, struct sandbox_cgroup_group *group,
	struct sandbox_cgroup *ret_cgroup, struct kettle_error *err);
/* Limits; 0: none. Those of CPU time and disks hold where the kernel offers them to this cgroup. */
struct sandbox_cgroup_limits {
	uint64_t memory, processes;       /* init is not counted in `processes` */
	int nice;                         /* as of a process: its share if others want the same cores */
	unsigned cores;                   /* CPU time in a time, in cores */
	uint64_t io_bytes, io_operations; /* a second, read and again written, of each disk */
	const dev_t *disks;               /* as stat says where files are; of other kinds of file systems none is told */
	size_t disks_count;
};
/* Sets the limits before anything runs. *ret_weighed: `nice` is in force, whatever sessions the processes make. */
int sandbox_cgroup_limit(const struct sandbox_cgroup *cgroup, const struct sandbox_cgroup_limits *limits,
	bool *ret_weighed, struct kettle_error *err);
/* Removes the folders and closes all descriptors. No process may be left in it. */
void sandbox_cgroup_remove(struct sandbox_cgroup *cgroup);
/* Counters; 0 where the kernel has none. */
uint64_t sandbox_cgroup_memory_peak(const struct sandbox_cgroup *cgroup);
uint64_t sandbox_cgroup_oom_kills(const struct sandbox_cgroup *cgroup);
uint64_t sandbox_cgroup_forks_refused(const struct sandbox_cgroup *cgroup);
/* Stores the numbers of all threads in it. Returns how many; -1: they cannot be read, or are more than `max`. */
ssize_t sandbox_cgroup_tasks(const struct sandbox_cgroup *cgroup, pid_t *list, size_t max);
/* CPU time in ns from the descriptor `cpu` of a cgroup. Allocates nothing, since init calls it too. */
uint64_t sandbox_cgroup_cpu_ns(int cpu, bool unified);
/* Whether a readable descriptor `oom` means a kill (v2's file also changes for other events). For init. */
bool sandbox_cgroup_oom_happened(int oom, bool unified);
