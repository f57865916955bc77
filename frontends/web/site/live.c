/* SPDX-License-Identifier: MIT */
/* A board's scores over time, and its feed, which is also a view for a big screen (`?wall`). */
#include <config.h>

#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "common/format.h"
#include "common/value.h"
#include "web/site/parts.h"

#define RECORDS_MAX 1000  /* of a device that the feed knows; as many as leaderboard.trend answers */
#define RECORDS_BOARDS 64 /* boards whose records are kept */
#define RECORDS_REST 20   /* times as long as reading them took, they are not read again */
#define RECORDS_WAIT_MS 60000
#define PLACES_MAX 1000 /* likewise of leaderboard.show */
#define WALL_PLACES 20

/* ---- over time ---- */

static json_t *
trend_args(const struct visit *visit)
{
	return json_pack("{s:s, s:s*, s:b}", "name", site_segment(visit, 1), "device", site_query(visit, "device"), "mine",
		site_user(visit) != NULL);
}

/* The same for users who are named; one whom the board does not rank fails, and this read is left out. */
static json_t *
args_chosen(const struct visit *visit)
{
	const char *names = site_query(visit, "user");
	AUTO_JSON json_t *users = names ? site_list(names, ",", NULL) : NULL, *args = trend_args(visit);
	json_object_set(args, "user", users);
	return json_array_size(users) > 0 ? STEAL(args) : NULL;
}

static json_t *
args_trend(const struct visit *visit)
{
	return site_model(visit, "chosen") ? NULL : trend_args(visit);
}

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
		char change[FORMAT_SIZE] = "";
		double score = value_number(point, "score"), was = before ? value_number(before, "score") : 0;
		if (was > 0)
			format_change(100 * (score - was) / was, change);
		bool is_own = user && member_is(point, "user_name", user);
		*ret_linked = *ret_linked || code_open || is_own;
		bool both = code_open || (is_own && before && member_is(before, "user_name", user));
		json_t *row = json_copy((json_t *)point);
		json_object_update_new(
			row, json_pack("{s:s, s:o, s:b}", "change", change, "before",
					 before && both ? json_incref(json_object_get(before, "submission_id")) : json_null(), "readable",
					 code_open || is_own));
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

/*
 * A page of the feed has the most submissions that one may have: those that are a user's own or an organizer's other ones
 * are among them, and left out.
 *
 * The kept records of a board: {"trends", "begun", "until"}. To find them all runs of the board are read, so one visit at a
 * time does it, and others have what was found before.
 */
static json_t *
kept_records(const struct visit *visit)
{
	json_t *kept = visit->web->records;
	json_int_t board = member_int(json_object_get(site_model(visit, "board"), "leaderboard"), "id");
	AUTO_FREE char *key = xasprintf("%lld", (long long)board);
	if (!json_object_get(kept, key) && json_object_size(kept) >= RECORDS_BOARDS)
		json_object_clear(kept);
	if (!json_object_get(kept, key))
		json_object_set_new(kept, key, json_object());
	return json_object_get(kept, key);
}

static json_int_t
now_ms(const struct visit *visit)
{
	return (json_int_t)visit->web->host->monotonic_ms(visit->web->host);
}

static json_t *
args_records(const struct visit *visit)
{
	json_t *kept = kept_records(visit);
	json_int_t now = now_ms(visit);
	if (now < member_int(kept, "until"))
		return NULL;
	json_object_update_new(kept, json_pack("{s:I, s:I}", "begun", now, "until", now + RECORDS_WAIT_MS));
	return json_pack("{s:s, s:i}", "name", site_segment(visit, 1), "limit", RECORDS_MAX);
}

/* The trends with all records of the board's devices, as far as they are known. Borrowed. */
static const json_t *
known_records(const struct visit *visit, const json_t *read)
{
	json_t *kept = kept_records(visit);
	json_int_t now = now_ms(visit);
	if (read)
		json_object_update_new(kept, json_pack("{s:O, s:I}", "trends", json_object_get(read, "trends"), "until",
										 now + RECORDS_REST * (now - member_int(kept, "begun"))));
	return json_object_get(kept, "trends");
}

