/* SPDX-License-Identifier: MIT */
/* One run of a harness under a profiler, and what comes of it. */
#ifndef KETTLE_PROFILE_PROFILE_H
#define KETTLE_PROFILE_PROFILE_H

#include "base/buf.h"
#include "profile/child.h"

#include <kettle/error.h>

#define PROFILE_OUT "out" /* where artifacts are left */

/* Filled in by main; the rest is the profiler's. */
struct profile {
	const char *tool;     /* the profiler's path; NULL: the machine does not have it */
	const char *self;     /* our own path */
	const char *folder;   /* an empty one for what is only in between; removed afterwards */
	char *const *program; /* the harness's command line */
	int status;           /* of the harness, as waitpid gives it */
	struct buf report;    /* text for people */
	struct buf trouble;   /* one sentence: what the machine could not, and what to do about it */
};

/* How a profiler is used: runs the harness in any case. 0, or why not even that was possible. */
typedef int (*profile_fn)(struct profile *profile, struct kettle_error *err);

/* A sentence about the machine; the first one stays. */
void profile_set_problem(struct profile *profile, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Runs the harness as it is. */
int profile_plain(struct profile *profile, struct kettle_error *err);
/*
 * Runs the profiler that child's words are, with the harness behind them. Where it did not get as far as to start the
 * harness, that is the trouble, and the harness is run as it is.
 */
int profile_under(struct profile *profile, struct child *child, const char *name, struct kettle_error *err);
/* Writes a file below PROFILE_OUT; one that cannot be written is trouble. */
void profile_leave(struct profile *profile, const char *name, const struct buf *contents);

/* What each profiler gives, in text and in files below PROFILE_OUT. [blocks] */

/* perf: what was counted and the hottest functions; flamegraph.svg and stacks.txt. */
int perf_profile(struct profile *profile, struct kettle_error *err);
/* Nsight Compute: speed of light, pipes and states of warps; profile.ncu-rep. */
int ncu_profile(struct profile *profile, struct kettle_error *err);
/* rocprofv3: the times of kernels; trace.pftrace, the traces of all processes in one. */
int rocprof_profile(struct profile *profile, struct kettle_error *err);

#endif
