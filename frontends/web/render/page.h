/* SPDX-License-Identifier: MIT */
/* The values that every page has, and the styles and scripts of pages, which stay the same while the server runs. */
#pragma once

#include <jansson.h>

#include "web/visit/web.h"

/* Answers GET /assets/NAME, and of /favicon.ico and /robots.txt. [any] */
void assets_request(struct http_request *request, const char *name);
/*
 * `site` in the model of a template: {"page": the name of the template, "user": its name or null, "token": of forms or
 * null, "here": the path, "url": its absolute address or null, "root": that of the server or null, "title", "data": of the
 * page as JSON or null, "about": of the page or null, "picture": the absolute address of one or null, "refresh": seconds until
 * a browser without scripts loads the page again or null, "role": the user's or null, "operates": whether the role lets the
 * user do so, or null, "assets"}. title, user, token: or NULL. New reference. [any]
 */
json_t *page_site(const struct web *web, const char *here, const char *template, const char *title, const char *user,
	const char *token);
