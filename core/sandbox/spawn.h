/* SPDX-License-Identifier: MIT */
/* Makes inits: the clone, the id maps, the messages. Private to the library; runs in the owner. */
#pragma once

#include "sandbox/cgroup.h"
#include "sandbox/plan.h"

/* An init and its resources. */
struct sandbox_child {
	struct sandbox_plan *plan;
	struct sandbox_cgroup cgroup;
	bool has_cgroup;
	pid_t pid;
	int pidfd; /* or, if the kernel has none, a descriptor that becomes readable when init has ended */
	int control;
	uid_t uid; /* the payload's, outside */
};

/* Parameters of an init. */
struct sandbox_spawn {
	unsigned protections;                     /* to apply */
	const struct sandbox_cgroup_root *cgroup; /* or NULL */
	struct sandbox_cgroup_group *group;       /* or NULL; init's cgroup refers to it */
	uid_t uid;                                /* 0: by pid */
	gid_t groups[SANDBOX_GROUPS_MAX];
	size_t groups_count;
	const int *warm; /* the socket of a warm process to copy; NULL: the owner itself */
};

/* Makes an init that waits for SANDBOX_GO. The caller releases it with sandbox_spawn_end. */
int sandbox_spawn_child(const struct sandbox_spawn *how, struct sandbox_child *ret_child, struct kettle_error *err);
/* Makes a prepared sandbox open its device. The plan must be complete but for the job. */
int sandbox_spawn_open(struct sandbox_child *child, struct kettle_error *err);
/*
 * Sends SANDBOX_GO with the descriptors (`run` unless it is -1, fds, then keep, then that of a group's usage). The plan
 * must be complete.
 */
int sandbox_spawn_release(struct sandbox_child *child, int run, const struct sandbox_fd *fds, const int *keep,
	int usage, struct kettle_error *err);
/* Blocks until init has ended. `ret_usage` is that of wait4. Returns the wait status. */
int sandbox_spawn_reap(struct sandbox_child *child, struct rusage *ret_usage);
/* Kills init. */
void sandbox_spawn_kill(const struct sandbox_child *child);
/* Kills init if it still runs, waits at most 10 s for its end, and releases everything. */
void sandbox_spawn_end(struct sandbox_child *child);
