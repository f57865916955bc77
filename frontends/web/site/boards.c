/* SPDX-License-Identifier: MIT */
/*
 * Pages that lead to the others: the leaderboards, invitations to them (what a code opens, and its use), the devices, and
 * the API, which needs no script.
 */
#include <config.h>

#include "web/site/site.h"

#include <pthread.h>

#include "base/json_access.h"
#include "web/api/openapi.h"

/* ---- leaderboards ---- */

/* By how much the best score of a device became better in a day, as text; null: it did not. */
static json_t *
change_of(const json_t *device)
{
	double before = member_number(device, "day_ago");
	double now = member_number(json_array_get(json_object_get(device, "first"), 0), "score");
	return now < before ? json_sprintf("%.1f %%", (before - now) / before * 100) : json_null();
}

/* The device with the most users. */
static json_t *
busiest_of(const json_t *board)
{
	json_t *busiest = NULL;
	json_array_each(json_object_get(board, "devices"), device)
		if (!busiest || member_int(device, "ranked") > member_int(busiest, "ranked"))
			busiest = device;
	return busiest;
}

/* The devices on which the user has a place. */
static json_t *
places_of(const json_t *board)
{
	json_t *places = json_array();
	json_array_each(json_object_get(board, "devices"), device)
		if (json_is_object(json_object_get(device, "own")))
			json_array_append(places, device);
	return places;
}

/* The list of a page to which a board belongs. */
static const char *
list_of(const json_t *board)
{
	return member_true(board, "ended") ? "ended" : member_true(board, "opened") ? "open" : "soon";
}

/* Answers are shared: what is added to boards goes to copies of them. */
static void
finish_boards(const struct visit *visit, json_t *model)
{
	json_object_update_new(model, json_pack("{s:[], s:[], s:[], s:[]}", "open", "soon", "ended", "continue"));
	json_array_each(json_object_get(model, "boards"), found) {
		json_t *board = json_copy(found), *busiest = busiest_of(board);
		size_t others = json_array_size(json_object_get(board, "devices"));
		json_object_update_new(board, json_pack("{s:O?, s:o, s:b, s:o}", "busiest", busiest, "change",
										  change_of(busiest), "several", others > 1, "places", places_of(board)));
		json_array_append(json_object_get(model, list_of(board)), board);
		if (session_user(visit) && member_true(board, "submitted") && !member_true(board, "ended"))
			json_array_append(json_object_get(model, "continue"), board);
		json_decref(board);
	}
}

/* ---- devices ---- */

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
finish_devices(const struct visit *visit, json_t *model)
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

/* ---- the API ---- */

static void
fill_docs(struct web *web, json_t *model)
{
	(void)pthread_mutex_lock(&web->docs_lock);
	if (!web->docs)
		web->docs = openapi_model(web);
	json_object_update(model, web->docs);
	(void)pthread_mutex_unlock(&web->docs_lock);
}

static void
finish_docs(const struct visit *visit, json_t *model)
{
	(void)visit->web->host->answers(visit->web->host); /* made on the loop; the pool only reads them */
	json_object_set_new(json_object_get(json_object_get(model, "site"), "assets"), "kettle", json_null());
}

/* ---- the pages ---- */

const struct site_page pages_boards[] = {
	{.path = "",
		.template = "boards",
		.title = "Leaderboards",
		.data = "/api/v1/leaderboard.overview",
		.reads = {{"boards", "leaderboard.overview"}},
		.finish = finish_boards,
		.kept = true},
	{.path = "join/*",
		.template = "join",
		.title = "Invitation",
		.reads = {{"invite", "leaderboard.join", "code=/1 dry_run=true"}},
		.form = {"leaderboard.join", "code=/1", "/join/{result.code}"}},
	/* As they are known: what waits for a machine's answer is left to others. */
	{.path = "devices",
		.template = "devices",
		.title = "Devices",
		.data = "/api/v1/device.list",
		.reads = {{"devices", "device.list", "known=true"}, {"calibrations", "device.calibrations", "limit=1000"}},
		.finish = finish_devices,
		.kept = true},
	{.path = "docs",
		.template = "docs",
		.title = "The API",
		.data = "/openapi.json",
		.finish = finish_docs,
		.fill = fill_docs,
		.kept = true},
	{.path = NULL},
};
