/* SPDX-License-Identifier: MIT */
/* Times the calls into plugins: one that holds the loop for too long is named in the log. */
#pragma once

#include <kettle/host.h>
#include <stdbool.h>
#include <stdint.h>

#define WATCH_HOLD_MS 100    /* the longest time of a call that is not logged */
#define WATCH_QUIET_MS 60000 /* between two lines of one kind on a plugin */

/* For the whole process; changed before its loop runs, by main and by tests. `level` is that of the lines on the loop. */
struct watch_settings {
	enum kettle_log_level level;
	uint64_t hold_ms, quiet_ms;
};
extern struct watch_settings watch_settings;

/* One call that is being timed; calls into other plugins that it leads to are not counted as its own time. */
struct watch {
	uint64_t began, inner;
};

/* Declares that the calling thread runs a loop: calls are timed only there. */
void watch_thread(void);
/* Around a call. `what` names it for the log: "`submit`", "a timer". [any] */
struct watch watch_begin(void);
void watch_end(const struct watch *watch, const char *plugin, const char *what);
/* The same for a callback that a plugin has passed: the name of its library, NAME.so, names it; others are not named. */
void watch_end_callback(const struct watch *watch, void (*callback)(void), const char *what);
/* fn(arg), timed; NULL is allowed. */
void watch_call(kettle_fn fn, void *arg, const char *what);

/* Whether a line on this fault of the plugin is due again; `fault` is a constant. [any] */
bool watch_is_due(const char *plugin, const char *fault);
