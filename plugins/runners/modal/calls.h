/* SPDX-License-Identifier: MIT */
/* The jobs of the runner: calls of the app's functions. All on the loop thread. */
#ifndef KETTLE_RUNNERS_MODAL_CALLS_H
#define KETTLE_RUNNERS_MODAL_CALLS_H

#include "runners/modal/modal.h"

/* What remote.h needs. */
extern const struct remote_ops calls_ops;
extern const struct remote_pace calls_pace; /* but for what the options say */

/* Whether the section says all that a request needs; whether the unit names a function (modal.c). */
int calls_check(struct remote *remote, struct kettle_error *err);
int calls_check_unit(struct remote *remote, const json_t *unit, struct kettle_error *err);
/* `status` of kettle/runner.h. */
int calls_status(void *self, remote_done done, void *arg, struct kettle_error *err);
/* Looks at no job any more. */
void calls_stop(struct modal *modal);

#endif
