/* SPDX-License-Identifier: MIT */
/* The run steps of a job, without the parts that depend on the language. Pure, except that it draws a secret. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>

/*
 * The prepared run steps of a job (see language.h), in the order in which they run, each needing the one before. mode
 * ranked: test, benchmark, leaderboard with the public seeds, then the same with the secret seed; other modes: the
 * public run alone (profile: one for each benchmark that `capture` includes, see capture.h, with its limits of
 * launches). calibration: the device's, as a text (calibration.h), or NULL; it goes into every run's environment. task
 * is a checked one; seed: decimal text of the secret, below 2^31, used only where a run is secret (otherwise NULL is
 * allowed); secret runs get a second secret as well, of 128 bits and drawn here, for Kettle's own harnesses. EINVAL: no
 * such mode, no such seed, no such benchmark. [any]
 */
int run_steps_make(const json_t *task, const char *mode, const char *seed, const char *calibration,
	const json_t *capture, json_t **ret_runs, struct kettle_error *err);

/* The cases from `first` on, `count` of them, one on a line: `key: value; key: value`. New string.
 * [any] */
char *run_steps_cases(const json_t *cases, size_t first, size_t count);
