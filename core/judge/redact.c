/* SPDX-License-Identifier: MIT */
/* What of a runner's events may be shown. */
#include <config.h>

#include "judge/redact.h"
#include "base/json_access.h"

#include <stdbool.h>
#include <string.h>

/* A step that the plan does not have is treated as one that may not be shown. */
static bool
is_secret(const json_t *plan, const char *id)
{
	size_t i;
	json_t *step;
	json_array_foreach(json_object_get(plan, "steps"), i, step) {
		const char *own = member_string(step, "id");
		if (own && strcmp(own, id) == 0)
			return member_true(json_object_get(step, "run"), "secret");
	}
	return true;
}

static json_t *
of_outcome(const json_t *outcome, const char *step, bool secret)
{
	return json_pack("{s:s, s:s, s:O*, s:b, s:O*, s:O*}", "event", "outcome", "step", step, "state",
		json_object_get(outcome, "state"), "secret", secret, "run", json_object_get(outcome, "run"), "wall_ns",
		secret ? NULL : json_object_get(outcome, "wall_ns"));
}

json_t *
redact_event(const json_t *plan, const json_t *event)
{
	const char *name = member_string(event, "event");
	const json_t *outcome = json_object_get(event, "outcome");
	const char *step = member_string(outcome ? outcome : event, "step");
	bool secret = step && is_secret(plan, step);
	if (!name)
		return NULL;
	if (strcmp(name, "started") == 0 || strcmp(name, "waiting") == 0 || strcmp(name, "device") == 0)
		return json_pack("{s:s, s:O*}", "event", name, "device", json_object_get(event, "device"));
	if (!step)
		return NULL;
	if (strcmp(name, "step") == 0)
		return json_pack("{s:s, s:s, s:O*, s:O*, s:b}", "event", name, "step", step, "state",
			json_object_get(event, "state"), "cached", json_object_get(event, "cached"), "secret", secret);
	if (strcmp(name, "outcome") == 0)
		return of_outcome(outcome, step, secret);
	if (strcmp(name, "result") == 0 && !secret)
		return json_pack("{s:s, s:s, s:O*, s:O*}", "event", name, "step", step, "key", json_object_get(event, "key"),
			"value", json_object_get(event, "value"));
	return NULL;
}
