/* SPDX-License-Identifier: MIT */
/*
 * Runs of a workflow.
 *
 * Theory of operation. A timer, which runs while there are runs, looks at each whose time has come: a request to GitHub with
 * the ETag of the last answer, which costs nothing while nothing has changed. Where many runs are in flight, and where the
 * id of one is not known, the list of the workflow's runs is looked at instead (run_list.c). What a look finds goes
 * through run_take_facts, wherever it comes from. A dispatch whose answer is lost makes the run one that is sought by its name.
 *
 * Callbacks may free any run, also the one that they are about: none is touched after its callback but by in_callback.
 */
#include <config.h>

#include "runners/github/runs_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/failpoint.h"
#include "base/sanitize_text.h"
#include "base/xalloc.h"
#include "runners/common/remote.h"

#define TICK_MS 100
#define SENTENCE_MAX 600
#define MISSING_MAX 6 /* times in a row that GitHub does not know a run, which it may do at first */
#define CANCEL_AGAIN_MS 2000
#define CONCLUSION_CHARACTERS "abcdefghijklmnopqrstuvwxyz_"

static void on_tick(void *arg);

uint64_t
runs_now_ms(const struct runs *runs)
{
	return runs->host->monotonic_ms(runs->host);
}

/* ---- the end ---- */

static void
free_run(struct run *run)
{
	struct runs *runs = run->runs;
	*(run->prev ? &run->prev->next : &runs->first) = run->next;
	if (run->next)
		run->next->prev = run->prev;
	runs->count--;
	free(run->repo);
	free(run->workflow);
	free(run->name);
	free(run->etag);
	free(run);
}

void
run_forget(struct run *run)
{
	if (run->call)
		(void)api_cancel(STEAL(run->call));
	if (run->cancel_call)
		(void)api_cancel(STEAL(run->cancel_call));
	artifact_cancel(STEAL(run->artifact));
	run->phase = RUN_ENDED;
	if (!run->in_callback)
		free_run(run);
}

void
run_end(struct run *run, enum run_end how, struct result_files *files, const char *format, ...)
{
	char sentence[SENTENCE_MAX];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	run->in_callback = true;
	run_forget(run);
	if (run->events->ended)
		run->events->ended(run->arg, how, sentence, files);
	free_run(run);
}

/* Whether GitHub cannot have heard of its dispatch. */
static bool
is_unsent(const struct run *run)
{
	return run->phase == RUN_DISPATCHING && !(run->call && api_was_sent(run->call));
}

void
run_abandon(struct run *run)
{
	static const struct run_events none = {0};
	if (run->in_callback || !run->cancelled || is_unsent(run) || run->phase == RUN_FETCHING)
		run_forget(run);
	else
		run->events = &none;
}

/* Calls `found` or `started`. Whether the run is still there. */
static bool
tell(struct run *run, bool started)
{
	run->in_callback = true;
	if (started && run->events->started)
		run->events->started(run->arg);
	if (!started && run->events->found)
		run->events->found(run->arg, run->id);
	run->in_callback = false;
	if (run->phase != RUN_ENDED)
		return true;
	free_run(run);
	return false;
}

bool
run_take_fault(struct run *run, const struct kettle_error *err)
{
	uint64_t now = runs_now_ms(run->runs);
	if (!run->faulty_since)
		run->faulty_since = now;
	run->next_at = now + remote_backoff_ms(++run->faults, run->runs->rules.poll_ms, RUNS_BACKOFF_MS);
	if (now - run->faulty_since < run->runs->rules.give_up_ms)
		return false;
	if (run->cancelled)
		run_end(run, RUN_CANCELLED, NULL, "It was cancelled; GitHub does not say how it ended.");
	else
		run_end(run, RUN_UNREACHED, NULL, "%s", err->message);
	return true;
}

/* ---- its artifact ---- */

/* The first line that the workflow's tools have written on why they failed; "" where there is none. New. */
static char *
first_line(const struct result_files *files)
{
	const char *text = files && files->error ? files->error : "";
	return sanitize_line(text, SENTENCE_MAX / 2);
}

