/* SPDX-License-Identifier: MIT */
/* Traces in the format of Perfetto (`.pftrace`): whether a file is one, and several of them as one. */
#ifndef KETTLE_PROFILE_TRACES_H
#define KETTLE_PROFILE_TRACES_H

#include <kettle/error.h>
#include <stdint.h>

#define TRACES_MAX_BYTES (UINT64_C(256) << 20) /* of the one that comes of them */

/*
 * Adds the trace at `path` to the open file `to`, which holds `*used` bytes: such a file is a row of packets, so rows
 * behind each other are a trace again. The file is walked through first; where it is no trace, nothing is added.
 * KETTLE_EINVAL with a sentence: it is none; KETTLE_ETOOBIG; KETTLE_EIO. [blocks]
 */
int traces_add(const char *path, int to, uint64_t *used, struct kettle_error *err);

#endif
