/* SPDX-License-Identifier: MIT */
/* The functions of the engine for plugins: a table that create gets. */
#ifndef KETTLE_HOST_H
#define KETTLE_HOST_H

#include <jansson.h>
#include <kettle/abi.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Threads. The loop thread owns everything. Every function below is called on the loop thread, except those marked
 * [any]; every callback comes on the loop thread.
 *
 * Memory. Arguments are borrowed for the call, a returned json_t is a new reference, a parameter with _take in its name
 * is stolen (also if the call fails). Arguments of callbacks are borrowed.
 *
 * Errors. 0, or a negative kettle_errno with the sentence in *err.
 *
 * Callbacks. A function that returns an error calls nothing, and has not kept `arg`. Otherwise each done, after and
 * ended is called exactly once, never before the function returns, and `arg` is not used after it has returned:
 * it may be freed there. Each of them may be NULL: then the end is not reported, and an error is logged. The engine
 * answers operations that are still open when it closes with KETTLE_ECANCELED, before it calls destroy.
 */
struct kettle_host;
struct kettle_timer;   /* opaque; the host owns it until timer_stop */
struct kettle_process; /* opaque; valid until its on_exit has returned */

enum kettle_log_level { KETTLE_LOG_ERROR = 0, KETTLE_LOG_WARNING, KETTLE_LOG_INFO, KETTLE_LOG_DEBUG };

typedef void (*kettle_fn)(void *arg);
/* The answer to a call: err->code is 0 and result is set, or err says why and result is NULL. Both are borrowed. */
typedef void (*kettle_answer)(void *arg, const struct kettle_error *err, json_t *result);
/* One event of a subscription: {"seq": n or absent, "at": time, "kind": "job.done", …} (docs/plugins.md). Borrowed. */
typedef void (*kettle_event_fn)(void *arg, const json_t *event);

#define KETTLE_LINE_LONG (256u << 10) /* bytes of a line that read_long of struct kettle_spawn gets */

/* The start of a child. Strings and arrays are borrowed for the call. */
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
#if KETTLE_PLUGIN_ABI_MINOR >= 1
	/*
	 * Called with each number of bytes of stdout that arrives, before the lines that they complete: a long line is a
	 * sign of life while it arrives. 0: a long line is complete and goes to read_long; later bytes are not reported
	 * before on_long. May be NULL.
	 */
	void (*on_bytes)(void *arg, size_t count);
	/*
	 * For lines of stdout of KETTLE_LINE_LONG bytes or more, which would hold the loop for too long: such a line goes
	 * to these two functions instead of on_stdout. read_long makes a value of the line on a thread of the pool; on_long
	 * gets the value on the loop, and owns it. Later lines of this output, and on_exit, come after on_long; everything
	 * else goes on meanwhile. Set both, or neither.
	 */
	void *(*read_long)(const char *line, size_t len); /* [any] */
	void (*on_long)(void *arg, const char *line, size_t len, void *made);
#endif
#if KETTLE_PLUGIN_ABI_MINOR >= 2
	/*
	 * Gets the first bytes, at most 1 KiB, of a line of stdout over max_line; no NUL follows them. The line is dropped
	 * as it comes, and later lines are passed on; a line of more than 64 MiB still ends the child. NULL: a line over
	 * max_line ends it.
	 */
	void (*on_cut)(void *arg, const char *head, size_t len);
#endif
};

/* One header of an answer: the name in lower case, the value as it was received, without the blanks around it. */
struct kettle_http_header {
	const char *name, *value;
};

/* The answer to an HTTP request; borrowed for the callback. */
struct kettle_http_answer {
	uint32_t size;                            /* sizeof(struct kettle_http_answer) of the host */
	int status;                               /* 200 to 599; 404 is an answer like any other */
	const char *url;                          /* of the answer, after redirects */
	const struct kettle_http_header *headers; /* in the order of the answer; a name may come several times */
	size_t headers_count;
	const void *body;   /* with a NUL behind it; NULL: it is in the request's answer_file, or its on_part had it */
	uint64_t body_size; /* bytes of the body, decoded where the server compressed it; the headers are the server's */
};

