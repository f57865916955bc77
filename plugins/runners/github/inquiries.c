/* SPDX-License-Identifier: MIT */
/* What operators want to know of the runner `github`: what a machine offers, and what waits there. */
#include <config.h>

#include "runners/github/github.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounded_json.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/json_access.h"
#include "base/sanitize_text.h"
#include "base/xalloc.h"
#include "runners/github/answers.h"

#define RANDOM_BYTES 6
#define TITLE_CHARACTERS 200

/* How a status goes through the lists: of each workflow the runs in each of these states. */
static const struct {
	const char *github, *state;
} listed[] = {{"in_progress", "running"}, {"queued", "waiting"}};

/* One that is under way. */
struct github_inquiry {
	struct github *github;
	struct github_inquiry *next, *prev;
	void (*done)(void *arg, const struct kettle_error *err, json_t *result);
	void *arg;
	struct run *run;       /* of a doctor, which has no payload */
	struct api_call *call; /* of a status, which asks for one list after the other */
	json_t *places, *jobs; /* the lists that are left; what was found */
	size_t state;          /* of `listed`, in the first of them */
};

static struct github_inquiry *
new_inquiry(struct github *github, void (*done)(void *arg, const struct kettle_error *err, json_t *result), void *arg)
{
	struct github_inquiry *inquiry = xcalloc(1, sizeof(*inquiry));
	*inquiry = (struct github_inquiry){.github = github, .next = github->inquiries, .done = done, .arg = arg};
	if (inquiry->next)
		inquiry->next->prev = inquiry;
	github->inquiries = inquiry;
	return inquiry;
}

static void
answer_inquiry(struct github_inquiry *inquiry, const struct kettle_error *err, json_t *result)
{
	*(inquiry->prev ? &inquiry->prev->next : &inquiry->github->inquiries) = inquiry->next;
	if (inquiry->next)
		inquiry->next->prev = inquiry->prev;
	inquiry->done(inquiry->arg, err, err->code ? NULL : result);
	json_decref(inquiry->places);
	json_decref(inquiry->jobs);
	free(inquiry);
}

void
github_inquiries_end(struct github *github)
{
	struct kettle_error err = {0};
	(void)kettle_fail(&err, KETTLE_ECANCELED, "The runner github stops.");
	while (github->inquiries) {
		struct github_inquiry *inquiry = github->inquiries;
		if (inquiry->run)
			run_forget(inquiry->run);
		if (inquiry->call)
			(void)api_cancel(inquiry->call);
		answer_inquiry(inquiry, &err, NULL);
	}
}

/* ---- doctor ---- */

static void
on_doctor_ended(void *arg, enum run_end how, const char *sentence, struct result_files *files)
{
	struct github_inquiry *inquiry = arg;
	struct kettle_error err = {0};
	AUTO_JSON json_t *report = how == RUN_RESULT && files->report
								   ? bounded_json_parse(files->report, files->report_size, BOUNDED_JSON_VALUES, 0, NULL)
								   : NULL;
	inquiry->run = NULL;
	if (how != RUN_RESULT)
		(void)kettle_fail(&err, KETTLE_EUNAVAIL, "%s", sentence);
	else if (!report)
		(void)kettle_fail(&err, KETTLE_EUNAVAIL,
			"The run left no doctor.json with a report: is the workflow the one that `kettle runner init github` "
			"writes?");
	answer_inquiry(inquiry, &err, report);
}

static const struct run_events doctor_events = {.ended = on_doctor_ended};

