/* SPDX-License-Identifier: MIT */
/* Connections: their number, their limits of time, and how they wait; and how other threads reach the server's. */
#include <config.h>

#include "base/base.h"
#include "http/server_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#define LINGER_MS 2000
#define DISCARD_BYTES 65536
#define STEP_MS 100 /* limits are looked at that often at most */

struct http_server *
server_ref(struct http_server *server)
{
	(void)__atomic_add_fetch(&server->refs, 1, __ATOMIC_RELAXED);
	return server;
}

void
server_unref(struct http_server *server)
{
	if (__atomic_sub_fetch(&server->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	tls_unref(server->identity);
	(void)pthread_cond_destroy(&server->called);
	(void)pthread_mutex_destroy(&server->lock);
	(void)close(server->wake_fd);
	free(server->proxies);
	for (size_t i = 0; server->origins && server->origins[i]; i++)
		free(server->origins[i]);
	free_all(server->origins, server->title, server->certificate, server->private_key, server);
}

void
server_wake(struct http_server *server)
{
	const uint64_t one = 1;
	if (server->woken)
		return;
	server->woken = true;
	if (write(server->wake_fd, &one, sizeof(one)) < 0)
		server->woken = false;
}

uint64_t
server_now(const struct http_server *server)
{
	return server->host->monotonic_ms(server->host);
}

void
server_due(struct http_server *server, uint64_t due_ms)
{
	due_ms = due_ms == NEVER ? NEVER : (due_ms / STEP_MS + 1) * STEP_MS;
	if (due_ms < server->due_ms)
		server->due_ms = due_ms;
}

/* ---- begin and end ---- */

/*
 * The library does not watch a suspended connection. Of others it misses the end of what a client sends, if that comes
 * together with the last bytes. So the server's own epoll set watches for it.
 */
static void
watch(struct http_connection *connection, int how)
{
	struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = connection};
	(void)epoll_ctl(connection->server->epoll_fd, how, connection->fd, &event);
}

/* Whether an address has all connections that one may have. Proxies have those of their clients. */
static bool
has_enough(const struct http_server *server, const struct address *address)
{
	unsigned count = 0;
	if (server->address_max >= server->connections_max || network_has(server->proxies, server->proxies_count, address))
		return false;
	for (const struct http_connection *other = server->connections; other; other = other->next)
		count += other->is_ip && !other->ended && address_equals(&other->address, address);
	return count >= server->address_max;
}

enum MHD_Result
http_connection_accept(void *arg, const struct sockaddr *from, socklen_t size)
{
	const struct http_server *server = arg;
	struct address address;
	bool is_ip = size >= sizeof(from->sa_family) && address_from(from, &address);
	return server->connections_count < server->connections_max && (!is_ip || !has_enough(server, &address)) ? MHD_YES
																											: MHD_NO;
}

struct http_connection *
http_connection_new(struct http_server *server, struct MHD_Connection *mhd)
{
	const struct sockaddr *from = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
	struct address address = {0};
	bool is_ip = address_from(from, &address);
	struct http_connection *connection = xnew(struct http_connection, .server = server, .mhd = mhd,
		.fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd, .is_ip = is_ip,
		.address = address, .next = server->connections, .link = &server->connections);
	if (connection->next)
		connection->next->link = &connection->next;
	server->connections = connection;
	server->connections_count++;
	watch(connection, EPOLL_CTL_ADD);
	http_connection_limit(connection, server->request_ms);
	return connection;
}

static void
drop(struct http_connection *connection)
{
	*connection->link = connection->next;
	if (connection->next)
		connection->next->link = connection->link;
	connection->server->connections_count -= !connection->ended;
	tls_unref(connection->identity);
	free(connection);
}

void
http_connection_free(struct http_connection *connection)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
	struct http_server *server = connection->server;
	char byte;
	(void)epoll_ctl(server->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);
	/* The library may have answered by itself, such as 414. */
	bool has_unread = !connection->ended && recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
	bool lingers = (connection->lingers || has_unread) && !server->draining;
	int fd = lingers ? fcntl(connection->fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (fd < 0 || epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
		if (fd >= 0)
			(void)close(fd);
		drop(connection);
		return;
	}
	/* By TLS, the library leaves that to close: what its cork holds back would come 200 ms late. */
	(void)shutdown(fd, SHUT_WR);
	connection->mhd = NULL;
	connection->fd = fd;
	http_connection_limit(connection, LINGER_MS);
}

void
http_connection_discard(struct http_connection *connection, bool all)
{
	char bytes[DISCARD_BYTES];
	ssize_t got = all ? 0 : recv(connection->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	/* A process that is being started may have it, too: then close alone would leave it in the set. */
	(void)epoll_ctl(connection->server->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);
	(void)close(connection->fd);
	drop(connection);
}

struct http_connection *
http_connection_of(struct MHD_Connection *mhd)
{
	return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

void
http_connection_limit(struct http_connection *connection, uint64_t ms)
{
	connection->due_ms = ms == NEVER ? NEVER : server_now(connection->server) + ms;
	server_due(connection->server, connection->due_ms);
}

void
http_connection_end(struct http_connection *connection)
{
	connection->due_ms = NEVER;
	/* Its client may open another one before the library has noticed. */
	connection->server->connections_count -= !connection->ended;
	connection->ended = true;
	(void)shutdown(connection->fd, SHUT_RDWR);
}

/* ---- waiting, leaving ---- */

bool
http_connection_left(struct http_connection *connection)
{
	if (connection->suspended)
		return true;
	connection->left = true;
	connection->server->due_ms = 0;
	return false;
}

/* Makes an event for the library, which then reads to the end; again until it has, as it may have more to read before. */
static void
tell_library(struct http_connection *connection, uint64_t now_ms)
{
	if (!connection->left || connection->suspended || connection->ended || !connection->mhd)
		return;
	(void)shutdown(connection->fd, SHUT_RD);
	server_due(connection->server, now_ms);
}

void
http_connections_check(struct http_server *server, uint64_t now_ms)
{
	for (struct http_connection *connection = server->connections; connection; connection = connection->next) {
		if (connection->due_ms <= now_ms)
			http_connection_end(connection);
		tell_library(connection, now_ms);
		server_due(server, connection->due_ms);
	}
}

void
http_connection_suspend(struct http_connection *connection)
{
	MHD_suspend_connection(connection->mhd);
	connection->suspended = true;
	watch(connection, EPOLL_CTL_MOD);
}

void
http_connection_resume(struct http_connection *connection)
{
	if (!connection->suspended)
		return;
	connection->suspended = false;
	connection->stream = NULL;
	MHD_resume_connection(connection->mhd);
}
