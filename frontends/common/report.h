/* SPDX-License-Identifier: MIT */
/* Writes the report of a submission as text; everything from outside is sanitized. */
#pragma once

#include "common/term.h"
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
 * The cases of a result that have begun, at most so many of them: their members, "" where there is none, "number", from 1,
 * "shown": the mean with its error, and "as": the number of an earlier case with the same error and message, else null or
 * missing. kind: "test" or "benchmark". New reference.
 */
json_t *report_cases(const json_t *result, const char *kind, json_int_t most);
/* The benchmarks of a run likewise, with "limit" and "share" of the run's `limits`. New reference. */
json_t *report_benchmark_cases(const json_t *run, json_int_t most);
/*
 * Whether the failed cases of a run say all that its message says: how many failed, and what is wrong with the first.
 * They do not name a limit that the run reached.
 */
bool report_is_said_by_cases(const json_t *run);
/*
 * How "timing" of a job was spent: [{"name", "meaning", "ns", "share": its percent, "at": those of the parts before,
 * "number": of the part}], in the order of time, and their sum. New reference.
 */
json_t *report_timing(const json_t *timing, double *ret_ns);
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
