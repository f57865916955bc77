/* SPDX-License-Identifier: MIT */
/* The runner `github`: jobs run as workflows of GitHub Actions. */
/*
 * Theory of operation. The shared part (common/remote.c) seals the plan, stores the handle and opens the result; here a job is
 * a run of a workflow, which runs.c dispatches, follows and fetches. The handle has the job's name, which is the run's
 * too, the time of the dispatch, and the run's id once GitHub has said it. A plan that the inputs of a workflow cannot take is
 * published, and the input is the link. `doctor` is a run without a payload.
 */
#include <config.h>

#include <kettle/plugin.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "runners/common/exec_archive.h"
#include "runners/common/remote.h"
#include "runners/github/github.h"
#include "runners/github/setup.h"

#define INPUTS_MAX 65535 /* characters of all inputs of a dispatch, which is GitHub's limit */
#define INPUTS_SPARE 200 /* of them for the names of the inputs */
#define LINK_S 86400     /* for as long GitHub keeps a run in its queue */
#define LINK_AGAIN_MS 500
#define LINK_WAIT_MS 5000 /* frontends that serve links start after runners, also at a reload */
#define REF_MAX 250
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

/* job->own. */
struct github_job {
	struct remote_job *job; /* NULL: released while its plan is published */
	struct run *run;
	bool publishing;
	struct kettle_timer *again; /* publishes it once more */
	uint64_t publish_until_ms;
};

static const struct kettle_option options[] = {
	{.key = "token_env",
		.type = KETTLE_OPTION_STRING,
		.help = "The environment variable with the token, or with several, one a line."},
	{.key = "token_file", .type = KETTLE_OPTION_PATH, .help = "The file with the tokens, in place of `token_env`."},
	REMOTE_OPTIONS,
	{.key = "url",
		.type = KETTLE_OPTION_STRING,
		.default_value = "https://api.github.com",
		.help = "The API; of an Enterprise Server https://HOST/api/v3."},
	{.key = "api_version",
		.type = KETTLE_OPTION_STRING,
		.default_value = "2026-03-10",
		.help = "The version of the API that requests name; for an Enterprise Server one that it knows."},
	{.key = "poll_ms",
		.type = KETTLE_OPTION_INT,
		.default_value = "1000",
		.min = 100,
		.max = 600000,
		.help = "Milliseconds between two looks at a run, at least."},
	{.key = "give_up_s",
		.type = KETTLE_OPTION_INT,
		.default_value = "900",
		.min = 1,
		.max = 86400,
		.help = "Seconds without a usable answer on a run, after which its job is lost."},
	EXEC_ARCHIVE_OPTION,
};

static const struct kettle_option unit_options[] = {
	{.key = "repo", .type = KETTLE_OPTION_STRING, .required = true, .help = "The repository, as OWNER/NAME."},
	{.key = "workflow",
		.type = KETTLE_OPTION_STRING,
		.default_value = "kettle.yml",
		.help = "The file of the workflow in .github/workflows."},
	{.key = "ref",
		.type = KETTLE_OPTION_STRING,
		.default_value = "main",
		.help = "The branch or tag whose workflow runs."},
	{.key = "runs_on",
		.type = KETTLE_OPTION_STRINGS,
		.default_value = "[" RUNS_LABEL "]",
		.help = "The labels of the machine that the job needs."},
};

/* ---- places ---- */

static const json_t *
unit_option(const json_t *unit, const char *name)
{
	return json_object_get(json_object_get(unit, "options"), name);
}

static const char *
unit_text(const json_t *unit, const char *name, const char *fallback)
{
	const char *text = json_string_value(unit_option(unit, name));
	return text ? text : fallback;
}

/* Whether it is one name that can stand in a path of the API. */
static bool
is_plain(const char *name, size_t size)
{
	return size > 0 && size <= 100 && name[0] != '.' && strspn(name, NAME_CHARACTERS) >= size;
}

