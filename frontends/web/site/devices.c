/* SPDX-License-Identifier: MIT */
/* The devices. */
#include <config.h>

#include "web/site/parts.h"

#include <string.h>

#include "base/json_access.h"
#include "base/xalloc.h"

static json_t *
calibration_of(const json_t *calibration)
{
	json_t *rows = json_array();
	if (!calibration) {
		json_decref(rows);
		return json_null();
	}
	json_object_each(json_object_get(calibration, "names"), name, ns) {
		json_t *spread = json_object_get(json_object_get(calibration, "spreads"), name);
		json_array_append_new(rows, json_pack("{s:s, s:O, s:o}", "name", name, "ns", ns, "percent",
										spread ? json_sprintf("%.2g", json_number_value(spread) * 100) : json_null()));
	}
	return json_pack("{s:O, s:O, s:o}", "at", json_object_get(calibration, "at"), "changed",
		json_object_get(calibration, "changed"), "rows", rows);
}

static json_t *
unit_of(const json_t *given)
{
	json_t *unit = site_filled(given, "reason cause obstacle model version level machine gpus gpu_error"),
		   *packages = json_array();
	json_object_each(json_object_get(given, "packages"), tool, versions)
		json_array_append_new(packages, json_pack("{s:s, s:o}", "tool", tool, "versions", site_rows(versions)));
	json_object_set_new(unit, "tools", site_rows(json_object_get(given, "tools")));
	json_object_set_new(unit, "packages", packages);
	json_object_set_new(unit, "calibration", calibration_of(json_object_get(given, "calibration")));
	json_object_set_new(unit, "off", json_boolean(member_is(unit, "state", "disabled")));
	json_array_each_at(json_object_get(given, "gpus"), i, gpu) {
		if (i == 0)
			json_object_set_new(unit, "gpus", json_array());
		json_array_append_new(
			json_object_get(unit, "gpus"), site_filled(gpu, "name driver memory temperature throttle"));
	}
	return unit;
}

/* The user's submissions that a device has not ended. New reference. */
static json_t *
mine_on(const json_t *submissions, const char *device)
{
	json_t *mine = json_array();
	json_array_each(submissions, submission)
		json_array_each(json_object_get(submission, "runs"), run)
			if (member_is(run, "gpu_type", device) &&
				(member_is(run, "state", "queued") || member_is(run, "state", "running")))
				json_array_append_new(
					mine, json_pack("{s:O, s:O, s:O}", "id", json_object_get(submission, "id"), "board",
							  json_object_get(submission, "leaderboard_name"), "state", json_object_get(run, "state")));
	return mine;
}

void
devices_finish(const struct visit *visit, json_t *model)
{
	json_t *devices = json_array();
	json_array_each(json_object_get(model, "devices"), given) {
		json_t *device = site_filled(given, "waits wait_s paused budget remarks"), *units = json_array();
		json_array_each(json_object_get(given, "units"), unit)
			json_array_append_new(units, unit_of(unit));
		json_object_set_new(device, "units", units);
		json_object_set_new(device, "mine", mine_on(json_object_get(model, "mine"), json_text_or_empty(given, "name")));
		json_array_append_new(devices, device);
	}
	json_object_set_new(model, "devices", devices);
	const json_t *me = site_model(visit, "me");
	json_object_set_new(
		model, "operates", json_boolean(member_is(me, "role", "admin") || member_is(me, "role", "creator")));
}

/*
 * Devices as they are known: what waits for a machine's answer is left to others. Of the newest submissions of the user
 * those that wait or run are looked for.
 */
static const struct site_page pages[] = {
	{.path = "devices",
		.template = "devices",
		.title = "Devices",
		.data = "/api/v1/device.list",
		.reads = {{"devices", "device.list", "known=true"}, {"me", "user.show", "!@", true},
			{"mine", "submission.list", "limit=50 !@", true}},
		.finish = devices_finish,
		.kept = true},
	{.path = NULL},
};

const struct site_part part_devices = {pages, NULL};
