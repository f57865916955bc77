/* SPDX-License-Identifier: MIT */
/* A board's ranking, and the pictures of boards and submissions. */
#include <config.h>

#include "web/site/parts.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/contents.h"
#include "base/json_access.h"
#include "common/format.h"

#define DESCRIPTION_LONG 300        /* bytes of one that is folded */
#define PICTURE_KEEP_MS (60 * 1000) /* its end is the present time */

/* ---- what is read ---- */

/* The ranking of the page's device as the board's read has it. */
static const json_t *
ranking_of(const struct visit *visit)
{
	const json_t *rankings = json_object_get(site_model(visit, "board"), "rankings");
	const char *wanted = site_query(visit, "device");
	json_array_each(rankings, ranking)
		if (wanted && strcasecmp(json_text_or_empty(ranking, "device"), wanted) == 0)
			return ranking;
	return json_array_get(rankings, 0);
}

/* Where a user is who is looked for; NULL: not in the ranking. */
static const json_t *
sought_of(const struct visit *visit)
{
	const json_t *rankings = json_object_get(site_model(visit, "sought"), "rankings");
	const json_t *found = json_object_get(json_array_get(rankings, 0), "found");
	return json_is_object(found) ? found : NULL;
}

/* How many places are before the page. */
static json_int_t
start_of(const struct visit *visit)
{
	const json_t *sought = sought_of(visit);
	return sought ? member_int(sought, "offset") / SITE_ROWS * SITE_ROWS : (site_page_number(visit) - 1) * SITE_ROWS;
}

/* The page's entries, and the one before them. */
static json_t *
args_ranking(const struct visit *visit)
{
	json_int_t start = start_of(visit);
	bool more = start > 0;
	const char *wanted = site_query(visit, "device");
	/* A device that the board lacks is refused by the command. */
	return json_pack("{s:s, s:s*, s:i, s:I}", "name", site_segment(visit, 1), "device",
		wanted ? wanted : json_text_or_null(ranking_of(visit), "device"), "limit", SITE_ROWS + more, "offset",
		start - more);
}

/* ---- what is shown ---- */

/* How much more a score is, as text; null: nothing to compare with. */
static json_t *
gap_of(double score, double than)
{
	char text[FORMAT_SIZE];
	format_change((score / than - 1) * 100, text);
	return isfinite(score / than) ? json_string(text) : json_null();
}

/* A row of the table: the entry, and what is computed from those around it. */
static json_t *
row_of(const struct visit *visit, const json_t *entry, const json_t *above)
{
	const char *user = site_user(visit), *name = json_text_or_empty(entry, "user_name");
	double score = member_number(entry, "submission_score");
	json_int_t rank = member_int(entry, "rank");
	const json_t *first = json_array_get(json_object_get(ranking_of(visit), "entries"), 0);
	json_t *row = json_copy((json_t *)entry);
	bool mine = user && strcmp(user, name) == 0;
	double above_score = member_number(above, "submission_score");
	bool sought = sought_of(visit) && member_is(json_object_get(sought_of(visit), "entry"), "user_name", name);
	json_object_update_new(
		row, json_pack("{s:s, s:o, s:b, s:o, s:b, s:b, s:b}", "medal", site_medal(rank), "gap",
				 gap_of(score, above_score), "far", score / above_score >= 2, "gap_first",
				 rank > 1 ? gap_of(score, member_number(first, "submission_score")) : json_null(), "mine", mine,
				 "sought", sought, "code", mine || member_true(site_model(visit, "board"), "code_open")));
	return row;
}

static json_t *
rows_of(const struct visit *visit, const json_t *entries, bool skip)
{
	json_t *rows = json_array();
	for (size_t i = skip; i < json_array_size(entries); i++)
		json_array_append_new(
			rows, row_of(visit, json_array_get(entries, i), i > 0 ? json_array_get(entries, i - 1) : NULL));
	return rows;
}

/* The user's own row where the page has not got it, with the number of its page; else null. */
static json_t *
pinned_of(const struct visit *visit)
{
	const json_t *found = json_object_get(ranking_of(visit), "found");
	json_int_t offset = member_int(found, "offset"), start = start_of(visit);
	if (!json_is_object(found) || (offset >= start && offset < start + SITE_ROWS))
		return json_null();
	json_t *row = row_of(visit, json_object_get(found, "entry"), NULL);
	json_object_set_new(row, "page", json_integer(offset / SITE_ROWS + 1));
	return row;
}

