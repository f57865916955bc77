/* SPDX-License-Identifier: MIT */
/* The rules that every plugin must keep, checked on one: `kettle plugin test FILE.so`. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>

#define CONFORMANCE_CHECK_MS 60000 /* for one check; a plugin that takes longer hangs */
#define CONFORMANCE_STOP_MS 10000  /* for one stop */

struct conformance_setup {
	const char *file;
	const json_t *options; /* a section for it, or NULL: an empty one */
	/* The origin of the section, for messages and for relative paths; all NULL: no file. */
	const char *options_file, *options_base;
	const json_t *options_places;
	unsigned stop_ms; /* 0: CONFORMANCE_STOP_MS */
};

/*
 * Runs every check in a child process of its own, so that a plugin that crashes, hangs or spoils the process gives a
 * sentence: {"tests": [{"name", "passed", "skipped", "message": sentence or null}], "ok"}, a new reference. A check
 * that does not apply, or that needs options which the section lacks, is skipped and not passed; without a section, or
 * without a required option, that is no failure. An invalid section is. Blocks until all checks are done, so never call
 * it on an engine's loop thread. The children use fork without exec, so no other thread may hold a lock that a plugin
 * needs. EIO. [any]
 */
int conformance_run(const struct conformance_setup *setup, json_t **ret_results, struct kettle_error *err);
