/* SPDX-License-Identifier: MIT */
/* The life of a plugin after it is loaded: create → configure → start → stop → destroy. */
#pragma once

#include <kettle/plugin.h>
#include <stdint.h>

#define INSTANCE_STOP_MS 30000 /* time for the plugins of one kind to stop */

struct stop_sequence;

/* In order; an instance that hangs has no further state. */
enum instance_state {
	INSTANCE_NONE,
	INSTANCE_CREATED,
	INSTANCE_STARTED,
	INSTANCE_STOPPING,
	INSTANCE_STOPPED,
	INSTANCE_HUNG, /* it did not stop in time; it is neither destroyed nor freed, since it may still use its data */
};

/* One instance. Zero-initialise; its owner calls its functions on the loop thread. */
struct instance {
	const struct kettle_plugin *plugin; /* the loader's */
	const struct kettle_host *host;
	void *self;
	enum instance_state state;
	struct stop_sequence *stopping; /* of instances_stop */
};

/*
 * The three steps of the start. The plugin's error is returned as "The runner `local` cannot start: …", with its code
 * (INTERNAL where it is not a code of Kettle); the caller then destroys the instance.
 */
int instance_create(struct instance *instance, const struct kettle_plugin *plugin, const struct kettle_host *host,
	struct kettle_error *err);
int instance_configure(struct instance *instance, const json_t *options, struct kettle_error *err);
int instance_start(struct instance *instance, struct kettle_error *err);
/*
 * Frees it; it must not have been started, or must have stopped. Does nothing to an instance that was never created, or
 * that hangs.
 */
void instance_destroy(struct instance *instance);

/* Compares two kinds in the order of their start: runners, languages, frontends. Less than 0: the first one. [any] */
int instance_order(const struct instance *one, const struct instance *other);

/*
 * Stops the started instances of the list: frontends, then languages, then runners; those of one kind together. Calls
 * done once, when the last of them has called back, possibly before this returns. Each kind has limit_ms (0: no limit);
 * after that, instances that still run are logged and left as they are (hung). The instances keep their addresses until
 * done, and hung ones for ever. A plugin that calls back twice is logged.
 */
void instances_stop(struct instance *const *list, size_t count, uint64_t limit_ms, kettle_fn done, void *arg);
