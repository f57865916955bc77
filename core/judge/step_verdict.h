/* SPDX-License-Identifier: MIT */
/* The meaning of the outcome of one step. Pure. */
#pragma once

#include "judge/completion.h"
#include "judge/language.h"
#include "judge/plan.h"
#include "judge/score.h"

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>

#define VERDICT_EXIT_GPU 110     /* an error of the GPU's interface */
#define VERDICT_EXIT_FAILED 112  /* a test failed */
#define VERDICT_EXIT_CASE 113    /* a case, or another part of the task, is wrong */
#define VERDICT_EXIT_TIMEOUT 114 /* set by the engine for a step that ran out of time */
#define VERDICT_EXIT_USAGE 2

enum verdict_state { VERDICT_PASSED = 1, VERDICT_FAILED, VERDICT_TIMED_OUT, VERDICT_ERROR, VERDICT_SKIPPED };

struct step_result {
	enum verdict_state state;
	bool retry; /* the machine's fault, and another attempt may help */
	bool
		claimed; /* only the run itself says that machine or task is at fault: a submission may forge it, so it counts as a run */
	const char *blame;       /* "participant", "task", "machine", or NULL; static */
	struct score score;      /* of a leaderboard run that passed; 0: none */
	struct kettle_error why; /* its message says why it did not pass; "" when it did */
};

/* "passed", "failed", "timed_out", "error", "skipped". Static. */
const char *verdict_state_name(enum verdict_state state);

/*
 * Judges the outcome of a step (NULL: there is none, which is the machine's fault). Trusts the outcome as little as it
 * can: the step's pass condition is evaluated again, and a run that passed must not contradict itself. An exit status
 * by which a harness says that machine or task is at fault counts only with the line `fault: machine` or `fault: task`
 * on the result channel: any process of a run can end with any status. language (NULL: unknown) may explain why a step
 * failed, never make one pass. The message about a secret run contains nothing that the run itself reported. [any]
 */
void step_result_read(const struct language *language, const json_t *task, const struct plan_step *step,
	const struct outcome *outcome, struct step_result *ret_result);
