/* SPDX-License-Identifier: MIT */
/* The runner `github`: jobs run as workflows of GitHub Actions. */
/*
 * Theory of operation. The shared code (common/remote.h) seals the plan, stores the handle, decides when to ask
 * GitHub, and opens the result. Here a job is a run of a workflow, and runs.c makes its requests. The handle has the
 * job's name, which is the run's too, the time before the dispatch, and the run's id, once GitHub has told it.
 * `doctor` is a run without a payload.
 */
#include <config.h>

#include <kettle/plugin.h>

#include "base/base.h"
#include "base/utf8.h"
#include "runners/common/options.h"
#include "runners/github/github.h"

#define REF_MAX 250
#define TITLE_CHARACTERS 200

static const struct kettle_option options[] = {
	{.key = "token_env",
		.type = KETTLE_OPTION_STRING,
		.help = "The environment variable with the token, or with several, one a line."},
	{.key = "token_file", .type = KETTLE_OPTION_PATH, .help = "The file with the tokens, in place of `token_env`."},
	KEY_OPTIONS,
	{.key = "url",
		.type = KETTLE_OPTION_STRING,
		.default_value = "https://api.github.com",
		.help = "The API; of an Enterprise Server https://HOST/api/v3."},
	{.key = "api_version",
		.type = KETTLE_OPTION_STRING,
		.default_value = "2026-03-10",
		.help = "The version of the API that requests name; for an Enterprise Server a version that it supports."},
	INT_OPTION("poll_ms", "1000", 100, 600000, "The least number of milliseconds between two requests about a run."),
	INT_OPTION("give_up_s", "900", 1, 86400, "Seconds without a usable answer on a run, after which its job is lost."),
	EXEC_ARCHIVE_OPTION,
};

const struct kettle_option github_unit_options[GITHUB_UNIT_OPTIONS] = {
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
		.default_value = "[" GITHUB_LABEL "]",
		.help = "The labels of the machine that the job needs."},
	BUILD_OPTION,
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

/* Whether the text is one name that can be part of a path of the API. */
static bool
is_plain(const char *name, size_t size)
{
	return size > 0 && size <= 100 && name[0] != '.' && strspn(name, GITHUB_NAME_CHARACTERS) >= size;
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
	if (!place.ref[0] || strlen(place.ref) > REF_MAX ||
		strspn(place.ref, GITHUB_NAME_CHARACTERS "/+#@") != strlen(place.ref))
		return kettle_fail(err, KETTLE_EINVAL, "`ref` is `%.100s`, not the name of a branch or tag.", place.ref);
	if (place.labels && json_array_size(place.labels) == 0)
		return kettle_fail(err, KETTLE_EINVAL, "`runs_on` is empty: it names the labels of a machine.");
	*ret_place = place;
	return 0;
}

/* Remembers the repository and workflow of the runner's jobs, for its status. */
static void
note_place(struct github *github, const struct run_place *place)
{
	AUTO_FREE char *key = xasprintf("%s %s", place->repo, place->workflow);
	if (!json_object_get(github->places, key) && json_object_size(github->places) < GITHUB_PLACES_MAX)
		json_object_set_new(
			github->places, key, json_pack("{s:s, s:s}", "repo", place->repo, "workflow", place->workflow));
}

int
github_check_unit(struct remote *remote, const json_t *unit, struct kettle_error *err)
{
	struct run_place place;
	int rc = github_place_read(unit, &place, err);
	if (rc == 0)
		note_place(remote->self, &place);
	return rc;
}

int
github_check(struct remote *remote, struct kettle_error *err)
{
	const struct github *github = remote->self;
	return github->api ? 0
					   : kettle_fail(err, KETTLE_EUNAVAIL,
							 "The runner github has no token: name one with `token_env` or `token_file`.");
}

/* ---- the status: jobs that wait and run at GitHub, in all workflows of the units ---- */

/* The states whose runs a status lists, for each workflow. */
static const struct {
	const char *github, *state;
} listed[] = {{"in_progress", "running"}, {"queued", "waiting"}};

static void request_list(struct run *status);

/* Returns the reference of the job with this run's name, else the name itself. New. */
static char *
job_of(const struct github *github, const char *title)
{
	const struct remote_job *job = remote_find_name(&github->remote, title);
	return job && !job->report ? xstrdup(job->ref) : sanitize_line(title, TITLE_CHARACTERS);
}

