/* SPDX-License-Identifier: MIT */
/* What the files of the core share. Loop thread, all of it. */
#ifndef KETTLE_CORE_INNER_H
#define KETTLE_CORE_INNER_H

#include "session/core.h"

#include <kettle/error.h>

/* One command on its way. Its actor, command and args live until it is answered. */
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
	struct kettle_error err; /* of what ran in the pool */
	struct command_env env;  /* as it was when it began: a reload changes the core's */
	struct call *next;
};

/* call.c */
/* Answers and frees. err NULL: with result (borrowed). */
void call_answer(struct call *call, const struct kettle_error *err, json_t *result);
__attribute__((format(printf, 3, 4))) void call_fail(struct call *call, int code, const char *format, ...);
/* Sends a call where it belongs now. */
void call_route(struct call *call);

/* core.c */
/* A sweep of the spool or a gc is over: a core that has ended meanwhile may be freed now, and its owner is told so. */
void core_work_ended(struct core *core);

/* subscribe.c */
struct subscription {
	struct core *core;
	uint64_t id;
	json_t *actor, *filter;
	int64_t last; /* number of the last event delivered; -1: only new ones */
	int64_t user; /* resolved, at the owner */
	bool admin, live, dead;
	unsigned busy;   /* store operations and deliveries under way */
	json_t *pending; /* arrived while the past was read */
	kettle_event_fn fn;
	void *arg;
	struct subscription *next;
};
/* Delivers to whoever may see it. */
void subscriptions_event(struct core *core, const json_t *event);
/* At the owner: reads the past from `last` on, then goes live. */
void subscription_begin(struct subscription *subscription);
void subscription_deliver(struct subscription *subscription, const json_t *event);
/* After the role changed: everything that waits begins. */
void subscriptions_resume(struct core *core);
void subscriptions_free(struct core *core);
struct subscription *subscription_find(struct core *core, uint64_t id);

/* attach.c */
/* Queues a call until the process is attached. */
void attach_wait(struct core *core, struct call *call);
/* The owner this client was connected to has gone. */
void attach_again(struct core *core);
/* The owner will not have this client: who asks next tries again. */
void attach_lost(struct core *core);
/* Answers everything that waits; nothing is tried again. */
void attach_stop(struct core *core, const struct kettle_error *err);

/* server.c */
int server_listen(struct core *core, struct server **ret_server, struct kettle_error *err);
/* Answers what it took, tells everybody that it ends, and closes: what they sent beyond that is theirs again. */
void server_close(struct server *server, void (*closed)(void *arg), void *arg);

/* client.c */
/* holder: whose socket it is, for messages. */
int client_connect(struct core *core, pid_t holder, struct client **ret_client, struct kettle_error *err);
/* Takes the call over and answers it when the owner does. */
void client_call(struct client *client, struct call *call);
void client_subscribe(struct client *client, const struct subscription *subscription);
void client_unsubscribe(struct client *client, uint64_t id);
/* Everything that was not answered is answered with an error, then closed(arg). NULL is allowed: closed at once. */
void client_close(struct client *client, void (*closed)(void *arg), void *arg);

#endif
