/* SPDX-License-Identifier: MIT */
/* The client's end of DB.sock: sends this process's commands to the database's owner, by the messages of server.c. */
#include <config.h>

#include "session/core_internal.h"

#include "base/base.h"
#include "base/times.h"
#include "loop/json_socket.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define HELLO_LIMIT_MS 15000 /* until the owner greets */
#define MAX_TRIES 10         /* of one call, at owners that end */

struct client {
	struct core *core;
	const struct client_events *events;
	struct json_socket *peer;
	struct call *calls, **last; /* sent and not answered, in order; answers come nearly in this order */
	uint64_t next_id;
	pid_t holder;
	struct kettle_timer *hello_timer; /* NULL: the owner has greeted */
	bool closing;
	bool greeted;                /* the owner has accepted the connection, and may have taken calls */
	bool bye;                    /* the owner ends in order: it has not taken the calls that it did not answer */
	struct kettle_error refused; /* why the owner refuses this client; code 0: it does not */
	void (*closed)(void *arg);
	void *arg;
};

/* Returns a call to the router, or answers it with an error. A write that was sent may have happened: it is not sent again. */
static void
give_back(const struct client *client, struct call *call)
{
	struct kettle_error err = {0};
	if (client->refused.code < 0 && !client->closing)
		err = client->refused;
	else if (call->command->kind == COMMAND_WRITE && client->greeted && !client->bye)
		(void)kettle_fail(&err, KETTLE_EUNAVAIL,
			"The engine ended before it answered: check whether the command took effect before you try again.");
	else if (call->tries >= MAX_TRIES)
		(void)kettle_fail(&err, KETTLE_EUNAVAIL, "The engine ended %u times before it answered.", call->tries);
	if (err.code < 0)
		client->events->answered(call, &err, NULL);
	else
		client->events->returned(call);
}

static void
on_client_closed(void *arg)
{
	struct client *client = arg;
	struct core *core = client->core;
	struct call *calls = STEAL(client->calls);
	loop_timer_stop(core->setup.io, STEAL(client->hello_timer));
	if (!client->closing)
		client->events->lost(core, client->refused.code < 0);
	while (calls) {
		struct call *next = calls->next;
		give_back(client, calls);
		calls = next;
	}
	if (client->closed)
		client->closed(client->arg);
	free(client);
}

static void
no_hello(void *arg)
{
	struct client *client = arg;
	client->hello_timer = NULL;
	(void)kettle_fail(&client->refused, KETTLE_EUNAVAIL,
		"The database %s is held by process %ld, which does not answer on its socket.", client->core->setup.database,
		(long)client->holder);
	json_socket_close(client->peer);
}

static struct call *
take_call(struct client *client, uint64_t id)
{
	for (struct call **link = &client->calls; *link; link = &(*link)->next)
		if ((*link)->id == id) {
			struct call *call = *link;
			*link = call->next;
			if (!call->next)
				client->last = link;
			return call;
		}
	return NULL;
}

static void
take_answer(const struct client *client, struct call *call, const json_t *message)
{
	const json_t *error = json_object_get(message, "error");
	if (!error) {
		client->events->answered(call, NULL, json_object_get(message, "result"));
		return;
	}
	const char *text = json_text_or_null(error, "message");
	int rc = (int)member_int(error, "code");
	struct kettle_error err = {
		.code = rc < 0 ? rc : KETTLE_EINTERNAL, .retry_s = (unsigned)member_int(error, "retry_s")};
	(void)snprintf(
		err.message, sizeof(err.message), "%s", text ? text : "The engine reported an error without a message.");
	(void)kettle_blame(
		&err, kettle_cause_find(json_text_or_null(error, "cause")), json_text_or_empty(error, "member"), 0);
	client->events->answered(call, &err, NULL);
}

