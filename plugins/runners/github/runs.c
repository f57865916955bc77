/* SPDX-License-Identifier: MIT */
/*
 * Runs of a workflow.
 *
 * Theory of operation. common/remote_steps.c decides when a run is dispatched, looked at, fetched and cancelled. A
 * look is a request to GitHub with the ETag of the last answer, which costs nothing while nothing has changed. If many
 * runs are in flight, or if a run's id is not known, the list of the workflow's runs is used instead (run_list.c).
 * Both pass what they find to run_take_facts. A run whose dispatch got no answer is sought by its name. A plan that is
 * too large for the inputs of a workflow is published, and the input is the link.
 */
#include <config.h>

#include "runners/github/runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounded_json.h"
#include "base/cleanup.h"
#include "base/failpoint.h"
#include "base/json_access.h"
#include "base/sanitize_text.h"
#include "base/xalloc.h"

#define INPUTS_MAX 65535 /* characters of all inputs of a dispatch, which is GitHub's limit */
#define INPUTS_SPARE 200 /* of these, for the names of the inputs */
#define LINK_S 86400     /* as long as GitHub keeps a run in its queue */
#define LINK_AGAIN_MS 500
#define LINK_WAIT_MS 5000 /* frontends that serve links start after runners, also at a reload */
#define SENTENCE_MAX 600
#define CANCEL_AGAIN_MS 2000
#define CONCLUSION_CHARACTERS "abcdefghijklmnopqrstuvwxyz_"

uint64_t
runs_now_ms(const struct github *github)
{
	return github->host->monotonic_ms(github->host);
}

static bool
begin(struct remote_job *job)
{
	struct kettle_error err = {0};
	struct run_place place;
	if (github_place_read(job->unit, &place, &err) < 0) {
		remote_lost(job, KETTLE_LOSS_UNKNOWN_JOB, "%s", err.message);
		return false;
	}
	struct run *run = xcalloc(1, sizeof(*run));
	*run = (struct run){.job = job,
		.github = job->remote->self,
		.place = place,
		.id = member_int(job->handle, "run"),
		.attempt = 1,
		.publish_until = runs_now_ms(job->remote->self) + LINK_WAIT_MS};
	job->own = run;
	return run->id;
}

/* Ends the run's requests. */
static void
end_requests(struct run *run)
{
	if (run->call)
		(void)api_cancel(STEAL(run->call));
	artifact_cancel(STEAL(run->artifact));
	run->round = NULL;
}

static void
release(struct remote_job *job)
{
	struct run *run = STEAL(job->own);
	if (!run)
		return;
	end_requests(run);
	free(STEAL(run->etag));
	run->job = NULL;
	if (!run->publishing)
		free(run);
}

static bool
halt(struct remote_job *job)
{
	struct run *run = job->own;
	if (run->publishing || (run->call && job->phase == REMOTE_SENDING && api_was_sent(run->call)))
		return false;
	end_requests(run);
	return true;
}

/* ---- dispatching ---- */

void
run_take_id(struct run *run, int64_t id)
{
	run->id = id;
	json_object_set_new(run->job->handle, "run", json_integer(id));
	remote_store(run->job);
	remote_accepted(run->job);
}

static void
on_dispatched(void *arg, const struct kettle_error *err, const struct api_answer *answer)
{
	struct run *run = arg;
	struct kettle_error why = *err;
	int64_t id = 0;
	failpoint("github.dispatched");
	run->call = NULL;
	if (why.code == KETTLE_EACCES || why.code == KETTLE_EINVAL) {
		remote_lost(run->job, KETTLE_LOSS_MISCONFIGURED, "%s", why.message);
		return;
	}
	/* 3xx: the repository has a new name. */
	if (why.code == 0 && answer->status >= 300 && answer->status < 500 && answer->status != 408) {
		(void)api_fail(answer, "the dispatch of the workflow", &why);
		remote_lost(run->job, KETTLE_LOSS_MISCONFIGURED,
			"%s (Is the workflow %s of %s on its default branch and on the unit's `ref`, with the inputs that `kettle "
			"runner init github` writes, and may the token run it?)",
			why.message, run->place.workflow, run->place.repo);
		return;
	}
	if (why.code == 0)
		run->token = answer->token;
	/* 204 comes from an older server; any other answer leaves open whether the run started: its name tells. */
	if (why.code == 0 && answer->status == 200 && answer_dispatched(answer->body, &id, &why) == 0) {
		run_take_id(run, id);
		remote_update(run->job, REMOTE_PENDING, NULL);
		return;
	}
	if (why.code < 0)
		run->github->host->log(
			run->github->host, KETTLE_LOG_INFO, "%s: %s It is looked for by its name.", run->job->name, why.message);
	run->accepted = why.code == KETTLE_EIO || (why.code == 0 && answer->status < 300);
	remote_update(run->job, REMOTE_UNCERTAIN, NULL);
}

