/* SPDX-License-Identifier: MIT */
/* Logins by Discord, GitHub or an OpenID Connect provider. */
#pragma once

#include "web/visit/visit.h"

#define PROVIDER_STATE_MS 600000
#define PROVIDER_ADDRESS_MAX 32 /* logins that have begun and not come back, from one address */

struct provider;

/* The configured provider of that name, which may be NULL; NULL: there is none. [any] */
const struct provider *provider_find(const struct web *web, const char *name);
/* The configured ones: [{"name": for provider_find, "title"}]. New reference. [any] */
json_t *providers_list(const struct web *web);
/* Sends the browser to the provider. On the server's thread. */
void provider_start(struct web *web, struct http_request *request, const struct provider *provider);
/* The browser comes back from it. On the server's thread. */
void provider_return(struct web *web, struct http_request *request, const struct provider *provider);
/*
 * Gives the browser of a visit a session of the visit's actor, and sends it on to the path `next` of `login` in the visit's
 * data; ends the visit. Loop thread.
 */
void provider_session(struct visit *visit, json_t *result);
