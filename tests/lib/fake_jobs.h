/* SPDX-License-Identifier: MIT */
/* What tests of runners see of their jobs on the fake host, and how they wait for it. On the test's thread. */
#pragma once

#include <kettle/plugin.h>
#include <kettle/testing.h>
#include <stddef.h>

/* The job's "completions", or its "events". Borrowed; NULL: none. */
const json_t *job_reports(struct kettle_fake *fake, const char *ref, const char *what);
/* Waits for the job's completion, of which there must be one alone. Borrowed. */
const json_t *job_completion(struct kettle_fake *fake, const char *ref);
/* The same of this status. */
const json_t *job_ends(struct kettle_fake *fake, const char *ref, const char *status);
/* How many lines of the log have this text. */
size_t log_count(struct kettle_fake *fake, const char *text);
/* How many calls of host->CALL, after the first `from` calls, had an error that contains words. */
size_t remote_errors(struct kettle_fake *fake, const char *call, size_t from, const char *words);
/* Stops the plugin, and waits until it has stopped. */
void plugin_stop(struct kettle_fake *fake, const struct kettle_plugin *plugin, void *self);
