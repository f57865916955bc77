/* SPDX-License-Identifier: MIT */
/* The profiler rocprofv3: the times of kernels as text; leaves trace.pftrace, the traces of all processes in one. */
#ifndef KETTLE_PROFILE_ROCPROF_H
#define KETTLE_PROFILE_ROCPROF_H

#include "profile/profile.h"

/* A profile_fn. [blocks] */
int rocprof_profile(struct profile *profile, struct kettle_error *err);

#endif
