/* SPDX-License-Identifier: MIT */
/* An HTTP server on the loop of a test, which answers as a script says and remembers what came. */
#include <config.h>

#include "unit/discord/rest_server.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/xalloc.h"

#define STOP_MS 10000

struct server_handle {
	uv_tcp_t tcp;
	struct server *server;
};

struct connection {
	struct server_handle handle;
	struct buf in;
	struct connection *next;
};

struct answer {
	uv_write_t write;
	char *text;
};

static void
check(int rc)
{
	if (rc < 0)
		abort();
}

static void
on_closed(uv_handle_t *tcp)
{
	((struct server_handle *)tcp->data)->server->open--;
	free(tcp->data);
}

static void
drop(struct connection *connection)
{
	struct server *server = connection->handle.server;
	struct connection **at = &server->connections;
	while (*at != connection)
		at = &(*at)->next;
	*at = connection->next;
	for (size_t i = 0; i < server->count; i++)
		if (server->requests[i].connection == connection)
			server->requests[i].connection = NULL;
	buf_free(&connection->in);
	uv_close((uv_handle_t *)&connection->handle.tcp, on_closed);
}

static void
on_written(uv_write_t *write, int status)
{
	struct answer *answer = CONTAINER_OF(write, struct answer, write);
	(void)status;
	free(answer->text);
	free(answer);
}

static void
answer(struct connection *connection, int status, const char *headers, const char *body)
{
	struct answer *answer = xcalloc(1, sizeof(*answer));
	answer->text = xasprintf("HTTP/1.1 %d Whatever\r\n%sContent-Length: %zu\r\n\r\n%s", status, headers ? headers : "",
		strlen(body), status == 204 ? "" : body);
	uv_buf_t data = uv_buf_init(answer->text, (unsigned)strlen(answer->text));
	check(uv_write(&answer->write, (uv_stream_t *)&connection->handle.tcp, &data, 1, on_written));
}

static void
act(struct server *server, struct server_request *request)
{
	for (size_t i = 0; i < server->steps_count; i++) {
		struct server_step *step = &server->steps[i];
		if (step->used || strncmp(request->line, step->line, strlen(step->line)) != 0)
			continue;
		step->used = true;
		if (step->status == SERVER_DROP)
			drop(request->connection);
		else if (step->status != SERVER_HOLD)
			answer(request->connection, step->status, step->headers, step->body ? step->body : "{}");
		return;
	}
	answer(request->connection, 200, NULL, "{}");
}

/* Takes one request off what came; false: it is not whole. */
static bool
take(struct connection *connection)
{
	struct buf *in = &connection->in;
	char *end = in->len ? strstr(in->data, "\r\n\r\n") : NULL;
	if (!end)
		return false;
	size_t head = (size_t)(end - in->data) + 4, size = 0;
	AUTO_FREE char *text = xstrndup(in->data, head);
	const char *length = strcasestr(text, "content-length:");
	if (length)
		size = strtoul(length + strlen("content-length:"), NULL, 10);
	if (in->len < head + size)
		return false;
	struct server *server = connection->handle.server;
	if (server->count == SERVER_REQUESTS_MAX)
		abort();
	struct server_request *request = &server->requests[server->count++];
	char *second = strchr(strchr(text, ' ') + 1, ' ');
	*request = (struct server_request){.line = xstrndup(text, (size_t)(second - text)),
		.head = xstrdup(text),
		.body = xcalloc(1, size + 1),
		.size = size,
		.connection = connection};
	memcpy(request->body, in->data + head, size);
	memmove(in->data, in->data + head + size, in->len - head - size + 1);
	in->len -= head + size;
	act(server, request);
	return request->connection != NULL;
}

static void
on_alloc(uv_handle_t *tcp, size_t size, uv_buf_t *ret)
{
	(void)tcp;
	*ret = uv_buf_init(xmalloc(size), (unsigned)size);
}

static void
on_read(uv_stream_t *tcp, ssize_t size, const uv_buf_t *data)
{
	struct connection *connection = tcp->data;
	if (size < 0)
		drop(connection);
	if (size > 0) {
		buf_add(&connection->in, data->base, (size_t)size);
		while (take(connection))
			;
	}
	free(data->base);
}

static void
on_connection(uv_stream_t *listener, int status)
{
	struct server *server = ((struct server_handle *)listener->data)->server;
	struct connection *connection = xcalloc(1, sizeof(*connection));
	check(status);
	connection->handle.server = server;
	connection->handle.tcp.data = connection;
	check(uv_tcp_init(listener->loop, &connection->handle.tcp));
	server->open++;
	connection->next = server->connections;
	server->connections = connection;
	check(uv_accept(listener, (uv_stream_t *)&connection->handle.tcp));
	check(uv_read_start((uv_stream_t *)&connection->handle.tcp, on_alloc, on_read));
}

void
server_start(struct server *server, struct kettle_fake *fake)
{
	struct sockaddr_in address;
	int size = sizeof(address);
	*server = (struct server){.fake = fake, .listener = xcalloc(1, sizeof(*server->listener))};
	uv_tcp_t *tcp = &server->listener->tcp;
	server->listener->server = server;
	tcp->data = server->listener;
	check(uv_tcp_init(kettle_fake_loop(fake), tcp));
	server->open++;
	check(uv_ip4_addr("127.0.0.1", 0, &address));
	check(uv_tcp_bind(tcp, (struct sockaddr *)&address, 0));
	check(uv_listen((uv_stream_t *)tcp, 64, on_connection));
	check(uv_tcp_getsockname(tcp, (struct sockaddr *)&address, &size));
	server->port = ntohs(address.sin_port);
}

static int
all_closed(void *arg)
{
	return ((struct server *)arg)->open == 0;
}

void
server_stop(struct server *server)
{
	while (server->connections)
		drop(server->connections);
	uv_close((uv_handle_t *)&server->listener->tcp, on_closed);
	check(kettle_fake_run(server->fake, all_closed, server, STOP_MS));
	for (size_t i = 0; i < server->count; i++) {
		free(server->requests[i].line);
		free(server->requests[i].head);
		free(server->requests[i].body);
	}
}

void
server_step(struct server *server, const char *line, int status, const char *headers, const char *body)
{
	if (server->steps_count == SERVER_STEPS_MAX)
		abort();
	server->steps[server->steps_count++] =
		(struct server_step){.line = line, .status = status, .headers = headers, .body = body};
}

void
server_release_with(struct server *server, size_t number, int status, const char *body)
{
	if (!server->requests[number].connection)
		abort();
	if (status == SERVER_DROP)
		drop(server->requests[number].connection);
	else
		answer(server->requests[number].connection, status, NULL, body);
}

void
server_release(struct server *server, size_t number, int status)
{
	server_release_with(server, number, status, "{}");
}

size_t
server_seen(const struct server *server, const char *line)
{
	size_t seen = 0;
	for (size_t i = 0; i < server->count; i++)
		seen += strncmp(server->requests[i].line, line, strlen(line)) == 0;
	return seen;
}
