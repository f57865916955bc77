/* SPDX-License-Identifier: MIT */
/*
 * The speed of a unit: the time of each harness's calibrator on it. Pure.
 *
 * A harness times fixed pieces of work beside every call of a submission. With a calibrator a score is their ratio
 * times what the calibrator takes on the unit when it is quiet; with probes a score is a plain time, of those calls beside
 * which they took about as long as then. Those times are measured once, by device.calibrate, and kept, and with them how
 * much such ratios or times differ between runs of one and the same work, which no run can see by itself:
 *   {"names": {NAME: ns}, "spreads": {NAME: part of the ratio}, "machine": {"cpu", "cores", "memory"}, "at": ISO time,
 *    "tasks": {HASH: {NAME: ns}}, "kept": {NAME: ms}}
 * A board keeps the harness with which it was made, and so "names" has some that no task of device.calibrate measures any
 * more; "kept" tells which, and when the first calibration lacked them: a task that was stored later has no use for them.
 * An interrupted calibration has the times of some of the shipped tasks, and beside them "parts": {TASK: {"hash", "names",
 * "spreads"}}, those that were measured, of their version (blobs.h), and "missing": [TASK].
 *
 * A task may bring calibrators of its own, which do the work of its submissions. Their names have CALIBRATION_OWN in
 * them. They hold for that task alone, since another task may have the same cases, and are stored under its hash
 * (task.h). A task that was measured and has none is stored with {}.
 */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CALIBRATION_NAMES_MAX 16                  /* of a unit; more are left out */
#define CALIBRATION_OWN "-own-"                   /* a part of the names of tasks' own calibrators */
#define CALIBRATION_OWN_MAX 300                   /* names of a task, as many as it may have benchmarks */
#define CALIBRATION_TASKS_MAX 500                 /* tasks of a unit */
#define CALIBRATION_TEXT_MAX 16000                /* bytes of the text below, as much as harnesses read */
#define CALIBRATION_NAME_MAX 64                   /* bytes */
#define CALIBRATION_SPREAD_MAX 0.5                /* of a ratio */
#define CALIBRATION_VARIABLE "KETTLE_CALIBRATION" /* where harnesses look for the text below */

/* A name: letters, digits, `.`, `_`, `-`, at most CALIBRATION_NAME_MAX bytes. NULL is none. [any] */
bool calibration_is_name(const char *name);
/* Whether it is the name of a task's own calibrator. NULL is none. [any] */
bool calibration_is_own(const char *name);
/*
 * The text `NAME=NS:SPREAD NAME=NS` for harnesses, from a calibration or any object with "names" and, where they are
 * known, "spreads", and then from its entry for the task of that hash. Entries without a valid name and a finite time
 * above zero are left out, as are those beyond CALIBRATION_TEXT_MAX. calibration and hash may be NULL. New string (""
 * where there is nothing). [any]
 */
char *calibration_text(const json_t *calibration, const char *hash);
/*
 * Whether the machine is another one than that of the stored calibration: processor, cores, or memory by more than a
 * sixteenth. Without facts of one of them, the machine counts as the same. [any]
 */
bool calibration_machine_changed(const json_t *stored, const json_t *machine);
/*
 * Adds the times that a run's result reports of `count` benchmarks to samples, {NAME: [ns]}: from
 * benchmark.i.calibrators (`NAME=NS NAME=NS …`) of a harness that has several, else from benchmark.i.calibrator and
 * benchmark.i.calibrator-ns. own: only those of the task's own calibrators, else only the others. Returns how many were
 * valid. [any]
 */
size_t calibration_collect(const json_t *result, size_t count, bool own, json_t *samples);
/* The same for the other calibrators, with the ratios of the first benchmark's calls to each: benchmark.0.ratios. [any] */
size_t calibration_collect_ratios(const json_t *result, json_t *samples);
/* {NAME: the median of its samples}. New reference. [any] */
json_t *calibration_medians(const json_t *samples);
/*
 * Sets spreads, {NAME: part}, to the range of 95 % of further runs, by the samples of ratios of some runs of the same
 * work: Student's factor times the standard deviation of a further run from their mean (√(1 + 1/n) times theirs), as
 * part of that mean, at most CALIBRATION_SPREAD_MAX. Fewer than three samples give none. Where a name has a spread
 * already, the larger one stays. [any]
 */
void calibration_spreads(const json_t *ratios, json_t *spreads);
/*
 * Adds the names and spreads of an earlier calibration that it lacks, as far as there is room, and to "kept" since when
 * they are: now, or as there. Those stay out of which every task is younger. now, oldest (when the oldest task in use was
 * stored; INT64_MIN: all names stay): ms. [any]
 */
void calibration_keep_names(json_t *calibration, const json_t *before, int64_t now, int64_t oldest);
/* Whether a task of that hash was measured, with calibrators of its own or without. [any] */
bool calibration_has_task(const json_t *calibration, const char *hash);
/*
 * Sets the times of the calibrators of the task of that hash; names is borrowed. ETOOBIG: there would be more than
 * CALIBRATION_TASKS_MAX tasks. [any]
 */
int calibration_set_task(json_t *calibration, const char *hash, json_t *names, struct kettle_error *err);
/* Forgets all tasks whose hash is no key of `hashes`. [any] */
void calibration_keep_tasks(json_t *calibration, const json_t *hashes);