/* The end of a request: err->code is 0 and answer is set, or err says what failed and answer is NULL. Both are borrowed. */
typedef void (*kettle_http_fn)(void *arg, const struct kettle_error *err, const struct kettle_http_answer *answer);

/*
 * An HTTP request. Everything is copied by the call, files are opened after it. 0 or NULL in a member gives its default.
 *
 * A request whose method changes things (POST, PATCH and unknown ones) is sent once: `retries`, which is for the caller to
 * set, says that it may be sent again. A failed connection and the statuses 408, 429, 500, 502, 503 and 504 are tried
 * again, after what the server's Retry-After says, or else after a random time that doubles with each attempt (0 to 0.5 s,
 * 0 to 1 s, … 30 s). A wait that would go beyond total_ms is not begun: the last answer or error is the result.
 *
 * A redirect to another host, port or scheme takes along no header but Accept, Accept-Language, Content-Type, Range and
 * User-Agent, so no Authorization or other credentials; one from https to http is refused. 303 becomes a GET, and so do
 * 301 and 302 after a POST; all others keep method and body.
 */
struct kettle_http_request {
	uint32_t size;      /* sizeof(struct kettle_http_request) */
	const char *method; /* default "GET" */
	const char *url;    /* http:// or https://, in ASCII, without user and password */
	const char *const
		*headers; /* NULL-terminated "Name: value"; those of the connection (Host, Content-Length, …) are the host's */
	const void *body; /* at most 8 MiB */
	size_t body_size;
	const char *body_file; /* instead of body: a regular file that is sent as it is read */
	const char
		*answer_file; /* created for the body of an answer with a status of 2xx, with mode 0600; it must not exist, and
								is removed again if there is no such answer. Bodies of other statuses come in memory */
	size_t max_headers; /* bytes of all headers; default 64 KiB. There may be 256 of them */
	uint64_t
		max_body; /* bytes, decoded; default 16 MiB, with answer_file 1 GiB. Beside a file: at most 1 MiB in memory */
	uint32_t connect_ms;     /* for name, connection and TLS; default 10,000 */
	uint32_t total_ms;       /* for all of it, with redirects and retries; default 60,000 */
	uint32_t max_redirects;  /* default 0: a redirect is an answer */
	uint32_t retries;        /* further attempts; default 0 */
	const char *unix_socket; /* the path of a socket to connect to, in place of the URL's host and port */
	kettle_http_fn done;     /* exactly once, never before http returns; NULL is allowed */
	void *arg;
#if KETTLE_PLUGIN_ABI_MINOR >= 3
	/*
	 * For streams of events: gets the body of an answer with a status of 2xx as it arrives, in parts of any size, in
	 * order, before done. While the loop has not taken 256 KiB of it, no more is read. The answer of done then has
	 * only its size. max_body is 1 GiB by default. Bodies of other statuses come as with answer_file, which
	 * excludes on_part. The body is not requested compressed, and once it has begun there are no retries. NULL: the
	 * answer has the body.
	 */
	void (*on_part)(void *arg, const void *data, size_t size);
	/*
	 * With on_part: how long the server may send nothing once the body has begun. total_ms then ends when the body
	 * begins. 0: total_ms is for all of it.
	 */
	uint32_t idle_ms;
#endif
};

#define KETTLE_LINK_TTL_MAX 604800 /* seconds of the longest life of a link */

/* Bytes to publish. The call copies data; the host copies file after the call. */
struct kettle_blob {
	uint32_t size; /* sizeof(struct kettle_blob) */
	const void *data;
	size_t data_size;
	const char *file; /* in place of data: the absolute path of a regular file */
};

#if KETTLE_PLUGIN_ABI_MINOR >= 3
/* A call of a command on behalf of another user. Everything is copied by the call. */
struct kettle_request {
	uint32_t size;       /* sizeof(struct kettle_request) */
	const json_t *actor; /* as of `call` */
	const char *command;
	const json_t *args; /* an object, or NULL: no arguments */
	uint64_t caller;    /* of caller_open: who waits for the answer and gets the progress; 0: the plugin itself */
	/*
	 * Command and arguments come from a client on a network. Kettle then refuses what is for plugins or for this
	 * machine alone, whatever the client sends: commands with "internal", those of the kind "local", and an actor with
	 * a role, as KETTLE_EACCES. Who the actor is, the plugin must know from elsewhere, such as from token.check.
	 */
	bool outside;
	kettle_answer done;
	void *arg;
};

