/* SPDX-License-Identifier: MIT */
/* Styles and scripts of the pages: texts that stay as they are while the server runs. */
#pragma once

#include <jansson.h>

#include "web/visit/web.h"

/* Answers GET /assets/NAME, and of /favicon.ico and /robots.txt. [any] */
void assets_request(struct web *web, struct http_request *request, const char *name);
/*
 * What templates know of them: {"style", "kettle", "icon", "robots", "chart", "prism"}, their paths with what changes with
 * their text; the last two are null where the machine that built Kettle had none. New reference. [any]
 */
json_t *assets_paths(void);
