/* SPDX-License-Identifier: MIT */
/*
 * The owner's socket DB.sock: other processes of the same user send their commands there.
 *
 * Messages are JSON objects, one a line. A client sends {"id", "call": name, "actor", "args"}, {"cancel": id of a
 * call}, {"id", "subscribe": filter, "actor", "after", "markers"} and {"unsubscribe": id}; filters, `after`, events and
 * markers, which "markers": false leaves out, are those of host->follow (kettle/host.h). The progress of a call is an
 * event for the subscriptions of its connection whose filter is {"task_run": true}. A call with "ended": {"code", "ns"}
 * was a local command of the client, which the owner only logs. The owner sends {"hello": version, "pid", "stays"}
 * first, then {"id", "result"}, {"id", "error": {"code", "message", "retry_s", "member", "cause"}}, which also refuses
 * a subscription, and {"id", "event"}; {"busy": sentence} if there are too many connections; {"bye": true} last, when
 * it ends in order and has answered every call that it took. A client may send many calls at once; the owner takes a
 * limited number of them and leaves the others unread until it has answered these.
 */
#include <config.h>

#include "session/core_internal.h"

#include "base/base.h"
#include "base/log.h"
#include "loop/json_socket.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define MAX_CONNECTIONS 256
#define MAX_SUBSCRIPTIONS 64 /* of one connection */
/*
 * Calls of one connection under way; further messages stay unread. The calls of other clients, and the end of the
 * process, wait for at most so many calls of one client, which suffice to keep the database busy.
 */
#define MAX_CALLS 64
#define MAX_CALL_BYTES (16u << 20) /* of calls that wait for their answers; beyond it none is taken */
#define MAX_VALUES 1000000         /* of one message: ten times those of a task, read in a second */
#define CLOSE_LIMIT_MS 5000        /* until a connection that does not read its last answers is cut */

struct connection {
	struct server *server;
	struct json_socket *peer; /* NULL: gone, so later answers are dropped */
	uint64_t number;          /* the caller of its calls and subscriptions */
	struct answer *answers;   /* of the calls under way */
	unsigned calls;           /* calls under way, and subscriptions that begin */
	size_t bytes;             /* of these calls */
	struct relay {
		struct connection *connection;
		uint64_t theirs, ours;
	} relays[MAX_SUBSCRIPTIONS];
	struct connection *previous, *next;
};

struct server {
	uv_pipe_t listener;
	struct core *core;
	struct connection *connections;
	unsigned count;
	struct json_socket_pool pool;
	char *path;
	struct kettle_timer *close_timer;
	bool closing, listener_closed;
	void (*closed)(void *arg);
	void *arg;
};

struct answer {
	struct connection *connection;
	json_int_t id;
	size_t bytes;
	uint64_t call; /* its number */
	struct answer *next;
};

static void
server_finish(struct server *server)
{
	if (!server->closing || !server->listener_closed || server->connections)
		return;
	loop_timer_stop(server->core->setup.io, server->close_timer);
	if (server->closed)
		server->closed(server->arg);
	free_all(server->path, server);
}

static void
server_drop(struct connection *connection)
{
	struct server *server = connection->server;
	if (connection->peer || connection->calls > 0)
		return;
	*(connection->previous ? &connection->previous->next : &server->connections) = connection->next;
	if (connection->next)
		connection->next->previous = connection->previous;
	server->count--;
	free(connection);
	server_finish(server);
}

static void
send_error(struct connection *connection, json_int_t id, const struct kettle_error *err)
{
	AUTO_JSON json_t *message = json_pack("{s:I, s:{s:i, s:s, s:i, s:s*, s:s*}}", "id", id, "error", "code", err->code,
		"message", err->message, "retry_s", (int)err->retry_s, "member", err->member[0] ? err->member : NULL, "cause",
		kettle_cause_name(err->cause));
	if (connection->peer)
		json_socket_send(connection->peer, message);
}

