/* SPDX-License-Identifier: MIT */
/* Declarations that the files of the runner `github` share. All on the loop thread. */
#ifndef KETTLE_GITHUB_GITHUB_H
#define KETTLE_GITHUB_GITHUB_H

#include "runners/common/remote.h"
#include "runners/github/api.h"

#define GITHUB_PLACES_MAX 32 /* workflows that a status covers */
#define GITHUB_LABEL "ubuntu-24.04"

struct run_list;

/* Which workflow, and where it runs. */
struct run_place {
	const char *repo;     /* "owner/name" */
	const char *workflow; /* "kettle.yml" */
	const char *ref;      /* a branch or tag */
	const json_t *labels; /* an array of texts; NULL: only GITHUB_LABEL */
};

struct github {
	struct remote remote; /* first */
	const struct kettle_host *host;
	json_t *section;  /* the parts that `init` needs */
	struct api *api;  /* NULL: there is no token */
	json_t *places;   /* {KEY: {"repo", "workflow"}} of the units */
	uint64_t poll_ms; /* the least time between two looks */
	/* of run_list.c */
	struct run_list *lists;
	uint64_t alone_at; /* when a run that its list did not show may next be looked at by id */
	kettle_fn stopped; /* NULL: not stopping */
	void *stopped_arg;
};

/* The place that a unit names; it borrows from the unit, and has labels NULL where the unit names none. EINVAL. */
int github_place_read(const json_t *unit, struct run_place *ret_place, struct kettle_error *err);
/* EUNAVAIL: there is no token. */
int github_check(struct remote *remote, struct kettle_error *err);
/* EINVAL: the unit names no place. The place is remembered for the status. */
int github_check_unit(struct remote *remote, const json_t *unit, struct kettle_error *err);

/* `status` of kettle/runner.h (status.c). */
int github_status(void *self, remote_done done, void *arg, struct kettle_error *err);

#endif
