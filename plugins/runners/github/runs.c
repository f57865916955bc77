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

#include "runners/github/github.h"

#include <unistd.h>

#include "base/base.h"
#include "base/bounded_json.h"
#include "base/failpoint.h"
#include "base/utf8.h"

#define INPUTS_MAX 65535 /* characters of all inputs of a dispatch, which is GitHub's limit */
#define INPUTS_SPARE 200 /* of these, for the names of the inputs */
#define LINK_S 86400     /* as long as GitHub keeps a run in its queue */
#define LINK_AGAIN_MS 500
#define LINK_WAIT_MS 5000 /* frontends that serve links start after runners, also at a reload */
#define SENTENCE_MAX 600
#define ARTIFACT_NAME "kettle-result"
#define ARTIFACT_LOOKS 5     /* looks at the list, until an artifact counts as missing */
#define ARTIFACT_LOOK_MS 500 /* after the first look, doubling */
#define ARTIFACT_TRIES 3     /* downloads whose link has expired or whose bytes are wrong */
#define LINK_MAX 16384       /* bytes of a link */
#define DOWNLOAD_MS 30000    /* for a download, besides the time for its bytes */
#define DOWNLOAD_RATE 500    /* bytes per ms, the slowest rate that is tolerated */
#define CANCEL_AGAIN_MS 2000
#define CONCLUSION_CHARACTERS "abcdefghijklmnopqrstuvwxyz_"

static bool
begin(struct remote_job *job)
{
	struct kettle_error err = {0};
	struct run_place place;
	if (github_place_read(job->unit, &place, &err) < 0) {
		remote_lost(job, KETTLE_LOSS_UNKNOWN_JOB, "%s", err.message);
		return false;
	}
	struct run *run = xnew(struct run, .job = job, .github = job->remote->self, .place = place,
		.id = member_int(job->handle, "run"), .attempt = 1, .publish_until = remote_now_ms(job->remote) + LINK_WAIT_MS);
	job->own = run;
	return run->id;
}

/* The check and unpacking of a zip, on a thread of the pool. */
struct unpacking {
	struct run *run; /* NULL: the fetch was ended meanwhile */
	int fd;
	struct artifact_facts facts;
	struct result_files files;
	struct kettle_error err;
};

static void
end_requests(struct run *run)
{
	if (run->call)
		api_cancel(STEAL(run->call));
	if (run->download)
		run->github->remote.host->http_cancel(run->github->remote.host, run->download);
	if (run->unpacking)
		STEAL(run->unpacking)->run = NULL;
	run->download = 0;
	download_remove(&run->file);
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
	json_decref_all(run->places, run->found);
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
		run->github->remote.host->log(run->github->remote.host, KETTLE_LOG_INFO, "%s: %s It is looked for by its name.",
			run->job->name, why.message);
	run->accepted = why.code == KETTLE_EIO || (why.code == 0 && answer->status < 300);
	remote_update(run->job, REMOTE_UNCERTAIN, NULL);
}

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
	uint64_t now = remote_now_ms(&run->github->remote);
	if (err->code == KETTLE_EUNAVAIL && now < run->publish_until) {
		remote_wait(run->job, now + LINK_AGAIN_MS);
		return;
	}
	if (remote_send_whole(run->job))
		return;
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

static void
publish(struct run *run)
{
	const struct kettle_host *host = run->github->remote.host;
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
	struct kettle_error why = {0};
	struct run_facts facts;
	run->call = NULL;
	if (err->code == 0 && answer->status == 304) {
		run->alone = false;
		remote_update(run->job, REMOTE_PENDING, NULL);
		return;
	}
	if (err->code == 0 && answer->status == 404) {
		(void)kettle_fail(
			&why, KETTLE_ENOENT, "GitHub no longer has the run %lld of %s.", (long long)run->id, run->place.repo);
		remote_update(run->job, REMOTE_ABSENT, why.message);
		return;
	}
	if (api_check(err, answer, "the request for a run", &why) == 0 && answer_run(answer->body, &facts, &why) == 0 &&
		facts.id != run->id)
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
	uint64_t now = remote_now_ms(&run->github->remote);
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
	uint64_t now = remote_now_ms(&run->github->remote);
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
		remote_lost(job, KETTLE_LOSS_NODE_FAULT, "Its workflow ended with the conclusion `%s` and without a result%s%s",
			run->conclusion, why[0] ? ": " : ".", why);
	} else if (job->report) {
		take_report(job, files);
	} else if (files->result < 0) {
		remote_lost(job, KETTLE_LOSS_NODE_FAULT, "Its run left a report of the machine in place of a result.");
	} else {
		job->run = xasprintf("%lld-%u", (long long)run->id, run->attempt);
		remote_result(job, STEAL_FD(files->result), NULL);
	}
}

