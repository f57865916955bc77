/* SPDX-License-Identifier: MIT */
/* The limits of a step: defaults of its kind, what the plan says, what the machine gives at most. */
#ifndef KETTLE_EXEC_PLAN_LIMITS_H
#define KETTLE_EXEC_PLAN_LIMITS_H

#include <jansson.h>
#include <stdint.h>

enum step_kind { STEP_BUILD, STEP_PREPARE, STEP_RUN };

/* Every limit with its name in plans and in exec.yml, and the defaults of build, prepare and run steps. Times are in
 * ns, given in seconds; 0: none, for the memory of a run what its unit gives. What gives way to all else on the machine
 * has more wall time where that leaves its cores no time (process.c), so its CPU time is bounded as well. */
#define LIMITS(X) \
	X(wall, "wall", 180 * LIMITS_SECOND, 300 * LIMITS_SECOND, 180 * LIMITS_SECOND) \
	X(cpu, "cpu", 300 * LIMITS_SECOND, 600 * LIMITS_SECOND, 0) \
	X(memory, "memory", 4 * LIMITS_GIB, 4 * LIMITS_GIB, 0) \
	X(processes, "processes", 256, 512, 512) \
	X(disk, "disk", LIMITS_GIB, LIMITS_GIB, LIMITS_GIB) \
	X(shm, "shm", LIMITS_GIB / 4, LIMITS_GIB / 4, LIMITS_GIB / 4) \
	X(output, "output", 1u << 20, 1u << 20, 64u << 10) \
	X(result, "result", 1u << 20, 1u << 20, 1u << 20)
#define LIMITS_SECOND UINT64_C(1000000000)
#define LIMITS_GIB (UINT64_C(1) << 30)
#define LIMITS_SHM_DEVICE LIMITS_GIB /* of /dev/shm for each of several devices: NCCL keeps its buffers there */

/* What is printed beyond this many times `output` ends the step. */
#define LIMITS_OUTPUT_FLOOD 16

struct limits {
#define X(name, wire, build, prepare, run) uint64_t name;
	LIMITS(X)
#undef X
};

/* Of a step with several devices: memory and processes that many times, and room in /dev/shm for what they exchange. */
struct limits limits_default(enum step_kind kind, unsigned devices);
/* Takes over what the object (a checked `limits`, or NULL) gives. */
void limits_apply(struct limits *limits, const json_t *object);
/* One of them by its name, as a plan gives it (times in seconds); 0: none, or unknown. */
double limits_named(const struct limits *limits, const char *name);
/* Lowers everything to max; 0 in max: no maximum, 0 in a limit: none, so max. */
void limits_cap(struct limits *limits, const struct limits *max);

#endif
