/* SPDX-License-Identifier: MIT */
/* Nsight Compute's details page (`ncu --import … --page details --csv`) as text. */
#ifndef KETTLE_PROFILE_DETAILS_H
#define KETTLE_PROFILE_DETAILS_H

#include "base/buf.h"
#include <kettle/error.h>

#define DETAILS_MAX_LAUNCHES 10 /* as many as a profile has */
#define DETAILS_MAX_METRICS 100 /* of one launch */

/*
 * Appends, for each launch, the sections on the speed of light, the pipes and the states of warps. The bytes, with a NUL
 * behind them, are written into. KETTLE_EINVAL with a sentence: it is no such page, or has none of these sections. [any]
 */
int details_text(char *data, size_t size, struct buf *out, struct kettle_error *err);

#endif
