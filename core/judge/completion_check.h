/* SPDX-License-Identifier: MIT */
/* Checks a machine's report of a job by the job's plan and the engine's clocks: the machine may lie. Pure. */
#ifndef KETTLE_JUDGE_COMPLETION_CHECK_H
#define KETTLE_JUDGE_COMPLETION_CHECK_H

#include <kettle/error.h>

#include "judge/completion.h"
#include "judge/plan.h"

#define COMPLETION_CLOCKS_DIFFER 50             /* by one part in this number clocks of two machines may differ, */
#define COMPLETION_SLACK_NS INT64_C(1000000000) /* and by this time, since an engine may read its own late */

/*
 * Makes impossible times unknown: those outside of the job's own receipt and end, those longer than the job was away
 * from the engine (away_ns; 0: unknown), and negative ones. The message of *ret_remark names the first of them, such as
 * "the start of the step `test`"; "": there was none. [any]
 */
void completion_trim_times(struct completion *completion, int64_t away_ns, struct kettle_error *ret_remark);
/*
 * Checks that the outcomes are of steps of the plan, at most one of each. EINVAL: they are not, which is a fault of the
 * machine. Does not look for missing ones. [any]
 */
int completion_check(const struct completion *completion, const struct plan *plan, struct kettle_error *err);

#endif
