/* SPDX-License-Identifier: MIT */
/* The other end of DB.sock: this process's commands go to the owner of the database. See server.c for the messages. */
#include <config.h>

#include "core_inner.h"

#include "cleanup.h"
#include "peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct client {
	struct core *core;
	struct peer *peer;
	struct call *calls; /* sent and not answered */
	uint64_t next_id;
	bool closing;
};

/* A write that was sent may have happened: it is never sent twice. */
static void
give_back(struct call *call)
{
	if (call->command->kind == COMMAND_WRITE)
		call_fail(call, KETTLE_EUNAVAIL,
			"The engine went away before it answered; look whether `%s` has happened before you try again.",
			call->command->name);
	else
		call_route(call);
}

static void
on_closed(void *arg)
{
	struct client *client = arg;
	struct core *core = client->core;
	struct call *calls = STEAL(client->calls);
	if (!client->closing)
		attach_again(core);
	while (calls) {
		struct call *next = calls->next;
		give_back(calls);
		calls = next;
	}
	free(client);
}

static struct call *
take_call(struct client *client, uint64_t id)
{
	for (struct call **link = &client->calls; *link; link = &(*link)->next)
		if ((*link)->id == id) {
			struct call *call = *link;
			*link = call->next;
			return call;
		}
	return NULL;
}

static void
on_message(void *arg, const json_t *message)
{
	struct client *client = arg;
	uint64_t id = (uint64_t)json_integer_value(json_object_get(message, "id"));
	const json_t *event = json_object_get(message, "event");
	const json_t *error = json_object_get(message, "error");
	if (event) {
		struct subscription *subscription = subscription_find(client->core, id);
		if (subscription)
			subscription_deliver(subscription, event);
		return;
	}
	struct call *call = take_call(client, id);
	if (!call)
		return;
	if (error) {
		struct kettle_error err = {.code = (int)json_integer_value(json_object_get(error, "code"))};
		const char *text = json_string_value(json_object_get(error, "message"));
		(void)snprintf(err.message, sizeof(err.message), "%s", text ? text : "");
		call_answer(call, &err, NULL);
	} else {
		call_answer(call, NULL, json_object_get(message, "result"));
	}
}

int
client_connect(struct core *core, struct client **ret_client, struct kettle_error *err)
{
	static const struct peer_events events = {.message = on_message, .closed = on_closed};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO_FREE char *path = NULL;
	AUTO_FD int dir = -1;
	if (asprintf(&path, "%s.sock", core->setup.database) < 0)
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory.");
	int status = peer_address(path, address.sun_path, &dir, err);
	if (status < 0)
		return status;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		status = kettle_fail(err, KETTLE_EUNAVAIL, "Nobody listens on %s: %s.", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return status;
	}
	struct client *client = calloc(1, sizeof(*client));
	if (!client) {
		close(fd);
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory.");
	}
	client->core = core;
	status = peer_open(core->setup.loop, fd, &events, client, &client->peer, err);
	if (status < 0) {
		free(client);
		return status;
	}
	*ret_client = client;
	return 0;
}

void
client_call(struct client *client, struct call *call)
{
	call->id = ((uint64_t)1 << 32) + ++client->next_id; /* apart from the ids of subscriptions */
	call->next = client->calls;
	client->calls = call;
	AUTO_JSON json_t *message = json_pack("{s:I, s:s, s:O, s:O}", "id", (json_int_t)call->id, "call", call->name,
		"actor", call->actor, "args", call->args);
	peer_send(client->peer, message);
}

void
client_subscribe(struct client *client, const struct subscription *subscription)
{
	AUTO_JSON json_t *message = json_pack("{s:I, s:O, s:O, s:I}", "id", (json_int_t)subscription->id, "subscribe",
		subscription->filter, "actor", subscription->actor, "after", (json_int_t)subscription->last);
	peer_send(client->peer, message);
}

void
client_unsubscribe(struct client *client, uint64_t id)
{
	AUTO_JSON json_t *message = json_pack("{s:I}", "unsubscribe", (json_int_t)id);
	peer_send(client->peer, message);
}

void
client_close(struct client *client)
{
	if (!client)
		return;
	client->closing = true;
	peer_close(client->peer);
}