int
github_place_read(const json_t *unit, struct run_place *ret_place, struct kettle_error *err)
{
	struct run_place place = {.repo = unit_text(unit, "repo", ""),
		.workflow = unit_text(unit, "workflow", "kettle.yml"),
		.ref = unit_text(unit, "ref", "main"),
		.labels = unit_option(unit, "runs_on")};
	const char *slash = strchr(place.repo, '/');
	if (!slash || !is_plain(place.repo, (size_t)(slash - place.repo)) || !is_plain(slash + 1, strlen(slash + 1)))
		return kettle_fail(err, KETTLE_EINVAL, "`repo` is `%.100s`, not OWNER/NAME as GitHub shows it.", place.repo);
	if (!is_plain(place.workflow, strlen(place.workflow)))
		return kettle_fail(
			err, KETTLE_EINVAL, "`workflow` is `%.100s`, not the name of a file in .github/workflows.", place.workflow);
	if (!place.ref[0] || strlen(place.ref) > REF_MAX || strspn(place.ref, NAME_CHARACTERS "/+#@") != strlen(place.ref))
		return kettle_fail(err, KETTLE_EINVAL, "`ref` is `%.100s`, not the name of a branch or tag.", place.ref);
	if (place.labels && json_array_size(place.labels) == 0)
		return kettle_fail(err, KETTLE_EINVAL, "`runs_on` is empty: it names the labels of a machine.");
	*ret_place = place;
	return 0;
}

/* Remembers where the runner's jobs go, for its status. */
static void
note_place(struct github *github, const struct run_place *place)
{
	AUTO_FREE char *key = xasprintf("%s %s", place->repo, place->workflow);
	if (!json_object_get(github->places, key) && json_object_size(github->places) < GITHUB_PLACES_MAX)
		json_object_set_new(
			github->places, key, json_pack("{s:s, s:s}", "repo", place->repo, "workflow", place->workflow));
}

static int
capacity(void *self, const json_t *unit, unsigned *ret_slots, unsigned *ret_prefetch, struct kettle_error *err)
{
	struct run_place place;
	int rc = github_place_read(unit, &place, err);
	if (rc < 0)
		return rc;
	note_place(self, &place);
	return remote_capacity(unit, ret_slots, ret_prefetch, err);
}

/* ---- a job ---- */

static void
on_found(void *arg, int64_t id)
{
	struct github_job *own = arg;
	json_object_set_new(own->job->handle, "run", json_integer(id));
	remote_store(own->job);
	remote_sent(own->job);
}

static void
on_started(void *arg)
{
	struct github_job *own = arg;
	remote_running(own->job);
}

static void
on_run_ended(void *arg, enum run_end how, const char *sentence, struct result_files *files)
{
	struct github_job *own = arg;
	struct remote_job *job = own->job;
	if (how == RUN_RESULT && files->result >= 0)
		job->run = xasprintf("%lld-%u", (long long)run_id(own->run), run_attempt(own->run));
	own->run = NULL;
	switch (how) {
	case RUN_RESULT:
		if (files->result >= 0)
			remote_result(job, STEAL_FD(files->result));
		else
			remote_lost(job, KETTLE_LOSS_FAILED, "Its run left a report of the machine in place of a result.");
		break;
	case RUN_BROKE:
		remote_lost(job, KETTLE_LOSS_FAILED, "%s", sentence);
		break;
	case RUN_UNREACHED:
		remote_lost(job, KETTLE_LOSS_UNREACHED, "%s", sentence);
		break;
	case RUN_GONE:
		remote_lost(job, KETTLE_LOSS_GONE, "%s", sentence);
		break;
	case RUN_UNSTARTED:
		remote_lost(job, KETTLE_LOSS_UNSTARTED, "%s", sentence);
		break;
	case RUN_UNUSABLE:
		remote_lost(job, KETTLE_LOSS_UNUSABLE, "%s", sentence);
		break;
	case RUN_CANCELLED:
		remote_cancelled(job);
		break;
	}
}

static const struct run_events job_events = {.found = on_found, .started = on_started, .ended = on_run_ended};

static struct github_job *
new_own(struct remote_job *job)
{
	struct github_job *own = xcalloc(1, sizeof(*own));
	own->job = job;
	job->own = own;
	return own;
}

static void
dispatch(struct github_job *own, const char *payload)
{
	struct github *github = own->job->remote->self;
	struct kettle_error err = {0};
	struct run_place place;
	if (github_place_read(own->job->unit, &place, &err) < 0)
		remote_lost(own->job, KETTLE_LOSS_GONE, "%s", err.message);
	else
		own->run = runs_dispatch(github->runs, &place, own->job->name, payload, &job_events, own);
}

