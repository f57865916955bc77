/* SPDX-License-Identifier: MIT */
/* The files that `kettle runner init` writes for Modal. */
#ifndef KETTLE_RUNNERS_MODAL_INIT_H
#define KETTLE_RUNNERS_MODAL_INIT_H

#include "runners/common/init_files.h"

/*
 * For init_run: writes modal_app.py and the archive of kettle-exec by the args of `init` and the runner's section.
 * EINVAL: an option; and the errors of init_files.h and exec_archive.h.
 */
int init_write(struct init *init, struct kettle_error *err);

#endif
