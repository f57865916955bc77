/* SPDX-License-Identifier: MIT */
/*
 * Looking at runs by the list of their workflow.
 *
 * Theory of operation. A list is looked at where more than RUNS_SINGLE_MAX runs are in flight, and where a run is sought by its
 * name. A round goes through its pages, the newest runs first, until each run that it is about was seen, or the list has
 * become older than all of them. A run that is polled and was not seen is looked at by itself; one that is sought and was not
 * seen in RUNS_SEEK_LOOKS rounds was never dispatched. A page that has not changed since a round of one page says that nothing has.
 */
#include <config.h>

#include "runners/github/runs_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "runners/common/remote.h"

static bool
is_of(const struct run_list *list, const struct run *run)
{
	return (run->phase == RUN_SEEKING || (run->phase == RUN_POLLING && !run->cancelled)) &&
		   strcmp(run->repo, list->repo) == 0 && strcmp(run->workflow, list->workflow) == 0;
}

bool
run_lists_used(const struct runs *runs)
{
	return runs->count > RUNS_SINGLE_MAX;
}

/* The run that an entry of the list is about. */
static struct run *
find_run(struct runs *runs, const struct run_list *list, const struct run_facts *facts)
{
	for (struct run *run = runs->first; run; run = run->next) {
		bool same = run->phase == RUN_SEEKING ? facts->dispatched && strcmp(run->name, facts->title) == 0
											  : run->id == facts->id;
		if (same && is_of(list, run))
			return run;
	}
	return NULL;
}

/* Whether the list can still have a run that was not seen: further pages are older than oldest_ms. */
static bool
goes_on(const struct runs *runs, const struct run_list *list, int64_t oldest_ms)
{
	for (const struct run *run = runs->first; run; run = run->next)
		if (is_of(list, run) && !run->seen && (run->since_ms == 0 || run->since_ms - RUNS_CLOCK_MS <= oldest_ms))
			return true;
	return false;
}

/* A whole round has not seen it. True: that was one too many, and runs may have been freed. */
static bool
take_unseen(struct run *run, uint64_t now)
{
	struct runs *runs = run->runs;
	bool may_come = run->accepted && now - run->sought_since < runs->rules.give_up_ms;
	if (run->phase == RUN_POLLING && !run->alone) {
		/* One after the other: a list that is empty by mistake shows none of them. */
		run->alone = true;
		run->next_at = runs->alone_at > now ? runs->alone_at : now;
		runs->alone_at = run->next_at + RUNS_POINTS_MS / api_tokens(runs->api);
	}
	if (run->phase == RUN_POLLING || ++run->looks < RUNS_SEEK_LOOKS || may_come)
		return false;
	if (run->cancelled)
		run_end(run, RUN_CANCELLED, NULL, "It was cancelled.");
	else
		run_end(run, RUN_UNSTARTED, NULL,
			"GitHub has no run `%s` of the workflow %s in %s: its dispatch did not arrive.", run->name, run->workflow,
			run->repo);
	return true;
}

/* Tells each of the list's runs that was not seen, of which any may be freed by that. */
static void
for_unseen(struct runs *runs, const struct run_list *list, const struct kettle_error *fault, uint64_t now)
{
	struct run *run = runs->first;
	while (run) {
		struct run *next = run->next;
		if (is_of(list, run) && !run->seen) {
			run->seen = true;
			if (fault ? run_take_fault(run, fault) : take_unseen(run, now))
				next = runs->first;
		}
		run = next;
	}
}

/* Whether it is about a run now. */
static bool
is_used(const struct runs *runs, const struct run_list *list)
{
	const struct run *run = runs->first;
	while (run && !is_of(list, run))
		run = run->next;
	return run;
}

/* Between two rounds of a list. */
static uint64_t
list_interval_ms(const struct runs *runs, const struct run_list *list)
{
	uint64_t lists = 0,
			 faulty = list->faults ? remote_backoff_ms(list->faults, runs->rules.poll_ms, RUNS_BACKOFF_MS) : 0;
	unsigned looks = UINT32_MAX;
	for (const struct run_list *other = runs->lists; other; other = other->next)
		lists += other == list || is_used(runs, other);
	uint64_t paced = lists * list->pages * RUNS_PAGE_MS / api_tokens(runs->api);
	paced = paced > lists * list->pages * RUNS_PAGE_MIN_MS ? paced : lists * list->pages * RUNS_PAGE_MIN_MS;
	for (const struct run *run = runs->first; run; run = run->next)
		if (is_of(list, run) && run->phase == RUN_SEEKING && run->looks < looks)
			looks = run->looks;
	uint64_t seek = runs->rules.poll_ms << (looks < RUNS_SEEK_LOOKS ? looks : RUNS_SEEK_LOOKS);
	uint64_t wait = looks == UINT32_MAX ? runs->rules.poll_ms : seek;
	wait = wait > faulty ? wait : faulty;
	return wait > paced ? wait : paced;
}

