/* SPDX-License-Identifier: MIT */
/* A board's scores over time, and its feed, which is also a view for a big screen (`?wall`). */
#include <config.h>

#include <math.h>

#include "base/base.h"
#include "common/value.h"
#include "web/site/site.h"

#define PLACES_MAX 100 /* that the feed knows: those of the first page of a ranking */
#define WALL_PLACES 20
#define TREND "name=/1 device=?device mine=true"

/* ---- over time ---- */

/*
 * Makes the rows of a table from points, the newest first, each with its difference from the record before, as `percent`,
 * and what of it may be read. New reference.
 */
static json_t *
rows_of(const json_t *points, const char *user, bool code_open)
{
	json_t *rows = json_array();
	const json_t *before = NULL;
	json_array_each(points, point) {
		bool readable = code_open || (user && member_is(point, "user_name", user));
		bool both = code_open || (readable && before && member_is(before, "user_name", user));
		double percent = 100 * (value_number(point, "score") / value_number(before, "score") - 1);
		json_t *row = json_copy(point);
		json_object_update_new(
			row, json_pack("{s:o, s:O?, s:b}", "percent", isfinite(percent) ? json_real(percent) : json_null(),
					 "before", both ? json_object_get(before, "submission_id") : NULL, "readable", readable));
		json_array_insert_new(rows, 0, row);
		before = point;
	}
	return rows;
}

static void
finish_trend(const struct visit *visit, json_t *model)
{
	const json_t *chosen = site_model(visit, "chosen.trends");
	json_t *panels = json_deep_copy(chosen ? chosen : site_model(visit, "trend.trends"));
	json_array_each(panels, panel) {
		json_t *lines = json_object_get(panel, "series");
		json_int_t records = member_int(json_array_get(lines, 0), "count");
		json_array_each(lines, line) {
			json_t *rows = rows_of(json_object_get(line, "points"), session_user(visit),
				json_is_true(site_model(visit, "board.code_open")));
			json_object_update_new(
				line, json_pack("{s:b, s:o, s:O}", "cut", member_int(line, "count") > (json_int_t)json_array_size(rows),
						  "rows", rows, "user", json_object_get(line, "user_name")));
		}
		json_object_update_new(panel, json_pack("{s:b, s:b}", "drawn", records > 1, "lone", records == 1));
	}
	json_object_set_new(model, "panels", panels);
}

/* ---- the feed ---- */

static json_t *
args_ranking(const struct visit *visit)
{
	return json_pack(
		"{s:s, s:i}", "name", site_segment(visit, 1), "limit", site_query(visit, "wall") ? WALL_PLACES : PLACES_MAX);
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
				items, json_pack("{s:O, s:b, s:s, s:O, s:O?}", "of", submission, "readable", readable, "device", device,
						   "score", json_object_get(run, "score"), "rank", json_object_get(places, key)));
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
	const char *user = session_user(visit);
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
	json_object_update_new(
		model, json_pack("{s:O?, s:o, s:o, s:O, s:b}", "last", json_array_get(items, 0), "items", items, "best", best,
				   "older", json_object_get(feed, "next"), "newest", !site_number(visit, "before")));
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
			{"podiums", "leaderboard.podiums", "name=/1"}},
		.finish = finish_feed,
		.kept = true},
	{.path = NULL},
};
