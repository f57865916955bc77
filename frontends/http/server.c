/* SPDX-License-Identifier: MIT */
/*
 * The server itself: its start, its thread, its end.
 *
 * Theory of operation. The thread waits in an epoll set for that of libmicrohttpd, for clients that leave, and for other
 * threads (an eventfd). At its end it stops the library and posts to the loop, which joins it. The post is its last act,
 * so the join does not wait.
 */
#include <config.h>

#include "http/server_internal.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

#define DRAIN_READ_MS 2000 /* for the rest of a request that was begun when the server was stopped */
#define CHECK_MS 10000     /* between looks at the files of the certificate */
#define EVENTS_MAX 64      /* in one turn */
#define MS_PER_S 1000

/* ---- what the library calls ---- */

/* The server decodes URLs itself. */
static size_t
keep_escapes(void *arg, struct MHD_Connection *mhd, char *text)
{
	(void)arg;
	(void)mhd;
	return strlen(text);
}

/* Attributes that change when a file does; all zero: it cannot be read. */
static struct timespec
stamp_of(const char *file)
{
	struct stat info;
	return file && stat(file, &info) == 0 ? info.st_ctim : (struct timespec){0};
}

/* Takes a certificate that has changed on disk. */
static void
renew_identity(struct http_server *server)
{
	struct kettle_error err = {0};
	uint64_t now_ms = server_now(server);
	if (now_ms - server->checked_ms < CHECK_MS)
		return;
	server->checked_ms = now_ms;
	const struct timespec stamps[2] = {stamp_of(server->certificate), stamp_of(server->private_key)};
	if (memcmp(stamps, server->stamps, sizeof(stamps)) == 0)
		return;
	(void)memcpy(server->stamps, stamps, sizeof(stamps));
	if (http_server_reload(server, &err) < 0)
		server->host->log(server->host, KETTLE_LOG_WARNING, "%s The previous one stays in use.", err.message);
}

