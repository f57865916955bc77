/* SPDX-License-Identifier: MIT */
/*
 * Runs of a workflow, each of which is a job or a doctor: dispatched, found again, looked at, cancelled, and its artifact
 * fetched. All functions and callbacks on the loop thread.
 */
#ifndef KETTLE_GITHUB_RUNS_H
#define KETTLE_GITHUB_RUNS_H

#include "runners/github/answers.h"
#include "runners/github/artifact.h"
#include "runners/github/github.h"

#define RUNS_SINGLE_MAX 20 /* runs in flight that are polled one by one; more are polled as a list */
#define RUNS_POINTS_MS \
	110 /* for each run in flight between two looks at one: 550 of 900 points a minute; a change has 5 */
#define RUNS_PAGE_MS 1500    /* for each page of a list: 2,400 of the 5,000 requests an hour */
#define RUNS_PAGE_MIN_MS 500 /* likewise, however many tokens there are: a page is more than a megabyte to parse */
#define RUNS_PAGES_MAX 30    /* of a list */
#define RUNS_SEEK_LOOKS \
	5 /* at the list, until a run that was not seen counts as never dispatched; poll_ms apart, doubling */
#define RUNS_MISSING 6        /* times in a row that GitHub does not know a run, which it may do at first */
#define RUNS_BACKOFF_MS 60000 /* the longest wait after faults */
#define RUNS_CLOCK_MS 600000  /* by how much GitHub's clock and this machine's may differ */
#define RUNS_FORCE_MS 8000    /* after a cancel, until it is forced */

/* job->own. */
struct run {
	struct remote_job *job; /* NULL: released while its plan is published */
	struct github *github;
	struct run_place place; /* it borrows from the job's unit */
	int64_t id;             /* 0: not known */
	unsigned attempt;
	char conclusion[32];
	char *etag;
	size_t token;
	bool publishing;
	uint64_t publish_until;
	bool accepted;          /* GitHub took the dispatch, and did not say under which id */
	uint64_t sought_since;  /* ms; 0: no round was about it */
	struct run_list *round; /* of which it is awaited; NULL: of none */
	bool alone;             /* a round did not see it: it is looked at by itself */
	struct api_call *call;
	uint64_t cancel_at, cancelled_at; /* of the next request to cancel; of the first that was taken (0: none) */
	bool forced;
	struct artifact *artifact;
	unsigned looks, tries; /* at the list of its artifacts; at one whose bytes are wrong */
};

/* What remote.h needs. */
extern const struct remote_ops runs_ops;

/* A look at the run, or at its list, found this. It may free the run. */
void run_take_facts(struct run *run, const struct run_facts *facts);
/* GitHub has it, under this id. */
void run_take_id(struct run *run, int64_t id);
uint64_t runs_now_ms(const struct github *github);

/* ---- run_list.c ---- */

/* Looks at the run by the list of its workflow: now, or when its next round is due. */
void run_list_join(struct run *run);
/* Between two looks at a run by its list. */
uint64_t run_list_interval_ms(const struct run *run);
/* Whether runs are looked at by their lists. */
bool run_lists_used(const struct github *github);
/* Removes the lists. */
void run_lists_free(struct github *github);

#endif
