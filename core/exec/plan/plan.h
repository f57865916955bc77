/* SPDX-License-Identifier: MIT */
/* Checks a plan: its schema first, then what a schema cannot say. */
#ifndef KETTLE_EXEC_PLAN_H
#define KETTLE_EXEC_PLAN_H

#include <jansson.h>
#include <kettle/error.h>

#define PLAN_MAX_CONTENTS (64u << 20) /* bytes of all contents that are written out in a plan */
#define PLAN_MAX_SECRET 4096          /* bytes of a secret that goes through a pipe: what every pipe takes */

/* The schema of docs/protocol.md, from the program itself. New reference. */
int plan_schema(json_t **ret_schema, struct kettle_error *err);
/*
 * Whether the plan can be carried out: step ids are unique, needs and inputs refer to what comes before, paths stay
 * inside, referee and solver come together, what a kind of step may not have is absent. KETTLE_EINVAL with a sentence
 * that names the place. [any]
 */
int plan_check(const json_t *schema, const json_t *plan, struct kettle_error *err);

#endif
