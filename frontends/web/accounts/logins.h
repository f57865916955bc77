/* SPDX-License-Identifier: MIT */
/*
 * Logins: a program begins one, gets a token and shows a code; a user confirms the code elsewhere, and the token then
 * acts as that user (`login.begin`, `login.confirm`).
 */
#pragma once

#include "web/visit/visit.h"

/* POST /api/v1/login {"name"}: begins one: {"token", "code", "confirm_url", "expires"}. On the server's thread. */
void logins_request(struct web *web, struct http_request *request);
/*
 * Begins one for a visit whose data are {"name", "token_name": of the token in the answer, "is_reset": as logins_reset},
 * and answers. A `then` of visits.
 */
void logins_begin(struct visit *visit, json_t *result);
/* The confirmation of the login with this token will end the user's earlier logins of its name. Loop thread. */
void logins_reset(struct visit *visit, const json_t *token, visit_fn then);
/*
 * What the holder of an unconfirmed token should do, as a sentence with the link; NULL: this process began no such
 * login. New string. [any]
 */
char *logins_hint(struct web *web, const char *token);
