/* SPDX-License-Identifier: MIT */
/* What of a runner's events may be shown. */
#ifndef KETTLE_JUDGE_REDACT_H
#define KETTLE_JUDGE_REDACT_H

#include "judge/plan.h"

#include <jansson.h>

/*
 * What of a runner's event about a job of this plan may be shown: known members of known events alone; of a secret run
 * no more than that it goes on. NULL: nothing of it. New reference.
 */
json_t *redact_event(const struct plan *plan, const json_t *event);

#endif
