/* SPDX-License-Identifier: MIT */
/*
 * A host without an engine, for tests of plugins: real loop, threads and children, timers by real or by simulated time. The
 * test reads its log, state and jobs from memory and answers its commands. Link with -lkettle-testing.
 *
 * `kettle plugin test FILE.so` drives any plugin with it.
 */
#ifndef KETTLE_TESTING_H
#define KETTLE_TESTING_H

#include <jansson.h>
#include <kettle/error.h>
#include <kettle/host.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KETTLE_TESTING_API __attribute__((visibility("default")))

struct uv_loop_s;
struct kettle_fake; /* opaque; all functions are called on one thread, that of its loop */

/* A host for a plugin named `name` (copied). EIO. */
KETTLE_TESTING_API int kettle_fake_new(const char *name, struct kettle_fake **ret_fake, struct kettle_error *err);
/*
 * Ends what the plugin left (timers, children, subscriptions, callers, HTTP requests) and closes the loop. 0 if nothing was left, else
 * KETTLE_EINTERNAL with a sentence that says what. NULL is allowed.
 */
KETTLE_TESTING_API int kettle_fake_free(struct kettle_fake *fake, struct kettle_error *err);

/* The table for create. Borrowed. */
KETTLE_TESTING_API const struct kettle_host *kettle_fake_host(struct kettle_fake *fake);
/* The loop, for handles of the test. Borrowed. */
KETTLE_TESTING_API struct uv_loop_s *kettle_fake_loop(struct kettle_fake *fake);
/*
 * Runs the loop until done(arg) is true: 0; or for timeout_ms: KETTLE_EUNAVAIL. done NULL: for timeout_ms, always 0.
 */
KETTLE_TESTING_API int kettle_fake_run(
	struct kettle_fake *fake, int (*done)(void *arg), void *arg, unsigned timeout_ms);

/*
 * Simulates the host's time from now on, beginning at utc_ms of the calendar (ms since 1970). Call it before the plugin
 * is created: the host must have no timer yet. kettle_fake_run then lets time pass, up to the next timer and timeout_ms
 * at most, whenever no post, work, child or HTTP request of the plugin is under way.
 */
KETTLE_TESTING_API void kettle_fake_simulate(struct kettle_fake *fake, int64_t utc_ms);
/*
 * Moves simulated time on, from timer to timer, also while children and servers have not answered. After each timer the loop
 * runs until what was posted and given to threads is done.
 */
KETTLE_TESTING_API void kettle_fake_advance(struct kettle_fake *fake, uint64_t ms);

/*
 * Answers a command: 0 and a new reference in *ret_result, or an error. It is called on the loop, never before
 * host->call or host->request returns, and not for a request that was cancelled before. Without one every command is KETTLE_ENOENT.
 */
typedef int (*kettle_fake_call_fn)(void *arg, const json_t *actor, const char *command, const json_t *args,
	json_t **ret_result, struct kettle_error *err);
KETTLE_TESTING_API void kettle_fake_answer(struct kettle_fake *fake, kettle_fake_call_fn fn, void *arg);
/* Sets the result of host->commands (copied); an empty list by default. That of host->answers is an empty object. Returns 0. */
KETTLE_TESTING_API int kettle_fake_commands(struct kettle_fake *fake, const json_t *commands);
/*
 * Stores an event (copied; the next "seq" is added) and passes it to every subscription whose filter it matches: all
 * members of the filter are members of the event and equal. Later subscriptions get it by their `after`. Returns 0.
 */
KETTLE_TESTING_API int kettle_fake_event(struct kettle_fake *fake, const json_t *event);

/*
 * Sets the proxy and the CA file of host->http (http.proxy and http.ca_file of the engine's configuration), before the
 * first request. Requests are really sent, so that a test can speak TLS with a server of its own. Copied; NULL: none.
 */
KETTLE_TESTING_API void kettle_fake_http(struct kettle_fake *fake, const char *proxy, const char *ca_file);

/* The log: [{"level": "error", "message"}]. Borrowed; only while no other thread logs. */
KETTLE_TESTING_API const json_t *kettle_fake_log(struct kettle_fake *fake);
/* The plugin's state: key → value. Borrowed; may be changed. */
KETTLE_TESTING_API json_t *kettle_fake_state(struct kettle_fake *fake);
/* The numbers of the events that the plugin said to have dealt with (event_done), in that order. Borrowed. */
KETTLE_TESTING_API const json_t *kettle_fake_events_done(struct kettle_fake *fake);
/* The reports of a runner: job → {"events": […], "handle": text or null, "completions": […]}. Borrowed. */
KETTLE_TESTING_API const json_t *kettle_fake_jobs(struct kettle_fake *fake);
/*
 * The calls of host->reached and host->credential, in order: [{"call": "reached" or "credential", "error": text or null}].
 * Borrowed.
 */
KETTLE_TESTING_API const json_t *kettle_fake_remote(struct kettle_fake *fake);
/*
 * The published blobs, after the plugin, or the test with kettle_fake_host, has called link_base: [{"url", "ttl", and
 * "text" or "base64", or "file"}]. Borrowed. Files are not read.
 */
KETTLE_TESTING_API const json_t *kettle_fake_links(struct kettle_fake *fake);

#ifdef __cplusplus
}
#endif
#endif