static void publish(struct github_job *own);

static void
on_again(void *arg)
{
	struct github_job *own = arg;
	own->again = NULL;
	publish(own);
}

/* There is no link. never: and no other try makes one, as where no frontend serves links. */
static void
not_published(struct github_job *own, const struct kettle_error *err, bool never)
{
	const struct kettle_host *host = own->job->remote->host;
	struct kettle_error none = {0};
	bool early = err->code == KETTLE_EUNAVAIL && host->monotonic_ms(host) < own->publish_until_ms;
	if (early && host->timer_start(host, LINK_AGAIN_MS, 0, on_again, own, &own->again, &none) == 0)
		return;
	enum kettle_loss loss = never                           ? KETTLE_LOSS_FINAL
							: err->code == KETTLE_ECANCELED ? KETTLE_LOSS_UNSTARTED
															: KETTLE_LOSS_GONE;
	remote_lost(own->job, loss,
		"Its sealed plan of %zu bytes is larger than GitHub's inputs, and a link to it cannot be made: %s",
		own->job->envelope_size, err->message);
}

static void
on_published(void *arg, const struct kettle_error *err, json_t *result)
{
	struct github_job *own = arg;
	own->publishing = false;
	if (!own->job) {
		free(own);
		return;
	}
	if (own->job->cancelled)
		remote_cancelled(own->job);
	else if (err->code < 0)
		not_published(own, err, err->code == KETTLE_EUNAVAIL);
	else
		dispatch(own, member_text(result, "url"));
}

/* Hands the plan out by a link that serves it once. */
static void
publish(struct github_job *own)
{
	const struct kettle_host *host = own->job->remote->host;
	const struct kettle_blob blob = {
		.size = sizeof(blob), .data = own->job->envelope, .data_size = own->job->envelope_size};
	struct kettle_error err = {0};
	own->publishing = host->publish(host, &blob, LINK_S, on_published, own, &err) == 0;
	if (!own->publishing)
		not_published(own, &err, err.code == KETTLE_ETOOBIG);
}

static void
send_job(struct remote_job *job)
{
	struct github_job *own = new_own(job);
	AUTO_FREE char *payload = sealed_to_text(job->envelope, job->envelope_size);
	AUTO_FREE char *labels = run_labels_text(unit_option(job->unit, "runs_on"));
	own->publish_until_ms = job->remote->host->monotonic_ms(job->remote->host) + LINK_WAIT_MS;
	if (strlen(payload) + strlen(labels) + strlen(job->name) + INPUTS_SPARE > INPUTS_MAX)
		publish(own);
	else
		dispatch(own, payload);
}

static void
find_job(struct remote_job *job)
{
	struct github *github = job->remote->self;
	struct github_job *own = new_own(job);
	struct kettle_error err = {0};
	struct run_place place;
	if (github_place_read(job->unit, &place, &err) < 0)
		remote_lost(job, KETTLE_LOSS_GONE, "%s", err.message);
	else
		own->run = runs_follow(github->runs, &place, job->name, member_int(job->handle, "run"),
			member_int(job->handle, "at"), &job_events, own);
}

static void
cancel_job(struct remote_job *job)
{
	struct github_job *own = job->own;
	if (own->run)
		run_cancel(own->run);
	else if (own->again)
		remote_cancelled(job); /* else it is published, and ends then */
}

static void
release_job(struct remote_job *job)
{
	struct github_job *own = STEAL(job->own);
	if (!own)
		return;
	if (own->run)
		run_abandon(own->run);
	job->remote->host->timer_stop(job->remote->host, own->again);
	own->run = NULL;
	own->again = NULL;
	own->job = NULL;
	if (!own->publishing)
		free(own);
}

static int
check(struct remote *remote, const json_t *unit, struct kettle_error *err)
{
	const struct github *github = remote->self;
	(void)unit;
	return github->api ? 0
					   : kettle_fail(err, KETTLE_EUNAVAIL,
							 "The runner github has no token: name one with `token_env` or `token_file`.");
}

static const struct remote_ops job_ops = {
	.send = send_job, .find = find_job, .cancel = cancel_job, .release = release_job, .check = check};

/* ---- the table ---- */

