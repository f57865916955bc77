/* SPDX-License-Identifier: MIT */
/* Where the outputs of a task's runs are checked and timed, and what that leaves open. */
#pragma once

#include "judge/language.h"

#include <jansson.h>

/* X(word, what stays open: a part of a sentence). docs/tasks.md has all of it, class by class. */
#define JUDGINGS(X) \
	X(KETTLE_JUDGING_REFEREE, "a submission may work on other cores around a call, which is not always seen") \
	X(KETTLE_JUDGING_ONE_PROCESS, "a submission shares a process with what checks and times it") \
	X(KETTLE_JUDGING_OWN, "what a submission can reach depends on the task's own harness")
#define JUDGING_KINDS "CPU", "GPU", "any"

/* As bundles keep it: {"cpu": word, "gpu": word}. task, files: of a checked bundle. New reference. [any] */
json_t *judging_of(const struct language *language, const json_t *task, const json_t *files);
/*
 * As answers show it: [{"kind": "CPU" or "GPU", of the device; "any" if both are equal, "by": word, "open": what stays
 * open}]. kept: as bundles keep it; NULL, of bundles that were made before: in one process. New reference. [any]
 */
json_t *judging_shown(const json_t *kept);
/*
 * The word for a device, from its units: sections of the configuration, with the "facts" of their machines where these are
 * known. That for GPUs if any unit has one, and if there is no unit, so that it never promises too much. Static. [any]
 */
const char *judging_on(const json_t *kept, const json_t *units);
