/* SPDX-License-Identifier: MIT */
/*
 * The actor of a request: the user of its token, or the anonymous actor. Checked tokens are remembered, by their hash, for a minute or until
 * they expire, and forgotten when a token or login is revoked or a user changes.
 */
#pragma once

#include "web/visit/web.h"

#define CALLERS_KEEP_MS 60000
#define STORED_ROLE "stored_role" /* member of an actor: for what a page offers; the core decides by its own */
#define SESSION "kettle"          /* the cookie of a browser's session, which is a token of the core */

/* actor: the caller, or the web's `anonymous`; borrowed. err->code not 0: the credential is no good, or cannot be checked. */
typedef void (*caller_fn)(void *arg, const json_t *actor, const struct kettle_error *err);

/*
 * The token of `Authorization: Bearer TOKEN`; NULL: there is none, "!": the header is no such thing, so that it is
 * refused as a token. Borrowed from the request.
 */
const char *callers_bearer(const struct http_request *request);
/*
 * The same, or else the session of a browser that only reads (GET, HEAD), since any site can make a browser send its cookies;
 * NULL: neither. Borrowed from the request.
 */
const char *callers_token(const struct web *web, const struct http_request *request);
/*
 * A cookie as it is set; new string. Its name has `__Host-` in front, which needs Secure, where the server's address is
 * https. [any]
 */
char *session_cookie(const struct web *web, const char *name, const char *value, long seconds);
/* The value of a cookie of the request, "" where there is none; valid as long as its headers. [any] */
const char *session_cookie_value(const struct web *web, const struct http_request *request, const char *name);
/*
 * Finds who has the token; NULL and "": the anonymous actor. Calls done once: at once, or later on the loop thread. EACCES: the
 * token is unknown, expired or revoked. [any]
 */
void callers_identify(struct web *web, const char *token, caller_fn done, void *arg);
/* The time until a time of the core's answers, in ms; 0 or less: it is over. [any] */
int64_t callers_ms_until(const struct kettle_host *host, const char *end);
/* An event of the core, after which remembered tokens may be wrong. Loop thread. */
void callers_event(struct web *web, const json_t *event);
