/* SPDX-License-Identifier: MIT */
/* What `kettle runner init` writes for Modal. */
#ifndef KETTLE_RUNNERS_MODAL_INIT_H
#define KETTLE_RUNNERS_MODAL_INIT_H

#include <jansson.h>
#include <kettle/error.h>

/*
 * Writes modal_app.py and the archive of kettle-exec by the args of `init` (kettle/runner.h) and the runner's section.
 * *ret_result is what init answers; a new reference. EINVAL: an option; and the errors of init_files.h and exec_archive.h.
 */
int init_write(const json_t *section, const json_t *args, json_t **ret_result, struct kettle_error *err);

#endif