static void
on_artifact(void *arg, const struct kettle_error *err, bool unreached, struct result_files *files)
{
	struct run *run = arg;
	AUTO_FREE char *why = first_line(files);
	failpoint("github.fetched");
	run->artifact = NULL;
	if (err->code == 0 && (files->result >= 0 || files->report))
		run_end(run, RUN_RESULT, files, "It has ended.");
	else if (err->code == 0)
		run_end(run, RUN_BROKE, NULL, "Its workflow ended as %s and without a result%s%s", run->conclusion,
			why[0] ? ": " : ".", why);
	else if (err->code == KETTLE_ENOENT)
		run_end(run, RUN_BROKE, NULL, "Its run ended as %s and left no result: %s", run->conclusion, err->message);
	else
		run_end(run, unreached ? RUN_UNREACHED : RUN_BROKE, NULL, "Its result cannot be fetched: %s", err->message);
}

static void
fetch(struct run *run)
{
	struct runs *runs = run->runs;
	/* A machine that has worked leaves its artifact before the run ends; it may only take a moment to be listed. */
	bool worked = strcmp(run->conclusion, "success") == 0 || strcmp(run->conclusion, "failure") == 0;
	failpoint("github.ended");
	run->phase = RUN_FETCHING;
	run->artifact = artifact_fetch(runs->host, runs->api,
		&(struct artifact_request){.repo = run->repo,
			.run = run->id,
			.token = run->token,
			.looks = worked ? ARTIFACT_LOOKS : 2,
			.give_up_ms = runs->rules.give_up_ms,
			.done = on_artifact,
			.arg = run});
}

/* ---- looking at it ---- */

void
run_take_facts(struct run *run, const struct run_facts *facts)
{
	bool found = run->phase == RUN_SEEKING;
	bool completed = strcmp(facts->status, "completed") == 0;
	run->faults = run->missing = 0;
	run->faulty_since = 0;
	run->alone = false;
	run->attempt = facts->attempt;
	if (found) {
		run->phase = RUN_POLLING;
		run->id = facts->id;
		run->next_at = 0;
		if (!tell(run, false))
			return;
	}
	/* An answer that is late says nothing new. */
	if (run->phase != RUN_POLLING)
		return;
	bool runs_now =
		strcmp(facts->status, "in_progress") == 0 || (completed && strcmp(facts->conclusion, "success") == 0);
	if (runs_now && !run->started) {
		run->started = true;
		if (!tell(run, true))
			return;
	}
	if (!completed)
		return;
	bool known = facts->conclusion[strspn(facts->conclusion, CONCLUSION_CHARACTERS)] == '\0';
	(void)snprintf(run->conclusion, sizeof(run->conclusion), "%s", known ? facts->conclusion : "something unknown");
	if (run->cancelled)
		run_end(run, RUN_CANCELLED, NULL, "It was cancelled.");
	else
		fetch(run);
}

static void
on_look(void *arg, const struct kettle_error *err, const struct api_answer *answer)
{
	struct run *run = arg;
	struct kettle_error why = *err;
	struct run_facts facts;
	run->call = NULL;
	if (why.code == 0 && answer->status == 304) {
		run->faults = run->missing = 0;
		run->faulty_since = 0;
		run->alone = false;
		return;
	}
	if (why.code == 0 && answer->status == 404) {
		run->next_at =
			runs_now_ms(run->runs) + remote_backoff_ms(++run->missing, run->runs->rules.poll_ms, RUNS_BACKOFF_MS);
		if (run->missing >= MISSING_MAX)
			run_end(run, RUN_GONE, NULL, "GitHub knows no run %lld of %s any more.", (long long)run->id, run->repo);
		return;
	}
	if (why.code == 0 && answer->status != 200)
		(void)api_fail(answer, "the request for a run", &why);
	else if (why.code == 0 && answer_run(answer->body, &facts, &why) == 0 && facts.id != run->id)
		(void)kettle_fail(&why, KETTLE_EIO, "GitHub answered the request for the run %lld with the run %lld.",
			(long long)run->id, (long long)facts.id);
	if (why.code < 0) {
		(void)run_take_fault(run, &why);
		return;
	}
	free(run->etag);
	run->etag = answer->etag ? xstrdup(answer->etag) : NULL;
	run->token = answer->token;
	run_take_facts(run, &facts);
}