/* Sets value at the key of a submission's run on a device. */
static void
set_at(json_t *map, json_int_t submission, const char *device, json_t *value)
{
	AUTO_FREE char *key = xasprintf("%lld %s", (long long)submission, device);
	json_object_set(map, key, value);
}

static json_t *
get_at(const json_t *map, json_int_t submission, const char *device)
{
	AUTO_FREE char *key = xasprintf("%lld %s", (long long)submission, device);
	return json_object_get(map, key);
}

/* Adds a submission's ranked runs to the items of the feed. */
static void
add_items(json_t *items, const json_t *submission, const json_t *places, const json_t *records, bool readable)
{
	json_int_t id = member_int(submission, "id");
	if (!member_is(submission, "mode", "ranked") || member_true(submission, "practice") ||
		json_text_or_null(submission, "flagged"))
		return;
	json_array_each(json_object_get(submission, "runs"), run) {
		const char *device = json_text_or_empty(run, "gpu_type");
		json_t *rank = get_at(places, id, device);
		if (!member_is(run, "state", "passed") || !json_is_number(json_object_get(run, "score")))
			continue;
		json_array_append_new(
			items, json_pack("{s:I, s:b, s:O, s:O, s:s, s:O, s:O?, s:b}", "id", id, "readable", readable, "time",
					   json_object_get(submission, "submission_time"), "user_name",
					   json_object_get(submission, "user_name"), "device", device, "score",
					   json_object_get(run, "score"), "rank", rank, "record", get_at(records, id, device) != NULL));
	}
}

/* The runs of the feed by what else is known of them: their places, and whether they were the best ones at their time. */
static void
finish_feed(const struct visit *visit, json_t *model)
{
	const json_t *feed = json_object_get(model, "feed");
	const char *user = site_user(visit);
	bool open = member_true(json_object_get(model, "board"), "code_open");
	json_t *items = json_array(), *best = json_array();
	AUTO_JSON json_t *places = json_object(), *records = json_object();
	json_array_each(json_object_get(json_object_get(model, "board"), "rankings"), ranking)
		json_array_each(json_object_get(ranking, "entries"), entry) {
			set_at(places, member_int(entry, "submission_id"), json_text_or_empty(entry, "gpu_type"),
				json_object_get(entry, "rank"));
			if (entry_index == 0) {
				set_at(records, member_int(entry, "submission_id"), json_text_or_empty(entry, "gpu_type"), entry);
				json_array_append(best, entry);
			}
		}
	json_array_each(known_records(visit, json_object_get(model, "trend")), trend)
		json_array_each(json_object_get(json_array_get(json_object_get(trend, "series"), 0), "points"), point)
			set_at(records, member_int(point, "submission_id"), json_text_or_empty(trend, "device"), point);
	json_array_each(json_object_get(feed, "submissions"), submission)
		add_items(items, submission, places, records, open || (user && member_is(submission, "user_name", user)));
	json_object_update_new(model, json_pack("{s:O?, s:o, s:o, s:O, s:b, s:b}", "last", json_array_get(items, 0),
									  "items", items, "best", best, "older", json_object_get(feed, "next"), "newest",
									  !site_number(visit, "before"), "wall", site_query(visit, "wall") != NULL));
}

static const struct site_page pages[] = {
	{.path = "board/*/trend",
		.query = "device user ",
		.template = "trend",
		.title = "{board.leaderboard.name} over time",
		.data = "/api/v1/leaderboard.trend?name={board.leaderboard.name}",
		.reads = {{"board", "leaderboard.show", SITE_BOARD},
			{"chosen", "leaderboard.trend", .optional = true, .make = args_chosen},
			{"trend", "leaderboard.trend", .make = args_trend}},
		.finish = finish_trend,
		.kept = true},
	{.path = "board/*/feed",
		.query = "before wall ",
		.template = "feed",
		.title = "New on {board.leaderboard.name}",
		.data = "/api/v1/submission.feed?leaderboard={board.leaderboard.name}",
		.reads = {{"board", "leaderboard.show", .make = args_ranking},
			{"feed", "submission.feed", "leaderboard=/1 limit=100 before=#before"},
			{"trend", "leaderboard.trend", .make = args_records}},
		.finish = finish_feed,
		.kept = true},
	{.path = NULL},
};

const struct site_part part_live = {pages, NULL};
