/* SPDX-License-Identifier: MIT */
/* Reads the path of a request: its order, its limits, the message in it. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>

/* Classes in the order in which they are sent. */
enum route_class { ROUTE_CALLBACK, ROUTE_FOLLOW_UP, ROUTE_BOT, ROUTE_DOWNLOAD };
#define ROUTE_CLASSES 4

enum route_body { ROUTE_OTHER, ROUTE_MESSAGE, ROUTE_THREAD_MESSAGE, ROUTE_CALLBACK_DATA };

struct route {
	enum route_class class;
	enum route_body body;
	bool idempotent; /* it may be sent twice */
	char *name;      /* "PATCH /channels/:id/messages/:id": for limits and messages, without ids and tokens */
	char *major; /* the other part of the key of Discord's limits: "channels/1", "guilds/1", "webhooks/1/TOKEN" or "" */
	char *lane;  /* requests with the same lane are sent in order */
};

/* EINVAL: an unknown method; a path that does not begin with a slash, is over 2,000 bytes, or has a blank. */
int route_parse(const char *method, const char *path, struct route *ret_route, struct kettle_error *err);
void route_free(struct route *route);
/* The message in a request's body, borrowed; NULL: none. */
json_t *route_message(const struct route *route, json_t *body);