/* Tells a client that has all its answers that no further call was taken. */
static void
say_bye(struct connection *connection)
{
	if (!connection->peer || connection->calls > 0)
		return;
	AUTO_JSON json_t *bye = json_pack("{s:b}", "bye", 1);
	json_socket_send(connection->peer, bye);
	json_socket_finish(connection->peer);
}

static bool
on_server_ready(void *arg)
{
	const struct connection *connection = arg;
	return connection->server->closing || (connection->calls < MAX_CALLS && connection->bytes < MAX_CALL_BYTES);
}

/* Counts a call as ended; may free the connection. */
static void
end_call(struct connection *connection, size_t bytes)
{
	connection->calls--;
	connection->bytes -= bytes;
	if (connection->server->closing)
		say_bye(connection);
	if (connection->peer)
		json_socket_resume(connection->peer);
	server_drop(connection);
}

static void
drop_answer(struct answer *answer)
{
	struct answer **link = &answer->connection->answers;
	while (*link != answer)
		link = &(*link)->next;
	*link = answer->next;
	free(answer);
}

static void
on_answer(void *arg, const struct kettle_error *err, json_t *result)
{
	struct answer *answer = arg;
	struct connection *connection = answer->connection;
	size_t bytes = answer->bytes;
	bool closing = connection->server->closing;
	if (err->code == KETTLE_ECANCELED && closing) {
		/* The call was not taken: the client sends it to the next owner. */
	} else if (err->code < 0) {
		send_error(connection, answer->id, err);
	} else if (connection->peer) {
		AUTO_JSON json_t *message = json_pack("{s:I, s:O?}", "id", answer->id, "result", result);
		json_socket_send(connection->peer, message);
	}
	drop_answer(answer);
	end_call(connection, bytes);
}

static void
take_call(struct connection *connection, const json_t *message, size_t size)
{
	struct core *core = connection->server->core;
	const char *name = json_text_or_null(message, "call");
	const json_t *actor = json_object_get(message, "actor");
	const struct command *command = command_find(core->setup.commands, name);
	json_int_t id = member_int(message, "id");
	struct kettle_error err = {0};
	if (!json_is_object(actor)) {
		(void)kettle_fail(&err, KETTLE_EINVAL, "The command has no actor.");
	} else if (command && command->kind == COMMAND_LOCAL && json_object_get(message, "ended")) {
		AUTO_JSON json_t *logged = json_pack("{s:I, s:n}", "id", id, "result");
		call_log_ended(core, command, message);
		json_socket_send(connection->peer, logged);
		return;
	} else if (command && command->kind == COMMAND_LOCAL) {
		(void)kettle_fail(&err, KETTLE_EINVAL, "`%s` runs in the calling process, not in the engine.", name);
	} else if (command && command->internal) {
		(void)kettle_fail(&err, KETTLE_EACCES, "`%s` is for the plugins of the engine.", name);
	} else {
		struct answer *answer =
			xnew(struct answer, .connection = connection, .id = id, .bytes = size, .next = connection->answers);
		connection->answers = answer;
		connection->calls++;
		connection->bytes += size;
		const struct call_setup setup = {.actor = json_incref((json_t *)actor),
			.args = json_incref(json_object_get(message, "args")),
			.command = name,
			.caller = connection->number,
			.owner = connection,
			.done = on_answer,
			.arg = answer};
		int rc = call_take(core, &setup, &answer->call);
		if (rc == 0)
			return;
		connection->calls--;
		connection->bytes -= size;
		drop_answer(answer);
		(void)kettle_fail(&err, rc, "The engine is stopping.");
	}
	send_error(connection, id, &err);
}

static void
on_server_event(void *arg, const json_t *event)
{
	struct relay *relay = arg;
	AUTO_JSON json_t *message = json_pack("{s:I, s:O}", "id", (json_int_t)relay->theirs, "event", event);
	if (relay->connection->peer)
		json_socket_send(relay->connection->peer, message);
}

