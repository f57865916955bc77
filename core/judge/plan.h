/* SPDX-License-Identifier: MIT */
/* The whole plan of a job: prepared by the core, completed by the language. Pure. */
#pragma once

#include "judge/language.h"

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>

/* In a file of the task: its harness promises to report all keys of every case, so a report that lacks one is forged. */
#define PLAN_COMPLETE "kettle-reports: complete"

/* A step as the core works with it; strings and JSON belong to the plan. */
struct plan_step {
	const json_t *json; /* as the language made it */
	const char *id;
	const char *title; /* for people: its id where it has none */
	bool run;          /* false: it builds or prepares */
	bool task_only;    /* it builds from the task's files alone, so no submission has a part in its outcome */
	bool task_files;   /* of any kind: nothing that it reads comes from a submission */
	bool optional;     /* no verdict depends on it */
	bool shared;       /* kettle-exec makes it for all jobs, and does not report it */
	const char *mode;  /* of a run */
	bool secret;
	json_int_t index;                      /* of the benchmark that is profiled; -1: it is no profile */
	size_t cases;                          /* that the run is given */
	bool complete;                         /* a harness that reports every key of a case (PLAN_COMPLETE) */
	json_int_t devices;                    /* that it needs at once */
	double wall_s, cpu_s;                  /* its limits; 0: none of its own */
	const json_t *pass_exit, *pass_result; /* its pass condition; NULL: the default */
	bool artifacts;                        /* it may leave files */
};

struct plan {
	json_t *json; /* for runners */
	size_t count;
	struct plan_step steps[];
};

/* Reads a plan that was checked, and takes it. [any] */
struct plan *plan_read(json_t *plan_take);
/* NULL is allowed. */
void plan_free(struct plan *plan);
static inline void
cleanup_plan(struct plan **plan)
{
	plan_free(*plan);
}
#define AUTO_PLAN __attribute__((cleanup(cleanup_plan)))
#define PLAN_WALL_S 180 /* of a step that states no wall limit */
/* The seconds that all run steps may take, or all others: the sum of their wall limits. [any] */
double plan_wall_s(const struct plan *plan, bool running);
/* Whether nothing of the step of this id may be shown; true for a step that the plan does not have. [any] */
bool plan_is_secret(const struct plan *plan, const char *id);
/* The title of a step, of the plan's; NULL: it has none, or there is no such step. [any] */
const char *plan_title(const struct plan *plan, const char *id);
/*
 * The part of a runner's event about a job of this plan that may be shown: known members of known events; of a secret
 * run only that it goes on. NULL: nothing of it. New reference. [any]
 */
json_t *plan_redact_event(const struct plan *plan, const json_t *event);

/*
 * The whole plan of a job: the runs (run_steps.h), completed by the language, and checked: by the plan schema, that
 * names are unique, that a step needs and takes from earlier ones only, and that every prepared run is there with its
 * cases, condition, secret and limits untouched. bundle: a checked one (task.h); code: text of the submission; mode,
 * seed, capture (NULL: nothing is asked for): as run_steps_make; device: its configuration with "name" and, where it is
 * calibrated, "calibration" (calibration.h), from which runs get the unit's times and those of this task. EINVAL: the
 * task, or its combination with the device, cannot be planned; EINTERNAL: the language made no valid plan. [any]
 */
int plan_make(const struct languages *languages, const json_t *bundle, const char *code, const char *mode,
	const json_t *device, const char *seed, const json_t *capture, struct plan **ret_plan, struct kettle_error *err);

/*
 * Whether the profilers of a profile's plan can do what `capture` says, as plan_make checks it: EINVAL. 0 where the plan
 * cannot be made, or where the language may choose another profiler once it knows the GPUs: device has some and no
 * "facts" of them. [any]
 */
int plan_check_capture(const struct languages *languages, const json_t *bundle, const char *code, const json_t *device,
	const json_t *capture, struct kettle_error *err);

/*
 * Sets `owner` in the plan, and in the steps that read the submission: the owner whose part of a build cache they use.
 * The name means nothing to others ([A-Za-z0-9][A-Za-z0-9._-]*, at most 64). Steps that are task_only have no owner.
 * [any]
 */
void plan_set_owner(const struct plan *plan, const char *owner);
/*
 * Replaces steps and members by equal ones of an earlier plan (an array), step by step, so that the plans of one task
 * share most of their memory. Neither may be changed any more. [any]
 */
void plan_share(struct plan *plan, const json_t *earlier);

/*
 * Build steps that show whether the device's machine has what the task needs (`probe` of kettle/language.h), checked as
 * a plan is. KETTLE_ENOENT: the task needs nothing that a probe can show; else as plan_make. [any]
 */
int plan_make_probe(const struct languages *languages, const json_t *bundle, const json_t *device,
	struct plan **ret_plan, struct kettle_error *err);
