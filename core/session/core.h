/* SPDX-License-Identifier: MIT */
/*
 * The core: one process's view of Kettle. Owns the loop's parts and routes every command to where it is answered.
 *
 * Theory of operation. A process starts without a database. The first command that needs one attaches it: the process that
 * gets DB.lock opens the store, runs the engine and listens on DB.sock (the owner); any other connects there (a
 * client). When an owner goes away its clients attach again, and one of them becomes the next owner. Commands that wait
 * for this are queued; a write that was sent to an owner which died without an answer is answered with an error, never
 * sent twice; reads and subscriptions go on at the new one. An owner that ends in order says so once it has answered
 * what it took: what it did not take, writes too, goes to the next one.
 */
#ifndef KETTLE_SESSION_CORE_H
#define KETTLE_SESSION_CORE_H

#include "engine/engine.h"
#include "engine/inflight.h"
#include "http/http.h"
#include "judge/language.h"
#include "loop/loop_services.h"
#include "maintenance/maintenance.h"
#include "session/command.h"
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

#define SUBSCRIPTION_BUCKETS 1024

/* All subscriptions of a process, in hash tables with chains: by their id, and by what they want to hear of. */
struct subscriptions {
	struct subscription *by_id[SUBSCRIPTION_BUCKETS], *by_interest[SUBSCRIPTION_BUCKETS];
	size_t count;
};

/* A plugin of any kind that is loaded and created. */
struct core_plugin {
	const struct kettle_plugin *plugin; /* the loader's copy, of the current size */
	void *self;
	struct core_host *host;
	const char *file;
};

/* What the configuration bounds. */
struct core_limits {
	int64_t submission_bytes, artifact_bytes; /* of one file; of what a job may leave */
	int64_t artifact_user_bytes;              /* of all that is kept of a user's jobs; 0: no limit */
	struct retention_limits retention;
};

struct core_setup {
	uv_loop_t *loop;
	struct loop_services *io;
	struct http *http;              /* for plugins; NULL: closed, or none */
	const struct command *commands; /* the table */
	const char *database;           /* path */
	bool chosen;                    /* it was named for this call: reading makes none */
	bool named;                     /* ... by --db: nor do the engine's commands */
	const char *owner;              /* login name: becomes admin of a new database */
	const json_t *devices;
	struct core_limits limits;
	bool is_server; /* a server: jobs may be left to it */
	bool read_only; /* only reads, beside the process that owns the database and without ever owning it */
	/*
	 * A server's: loads its configuration again and takes over what it can; *ret_result: what config.reload answers, a new
	 * reference. On an error the old one goes on. NULL elsewhere. Loop thread.
	 */
	int (*reload)(void *arg, json_t **ret_result, struct kettle_error *err);
	void *reload_arg;
};

struct core {
	struct core_setup setup;
	enum core_role role;
	bool closing;
	int leaving; /* core_close was called; atomic: work in the pool looks at it */
	const struct languages
		*languages; /* in force; those that a reload replaced stay valid until the plugins are freed */
	struct runner *runners;
	size_t runners_count;
	struct core_plugin *plugins; /* all, for plugin.list; not owned */
	size_t plugins_count;
	const struct config *config; /* for config.check; borrowed */
	struct inflight inflight;
	struct command_env env;
	json_t *devices;  /* the snapshot behind env */
	json_t *retired;  /* earlier snapshots, which the store's thread may still read */
	json_t *commands; /* the table as data */
	json_t *answers;  /* JSON Schemas of their answers, by name; NULL until a plugin requests them */
	struct attach *attach;
	struct store *store;
	struct engine *engine;
	struct server *server;
	struct event_feed *feed;         /* a server's: events for its frontends */
	struct board_clock *board_clock; /* a server's: when leaderboards open and end */
	struct client *client;
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
		void (*closed)(void *arg); /* NULL: core_close was not called yet */
		void *arg;
		uint64_t grace_ms;
		bool engine; /* is being stopped */
		bool idle;   /* only what core_work has under way is left */
	} ending;
	bool ended;
	bool unwritable; /* a server's: the last change failed by the disk, which the log says */
	struct {
		json_t *data; /* {"since", "error"}; NULL: it is not full */
		struct kettle_timer *timer;
		bool trying;
	} storage;        /* a server's disk, see storage_watch.c */
	unsigned works;   /* core_work under way, and what core_hold counts */
	unsigned plots;   /* being drawn */
	unsigned fetches; /* of competition.fetch, under way */
	/* core_attach, for the files below attach.c. */
	void (*when_attached)(struct core *core, store_done done, void *arg);
	uv_thread_t thread; /* of the loop */
	struct subscriptions subscriptions;
	struct kettle_timer *read_timer; /* events that could not be read are read again then */
	uint64_t next_id;
	uint64_t local_jobs; /* of task.run, for their references */
};

/* setup's pointers must outlive the core. The caller gives it languages and runners before the first call. */
struct core *core_new(const struct core_setup *setup);
/*
 * Ends what this process does on the database: the engine stops within grace_ms, clients are disconnected, the store closes.
 * closed(arg) once, on the loop. A second call only shortens the grace; its closed is not called.
 */
void core_close(struct core *core, uint64_t grace_ms, void (*closed)(void *arg), void *arg);
void core_free(struct core *core); /* after core_close's closed, or never attached; NULL is allowed */

/*
 * loop_work for what uses the core: core_close waits until its `after` has returned, so the core is not freed meanwhile.
 * Loop thread; errors as loop_work's, with nothing called.
 */
int core_work(
	struct core *core, void (*work)(void *arg), void (*after)(void *arg), void *arg, struct kettle_error *err);
/* core_close waits until each core_hold has had its core_release, which may free the core. Loop thread. */
void core_hold(struct core *core);
void core_release(struct core *core);
/* call.c. See host.h: call. [any] */
int core_call(
	struct core *core, const json_t *actor, const char *command, const json_t *args, kettle_answer done, void *arg);
/* Attaches without a command (a server does at its start); done once. */
void core_attach(struct core *core, store_done done, void *arg);
/* From now on commands and new jobs use these languages; borrowed, and valid until core_close's closed. */
void core_take_languages(struct core *core, const struct languages *languages);
/* What a new configuration says. On an error nothing is changed. */
int core_reload(struct core *core, const json_t *devices, const struct core_limits *limits, struct kettle_error *err);

/* event_feed.c. Hands over nothing more; before the store closes. NULL is allowed. */
void event_feed_stop(struct event_feed *feed);

/* subscribe.c. See host.h. [any] */
int core_subscribe(struct core *core, const json_t *actor, const json_t *filter, int64_t after, kettle_event_fn fn,
	void *arg, uint64_t *ret_id, struct kettle_error *err);
int core_unsubscribe(struct core *core, uint64_t id, kettle_fn ended, void *arg);
/* server.c. Whether the caller of a command (struct actor) still waits for its answer. Loop thread. */
bool core_has_caller(const struct core *core, uint64_t caller);
/*
 * Delivers an event to the subscriptions that match it and may see it. A command that takes long publishes its progress as
 * {"kind": "progress", "task_run": true, "caller": that of its actor, …}, which reaches its caller, through the socket, too.
 * Loop thread.
 */
void core_publish(struct core *core, const json_t *event);

#endif
