/* SPDX-License-Identifier: MIT */
/* Checks a machine's report of a job by the job's plan and the engine's clocks. */
#include <config.h>

#include "judge/completion_check.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/sanitize_text.h"

#define MAX_SHOWN 64 /* characters of the name of a step */

/* ---- times ---- */

/* The stamps between which all others lie, and the longest possible duration. */
struct bounds {
	int64_t from, to; /* to 0: not known */
	int64_t most;
};

/* Remarks on the first one only; all are made unknown. */
static void
remark(struct kettle_error *ret_remark, const char *step, const char *what)
{
	if (ret_remark->message[0])
		return;
	AUTO_FREE char *shown = sanitize_line(step ? step : "", MAX_SHOWN);
	(void)kettle_fail(
		ret_remark, KETTLE_EINVAL, "%s of %s%s%s", what, step ? "the step `" : "the job", shown, step ? "`" : "");
}

static bool
is_within(const struct bounds *bounds, int64_t stamp)
{
	return stamp == 0 || (bounds->to ? stamp >= bounds->from && stamp <= bounds->to : stamp > 0);
}

/* Its receipt, its device and its end, in this order. */
static void
trim_stamps(struct completion *completion, struct bounds *bounds, struct kettle_error *ret_remark)
{
	int64_t received = completion->received_ns, device = member_int(completion->stamps, "device_ns"),
			done = completion->done_ns;
	if (received == 0 && device == 0 && done == 0)
		return;
	if (received > 0 && done >= received && done - received <= bounds->most &&
		(device == 0 || (device >= received && device <= done))) {
		bounds->from = received;
		bounds->to = done;
		bounds->most = done - received;
		return;
	}
	remark(ret_remark, NULL, "the stamps");
	completion->received_ns = completion->done_ns = 0;
	completion->stamps = NULL;
}

/*
 * Without stamps of the job, the starts of its programs are still of one clock: no two differ by more than the job was
 * away.
 */
static void
bound_starts(const struct completion *completion, struct bounds *bounds)
{
	int64_t first = 0, last = 0;
	for (size_t i = 0; i < completion->count; i++) {
		int64_t start = completion->outcomes[i].start_ns.value;
		first = start && (!first || start < first) ? start : first;
		last = start > last ? start : last;
	}
	if (!bounds->to && last - first > bounds->most)
		bounds->from = bounds->to = -1;
}

/* Whether there is a time that completion_read refused. */
static bool
is_refused(const struct outcome *outcome, const char *key, const struct optional_int *read)
{
	return json_is_integer(json_object_get(outcome->json, key)) && !read->given;
}

static void
trim_outcome(struct outcome *outcome, const struct bounds *bounds, struct kettle_error *ret_remark)
{
	const int64_t wall = outcome->wall_ns.value, start = outcome->start_ns.value;
	if (is_refused(outcome, "wall_ns", &outcome->wall_ns) || wall > bounds->most) {
		remark(ret_remark, outcome->step, "the time");
		outcome->wall_ns = (struct optional_int){0};
	}
	if (is_refused(outcome, "start_ns", &outcome->start_ns) || !is_within(bounds, start) ||
		(start && bounds->to && outcome->wall_ns.value > bounds->to - start)) {
		remark(ret_remark, outcome->step, "the start");
		outcome->start_ns = (struct optional_int){0};
	}
	if (!is_within(bounds, outcome->begun_ns) || !is_within(bounds, outcome->queued_ns) ||
		!is_within(bounds, outcome->launched_ns) || !is_within(bounds, outcome->ended_ns)) {
		remark(ret_remark, outcome->step, "the stamps");
		outcome->begun_ns = outcome->queued_ns = outcome->launched_ns = outcome->ended_ns = 0;
	}
}

void
completion_trim_times(struct completion *completion, int64_t away_ns, struct kettle_error *ret_remark)
{
	struct bounds bounds = {.most = INT64_MAX};
	if (away_ns > 0 && away_ns < INT64_MAX / 2)
		bounds.most = away_ns + away_ns / COMPLETION_CLOCKS_DIFFER + COMPLETION_SLACK_NS;
	*ret_remark = (struct kettle_error){0};
	trim_stamps(completion, &bounds, ret_remark);
	bound_starts(completion, &bounds);
	for (size_t i = 0; i < completion->count; i++)
		trim_outcome(&completion->outcomes[i], &bounds, ret_remark);
}

/* ---- outcomes ---- */

static bool
has_step(const struct plan *plan, const char *id)
{
	bool has = false;
	for (size_t i = 0; id && i < plan->count; i++)
		has = has || (!plan->steps[i].shared && strcmp(plan->steps[i].id, id) == 0);
	return has;
}

int
completion_check(const struct completion *completion, const struct plan *plan, struct kettle_error *err)
{
	if (completion->count > plan->count)
		return kettle_fail(err, KETTLE_EINVAL, "The machine reported %zu results of the %zu steps of the job.",
			completion->count, plan->count);
	for (size_t i = 0; i < completion->count; i++) {
		const char *step = completion->outcomes[i].step;
		AUTO_FREE char *shown = sanitize_line(step ? step : "", MAX_SHOWN);
		if (!has_step(plan, step))
			return kettle_fail(
				err, KETTLE_EINVAL, "The machine reported the result of `%s`, which is no step of the job.", shown);
		if (completion_outcome(completion, step) != &completion->outcomes[i])
			return kettle_fail(err, KETTLE_EINVAL, "The machine reported several results of the step `%s`.", shown);
	}
	return 0;
}
