/* SPDX-License-Identifier: MIT */
/* Prepares a repository: `kettle runner init github`. */
#ifndef KETTLE_GITHUB_SETUP_H
#define KETTLE_GITHUB_SETUP_H

#include "runners/common/init_files.h"

#define SETUP_ARCHIVE ".github/kettle/kettle-exec.tar.xz"

/* The template of the workflow. setup_write fills in the words @MINUTES@, @URL@ and @SHA256@. */
extern const char github_workflow_text[];

/*
 * For init_run: writes the files by the args of `init` and the runner's section. EINVAL: an option; and the errors of
 * its calls.
 */
int setup_write(struct init *init, struct kettle_error *err);

#endif