static int
read_nothing(struct db *db, void *arg, struct kettle_error *err)
{
	(void)db, (void)arg, (void)err;
	return 0;
}

static void
on_begun(void *arg, const struct kettle_error *err)
{
	(void)err;
	end_call(arg, 0);
}

/*
 * Counts a subscription as a call while the first page of its past is read, also if it ends meanwhile. The store
 * answers in order, so this read ends after that one.
 */
static void
await_begin(struct connection *connection)
{
	connection->calls++;
	store_read(connection->server->core->store, read_nothing, on_begun, connection);
}

static void
take_subscribe(struct connection *connection, const json_t *message)
{
	struct kettle_error err = {0};
	json_int_t id = member_int(message, "id");
	struct core_subscription setup = {.actor = json_object_get(message, "actor"),
		.filter = json_object_get(message, "subscribe"),
		.after = member_int(message, "after"),
		.caller = connection->number,
		.markers = !json_is_false(json_object_get(message, "markers")),
		.fn = on_server_event};
	for (size_t i = 0; i < MAX_SUBSCRIPTIONS; i++) {
		struct relay *relay = &connection->relays[i];
		if (relay->ours)
			continue;
		*relay = (struct relay){.connection = connection, .theirs = (uint64_t)id};
		setup.arg = relay;
		if (core_follow(connection->server->core, &setup, &relay->ours, &err) < 0)
			send_error(connection, id, &err);
		else
			await_begin(connection);
		return;
	}
	(void)kettle_fail(&err, KETTLE_ETOOBIG, "A connection can have at most %d subscriptions.", MAX_SUBSCRIPTIONS);
	send_error(connection, id, &err);
}

static void
end_relay(struct relay *relay)
{
	if (relay->ours)
		(void)core_unsubscribe(relay->connection->server->core, relay->ours, NULL, NULL);
	relay->ours = 0;
}

static void
take_cancel(const struct connection *connection, json_int_t id)
{
	for (const struct answer *answer = connection->answers; answer; answer = answer->next)
		if (answer->id == id)
			core_cancel(connection->server->core, connection, answer->call);
}

static void
on_server_message(void *arg, const json_t *message, size_t size)
{
	struct connection *connection = arg;
	if (connection->server->closing)
		return;
	if (json_text_or_null(message, "call"))
		take_call(connection, message, size);
	else if (json_object_get(message, "subscribe"))
		take_subscribe(connection, message);
	else if (json_is_integer(json_object_get(message, "cancel")))
		take_cancel(connection, member_int(message, "cancel"));
	else if (json_is_integer(json_object_get(message, "unsubscribe")))
		for (size_t i = 0; i < MAX_SUBSCRIPTIONS; i++)
			if (connection->relays[i].theirs == (uint64_t)member_int(message, "unsubscribe"))
				end_relay(&connection->relays[i]);
}

static void
on_server_closed(void *arg)
{
	struct connection *connection = arg;
	connection->peer = NULL;
	for (size_t i = 0; i < MAX_SUBSCRIPTIONS; i++)
		end_relay(&connection->relays[i]);
	server_drop(connection);
}