/* A subscription on behalf of another user. Everything is copied by the call. */
struct kettle_subscription {
	uint32_t size;        /* sizeof(struct kettle_subscription) */
	const json_t *actor;  /* as of `call` */
	const json_t *filter; /* as of `subscribe`, or NULL: {} */
	int64_t after;        /* as of `subscribe` */
	uint64_t caller;      /* of caller_open; with the filter {"task_run": true}: whose progress; 0: the plugin's own */
	bool outside;         /* as in struct kettle_request: the actor may have no role */
	kettle_event_fn fn;
	void *arg;
};
#endif

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
	/* Runs fn(arg) on the loop thread, in the order of the posts of one thread. KETTLE_ECANCELED: the engine has closed. [any] */
	int (*post)(const struct kettle_host *, kettle_fn fn, void *arg);
	/* Runs work(arg), which may block, on a thread of the pool, then after(arg) on the loop thread. */
	int (*work)(const struct kettle_host *, kettle_fn work, kettle_fn after, void *arg, struct kettle_error *err);

	/* Calls fn after delay_ms, then every repeat_ms (0: once; the timer then frees itself after fn). arg is used until
	 * timer_stop, or until fn of a timer that fires once has returned. */
	int (*timer_start)(const struct kettle_host *, uint64_t delay_ms, uint64_t repeat_ms, kettle_fn fn, void *arg,
		struct kettle_timer **ret_timer, struct kettle_error *err);
	/* Stops and frees; NULL is allowed. fn is not called after that. */
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
	 * The plugin's durable key-value store. A key has 1 to 200 bytes of UTF-8, a value is any JSON up to 1 MiB; value
	 * NULL in state_put removes. done comes after the commit. A key or value that is too large: KETTLE_ETOOBIG. The
	 * result of state_get is the value, or JSON null. Calls on the loop thread are stored in their order, event_done
	 * among them: if a state is put before event_done and the event does not come again, the state is stored.
	 */
	int (*state_get)(const struct kettle_host *, const char *key, kettle_answer done, void *arg);
	int (*state_put)(const struct kettle_host *, const char *key, const json_t *value, kettle_answer done, void *arg);
	/*
	 * A page of the keys that begin with prefix (NULL: all) and come after `after` (NULL: from the first), in the order of
	 * their bytes: {"items": [{"key", "value"}], "more": whether there are further ones}; at most limit of them (0: 1000,
	 * which is the most), and about 4 MiB.
	 */
	int (*state_list)(const struct kettle_host *, const char *prefix, const char *after, unsigned limit,
		kettle_answer done, void *arg);

	/*
	 * Calls a command of the core (see commands) on behalf of an actor:
	 * {"provider": "cli", "subject": "alice", "name": "alice"}; "role": "admin" if the frontend
	 * vouches for that. The provider has lower-case letters, digits, `_` and `-`. Where a command takes a user, a frontend
	 * passes what it knows, {"provider", "subject"} or {"number"}, not a text. done is called exactly once, never before call returns. [any]
	 */
	int (*call)(const struct kettle_host *, const json_t *actor, const char *command, const json_t *args,
		kettle_answer done, void *arg);
	/* The command table as data: [{"name", "help", "right", "view", "args": [{"name", "type", …}]}], where "view" says how
	 * an answer is shown (docs/plugins.md). Borrowed, never changes. [any] */
	const json_t *(*commands)(const struct kettle_host *);
	/*
	 * Events that the actor may see and that match filter: {"submission": id}, {"leaderboard": name}, {} or NULL for
	 * all, {"task_run": true} for the progress of the plugin's own calls, which has no past. First come the stored ones
	 * with numbers above `after` (-1: none), then live ones. *ret_id ends it with unsubscribe. KETTLE_EINVAL: the filter
	 * is none of these, or the actor has no identity, or an unknown role. [any]
	 *
	 * Plugins of ABI 1.3 and later also get markers, which are not stored:
	 *
	 * {"kind": "reset", "seq", "at"}: not all events above `after` are still there, or `after` is above the newest
	 *     one, as after a database was restored; what follows has numbers above seq. It comes first.
	 * {"kind": "caught_up", "oldest", "newest", "seq", "at"}: everything stored was delivered, up to the number seq, with
	 *     which a later subscription goes on. "oldest": of the stored events; "newest": the last number that was given. It
	 *     comes again after another process has taken over the database.
	 * {"kind": "refused", "code", "error", "now", "at"}: nothing else comes, since there is no such leaderboard, or the
	 *     actor may not see it; code: a name of the codes in error.h; now: only if a leaderboard that the actor may see had
	 *     the name before, its name.
	 */
	int (*subscribe)(const struct kettle_host *, const json_t *actor, const json_t *filter, int64_t after,
		kettle_event_fn fn, void *arg, uint64_t *ret_id, struct kettle_error *err);
	/*
	 * Ends a subscription. On the loop thread it takes effect at once: fn is not called after that. On another thread, fn
	 * may still be called until ended(ended_arg) is called. KETTLE_ECANCELED: the engine has closed, and fn gets no
	 * further call. The arg of subscribe may be freed as soon as fn gets no further call. [any]
	 */
	int (*unsubscribe)(const struct kettle_host *, uint64_t id, kettle_fn ended, void *ended_arg);
	/* For frontends; see frontend.h: the event with this number is dealt with. KETTLE_ECANCELED: the engine has closed. [any] */
	int (*event_done)(const struct kettle_host *, int64_t seq);

	/* For runners; see runner.h. `job` is the reference that submit was given. */
	void (*job_event)(const struct kettle_host *, const char *job, const json_t *event);
	/* Stores the handle of a job that is about to start; done comes after the commit. */
	int (*job_handle)(const struct kettle_host *, const char *job, const char *handle, kettle_answer done, void *arg);
	/* The one completion of an accepted job; a second one, or one of an unknown job, is logged and dropped. */
	void (*job_done)(const struct kettle_host *, const char *job, json_t *completion_take);

	/*
	 * Sends an HTTP request; names, TLS and files are dealt with on a thread of the host. Up to 64 of a plugin are under way
	 * at a time, further ones wait for their turn, which does not count as their time. A status of 4xx or 5xx is no error; a
	 * failure names the server and says what happened, and never holds a header or a query. ret_id may be NULL.
	 * EINVAL: the request is malformed; ETOOBIG: its body is, or too many wait; EUNAVAIL: this host has no HTTP.
	 * done gets EUNAVAIL: no answer (no connection, no valid certificate, no time left); EIO: the answer breaks off, is no
	 * HTTP or redirects without an end, or a file cannot be read or written; ETOOBIG: the answer is over a limit;
	 * ENOENT, EACCES, ECONFLICT: body_file is missing, may not be read, answer_file exists.
	 */
	int (*http)(
		const struct kettle_host *, const struct kettle_http_request *, uint64_t *ret_id, struct kettle_error *err);
	/*
	 * Ends a request: its done is not called after that, so arg may be freed. Any other number is ignored, also one of
	 * another plugin. The host ends the requests that are open when a plugin is destroyed.
	 */
	void (*http_cancel)(const struct kettle_host *, uint64_t id);
	/*
	 * For runners: reports whether the remote side accepts their credential. error: the refusal, a sentence without the
	 * credential itself; NULL: accepted. A runner may call this with every answer of the remote side. The first refusal
	 * is logged and becomes the event runner.credential_failed, which admins get; later refusals do so only after the
	 * credential was accepted again.
	 */
	void (*credential)(const struct kettle_host *, const char *error);

	/*
	 * Makes a link, from which the blob can be fetched once, within ttl_s seconds (1 to KETTLE_LINK_TTL_MAX). Anyone
	 * with the URL gets the blob, so the URL is a secret; Kettle stores only a hash of it. A frontend serves links, and
	 * frontends start last. EINVAL, ETOOBIG: the blob or ttl_s is wrong, data is over 8 MiB. done gets {"url",
	 * "expires"} after the commit, or EUNAVAIL: no frontend serves links; ENOENT, EACCES, EINVAL: file is missing, may
	 * not be read, is no regular file; ETOOBIG: it is over 1 GiB, or 10,000 links are open; EIO.
	 */
	int (*publish)(const struct kettle_host *, const struct kettle_blob *blob, uint32_t ttl_s, kettle_answer done,
		void *arg, struct kettle_error *err);
	/*
	 * For frontends that serve links: sets the beginning of their URLs. A link is `base` followed by a token (43
	 * letters, digits, - and _). For a GET of a link the frontend calls the command link.take with the token, sends the
	 * file that the command names, and removes the file. NULL: it no longer serves links, as after destroy. Of several
	 * frontends the last one that set a base counts. EINVAL.
	 */
	int (*link_base)(const struct kettle_host *, const char *base, struct kettle_error *err);

	/* The clock that timers run by, for durations: milliseconds since some time in the past. [any] */
	uint64_t (*monotonic_ms)(const struct kettle_host *);
	/* The calendar, for what people see and what lasts: milliseconds since 1970-01-01 in UTC. [any] */
	int64_t (*utc_ms)(const struct kettle_host *);
