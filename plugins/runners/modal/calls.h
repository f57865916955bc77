/* SPDX-License-Identifier: MIT */
/* The jobs of the runner: calls of the app's functions. All on the loop thread. */
#ifndef KETTLE_RUNNERS_MODAL_CALLS_H
#define KETTLE_RUNNERS_MODAL_CALLS_H

#include "runners/modal/modal.h"

/* The runner's operations for remote.h. */
extern const struct remote_ops calls_ops;
extern const struct remote_pace calls_pace; /* the options change some members */

/* EUNAVAIL: the section lacks something that a request needs. EINVAL: the unit names no function (modal.c). */
int calls_check(struct remote *remote, struct kettle_error *err);
int calls_check_unit(struct remote *remote, const json_t *unit, struct kettle_error *err);
/* `status` of kettle/runner.h. */
int calls_status(void *self, remote_done done, void *arg, struct kettle_error *err);
/* Asks for no job's state any more. */
void calls_stop(struct modal *modal);

#endif
