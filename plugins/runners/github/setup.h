/* SPDX-License-Identifier: MIT */
/* What a repository needs: `kettle runner init github`. */
#ifndef KETTLE_GITHUB_SETUP_H
#define KETTLE_GITHUB_SETUP_H

#include "runners/common/init_files.h"

#define SETUP_ARCHIVE ".github/kettle/kettle-exec.tar.xz"

/* The template of the workflow, whose words @MINUTES@, @URL@ and @SHA256@ are filled in. */
extern const char github_workflow_text[];

/* For init_run: writes it by the args of `init` and the runner's section. EINVAL: an option; and the errors of what it calls. */
int setup_write(struct init *init, struct kettle_error *err);

#endif