#if KETTLE_PLUGIN_ABI_MINOR >= 1
	/*
	 * For runners: reports that the remote side cannot be reached. error: the reason, a clause or sentence; NULL: it
	 * has answered. options: of the affected units; NULL: all units of the runner. A runner may call this with every
	 * request that fails or is answered. Waiting jobs are shown with the reason and the time of the first call. Jobs
	 * are not touched: the runner keeps those that it has.
	 */
	void (*reached)(const struct kettle_host *, const json_t *options, const char *error);
#endif
#if KETTLE_PLUGIN_ABI_MINOR >= 2
	/*
	 * The answers of the commands: {NAME: JSON Schema (2020-12)}, made by the first call. Borrowed, never changes. Loop
	 * thread.
	 */
	const json_t *(*answers)(const struct kettle_host *);
#endif
#if KETTLE_PLUGIN_ABI_MINOR >= 3
	/*
	 * For frontends that serve others: a number for a client, which its calls and subscriptions carry as `caller`. The
	 * progress of a call comes to subscriptions with the same number and the filter {"task_run": true}. ETOOBIG: too
	 * many are open. [any]
	 */
	int (*caller_open)(const struct kettle_host *, uint64_t *ret_caller, struct kettle_error *err);
	/*
	 * The client has gone: cancels the requests with its number, as request_cancel does, ends its subscriptions, then
	 * calls ended(ended_arg), after which the caller gets no further call. What is left when the plugin is
	 * destroyed is closed by the host. EINVAL: it is not an open caller of this plugin; KETTLE_ECANCELED: the engine has
	 * closed, and nothing is called after that. [any]
	 */
	int (*caller_close)(const struct kettle_host *, uint64_t caller, kettle_fn ended, void *ended_arg);
	/*
	 * Calls a command. done is called exactly once, never before this returns. ret_id may be NULL. EINVAL: the request
	 * is malformed, or caller is not open; EACCES: it comes from outside, and its actor may not; KETTLE_ECANCELED: the
	 * engine has closed. An error of the command itself is given to done. [any]
	 */
	int (*request)(
		const struct kettle_host *, const struct kettle_request *, uint64_t *ret_id, struct kettle_error *err);
	/*
	 * Takes back a request of this plugin: done gets KETTLE_ECANCELED soon, never before this returns, unless its answer
	 * is already on the way. Commands that take long, such as task.run and device.calibrate, end; others may still take
	 * effect. Any other number is ignored. [any]
	 */
	void (*request_cancel)(const struct kettle_host *, uint64_t id);
	/* subscribe, with a caller, and refusing more of an actor from outside. Markers come always. Errors as there. [any] */
	int (*follow)(
		const struct kettle_host *, const struct kettle_subscription *, uint64_t *ret_id, struct kettle_error *err);
#endif
};

/* The value of the first header of that name, which is in lower case; NULL: the answer has none. Borrowed. [any] */
__attribute__((unused)) static const char *
kettle_http_header(const struct kettle_http_answer *answer, const char *name)
{
	for (size_t i = 0; i < answer->headers_count; i++) {
		const char *a = answer->headers[i].name, *b = name;
		while (*a && *a == *b)
			a++, b++;
		if (*a == *b)
			return answer->headers[i].value;
	}
	return NULL;
}

#ifdef __cplusplus
}
#endif
#endif
