/* SPDX-License-Identifier: MIT */
/*
 * KernelBot's HTTP API: submissions that a client follows by the events of its own request, profiles among them.
 *
 * Theory of operation. The answer becomes a stream when the submission is accepted, so all refusals have their own
 * status. Until the submission ends, the visit waits for its events and tells the progress, first with the place in the
 * queue. Then it asks for what came of it. The zips of profiles are files of its own, which a thread of the pool reads
 * and sends, since the line of the result may have tens of megabytes.
 */
#include <config.h>

#include "web/compat/compat.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/base.h"
#include "base/contents.h"
#include "base/io.h"
#include "common/progress.h"
#include "web/compat/results.h"
#include "web/visit/respond.h"

#define STATUS_MS 10000              /* between two events `status`; clients want one each 15 s */
#define TRACES_BYTES_MAX (64u << 20) /* of all zips of a result */
#define MS_PER_S 1000.0

/* A followed submission: the state of its visit. */
struct follow {
	struct visit *visit;
	struct term term; /* of the progress, which prints nothing */
	struct progress *progress;
	struct kettle_timer *timer;
	uint64_t begun_ms;
	bool has_ended; /* the submission */
};

static void
free_follow(void *state)
{
	struct follow *follow = state;
	const struct kettle_host *host = follow->visit->web->host;
	host->timer_stop(host, follow->timer);
	progress_free(follow->progress);
	free(follow);
}

/* ---- status ---- */

static void
send_status(const struct follow *follow)
{
	struct visit *visit = follow->visit;
	const struct kettle_host *host = visit->web->host;
	AUTO_FREE char *text = progress_text(follow->progress, ", ");
	AUTO_JSON json_t *value = json_pack("{s:s, s:f, s:s}", "status", "processing", "elapsed_time",
		(double)(host->monotonic_ms(host) - follow->begun_ms) / MS_PER_S, "message",
		text ? text : "The result is being stored.");
	visit_send(visit, "status", value);
}

static void ask_submission(struct visit *visit);

/* Waits for what happens next. */
static void
wait_on(struct follow *follow)
{
	if (follow->has_ended)
		ask_submission(follow->visit);
	else
		follow->visit->waits = true;
}

static json_int_t
int_or(const json_t *object, const char *key, json_int_t usual)
{
	const json_t *value = json_object_get(object, key);
	return value ? json_integer_value(value) : usual;
}

static void
on_places(struct visit *visit, json_t *result)
{
	struct follow *follow = visit->state;
	json_array_each(json_object_get(result, "places"), place)
		if (json_object_get(place, "place") || json_object_get(place, "waits"))
			progress_queued(follow->progress, json_text_or_empty(place, "device"), int_or(place, "place", -1),
				int_or(place, "wait_s", -1), json_text_or_empty(place, "waits"));
	send_status(follow);
	wait_on(follow);
}

/* Tells the progress; with the place in the queue, as long as the submission is there. */
static void
tell(struct follow *follow)
{
	struct visit *visit = follow->visit;
	if (progress_waits(follow->progress))
		visit_call(visit, "queue.place", json_pack("{s:O}", "job", json_object_get(visit->data, "jobs")), on_places);
	else
		on_places(visit, NULL);
}

static void
on_tick(void *arg)
{
	struct follow *follow = arg;
	if (follow->visit->waits)
		tell(follow);
}

/* ---- the end ---- */

/* The answer that a thread of the pool makes of a result and its zips. */
struct sending {
	struct visit *visit;
	json_t *data; /* a copy of the visit's "result", "traces", "options", "id" */
	struct http_chunk *chunk;
};

/* Reads a file that is this request's own, and removes it; NULL: it cannot be read. As base64; new string. */
static char *
take_file(const char *path, size_t size)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	AUTO_FREE char *data = xmalloc(size);
	(void)unlink(path);
	return fd >= 0 && read_all(fd, data, size) == (ssize_t)size ? base64_encode(data, size) : NULL;
}

static void
make_chunk(void *arg)
{
	struct sending *sending = arg;
	json_t *value = json_object_get(sending->data, "result");
	json_t *result = json_array_get(json_object_get(value, "results"), 0);
	json_array_each(json_object_get(sending->data, "traces"), trace) {
		const char *path = json_text_or_null(trace, "path");
		AUTO_FREE char *base64 = path ? take_file(path, (size_t)member_int(trace, "size")) : NULL;
		if (base64)
			results_put_trace(result, json_text_or_empty(trace, "run"), base64);
	}
	if (json_object_get(sending->data, "options"))
		results_need_ncu(result, member_int(sending->data, "id"));
	sending->chunk = visit_chunk("result", value);
}

static void
send_chunk(void *arg)
{
	AUTO_FREE struct sending *sending = arg;
	visit_send_last(sending->visit, sending->chunk);
	json_decref(sending->data);
	visit_end(sending->visit);
}

static void
send_result(struct visit *visit)
{
	const struct kettle_host *host = visit->web->host;
	struct kettle_error err = {0};
	struct sending *sending = xnew(struct sending, .visit = visit, .data = json_deep_copy(visit->data));
	if (host->work(host, make_chunk, send_chunk, sending, &err) == 0)
		return;
	json_decref(sending->data);
	free(sending);
	visit_fail(visit, &err);
}

static void open_next(struct visit *visit);

static void
on_opened(struct visit *visit, json_t *result)
{
	json_t *trace = json_array_get(json_object_get(visit->data, "traces"), (size_t)member_int(visit->data, "opened"));
	json_object_set(trace, "path", json_object_get(result, "path"));
	json_object_set_new(visit->data, "opened", json_integer(member_int(visit->data, "opened") + 1));
	open_next(visit);
}