int
github_doctor(struct github *github, const json_t *unit,
	void (*done)(void *arg, const struct kettle_error *err, json_t *report), void *arg, struct kettle_error *err)
{
	struct run_place place;
	unsigned char random[RANDOM_BYTES];
	char name[] = "kettle-doctor-000000000000";
	int rc = github_place_read(unit, &place, err);
	if (rc < 0)
		return rc;
	random_bytes(random, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		(void)snprintf(strrchr(name, '-') + 1 + 2 * i, 3, "%02x", random[i]);
	struct github_inquiry *inquiry = new_inquiry(github, done, arg);
	inquiry->run = runs_dispatch(github->runs, &place, name, "", &doctor_events, inquiry);
	return 0;
}

/* ---- status ---- */

static void request_list(struct github_inquiry *inquiry);

/* The reference of the job that a run is called after, else the run's name. New. */
static char *
job_of(const struct github *github, const char *title)
{
	for (const struct remote_job *job = github->remote.jobs; job; job = job->next)
		if (strcmp(job->name, title) == 0)
			return xstrdup(job->ref);
	return sanitize_line(title, TITLE_CHARACTERS);
}

static void
add_runs(struct github_inquiry *inquiry, const json_t *runs)
{
	size_t i;
	json_t *entry;
	json_array_foreach((json_t *)runs, i, entry) {
		struct run_facts facts;
		if (answer_run(entry, &facts, NULL) < 0)
			continue;
		AUTO_FREE char *job = job_of(inquiry->github, facts.title);
		AUTO_FREE char *where = sanitize_line(facts.url, TITLE_CHARACTERS);
		AUTO_FREE char *since = sanitize_line(facts.created, TITLE_CHARACTERS);
		json_array_append_new(inquiry->jobs, json_pack("{s:s, s:s, s:s, s:s}", "job", job, "state",
												 listed[inquiry->state].state, "since", since, "where", where));
	}
}

static void
on_list(void *arg, const struct kettle_error *err, const struct api_answer *answer)
{
	struct github_inquiry *inquiry = arg;
	struct kettle_error why = *err;
	const json_t *runs = NULL;
	inquiry->call = NULL;
	if (why.code == 0 && answer->status != 200)
		(void)api_fail(answer, "the request for the runs of a workflow", &why);
	else if (why.code == 0)
		(void)answer_runs(answer->body, &runs, &why);
	if (why.code < 0) {
		answer_inquiry(inquiry, &why, NULL);
		return;
	}
	add_runs(inquiry, runs);
	if (++inquiry->state == ARRAY_SIZE(listed)) {
		inquiry->state = 0;
		json_array_remove(inquiry->places, 0);
	}
	if (json_array_size(inquiry->places) > 0) {
		request_list(inquiry);
		return;
	}
	AUTO_JSON json_t *result = json_pack("{s:O, s:o}", "jobs", inquiry->jobs, "text",
		json_sprintf("%zu jobs of this engine are there; at most %d runs of each workflow are shown in each state.",
			inquiry->github->remote.count, ANSWER_LIST_MAX));
	answer_inquiry(inquiry, &why, result);
}

static void
request_list(struct github_inquiry *inquiry)
{
	const json_t *place = json_array_get(inquiry->places, 0);
	AUTO_FREE char *path =
		xasprintf("/repos/%s/actions/workflows/%s/runs?exclude_pull_requests=true&per_page=%d&status=%s",
			member_text(place, "repo"), member_text(place, "workflow"), ANSWER_LIST_MAX, listed[inquiry->state].github);
	inquiry->call = api_send(inquiry->github->api,
		&(struct api_request){.path = path, .max_body = API_LIST_MAX, .done = on_list, .arg = inquiry});
}

int
github_status(struct github *github, void (*done)(void *arg, const struct kettle_error *err, json_t *status), void *arg,
	struct kettle_error *err)
{
	const char *key;
	json_t *place;
	if (json_object_size(github->places) == 0)
		return kettle_fail(err, KETTLE_EUNAVAIL, "No unit names the runner github, so it knows no repository.");
	struct github_inquiry *inquiry = new_inquiry(github, done, arg);
	inquiry->places = json_array();
	inquiry->jobs = json_array();
	json_object_foreach(github->places, key, place)
		json_array_append(inquiry->places, place);
	request_list(inquiry);
	return 0;
}
