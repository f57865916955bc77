/* SPDX-License-Identifier: MIT */
/* An HTTP server on the loop of a test, which answers as a script says and remembers what came. */
#pragma once

#include <kettle/testing.h>
#include <stdbool.h>
#include <stddef.h>

#define SERVER_DROP 0  /* a status: the connection ends without an answer */
#define SERVER_HOLD -1 /* a status: the answer comes with server_release */
#define SERVER_REQUESTS_MAX 64
#define SERVER_STEPS_MAX 32

struct connection;

struct server_request {
	char *line; /* "GET /path" */
	char *head; /* its headers, as they came */
	char *body; /* with a NUL behind it */
	size_t size;
	struct connection *connection;
};

/* One answer, for the first request that begins so and found no step before. */
struct server_step {
	const char *line;
	int status;
	const char *headers; /* "Name: value\r\n…", or NULL */
	const char *body;    /* NULL: {} */
	bool used;
};

struct server {
	struct kettle_fake *fake;
	int port;
	size_t count; /* of requests */
	struct server_request requests[SERVER_REQUESTS_MAX];
	struct server_step steps[SERVER_STEPS_MAX];
	size_t steps_count;
	struct server_handle *listener;
	struct connection *connections;
	int open; /* handles */
};

/* Listens on a port of 127.0.0.1 that the system chooses. */
void server_start(struct server *server, struct kettle_fake *fake);
/* Closes everything. */
void server_stop(struct server *server);
/* Adds a step; texts are borrowed. */
void server_step(struct server *server, const char *line, int status, const char *headers, const char *body);
/* Answers a request that is held, with {}, or drops its connection. */
void server_release(struct server *server, size_t number, int status);
/* The same with a body. */
void server_release_with(struct server *server, size_t number, int status, const char *body);
/* How many requests began so. */
size_t server_seen(const struct server *server, const char *line);