static void
begin_tls(struct http_server *server, struct http_connection *connection)
{
	static unsigned char protocol[] = "http/1.1";
	const gnutls_datum_t protocols[] = {{.data = protocol, .size = sizeof(protocol) - 1}};
	gnutls_session_t session =
		MHD_get_connection_info(connection->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session;
	(void)gnutls_alpn_set_protocols(session, protocols, ARRAY_SIZE(protocols), 0);
	renew_identity(server);
	(void)pthread_mutex_lock(&server->lock);
	connection->identity = tls_ref(server->identity);
	(void)pthread_mutex_unlock(&server->lock);
}

/* The library's MHD_OPTION_HTTPS_CERT_CALLBACK; the pointer of a session is its connection there. */
static int
give_identity(gnutls_session_t session, const gnutls_datum_t *names, int names_count,
	const gnutls_pk_algorithm_t *kinds, int kinds_count, gnutls_pcert_st **ret_chain, unsigned *ret_length,
	gnutls_privkey_t *ret_key)
{
	(void)names;
	(void)names_count;
	(void)kinds;
	(void)kinds_count;
	tls_give(http_connection_of(gnutls_session_get_ptr(session))->identity, ret_chain, ret_length, ret_key);
	return 0;
}

static void
on_connection(void *arg, struct MHD_Connection *mhd, void **context, enum MHD_ConnectionNotificationCode what)
{
	struct http_server *server = arg;
	struct http_connection *connection = *context;
	switch (what) {
	case MHD_CONNECTION_NOTIFY_STARTED:
		*context = http_connection_new(server, mhd);
		if (server->certificate)
			begin_tls(server, *context);
		break;
	case MHD_CONNECTION_NOTIFY_CLOSED:
		*context = NULL;
		if (connection->request)
			request_drop(connection->request);
		http_connection_free(connection);
		break;
	}
}

/* ---- the thread ---- */

/* Ends what has taken too long, and finds out when to look again. */
static void
keep_limits(struct http_server *server)
{
	uint64_t now_ms = server_now(server);
	if (now_ms < server->due_ms)
		return;
	server->due_ms = NEVER;
	http_connections_check(server, now_ms);
	streams_keep_alive(server);
}

/* Accepts nothing any more; what is under way goes on. */
static void
begin_drain(struct http_server *server)
{
	server->draining = true;
	server->drained_ms = server_now(server) + server->drain_ms;
	(void)MHD_quiesce_daemon(server->daemon);
	listener_close(&server->listener);
	for (struct http_connection *connection = server->connections; connection; connection = connection->next)
		if (!connection->request)
			http_connection_end(connection);
		else if (!connection->request->announced)
			http_connection_limit(connection, DRAIN_READ_MS);
	streams_end(server);
}

/* ms until the thread has something to do without an event; -1: never. */
static int
time_left(struct http_server *server)
{
	MHD_UNSIGNED_LONG_LONG library_ms;
	uint64_t now_ms = server_now(server), due_ms = server->due_ms;
	if (MHD_get_timeout(server->daemon, &library_ms) == MHD_YES && library_ms == 0)
		return 0;
	if (server->draining && server->drained_ms < due_ms)
		due_ms = server->drained_ms;
	uint64_t left_ms = due_ms > now_ms ? due_ms - now_ms : 0;
	return due_ms == NEVER ? -1 : left_ms > INT32_MAX ? INT32_MAX : (int)left_ms;
}

static void
wait_for_events(struct http_server *server)
{
	struct epoll_event events[EVENTS_MAX];
	uint64_t times;
	int count = epoll_wait(server->epoll_fd, events, EVENTS_MAX, time_left(server));
	for (int i = 0; i < count; i++) {
		struct http_connection *connection = events[i].data.ptr;
		if (events[i].data.ptr == server)
			(void)!read(server->wake_fd, &times, sizeof(times));
		else if (connection && !connection->mhd)
			http_connection_discard(connection, false);
		else if (connection && http_connection_left(connection) && connection->stream)
			stream_left(connection->stream);
		else if (connection && connection->suspended)
			request_left(connection->request);
	}
}

static void
finish(void *arg)
{
	struct http_server *server = arg;
	(void)pthread_join(server->thread, NULL);
	kettle_fn done = server->done;
	void *done_arg = server->done_arg;
	server_unref(server);
	if (done)
		done(done_arg);
}

static void *
run(void *arg)
{
	struct http_server *server = arg;
	for (;;) {
		(void)pthread_mutex_lock(&server->lock);
		server->woken = false;
		bool stopping = server->stopping;
		(void)pthread_mutex_unlock(&server->lock);
		if (stopping && !server->draining)
			begin_drain(server);
		requests_send(server);
		streams_send(server);
		(void)MHD_run(server->daemon);
		keep_limits(server);
		if (server->draining && (!server->connections || server_now(server) >= server->drained_ms))
			break;
		wait_for_events(server);
	}
	/* The library wants no connection suspended at its end. */
	for (struct http_connection *connection = server->connections; connection; connection = connection->next)
		http_connection_resume(connection);
	MHD_stop_daemon(server->daemon);
	streams_send(server);
	while (server->connections)
		http_connection_discard(server->connections, true);
	(void)close(server->epoll_fd);
	(void)server->host->post(server->host, finish, server);
	return NULL;
}

/* ---- start and stop ---- */

int
http_rules_check(const struct http_rules *rules, struct kettle_error *err)
{
	struct network network;
	for (const char *const *proxy = rules->trusted_proxies; proxy && *proxy; proxy++)
		if (!network_parse(*proxy, &network))
			return kettle_blame(err, KETTLE_CAUSE_NONE, "trusted_proxies",
				kettle_fail(err, KETTLE_EINVAL,
					"`trusted_proxies` has an element that is not an address or network, such as 10.0.0.0/8: %.100s",
					*proxy));
	int rc = cors_check(rules->cors_origins, err);
	return rc < 0 ? rc : listener_check(rules->listen, err);
}

/* Those of rules that were checked. */
static void
read_proxies(struct http_server *server, const char *const *given)
{
	size_t count = 0;
	while (given && given[count])
		count++;
	server->proxies = xcalloc(count + 1, sizeof(*server->proxies));
	while (server->proxies_count < count &&
		   network_parse(given[server->proxies_count], &server->proxies[server->proxies_count]))
		server->proxies_count++;
}

static char **
copy_texts(const char *const *given)
{
	size_t count = 0;
	while (given && given[count])
		count++;
	char **copy = count ? xcalloc(count + 1, sizeof(*copy)) : NULL;
	for (size_t i = 0; i < count; i++)
		copy[i] = xstrdup(given[i]);
	return copy;
}

static int
start_library(struct http_server *server, struct kettle_error *err)
{
	const bool tls = server->certificate;
	const struct MHD_OptionItem options[] = {
		{MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)give_identity},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES},
		{MHD_OPTION_TLS_NO_ALPN, 1, NULL},
		{MHD_OPTION_END, 0, NULL},
	};
	server->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (tls ? MHD_USE_TLS : 0), 0,
		http_connection_accept, server, request_handle, server, MHD_OPTION_LISTEN_SOCKET, server->listener.fd,
		/* One more than there can be: at its limit the library leaves further ones waiting. */
		MHD_OPTION_CONNECTION_LIMIT, server->connections_max + 1, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CONNECTION_MEMORY, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
		MHD_OPTION_URI_LOG_CALLBACK, request_begin, server, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
		MHD_OPTION_NOTIFY_COMPLETED, request_complete, server, MHD_OPTION_NOTIFY_CONNECTION, on_connection, server,
		MHD_OPTION_ARRAY, tls ? options : options + ARRAY_SIZE(options) - 1, MHD_OPTION_END);
	if (server->daemon)
		return 0;
	server->listener.fd = -1; /* the library has closed it */
	return kettle_fail(err, KETTLE_EUNAVAIL, "%s cannot start libmicrohttpd.", server->title);
}

