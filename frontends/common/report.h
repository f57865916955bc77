/* SPDX-License-Identifier: MIT */
/* The report of a submission as text; everything from outside is sanitized. */
#ifndef KETTLE_FRONTENDS_COMMON_REPORT_H
#define KETTLE_FRONTENDS_COMMON_REPORT_H

#include "common/term.h"

#include <jansson.h>

/* Which submission it is, its note, and whether it is marked as a cheat. submission: as submission.show answers it. */
void report_head(const struct term *term, const json_t *submission);
/*
 * The report of one job, after an empty line. job: an element of "jobs" of submission.show, its runs with places in the
 * submission as they are to be shown (source_path.h). device: the name it is shown by. verbose: with all that a failed test
 * says of itself.
 */
void report_job(const struct term *term, const json_t *job, const char *device, bool verbose);
/* "ranked run", "profile.0" of an element of "runs". New string. */
char *report_run_name(const json_t *run);
/* ", up from 3" of a rank and the one before; "" where it did not get better. New string. */
char *report_change(json_int_t rank, const json_t *before);
/* ", not your best: submission 2, 565.4 µs, rank 1"; `whose` stands for "your best" where "better" names no user. New string. */
char *report_better(const json_t *better, const char *whose);
/* One line: the title, then each job with its state, score and rank. */
void report_summary(const struct term *term, const char *title, const json_t *jobs);

#endif
