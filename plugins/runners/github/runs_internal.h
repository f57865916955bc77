/* SPDX-License-Identifier: MIT */
/* What the files that follow runs share. */
#ifndef KETTLE_GITHUB_RUNS_INTERNAL_H
#define KETTLE_GITHUB_RUNS_INTERNAL_H

#include "runners/github/answers.h"
#include "runners/github/artifact.h"
#include "runners/github/runs.h"

enum run_phase {
	RUN_DISPATCHING, /* the dispatch waits or is under way */
	RUN_SEEKING,     /* it may have been dispatched, and is looked for by its name */
	RUN_POLLING,     /* its id is known */
	RUN_FETCHING,    /* it has ended, and its artifact is fetched */
	RUN_ENDED,       /* it is freed when its callback has returned */
};

struct run {
	struct runs *runs;
	struct run *next, *prev;
	char *repo, *workflow, *name;
	const struct run_events *events;
	void *arg;
	enum run_phase phase;
	bool cancelled, started, in_callback;
	bool accepted; /* GitHub took the dispatch, and did not say under which id */
	int64_t id, since_ms;
	unsigned attempt;
	char conclusion[32];
	char *etag;
	size_t token;
	uint64_t next_at; /* of its next look, if it is looked at by itself */
	unsigned faults, missing, looks;
	uint64_t faulty_since; /* ms; 0: not */
	uint64_t sought_since; /* ms */
	bool seen;             /* in this round of its list */
	bool alone;            /* a round did not see it: it is looked at by itself */
	struct api_call *call, *cancel_call;
	uint64_t cancel_at, cancelled_at; /* of the next request to cancel; of the first that was taken (0: none) */
	bool forced;
	struct artifact *artifact;
};

/* The list of a workflow's runs. */
struct run_list {
	struct runs *runs;
	struct run_list *next;
	char *repo, *workflow, *etag;
	struct api_call *call;
	unsigned page, pages; /* of this round; of the last one */
	unsigned faults;      /* rounds in a row */
	uint64_t next_at;
	size_t token;
};

struct runs {
	const struct kettle_host *host;
	struct api *api;
	struct runs_rules rules;
	struct run *first;
	struct run_list *lists;
	size_t count;
	uint64_t alone_at; /* when the next run that its list has not shown may be looked at by itself */
	struct kettle_timer *timer;
};

uint64_t runs_now_ms(const struct runs *runs);
/* A look at the run, or at its list, found this. It may free the run. */
void run_take_facts(struct run *run, const struct run_facts *facts);
/* A look at the run, or at its list, failed. True: that was one too many, and runs may have been freed. */
bool run_take_fault(struct run *run, const struct kettle_error *err);
/* Calls `ended`, and frees the run. */
void run_end(struct run *run, enum run_end how, struct result_files *files, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The run is sought from now on: its list may have shown it already, so that it counts for nothing that the list has not changed. */
void run_list_reread(const struct run *run);
/* Begins a round of each list that has to be looked at now. */
void run_lists_tick(struct runs *runs, uint64_t now);
/* Whether runs are looked at by their lists. */
bool run_lists_used(const struct runs *runs);
/* Removes the lists. */
void run_lists_free(struct runs *runs);

#endif
