/* SPDX-License-Identifier: MIT */
/* The devices. */
#include <config.h>

#include "web/site/site.h"

#include "base/json_access.h"

#define HISTORY_MAX 20 /* calibrations that are shown of a unit */

/* The times of a calibration: {"name", "ns", "percent": how far they spread, or null}. New reference. */
static json_t *
times_of(const json_t *calibration)
{
	json_t *times = json_array();
	json_object_each(json_object_get(calibration, "names"), name, ns) {
		json_t *spread = json_object_get(json_object_get(calibration, "spreads"), name);
		json_array_append_new(times, json_pack("{s:s, s:O, s:o}", "name", name, "ns", ns, "percent",
										 spread ? json_sprintf("%.2g", json_number_value(spread) * 100) : json_null()));
	}
	return times;
}

/* Adds to each unit its newest calibrations, the newest first. The core may give its answers to others, too. */
static void
finish(const struct visit *visit, json_t *model)
{
	json_t *devices = json_deep_copy(json_object_get(model, "devices"));
	(void)visit;
	json_array_each(devices, device)
		json_array_each(json_object_get(device, "units"), unit) {
			json_t *history = json_array();
			json_array_each(json_object_get(model, "calibrations"), calibration)
				if (json_array_size(history) < HISTORY_MAX &&
					member_is(calibration, "unit", json_text_or_empty(unit, "unit")))
					json_array_append_new(history, json_pack("{s:O, s:o}", "at", json_object_get(calibration, "at"),
													   "times", times_of(calibration)));
			json_object_set_new(unit, "history", history);
		}
	json_object_set_new(model, "devices", devices);
}

/* Devices as they are known: what waits for a machine's answer is left to others. */
const struct site_page pages_devices[] = {
	{.path = "devices",
		.template = "devices",
		.title = "Devices",
		.data = "/api/v1/device.list",
		.reads = {{"devices", "device.list", "known=true"}, {"calibrations", "device.calibrations", "limit=1000"}},
		.finish = finish,
		.kept = true},
	{.path = NULL},
};
