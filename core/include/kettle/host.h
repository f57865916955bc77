/* SPDX-License-Identifier: MIT */
/* The functions of the engine for plugins: a table that create gets. */
#ifndef KETTLE_HOST_H
#define KETTLE_HOST_H

#include <jansson.h>
#include <kettle/error.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Threads. The loop thread owns everything. Every function below is called on the loop thread,
 * except those marked [any]; every callback comes on the loop thread.
 *
 * Memory. Arguments are borrowed for the call, a returned json_t is a new reference, a parameter
 * with _take in its name is stolen (also if the call fails). Arguments of callbacks are borrowed.
 *
 * Errors. 0, or a negative kettle_errno with the sentence in *err.
 */
struct kettle_host;
struct kettle_timer;   /* opaque; the host owns it until timer_stop */
struct kettle_process; /* opaque; valid until its on_exit has returned */

enum kettle_log_level { KETTLE_LOG_ERROR = 0, KETTLE_LOG_WARNING, KETTLE_LOG_INFO, KETTLE_LOG_DEBUG };

typedef void (*kettle_fn)(void *arg);
/* The answer to a call: err->code is 0 and result is set, or err says why and result is NULL. Both are borrowed. */
typedef void (*kettle_answer)(void *arg, const struct kettle_error *err, json_t *result);
/* One event of a subscription: {"seq": n or absent, "at": time, "kind": "job.done", …}. Borrowed. */
typedef void (*kettle_event_fn)(void *arg, const json_t *event);

/* How to start a child. Strings and arrays are borrowed for the call. */
struct kettle_spawn {
	uint32_t size;           /* sizeof(struct kettle_spawn) */
	const char *file;        /* a path, or a name looked up in PATH */
	const char *const *argv; /* NULL-terminated, argv[0] included */
	const char *const *env;  /* NULL-terminated NAME=value, or NULL: the engine's own */
	const char *cwd;         /* or NULL */
	size_t max_line;         /* longest line passed on, in bytes; a longer one ends the child (0: 1 MiB) */
	/* One line of output without its newline, NUL-terminated; len counts bytes. May be NULL: discarded. */
	void (*on_stdout)(void *arg, const char *line, size_t len);
	void (*on_stderr)(void *arg, const char *line, size_t len);
	/* Exactly once, after the last line. status is the exit code, or -1 when a signal ended it. */
	void (*on_exit)(void *arg, int status, int signal);
	void *arg;
};

/*
 * The table. New members are appended: a plugin checks `size` before it uses one that is newer than the oldest version
 * that it supports. None of them is NULL.
 */
struct kettle_host {
	uint32_t size;
	uint16_t abi_major, abi_minor;
	const char *version; /* of Kettle, "0.1.0" */
	const char *name;    /* of the plugin instance; prefixes its log lines */

	/* Writes one line. [any] */
	void (*log)(const struct kettle_host *, enum kettle_log_level, const char *format, ...)
		__attribute__((format(printf, 3, 4)));
	/* Runs fn(arg) on the loop thread, in the order of the posts of one thread. [any] */
	int (*post)(const struct kettle_host *, kettle_fn fn, void *arg);
	/* Runs work(arg), which may block, on a thread of the pool, then after(arg) on the loop thread. */
	int (*work)(const struct kettle_host *, kettle_fn work, kettle_fn after, void *arg, struct kettle_error *err);

	/* Calls fn after delay_ms, then every repeat_ms (0: once; the timer then frees itself after fn). */
	int (*timer_start)(const struct kettle_host *, uint64_t delay_ms, uint64_t repeat_ms, kettle_fn fn, void *arg,
		struct kettle_timer **ret_timer, struct kettle_error *err);
	/* Stops and frees; NULL is allowed. fn is not called any more. */
	void (*timer_stop)(const struct kettle_host *, struct kettle_timer *timer);

	/* Starts a child with stdin, stdout and stderr as pipes, in a process group of its own. */
	int (*spawn)(const struct kettle_host *, const struct kettle_spawn *, struct kettle_process **ret_process,
		struct kettle_error *err);
	/* Queues bytes for its stdin. It is no error if the child no longer reads; on_exit reports its end. */
	int (*process_write)(
		const struct kettle_host *, struct kettle_process *, const void *data, size_t size, struct kettle_error *err);
	void (*process_close_stdin)(const struct kettle_host *, struct kettle_process *);
	/* Sends a signal to the child alone; on_exit still comes. */
	void (*process_kill)(const struct kettle_host *, struct kettle_process *, int signal);

	/*
	 * The plugin's durable key-value store. Keys are at most 200 bytes, values any JSON up to 1 MiB;
	 * value NULL in settings_put removes. done comes after the commit.
	 */
	int (*settings_get)(const struct kettle_host *, const char *key, kettle_answer done, void *arg);
	int (*settings_put)(
		const struct kettle_host *, const char *key, const json_t *value, kettle_answer done, void *arg);

	/*
	 * Calls a command of the core (see commands) on behalf of an actor:
	 * {"provider": "cli", "subject": "alice", "name": "alice"}; "role": "admin" if the frontend
	 * vouches for that. done is called exactly once, never before call returns. [any]
	 */
	int (*call)(const struct kettle_host *, const json_t *actor, const char *command, const json_t *args,
		kettle_answer done, void *arg);
	/* The command table as data: [{"name", "help", "right", "view", "args": [{"name", "type", …}]}], where "view" says how
	 * an answer is shown (docs/plugins.md). Borrowed, never changes. [any] */
	const json_t *(*commands)(const struct kettle_host *);
	/*
	 * Events that the actor may see and that match filter ({"submission": id}, {"leaderboard": name}, {} for all),
	 * stored ones from number `after` on (-1: only new ones), then live. *ret_id ends it with unsubscribe. [any]
	 */
	int (*subscribe)(const struct kettle_host *, const json_t *actor, const json_t *filter, int64_t after,
		kettle_event_fn fn, void *arg, uint64_t *ret_id, struct kettle_error *err);
	void (*unsubscribe)(
		const struct kettle_host *, uint64_t id); /* [any]; fn may still come once from another thread's view */

	/* For runners; see runner.h. `job` is the reference that submit was given. */
	void (*job_event)(const struct kettle_host *, const char *job, const json_t *event);
	/* Stores the handle of a job that is about to start; done comes after the commit. */
	int (*job_handle)(const struct kettle_host *, const char *job, const char *handle, kettle_answer done, void *arg);
	/* The one completion of an accepted job; a second one, or one of an unknown job, is logged and dropped. */
	void (*job_done)(const struct kettle_host *, const char *job, json_t *completion_take);
};

#ifdef __cplusplus
}
#endif
#endif