/* The outcome of a fetch without files. */
enum fetch_end {
	FETCH_UNLISTED, /* there is no artifact, or not yet */
	FETCH_LATER,    /* GitHub or the network failed, perhaps only now */
	FETCH_WRONG,    /* the download failed or its bytes are wrong: worth a few more tries */
	FETCH_FAILED,   /* every further try would fail */
};

static void
fail_fetch(struct run *run, enum fetch_end how, const struct kettle_error *err)
{
	struct remote_job *job = run->job;
	uint64_t now = remote_now_ms(&run->github->remote);
	/* A machine that has worked leaves its artifact before the run ends, but GitHub may list it a moment later. */
	bool worked = strcmp(run->conclusion, "success") == 0 || strcmp(run->conclusion, "failure") == 0;
	failpoint("github.fetched");
	if (how == FETCH_LATER)
		remote_update(job, REMOTE_NO_ANSWER, err->message);
	else if (how == FETCH_UNLISTED && ++run->looks < (worked ? ARTIFACT_LOOKS : 2))
		remote_wait(job, now + ((uint64_t)ARTIFACT_LOOK_MS << (run->looks - 1)));
	else if (how == FETCH_WRONG && ++run->tries < ARTIFACT_TRIES)
		remote_wait(job, now + ARTIFACT_LOOK_MS);
	else if (err->code == KETTLE_ENOENT)
		remote_lost(job, KETTLE_LOSS_NODE_FAULT, "Its run ended with the conclusion `%s` and left no result: %s",
			run->conclusion, err->message);
	else
		remote_lost(job, KETTLE_LOSS_NODE_FAULT, "Its result cannot be fetched: %s", err->message);
}

static void
unpack(void *arg)
{
	struct unpacking *unpacking = arg;
	(void)result_zip_read(
		unpacking->fd, unpacking->facts.size, unpacking->facts.sha256, &unpacking->files, &unpacking->err);
}

static void
on_unpacked(void *arg)
{
	struct unpacking *unpacking = arg;
	struct run *run = unpacking->run;
	/* A second download with the right digest would be no better. */
	bool wrong = unpacking->err.code == KETTLE_ECONFLICT || !unpacking->facts.sha256[0];
	if (run)
		run->unpacking = NULL;
	if (run && unpacking->err.code == 0) {
		failpoint("github.fetched");
		take_files(run, &unpacking->files);
	} else if (run) {
		fail_fetch(run, wrong ? FETCH_WRONG : FETCH_FAILED, &unpacking->err);
	}
	result_files_free(&unpacking->files);
	close(unpacking->fd);
	free(unpacking);
}

static void
on_download(void *arg, const struct kettle_error *err, const struct kettle_http_answer *answer)
{
	struct run *run = arg;
	const struct kettle_host *host = run->github->remote.host;
	struct kettle_error why = *err;
	int fd = -1;
	run->download = 0;
	if (why.code == 0 && answer->status != 200)
		(void)kettle_fail(
			&why, KETTLE_EUNAVAIL, "GitHub's link to the artifact answered with status %d.", answer->status);
	else if (why.code == 0)
		(void)download_open(&run->file, &fd, &why);
	/* A storage host that fails is treated like an API that fails; an expired link and wrong bytes are not. */
	bool passes = err->code == KETTLE_EUNAVAIL || err->code == KETTLE_EIO || (answer && answer->status >= 500);
	if (passes || why.code < 0) {
		fail_fetch(run, passes ? FETCH_LATER : FETCH_WRONG, &why);
		return;
	}
	struct unpacking *unpacking = run->unpacking = xcalloc(1, sizeof(*unpacking));
	*unpacking = (struct unpacking){.run = run, .fd = fd, .facts = run->artifact, .files = RESULT_FILES_NONE};
	if (host->work(host, unpack, on_unpacked, unpacking, &why) == 0)
		return;
	close(fd);
	free(STEAL(run->unpacking));
	fail_fetch(run, FETCH_FAILED, &why);
}

