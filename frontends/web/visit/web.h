/* SPDX-License-Identifier: MIT */
/* What all files of the web frontend share. */
#ifndef KETTLE_WEB_WEB_H
#define KETTLE_WEB_WEB_H

#include <jansson.h>
#include <kettle/host.h>

#include "http/server.h"

struct callers;
struct visits;
struct pages;
struct feeds;
struct logins;
struct accounts;

struct web {
	const struct kettle_host *host;
	json_t *options;  /* its section of the configuration */
	json_t *commands; /* name → row of the command table, without internal and local ones */
	json_t *nobody;   /* the actor of requests without a credential */
	json_t *self;     /* the actor of the frontend's own calls */
	struct http_server *server;
	struct callers *callers;   /* caller.h */
	struct visits *visits;     /* visit.h */
	struct pages *pages;       /* pages.h */
	struct feeds *feeds;       /* feeds.h */
	struct logins *logins;     /* logins.h */
	struct accounts *accounts; /* accounts.h */
};

#endif
