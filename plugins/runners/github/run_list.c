/* SPDX-License-Identifier: MIT */
/*
 * Looking at runs by the list of their workflow.
 *
 * Theory of operation. A list is used if more than RUNS_SINGLE_MAX runs are in flight, and to seek a run by its name.
 * A round reads its pages, newest runs first, until it has seen each run that it covers, or until the list shows only
 * older ones. A polled run that the round has not seen is looked at by id. A sought run that RUNS_SEEK_LOOKS rounds
 * have not seen was never dispatched. If the first page has not changed since a round of one page, nothing has.
 */
#include <config.h>

#include "base/base.h"
#include "runners/github/github.h"

struct run_list {
	struct github *github;
	struct run_list *next;
	char *repo, *workflow, *etag;
	struct api_call *call;
	unsigned page, pages; /* of this round; of the last one */
	unsigned faults;      /* failed rounds in a row */
	uint64_t next_at;
	size_t token;
};

static bool
is_sought(const struct run *run)
{
	return !run->id;
}

/* Returns the job's run if this list covers it, else NULL. */
static struct run *
run_in(const struct run_list *list, const struct remote_job *job)
{
	struct run *run = job->own;
	bool fits =
		run && (is_sought(run) ? job->phase == REMOTE_FINDING || job->phase == REMOTE_ORPHANED
							   : job->phase == REMOTE_SUBMITTED && !job->cancelled && run_lists_used(run->github));
	return fits && strcmp(run->place.repo, list->repo) == 0 && strcmp(run->place.workflow, list->workflow) == 0 ? run
																												: NULL;
}

bool
run_lists_used(const struct github *github)
{
	return github->remote.count > RUNS_SINGLE_MAX;
}

/* Returns the run of a list entry, if this round covers it and has not seen it yet, else NULL. */
static struct run *
find_run(const struct run_list *list, const struct run_facts *facts)
{
	for (const struct remote_job *job = list->github->remote.jobs; job; job = job->next) {
		struct run *run = job->own;
		if (run && run->round == list &&
			(is_sought(run) ? facts->dispatched && strcmp(job->name, facts->title) == 0 : run->id == facts->id))
			return run;
	}
	return NULL;
}

/* Whether further pages, older than oldest_ms, can have a run that was not seen. */
static bool
goes_on(const struct run_list *list, int64_t oldest_ms)
{
	for (const struct remote_job *job = list->github->remote.jobs; job; job = job->next) {
		const struct run *run = job->own;
		int64_t since_ms = member_int(job->handle, "at");
		if (run && run->round == list && (since_ms == 0 || since_ms - RUNS_CLOCK_MS <= oldest_ms))
			return true;
	}
	return false;
}

static void
take_unseen(struct run *run)
{
	struct github *github = run->github;
	uint64_t now = remote_now_ms(&github->remote);
	if (!is_sought(run)) {
		/* One at a time: a list that is empty by mistake shows none of the runs. */
		uint64_t at = github->alone_at > now ? github->alone_at : now;
		github->alone_at = at + RUNS_POINTS_MS / api_tokens(github->api);
		run->alone = true;
		remote_wait(run->job, at);
		return;
	}
	struct kettle_error why = {0};
	bool may_come = run->accepted && now - run->sought_since < run->job->remote->pace.quiet_ms;
	(void)kettle_fail(&why, KETTLE_ENOENT,
		"GitHub has no run `%s` of the workflow %s in %s: its dispatch did not arrive.", run->job->name,
		run->place.workflow, run->place.repo);
	remote_update(run->job, may_come ? REMOTE_PENDING : REMOTE_ABSENT, why.message);
}

struct round {
	struct run_list *list;
	const struct kettle_error *fault; /* or NULL */
	bool unchanged;
};

static void
end_for(struct remote_job *job, void *arg)
{
	const struct round *round = arg;
	struct run *run = job->own;
	if (!run || run->round != round->list)
		return;
	run->round = NULL;
	if (round->fault)
		remote_update(job, REMOTE_NO_ANSWER, round->fault->message);
	else if (round->unchanged && !is_sought(run))
		remote_update(job, REMOTE_PENDING, NULL);
	else
		take_unseen(run);
}

static bool
is_used(const struct run_list *list)
{
	const struct remote_job *job = list->github->remote.jobs;
	while (job && !run_in(list, job))
		job = job->next;
	return job;
}

static uint64_t
round_interval_ms(const struct run_list *list)
{
	const struct github *github = list->github;
	uint64_t lists = 0, faulty = list->faults ? remote_backoff_ms(list->faults, github->poll_ms, RUNS_BACKOFF_MS) : 0;
	unsigned looks = UINT32_MAX;
	for (const struct run_list *other = github->lists; other; other = other->next)
		lists += other == list || is_used(other);
	uint64_t paced = lists * list->pages * RUNS_PAGE_MS / api_tokens(github->api);
	paced = paced > lists * list->pages * RUNS_PAGE_MIN_MS ? paced : lists * list->pages * RUNS_PAGE_MIN_MS;
	for (const struct remote_job *job = github->remote.jobs; job; job = job->next) {
		const struct run *run = run_in(list, job);
		if (run && is_sought(run) && job->absent < looks)
			looks = job->absent;
	}
	uint64_t seek = github->poll_ms << (looks < RUNS_SEEK_LOOKS ? looks : RUNS_SEEK_LOOKS);
	uint64_t wait = looks == UINT32_MAX ? github->poll_ms : seek;
	wait = wait > faulty ? wait : faulty;
	return wait > paced ? wait : paced;
}

