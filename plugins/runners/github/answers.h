/* SPDX-License-Identifier: MIT */
/* The contents of answers of GitHub's API, checked: all members that the runner uses are read here. All [any]. */
#ifndef KETTLE_GITHUB_ANSWERS_H
#define KETTLE_GITHUB_ANSWERS_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANSWER_LIST_MAX 100 /* entries of a page, as requests ask for */

/* A run of a workflow. Strings belong to the JSON. */
struct run_facts {
	int64_t id;
	unsigned attempt;
	const char *status;     /* "queued", "in_progress", "completed", … */
	const char *conclusion; /* "success", "failure", …; "": it has not completed */
	const char *title;      /* its name, from `run-name` of the workflow */
	const char *url;        /* a page for people; "" */
	const char *created;    /* a time */
	int64_t created_ms;     /* since 1970; 0: not readable */
	bool dispatched;        /* started by a dispatch, which needs write access to the repository */
};

/* An artifact. */
struct artifact_facts {
	int64_t id;
	uint64_t size;   /* bytes of its zip */
	char sha256[65]; /* "": GitHub gives no digest */
	bool expired;
};

/* The id of the run that a dispatch started. EIO: the answer has none. */
int answer_dispatched(const json_t *body, int64_t *ret_id, struct kettle_error *err);
/* EIO: it is not a run. */
int answer_run(const json_t *body, struct run_facts *ret_facts, struct kettle_error *err);
/* The runs of a page, at most ANSWER_LIST_MAX. Borrowed. EIO: it is no page. */
int answer_runs(const json_t *body, const json_t **ret_runs, struct kettle_error *err);
/*
 * The newest artifact with this name. ENOENT: there is none (yet); EIO: it is no list of artifacts.
 */
int answer_artifact(const json_t *body, const char *name, struct artifact_facts *ret_facts, struct kettle_error *err);
/* "2026-03-10T12:00:00Z" in ms since 1970; 0: it is no such time. */
int64_t answer_time(const char *text);

#endif
