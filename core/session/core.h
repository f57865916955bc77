/* SPDX-License-Identifier: MIT */
/*
 * The core: one process's view of Kettle. It owns the parts of the loop and routes every command to the place that
 * answers it.
 *
 * Theory of operation. A process starts without a database. The first command that needs one attaches it: the process
 * that gets DB.lock opens the store, runs the engine and listens on DB.sock (the owner); any other process connects
 * there (a client). When an owner ends, its clients attach again, and one of them becomes the next owner; commands wait
 * in a queue meanwhile. A write that was sent to an owner which died without an answer is answered with an error and
 * never sent twice; reads and subscriptions continue at the next owner. An owner that ends in order answers the calls
 * that it took and then says so; calls that it did not take, writes too, go to the next owner.
 */
#pragma once

#include "engine/engine.h"
#include "engine/inflight.h"
#include "http/http.h"
#include "judge/language.h"
#include "loop/loop_services.h"
#include "maintenance/maintenance.h"
#include "session/command.h"
#include "store/readers.h"
#include "store/store.h"

#include <kettle/plugin.h>
#include <uv.h>

enum core_role { CORE_DETACHED, CORE_ATTACHING, CORE_OWNER, CORE_CLIENT };

struct config;
struct attach;
struct core_host;
struct event_feed;
struct server;
struct client;
struct subscription;
struct call;
struct caller;

#define SUBSCRIPTION_BUCKETS 1024
#define CALL_BUCKETS 256
#define CALLER_BUCKETS 256

/* All subscriptions of a process, in hash tables with chains: by id, and by interest. */
struct subscriptions {
	struct subscription *by_id[SUBSCRIPTION_BUCKETS], *by_interest[SUBSCRIPTION_BUCKETS];
	size_t count;
};

/* The open callers (callers.c), in a hash table with chains. */
struct callers {
	uv_mutex_t lock;
	struct caller *buckets[CALLER_BUCKETS];
	size_t count;
	uint64_t last; /* number given to a caller or a connection; atomic */
};

/* A plugin that is loaded and created. */
struct core_plugin {
	const struct kettle_plugin *plugin; /* the loader's copy, of the current size */
	void *self;
	struct core_host *host;
	const char *file;
};

/* Limits from the configuration. */
struct core_limits {
	int64_t submission_bytes, artifact_bytes; /* of one submitted file; of the files of one job */
	int64_t artifact_user_bytes;              /* of all files that are kept of a user's jobs; 0: no limit */
	struct retention_limits retention;
};

struct core_setup {
	uv_loop_t *loop;
	struct loop_services *io;
	struct http *http;              /* for plugins; NULL: none, or closed */
	const struct command *commands; /* the table */
	/*
	 * The address of a server (kettle --server) and the token for it, or NULL: commands go there, but for local ones,
	 * and there is no database.
	 */
	const char *server, *token;
	const char *database; /* path */
	bool chosen;          /* named for this call: reading does not create it */
	bool named;           /* named by --db: commands of the engine do not create it either */
	const char *owner;    /* login name: becomes admin of a new database */
	const json_t *devices;
	struct core_limits limits;
	bool is_server; /* a server: jobs may be left to it */
	bool read_only; /* reads beside the owner of the database, and never becomes the owner */
	/*
	 * Of a server, else NULL: loads the configuration again and takes over what it can. *ret_result: the answer of
	 * config.reload, a new reference. On an error the old configuration stays. Loop thread.
	 */
	int (*reload)(void *arg, json_t **ret_result, struct kettle_error *err);
	void *reload_arg;
};

struct core {
	struct core_setup setup;
	enum core_role role;
	bool closing;
	int leaving;                       /* set by core_close; atomic, since work in the pool reads it */
	const struct languages *languages; /* in force; replaced ones stay valid until the plugins are freed */
	struct runner *runners;
	size_t runners_count;
	struct core_plugin *plugins; /* all, for plugin.list; not owned */
	size_t plugins_count;
	const struct config *config; /* for config.check; borrowed */
	struct inflight inflight;
	struct command_env env;
	json_t *devices;  /* the snapshot in env */
	json_t *retired;  /* earlier snapshots, which the store's thread may still read */
	json_t *commands; /* the table as data; NULL until a plugin requests it */
	json_t *answers;  /* JSON Schemas of their answers, by name; NULL until a plugin requests them */
	struct attach *attach;
	struct store *store;
	struct readers readers; /* of slow commands */
	struct engine *engine;
	struct server *server;
	struct event_feed *feed;         /* of a server: events for its frontends */
	struct board_clock *board_clock; /* of a server: when leaderboards open and end */
	struct client *client;
	struct web_client *web; /* of setup.server, else NULL */
	int lock_fd;
	char *spool;         /* where jobs leave files; see artifact.h */
	char *secret_output; /* see secret_output.h */
	struct {
		char *folder;
		char *base; /* URL of the frontend that serves links, or NULL; see plugin_host.c */
		const struct core_host *host;
	} links;
	struct maintenance maintenance;
	struct {
		void (*closed)(void *arg); /* NULL: core_close has not been called */
		void *arg;
		uint64_t grace_ms;
		bool engine; /* the engine is being stopped */
		bool idle;   /* only work of core_work is left */
	} ending;
	bool ended;
	bool unwritable; /* of a server: the last change failed because of the disk, and the log says so */
	struct {
		json_t *data; /* {"since", "error"}; NULL: the disk is not full */
		struct kettle_timer *timer;
		bool trying;
	} storage; /* a server's disk, see storage_watch.c */
	struct {
		struct call *waiting; /* for their turn, in order */
		unsigned running;
	} slow;           /* commands at the owner */
	unsigned works;   /* core_work under way, and calls of core_hold */
	unsigned plots;   /* plots being drawn */
	unsigned fetches; /* fetches of competition.fetch under way */
	/* core_attach, for the files below core.c. */
	void (*when_attached)(struct core *core, store_done done, void *arg);
	uv_thread_t thread; /* of the loop */
	struct subscriptions subscriptions;
	struct call *calls[CALL_BUCKETS]; /* that are not answered, by number, in chains */
	struct callers callers;
	struct kettle_timer *read_timer; /* until events that could not be read are read again */
	uint64_t next_id;
	uint64_t local_jobs; /* jobs of task.run so far, for their references */
};