/* Returns the input that names the labels, a JSON array. New string. */
static char *
labels_text(const json_t *labels)
{
	return labels ? json_dumps(labels, JSON_COMPACT) : xstrdup("[\"" GITHUB_LABEL "\"]");
}

static void
dispatch(struct run *run, const char *payload)
{
	const struct run_place *place = &run->place;
	AUTO_FREE char *labels = labels_text(place->labels);
	AUTO_FREE char *path = xasprintf("/repos/%s/actions/workflows/%s/dispatches", place->repo, place->workflow);
	AUTO_JSON json_t *body = json_pack("{s:s, s:{s:s, s:s, s:s}, s:b}", "ref", place->ref, "inputs", "payload", payload,
		"runner", labels, "run_name", run->job->name, "return_run_details", 1);
	failpoint("github.dispatch");
	run->call = api_send(run->github->api,
		&(struct api_request){.method = "POST", .path = path, .body = body, .done = on_dispatched, .arg = run});
}

/* Handles that there is no link. never: another try makes none either, as without a frontend that serves links. */
static void
not_published(struct run *run, const struct kettle_error *err, bool never)
{
	uint64_t now = runs_now_ms(run->github);
	if (err->code == KETTLE_EUNAVAIL && now < run->publish_until) {
		remote_wait(run->job, now + LINK_AGAIN_MS);
		return;
	}
	enum kettle_loss loss = never                           ? KETTLE_LOSS_PERMANENT
							: err->code == KETTLE_ECANCELED ? KETTLE_LOSS_NOT_STARTED
															: KETTLE_LOSS_UNKNOWN_JOB;
	remote_lost(run->job, loss,
		"Its sealed plan of %zu bytes is larger than GitHub's inputs, and a link to it cannot be made: %s",
		run->job->envelope_size, err->message);
}

static void
on_published(void *arg, const struct kettle_error *err, json_t *result)
{
	struct run *run = arg;
	run->publishing = false;
	if (!run->job)
		free(run);
	else if (run->job->cancelled)
		remote_cancelled(run->job);
	else if (err->code < 0)
		not_published(run, err, err->code == KETTLE_EUNAVAIL);
	else
		dispatch(run, json_text_or_empty(result, "url"));
}

/* Publishes the plan as a link that serves it once. */
static void
publish(struct run *run)
{
	const struct kettle_host *host = run->github->host;
	const struct kettle_blob blob = {
		.size = sizeof(blob), .data = run->job->envelope, .data_size = run->job->envelope_size};
	struct kettle_error err = {0};
	run->publishing = host->publish(host, &blob, LINK_S, on_published, run, &err) == 0;
	if (!run->publishing)
		not_published(run, &err, err.code == KETTLE_ETOOBIG);
}

static void
send_job(struct remote_job *job)
{
	struct run *run = job->own;
	if (job->report) {
		dispatch(run, "");
		return;
	}
	AUTO_FREE char *payload = sealed_to_text(job->envelope, job->envelope_size);
	AUTO_FREE char *labels = labels_text(run->place.labels);
	if (strlen(payload) + strlen(labels) + strlen(job->name) + INPUTS_SPARE > INPUTS_MAX)
		publish(run);
	else
		dispatch(run, payload);
}

/* ---- looks ---- */