static void
on_connection(uv_stream_t *listener, int rc)
{
	struct server *server = listener->data;
	const struct json_socket_events events = {.message = on_server_message,
		.ready = on_server_ready,
		.closed = on_server_closed,
		.pool = &server->pool,
		.most_values = MAX_VALUES};
	struct kettle_error err = {0};
	if (rc < 0)
		return;
	struct connection *connection = xcalloc(1, sizeof(*connection));
	if (json_socket_accept(listener, &events, connection, &connection->peer, &err) < 0) {
		log_write(KETTLE_LOG_WARNING, "core", "a connection was refused: %s", err.message);
		free(connection);
		return;
	}
	connection->server = server;
	connection->number = callers_number(&server->core->callers);
	connection->next = server->connections;
	if (connection->next)
		connection->next->previous = connection;
	server->connections = connection;
	AUTO_JSON json_t *hello = json_pack(
		"{s:s, s:i, s:b}", "hello", PACKAGE_VERSION, "pid", (int)getpid(), "stays", server->core->setup.is_server);
	json_socket_send(connection->peer, hello);
	if (++server->count > MAX_CONNECTIONS) {
		AUTO_JSON json_t *busy = json_pack(
			"{s:s}", "busy", "The engine already serves as many command lines as it can; try again in a moment.");
		json_socket_send(connection->peer, busy);
		json_socket_finish(connection->peer);
	}
}

/* Binds a socket to which only this user may connect: the file's mode is the right to the database. */
static int
bind_socket(const char *path, int *ret_fd, struct kettle_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	AUTO_FD int dir = -1;
	int rc = json_socket_address(path, address.sun_path, &dir, err);
	if (rc < 0)
		return rc;
	AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	(void)unlink(address.sun_path);
	mode_t mask = umask(0177);
	bool bound = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
	int error = errno;
	(void)umask(mask);
	if (!bound)
		return kettle_fail(err, KETTLE_EIO, "The socket %s cannot be created: %s.", path, strerror(error));
	*ret_fd = STEAL_FD(fd);
	return 0;
}

bool
core_is_awaited(const struct core *core, const struct waiter *waiter)
{
	bool found = waiter->caller == 0;
	for (const struct connection *c = core->server ? core->server->connections : NULL; c && !found; c = c->next)
		found = c->number == waiter->caller && c->peer;
	found = found || core_caller_is_open((struct core *)core, NULL, waiter->caller);
	return found && (waiter->call == 0 || call_is_open(core, waiter->call));
}

static void
listener_closed(uv_handle_t *handle)
{
	struct server *server = handle->data;
	server->listener_closed = true;
	server_finish(server);
}

int
server_listen(struct core *core, struct server **ret_server, struct kettle_error *err)
{
	AUTO_FREE char *path = xasprintf("%s.sock", core->setup.database);
	int fd = -1;
	int rc = bind_socket(path, &fd, err);
	if (rc < 0)
		return rc;
	struct server *server = xnew(struct server, .core = core, .path = STEAL(path));
	(void)uv_pipe_init(core->setup.loop, &server->listener, 0);
	server->listener.data = server;
	rc = uv_pipe_open(&server->listener, fd);
	if (rc < 0)
		close(fd);
	else
		rc = uv_listen((uv_stream_t *)&server->listener, 64, on_connection);
	uv_unref((uv_handle_t *)&server->listener);
	if (rc < 0) {
		server_close(server, NULL, NULL);
		return kettle_fail(err, KETTLE_EUNAVAIL, "The socket beside the database cannot be used: %s.", uv_strerror(rc));
	}
	*ret_server = server;
	return 0;
}

static void
cut(void *arg)
{
	struct server *server = arg;
	server->close_timer = NULL;
	for (struct connection *c = server->connections; c; c = c->next)
		if (c->peer)
			json_socket_close(c->peer);
}

void
server_close(struct server *server, void (*closed)(void *arg), void *arg)
{
	if (!server) {
		if (closed)
			closed(arg);
		return;
	}
	server->closing = true;
	server->closed = closed;
	server->arg = arg;
	AUTO_FD int dir = -1;
	char address[108];
	struct kettle_error err = {0};
	if (json_socket_address(server->path, address, &dir, &err) == 0)
		(void)unlink(address);
	for (struct connection *c = server->connections; c; c = c->next)
		say_bye(c);
	if (loop_timer_start(server->core->setup.io, CLOSE_LIMIT_MS, 0, cut, server, &server->close_timer, &err) < 0)
		cut(server);
	uv_close((uv_handle_t *)&server->listener, listener_closed);
}
