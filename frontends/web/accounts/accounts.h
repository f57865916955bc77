/* SPDX-License-Identifier: MIT */
/*
 * Who people are in a browser: logins by Discord, GitHub or an OpenID Connect provider, the session's cookie, and the
 * confirmation of logins of programs (logins.h).
 *
 * A session is a token of the core, made by `login.begin` and confirmed as the identity that the provider vouches for.
 * Who is logged in adds an account of another provider by logging in to it, too: a page then shows both users, and only
 * its button joins them.
 */
#pragma once

#include "web/visit/web.h"

#define ACCOUNTS_FORM_MAX 4096 /* bytes of a form */

/*
 * Answers what belongs to logins in a browser: /login, /logout, /auth/start/PROVIDER, /auth/return/PROVIDER,
 * /auth/join/KEY, /link/CODE. false: the request is for something else. On the server's thread.
 */
bool accounts_request(struct web *web, struct http_request *request);
/* The most bytes of body that such a request may have; 0: it is for something else. */
size_t accounts_body_max(const struct http_request *request);