static void
add_runs(struct run *status, const json_t *runs)
{
	const char *state = listed[status->lists % ARRAY_SIZE(listed)].state;
	json_array_each(runs, entry) {
		struct run_facts facts;
		if (answer_run(entry, &facts, NULL) < 0)
			continue;
		AUTO_FREE char *job = job_of(status->github, facts.title);
		AUTO_FREE char *where = sanitize_line(facts.url, TITLE_CHARACTERS);
		AUTO_FREE char *since = sanitize_line(facts.created, TITLE_CHARACTERS);
		json_array_append_new(status->found,
			json_pack("{s:s, s:s, s:s, s:s}", "job", job, "state", state, "since", since, "where", where));
	}
}

static void
on_list(void *arg, const struct kettle_error *err, const struct api_answer *answer)
{
	struct run *status = arg;
	struct kettle_error why = {0};
	const json_t *runs = NULL;
	status->call = NULL;
	if (api_check(err, answer, "the request for the runs of a workflow", &why) < 0 ||
		answer_runs(answer->body, &runs, &why) < 0) {
		remote_report(status->job, NULL, why.message);
		return;
	}
	add_runs(status, runs);
	if (++status->lists < json_array_size(status->places) * ARRAY_SIZE(listed)) {
		request_list(status);
		return;
	}
	AUTO_JSON json_t *result = json_pack("{s:O, s:o}", "jobs", status->found, "text",
		json_sprintf("%zu jobs of this engine are there; at most %d runs of each workflow are shown in each state.",
			status->github->remote.count, ANSWER_LIST_MAX));
	remote_report(status->job, result, NULL);
}

static void
request_list(struct run *status)
{
	const json_t *place = json_array_get(status->places, status->lists / ARRAY_SIZE(listed));
	AUTO_FREE char *path =
		xasprintf("/repos/%s/actions/workflows/%s/runs?exclude_pull_requests=true&per_page=%d&status=%s",
			json_text_or_empty(place, "repo"), json_text_or_empty(place, "workflow"), ANSWER_LIST_MAX,
			listed[status->lists % ARRAY_SIZE(listed)].github);
	status->call = api_send(status->github->api,
		&(struct api_request){.path = path, .max_body = API_LIST_MAX, .done = on_list, .arg = status});
}

void
github_list_runs(struct remote_job *job)
{
	struct github *github = job->remote->self;
	struct run *status = job->own = xcalloc(1, sizeof(*status));
	*status = (struct run){.job = job, .github = github, .places = json_array(), .found = json_array()};
	json_object_each(github->places, key, place)
		json_array_append(status->places, place);
	request_list(status);
}

static int
get_status(void *self, kettle_answer done, void *arg, struct kettle_error *err)
{
	const struct github *github = self;
	if (github->api && json_object_size(github->places) == 0)
		return kettle_fail(err, KETTLE_EUNAVAIL, "No unit names the runner github, so there is no repository to ask.");
	return remote_status(self, done, arg, err);
}

/* ---- life ---- */

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	struct github *github = xcalloc(1, sizeof(*github));
	(void)err;
	github->places = json_object();
	remote_init(&github->remote, host, &runs_ops, "GitHub", github);
	*ret_self = github;
	return 0;
}

static int
configure(void *self, const json_t *section, struct kettle_error *err)
{
	struct github *github = self;
	api_free(STEAL(github->api));
	int rc = remote_configure(&github->remote, section, err);
	/* `runner init` has neither a key nor a token yet. */
	if (rc < 0 || !json_object_get(section, "token"))
		return rc;
	uint64_t give_up_ms = (uint64_t)member_int(section, "give_up_s") * 1000;
	github->poll_ms = (uint64_t)member_int(section, "poll_ms");
	github->remote.pace = (struct remote_pace){.first_ms = github->poll_ms,
		.most_ms = RUNS_BACKOFF_MS,
		.send_ms = give_up_ms,
		.quiet_ms = give_up_ms,
		.absent = RUNS_MISSING,
		.finds = RUNS_SEEK_LOOKS};
	return api_new(github->remote.host, section, give_up_ms, &github->api, err);
}

static void
destroy(void *self)
{
	struct github *github = self;
	if (!github)
		return;
	api_free(github->api);
	remote_close(&github->remote);
	json_decref(github->places);
	free(github);
}

static const struct kettle_runner runner = {
	REMOTE_RUNNER(github_unit_options),
	.submit = remote_submit,
	.init = remote_run_init,
	.status = get_status,
	.check = remote_check,
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
	.stop = remote_stop,
	.destroy = destroy,
	.runner = &runner,
};