/* The thread, and what it waits for. Signals are for the loop. */
static int
start_thread(struct http_server *server, struct kettle_error *err)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct epoll_event library = {.events = EPOLLIN}, wake = {.events = EPOLLIN, .data.ptr = server};
	sigset_t all, before;
	int fault = 0;
	server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (server->epoll_fd < 0 || epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, info->epoll_fd, &library) != 0 ||
		epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, server->wake_fd, &wake) != 0)
		fault = errno;
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!fault)
		fault = pthread_create(&server->thread, NULL, run, server);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!fault)
		return 0;
	if (server->epoll_fd >= 0)
		(void)close(server->epoll_fd);
	MHD_stop_daemon(server->daemon);
	server->listener.fd = -1; /* the library has closed it */
	return kettle_fail(err, KETTLE_EUNAVAIL, "%s cannot start a thread: %s.", server->title, strerror(fault));
}

static struct http_server *
make_server(const struct kettle_host *host, const struct http_rules *rules, const struct http_events *events, void *arg)
{
	struct http_server *server = xcalloc(1, sizeof(*server));
	unsigned connections = rules->connections ? rules->connections : HTTP_SERVER_CONNECTIONS;
	*server = (struct http_server){.host = host,
		.events = events,
		.arg = arg,
		.title = xstrdup(rules->title ? rules->title : "The HTTP server"),
		.certificate = rules->certificate ? xstrdup(rules->certificate) : NULL,
		.private_key = rules->private_key ? xstrdup(rules->private_key) : NULL,
		.origins = copy_texts(rules->cors_origins),
		.connections_max = connections,
		.address_max = rules->address_connections ? rules->address_connections : connections,
		.request_ms = MS_PER_S * (rules->request_s ? rules->request_s : HTTP_SERVER_REQUEST_S),
		.drain_ms = MS_PER_S * (rules->drain_s ? rules->drain_s : HTTP_SERVER_DRAIN_S),
		.refs = 1,
		.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
		.listener.fd = -1,
		.due_ms = NEVER};
	(void)pthread_mutex_init(&server->lock, NULL);
	(void)pthread_cond_init(&server->called, NULL);
	server->checked_ms = server_now(server);
	server->stamps[0] = stamp_of(server->certificate);
	server->stamps[1] = stamp_of(server->private_key);
	return server;
}

static void
log_address(const struct http_server *server, const char *listen)
{
	const struct kettle_host *host = server->host;
	const char *end = server->port ? strrchr(listen, ':') : NULL;
	if (end)
		host->log(host, KETTLE_LOG_INFO, "%s listens on %.*s, port %d.", server->title, (int)(end - listen), listen,
			server->port);
	else
		host->log(host, KETTLE_LOG_INFO, "%s listens on %s.", server->title, listen);
}

int
http_server_start(const struct kettle_host *host, const struct http_rules *rules, const struct http_events *events,
	void *arg, struct http_server **ret_server, struct kettle_error *err)
{
	struct http_server *server = make_server(host, rules, events, arg);
	int rc = http_rules_check(rules, err);
	read_proxies(server, rules->trusted_proxies);
	if (rc == 0 && server->certificate)
		rc = tls_read(server->title, server->certificate, server->private_key, &server->identity, err);
	if (rc == 0)
		rc = listener_open(server->title, rules->listen, rules->socket_mode, &server->listener, err);
	server->port = server->listener.port;
	if (rc == 0)
		rc = start_library(server, err);
	if (rc == 0)
		rc = start_thread(server, err);
	if (rc == 0) {
		log_address(server, rules->listen);
		*ret_server = server;
		return 0;
	}
	listener_close(&server->listener);
	server_unref(server);
	return rc;
}

int
http_server_port(const struct http_server *server)
{
	return server->port;
}

int
http_server_reload(struct http_server *server, struct kettle_error *err)
{
	struct tls_identity *identity = NULL;
	if (!server->certificate)
		return 0;
	int rc = tls_read(server->title, server->certificate, server->private_key, &identity, err);
	if (rc < 0)
		return rc;
	(void)pthread_mutex_lock(&server->lock);
	struct tls_identity *old = server->identity;
	server->identity = identity;
	(void)pthread_mutex_unlock(&server->lock);
	tls_unref(old);
	return 0;
}

void
http_server_stop(struct http_server *server, kettle_fn done, void *arg)
{
	(void)pthread_mutex_lock(&server->lock);
	server->done = done;
	server->done_arg = arg;
	server->stopping = true;
	server_wake(server);
	(void)pthread_mutex_unlock(&server->lock);
}
