/* SPDX-License-Identifier: MIT */
/* Makes inits: the clone, the id maps, the word to go on. The library's own; runs in the owner. */
#ifndef KETTLE_SANDBOX_SPAWN_H
#define KETTLE_SANDBOX_SPAWN_H

#include "sandbox/cgroup.h"
#include "sandbox/plan.h"

/* An init and what belongs to it. */
struct sandbox_child {
	struct sandbox_plan *plan;
	struct sandbox_cgroup cgroup;
	bool has_cgroup;
	pid_t pid;
	int pidfd, control;
	uid_t uid; /* the payload's, outside */
};

/* What to make. */
struct sandbox_spawn {
	unsigned protections; /* those to be in force */
	const char *cgroup;   /* root, or NULL */
	uid_t uid;            /* 0: chosen by pid */
	gid_t groups[SANDBOX_GROUPS_MAX];
	size_t groups_count;
	const int *warm; /* the socket of a warm process to copy; NULL: the owner itself */
};

/* Makes an init that waits for its plan. The caller ends it with sandbox_spawn_end. */
int sandbox_spawn_child(const struct sandbox_spawn *how, struct sandbox_child *ret_child, struct kettle_error *err);
/* The plan is complete: sends the descriptors (fds, then keep) and lets it go on. */
int sandbox_spawn_release(
	struct sandbox_child *child, const struct sandbox_fd *fds, const int *keep, struct kettle_error *err);
/* Waits for the end of an init that is ending. `ret_usage` as wait4 gives it. Returns its wait status. */
int sandbox_spawn_reap(struct sandbox_child *child, struct rusage *ret_usage);
/* Kills what still runs, waits at most 10 s for it, and frees everything. */
void sandbox_spawn_end(struct sandbox_child *child);

#endif
