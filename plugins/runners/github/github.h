/* SPDX-License-Identifier: MIT */
/* What the files of the runner `github` share. All on the loop thread. */
#ifndef KETTLE_GITHUB_GITHUB_H
#define KETTLE_GITHUB_GITHUB_H

#include "runners/common/remote.h"
#include "runners/github/api.h"
#include "runners/github/runs.h"

#define GITHUB_PLACES_MAX 32 /* workflows that the status is about */

struct github_inquiry;

struct github {
	struct remote remote; /* first */
	const struct kettle_host *host;
	json_t *section;   /* what `init` needs of it */
	struct api *api;   /* NULL: there is no token */
	struct runs *runs; /* likewise */
	json_t *places;    /* {KEY: {"repo", "workflow"}} of the units */
	struct github_inquiry *inquiries;
	kettle_fn stopped; /* set while it stops */
	void *stopped_arg;
};

/* The place that a unit names; it borrows from the unit, and has labels NULL where the unit names none. EINVAL. */
int github_place_read(const json_t *unit, struct run_place *ret_place, struct kettle_error *err);

/* As `doctor` and `status` of kettle/runner.h (inquiries.c). */
int github_doctor(struct github *github, const json_t *unit,
	void (*done)(void *arg, const struct kettle_error *err, json_t *report), void *arg, struct kettle_error *err);
int github_status(struct github *github, void (*done)(void *arg, const struct kettle_error *err, json_t *status),
	void *arg, struct kettle_error *err);
/* Answers all of them with an error, since the runner stops. */
void github_inquiries_end(struct github *github);

#endif
