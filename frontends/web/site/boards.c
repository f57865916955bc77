/* SPDX-License-Identifier: MIT */
/* The first page: the leaderboards; and invitations to them: what a code opens, and its use. */
#include <config.h>

#include "web/site/site.h"

#include "base/json_access.h"

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
finish(const struct visit *visit, json_t *model)
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

const struct site_page pages_boards[] = {
	{.path = "",
		.template = "boards",
		.title = "Leaderboards",
		.data = "/api/v1/leaderboard.overview",
		.reads = {{"boards", "leaderboard.overview"}},
		.finish = finish,
		.kept = true},
	{.path = "join/*",
		.template = "join",
		.title = "Invitation",
		.reads = {{"invite", "leaderboard.join", "code=/1 dry_run=true"}},
		.form = {"leaderboard.join", "code=/1", "/join/{result.code}"}},
	{.path = NULL},
};