/* Follows the link to another host, without GitHub's headers. */
static int
download(struct run *run, const char *link, struct kettle_error *err)
{
	const struct kettle_host *host = run->github->remote.host;
	uint64_t most_ms = run->job->remote->pace.quiet_ms;
	bool secure = strncmp(link, "https://", 8) == 0;
	if (strlen(link) > LINK_MAX || (!secure && (api_is_secure(run->github->api) || strncmp(link, "http://", 7) != 0)))
		return kettle_fail(err, KETTLE_EIO, "GitHub's link to the artifact is not a URL of https.");
	download_remove(&run->file); /* of an earlier try */
	int rc = download_make(&run->file, err);
	if (rc < 0)
		return rc;
	const struct kettle_http_request request = {.size = sizeof(request),
		.url = link,
		.answer_file = run->file.path,
		.max_body = run->artifact.size + 1,
		.total_ms = (uint32_t)((most_ms < DOWNLOAD_MS ? most_ms : DOWNLOAD_MS) + run->artifact.size / DOWNLOAD_RATE),
		.done = on_download,
		.arg = run};
	return host->http(host, &request, &run->download, err);
}

static void
on_link(void *arg, const struct kettle_error *err, const struct api_answer *answer)
{
	struct run *run = arg;
	struct kettle_error why = *err;
	run->call = NULL;
	if (why.code < 0) {
		fail_fetch(run, FETCH_LATER, &why);
	} else if (answer->status == 410) {
		(void)kettle_fail(&why, KETTLE_ENOENT, "GitHub has already removed the run's artifact.");
		fail_fetch(run, FETCH_FAILED, &why);
	} else if (answer->status != 302 || !answer->location) {
		(void)api_fail(answer, "the request for the artifact", &why);
		fail_fetch(run, FETCH_LATER, &why);
	} else if (download(run, answer->location, &why) < 0) {
		fail_fetch(run, FETCH_WRONG, &why);
	}
}

static void
on_artifacts(void *arg, const struct kettle_error *err, const struct api_answer *answer)
{
	struct run *run = arg;
	struct kettle_error why = {0};
	run->call = NULL;
	int rc = api_check(err, answer, "the request for the artifacts", &why);
	if (rc == 0)
		rc = answer_artifact(answer->body, ARTIFACT_NAME, &run->artifact, &why);
	enum fetch_end how = rc == KETTLE_ENOENT ? FETCH_UNLISTED : rc < 0 ? FETCH_LATER : FETCH_FAILED;
	if (rc == 0 && run->artifact.expired)
		rc = kettle_fail(&why, KETTLE_ENOENT, "The run's artifact has expired.");
	else if (rc == 0 && run->artifact.size > RESULT_ZIP_MAX)
		rc = kettle_fail(&why, KETTLE_ETOOBIG, "The run's artifact has %llu bytes; at most %d are fetched.",
			(unsigned long long)run->artifact.size, RESULT_ZIP_MAX);
	if (rc < 0) {
		fail_fetch(run, how, &why);
		return;
	}
	AUTO_FREE char *path =
		xasprintf("/repos/%s/actions/artifacts/%lld/zip", run->place.repo, (long long)run->artifact.id);
	run->call = api_send(
		run->github->api, &(struct api_request){.path = path, .token = answer->token, .done = on_link, .arg = run});
}

/* Lists the run's artifacts, which says id, size and digest; then comes the zip's link, then the zip. */
static void
fetch(struct remote_job *job)
{
	struct run *run = job->own;
	AUTO_FREE char *path = xasprintf("/repos/%s/actions/runs/%lld/artifacts?name=" ARTIFACT_NAME "&per_page=%d",
		run->place.repo, (long long)run->id, ANSWER_LIST_MAX);
	run->call = api_send(
		run->github->api, &(struct api_request){.path = path, .token = run->token, .done = on_artifacts, .arg = run});
}

/* The loop's timers and requests must end before the host does, so they end before destroy. */
static bool
end(struct remote *remote)
{
	struct github *github = remote->self;
	run_lists_free(github);
	if (github->api)
		api_stop(github->api);
	return true;
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
	.status = github_list_runs,
	.interval_ms = interval_ms,
	.end = end,
	.check = github_check,
	.check_unit = github_check_unit,
	.write_files = setup_write,
	.unit_options = github_unit_options,
	.unit_options_count = GITHUB_UNIT_OPTIONS,
};
