/* SPDX-License-Identifier: MIT */
/* A thread that runs libwebsockets, and a queue of functions into it. */
#pragma once

#include <kettle/error.h>
#include <kettle/host.h>
#include <libwebsockets.h>

struct service;

struct service_events {
	/*
	 * On the thread: fills in the context's needs. provided_client_ssl_ctx exists and checks certificates, but trusts
	 * none yet. Not 0: the thread continues without a context.
	 */
	int (*prepare)(void *arg, struct lws_context_creation_info *info, struct kettle_error *err);
	/* On the thread, once, before any function of the queue. context NULL: it could not be made, and err says why. */
	void (*begun)(void *arg, struct lws_context *context, const struct kettle_error *err);
	/* On the loop thread: context and thread have ended; the service is freed when this returns. */
	void (*ended)(void *arg);
};

/* Starts the thread. events is borrowed for its life. Loop thread. EUNAVAIL. */
int service_start(const struct kettle_host *host, const struct service_events *events, void *arg,
	struct service **ret_service, struct kettle_error *err);
/* Runs fn(arg) on the thread, in the order of the calls; not after service_quit. [any] */
void service_send(struct service *service, kettle_fn fn, void *arg);
/* On the thread: makes it end when the running function returns. `ended` follows. */
void service_quit(struct service *service);