static void
end_round(struct runs *runs, struct run_list *list, const struct kettle_error *fault)
{
	uint64_t now = runs_now_ms(runs);
	list->pages = list->page;
	list->faults = fault ? list->faults + 1 : 0;
	if (fault)
		free(STEAL(list->etag));
	for_unseen(runs, list, fault, now);
	list->next_at = now + list_interval_ms(runs, list);
}

static void request_page(struct runs *runs, struct run_list *list);

/* Each entry of a page. The time of the oldest one. */
static int64_t
take_page(struct runs *runs, struct run_list *list, const json_t *page)
{
	int64_t oldest_ms = INT64_MAX;
	size_t i;
	json_t *entry;
	json_array_foreach((json_t *)page, i, entry) {
		struct run_facts facts;
		if (answer_run(entry, &facts, NULL) < 0)
			continue; /* not seen, so it is looked at by itself */
		oldest_ms = facts.created_ms < oldest_ms ? facts.created_ms : oldest_ms;
		struct run *run = find_run(runs, list, &facts);
		if (!run || run->seen)
			continue;
		run->seen = true;
		run_take_facts(run, &facts);
	}
	return oldest_ms;
}

static void
on_page(void *arg, const struct kettle_error *err, const struct api_answer *answer)
{
	struct run_list *list = arg;
	struct runs *runs = list->runs;
	struct kettle_error why = *err;
	const json_t *page = NULL;
	list->call = NULL;
	bool unchanged = why.code == 0 && answer->status == 304;
	if (unchanged) {
		for (struct run *run = runs->first; run; run = run->next)
			run->seen = run->seen || (is_of(list, run) && run->phase == RUN_POLLING);
		end_round(runs, list, NULL);
		return;
	}
	if (why.code == 0 && answer->status != 200)
		(void)api_fail(answer, "the request for the runs of a workflow", &why);
	else if (why.code == 0)
		(void)answer_runs(answer->body, &page, &why);
	if (why.code < 0) {
		end_round(runs, list, &why);
		return;
	}
	list->token = answer->token;
	free(list->etag);
	list->etag = list->page == 1 && answer->etag ? xstrdup(answer->etag) : NULL;
	int64_t oldest_ms = take_page(runs, list, page);
	bool last = json_array_size(page) < ANSWER_LIST_MAX || list->page >= RUNS_PAGES_MAX;
	if (!last && goes_on(runs, list, oldest_ms))
		request_page(runs, list);
	else
		end_round(runs, list, NULL);
}

static void
request_page(struct runs *runs, struct run_list *list)
{
	list->page++;
	AUTO_FREE char *path =
		xasprintf("/repos/%s/actions/workflows/%s/runs?exclude_pull_requests=true&per_page=%d&page=%u", list->repo,
			list->workflow, ANSWER_LIST_MAX, list->page);
	list->call = api_send(runs->api, &(struct api_request){.path = path,
										 .etag = list->page == 1 && list->pages == 1 ? list->etag : NULL,
										 .max_body = API_LIST_MAX,
										 .token = list->token,
										 .done = on_page,
										 .arg = list});
}

static struct run_list *
find_list(const struct runs *runs, const struct run *run)
{
	for (struct run_list *list = runs->lists; list; list = list->next)
		if (strcmp(run->repo, list->repo) == 0 && strcmp(run->workflow, list->workflow) == 0)
			return list;
	return NULL;
}

void
run_list_reread(const struct run *run)
{
	struct run_list *list = find_list(run->runs, run);
	if (list)
		free(STEAL(list->etag));
}

/* The list of a run; new where there is none yet. */
static struct run_list *
list_of(struct runs *runs, const struct run *run)
{
	struct run_list *there = find_list(runs, run);
	if (there)
		return there;
	struct run_list *list = xcalloc(1, sizeof(*list));
	*list = (struct run_list){.runs = runs,
		.next = runs->lists,
		.repo = xstrdup(run->repo),
		.workflow = xstrdup(run->workflow),
		.token = run->token};
	runs->lists = list;
	return list;
}

void
run_lists_tick(struct runs *runs, uint64_t now)
{
	bool many = run_lists_used(runs);
	for (struct run *run = runs->first; run; run = run->next) {
		if (run->phase != RUN_SEEKING && !(many && run->phase == RUN_POLLING && !run->cancelled))
			continue;
		struct run_list *list = list_of(runs, run);
		if (list->call || now < list->next_at)
			continue;
		for (struct run *other = runs->first; other; other = other->next)
			other->seen = is_of(list, other) ? false : other->seen;
		list->page = 0;
		request_page(runs, list);
	}
}

void
run_lists_free(struct runs *runs)
{
	while (runs->lists) {
		struct run_list *list = runs->lists;
		runs->lists = list->next;
		if (list->call)
			(void)api_cancel(list->call);
		free(list->repo);
		free(list->workflow);
		free(list->etag);
		free(list);
	}
}
