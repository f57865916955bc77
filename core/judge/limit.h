/* SPDX-License-Identifier: MIT */
/*
 * The least time that a task's benchmarks can take on a device: that in which the device moves the bytes, or does the
 * operations, that the task's author (`work` of task.yml) says a call must, at the peak that the operator says the
 * device has. Pure.
 */
#pragma once

#include <jansson.h>
#include <kettle/error.h>

#define LIMIT_WORK_MAX 1e24 /* bytes or operations of one call */

/* Per second; 0: not known. */
struct limit_peak {
	double bytes, operations;
};

/* device: a section of the configuration, or NULL. [any] */
struct limit_peak limit_peak_of(const json_t *device);
/*
 * Checks the work of a task in the form of its schema in each benchmark. EINVAL, with a sentence that names expression
 * and benchmark: it has no value from 1 to LIMIT_WORK_MAX there. *ret_key: "bytes" or "operations", that of the
 * expression. [any]
 */
int limit_check(const json_t *task, const char **ret_key, struct kettle_error *err);
/* Of a checked task, the limit of the benchmark with this index; 0: none is known. s. [any] */
double limit_of_benchmark(const json_t *task, size_t index, const struct limit_peak *peak);
/* The limit of the score: of the last benchmark or the mean of all, as the task ranks; 0: none is known. s. [any] */
double limit_of_score(const json_t *task, const struct limit_peak *peak);
/*
 * The shares of the limits that a timed run of the task's benchmarks reaches, of each benchmark that its result has a
 * time of: [{"limit": s, "share"}]. New reference; NULL: no limit is known. [any]
 */
json_t *limit_of_run(const json_t *task, const json_t *result, const struct limit_peak *peak);
