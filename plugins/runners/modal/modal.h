/* SPDX-License-Identifier: MIT */
/* Declarations that the files of the runner modal share. All on the loop thread. */
#ifndef KETTLE_RUNNERS_MODAL_MODAL_H
#define KETTLE_RUNNERS_MODAL_MODAL_H

#include <jansson.h>
#include <kettle/host.h>
#include <stdbool.h>
#include <stdint.h>

#include "runners/common/remote.h"

struct modal_request;

/* One instance of the plugin. */
struct modal {
	struct remote remote; /* first */
	const struct kettle_host *host;
	json_t *options;
	char *url;          /* of the app, without a slash at its end */
	char *key, *secret; /* "Modal-Key: …" and "Modal-Secret: …" */
	uint64_t answer_ms; /* limit of one request */
	/* of calls.c */
	struct modal_request *poll; /* the request under way */
	json_t *polled;             /* references of the jobs in that request */
	json_t *asked;              /* references of the jobs for the next one */
};

#endif