/* Between two looks at one run. */
static uint64_t
interval_ms(const struct runs *runs)
{
	uint64_t shared = runs->count * RUNS_POINTS_MS / api_tokens(runs->api);
	return shared > runs->rules.poll_ms ? shared : runs->rules.poll_ms;
}

static void
look(struct run *run, uint64_t now)
{
	AUTO_FREE char *path =
		xasprintf("/repos/%s/actions/runs/%lld?exclude_pull_requests=true", run->repo, (long long)run->id);
	/* A single one besides a list does not share its time with the others. */
	run->next_at = now + (run_lists_used(run->runs) ? run->runs->rules.poll_ms : interval_ms(run->runs));
	run->call = api_send(run->runs->api,
		&(struct api_request){.path = path, .etag = run->etag, .token = run->token, .done = on_look, .arg = run});
}

/* ---- cancelling ---- */

static void
on_cancelled(void *arg, const struct kettle_error *err, const struct api_answer *answer)
{
	struct run *run = arg;
	uint64_t now = runs_now_ms(run->runs);
	run->cancel_call = NULL;
	/* 409: it has ended, or cannot be cancelled so; 404: it is not there. The next look says more. */
	bool taken = err->code == 0 && (answer->status == 202 || answer->status == 409 || answer->status == 404);
	if (taken && !run->cancelled_at)
		run->cancelled_at = now;
	run->forced = run->forced && taken;
	run->cancel_at = now + (taken ? RUNS_FORCE_MS : CANCEL_AGAIN_MS);
	run->next_at = now;
}

static void
request_cancel(struct run *run, uint64_t now)
{
	bool force = run->cancelled_at && now - run->cancelled_at >= RUNS_FORCE_MS;
	if (run->forced)
		return;
	run->forced = force;
	AUTO_FREE char *path =
		xasprintf("/repos/%s/actions/runs/%lld/%s", run->repo, (long long)run->id, force ? "force-cancel" : "cancel");
	run->cancel_call = api_send(run->runs->api,
		&(struct api_request){
			.method = "POST", .path = path, .token = run->token, .urgent = true, .done = on_cancelled, .arg = run});
}

void
run_cancel(struct run *run)
{
	run->cancelled = true;
	run->next_at = run->cancel_at = 0;
	if (run->call && is_unsent(run))
		(void)api_cancel(STEAL(run->call));
}

/* ---- the timer ---- */

/* Whether a callback was called, after which the runs may be others. */
static bool
tick_run(struct run *run, uint64_t now)
{
	bool single = run->cancelled || !run_lists_used(run->runs) || run->alone;
	if (run->cancelled && (run->phase == RUN_FETCHING || is_unsent(run))) {
		run_end(run, RUN_CANCELLED, NULL, "It was cancelled.");
		return true;
	}
	if (run->phase != RUN_POLLING)
		return false;
	if (run->cancelled && !run->cancel_call && now >= run->cancel_at)
		request_cancel(run, now);
	if (single && !run->call && now >= run->next_at)
		look(run, now);
	return false;
}

static void
on_tick(void *arg)
{
	struct runs *runs = arg;
	uint64_t now = runs_now_ms(runs);
	struct run *run = runs->first;
	if (!run) {
		runs->host->timer_stop(runs->host, STEAL(runs->timer));
		return;
	}
	run_lists_tick(runs, now);
	while (run) {
		struct run *next = run->next;
		/* Each turn of this kind ends a run. */
		run = tick_run(run, now) ? runs->first : next;
	}
}

/* ---- dispatching ---- */

static void
seek(struct run *run)
{
	run->phase = RUN_SEEKING;
	run->looks = 0;
	run->sought_since = runs_now_ms(run->runs);
	run_list_reread(run);
}

