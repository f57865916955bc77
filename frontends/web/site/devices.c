/* SPDX-License-Identifier: MIT */
/* The devices. */
#include <config.h>

#include "web/site/parts.h"

#include "base/json_access.h"

/* Adds to each unit its calibrations, the newest first. The core may give its answers to others, too. */
static void
finish(const struct visit *visit, json_t *model)
{
	json_t *devices = json_deep_copy(json_object_get(model, "devices"));
	(void)visit;
	json_array_each(devices, device)
		json_array_each(json_object_get(device, "units"), unit) {
			json_t *history = json_array();
			json_array_each(json_object_get(model, "calibrations"), calibration)
				if (member_is(calibration, "unit", json_text_or_empty(unit, "unit")))
					json_array_append(history, calibration);
			json_object_set_new(unit, "history", history);
		}
	json_object_set_new(model, "devices", devices);
}

/* Devices as they are known: what waits for a machine's answer is left to others. */
static const struct site_page pages[] = {
	{.path = "devices",
		.template = "devices",
		.title = "Devices",
		.data = "/api/v1/device.list",
		.reads = {{"devices", "device.list", "known=true"}, {"calibrations", "device.calibrations", "limit=200"}},
		.finish = finish,
		.kept = true},
	{.path = NULL},
};

const struct site_part part_devices = {pages, NULL};
