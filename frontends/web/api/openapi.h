/* SPDX-License-Identifier: MIT */
/* The API as OpenAPI 3.1 and as a page, made from the command table and the schemas of its answers. */
#pragma once

#include "web/visit/web.h"

/* The document. New reference. Loop thread. */
json_t *openapi_make(const struct web *web);
/* The same for people: a page of HTML without a script. New string. Loop thread. */
char *openapi_page(const struct web *web, const json_t *document);
/* What programs that read no page need to know. */
extern const char openapi_hints[]; /* llms.txt */
