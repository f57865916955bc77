/* SPDX-License-Identifier: MIT */
/* Plans: the work of kettle-exec, read from JSON and checked. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/util/strings.h"

enum step_kind { STEP_BUILD, STEP_PREPARE, STEP_RUN };

/*
 * All limits: the name in plans and in exec.yml, and the defaults of build, prepare and run steps. Times are in ns,
 * given in seconds. 0: none; for the memory of a run: the unit's. A process that gives way to all others gets more wall
 * time if they leave its cores no time (process.c), so its CPU time is limited as well.
 */
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
#define LIMITS_SHM_DEVICE LIMITS_GIB /* of /dev/shm for each of several devices, where NCCL keeps its buffers */

/* Output beyond this multiple of `output` ends the step. */
#define LIMITS_OUTPUT_FLOOD 16

struct limits {
#define X(name, wire, build, prepare, run) uint64_t name;
	LIMITS(X)
#undef X
};

/*
 * The default limits. With several devices: that many times the memory and processes, and room in /dev/shm for
 * exchanged data.
 */
struct limits limits_default(enum step_kind kind, unsigned devices);
/* Takes the values of the object (a checked `limits`, or NULL). */
void limits_apply(struct limits *limits, const json_t *object);
/* A limit by its name, in the plan's unit (times in seconds); 0: none, or unknown. */
double limits_named(const struct limits *limits, const char *name);
/* Lowers all limits to max. A 0 in max is no maximum; a 0 in a limit is none, and becomes max. */
void limits_cap(struct limits *limits, const struct limits *max);

#define PLAN_MAX_CONTENTS (64u << 20) /* bytes of all contents in the text of a plan */
#define PLAN_MAX_SECRET 4096          /* bytes of a secret for a pipe, which every pipe can hold */
#define PLAN_MAX_EXIT 255

/* The contents of a file. */
struct plan_contents {
	const char *blob;    /* their SHA-256, if the machine has them; else NULL */
	const json_t *bytes; /* else: as contents_bytes takes them */
};

/* One path in the folder of a step. */
struct plan_input {
	const char *path;
	const struct plan_step *step; /* the step that left it; NULL: it has contents */
	const char *output;           /* of that step */
	struct plan_contents contents;
};

/* One process of a step. */
struct plan_process {
	struct strings argv;       /* at least one */
	json_t *environment;       /* name → value; NULL: none */
	struct plan_input *inputs; /* by path */
	size_t inputs_count;
	struct limits limits; /* merged: its own, the step's, the defaults */
	bool warm, warm_alone;
	struct strings preload, recipes, alone; /* recipes if this plan is the only one */
};

/* docs/protocol.md explains the members. A missing string is NULL, a missing number 0. */
struct plan_step {
	const char *id, *title;
	enum step_kind kind;
	struct plan_process processes[2]; /* the only one, or the referee and the solver */
	size_t count;
	uint64_t memory;                /* limit of referee and solver together; 0: the unit's */
	const struct plan_step **needs; /* steps of `needs`, and those whose outputs are inputs */
	size_t needs_count;
	struct strings outputs, artifacts, toolchain, folders, unique;
	bool passes[PLAN_MAX_EXIT + 1]; /* by exit status */
	json_t *pass_result;            /* key → value; NULL: none */
	bool cache;
	bool optional;     /* the job goes on whether it passes or not */
	bool host;         /* argv[0] is a shared object, whose `main` kettle-host calls */
	bool supervised;   /* by kettle-host, which keeps secret and result channel from it */
	bool shared;       /* for all jobs; this job does not wait for it */
	const char *owner; /* owner of its cache entries; NULL: no submission has a part in them */
	unsigned device;
	const char *cases; /* path of the cases file */
	struct plan_contents cases_contents;
	const char *result;
	json_t *secret; /* name → value */
	const char *secret_fd;
	const char *jit_folder; /* below out/; NULL: nothing is kept for later runs */
	struct strings jit_tools;
	const char *profile;
	const json_t *capture; /* launches that the profiler looks at; NULL: kettle-profile's choice */
	json_t *run;           /* for the outcome; a secret run keeps nothing */
	uint64_t share;
	const json_t *ended; /* {"outcome", "outputs", "tools"}: it has ended on another machine; NULL: it has not */
};

struct plan {
	struct plan_step *steps; /* at least one */
	size_t count;
	const char *owner; /* owner of the job; NULL: not known */
	bool return_outputs;
};

/* The schema of docs/protocol.md, which is part of the program. New reference. */
json_t *plan_schema(void);
/*
 * Reads a plan that can be carried out: step ids are unique, needs and inputs refer to earlier steps, paths stay
 * inside, referee and solver come together, members that a kind of step may not have are absent. KETTLE_EINVAL and
 * KETTLE_ETOOBIG have a sentence that names the place. The plan refers to `object`, which must not change until
 * plan_free, also after a failure. [any]
 */
int plan_read(const json_t *schema, const json_t *object, struct plan *ret_plan, struct kettle_error *err);
void plan_free(struct plan *plan);
