/* SPDX-License-Identifier: MIT */
/*
 * What is known of a unit's speed: the time of each harness's calibrator on it. Pure.
 *
 * A harness times a fixed piece of work, its calibrator, beside every call of a submission; a score is their ratio times
 * what the calibrator takes on the unit when it is quiet. That time is measured once, by device.calibrate, and kept:
 *   {"names": {NAME: ns}, "machine": {"cpu", "cores", "memory"}, "at": ISO time}
 */
#ifndef KETTLE_CALIBRATION_H
#define KETTLE_CALIBRATION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define CALIBRATION_NAMES_MAX 16                  /* of a unit; more are left out */
#define CALIBRATION_NAME_MAX 64                   /* bytes */
#define CALIBRATION_VARIABLE "KETTLE_CALIBRATION" /* where harnesses look for the text below */

/* A name: letters, digits, `.`, `_`, `-`, at most CALIBRATION_NAME_MAX bytes. NULL is none. [any] */
bool calibration_is_name(const char *name);
/*
 * `NAME=NS NAME=NS`, as harnesses take it; what is no name with a finite time above zero is left out. names may be
 * NULL. New string ("" where there is nothing); NULL: no memory. [any]
 */
char *calibration_text(const json_t *names);
/*
 * Whether the machine is another one than that of the stored calibration: processor, cores, or memory by more than a
 * sixteenth. Without facts of either it is taken for the same. [any]
 */
bool calibration_machine_changed(const json_t *stored, const json_t *machine);
/*
 * Adds what a run's result says of `count` benchmarks to samples, {NAME: [ns]}: benchmark.i.calibrators (`NAME=NS
 * NAME=NS …`) of a harness that has several, else benchmark.i.calibrator and benchmark.i.calibrator-ns. Returns how many
 * were in order. [any]
 */
size_t calibration_collect(const json_t *result, size_t count, json_t *samples);
/* {NAME: the median of its samples}. New reference; NULL: no memory. [any] */
json_t *calibration_medians(const json_t *samples);

#endif