static int
submit(void *self, const struct kettle_job *job, const json_t *plan, struct kettle_error *err)
{
	struct github *github = self;
	return remote_submit(&github->remote, job, plan, err);
}

static int
recover(void *self, const struct kettle_job *job, const char *handle, struct kettle_error *err)
{
	struct github *github = self;
	int rc = check(&github->remote, NULL, err);
	return rc < 0 ? rc : remote_recover(&github->remote, job, handle, err);
}

static int
init(void *self, const json_t *args, void (*done)(void *arg, const struct kettle_error *err, json_t *result), void *arg,
	struct kettle_error *err)
{
	struct github *github = self;
	return setup_init(github->host, github->section, args, done, arg, err);
}

static int
doctor(void *self, const json_t *unit, void (*done)(void *arg, const struct kettle_error *err, json_t *report),
	void *arg, struct kettle_error *err)
{
	struct github *github = self;
	int rc = check(&github->remote, NULL, err);
	return rc < 0 ? rc : github_doctor(github, unit, done, arg, err);
}

static int
status(void *self, void (*done)(void *arg, const struct kettle_error *err, json_t *status), void *arg,
	struct kettle_error *err)
{
	struct github *github = self;
	int rc = check(&github->remote, NULL, err);
	return rc < 0 ? rc : github_status(github, done, arg, err);
}

/* ---- life ---- */

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	struct github *github = xcalloc(1, sizeof(*github));
	(void)err;
	github->host = host;
	github->places = json_object();
	remote_init(&github->remote, host, &job_ops, "GitHub", github);
	*ret_self = github;
	return 0;
}

static void
close_api(struct github *github)
{
	runs_free(STEAL(github->runs));
	api_free(STEAL(github->api));
	json_decref(STEAL(github->section));
}

static int
configure(void *self, const json_t *section, struct kettle_error *err)
{
	struct github *github = self;
	const char *tokens = member_string(section, "token");
	close_api(github);
	github->section = json_pack("{s:O*}", "exec_archive", json_object_get(section, "exec_archive"));
	int rc = remote_configure(&github->remote, section, err);
	/* `runner init` has neither a key nor a token yet. */
	if (rc < 0 || !tokens)
		return rc;
	const struct runs_rules rules = {.poll_ms = (uint64_t)member_int(section, "poll_ms"),
		.give_up_ms = (uint64_t)member_int(section, "give_up_s") * 1000};
	rc = api_new(github->host,
		&(struct api_settings){.base = member_text(section, "url"),
			.version = member_text(section, "api_version"),
			.tokens = tokens,
			.most_ms = rules.give_up_ms},
		&github->api, err);
	if (rc < 0)
		return rc;
	api_hold_changes(github->api);
	github->runs = runs_new(github->host, github->api, &rules);
	return rc;
}

/* No job is left. The loop's timers and requests must end before the host does, which is before destroy. */
static void
on_stopped(void *arg)
{
	struct github *github = arg;
	if (github->api) {
		runs_stop(github->runs);
		api_stop(github->api);
	}
	github->stopped(github->stopped_arg);
}

static void
stop(void *self, kettle_fn done, void *arg)
{
	struct github *github = self;
	github->stopped = done;
	github->stopped_arg = arg;
	github_inquiries_end(github);
	remote_stop(&github->remote, on_stopped, github);
}

static void
destroy(void *self)
{
	struct github *github = self;
	if (!github)
		return;
	close_api(github);
	remote_close(&github->remote);
	json_decref(github->places);
	free(github);
}

static const struct kettle_runner runner = {
	.size = sizeof(runner),
	.capacity = capacity,
	.submit = submit,
	.cancel = remote_cancel,
	.recover = recover,
	.detach = remote_detach,
	.doctor = doctor,
	.init = init,
	.status = status,
	KETTLE_UNIT_OPTIONS(unit_options),
};

KETTLE_EXPORT const struct kettle_plugin kettle_plugin = {
	KETTLE_PLUGIN_HEAD(KETTLE_RUNNER),
	.name = "github",
	.version = PACKAGE_VERSION,
	.summary = "runs jobs as workflows of GitHub Actions",
	KETTLE_PLUGIN_OPTIONS(options),
	.create = create,
	.configure = configure,
	.start = remote_start,
	.stop = stop,
	.destroy = destroy,
	.runner = &runner,
};