/* The owner has refused what this process takes, perhaps because it is of another version. */
static void
refuse_subscription(const struct client *client, uint64_t id, const json_t *error)
{
	AUTO_JSON json_t *refused = json_pack("{s:s, s:s, s:s, s:s}", "kind", "refused", "code",
		kettle_error_name((int)member_int(error, "code")), "error", json_text_or_empty(error, "message"), "at",
		TIME_TEXT(clock_utc_ms(loop_clock(client->core->setup.io))));
	client->events->event(client->core, id, refused);
}

static void
on_client_message(void *arg, const json_t *message, size_t size)
{
	struct client *client = arg;
	(void)size;
	uint64_t id = (uint64_t)member_int(message, "id");
	const char *busy = json_text_or_null(message, "busy");
	const json_t *event = json_object_get(message, "event");
	struct call *call;
	if (json_text_or_null(message, "hello")) {
		client->greeted = true;
		loop_timer_stop(client->core->setup.io, STEAL(client->hello_timer));
	} else if (member_true(message, "bye")) {
		client->bye = true;
	} else if (busy) {
		(void)kettle_fail(&client->refused, KETTLE_EUNAVAIL, "%s", busy);
	} else if (event) {
		client->events->event(client->core, id, event);
	} else if ((call = take_call(client, id))) {
		take_answer(client, call, message);
	} else if (json_is_object(json_object_get(message, "error"))) {
		refuse_subscription(client, id, json_object_get(message, "error"));
	}
}

int
client_connect(struct core *core, const struct client_events *events, pid_t holder, struct client **ret_client,
	struct kettle_error *err)
{
	static const struct json_socket_events peer_events = {.message = on_client_message, .closed = on_client_closed};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO_FREE char *path = xasprintf("%s.sock", core->setup.database);
	AUTO_FD int dir = -1;
	int rc = json_socket_address(path, address.sun_path, &dir, err);
	if (rc < 0)
		return rc;
	/* Non-blocking, since an owner that is stuck accepts no connections. */
	AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return kettle_fail(err, KETTLE_EUNAVAIL, "No engine listens on %s: %s.", path, strerror(errno));
	struct client *client = xnew(struct client, .core = core, .events = events, .holder = holder);
	client->last = &client->calls;
	rc = json_socket_open(core->setup.loop, STEAL_FD(fd), &peer_events, client, &client->peer, err);
	if (rc < 0) {
		free(client);
		return rc;
	}
	(void)loop_timer_start(
		core->setup.io, HELLO_LIMIT_MS, 0, no_hello, client, &client->hello_timer, &(struct kettle_error){0});
	*ret_client = client;
	return 0;
}

void
client_call(struct client *client, struct call *call)
{
	call->tries++;
	call->id = ((uint64_t)1 << 32) + ++client->next_id; /* differs from all ids of subscriptions */
	call->next = NULL;
	*client->last = call;
	client->last = &call->next;
	AUTO_JSON json_t *message = json_pack("{s:I, s:s, s:O?, s:O, s:O*}", "id", (json_int_t)call->id, "call", call->name,
		"actor", call->actor, "args", call->args, "ended", call->ended);
	json_socket_send(client->peer, message);
}

void
client_cancel(struct client *client, const struct call *call)
{
	AUTO_JSON json_t *message = json_pack("{s:I}", "cancel", (json_int_t)call->id);
	json_socket_send(client->peer, message);
}

void
client_subscribe(struct client *client, const struct subscription *subscription)
{
	AUTO_JSON json_t *message = json_pack("{s:I, s:O, s:O?, s:I, s:b}", "id", (json_int_t)subscription->id, "subscribe",
		subscription->filter, "actor", subscription->actor, "after", (json_int_t)subscription->last, "markers",
		(int)subscription->markers);
	json_socket_send(client->peer, message);
}

void
client_unsubscribe(struct client *client, uint64_t id)
{
	AUTO_JSON json_t *message = json_pack("{s:I}", "unsubscribe", (json_int_t)id);
	json_socket_send(client->peer, message);
}

void
client_close(struct client *client, void (*closed)(void *arg), void *arg)
{
	if (!client) {
		closed(arg);
		return;
	}
	client->closing = true;
	client->closed = closed;
	client->arg = arg;
	json_socket_close(client->peer);
}
