/* SPDX-License-Identifier: MIT */
/* The profiler perf: what was counted and the hottest functions as text; leaves flamegraph.svg and stacks.txt. */
#ifndef KETTLE_PROFILE_PERF_H
#define KETTLE_PROFILE_PERF_H

#include "profile/profile.h"

/* A profile_fn. [blocks] */
int perf_profile(struct profile *profile, struct kettle_error *err);

#endif
