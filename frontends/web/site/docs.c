/* SPDX-License-Identifier: MIT */
/* The API as a page, without a script. */
#include <config.h>

#include "web/api/openapi.h"
#include "web/site/parts.h"

static void
finish(const struct visit *visit, json_t *model)
{
	struct web *web = visit->web;
	if (!web->docs)
		web->docs = openapi_model(web);
	json_object_update(model, web->docs);
	json_object_set_new(json_object_get(json_object_get(model, "site"), "assets"), "kettle", json_null());
}

static const struct site_page pages[] = {
	{.path = "docs", .template = "docs", .title = "The API", .data = "/openapi.json", .finish = finish, .kept = true},
	{.path = NULL},
};

const struct site_part part_docs = {pages, NULL};