static json_t *
devices_of(const struct visit *visit)
{
	json_t *devices = json_array();
	json_array_each(json_object_get(site_model(visit, "board"), "rankings"), ranking)
		json_array_append_new(devices, json_pack("{s:O, s:O, s:b}", "name", json_object_get(ranking, "device"), "count",
										   json_object_get(ranking, "count"), "current", ranking == ranking_of(visit)));
	return devices;
}

/* The numbers of the pages around this one. */
static void
add_pages(json_t *model, json_int_t start, json_int_t count)
{
	json_int_t page = start / SITE_ROWS + 1, pages = (count + SITE_ROWS - 1) / SITE_ROWS;
	json_object_update_new(
		model, json_pack("{s:b, s:I, s:I, s:o, s:o, s:b}", "several_pages", pages > 1, "page", page, "pages", pages,
				   "previous", page > 1 ? json_integer(page <= pages ? page - 1 : pages) : json_null(), "next",
				   page < pages ? json_integer(page + 1) : json_null(), "is_past", count > 0 && start >= count));
}

static bool
is_opening(const struct visit *visit, const json_t *board)
{
	int64_t ms;
	const struct kettle_host *host = visit->web->host;
	const char *opens = json_text_or_null(board, "opens");
	return opens && format_parse_time(opens, &ms) && ms > host->utc_ms(host);
}

static void
finish(const struct visit *visit, json_t *model)
{
	const json_t *board = json_object_get(site_model(visit, "board"), "leaderboard");
	const json_t *ranking = json_array_get(json_object_get(site_model(visit, "ranking"), "rankings"), 0);
	const char *find = site_query(visit, "find"), *description = json_text_or_empty(board, "description");
	json_int_t start = start_of(visit), count = member_int(ranking, "count");
	add_pages(model, start, count);
	json_object_update_new(
		model, json_pack("{s:O?, s:I, s:o, s:o, s:o, s:s?, s:b, s:b, s:s, s:n, s:b}", "device",
				   json_object_get(ranking, "device"), "count", count, "devices", devices_of(visit), "rows",
				   rows_of(visit, json_object_get(ranking, "entries"), start > 0), "pinned", pinned_of(visit), "find",
				   find, "is_unfound", find && !sought_of(visit), "opening", is_opening(visit, board),
				   "markdown_source", description, "markdown", "is_long", strlen(description) > DESCRIPTION_LONG));
}

/* ---- pictures ---- */

static void
respond_picture(struct visit *visit)
{
	AUTO_FREE char *bytes = NULL;
	size_t size = 0;
	struct kettle_error err = {0};
	if (contents_bytes(site_model(visit, "picture"), &bytes, &size, &err) < 0) {
		visit_fail(visit, &err);
		return;
	}
	site_send(visit, &(struct page_body){"image/png", bytes, size, PICTURE_KEEP_MS});
}

const struct site_page pages_board[] = {
	{.path = "board/*",
		.query = "device page find ",
		.template = "board",
		.title = "{board.leaderboard.name}",
		.data = "/api/v1/leaderboard.show?name={board.leaderboard.name}",
		.about = "{board.leaderboard.description:line}",
		.picture = "{board.leaderboard.visibility=public?/board/{board.leaderboard.name}/picture.png}",
		.reads = {{"board", "leaderboard.show", SITE_BOARD " find=@"},
			{"sought", "leaderboard.show", "name=/1 device=?device limit=1 find=?find !?find", true},
			{"ranking", "leaderboard.show", .make = args_ranking}},
		.finish = finish,
		.kept = true},
	{.path = "board/*/picture.png",
		.reads = {{"picture", "leaderboard.plot", "name=/1 format=png"}},
		.respond = respond_picture,
		.kept = true,
		.public = true},
	{.path = "submission/*/picture.png",
		.reads = {{"submission", "submission.show", "id=/1"},
			{"picture", "leaderboard.plot", "name=.submission.leaderboard_name of=.submission.user_name format=png"}},
		.respond = respond_picture,
		.kept = true,
		.public = true},
	{.path = NULL},
};