/* Opens the next zip; those of a submission that its user may see need no further right. */
static void
open_next(struct visit *visit)
{
	const json_t *trace =
		json_array_get(json_object_get(visit->data, "traces"), (size_t)member_int(visit->data, "opened"));
	if (trace)
		visit_call_internal(
			visit, "artifact.open", json_pack("{s:O}", "artifact", json_object_get(trace, "artifact")), on_opened);
	else
		send_result(visit);
}

/* The captures of each benchmark, from the answer of `leaderboard.task`. */
static void
put_metadata(struct visit *visit, json_t *task)
{
	const json_t *cases = json_object_get(json_object_get(task, "task"), "benchmarks");
	json_t *results = json_object_get(json_object_get(visit->data, "result"), "results");
	json_t *result = json_array_get(results, 0), *specs = json_object();
	json_object_each(json_object_get(result, "runs"), key, entry) {
		const char *index = strrchr(key, '.');
		json_t *one = index ? json_array_get(cases, strtoul(index + 1, NULL, 10)) : NULL;
		if (one)
			json_object_set(specs, index + 1, one);
	}
	json_object_update_new(result, json_pack("{s:{s:O, s:o, s:O}, s:n}", "profile_metadata", "capture_options",
									   json_object_get(visit->data, "options"), "benchmark_specs", specs,
									   "config_sha256", json_object_get(task, "hash"), "cpu_compile"));
	open_next(visit);
}

/* The zips that fit into a result. */
static json_t *
fitting(json_t *traces)
{
	json_t *list = json_array();
	json_int_t left = TRACES_BYTES_MAX;
	json_array_each(traces, trace)
		if (member_int(trace, "size") > 0 && member_int(trace, "size") <= left) {
			left -= member_int(trace, "size");
			json_array_append(list, trace);
		}
	return list;
}

static void
on_submission(struct visit *visit, json_t *submission)
{
	const char *failure = results_failure(submission);
	const json_t *job = json_array_get(json_object_get(submission, "jobs"), 0);
	if (failure) {
		AUTO_JSON json_t *value = json_pack("{s:s, s:s}", "status", "error", "detail", failure);
		visit_send(visit, "error", value);
		visit_end(visit);
		return;
	}
	AUTO_FREE char *report = results_report(submission, job);
	AUTO_JSON json_t *traces = results_traces(job);
	json_object_update_new(
		visit->data, json_pack("{s:{s:s, s:[o], s:[s]}, s:o, s:i}", "result", "status", "success", "results",
						 results_job(submission, job), "reports", report, "traces", fitting(traces), "opened", 0));
	if (json_object_get(visit->data, "options"))
		visit_call(visit, "leaderboard.task",
			json_pack("{s:O, s:O, s:s}", "name", json_object_get(submission, "leaderboard_name"), "device",
				json_object_get(job, "device"), "mode", "profile"),
			put_metadata);
	else
		open_next(visit);
}

static void
ask_submission(struct visit *visit)
{
	visit_call(visit, "submission.show", json_pack("{s:O}", "id", json_object_get(visit->data, "id")), on_submission);
}

/* ---- following ---- */

static void
on_event(void *arg, const json_t *event)
{
	struct visit *visit = arg;
	struct follow *follow = visit->state;
	bool is_gone = member_is(event, "kind", "submission.deleted") || member_is(event, "kind", "refused");
	follow->has_ended = follow->has_ended || is_gone || member_is(event, "kind", "submission.done");
	if (!follow->has_ended)
		progress_event(follow->progress, event);
	else if (visit->waits)
		ask_submission(visit);
}

void
compat_follow(struct visit *visit, json_t *result)
{
	const struct kettle_host *host = visit->web->host;
	struct kettle_error err = {0};
	struct follow *follow = xcalloc(1, sizeof(*follow));
	json_t *jobs = json_array();
	*follow = (struct follow){.visit = visit, .begun_ms = host->monotonic_ms(host)};
	follow->progress = progress_new(&follow->term, true);
	visit->state = follow;
	visit->free_state = free_follow;
	(void)json_object_del(visit->data, "args");
	json_object_set(visit->data, "id", json_object_get(result, "id"));
	json_object_set_new(visit->data, "jobs", jobs);
	json_array_each(json_object_get(result, "jobs"), job) {
		json_array_append(jobs, json_object_get(job, "job"));
		progress_queued(follow->progress, json_text_or_empty(job, "device"), -1, -1, "");
	}
	AUTO_JSON json_t *filter = json_pack("{s:O}", "submission", json_object_get(result, "id"));
	if (visit_follow(visit, filter, member_int(result, "seq"), on_event, &err) < 0 ||
		host->timer_start(host, STATUS_MS, STATUS_MS, on_tick, follow, &follow->timer, &err) < 0)
		visit_fail(visit, &err);
	else
		tell(follow);
}

/* ---- a profile of a benchmark that the task lacks ---- */

/* Clients of /profile read that in a result. */
void
compat_fail_profile(struct visit *visit, const struct kettle_error *err)
{
	if (visit->stream || err->code != KETTLE_EINVAL || strcmp(err->member, "benchmark") != 0) {
		compat_fail(visit, err);
		return;
	}
	AUTO_JSON json_t *result = json_pack("{s:s, s:[{s:b, s:s, s:{}, s:{}}], s:[]}", "status", "success", "results",
		"success", 0, "error", err->message, "system", "runs", "reports");
	visit_stream(visit);
	visit_send(visit, "result", result);
}
