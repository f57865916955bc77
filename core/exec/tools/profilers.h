/* SPDX-License-Identifier: MIT */
/* What profilers this machine has, whether they are permitted, and how to get them. */
#ifndef KETTLE_EXEC_PROFILERS_H
#define KETTLE_EXEC_PROFILERS_H

#include <jansson.h>

#include "exec/tools/toolchain.h"

/*
 * [{"name", "for", "path": null where it is missing, "permitted": false where it is known that a submission may not be
 * profiled by it, "how": what to do, where it is missing or not permitted}]. New reference. [blocks]
 */
json_t *profilers_describe(struct toolchain *toolchain);

#endif
