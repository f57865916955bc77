/* SPDX-License-Identifier: MIT */
/* The API as OpenAPI 3.1 and as a page, made from the command table and the schemas of its answers. */
#pragma once

#include "web/visit/web.h"

/* The document. New reference. [any], once host->answers has been called on the loop, which makes what this reads. */
json_t *openapi_make(const struct web *web);
/* The same for a template: {"groups", "objects"}. New reference. [any], likewise. */
json_t *openapi_model(const struct web *web);
/* The description of the API for programs. */
extern const char openapi_hints[]; /* llms.txt */
