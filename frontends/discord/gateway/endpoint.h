/* SPDX-License-Identifier: MIT */
/*
 * The other way in: Discord posts interactions to this HTTP server, each signed. It has a thread of its own; all functions
 * are called on the loop thread, and so is the event.
 */
#ifndef KETTLE_DISCORD_ENDPOINT_H
#define KETTLE_DISCORD_ENDPOINT_H

#include <jansson.h>
#include <kettle/error.h>
#include <kettle/host.h>
#include <stdint.h>

#define ENDPOINT_BODY_MAX (1u << 20)  /* bytes of a request's body */
#define ENDPOINT_CONNECTIONS_MAX 256  /* at once; further ones are closed */
#define ENDPOINT_REQUEST_S 10         /* default of request_s */
#define ENDPOINT_AGE_S 300            /* default of max_age_s */
#define ENDPOINT_WAITING_MAX 1000     /* interactions that wait for the loop; further ones are answered with 503 */
#define ENDPOINT_REMEMBERED_MAX 16384 /* ids of interactions, so that none is handled twice */

struct endpoint_rules {
	const char *listen;      /* ADDRESS:PORT or [ADDRESS]:PORT; port 0 is chosen by the system */
	const char *public_key;  /* of the application, in hexadecimal */
	const char *certificate; /* PEM file with certificate and chain, or NULL: a proxy ends TLS */
	const char *private_key; /* PEM file; NULL: it is in `certificate` */
	unsigned max_age_s;      /* of a request's timestamp; 0: ENDPOINT_AGE_S */
	unsigned request_s;      /* until a client has sent its request; 0: ENDPOINT_REQUEST_S */
};

struct endpoint;

/*
 * Starts. All rules are copied. interaction gets each interaction but pings once; it is answered by the callback route of
 * Discord's API, since this server has answered with 202. If it cannot listen, the log says why. EINVAL, EUNAVAIL.
 */
int endpoint_new(const struct kettle_host *host, const struct endpoint_rules *rules,
	void (*interaction)(void *arg, json_t *data_take), void *arg, struct endpoint **ret_endpoint,
	struct kettle_error *err);
/* The port on which it listens; 0: not yet, or it cannot. */
int endpoint_port(const struct endpoint *endpoint);
/* Ends it: no event comes after this call; the endpoint is freed before done(arg) is called, which is after this returns. */
void endpoint_stop(struct endpoint *endpoint, kettle_fn done, void *arg);

#endif
