/* SPDX-License-Identifier: MIT */
/* The schema of plans, loaded once. */
#include <config.h>

#include "judge/kept_schema.h"

#include <pthread.h>

#include "base/embedded_text.h"
#include "base/schema.h"

static struct {
	pthread_once_t once;
	json_t *schema;
	int rc;
	struct kettle_error err;
} kept = {.once = PTHREAD_ONCE_INIT};

static void
load_once(void)
{
	kept.rc = schema_load(plan_schema, &kept.schema, &kept.err);
}

int
kept_schema_of_plans(const json_t **ret_schema, struct kettle_error *err)
{
	(void)pthread_once(&kept.once, load_once);
	if (kept.rc < 0) {
		*err = kept.err;
		return kept.rc;
	}
	*ret_schema = kept.schema;
	return 0;
}
