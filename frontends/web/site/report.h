/* SPDX-License-Identifier: MIT */
/* The report of a submission for its page, of an answer of submission.show. All [any]. */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* {"text": at most max bytes of it, "cut": whether that is not all}. New reference. */
json_t *report_cut(const char *text, size_t max);
/*
 * The jobs of a submission with members of their own:
 *
 * - `begins`: the expected wait in words; `change`: of the rank, in words; `uncalibrated`: whether a case was
 * - `facts`: whether there is anything of the score to list
 * - `compared`: of the score with that of another submission: {"with", "other": its number, and as `best` of a case}
 * - `compiler`: the steps that said something or did not pass: {"title", "command", "passed", "message", "log"}
 * - `reports`, and those with a secret seed `secret`: the runs, and of their own: {"name", "message": "" where
 *   the job's error or the cases say the same, "tests", "failed": how many of them, "cases", "against_best", "against_first": whether cases are compared,
 *   "compiled": whether a case was, "throttled", "profile": {"tool", "trouble", "text"} or null, "out", "err": logs}
 * - `parts`: of the time: {"name", "ns", "at", "share": of 100, "colour": a number}; `time`: their sum
 *
 * A test: {"number", "spec", "passed", "error", "message", "as": the number of the test that failed in the same way, or
 * null}, failed ones first. A case: {"spec", "mean", "fastest", "slowest", "calls", "failed", "error", "message", "profile",
 * "best", "first": changes (site_change) or null}. A log: {"parts": [{"text", "line": of the
 * submitted file, which the text names, or null}], "cut"}, null: nothing.
 *
 * best, first: the answers of submission.diff from the user's best submission and from the first place; NULL: none.
 */
json_t *report_jobs(const json_t *submission, const json_t *best, const json_t *first);
