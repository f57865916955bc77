/* SPDX-License-Identifier: MIT */
/*
 * Follows a submission or a local task run until its end.
 *
 * Theory of operation. The subscription begins at the event number of the answer that accepted the submission, so no
 * event is missed in between. An event that may end the submission, and a slow timer (events may be lost with the process
 * that holds the database), call submission.show; once its `done` is true, it is the report. Two more timers redraw the
 * live line and call queue.place.
 */
#include <config.h>

#include "cli/run/follow.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "cli/run/run_internal.h"

#define FOLLOW_TICK_MS 1000
#define FOLLOW_POSITION_MS 2000
#define FOLLOW_CHECK_MS 30000

struct follow {
	struct run *run;
	struct progress *progress;
	int64_t id; /* 0: a task run */
	uint64_t subscription;
	bool subscribed, checking, again, positioning;
	follow_solution solution; /* of task.verify, which shows no progress; else NULL */
	json_t *jobs;             /* arguments of queue.place */
	struct kettle_timer *tick, *check, *position;
};

static void check(void *arg);

static void
on_shown(struct run *run, const json_t *result)
{
	struct follow *follow = run->work;
	follow->checking = false;
	if (member_true(result, "done"))
		run_result(run, result);
	else if (follow->again)
		check(follow);
}

/* Calls submission.show, once more where a call is under way: its answer may be older than the reason for this one. */
static void
check(void *arg)
{
	struct follow *follow = arg;
	follow->again = follow->checking;
	if (follow->checking)
		return;
	follow->checking = true;
	AUTO_JSON json_t *args = json_pack("{s:I}", "id", (json_int_t)follow->id);
	run_call(follow->run, "submission.show", args, on_shown);
}

static void
on_follow_event(void *arg, const json_t *event)
{
	static const char *const ends[] = {"submission.done", "submission.cancelled", "submission.deleted"};
	struct follow *follow = arg;
	const char *kind = member_text(event, "kind");
	const struct run *run = follow->run;
	const json_t *solution = json_object_get(event, "solution");
	if (solution && follow->solution && !run->quiet && !run->json) {
		follow->solution(&run->term, solution);
		fflush(run->term.out);
	}
	progress_event(follow->progress, event);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (follow->id && strcmp(kind, ends[i]) == 0)
			check(follow);
}

static void
on_tick(void *arg)
{
	struct follow *follow = arg;
	progress_tick(follow->progress);
}

static void
on_placed(struct run *run, const json_t *result)
{
	size_t i;
	const json_t *position;
	struct follow *follow = run->work;
	follow->positioning = false;
	json_array_foreach(json_object_get(result, "places"), i, position) {
		bool counted = json_is_integer(json_object_get(position, "place"));
		progress_queued(follow->progress, member_text(position, "device"), counted ? member_int(position, "place") : -1,
			member_text(position, "waits"));
	}
}

/* Calls queue.place while a job is queued. */
static void
on_position(void *arg)
{
	struct follow *follow = arg;
	if (follow->positioning || !progress_waits(follow->progress))
		return;
	follow->positioning = true;
	run_try(follow->run, "queue.place", follow->jobs, on_placed);
}

/* Prints that the submission goes on, or what the command leaves. */
static void
interrupted(struct run *run)
{
	struct follow *follow = run->work;
	const char *kept = progress_kept(follow->progress);
	progress_hide(follow->progress);
	if (kept)
		fprintf(stderr, "kettle: %s.\n", kept);
	if (follow->id)
		fprintf(stderr,
			"kettle: submission %lld is still queued or running; `kettle submission cancel %lld` stops it.\n",
			(long long)follow->id, (long long)follow->id);
}

static void
follow_end(struct run *run)
{
	struct follow *follow = run->work;
	if (follow->subscribed)
		run->host->unsubscribe(run->host, follow->subscription);
	run->host->timer_stop(run->host, follow->tick);
	run->host->timer_stop(run->host, follow->check);
	run->host->timer_stop(run->host, follow->position);
	json_decref(follow->jobs);
	progress_free(follow->progress);
	free(follow);
}

static int
follow_begin(struct run *run, int64_t id, int64_t after, const json_t *filter, follow_solution solution, bool silent,
	struct kettle_error *err)
{
	const struct kettle_host *host = run->host;
	struct follow *follow = xmalloc(sizeof(*follow));
	*follow = (struct follow){.run = run, .id = id, .solution = solution};
	run->work = follow;
	run->ended = follow_end;
	run->interrupted = interrupted;
	follow->progress = progress_new(&run->term, run->quiet || run->json || silent);
	int rc = host->subscribe(host, run->actor, filter, after, on_follow_event, follow, &follow->subscription, err);
	if (rc)
		return rc;
	follow->subscribed = true;
	if (run->term.tty)
		rc = host->timer_start(host, FOLLOW_TICK_MS, FOLLOW_TICK_MS, on_tick, follow, &follow->tick, err);
	if (rc == 0 && id)
		rc = host->timer_start(host, FOLLOW_CHECK_MS, FOLLOW_CHECK_MS, check, follow, &follow->check, err);
	return rc;
}

void
follow_submission(struct run *run, int64_t id, int64_t seq, const json_t *jobs)
{
	struct kettle_error err = {0};
	AUTO_JSON json_t *filter = json_pack("{s:I}", "submission", (json_int_t)id);
	size_t i;
	const json_t *job;
	if (follow_begin(run, id, seq, filter, NULL, false, &err)) {
		run_fail(run, &err);
		return;
	}
	struct follow *follow = run->work;
	follow->jobs = json_pack("{s:[]}", "job");
	json_array_foreach(jobs, i, job) {
		json_int_t number = member_int(job, "job");
		progress_queued(follow->progress, member_text(job, "device"), -1, "");
		if (number > 0)
			json_array_append_new(json_object_get(follow->jobs, "job"), json_integer(number));
	}
	/* An error here only leaves the positions out. */
	if (json_array_size(json_object_get(follow->jobs, "job")) > 0)
		(void)run->host->timer_start(
			run->host, FOLLOW_POSITION_MS, FOLLOW_POSITION_MS, on_position, follow, &follow->position, NULL);
}

/* Subscribes to the progress of the commands that this process calls. */
static void
watch(struct run *run, follow_solution solution, bool silent)
{
	struct kettle_error err = {0};
	AUTO_JSON json_t *filter = json_pack("{s:b}", "task_run", 1);
	/* Progress is not required for the answer. */
	if (follow_begin(run, 0, -1, filter, solution, silent, &err))
		run->host->log(run->host, KETTLE_LOG_WARNING, "no progress is shown: %s", err.message);
}

void
follow_call(struct run *run, follow_solution solution)
{
	watch(run, solution, solution);
	run_command(run);
}

void
follow_command(struct run *run)
{
	follow_call(run, NULL);
}

void
follow_trial(struct run *run)
{
	watch(run, NULL, !run->term.tty);
}

void
follow_check(struct run *run)
{
	follow_trial(run);
	run_command(run);
}
