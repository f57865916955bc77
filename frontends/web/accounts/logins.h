/* SPDX-License-Identifier: MIT */
/*
 * Logins: a program begins one, gets a token and shows a code; a user confirms the code elsewhere, and the token then
 * acts as that user (`login.begin`, `login.confirm`).
 */
#ifndef KETTLE_WEB_LOGINS_H
#define KETTLE_WEB_LOGINS_H

#include "web/visit/web.h"

#define LOGINS_MAX 4096 /* codes remembered, of logins that are not confirmed */

struct logins *logins_new(struct web *web);
void logins_free(struct logins *logins); /* NULL is allowed */
/* POST /api/v1/login {"name"}: begins one: {"token", "code", "confirm_url", "expires"}. On the server's thread. */
void logins_request(struct web *web, struct http_request *request);
/* GET /auth/init: the same for KernelBot's clients: {"state": the token, …}. On the server's thread. */
void logins_init(struct web *web, struct http_request *request);
/* GET /auth/cli/PROVIDER: says where the login of its `state` is confirmed. On the server's thread. */
void logins_return(struct web *web, struct http_request *request);
/*
 * What the holder of an unconfirmed token should do, as a sentence with the link; NULL: this process began no such
 * login. New string. [any]
 */
char *logins_hint(struct logins *logins, const char *token);

#endif
