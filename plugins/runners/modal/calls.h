/* SPDX-License-Identifier: MIT */
/* The jobs of the runner: calls of the app's functions. All on the loop thread. */
#ifndef KETTLE_RUNNERS_MODAL_CALLS_H
#define KETTLE_RUNNERS_MODAL_CALLS_H

#include "runners/modal/modal.h"

/* What remote.h needs. */
extern const struct remote_ops calls_ops;

/* The name of the job's call; NULL: it is not known. Borrowed. */
const char *calls_name(const struct remote_job *job);
/* Looks at no job any more. */
void calls_stop(struct modal *modal);

#endif