static void
on_dispatched(void *arg, const struct kettle_error *err, const struct api_answer *answer)
{
	struct run *run = arg;
	struct kettle_error why = *err;
	failpoint("github.dispatched");
	run->call = NULL;
	if (why.code == KETTLE_EACCES || why.code == KETTLE_EINVAL) {
		run_end(run, RUN_UNUSABLE, NULL, "%s", why.message);
		return;
	}
	/* 3xx: the repository has another name now. */
	if (why.code == 0 && answer->status >= 300 && answer->status < 500 && answer->status != 408) {
		(void)api_fail(answer, "the dispatch of the workflow", &why);
		run_end(run, RUN_UNUSABLE, NULL,
			"%s (Is the workflow %s of %s on its default branch and on the unit's `ref`, with the inputs that `kettle "
			"runner init github` writes, and may the token run it?)",
			why.message, run->workflow, run->repo);
		return;
	}
	if (why.code == 0)
		run->token = answer->token;
	/* 204 is an older server; anything else may have started the run, or not: its name tells. */
	if (why.code < 0 || answer->status != 200 || answer_dispatched(answer->body, &run->id, &why) < 0) {
		if (why.code < 0)
			run->runs->host->log(
				run->runs->host, KETTLE_LOG_INFO, "%s: %s It is looked for by its name.", run->name, why.message);
		run->accepted = why.code == KETTLE_EIO || (why.code == 0 && answer->status < 300);
		seek(run);
		return;
	}
	run->phase = RUN_POLLING;
	run->next_at = runs_now_ms(run->runs) + run->runs->rules.poll_ms;
	(void)tell(run, false);
}

static struct run *
add_run(struct runs *runs, const struct run_place *place, const char *name, const struct run_events *events, void *arg)
{
	struct run *run = xcalloc(1, sizeof(*run));
	*run = (struct run){.runs = runs,
		.next = runs->first,
		.repo = xstrdup(place->repo),
		.workflow = xstrdup(place->workflow),
		.name = xstrdup(name),
		.events = events,
		.arg = arg,
		.attempt = 1};
	if (runs->first)
		runs->first->prev = run;
	runs->first = run;
	runs->count++;
	if (!runs->timer)
		(void)runs->host->timer_start(runs->host, TICK_MS, TICK_MS, on_tick, runs, &runs->timer, NULL);
	return run;
}

char *
run_labels_text(const json_t *labels)
{
	return labels ? json_dumps(labels, JSON_COMPACT) : xstrdup("[\"" RUNS_LABEL "\"]");
}

struct run *
runs_dispatch(struct runs *runs, const struct run_place *place, const char *name, const char *payload,
	const struct run_events *events, void *arg)
{
	struct run *run = add_run(runs, place, name, events, arg);
	AUTO_FREE char *labels = run_labels_text(place->labels);
	AUTO_FREE char *path = xasprintf("/repos/%s/actions/workflows/%s/dispatches", place->repo, place->workflow);
	AUTO_JSON json_t *body = json_pack("{s:s, s:{s:s, s:s, s:s}, s:b}", "ref", place->ref, "inputs", "payload", payload,
		"runner", labels, "run_name", name, "return_run_details", 1);
	run->phase = RUN_DISPATCHING;
	run->since_ms = runs->host->utc_ms(runs->host);
	failpoint("github.dispatch");
	run->call = api_send(runs->api,
		&(struct api_request){.method = "POST", .path = path, .body = body, .done = on_dispatched, .arg = run});
	return run;
}

struct run *
runs_follow(struct runs *runs, const struct run_place *place, const char *name, int64_t id, int64_t since_ms,
	const struct run_events *events, void *arg)
{
	struct run *run = add_run(runs, place, name, events, arg);
	run->since_ms = since_ms;
	run->id = id;
	if (id)
		run->phase = RUN_POLLING;
	else
		seek(run);
	return run;
}

int64_t
run_id(const struct run *run)
{
	return run->id;
}

unsigned
run_attempt(const struct run *run)
{
	return run->attempt;
}

struct runs *
runs_new(const struct kettle_host *host, struct api *api, const struct runs_rules *rules)
{
	struct runs *runs = xcalloc(1, sizeof(*runs));
	*runs = (struct runs){.host = host, .api = api, .rules = *rules};
	return runs;
}

void
runs_stop(struct runs *runs)
{
	while (runs->first)
		run_forget(runs->first);
	run_lists_free(runs);
	runs->host->timer_stop(runs->host, STEAL(runs->timer));
}

void
runs_free(struct runs *runs)
{
	if (!runs)
		return;
	runs_stop(runs);
	free(runs);
}
