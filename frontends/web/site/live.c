/* SPDX-License-Identifier: MIT */
/* A board's scores over time, and its feed, which is also a view for a big screen (`?wall`). */
#include <config.h>

#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "common/value.h"
#include "web/site/parts.h"

#define PLACES_MAX 1000 /* that the feed knows */
#define WALL_PLACES 20
#define TREND "name=/1 device=?device mine=true"

/* ---- over time ---- */

/*
 * Makes the rows of a table from points, the newest first, each with what it gained on the record before. *ret_linked:
 * whether the code of one may be read. New reference.
 */
static json_t *
rows_of(const json_t *points, const char *user, bool code_open, bool *ret_linked)
{
	json_t *rows = json_array();
	const json_t *before = NULL;
	json_array_each(points, point) {
		double was = value_number(before, "score");
		bool is_own = user && member_is(point, "user_name", user);
		*ret_linked = *ret_linked || code_open || is_own;
		bool both = code_open || (is_own && before && member_is(before, "user_name", user));
		json_t *row = json_copy((json_t *)point);
		json_object_update_new(row,
			json_pack("{s:o, s:o, s:b}", "change", site_change(100 * (value_number(point, "score") / was - 1), NULL),
				"before", before && both ? json_incref(json_object_get(before, "submission_id")) : json_null(),
				"readable", code_open || is_own));
		json_array_insert_new(rows, 0, row);
		before = point;
	}
	return rows;
}

/* A device's part of the page, with `series` as lines of a chart and tables. New reference. */
static json_t *
panel_of(const json_t *trend, const char *user, bool code_open)
{
	json_t *lines = json_array();
	json_array_each(json_object_get(trend, "series"), series) {
		const char *name = json_text_or_null(series, "user_name");
		json_int_t count = member_int(series, "count");
		if (name && !count)
			continue;
		bool linked = false;
		json_t *rows = rows_of(json_object_get(series, "points"), user, code_open, &linked);
		json_array_append_new(lines, json_pack("{s:s?, s:I, s:b, s:b, s:o}", "user", name, "count", count, "linked",
										 linked, "cut", count > (json_int_t)json_array_size(rows), "rows", rows));
	}
	size_t records = json_array_size(json_object_get(json_array_get(lines, 0), "rows"));
	return json_pack("{s:O, s:b, s:b, s:o}", "device", json_object_get(trend, "device"), "drawn", records > 1, "lone",
		records == 1, "lines", lines);
}

static void
finish_trend(const struct visit *visit, json_t *model)
{
	const json_t *chosen = json_object_get(model, "chosen"), *board = json_object_get(model, "board");
	const json_t *trend = chosen ? chosen : json_object_get(model, "trend");
	const char *device = site_query(visit, "device"), *user = site_query(visit, "user");
	json_t *panels = json_array(), *devices = json_array();
	json_array_each(json_object_get(trend, "trends"), of_device)
		json_array_append_new(panels, panel_of(of_device, site_user(visit), member_true(board, "code_open")));
	json_array_each(json_object_get(json_object_get(board, "leaderboard"), "gpu_types"), name)
		json_array_append_new(devices,
			json_pack("{s:O, s:b}", "name", name, "selected", device && strcmp(device, json_string_value(name)) == 0));
	json_object_update_new(model, json_pack("{s:o, s:o, s:s, s:b}", "panels", panels, "devices", devices, "users",
									  user ? user : "", "unranked", !chosen && user));
}

/* ---- the feed ---- */

static json_t *
args_ranking(const struct visit *visit)
{
	return json_pack(
		"{s:s, s:i}", "name", site_segment(visit, 1), "limit", site_query(visit, "wall") ? WALL_PLACES : PLACES_MAX);
}

/* The view for a big screen and older results are without them. */
static json_t *
args_podiums(const struct visit *visit)
{
	bool is_shown = !site_query(visit, "wall") && !site_number(visit, "before");
	return is_shown ? json_pack("{s:s}", "name", site_segment(visit, 1)) : NULL;
}

/* The key of a submission's run on a device. New string. */
static char *
run_key(const json_t *submission, const char *id, const char *device)
{
	return xasprintf("%lld %s", (long long)member_int(submission, id), device);
}

/* Adds a submission's ranked runs to the items of the feed. places: ranks by run_key. */
static void
add_items(json_t *items, const json_t *submission, const json_t *places, bool readable)
{
	if (!member_is(submission, "mode", "ranked") || member_true(submission, "practice") ||
		json_text_or_null(submission, "flagged"))
		return;
	json_array_each(json_object_get(submission, "runs"), run) {
		const char *device = json_text_or_empty(run, "gpu_type");
		AUTO_FREE char *key = run_key(submission, "id", device);
		if (member_is(run, "state", "passed") && json_is_number(json_object_get(run, "score")))
			json_array_append_new(
				items, json_pack("{s:O, s:b, s:O, s:O, s:s, s:O, s:O?}", "id", json_object_get(submission, "id"),
						   "readable", readable, "time", json_object_get(submission, "submission_time"), "user_name",
						   json_object_get(submission, "user_name"), "device", device, "score",
						   json_object_get(run, "score"), "rank", json_object_get(places, key)));
	}
}

/*
 * The ranked runs of the feed with their places, and the first places. A page of the feed has the most submissions that one
 * may have: those that are a user's own or an organizer's other ones are among them, and left out.
 */
static void
finish_feed(const struct visit *visit, json_t *model)
{
	const json_t *feed = json_object_get(model, "feed"), *board = json_object_get(model, "board");
	const char *user = site_user(visit);
	json_t *items = json_array(), *best = json_array();
	AUTO_JSON json_t *places = json_object();
	json_array_each(json_object_get(board, "rankings"), ranking)
		json_array_each(json_object_get(ranking, "entries"), entry) {
			AUTO_FREE char *key = run_key(entry, "submission_id", json_text_or_empty(entry, "gpu_type"));
			json_object_set(places, key, json_object_get(entry, "rank"));
			if (entry_index == 0)
				json_array_append(best, entry);
		}
	json_array_each(json_object_get(feed, "submissions"), submission)
		add_items(items, submission, places,
			member_true(board, "code_open") || (user && member_is(submission, "user_name", user)));
	json_object_update_new(model, json_pack("{s:O?, s:o, s:o, s:O, s:b, s:b}", "last", json_array_get(items, 0),
									  "items", items, "best", best, "older", json_object_get(feed, "next"), "newest",
									  !site_number(visit, "before"), "wall", site_query(visit, "wall") != NULL));
}

const struct site_page pages_live[] = {
	{.path = "board/*/trend",
		.query = "device user ",
		.template = "trend",
		.title = "{board.leaderboard.name} over time",
		.data = "/api/v1/leaderboard.trend?name={board.leaderboard.name}",
		.reads = {{"board", "leaderboard.show", SITE_BOARD}, {"trend", "leaderboard.trend", TREND},
			/* One who is not ranked fails, and this read is left out. */
			{"chosen", "leaderboard.trend", TREND " user=?user !?user", true}},
		.finish = finish_trend,
		.kept = true},
	{.path = "board/*/feed",
		.query = "before wall ",
		.template = "feed",
		.title = "New on {board.leaderboard.name}",
		.data = "/api/v1/submission.feed?leaderboard={board.leaderboard.name}",
		.reads = {{"board", "leaderboard.show", .make = args_ranking},
			{"feed", "submission.feed", "leaderboard=/1 limit=100 before=#before"},
			{"podiums", "leaderboard.podiums", .make = args_podiums}},
		.finish = finish_feed,
		.kept = true},
	{.path = NULL},
};
