/* SPDX-License-Identifier: MIT */
/* The schema of plans, loaded once: loading it takes several times as long as accepting a submission does otherwise. */
#ifndef KETTLE_JUDGE_KEPT_SCHEMA_H
#define KETTLE_JUDGE_KEPT_SCHEMA_H

#include <jansson.h>
#include <kettle/error.h>

/* plan.schema.json, as schema_load gives it. Borrowed, and the process's until it ends. EINVAL. [any] */
int kept_schema_of_plans(const json_t **ret_schema, struct kettle_error *err);

#endif
