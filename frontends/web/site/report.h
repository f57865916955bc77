/* SPDX-License-Identifier: MIT */
/* The report of a submission for its page, of an answer of submission.show. All [any]. */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* {"text": at most max bytes of it, "cut": whether that is not all}. New reference. */
json_t *report_cut(const char *text, size_t max);
/* The directives of a code, {"leaderboard", "gpus", "remarks"}, each or null. New reference; null: it has none that can be read. */
json_t *report_directives(const char *code, size_t size);
/*
 * The jobs of a submission with members of their own:
 *
 * - `change`: of the rank, in words; `to_best` and `to_first`: the device's part of the answers best and first, or null
 * - `compiler`: the steps that said something or did not pass; `says`: whether `message` says more than the logs
 * - `reports`, and those with a secret seed `secret`: the runs, with `name`, `message` ("" where the job's error or the cases say
 *   the same), `tests` and `cases` (report_cases), failed tests first, `failed`: how many, `has_limits`, `against_best` and
 *   `against_first`: whether cases are compared, `tool`, `trouble` and `profile` {"text", "cut"} or null
 * - `parts`: report_timing; `time`: their sum
 *
 * Steps and runs have `out` and `err`: {"parts": source_path_parts, "cut"}, or null. A case has `to_best` and `to_first`, the cases
 * of the comparisons, and `profile`. best, first: the answers of submission.diff from the user's best submission and from
 * the first place; NULL: none.
 */
json_t *report_jobs(const json_t *submission, const json_t *best, const json_t *first);
