/* SPDX-License-Identifier: MIT */
/* Between core and plugin: each operation is timed (loop/watch.h), and an invalid answer becomes an error with a sentence. */
#pragma once

#include <kettle/plugin.h>
#include <stdbool.h>

/* One instance as the core calls it: the operations of `plugin` with the guard as their self. */
struct guard {
	struct kettle_plugin plugin; /* the loader's, with the operations below */
	const struct kettle_plugin *inner;
	void *self; /* the instance's */
	struct kettle_language language;
	struct kettle_runner runner;
	struct kettle_frontend frontend;
};

/*
 * plugin is the loader's, self what its create gave. An operation that the plugin lacks is NULL here too. A positive or
 * unknown code becomes INTERNAL, and an error without a sentence gets one that names plugin and operation; both are
 * logged. The guard must keep its address.
 */
void guard_init(struct guard *guard, const struct kettle_plugin *plugin, void *self);

/* Whether rc is 0 or a code of kettle/error.h. [any] */
bool guard_is_code(int rc);
