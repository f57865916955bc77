/* SPDX-License-Identifier: MIT */
/*
 * Discord's REST API: requests that wait for Discord's limits, keep their order, and are repeated if that is safe. All
 * functions and callbacks on the loop thread.
 *
 * Lanes. Requests that create, edit or remove messages of one channel are sent in the order of rest_send, one at a
 * time, and so are the answers to one interaction. Other requests are in order with those of the same route and
 * channel (or guild). Interactions come first: their callbacks before their follow-ups, and these before all others.
 * They never wait for other requests under way.
 *
 * Repeats. A request that Discord limits (429) waits and is sent again. After a fault of the server or of the network
 * a GET, PUT, PATCH or DELETE is repeated, and a POST that Discord recognises: a callback of an interaction, a message
 * with "nonce" and "enforce_nonce". Any other POST fails, and may have been carried out.
 *
 * Mentions. A message without "allowed_mentions" gets one that allows none, so no text pings a user.
 */
#pragma once

#include <jansson.h>
#include <kettle/host.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REST_FILES_MAX 10
#define REST_PER_SECOND 50
#define REST_QUEUE_MAX 4096
#define REST_INVALID_MAX 1000
#define REST_BACKOFF_MS 500
#define REST_WAIT_MAX_MS 600000

struct rest;

/* Strings are copied. A number 0 means its default. */
struct rest_rules {
	const char *base;         /* "https://discord.com/api/v10", without a slash at its end; http:// for tests */
	const char *token;        /* of the bot */
	const char *token_option; /* name of the option that has the token, for the log */
	const char *user_agent;   /* "DiscordBot (URL, VERSION)" */
	const char *const
		*cdn; /* hosts that attachments come from, NULL-terminated; besides, with a base of http: this machine */
	unsigned per_second;  /* requests in a second, without those for interactions; default REST_PER_SECOND */
	unsigned queue_max;   /* requests that wait or are under way; default REST_QUEUE_MAX */
	unsigned invalid_max; /* answers of 401, 403, 404 and 429 in 10 minutes, after which all but interactions pause;
								 default REST_INVALID_MAX. Discord bans an address at 10,000 */
	unsigned wait_max_ms; /* the longest wait that Discord may demand; default REST_WAIT_MAX_MS */
};

/* A file of a message. */
struct rest_file {
	const char *name;         /* any text; characters that file names must not have become "_" */
	const char *content_type; /* NULL: application/octet-stream */
	void *data_take;          /* freed with free() */
	size_t size;
};

/* The end of a request; borrowed for the callback. */
struct rest_answer {
	const struct kettle_error
		*err;           /* code 0: a status of 2xx; else a sentence that holds no token, and a code by the status:
									   400 EINVAL, 401 and 403 EACCES, 404 ENOENT, 409 ECONFLICT, 413 ETOOBIG, 429 ERATE;
									   401 of an interaction, whose token is over, ENOENT;
									   others, and no answer, EUNAVAIL; not sent before rest_free ECANCELED */
	int status;         /* 0: no answer */
	const json_t *body; /* NULL: none, or no JSON */
	int64_t code;       /* Discord's own, such as 10008 (unknown message); 0: none */
};

typedef void (*rest_fn)(void *arg, const struct rest_answer *answer);

struct rest_request {
	const char *method;
	const char *path;  /* "/channels/1/messages?limit=50"; printable ASCII without blanks */
	json_t *body_take; /* or NULL; the caller must not keep a reference to it */
	const struct rest_file
		*files; /* at most REST_FILES_MAX, with a body that is a message; all of it at most 8 MiB. The
									  message gets "attachments" with their names, if it has none */
	size_t files_count;
	bool once;    /* not repeated after a fault: the caller does so */
	rest_fn done; /* called exactly once, never before rest_send returns; NULL is allowed */
	void *arg;
};

/* EINVAL: an impossible rule, such as a token with a blank; the sentence does not contain it. */
int rest_new(
	const struct kettle_host *host, const struct rest_rules *rules, struct rest **ret_rest, struct kettle_error *err);
/*
 * Ends all requests: calls their done with KETTLE_ECANCELED before it returns. Do not call it from a callback of this
 * rest. NULL is allowed.
 */
void rest_free(struct rest *rest);
/*
 * Sends a request. EINVAL: it is malformed; ETOOBIG: its body is too big; EUNAVAIL: too many requests wait; EACCES:
 * Discord has refused the token; ECANCELED: rest_free has begun. On an error it also frees what it takes, and does not
 * call done.
 *
 * The path of an interaction (/interactions/ID/TOKEN/callback, /webhooks/ID/TOKEN and below) carries the right to it.
 * So such requests are sent without the bot's token, and a 401 concerns only that interaction.
 */
int rest_send(struct rest *rest, const struct rest_request *request, struct kettle_error *err);

/* The end of a download: err->code is 0 and there is data, or err has a sentence for the user. Borrowed. */
typedef void (*rest_download_fn)(void *arg, const struct kettle_error *err, const void *data, size_t size);
/*
 * Fetches an attachment, without credentials, from a host of rules.cdn. EINVAL: the URL leads elsewhere; else like
 * rest_send. done gets ETOOBIG: over max_size bytes; ENOENT: it is gone; EUNAVAIL: Discord does not deliver it;
 * ECANCELED.
 */
int rest_download(
	struct rest *rest, const char *url, size_t max_size, rest_download_fn done, void *arg, struct kettle_error *err);

/* Milliseconds to wait after a number of failed tries (1 or more): doubles each time; half of it is random. */
uint64_t rest_backoff(unsigned tries);

/* The milliseconds that the last answered request took; -1: there was none. */
int64_t rest_latency(const struct rest *rest);