void
run_take_facts(struct run *run, const struct run_facts *facts)
{
	bool known = facts->conclusion[strspn(facts->conclusion, CONCLUSION_CHARACTERS)] == '\0';
	run->alone = false;
	run->attempt = facts->attempt;
	if (strcmp(facts->status, "completed") == 0) {
		failpoint("github.ended");
		(void)snprintf(run->conclusion, sizeof(run->conclusion), "%s", known ? facts->conclusion : "something unknown");
		remote_update(run->job, strcmp(run->conclusion, "success") == 0 ? REMOTE_RAN : REMOTE_ENDED, NULL);
	} else {
		remote_update(run->job, strcmp(facts->status, "in_progress") == 0 ? REMOTE_RUNNING : REMOTE_PENDING, NULL);
	}
}

static void
on_look(void *arg, const struct kettle_error *err, const struct api_answer *answer)
{
	struct run *run = arg;
	struct kettle_error why = *err;
	struct run_facts facts;
	run->call = NULL;
	if (why.code == 0 && answer->status == 304) {
		run->alone = false;
		remote_update(run->job, REMOTE_PENDING, NULL);
		return;
	}
	if (why.code == 0 && answer->status == 404) {
		(void)kettle_fail(
			&why, KETTLE_ENOENT, "GitHub knows no run %lld of %s any more.", (long long)run->id, run->place.repo);
		remote_update(run->job, REMOTE_ABSENT, why.message);
		return;
	}
	if (why.code == 0 && answer->status != 200)
		(void)api_fail(answer, "the request for a run", &why);
	else if (why.code == 0 && answer_run(answer->body, &facts, &why) == 0 && facts.id != run->id)
		(void)kettle_fail(&why, KETTLE_EIO, "GitHub answered the request for the run %lld with the run %lld.",
			(long long)run->id, (long long)facts.id);
	if (why.code < 0) {
		remote_update(run->job, REMOTE_NO_ANSWER, why.message);
		return;
	}
	free(run->etag);
	run->etag = answer->etag ? xstrdup(answer->etag) : NULL;
	run->token = answer->token;
	run_take_facts(run, &facts);
}

static void
look(struct run *run)
{
	AUTO_FREE char *path =
		xasprintf("/repos/%s/actions/runs/%lld?exclude_pull_requests=true", run->place.repo, (long long)run->id);
	run->call = api_send(run->github->api,
		&(struct api_request){.path = path, .etag = run->etag, .token = run->token, .done = on_look, .arg = run});
}

static void
ask(struct remote_job *job)
{
	struct run *run = job->own;
	if (run_lists_used(run->github) && !run->alone)
		run_list_join(run);
	else
		look(run);
}

static void
find_job(struct remote_job *job)
{
	run_list_join(job->own);
}

static uint64_t
interval_ms(const struct remote_job *job, uint64_t now)
{
	const struct run *run = job->own;
	const struct github *github = run->github;
	uint64_t shared = github->remote.count * RUNS_POINTS_MS / api_tokens(github->api);
	if (job->cancelled && run->id)
		return now < run->cancel_at || run->cancelled_at ? github->poll_ms : 0;
	if (!run->id || (run_lists_used(github) && !run->alone))
		return run_list_interval_ms(run);
	/* A run that is looked at by id beside a list does not share its time with the others. */
	return run_lists_used(github) || shared < github->poll_ms ? github->poll_ms : shared;
}

/* ---- cancelling ---- */

static void
on_cancelled(void *arg, const struct kettle_error *err, const struct api_answer *answer)
{
	struct run *run = arg;
	uint64_t now = runs_now_ms(run->github);
	/* 409: the run has ended; the next look tells. */
	bool taken = err->code == 0 && (answer->status < 300 || answer->status == 409 || answer->status == 404);
	if (taken && !run->cancelled_at)
		run->cancelled_at = now;
	run->forced = run->forced && taken;
	run->cancel_at = now + (taken ? RUNS_FORCE_MS : CANCEL_AGAIN_MS);
	look(run);
}

