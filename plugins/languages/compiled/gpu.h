/* SPDX-License-Identifier: MIT */
/*
 * What languages of GPU boards have in common: which architecture a unit has, and what the outcomes of their steps mean
 * where the output says more than the exit status.
 */
#ifndef KETTLE_GPU_H
#define KETTLE_GPU_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>

#include "compiled.h"

#define GPU_TARGET_SIZE 64
/* The variable that tells a run step which device it is for: explanations need it, programs may look at it. */
#define GPU_DEVICE "KETTLE_DEVICE"

/* A model by its device's name: "H100" is also H100-PCIe and H100x8, and not H1000. */
struct gpu_model {
	const char *name, *target;
};

/* Since which version of the toolkit an architecture is known, and which was the last; NULL: it still is. */
struct gpu_since {
	const char *target, *first, *last;
};

/* How device code is compiled by a library: config's `rtc`. */
struct gpu_rtc {
	const char *api;            /* "nvrtc" */
	const char *ending;         /* of what comes out: ".cubin" */
	const char *target;         /* "--gpu-architecture=sm_": before the target */
	const char *const *options; /* further ones, ended by NULL */
};

/* A maker's GPUs and its toolkit. Tables end with an entry of NULLs, lists of words with NULL. */
struct gpu_vendor {
	const char *key;      /* of a device's section: "sm" */
	const char *fact;     /* of a unit's facts: "compute" */
	const char *prefix;   /* that targets have for the compiler: "sm_"; "" where the target has it */
	const char *product;  /* "CUDA": before version numbers */
	const char *device;   /* "a CUDA device" */
	const char *toolkit;  /* "the CUDA toolkit" */
	const char *compiler; /* key of the option that names the compiler */
	const char *variable; /* of the environment of every step, for the maker's tools; NULL: none */
	const char *value;
	const struct gpu_model *models;
	const struct gpu_since *since;
	struct gpu_rtc rtc;
	/* Writes what a fact ("9.0") or a setting ("sm_90a") means as a target ("90a"); false: nothing. */
	bool (*read_target)(const char *text, bool fact, char ret_target[GPU_TARGET_SIZE]);
	const char *const *unknown_target; /* how the compiler says that it does not know an architecture */
	const char *const *bad_option;     /* how it says that it was called wrongly */
	const char *const *bad_machine;    /* how it says that it cannot work there */
	const char *const *no_device;      /* how programs say that there is no device, or no driver for it */
	const char *const *wrong_target;   /* how they say that they were built for another one */
	const char *const *fault;          /* how they say that a kernel failed */
};

/*
 * The architecture of the unit: what its section says under `key`, else what its facts say (facts.gpu), else what the
 * device's name is known to be. `native` in the section means the facts. KETTLE_EUNAVAIL with a sentence that names the
 * device: nothing tells; KETTLE_EINVAL: the section says what is none. Pure. [any]
 */
int gpu_target(
	const struct gpu_vendor *vendor, const json_t *unit, char ret_target[GPU_TARGET_SIZE], struct kettle_error *err);

/*
 * The plan, as compiled_plan makes it, which also adds what `rtc` asks for. What is wrong with the task is said before
 * what is wrong with the device. EINVAL, EUNAVAIL, ENOMEM. Pure. [any]
 */
int gpu_plan(const struct gpu_vendor *vendor, const struct compiled_rules *rules, const json_t *options,
	const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err);
/* The target of a making of gpu_plan's. Borrowed. */
const char *gpu_target_of(const struct compiled_making *making);
/* As `add_steps` of the rules: with `rtc` two steps, one that builds the compiler, one that compiles the submission. */
int gpu_add_steps(struct compiled_making *making, struct kettle_error *err);
/* Adds to a build step the folders of the machine that the device's configuration names. */
void gpu_finish_build(const struct compiled_making *making, json_t *step);
/* Adds to a run the device's name, and what a program may need of the toolkit and of the device's folders. */
void gpu_finish_run(const struct compiled_making *making, const char *compiler, json_t *step);

/*
 * As `interpret` of kettle/language.h. compiler: what the language starts as its compiler. KETTLE_ENOENT: there is
 * nothing to add to the core's own reading. Pure. [any]
 */
int gpu_explain(const struct gpu_vendor *vendor, const char *compiler, const json_t *step, const json_t *outcome,
	json_t **ret_verdict, struct kettle_error *err);

#endif
