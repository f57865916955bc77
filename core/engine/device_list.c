/* SPDX-License-Identifier: MIT */
/* Devices as people see them: units, their state, the queue, the expected wait, the budget. */
#include <config.h>

#include "engine/engine_internal.h"

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "judge/unit_facts.h"

#include <stdlib.h>

static const char *
unit_state(const struct engine *engine, const struct unit *unit)
{
	enum unit_condition condition = unit_condition(unit);
	if (condition <= CONDITION_DISABLED)
		return condition == CONDITION_REMOVED ? "removed" : "disabled";
	if (condition == CONDITION_UNUSABLE || unit->pause_until_ms > clock_ms(engine->setup.clock))
		return "paused";
	if (condition == CONDITION_AWAY)
		return "waiting";
	return unit->running ? "running" : unit->active ? "building" : "idle";
}

static json_t *
describe_unit(const struct engine *engine, const struct unit *unit)
{
	AUTO_FREE char *waits = unit_health_sentence(unit);
	const char *reason = unit->disabled.cause                      ? unit->disabled.why
						 : unit->obstacles[UNIT_AWAY].said_ns      ? waits
						 : unit->obstacles[UNIT_UNUSABLE].said_ns  ? unit->obstacles[UNIT_UNUSABLE].why
						 : unit->losses.count >= ENGINE_LOSSES_ONE ? unit->losses.why
																   : NULL;
	AUTO_FREE char *model = unit->machine.learned ? xstrdup(unit->machine.learned) : unit_model(unit->machine.facts);
	return json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:i, s:i, s:i, s:i, s:O, s:s, s:s*, s:o*, s:o*}", "unit", unit->label,
		"runner", unit->runner->name, "state", unit_state(engine, unit), "reason", reason, "cause",
		unit_cause_name(unit->disabled.cause), "slots", (int)unit->slots, "prefetch", (int)unit->prefetch, "active",
		(int)unit->active, "running", (int)unit->running, "config", unit->config, "key", unit->key, "model", model,
		"expect", unit_model_expect(unit), "obstacle", unit_health_obstacle(unit));
}

json_t *
engine_devices(const struct engine *engine)
{
	json_t *list = json_array();
	for (const struct device *device = engine->devices; device; device = device->next) {
		json_t *units = json_array();
		for (const struct unit *unit = device->units; unit; unit = unit->next)
			if (!unit->removed || unit->active)
				(void)json_array_append_new(units, describe_unit(engine, unit));
		size_t waiting = fair_queue_length(device->queue) + device->awaiting_units.count + device->budget.waiting.count;
		json_t *spent = budget_reason(device);
		if (json_array_size(units) == 0 && waiting == 0) {
			json_decref(spent);
			json_decref(units); /* gone, and no request waits for it */
			continue;
		}
		(void)json_array_append_new(list,
			json_pack("{s:s, s:I, s:o*, s:o*, s:o*, s:o}", "name", device->name, "queued", (json_int_t)waiting, "waits",
				spent     ? spent
				: waiting ? multi_device_shortage(device)
						  : NULL,
				"wait_s", spent ? NULL : expected_wait_next(engine, device), "budget", budget_describe(device), "units",
				units));
	}
	return list;
}
