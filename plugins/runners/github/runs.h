/* SPDX-License-Identifier: MIT */
/*
 * Runs of a workflow: one is dispatched or found again, followed until it has ended, and its artifact fetched. All functions
 * and callbacks on the loop thread.
 */
#ifndef KETTLE_GITHUB_RUNS_H
#define KETTLE_GITHUB_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "runners/github/api.h"
#include "runners/github/result_zip.h"

#define RUNS_SINGLE_MAX 20 /* runs in flight that are polled one by one; more are polled as a list */
#define RUNS_POINTS_MS \
	110 /* for each run in flight between two looks at one: 550 of 900 points a minute; a change has 5 */
#define RUNS_PAGE_MS 1500    /* for each page of a list: 2,400 of the 5,000 requests an hour */
#define RUNS_PAGE_MIN_MS 500 /* likewise, however many tokens there are: a page is more than a megabyte to parse */
#define RUNS_PAGES_MAX 30    /* of a list */
#define RUNS_SEEK_LOOKS \
	5 /* at the list, until a run that was not seen counts as never dispatched; poll_ms apart, doubling */
#define RUNS_BACKOFF_MS 60000 /* the longest wait after faults */
#define RUNS_CLOCK_MS 600000  /* by how much GitHub's clock and this machine's may differ */
#define RUNS_FORCE_MS 8000    /* after a cancel, until it is forced */

#define RUNS_LABEL "ubuntu-24.04"

struct runs; /* those of a runner */
struct run;  /* opaque; valid until its `ended` is called, or run_forget */

enum run_end {
	RUN_RESULT,    /* files is set and has a result or a report; may be stolen from */
	RUN_BROKE,     /* there is no result; the sentence says why */
	RUN_UNREACHED, /* likewise; GitHub was asked for long enough, and could not be reached or gave no usable answer */
	RUN_GONE,      /* likewise; GitHub knows no such run any more */
	RUN_UNSTARTED, /* likewise; it never began */
	RUN_UNUSABLE,  /* likewise; no run can begin before the operator has changed something */
	RUN_CANCELLED, /* after run_cancel */
};

/* Each may be NULL, and may call the functions below, of this and of other runs, at once. */
struct run_events {
	void (*found)(void *arg, int64_t id); /* GitHub has it, under this id */
	void (*started)(void *arg);           /* a machine has taken it */
	void (*ended)(void *arg, enum run_end how, const char *sentence, struct result_files *files);
};

/* Which workflow, and where it runs. Strings and JSON are copied. */
struct run_place {
	const char *repo;     /* "owner/name" */
	const char *workflow; /* "kettle.yml" */
	const char *ref;      /* a branch or tag */
	const json_t *labels; /* an array of texts; NULL: RUNS_LABEL alone */
};

struct runs_rules {
	uint64_t poll_ms;    /* between two looks, at least */
	uint64_t give_up_ms; /* for how long faults of the network and of GitHub are met with another try */
};

struct runs *runs_new(const struct kettle_host *host, struct api *api, const struct runs_rules *rules);
/* Forgets all runs, and ends all that is under way. Runs may be added again. */
void runs_stop(struct runs *runs);
/* Likewise, and frees it. NULL is allowed. */
void runs_free(struct runs *runs);

/*
 * Dispatches a run under a name that no other one has. It is dispatched at most once: where the answer is lost it is looked for by
 * its name. payload: the input of that name, copied.
 */
struct run *runs_dispatch(struct runs *runs, const struct run_place *place, const char *name, const char *payload,
	const struct run_events *events, void *arg);
/* The input that names the labels: a JSON array. New string. */
char *run_labels_text(const json_t *labels);
/* Follows a run that was dispatched before; id 0: the run of that name, which was dispatched not before since_ms (0: not known). */
struct run *runs_follow(struct runs *runs, const struct run_place *place, const char *name, int64_t id,
	int64_t since_ms, const struct run_events *events, void *arg);
/* Ends it at GitHub; it leads to `ended`. */
void run_cancel(struct run *run);
/* Frees it without calling back. */
void run_forget(struct run *run);
/* Likewise; but one that was cancelled, and may be at GitHub, is cancelled there first, for as long as that takes. */
void run_abandon(struct run *run);

int64_t run_id(const struct run *run); /* 0: not known */
unsigned run_attempt(const struct run *run);

#endif
