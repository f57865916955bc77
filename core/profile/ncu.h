/* SPDX-License-Identifier: MIT */
/* The profiler Nsight Compute: speed of light, pipes and states of warps as text; leaves profile.ncu-rep. */
#ifndef KETTLE_PROFILE_NCU_H
#define KETTLE_PROFILE_NCU_H

#include "profile/profile.h"

/* A profile_fn. [blocks] */
int ncu_profile(struct profile *profile, struct kettle_error *err);

#endif
