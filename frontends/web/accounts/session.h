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
#define FAILED_TITLE "That did not work"

/* Sends the browser on; cookie may be NULL. */
void session_redirect(struct http_request *request, const char *address, const char *cookie);

/* A page with a sentence. */
void session_respond(struct http_request *request, unsigned status, const char *title, const char *sentence);
/* The page of an error, with Retry-After where the error says when to try again. */
void session_respond_error(const struct web *web, struct http_request *request, const struct kettle_error *err);
/* The same; a `fail` of visits. */
void session_fail(struct visit *visit, const struct kettle_error *err);
/* A page with a sentence and a button, which sends a POST to the same address; ends the visit. */
void session_ask(struct visit *visit, const char *title, const char *sentence, const char *button);
/* The token of a session's forms: no other site knows it. New string. */
char *session_form_token(const struct web *web, const char *session);
/* Whether a POST comes from a form of this session: it has its token (NULL: none), and Origin is this server. */
bool session_token_is(
	const struct web *web, const struct http_request *request, const char *session, const char *token);
/* Whether a POST comes from such a page of this session: by its token, and by Origin where the browser says it. */
bool session_sent_form(const struct web *web, const struct http_request *request, const char *session);
