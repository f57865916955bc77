/* SPDX-License-Identifier: MIT */
/* The internals of the core that its files share. All on the loop thread. */
#ifndef KETTLE_SESSION_CORE_INTERNAL_H
#define KETTLE_SESSION_CORE_INTERNAL_H

#include "session/core.h"

#include <kettle/error.h>

/* One call of a command. Its actor, command and args live until it is answered. */
struct call {
	struct core *core;
	json_t *actor, *args;
	char *name;
	const struct command *command;
	kettle_answer answer;
	void *arg;
	uint64_t id;    /* on the socket */
	unsigned tries; /* how often it was sent there */
	json_t *result;
	struct actor resolved;   /* of an engine command; its name is the call's */
	struct kettle_error err; /* of what ran in the pool */
	uint64_t began_ns;       /* at a server's owner, of a command that changes something; 0: its end is not logged */
	struct command_env env;  /* as it was when it began: a reload changes the core's */
	struct call *next;
};

/* call.c */
/* Answers and frees. err NULL: with result (borrowed). */
void call_answer(struct call *call, const struct kettle_error *err, json_t *result);
/* Sends a call where it belongs now. */
void call_route(struct call *call);
/* core_call of what is the loop thread's own, without a copy. */
int call_take(
	struct core *core, json_t *actor_take, const char *command, json_t *args_take, kettle_answer done, void *arg);

/* subscribe.c */
/* By what an event finds a subscription. */
enum interest { INTEREST_ALL, INTEREST_BOARD, INTEREST_SUBMISSION, INTEREST_CALLER };

struct subscription {
	struct core *core;
	uint64_t id;
	json_t *actor, *filter;
	enum interest interest;
	struct subscription *next, **link;             /* in its bucket by interest */
	struct subscription *next_by_id, **link_by_id; /* link_by_id NULL: not yet among the core's */
	int64_t last;                                  /* number of the last event delivered; -1: only new ones */
	int64_t user;                                  /* resolved, at the owner */
	bool admin, live, dead;
	bool failed;     /* the past could not be read; it is tried again */
	unsigned busy;   /* store operations and deliveries under way */
	json_t *pending; /* arrived while the past was read */
	kettle_event_fn fn;
	void *arg;
	kettle_fn ended; /* of unsubscribe */
	void *ended_arg;
};
/* An event from the owner for the subscription with this id. */
void subscriptions_receive(struct core *core, uint64_t id, const json_t *event);
/* After the role changed: everything that waits begins. */
void subscriptions_resume(struct core *core);
void subscriptions_free(struct core *core);

#define EVENTS_RETRY_MS 1000
/* At the owner: reads events again in a while, where they could not be read, for subscriptions and the feed. */
void subscriptions_read_later(struct core *core);
/* The store is closed: nothing is read any more. */
void subscriptions_stop(struct core *core);

/* attach.c */
/* Answers everything that waits; nothing is tried again. */
void attach_stop(struct core *core, const struct kettle_error *err);

/* owner.c */
/* With the lock held: opens store, engine and socket. On an error all is undone, and the lock released. */
int owner_start(struct core *core, struct kettle_error *err);
/* core_work.c. Everything is closed but for what core_work has under way, which is waited for. */
void core_ended(struct core *core);
/* Closes them as core->ending says; again: with less grace than before. */
void owner_close(struct core *core, bool again);

/* storage_watch.c */
#define STORAGE_TRY_MS 1000 /* between two tries to write where the disk is full */
/* A write failed since the disk is full; arg: the core. */
void storage_watch_full(void *arg, const struct kettle_error *why);
/* The disk has room again, or the core closes. */
void storage_watch_stop(struct core *core);

/* event_feed.c */
/* Begins for every frontend of core->plugins that takes events; NULL when there is none. */
struct event_feed *event_feed_start(struct core *core);
/* There are new events. NULL is allowed. */
void event_feed_wake(struct event_feed *feed);
/* host.h: event_done, of the frontend with this host. [any] */
int event_feed_done(const struct core_host *host, int64_t seq);
/* After the store has closed, and with it what was under way. NULL is allowed. */
void event_feed_free(struct event_feed *feed);

/* server.c */
int server_listen(struct core *core, struct server **ret_server, struct kettle_error *err);
/* Answers what it took, sends "bye" to all connections, and closes: clients keep the calls that it did not take. */
void server_close(struct server *server, void (*closed)(void *arg), void *arg);

/* client.c */
struct client_events {
	void (*answered)(struct call *call, const struct kettle_error *err, json_t *result);
	void (*returned)(struct call *call); /* the owner has not taken it */
	void (*event)(struct core *core, uint64_t id, const json_t *event);
	void (*lost)(struct core *core, bool refused); /* the connection; not after client_close */
};
/* holder: whose socket it is, for messages. events must outlive the client. */
int client_connect(struct core *core, const struct client_events *events, pid_t holder, struct client **ret_client,
	struct kettle_error *err);
/* Takes the call over and answers it when the owner does. */
void client_call(struct client *client, struct call *call);
void client_subscribe(struct client *client, const struct subscription *subscription);
void client_unsubscribe(struct client *client, uint64_t id);
/* Everything that was not answered is answered with an error, then closed(arg). NULL is allowed: closed at once. */
void client_close(struct client *client, void (*closed)(void *arg), void *arg);

#endif