/* Alternates between requests to cancel the run, in the end by force, and looks at it. */
static void
cancel(struct remote_job *job)
{
	struct run *run = job->own;
	if (job->phase == REMOTE_SENDING || job->phase == REMOTE_FETCHING) {
		remote_cancelled(job); /* it was not dispatched, or has ended */
		return;
	}
	uint64_t now = runs_now_ms(run->github);
	if (!run->id) {
		find_job(job);
		return;
	}
	if (run->forced || now < run->cancel_at) {
		look(run);
		return;
	}
	run->forced = run->cancelled_at && now - run->cancelled_at >= RUNS_FORCE_MS;
	AUTO_FREE char *path = xasprintf(
		"/repos/%s/actions/runs/%lld/%s", run->place.repo, (long long)run->id, run->forced ? "force-cancel" : "cancel");
	run->call = api_send(run->github->api,
		&(struct api_request){
			.method = "POST", .path = path, .token = run->token, .urgent = true, .done = on_cancelled, .arg = run});
}

/* ---- the artifact ---- */

static void
take_report(struct remote_job *job, const struct result_files *files)
{
	AUTO_JSON json_t *report =
		files->report ? bounded_json_parse(files->report, files->report_size, BOUNDED_JSON_VALUES, 0, NULL) : NULL;
	remote_report(job, report,
		"The run left no doctor.json with a report: is the workflow the one that `kettle runner init github` writes?");
}

static void
take_files(struct run *run, struct result_files *files)
{
	struct remote_job *job = run->job;
	/* The first line in which the workflow's tools say why they failed. */
	AUTO_FREE char *why = sanitize_line(files->error ? files->error : "", SENTENCE_MAX / 2);
	if (files->result < 0 && !files->report) {
		remote_lost(job, KETTLE_LOSS_NODE_FAULT, "Its workflow ended as %s and without a result%s%s", run->conclusion,
			why[0] ? ": " : ".", why);
	} else if (job->report) {
		take_report(job, files);
	} else if (files->result < 0) {
		remote_lost(job, KETTLE_LOSS_NODE_FAULT, "Its run left a report of the machine in place of a result.");
	} else {
		job->run = xasprintf("%lld-%u", (long long)run->id, run->attempt);
		remote_result(job, STEAL_FD(files->result));
	}
}

static void
on_artifact(void *arg, enum artifact_end how, const struct kettle_error *err, struct result_files *files)
{
	struct run *run = arg;
	struct remote_job *job = run->job;
	uint64_t now = runs_now_ms(run->github);
	/* A machine that has worked leaves its artifact before the run ends, but GitHub may list it a moment later. */
	bool worked = strcmp(run->conclusion, "success") == 0 || strcmp(run->conclusion, "failure") == 0;
	failpoint("github.fetched");
	run->artifact = NULL;
	if (how == ARTIFACT_READ)
		take_files(run, files);
	else if (how == ARTIFACT_LATER)
		remote_update(job, REMOTE_NO_ANSWER, err->message);
	else if (how == ARTIFACT_UNLISTED && ++run->looks < (worked ? ARTIFACT_LOOKS : 2))
		remote_wait(job, now + ((uint64_t)ARTIFACT_LOOK_MS << (run->looks - 1)));
	else if (how == ARTIFACT_WRONG && ++run->tries < ARTIFACT_TRIES)
		remote_wait(job, now + ARTIFACT_LOOK_MS);
	else if (err->code == KETTLE_ENOENT)
		remote_lost(
			job, KETTLE_LOSS_NODE_FAULT, "Its run ended as %s and left no result: %s", run->conclusion, err->message);
	else
		remote_lost(job, KETTLE_LOSS_NODE_FAULT, "Its result cannot be fetched: %s", err->message);
}

static void
fetch(struct remote_job *job)
{
	struct run *run = job->own;
	run->artifact = artifact_fetch(run->github->host, run->github->api,
		&(struct artifact_request){.repo = run->place.repo,
			.run = run->id,
			.token = run->token,
			.most_ms = job->remote->pace.quiet_ms,
			.done = on_artifact,
			.arg = run});
}

const struct remote_ops runs_ops = {
	.begin = begin,
	.send = send_job,
	.find = find_job,
	.ask = ask,
	.fetch = fetch,
	.cancel = cancel,
	.halt = halt,
	.release = release,
	.interval_ms = interval_ms,
	.check = github_check,
	.check_unit = github_check_unit,
};
