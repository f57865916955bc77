/* SPDX-License-Identifier: MIT */
/* Declarations that the files of the core share. All on the loop thread. */
#pragma once

#include "session/core.h"

#include <kettle/error.h>

/* One call of a command. actor, command and args live until the answer. */
struct call {
	struct core *core;
	json_t *actor, *args;
	char *name;
	const struct command *command;
	kettle_answer answer; /* NULL: no caller waits */
	void *arg;
	struct waiter waiter; /* of its command; call: its number, for core_cancel */
	const void *owner;    /* who may cancel it */
	bool outside;         /* see struct kettle_request */
	uint64_t id;          /* on the socket */
	unsigned tries;       /* times that it was sent there */
	json_t *result;
	bool plans;     /* the write is only planned yet, for its trial */
	json_t *trial;  /* the result of that, or NULL */
	json_t *before; /* the answer of the part before, or NULL */
	json_t *ended;  /* of a local command that the server is told of: {"code", "ns": how long it took}, or NULL */
	struct actor resolved;   /* of an engine command; the call owns the name */
	struct kettle_error err; /* of work in the pool */
	uint64_t began_ns;       /* of a local command, and at a server of a logged one; 0: the end is not logged */
	struct command_env env;  /* a copy from the begin, since a reload changes the core's */
	struct call *next;
	struct call *next_by_number, **link; /* in core->calls; link NULL: it is not there */
};

/* call.c */
/* Answers and frees the call. err NULL: with result (borrowed). */
void call_answer(struct call *call, const struct kettle_error *err, json_t *result);
/* At a server: logs the end of a local command, as the message of another process describes it. */
void call_log_ended(struct core *core, const struct command *command, const json_t *message);
/* Routes a call by the core's present role. */
void call_route(struct call *call);
/* core_request for calls whose references are taken instead of copied. [any] */
struct call_setup {
	json_t *actor, *args;
	const char *command;
	uint64_t caller;
	const void *owner;
	bool outside;
	kettle_answer done;
	void *arg;
};
int call_take(struct core *core, const struct call_setup *setup_take, uint64_t *ret_number);
/* Whether a call of this number is not answered yet. */
bool call_is_open(const struct core *core, uint64_t number);
/* Cancels the calls of a caller: their answers come at once. */
void calls_cancel_of(struct core *core, uint64_t caller);

/* callers.c */
void callers_init(struct callers *callers);
void callers_free(struct callers *callers);
/* A number that no caller and no connection had. [any] */
uint64_t callers_number(struct callers *callers);

/* subscribe.c */
/* The interests by which an event finds subscriptions. */
enum interest { INTEREST_ALL, INTEREST_BOARD, INTEREST_SUBMISSION, INTEREST_CALLER };

struct subscription {
	struct core *core;
	uint64_t id;
	json_t *actor, *filter;
	enum interest interest;
	struct subscription *next, **link;             /* in the bucket of its interest */
	struct subscription *next_by_id, **link_by_id; /* link_by_id NULL: not yet among the core's */
	int64_t last;                                  /* number of the last event delivered; -1: only new ones */
	uint64_t caller;
	int64_t user; /* resolved, at the owner */
	bool admin, live, dead;
	bool markers;    /* see struct core_subscription */
	bool begins;     /* its first page has not been read */
	bool told;       /* that it has caught up */
	bool refused;    /* nothing more comes */
	bool failed;     /* the past could not be read, and is read again later */
	unsigned busy;   /* store operations and deliveries under way */
	json_t *pending; /* events that arrived while the past was read */
	kettle_event_fn fn;
	void *arg;
	kettle_fn ended; /* of unsubscribe */
	void *ended_arg;
};
/* Delivers an event from the owner to the subscription with this id. */
void subscriptions_receive(struct core *core, uint64_t id, const json_t *event);
/* Ends those of a caller at once. */
void subscriptions_end_of(struct core *core, uint64_t caller);
/* Begins all subscriptions after the role changed. */
void subscriptions_resume(struct core *core);
void subscriptions_free(struct core *core);

#define EVENTS_RETRY_MS 1000
/* At the owner: reads events that could not be read again after a pause, for subscriptions and the feed. */
void subscriptions_read_later(struct core *core);
/* Reads no more events, since the store is closed. */
void subscriptions_stop(struct core *core);

/* owner.c */
/* Opens store, engine and socket, with the lock held. On an error undoes everything and releases the lock. */
int owner_start(struct core *core, struct kettle_error *err);
/*
 * core_work.c. Everything is closed except for work of core_work: waits for that, then calls core_close's closed, which
 * may free the core. arg: the core.
 */
void core_ended(void *arg);
/* Closes the owner's parts as core->ending says. again: with less grace than before. */
void owner_close(struct core *core, bool again);

/* storage_watch.c */
#define STORAGE_TRY_MS 1000 /* between two tries to write to a full disk */
/* A write failed because the disk is full. arg: the core. */
void storage_watch_full(void *arg, const struct kettle_error *why);
/* Ends the watch: the disk has room again, or the core closes. */
void storage_watch_stop(struct core *core);

/* event_feed.c */
/* Starts the feed of every frontend in core->plugins that takes events. NULL: there is none. */
struct event_feed *event_feed_start(struct core *core);
/* Reads new events. NULL is allowed. */
void event_feed_wake(struct event_feed *feed);
/* host.h: event_done, for the frontend with this host. [any] */
int event_feed_done(const struct core_host *host, int64_t seq);
/* Call it after the store has closed, which ends reads and writes under way. NULL is allowed. */
void event_feed_free(struct event_feed *feed);

/* server.c */
int server_listen(struct core *core, struct server **ret_server, struct kettle_error *err);
/* Answers the calls that it took, sends "bye" to all connections, closes. Clients keep the calls that it did not take. */
void server_close(struct server *server, void (*closed)(void *arg), void *arg);

/* client.c */
struct client_events {
	void (*answered)(struct call *call, const struct kettle_error *err, json_t *result);
	void (*returned)(struct call *call); /* the owner has not taken the call */
	void (*event)(struct core *core, uint64_t id, const json_t *event);
	void (*lost)(struct core *core, bool refused); /* the connection is lost; not called after client_close */
};
/* Connects to the owner's socket. holder: the owning process, for messages. events must outlive the client. */
int client_connect(struct core *core, const struct client_events *events, pid_t holder, struct client **ret_client,
	struct kettle_error *err);
/* Takes the call, sends it, and answers it when the owner does. */
void client_call(struct client *client, struct call *call);
/* Tells the owner that no caller waits for a call that was sent. */
void client_cancel(struct client *client, const struct call *call);
void client_subscribe(struct client *client, const struct subscription *subscription);
void client_unsubscribe(struct client *client, uint64_t id);
/* Answers all open calls with an error, then calls closed(arg). NULL is allowed: calls closed at once. */
void client_close(struct client *client, void (*closed)(void *arg), void *arg);
