/* SPDX-License-Identifier: MIT */
/*
 * Sessions of browsers: their cookies, their forms, and the pages that answer them. A session is a token of the core. A
 * form has a token made of the session, so that no other site can send it.
 */
#pragma once

#include "web/visit/caller.h"
#include "web/visit/visit.h"

#define SESSION_NAME "browser" /* of its token */
#define SEE_OTHER 303
#define FORBIDDEN 403

/* Sends the browser on; cookie may be NULL. */
void session_redirect(struct http_request *request, const char *address, const char *cookie);

/* The path if it is one of this server, else that of the first page. */
const char *session_local_path(const char *path);

/* Answers with a page that needs no script. actor: its user, or NULL. model_take may have "retry_s". [any] */
void session_show(const struct web *web, struct http_request *request, unsigned status, const char *template,
	const char *title, const json_t *actor, json_t *model_take);
/* A page with a sentence. title: or NULL, for that of the status. [any] */
void session_respond(
	const struct web *web, struct http_request *request, unsigned status, const char *title, const char *sentence);
/* The page of an error, with Retry-After where the error says when to try again. actor: as of session_show. [any] */
void session_respond_error(
	const struct web *web, struct http_request *request, const json_t *actor, const struct kettle_error *err);
/* The same for a visit without a session; a `fail` of visits. */
void session_fail(struct visit *visit, const struct kettle_error *err);
/* The actor of the visit's session; NULL: it has none. Borrowed. */
const json_t *session_actor(const struct visit *visit);
/* Whether an actor (NULL: none) is one of those that operate. [any] */
bool session_operates(const json_t *actor);
/* The name of the visit's user; NULL: it has no session. Borrowed. */
const char *session_user(const struct visit *visit);
/* A page with a sentence for the visit's user; ends the visit. */
void session_tell(struct visit *visit, const char *title, const char *sentence);
/*
 * A page that says what a button would do, which sends a POST to the same address. about: the member of the template
 * `ask` that says it, with this value. Ends the visit.
 */
void session_ask(struct visit *visit, const char *title, const char *about, json_t *value_take, const char *button);
/* The token of a session's forms: no other site knows it. New string. */
char *session_form_token(const struct web *web, const char *session);
/*
 * Whether a request comes from a page of this server, where the browser says from which: by the option `url`, or else by the
 * name under which the client asks for it.
 */
bool session_same_origin(const struct web *web, const struct http_request *request);
/* Whether a POST comes from a form of this session: it has its token (NULL: none), and Origin is this server. */
bool session_token_is(
	const struct web *web, const struct http_request *request, const char *session, const char *token);
/* Whether a POST comes from such a page of this session: by its token, and by Origin where the browser says it. */
bool session_sent_form(const struct web *web, const struct http_request *request, const char *session);
