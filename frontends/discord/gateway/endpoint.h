/* SPDX-License-Identifier: MIT */
/*
 * The alternative to the gateway: Discord posts signed interactions to this HTTP server. All functions and the event are
 * called on the loop thread.
 */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <kettle/host.h>
#include <stdint.h>

#define ENDPOINT_BODY_MAX (1u << 20)  /* bytes of a request's body */
#define ENDPOINT_CONNECTIONS_MAX 256  /* at once; further ones are closed */
#define ENDPOINT_AGE_S 300            /* default of max_age_s */
#define ENDPOINT_WAITING_MAX 1000     /* interactions that wait for the loop; further ones are answered with 503 */
#define ENDPOINT_REMEMBERED_MAX 16384 /* ids of interactions, so that none is handled twice */

struct endpoint_rules {
	const char *listen;      /* as that of struct http_rules */
	const char *public_key;  /* of the application, in hexadecimal */
	const char *certificate; /* PEM file with certificate and chain; NULL: a proxy ends TLS */
	const char *private_key; /* PEM file; NULL: it is in `certificate` */
	unsigned max_age_s;      /* of a request's timestamp; 0: ENDPOINT_AGE_S */
	unsigned request_s;      /* as that of struct http_rules */
};

struct endpoint;

/*
 * Starts the server. Copies all rules. Calls interaction once for each interaction except pings. The server has then
 * answered with 202, so the interaction is answered by the callback route of Discord's API. EINVAL, EUNAVAIL (member:
 * what is wrong).
 */
int endpoint_new(const struct kettle_host *host, const struct endpoint_rules *rules,
	void (*interaction)(void *arg, json_t *data_take), void *arg, struct endpoint **ret_endpoint,
	struct kettle_error *err);
/* The port; 0 for a unix socket. */
int endpoint_port(const struct endpoint *endpoint);
/* Stops the server: no event comes after this call. Frees the endpoint, then calls done(arg), after this returns. */
void endpoint_stop(struct endpoint *endpoint, kettle_fn done, void *arg);
