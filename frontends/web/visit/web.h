/* SPDX-License-Identifier: MIT */
/* Declarations that all files of the web frontend share. */
#pragma once

#include <jansson.h>
#include <kettle/host.h>
#include <pthread.h>
#include <sys/queue.h>

#include "http/server.h"

struct recent;
struct visits;
struct pages;
struct feeds;
struct rendering;

#define WEB_RECENT_MAX 4096 /* entries of each `struct recent` */

struct web {
	const struct kettle_host *host;
	json_t *options;   /* its section of the configuration */
	json_t *commands;  /* name → row of the command table, without internal and local ones */
	json_t *anonymous; /* the actor of requests without a credential */
	json_t *self;      /* the actor of the frontend's own calls */
	struct http_server *server;
	/* recent.h */
	struct recent *tokens;      /* hash of a checked token → its actor */
	struct recent *logins;      /* hash of the token of a login that is not confirmed → {"code", "expires"} */
	struct recent *states;      /* of logins at providers, and of users to be joined: see accounts.c */
	unsigned char form_key[32]; /* of the tokens of forms, new with each process */
	struct visits *visits;      /* visit.h */
	struct pages *pages;        /* pages.h */
	struct feeds *feeds;        /* feeds.h */
	const struct site_page *const *parts; /* site/site.h */
	STAILQ_HEAD(, rendering) renderings;  /* the loop's: see site/site.c */
	pthread_mutex_t docs_lock;
	json_t *docs; /* under the lock: see site/boards.c; NULL until they are read */
};

/* The address of a path below the option `url`. New string. [any] */
char *web_address(const struct web *web, const char *path);
