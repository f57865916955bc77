/* SPDX-License-Identifier: MIT */
/* Looks at the GPUs of a job: that they are there and free before and after it, what slowed them during a step. */
#ifndef KETTLE_EXEC_GPUWATCH_H
#define KETTLE_EXEC_GPUWATCH_H

#include <jansson.h>
#include <stdbool.h>

#include "exec/machine/execconfig.h"
#include "exec/util/strings.h"

/* Which GPUs, not changed while a function below works on it. */
struct gpuwatch {
	const struct execconfig *config;
	struct strings gpus; /* indices or UUIDs */
	json_t *idle;        /* UUID → bytes in use when nothing runs; NULL: memory is not looked at */
};

/*
 * Reads, and waits up to GPU_FREE_MS until no memory of the dead is in use any more. *ret_reading: the last one, a new
 * reference, or NULL. New reference of GPU → sentence for those that are not in order, which is empty when all is well.
 * [any, blocks]
 */
json_t *gpuwatch_check(const struct gpuwatch *watch, json_t **ret_reading);
/*
 * After a step: {"gpus": [{"index", "uuid", "name", "before", "after"}], "throttled": [word]}. before: the reading from
 * before it. With `cool`, a throttled GPU gets up to GPU_COOL_MS to recover before this returns. *ret_reading: the last
 * reading, a new reference, NULL: there is none. New reference; NULL: nothing can be said; err then has the reason, if
 * it is the driver's. [any, blocks]
 */
json_t *gpuwatch_after(
	const struct gpuwatch *watch, const json_t *before, bool cool, json_t **ret_reading, struct kettle_error *err);
/* Notes in idle (UUID → bytes) what the GPUs of a reading use where that is less than before. */
void gpuwatch_note_idle(json_t *idle, const json_t *reading, const struct strings *gpus);

#endif