static void
end_round(struct run_list *list, const struct kettle_error *fault, bool unchanged)
{
	struct round round = {list, fault, unchanged};
	list->pages = list->page;
	list->faults = fault ? list->faults + 1 : 0;
	if (fault)
		free(STEAL(list->etag));
	list->next_at = 0;
	remote_each(&list->github->remote, end_for, &round);
	list->next_at = remote_now_ms(&list->github->remote) + round_interval_ms(list);
}

static void request_page(struct run_list *list);

static int64_t
take_page(const struct run_list *list, const json_t *page)
{
	int64_t oldest_ms = INT64_MAX;
	json_array_each(page, entry) {
		struct run_facts facts;
		if (answer_run(entry, &facts, NULL) < 0)
			continue; /* not seen, so its run is looked at by id */
		oldest_ms = facts.created_ms < oldest_ms ? facts.created_ms : oldest_ms;
		struct run *run = find_run(list, &facts);
		if (!run)
			continue;
		run->round = NULL;
		if (is_sought(run))
			run_take_id(run, facts.id);
		run_take_facts(run, &facts);
	}
	return oldest_ms;
}

static void
on_page(void *arg, const struct kettle_error *err, const struct api_answer *answer)
{
	struct run_list *list = arg;
	struct kettle_error why = {0};
	const json_t *page = NULL;
	list->call = NULL;
	if (err->code == 0 && answer->status == 304) {
		end_round(list, NULL, true);
		return;
	}
	if (api_check(err, answer, "the request for the runs of a workflow", &why) < 0 ||
		answer_runs(answer->body, &page, &why) < 0) {
		end_round(list, &why, false);
		return;
	}
	list->token = answer->token;
	free(list->etag);
	list->etag = list->page == 1 && answer->etag ? xstrdup(answer->etag) : NULL;
	int64_t oldest_ms = take_page(list, page);
	bool last = json_array_size(page) < ANSWER_LIST_MAX || list->page >= RUNS_PAGES_MAX;
	if (!last && goes_on(list, oldest_ms))
		request_page(list);
	else
		end_round(list, NULL, false);
}

static void
request_page(struct run_list *list)
{
	list->page++;
	AUTO_FREE char *path =
		xasprintf("/repos/%s/actions/workflows/%s/runs?exclude_pull_requests=true&per_page=%d&page=%u", list->repo,
			list->workflow, ANSWER_LIST_MAX, list->page);
	list->call = api_send(list->github->api, &(struct api_request){.path = path,
												 .etag = list->page == 1 && list->pages == 1 ? list->etag : NULL,
												 .max_body = API_LIST_MAX,
												 .token = list->token,
												 .done = on_page,
												 .arg = list});
}

static struct run_list *
find_list(const struct run *run)
{
	for (struct run_list *list = run->github->lists; list; list = list->next)
		if (strcmp(run->place.repo, list->repo) == 0 && strcmp(run->place.workflow, list->workflow) == 0)
			return list;
	return NULL;
}

/* Returns the list of a run's workflow; makes it if there is none yet. */
static struct run_list *
list_of(const struct run *run)
{
	struct run_list *there = find_list(run);
	if (there)
		return there;
	struct run_list *list = xnew(struct run_list, .github = run->github, .next = run->github->lists,
		.repo = xstrdup(run->place.repo), .workflow = xstrdup(run->place.workflow), .token = run->token);
	run->github->lists = list;
	return list;
}

/* Makes the round cover every run of the list, except those with a request under way. */
static void
begin_round(struct run_list *list)
{
	for (struct remote_job *job = list->github->remote.jobs; job; job = job->next) {
		struct run *run = run_in(list, job);
		if (!run || run->call || (run->alone && !is_sought(run)))
			continue;
		/* An unchanged list may have shown the run before it was sought, so only a changed one counts. */
		if (is_sought(run) && !run->sought_since) {
			run->sought_since = remote_now_ms(&list->github->remote);
			free(STEAL(list->etag));
		}
		run->round = list;
		remote_await(job);
	}
	list->page = 0;
	request_page(list);
}

void
run_list_join(struct run *run)
{
	struct run_list *list = list_of(run);
	uint64_t now = remote_now_ms(&run->github->remote);
	if (list->call)
		remote_wait(run->job, now + run->github->poll_ms);
	else if (now < list->next_at)
		remote_wait(run->job, list->next_at);
	else
		begin_round(list);
}

uint64_t
run_list_interval_ms(const struct run *run)
{
	const struct run_list *list = find_list(run);
	uint64_t now = remote_now_ms(&run->github->remote);
	return list && !list->call && list->next_at > now ? list->next_at - now : run->github->poll_ms;
}

void
run_lists_free(struct github *github)
{
	while (github->lists) {
		struct run_list *list = github->lists;
		github->lists = list->next;
		if (list->call)
			api_cancel(list->call);
		free_all(list->repo, list->workflow, list->etag, list);
	}
}
