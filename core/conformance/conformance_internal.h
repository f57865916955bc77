/* SPDX-License-Identifier: MIT */
/* Shared by the files of the conformance checks. */
#pragma once

#include <kettle/testing.h>

#include "conformance/conformance.h"
#include "plugin/instance.h"
#include "plugin/loader.h"

/* The code of a check that does not apply, with the reason as the sentence. */
#define CONFORMANCE_SKIP 1

/* The plugin under test. options are checked and complete, or NULL: a required option is missing. */
struct subject {
	const struct conformance_setup *setup;
	const struct loaded_plugin *loaded;
	json_t *options;
	struct kettle_error why_not; /* the reason if options is NULL */
};

/* 0, CONFORMANCE_SKIP, or an error whose sentence names the plugin's fault. */
typedef int (*conformance_check)(struct subject *subject, struct kettle_error *err);

/* Whether a check that starts the plugin is skipped: it needs options and got no section. Fails with an invalid one. */
int conformance_skip_without_options(const struct subject *subject, struct kettle_error *err);
/* Frees the fake host (NULL is allowed) of a check that came to rc; anything left in it fails a check that had passed. */
int conformance_end(struct kettle_fake *fake, int rc, struct kettle_error *err);

/* create, configure, start; the loop runs once. */
int conformance_rise(
	struct subject *subject, struct kettle_fake *fake, struct instance *instance, struct kettle_error *err);
/* stop, within its limit, and destroy. */
int conformance_fall(
	struct subject *subject, struct kettle_fake *fake, struct instance *instance, struct kettle_error *err);

int conformance_symbols(struct subject *subject, struct kettle_error *err);
int conformance_facts(struct subject *subject, struct kettle_error *err);
int conformance_options(struct subject *subject, struct kettle_error *err);
int conformance_create_only(struct subject *subject, struct kettle_error *err);
int conformance_life(struct subject *subject, struct kettle_error *err);
int conformance_two_instances(struct subject *subject, struct kettle_error *err);
int conformance_leaks(struct subject *subject, struct kettle_error *err);
int conformance_texts(struct subject *subject, struct kettle_error *err);
int conformance_skeletons(struct subject *subject, struct kettle_error *err);
