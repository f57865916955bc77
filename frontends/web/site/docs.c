/* SPDX-License-Identifier: MIT */
/* The API as a page, without a script. */
#include <config.h>

#include "web/site/site.h"

#include <pthread.h>

#include "web/api/openapi.h"

static void
fill(struct web *web, json_t *model)
{
	(void)pthread_mutex_lock(&web->docs_lock);
	if (!web->docs)
		web->docs = openapi_model(web);
	json_object_update(model, web->docs);
	(void)pthread_mutex_unlock(&web->docs_lock);
}

static void
finish(const struct visit *visit, json_t *model)
{
	(void)visit->web->host->answers(visit->web->host); /* made on the loop; the pool only reads them */
	json_object_set_new(json_object_get(json_object_get(model, "site"), "assets"), "kettle", json_null());
}

const struct site_page pages_docs[] = {
	{.path = "docs",
		.template = "docs",
		.title = "The API",
		.data = "/openapi.json",
		.finish = finish,
		.fill = fill,
		.kept = true},
	{.path = NULL},
};
