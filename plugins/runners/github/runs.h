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

#define RUNS_SINGLE_MAX 20 /* runs in flight that are polled by id; more are polled by their list */
#define RUNS_POINTS_MS \
	110 /* for each run in flight, between two looks at it: 550 of 900 points a minute; a change costs 5 */
#define RUNS_PAGE_MS 1500    /* for each page of a list: 2,400 of the 5,000 requests an hour */
#define RUNS_PAGE_MIN_MS 500 /* likewise, for any number of tokens: a page of more than a megabyte must be parsed */
#define RUNS_PAGES_MAX 30    /* of a list */
#define RUNS_SEEK_LOOKS \
	5 /* looks at the list, until a run that was not seen counts as never dispatched; poll_ms apart, doubling */
#define RUNS_MISSING 6        /* answers in a row that a run is unknown, as GitHub may say at first */
#define RUNS_BACKOFF_MS 60000 /* the longest wait after faults */
#define RUNS_CLOCK_MS 600000  /* the greatest difference between GitHub's clock and this machine's */
#define RUNS_FORCE_MS 8000    /* after a cancel, until a forced one */

/* A job's own data. */
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
	bool accepted;          /* GitHub took the dispatch without telling the id */
	uint64_t sought_since;  /* ms; 0: no round has covered it */
	struct run_list *round; /* the round that awaits it; NULL: none */
	bool alone;             /* a round did not see it, so it is looked at by id */
	struct api_call *call;
	uint64_t cancel_at, cancelled_at; /* of the next request to cancel; of the first accepted one (0: none) */
	bool forced;
	struct artifact *artifact;
	unsigned looks, tries; /* looks at the list of its artifacts; downloads with wrong bytes */
};

/* The runner's operations for remote.h. */
extern const struct remote_ops runs_ops;

/* Handles the facts that a look at the run, or at its list, found. May free the run. */
void run_take_facts(struct run *run, const struct run_facts *facts);
/* GitHub has started the run, with this id. */
void run_take_id(struct run *run, int64_t id);
uint64_t runs_now_ms(const struct github *github);

/* ---- run_list.c ---- */

/* Has the list of its workflow look at the run: now, or when its next round is due. */
void run_list_join(struct run *run);
/* The time between two looks at a run by its list. */
uint64_t run_list_interval_ms(const struct run *run);
/* Whether runs are looked at by their lists, not by id. */
bool run_lists_used(const struct github *github);
/* Removes the lists. */
void run_lists_free(struct github *github);

#endif
