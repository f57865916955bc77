/* SPDX-License-Identifier: MIT */
/* Explains the outcome of a step in Python where its output says more than its exit status. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>

/* Variables of a run step that only the explanations read. */
#define EXPLAIN_SUBMISSION "KETTLE_SUBMISSION"
#define EXPLAIN_DEVICE "KETTLE_DEVICE"

/*
 * The build step without the submission. If it fails, the interpreter is broken; with the exit status EXPLAIN_BROKEN,
 * a file of the task is.
 */
#define EXPLAIN_BYTECODE "bytecode"
#define EXPLAIN_BROKEN 3

/* `interpret` of kettle/language.h; `self` is not used. KETTLE_ENOENT: nothing to add to the core's own reading. */
int explain_outcome(
	void *self, const json_t *step, const json_t *outcome, json_t **ret_result, struct kettle_error *err);
