/* SPDX-License-Identifier: MIT */
/* What the outcome of a step in Python means, where its output says more than its exit status. */
#ifndef KETTLE_PY_EXPLAIN_H
#define KETTLE_PY_EXPLAIN_H

#include <jansson.h>
#include <kettle/error.h>

/* The variables of a run step that tell what it was given: for explanations alone. */
#define EXPLAIN_SUBMISSION "KETTLE_SUBMISSION"
#define EXPLAIN_DEVICE "KETTLE_DEVICE"

/* The build step in which the submission has no part: what fails there is the interpreter. */
#define EXPLAIN_BYTECODE "bytecode"

/*
 * As `interpret` of kettle/language.h. KETTLE_ENOENT: there is nothing to add to the core's own reading. Pure. [any]
 */
int explain_outcome(const json_t *step, const json_t *outcome, json_t **ret_result, struct kettle_error *err);

#endif
