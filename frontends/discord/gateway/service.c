/* SPDX-License-Identifier: MIT */
/*
 * A thread that runs libwebsockets.
 *
 * Theory of operation. The thread makes a context of libwebsockets with the library's own poll loop, then waits in it
 * for sockets and timers. A thread that queues a function wakes it (lws_cancel_service, the only function of the
 * library that any thread may call); without a context it waits for a condition instead. At its end the thread
 * destroys the context and posts to the loop, which joins it. The post is its last act, so the join does not wait.
 */
#include <config.h>

#include "discord/gateway/service.h"

#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include "base/base.h"

#define RETRY_MS 100 /* after the library could not wait */

struct order {
	kettle_fn fn;
	void *arg;
	struct order *next;
};

struct service {
	const struct kettle_host *host;
	const struct service_events *events;
	void *arg;
	pthread_t thread;
	bool quit;    /* only the thread's, like the next one */
	SSL_CTX *tls; /* for clients: the library leaks the one that it makes itself */
	pthread_mutex_t lock;
	pthread_cond_t queued; /* the thread waits for it without a context */
	/* Protected by the lock. */
	struct lws_context *context;
	struct order *first, **last;
};

/* The library initialises OpenSSL and tables of its own with the first context, and has no lock for that. */
static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

static struct lws_context *
make_context(struct service *service, struct kettle_error *err)
{
	struct lws_context_creation_info info = {.gid = (gid_t)-1, .uid = (uid_t)-1, .port = CONTEXT_PORT_NO_LISTEN};
	/* "" keeps the library from taking http_proxy of the environment. */
	info.http_proxy_address = "";
	info.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT | LWS_SERVER_OPTION_NO_LWS_SYSTEM_STATES;
	info.fd_limit_per_thread = 1024;
	service->tls = SSL_CTX_new(TLS_client_method());
	if (!service->tls || SSL_CTX_set_min_proto_version(service->tls, TLS1_2_VERSION) != 1) {
		(void)kettle_fail(err, KETTLE_EUNAVAIL, "OpenSSL cannot be started.");
		return NULL;
	}
	/* The library sets its own check of name and chain for each connection; this holds if it does not. */
	SSL_CTX_set_verify(service->tls, SSL_VERIFY_PEER, NULL);
	info.provided_client_ssl_ctx = service->tls;
	if (service->events->prepare(service->arg, &info, err) < 0)
		return NULL;
	(void)pthread_mutex_lock(&library_lock);
	struct lws_context *context = lws_create_context(&info);
	(void)pthread_mutex_unlock(&library_lock);
	if (!context)
		(void)kettle_fail(err, KETTLE_EUNAVAIL, "libwebsockets cannot be started with these settings.");
	return context;
}

static struct order *
take_orders(struct service *service, bool wait)
{
	(void)pthread_mutex_lock(&service->lock);
	while (wait && !service->first)
		(void)pthread_cond_wait(&service->queued, &service->lock);
	struct order *first = service->first;
	service->first = NULL;
	service->last = &service->first;
	(void)pthread_mutex_unlock(&service->lock);
	return first;
}

static void
obey(struct service *service, bool wait)
{
	for (struct order *order = take_orders(service, wait), *next; order; order = next) {
		next = order->next;
		order->fn(order->arg);
		free(order);
	}
}

static void
finish(void *arg)
{
	struct service *service = arg;
	(void)pthread_join(service->thread, NULL);
	SSL_CTX_free(service->tls);
	service->events->ended(service->arg);
	(void)pthread_cond_destroy(&service->queued);
	(void)pthread_mutex_destroy(&service->lock);
	free(service);
}

static void *
run(void *arg)
{
	struct service *service = arg;
	struct kettle_error err = {0};
	struct lws_context *context = make_context(service, &err);
	(void)pthread_mutex_lock(&service->lock);
	service->context = context;
	(void)pthread_mutex_unlock(&service->lock);
	service->events->begun(service->arg, context, &err);
	obey(service, false);
	while (!service->quit) {
		if (context && lws_service(context, 0) < 0)
			(void)poll(NULL, 0, RETRY_MS);
		obey(service, !context);
	}
	(void)pthread_mutex_lock(&service->lock);
	service->context = NULL;
	(void)pthread_mutex_unlock(&service->lock);
	if (context) {
		(void)pthread_mutex_lock(&library_lock);
		lws_context_destroy(context);
		(void)pthread_mutex_unlock(&library_lock);
	}
	(void)service->host->post(service->host, finish, service);
	return NULL;
}

int
service_start(const struct kettle_host *host, const struct service_events *events, void *arg,
	struct service **ret_service, struct kettle_error *err)
{
	sigset_t all, before;
	struct service *service = xcalloc(1, sizeof(*service));
	*service = (struct service){.host = host, .events = events, .arg = arg, .last = &service->first};
	(void)pthread_mutex_init(&service->lock, NULL);
	(void)pthread_cond_init(&service->queued, NULL);
	/* The library's log would go to the terminal; events report everything that matters. */
	lws_set_log_level(0, NULL);
	/* Signals are for the loop. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	int rc = pthread_create(&service->thread, NULL, run, service);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc) {
		(void)pthread_cond_destroy(&service->queued);
		(void)pthread_mutex_destroy(&service->lock);
		free(service);
		return kettle_fail(err, KETTLE_EUNAVAIL, "A thread cannot be started: %s.", strerror(rc));
	}
	*ret_service = service;
	return 0;
}

void
service_send(struct service *service, kettle_fn fn, void *arg)
{
	struct order *order = xnew(struct order, .fn = fn, .arg = arg);
	(void)pthread_mutex_lock(&service->lock);
	*service->last = order;
	service->last = &order->next;
	if (service->context)
		lws_cancel_service(service->context);
	(void)pthread_cond_signal(&service->queued);
	(void)pthread_mutex_unlock(&service->lock);
}

void
service_quit(struct service *service)
{
	service->quit = true;
	/* The library runs a timer before it waits. */
	if (service->context)
		lws_cancel_service(service->context);
}
