/* SPDX-License-Identifier: MIT */
/* Logins by Discord, GitHub or an OpenID Connect provider. */
#pragma once

#include "base/buf.h"
#include "web/visit/web.h"

#define PROVIDER_STATE_MS 600000
#define PROVIDER_ADDRESS_MAX 32 /* logins that have begun and not come back, from one address */

struct provider;

/* The configured provider of that name, which may be NULL; NULL: there is none. [any] */
const struct provider *provider_find(const struct web *web, const char *name);
/*
 * Adds a link to each provider, with this text before its name: it begins a login that ends at the path `next`.
 * parameter: "", or "join=1&" for who is logged in and adds an account. false: there is none. [any]
 */
bool providers_add_links(
	const struct web *web, struct buf *content, const char *text, const char *parameter, const char *next);
/* Sends the browser to the provider. On the server's thread. */
void provider_start(struct web *web, struct http_request *request, const struct provider *provider);
/* The browser comes back from it. On the server's thread. */
void provider_return(struct web *web, struct http_request *request, const struct provider *provider);
