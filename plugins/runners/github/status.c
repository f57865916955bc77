/* SPDX-License-Identifier: MIT */
/* The status of the runner: jobs that wait and run at GitHub, in all workflows of the units. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/sanitize_text.h"
#include "base/xalloc.h"
#include "runners/github/answers.h"
#include "runners/github/github.h"

#define TITLE_CHARACTERS 200

/* The states whose runs a status lists, for each workflow. */
static const struct {
	const char *github, *state;
} listed[] = {{"in_progress", "running"}, {"queued", "waiting"}};

/* One status under way, which reads one list after the other. */
struct status {
	struct remote_inquiry *inquiry;
	struct github *github;
	struct api_call *call;
	json_t *places, *jobs; /* places still to list; jobs found */
	size_t state;          /* of `listed`, for the first place */
};

static void
free_status(void *own)
{
	struct status *status = own;
	if (status->call)
		(void)api_cancel(status->call);
	json_decref(status->places);
	json_decref(status->jobs);
	free(status);
}

static void request_list(struct status *status);

/* Returns the reference of the job with this run's name, else the name itself. New. */
static char *
job_of(const struct github *github, const char *title)
{
	for (const struct remote_job *job = github->remote.jobs; job; job = job->next)
		if (strcmp(job->name, title) == 0 && !job->report)
			return xstrdup(job->ref);
	return sanitize_line(title, TITLE_CHARACTERS);
}

static void
add_runs(struct status *status, const json_t *runs)
{
	size_t i;
	json_t *entry;
	json_array_foreach((json_t *)runs, i, entry) {
		struct run_facts facts;
		if (answer_run(entry, &facts, NULL) < 0)
			continue;
		AUTO_FREE char *job = job_of(status->github, facts.title);
		AUTO_FREE char *where = sanitize_line(facts.url, TITLE_CHARACTERS);
		AUTO_FREE char *since = sanitize_line(facts.created, TITLE_CHARACTERS);
		json_array_append_new(status->jobs, json_pack("{s:s, s:s, s:s, s:s}", "job", job, "state",
												listed[status->state].state, "since", since, "where", where));
	}
}

static void
on_list(void *arg, const struct kettle_error *err, const struct api_answer *answer)
{
	struct status *status = arg;
	struct kettle_error why = *err;
	const json_t *runs = NULL;
	status->call = NULL;
	if (why.code == 0 && answer->status != 200)
		(void)api_fail(answer, "the request for the runs of a workflow", &why);
	else if (why.code == 0)
		(void)answer_runs(answer->body, &runs, &why);
	if (why.code < 0) {
		remote_answer(status->inquiry, NULL, why.message);
		return;
	}
	add_runs(status, runs);
	if (++status->state == ARRAY_SIZE(listed)) {
		status->state = 0;
		json_array_remove(status->places, 0);
	}
	if (json_array_size(status->places) > 0) {
		request_list(status);
		return;
	}
	AUTO_JSON json_t *result = json_pack("{s:O, s:o}", "jobs", status->jobs, "text",
		json_sprintf("%zu jobs of this engine are there; at most %d runs of each workflow are shown in each state.",
			status->github->remote.count, ANSWER_LIST_MAX));
	remote_answer(status->inquiry, result, NULL);
}

static void
request_list(struct status *status)
{
	const json_t *place = json_array_get(status->places, 0);
	AUTO_FREE char *path =
		xasprintf("/repos/%s/actions/workflows/%s/runs?exclude_pull_requests=true&per_page=%d&status=%s",
			json_text_or_empty(place, "repo"), json_text_or_empty(place, "workflow"), ANSWER_LIST_MAX,
			listed[status->state].github);
	status->call = api_send(status->github->api,
		&(struct api_request){.path = path, .max_body = API_LIST_MAX, .done = on_list, .arg = status});
}

int
github_status(void *self, remote_done done, void *arg, struct kettle_error *err)
{
	struct github *github = self;
	const char *key;
	json_t *place;
	int rc = github_check(&github->remote, err);
	if (rc == 0 && json_object_size(github->places) == 0)
		rc = kettle_fail(err, KETTLE_EUNAVAIL, "No unit names the runner github, so it knows no repository.");
	if (rc < 0)
		return rc;
	struct status *status = xcalloc(1, sizeof(*status));
	*status = (struct status){.github = github, .places = json_array(), .jobs = json_array()};
	json_object_foreach(github->places, key, place)
		json_array_append(status->places, place);
	status->inquiry = remote_inquire(&github->remote, done, arg, status, free_status);
	request_list(status);
	return 0;
}
