/* SPDX-License-Identifier: MIT */
/* What an operator wants to know of the remote side: `kettle device doctor`, `kettle runner status`. All on the loop thread. */
#ifndef KETTLE_RUNNERS_MODAL_INQUIRY_H
#define KETTLE_RUNNERS_MODAL_INQUIRY_H

#include "runners/modal/modal.h"

typedef void (*inquiry_fn)(void *arg, const struct kettle_error *err, json_t *answer);

/* What `kettle-exec --doctor --json` says in this function; it starts a call of it. done once. */
int inquiry_doctor(struct modal *modal, const char *function, inquiry_fn done, void *arg, struct kettle_error *err);
/* The queue, as `status` of kettle/runner.h. done once. */
int inquiry_status(struct modal *modal, inquiry_fn done, void *arg, struct kettle_error *err);
/* Ends all with ECANCELED. */
void inquiry_stop(struct modal *modal);

#endif
