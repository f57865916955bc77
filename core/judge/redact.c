/* SPDX-License-Identifier: MIT */
/* What of a runner's events may be shown. */
#include <config.h>

#include "judge/redact.h"

#include <stdbool.h>
#include <string.h>

#include "base/json_access.h"

json_t *
redact_event(const struct plan *plan, const json_t *event)
{
	const char *name = member_string(event, "event");
	const json_t *outcome = json_object_get(event, "outcome");
	const char *step = member_string(outcome ? outcome : event, "step");
	bool secret = step && plan_is_secret(plan, step);
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
		return json_pack("{s:s, s:s, s:O*, s:b, s:O*, s:O*}", "event", name, "step", step, "state",
			json_object_get(outcome, "state"), "secret", secret, "run", json_object_get(outcome, "run"), "wall_ns",
			secret ? NULL : json_object_get(outcome, "wall_ns"));
	if (strcmp(name, "result") == 0 && !secret)
		return json_pack("{s:s, s:s, s:O*, s:O*}", "event", name, "step", step, "key", json_object_get(event, "key"),
			"value", json_object_get(event, "value"));
	return NULL;
}
