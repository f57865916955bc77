/* SPDX-License-Identifier: MIT */
/* Writes the report of a submission as text; everything from outside is sanitized. */
#pragma once

#include "common/term.h"
#include "common/value.h"

#include <jansson.h>

/*
 * Prints which submission it is, its note, and whether it is marked as a cheat. submission: an answer of
 * submission.show.
 */
void report_head(const struct term *term, const json_t *submission);
/*
 * Prints the report of one job, after an empty line. job: an element of "jobs" of submission.show, with places in the
 * submission's file as the user knows it (source_path.h). device: its name in the report. verbose: with all details of
 * failed tests.
 */
void report_job(const struct term *term, const json_t *job, const char *device, bool verbose);
/* Whether the message of a failed step of "compilation" says more than its output, of which it may be a part. */
bool report_step_says(const json_t *step);
/*
 * The number of an earlier test with the same error and message; 0: there is none, or it has neither. seen: an object,
 * empty before the first test of a run, in which this test is noted under its own number, which is from 1.
 */
json_int_t report_same_failure(json_t *seen, const struct value_case *test, json_int_t number);
/*
 * Whether the failed cases of a run say all that its message says: how many failed, and what is wrong with the first.
 * They do not name a limit that the run reached.
 */
bool report_is_said_by_cases(const json_t *run);
/* Decodes a profile's report in a result: base64 with `*` in place of `/`. New string; NULL: it is empty or invalid. */
char *report_decode(const char *text);
/* The name of an element of "runs": "ranked run", "profile.0". New string. */
char *report_run_name(const json_t *run);
/* ", up from 3" for a rank and the one before; "" if it is not better. New string. */
char *report_change(json_int_t rank, const json_t *before);
/*
 * ", not your best: submission 2, 565.4 µs, rank 1"; `whose` replaces "your best" if "better" names no user. New
 * string.
 */
char *report_better(const json_t *better, const char *whose);
/* Prints one line: the title, then each job with its state, score and rank. */
void report_summary(const struct term *term, const char *title, const json_t *jobs);
