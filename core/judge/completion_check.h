/* SPDX-License-Identifier: MIT */
/* Holds what a machine says of a job against the job's plan and against the engine's clocks: it may lie. Pure. */
#ifndef KETTLE_JUDGE_COMPLETION_CHECK_H
#define KETTLE_JUDGE_COMPLETION_CHECK_H

#include <kettle/error.h>

#include "judge/completion.h"
#include "judge/plan.h"

#define COMPLETION_CLOCKS_DIFFER 50             /* clocks of two machines may, by one part in so many; */
#define COMPLETION_SLACK_NS INT64_C(1000000000) /* and by so much, since an engine may read its own late */

/*
 * Makes unknown which of its times cannot be: those outside of its own receipt and end, or which took longer than the job
 * was away from the engine (away_ns; 0: that is not known), or are negative. The message of *ret_remark names the first of them, such
 * as "the start of the step `test`"; "": there was none. [any]
 */
void completion_trim_times(struct completion *completion, int64_t away_ns, struct kettle_error *ret_remark);
/*
 * Whether its outcomes are those of steps of the plan, at most one of each. EINVAL: they are not, which is a fault of the
 * machine; a missing one is not looked for here. [any]
 */
int completion_check(const struct completion *completion, const struct plan *plan, struct kettle_error *err);

#endif
