/* SPDX-License-Identifier: MIT */
/* Plans: what kettle-exec carries out, read from JSON and checked. */
#ifndef KETTLE_EXEC_PLAN_PLAN_H
#define KETTLE_EXEC_PLAN_PLAN_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/util/strings.h"

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

#define PLAN_MAX_CONTENTS (64u << 20) /* bytes of all contents that are written out in a plan */
#define PLAN_MAX_SECRET 4096          /* bytes of a secret that goes through a pipe: what every pipe takes */
#define PLAN_MAX_EXIT 255

/* Bytes of a file. */
struct plan_contents {
	const char *blob;    /* their SHA-256, where the machine has them; NULL: */
	const json_t *bytes; /* as contents_bytes takes them */
};

/* One path in the folder of a step. */
struct plan_input {
	const char *path;
	const struct plan_step *step; /* that left it; NULL: it has contents */
	const char *output;           /* of that step */
	struct plan_contents contents;
};

/* One process of a step. */
struct plan_process {
	struct strings argv;       /* at least one */
	json_t *environment;       /* name → value; NULL: none */
	struct plan_input *inputs; /* by path */
	size_t inputs_count;
	struct limits limits; /* its own, the step's, the defaults */
};

/* docs/protocol.md says what the members mean; strings are NULL and numbers 0 where the plan has none. */
struct plan_step {
	const char *id, *title;
	enum step_kind kind;
	struct plan_process processes[2]; /* the only one, or the referee and the solver */
	size_t count;
	const struct plan_step **needs; /* `needs`, and the steps whose outputs are inputs */
	size_t needs_count;
	struct strings outputs, artifacts, toolchain, folders, unique;
	bool passes[PLAN_MAX_EXIT + 1]; /* by exit status */
	json_t *pass_result;            /* key → value; NULL: none */
	bool cache;
	bool shared;       /* for all jobs; this one does not wait for it */
	const char *owner; /* of what it leaves in the cache; NULL: no submission has a part in it */
	unsigned device;
	const char *cases; /* path of the cases file */
	struct plan_contents cases_contents;
	const char *result;
	json_t *secret; /* name → value */
	const char *secret_fd;
	bool warm, warm_alone;
	struct strings preload, recipes, alone; /* recipes where this plan is the only one */
	const char *jit_folder;                 /* below out/; NULL: it keeps nothing for later runs */
	struct strings jit_tools;
	const char *profile;
	const json_t *capture; /* which launches it looks at; NULL: as kettle-profile does by itself */
	json_t *run;           /* for the outcome; a run that is secret keeps nothing */
	uint64_t share;
};

struct plan {
	struct plan_step *steps; /* at least one */
	size_t count;
	const char *owner; /* whose job it is; NULL: it is not known */
};

/* The schema of docs/protocol.md, from the program itself. New reference. */
int plan_schema(json_t **ret_schema, struct kettle_error *err);
/*
 * Reads a plan that can be carried out: step ids are unique, needs and inputs refer to what comes before, paths stay
 * inside, referee and solver come together, what a kind of step may not have is absent. KETTLE_EINVAL and KETTLE_ETOOBIG
 * with a sentence that names the place. The plan refers to `object`, which must stay as it is until plan_free, also
 * after a failure. [any]
 */
int plan_read(const json_t *schema, const json_t *object, struct plan *ret_plan, struct kettle_error *err);
void plan_free(struct plan *plan);

#endif
