/* SPDX-License-Identifier: MIT */
/* The runner modal: what its files share. All on the loop thread. */
#ifndef KETTLE_RUNNERS_MODAL_MODAL_H
#define KETTLE_RUNNERS_MODAL_MODAL_H

#include <jansson.h>
#include <kettle/host.h>
#include <stdbool.h>
#include <stdint.h>

#include "runners/common/remote.h"

struct modal_request;
struct modal_inquiry;

/* One instance of the plugin. */
struct modal {
	struct remote remote; /* first */
	const struct kettle_host *host;
	json_t *options;
	char *url;                  /* of the app, without a slash at its end */
	char *key, *secret;         /* "Modal-Key: …" and "Modal-Secret: …" */
	uint64_t answer_ms;         /* of one request */
	uint64_t send_ms, quiet_ms; /* for which is tried again what fails */
	/* of calls.c */
	struct kettle_timer *timer;      /* to the next look at what runs */
	struct modal_request *poll;      /* that is under way */
	json_t *polled;                  /* the references of its jobs */
	unsigned poll_failures;          /* in a row */
	unsigned fetches;                /* results that are being fetched */
	struct modal_inquiry *inquiries; /* of inquiry.c */
};

#endif
