/* SPDX-License-Identifier: MIT */
/* A board's ranking, and the pictures of boards and submissions. */
#include <config.h>

#include "web/site/site.h"

#include <math.h>

#include "base/base.h"
#include "base/contents.h"
#include "common/format.h"

#define DESCRIPTION_LONG 300        /* bytes of one that is folded */
#define FAR 2                       /* times the score of the entry above, from which a gap is marked */
#define PICTURE_KEEP_MS (60 * 1000) /* its end is the present time */

/* ---- what is read ---- */

/* The ranking of the page's device as the board's read has it. */
static const json_t *
ranking_of(const struct visit *visit)
{
	const char *device = json_string_value(site_model(visit, "ranking.rankings.0.device"));
	return list_find(site_model(visit, "board.rankings"), "device", device ? device : "");
}

/* The number of places before the page. */
static json_int_t
start_of(const struct visit *visit)
{
	const json_t *sought = site_model(visit, "sought.rankings.0.found");
	return sought ? member_int(sought, "offset") / SITE_ROWS * SITE_ROWS : (site_page_number(visit) - 1) * SITE_ROWS;
}

/* The page's entries, and the one before them. */
static json_t *
args_ranking(const struct visit *visit)
{
	json_int_t start = start_of(visit);
	bool more = start > 0;
	const char *wanted = site_query(visit, "device"),
			   *first = json_string_value(site_model(visit, "board.rankings.0.device"));
	/* A device that the board lacks is refused by the command. */
	return json_pack("{s:s, s:s*, s:i, s:I}", "name", site_segment(visit, 1), "device", wanted ? wanted : first,
		"limit", SITE_ROWS + more, "offset", start - more);
}

/* ---- what is shown ---- */

/* The difference of a score to that of another entry, as text; null: there is none. */
static json_t *
gap_of(double score, const json_t *entry)
{
	char text[FORMAT_SIZE];
	double than = member_number(entry, "submission_score");
	format_change((score / than - 1) * 100, text);
	return isfinite(score / than) ? json_string(text) : json_null();
}

/* A row of the table: the entry, and what is computed from those around it, which may be NULL. */
static json_t *
row_of(const json_t *entry, const json_t *above, const json_t *first)
{
	double score = member_number(entry, "submission_score");
	json_t *row = json_copy((json_t *)entry);
	json_object_update_new(row, json_pack("{s:o, s:b, s:o}", "gap", gap_of(score, above), "far",
									score / member_number(above, "submission_score") >= FAR, "gap_first",
									gap_of(score, member_int(entry, "rank") > 1 ? first : NULL)));
	return row;
}

/* The user's own row where the page has not got it, with the number of its page; else null. */
static json_t *
pinned_of(const struct visit *visit, const json_t *first)
{
	const json_t *found = json_object_get(ranking_of(visit), "found");
	json_int_t offset = member_int(found, "offset"), start = start_of(visit);
	if (!json_is_object(found) || (offset >= start && offset < start + SITE_ROWS))
		return json_null();
	json_t *row = row_of(json_object_get(found, "entry"), NULL, first);
	json_object_set_new(row, "page", json_integer(offset / SITE_ROWS + 1));
	return row;
}

static bool
is_opening(const struct visit *visit, const json_t *board)
{
	int64_t ms;
	const char *opens = json_text_or_null(board, "opens");
	return opens && format_parse_time(opens, &ms) && ms > visit->web->host->utc_ms(visit->web->host);
}

static void
finish(const struct visit *visit, json_t *model)
{
	const json_t *board = site_model(visit, "board.leaderboard");
	const json_t *ranking = site_model(visit, "ranking.rankings.0"), *above = NULL;
	const json_t *first = json_array_get(json_object_get(ranking_of(visit), "entries"), 0);
	json_int_t start = start_of(visit), count = member_int(ranking, "count"), page = start / SITE_ROWS + 1,
			   pages = (count + SITE_ROWS - 1) / SITE_ROWS;
	json_t *rows = json_array();
	json_array_each(json_object_get(ranking, "entries"), entry) {
		if (entry_index > 0 || start == 0)
			json_array_append_new(rows, row_of(entry, above, first));
		above = entry;
	}
	json_object_update_new(
		model, json_pack("{s:O?, s:O?, s:I, s:o, s:o, s:O?, s:b, s:b, s:b, s:I, s:I, s:o, s:o, s:b}", "shown_device",
				   json_object_get(ranking, "device"), "limit", json_object_get(ranking, "limit"), "count", count,
				   "rows", rows, "pinned", pinned_of(visit, first), "found_name",
				   site_model(visit, "sought.rankings.0.found.entry.user_name"), "opening", is_opening(visit, board),
				   "is_long", strlen(json_text_or_empty(board, "description")) > DESCRIPTION_LONG, "several_pages",
				   pages > 1, "page", page, "pages", pages, "previous",
				   page > 1 ? json_integer(page <= pages ? page - 1 : pages) : json_null(), "next",
				   page < pages ? json_integer(page + 1) : json_null(), "is_past", count > 0 && start >= count));
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
		.markdown = "board.leaderboard.description",
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
