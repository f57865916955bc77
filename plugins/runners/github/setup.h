/* SPDX-License-Identifier: MIT */
/* What a repository needs: `kettle runner init github`. */
#ifndef KETTLE_GITHUB_SETUP_H
#define KETTLE_GITHUB_SETUP_H

#include <jansson.h>
#include <kettle/host.h>

#define SETUP_ARCHIVE ".github/kettle/kettle-exec.tar.xz"

/* The template of the workflow, whose words @MINUTES@, @URL@ and @SHA256@ are filled in. */
extern const char github_workflow_text[];

/* As `init` of kettle/runner.h. section: of the configuration, borrowed until done was called. */
int setup_init(const struct kettle_host *host, const json_t *section, const json_t *args,
	void (*done)(void *arg, const struct kettle_error *err, json_t *result), void *arg, struct kettle_error *err);

#endif
