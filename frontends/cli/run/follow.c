/* SPDX-License-Identifier: MIT */
/*
 * Follows a submission or a local task run until its end.
 *
 * Theory of operation. The subscription begins at the event number of the answer that accepted the submission, so no
 * event is missed in between. An event that may end the submission calls submission.show, and so does a slow timer,
 * since events may be lost with the process that holds the database. When `done` of the answer is true, the answer is
 * the report. Two more timers redraw the live line and call queue.place.
 */
#include <config.h>

#include "cli/run/follow.h"

#include "base/base.h"
#include "common/progress.h"
#include "common/wrap.h"

#define FOLLOW_TICK_MS 1000
#define FOLLOW_POSITION_MS 2000
#define FOLLOW_CHECK_MS 30000
#define FOLLOW_CANCEL_MS 5000 /* for which an interrupted command waits until its submission is cancelled */

struct follow {
	struct run *run;
	struct progress *progress;
	int64_t id;   /* 0: a task run */
	bool alone;   /* no server continues it: it ends with this command */
	bool leaving; /* interrupted: show nothing more */
	uint64_t subscription;
	bool subscribed, checking, again, positioning;
	follow_solution solution; /* for task.verify, which shows no progress; else NULL */
	json_t *jobs;             /* arguments of queue.place */
	struct kettle_timer *tick, *check, *position, *leave;
};

static void check(void *arg);

static void
on_shown(struct run *run, const json_t *result)
{
	struct follow *follow = run->work;
	follow->checking = false;
	if (follow->leaving)
		return;
	if (member_true(result, "done"))
		run_result(run, result);
	else if (follow->again)
		check(follow);
}

/*
 * Calls submission.show. If a call is under way, calls again after it: its answer may be older than the reason for
 * this one.
 */
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
	const char *kind = json_text_or_empty(event, "kind");
	const struct run *run = follow->run;
	if (follow->leaving)
		return;
	const json_t *solution = json_object_get(event, "solution");
	if (solution && follow->solution && !run->quiet && !run->json) {
		follow->solution(&run->term, solution);
		fflush(run->term.out);
	}
	const json_t *report = json_object_get(event, "event");
	if (member_is(report, "event", "failed")) {
		progress_hide(follow->progress);
		AUTO_JSON json_t *tried = json_pack(
			"{s:O*, s:O*}", "device", json_object_get(event, "device"), "log", json_object_get(report, "log"));
		run_print_log(stderr, tried);
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
	if (!follow->leaving)
		progress_tick(follow->progress);
}

static void
on_placed(struct run *run, const json_t *result)
{
	struct follow *follow = run->work;
	follow->positioning = false;
	json_array_each(json_object_get(result, "places"), position) {
		bool counted = json_is_integer(json_object_get(position, "place"));
		progress_queued(follow->progress, json_text_or_empty(position, "device"),
			counted ? member_int(position, "place") : -1,
			json_is_integer(json_object_get(position, "wait_s")) ? member_int(position, "wait_s") : -1,
			json_text_or_empty(position, "waits"));
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

static void
say_left(const struct follow *follow)
{
	wrap_message(
		"kettle: submission %lld is still queued or running; `kettle submission watch %lld` follows it, `kettle "
		"submission cancel %lld` cancels it.\n",
		(long long)follow->id, (long long)follow->id, (long long)follow->id);
}

/* result NULL: it has ended meanwhile, or it may not be cancelled. */
static void
on_cancelled(struct run *run, const json_t *result)
{
	const struct follow *follow = run->work;
	if (result)
		wrap_message("kettle: submission %lld is cancelled: no `kettle serve` is running to finish it.\n",
			(long long)follow->id);
	else
		wrap_message("kettle: `kettle submission show %lld` shows the state of submission %lld.\n",
			(long long)follow->id, (long long)follow->id);
	run_interrupt_end(run);
}

static void
leave_anyway(void *arg)
{
	struct follow *follow = arg;
	say_left(follow);
	run_interrupt_end(follow->run);
}

static bool
cancel(struct run *run)
{
	struct follow *follow = run->work;
	AUTO_JSON json_t *args = json_pack("{s:I}", "id", (json_int_t)follow->id);
	if (run->host->timer_start(run->host, FOLLOW_CANCEL_MS, 0, leave_anyway, follow, &follow->leave, NULL))
		return false;
	follow->leaving = true;
	run_try(run, "submission.cancel", args, on_cancelled);
	return true;
}

/*
 * Prints the files that the command leaves, and that the submission continues. Cancels a submission that nothing would
 * continue.
 */
static bool
interrupted(struct run *run)
{
	struct follow *follow = run->work;
	const char *kept = progress_kept(follow->progress);
	progress_hide(follow->progress);
	if (kept)
		wrap_message("kettle: %s.\n", kept);
	if (follow->id && follow->alone && cancel(run))
		return true;
	if (follow->id)
		say_left(follow);
	return false;
}

static void
follow_end(struct run *run)
{
	struct follow *follow = run->work;
	if (follow->subscribed)
		(void)run->host->unsubscribe(run->host, follow->subscription, NULL, NULL);
	run->host->timer_stop(run->host, follow->tick);
	run->host->timer_stop(run->host, follow->check);
	run->host->timer_stop(run->host, follow->position);
	run->host->timer_stop(run->host, follow->leave);
	json_decref(follow->jobs);
	progress_free(follow->progress);
	free(follow);
}

static int
follow_begin(struct run *run, int64_t id, int64_t after, const json_t *filter, follow_solution solution, bool silent,
	struct kettle_error *err)
{
	const struct kettle_host *host = run->host;
	struct follow *follow = xnew(struct follow, .run = run, .id = id, .solution = solution);
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
follow_submission(struct run *run, int64_t id, int64_t seq, const json_t *jobs, bool alone)
{
	struct kettle_error err = {0};
	AUTO_JSON json_t *filter = json_pack("{s:I}", "submission", (json_int_t)id);
	if (follow_begin(run, id, seq, filter, NULL, false, &err)) {
		run_fail(run, &err);
		return;
	}
	struct follow *follow = run->work;
	follow->alone = alone;
	follow->jobs = json_pack("{s:[]}", "job");
	json_array_each(jobs, job) {
		json_int_t number = member_int(job, "job");
		progress_queued(follow->progress, json_text_or_empty(job, "device"), -1, -1, "");
		if (strcmp(json_text_or_empty(job, "state"), "running") == 0)
			progress_begun(follow->progress, json_text_or_empty(job, "device"));
		if (number > 0)
			json_array_append_new(json_object_get(follow->jobs, "job"), json_integer(number));
	}
	/* An error here only leaves out the positions. */
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
	/* The answer does not need the progress. */
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
	run_command(run);
}
