/* SPDX-License-Identifier: MIT */
/* A runner's completion of a job and the outcomes of its steps (event.schema.json), read once. Pure. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <kettle/runner.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "judge/plan.h"

/* A number that may be absent; value is 0 then. */
struct optional_int {
	bool given;
	json_int_t value;
};

enum outcome_state {
	OUTCOME_NONE, /* it has no state */
	OUTCOME_PASSED,
	OUTCOME_FAILED,
	OUTCOME_LIMIT,
	OUTCOME_SKIPPED,
	OUTCOME_ERROR,
	OUTCOME_OTHER,
};

/* stdout or stderr of a step. */
struct outcome_output {
	const char *text; /* never NULL */
	size_t len;
	json_int_t cut; /* bytes that are missing in the middle */
};

/*
 * The outcome of one step. Strings and JSON are the completion's; a member that is absent or of another type is NULL or 0.
 * That of a step with a referee reads like that of one process. Of a step that did not pass, exit, signal and output are
 * the solver's if the limit is its own, or if it ended by itself: with another status than 0 before the referee, or in any
 * way before the referee had what it needed. Then no fault counts. Else exit and signal are the referee's, and the output
 * is that of both; so always if the referee reports a fault without having lost the solver.
 */
struct outcome {
	const json_t *json; /* for languages */
	const char *step, *kind;
	enum outcome_state state;
	const char *limit, *error, *missing, *result_error, *command;
	double limit_value; /* of `limit`: seconds, bytes, a number; 0: unknown */
	struct optional_int exit, signal, start_ns, wall_ns, memory_peak;
	bool cached, warm, prepared;
	bool left_early; /* the solver ended with status 0 before the referee had what it needed */
	struct outcome_output out, err;
	const json_t *result, *device, *artifacts, *jit;
	int64_t begun_ns, queued_ns, launched_ns, ended_ns; /* its stamps */
};

enum completion_status { COMPLETION_LOST, COMPLETION_CANCELLED, COMPLETION_DONE };

struct completion {
	json_t *json; /* borrowed; all strings and JSON below belong to it */
	enum completion_status status;
	const char *error;     /* NULL: none */
	enum kettle_loss loss; /* of one that was lost */
	const char *disabled;  /* why its unit must get no more jobs; NULL: it may */
	const json_t *kept;    /* the folder in which the job was kept; NULL: it was not */
	const json_t *system, *stamps;
	const json_t *faults;  /* of GPUs: {gpu: sentence} */
	const json_t *unfit;   /* of GPUs: {gpu: [cause]} for which they are unfit to score (base/gpu_fitness.h) */
	const json_t *checked; /* GPUs that were checked; NULL: none */
	int64_t received_ns, done_ns;
	struct outcome *outcomes;
	size_t count;
	json_t *merged; /* outcomes of steps with a referee, as above */
};

/* Reads whatever a runner sent. The caller ends it with completion_clear. [any] */
struct completion completion_read(json_t *json);
void completion_clear(struct completion *completion);
#define AUTO_COMPLETION __attribute__((cleanup(completion_clear)))
/* The outcome of a step; NULL: there is none. [any] */
const struct outcome *completion_outcome(const struct completion *completion, const char *step);
/* The harness's report on one case or benchmark of a run, such as "test.3.error"; NULL: none. [any] */
const char *result_value(const json_t *result, const char *noun, size_t index, const char *what);

/* ---- checked by the plan and the engine's clocks: the machine may lie. Pure. ---- */

#define COMPLETION_CLOCKS_DIFFER 50             /* by one part in this number clocks of two machines may differ, */
#define COMPLETION_SLACK_NS INT64_C(1000000000) /* and by this time, since an engine may read its own late */

/*
 * Makes impossible times unknown: those outside of the job's own receipt and end, those longer than the job was away
 * from the engine (away_ns; 0: unknown), and negative ones. The message of *ret_remark names the first of them, such as
 * "the start of the step `test`"; "": there was none. [any]
 */
void completion_trim_times(struct completion *completion, int64_t away_ns, struct kettle_error *ret_remark);
/*
 * Checks that the outcomes are of steps of the plan, at most one of each. EINVAL: they are not, which is a fault of the
 * machine. Does not look for missing ones. [any]
 */
int completion_check(const struct completion *completion, const struct plan *plan, struct kettle_error *err);