/* Makes a core without a database. What setup points to must outlive it. Set languages and runners before the first call. */
struct core *core_new(const struct core_setup *setup);
/*
 * Ends this process's work on the database: stops the engine within grace_ms, disconnects clients, closes the store.
 * Calls closed(arg) once, on the loop. A second call only shortens the grace; its closed is not called.
 */
void core_close(struct core *core, uint64_t grace_ms, void (*closed)(void *arg), void *arg);
void core_free(struct core *core); /* after core_close's closed, or if never attached; NULL is allowed */

/*
 * loop_work for work that uses the core: core_close waits until `after` has returned, so the core is not freed before.
 * Loop thread. Errors are loop_work's, and then nothing is called.
 */
int core_work(
	struct core *core, void (*work)(void *arg), void (*after)(void *arg), void *arg, struct kettle_error *err);
/* core_close waits until each core_hold has had its core_release, which may free the core. Loop thread. */
void core_hold(struct core *core);
void core_release(struct core *core);
/* call.c. See host.h: call. [any] */
int core_call(
	struct core *core, const json_t *actor, const char *command, const json_t *args, kettle_answer done, void *arg);
/*
 * See host.h: request. owner: who may cancel it; the caller is not checked. *ret_number: of the call, for core_cancel;
 * may be NULL. [any]
 */
int core_request(struct core *core, const struct kettle_request *request, const void *owner, uint64_t *ret_number,
	struct kettle_error *err);
/* See host.h: request_cancel. [any] */
void core_cancel(struct core *core, const void *owner, uint64_t number);
/*
 * server.c. Whether a caller still waits for the answer of a command: its call is not cancelled and its caller is
 * there. Commands that take long end when that is no more so. Loop thread.
 */
bool core_is_awaited(const struct core *core, const struct waiter *waiter);

/* callers.c. See host.h: caller_open, caller_close. owner: whose they are. [any] */
int core_caller_open(struct core *core, const void *owner, uint64_t *ret_caller, struct kettle_error *err);
int core_caller_close(struct core *core, const void *owner, uint64_t number, kettle_fn ended, void *arg);
/* owner NULL: of any. [any] */
bool core_caller_is_open(struct core *core, const void *owner, uint64_t number);
/* Closes the callers of an owner, at once. Loop thread. */
void core_callers_end(struct core *core, const void *owner);
/* Attaches without a command, as a server does at its start. Calls done once. */
void core_attach(struct core *core, store_done done, void *arg);
/* Uses these languages for commands and new jobs from now on. Borrowed until core_close's closed. */
void core_take_languages(struct core *core, const struct languages *languages);
/* Takes over a new configuration. On an error nothing changes. */
int core_reload(struct core *core, const json_t *devices, const struct core_limits *limits, struct kettle_error *err);

/* event_feed.c. Hands over no more events. Call it before the store closes. NULL is allowed. */
void event_feed_stop(struct event_feed *feed);

/* subscribe.c. See host.h. A subscription; strings and JSON are borrowed for the call. [any] */
struct core_subscription {
	const json_t *actor, *filter;
	int64_t after;
	uint64_t caller; /* whose progress it gets, and with whom it ends; 0: this process */
	bool outside;    /* see struct kettle_request */
	bool markers;    /* gets markers (host.h: subscribe) */
	bool lenient;    /* of a plugin of ABI 1.0 to 1.2: an actor without an identity sees what everybody may */
	kettle_event_fn fn;
	void *arg;
};
int core_follow(struct core *core, const struct core_subscription *setup, uint64_t *ret_id, struct kettle_error *err);
int core_unsubscribe(struct core *core, uint64_t id, kettle_fn ended, void *arg);
/*
 * Delivers an event to the matching subscriptions whose users may see it. A command that takes long publishes its
 * progress as {"at", "kind": "progress", "task_run": true, "caller": that of its waiter, …}, which reaches its caller,
 * also through the socket. Loop thread.
 */
void core_publish(struct core *core, const json_t *event);
