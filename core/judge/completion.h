/* SPDX-License-Identifier: MIT */
/* A runner's completion of a job and the outcomes of its steps (event.schema.json), read once. Pure. */
#ifndef KETTLE_JUDGE_COMPLETION_H
#define KETTLE_JUDGE_COMPLETION_H

#include <jansson.h>
#include <kettle/runner.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
 * The outcome of one step. Strings and JSON belong to the completion; a member that is absent or of another type is
 * NULL or 0.
 */
struct outcome {
	const json_t *json; /* for languages */
	const char *step, *kind;
	enum outcome_state state;
	const char *limit, *error, *missing, *result_error, *command;
	double limit_value; /* of `limit`: seconds, bytes, a number; 0: unknown */
	struct optional_int exit, signal, start_ns, wall_ns, memory_peak;
	bool cached, warm;
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
	const json_t *checked; /* GPUs that were checked; NULL: none */
	int64_t received_ns, done_ns;
	struct outcome *outcomes;
	size_t count;
};

/* Reads whatever a runner sent. The caller ends it with completion_clear. [any] */
struct completion completion_read(json_t *json);
void completion_clear(struct completion *completion);
#define AUTO_COMPLETION __attribute__((cleanup(completion_clear)))
/* The outcome of a step; NULL: there is none. [any] */
const struct outcome *completion_outcome(const struct completion *completion, const char *step);
/* The harness's report on one case or benchmark of a run, such as "test.3.error"; NULL: none. [any] */
const char *result_value(const json_t *result, const char *noun, size_t index, const char *what);

#endif
