/* SPDX-License-Identifier: MIT */
/*
 * A user's page, and what is a user's own.
 *
 * A user who is hidden and one who does not exist get the same answer. The pages below the user's are for that user
 * alone: their commands act as the user of the session, and the name in the path must be that user's.
 */
#include <config.h>

#include <time.h>

#include "base/base.h"
#include "common/format.h"
#include "web/site/site.h"
#include "web/visit/respond.h"

#define WEEKS 53
#define WEEK 7     /* days */
#define SPACING 13 /* of cells, which are 10 wide */
#define TOP 14     /* where the cells begin, below the months */
#define DAY_S 86400
#define THURSDAY 3 /* days after Monday */

/* ---- for all of these pages ---- */

/* Whether the path names the user of the session; for other users the page is 404. */
static bool
is_own(const struct visit *visit)
{
	const char *user = session_user(visit);
	return user && strcmp(site_segment(visit, 1), user) == 0;
}

/* ---- the public page ---- */

/* A hidden user's answer has no ranks; an unknown user has no answer: both give 404. */
static bool
is_shown(const struct visit *visit)
{
	return member_int(visit->data, "read") == 0 || site_model(visit, "page.ranks");
}

/* ---- the days of activity of a year, as a picture ---- */

/* The first days of months that begin in the weeks, but for the last ones, whose names would not fit. New reference. */
static json_t *
months_of(int64_t begin_ms)
{
	json_t *months = json_array();
	for (int day = 0; day < (WEEKS - 2) * WEEK; day++) {
		char label[sizeof("Jan")];
		struct tm date;
		time_t at = (time_t)(begin_ms / 1000) + (time_t)day * DAY_S;
		(void)gmtime_r(&at, &date);
		(void)strftime(label, sizeof(label), "%b", &date);
		if (date.tm_mday == 1)
			json_array_append_new(months, json_pack("{s:i, s:s}", "x", day / WEEK * SPACING, "label", label));
	}
	return months;
}

/*
 * Adds to a model, of days [{"day": 2026-01-31, "submissions"}, …]: `days`, those of the 53 weeks until now, the newest first,
 * with {"x", "y", "level": 1 to 4}, their places in a picture with a column for each week, which begins on Monday; `total`,
 * the submissions on them; and `months` [{"x", "label"}].
 */
static void
add_activity(json_t *model, const json_t *days, int64_t now_ms)
{
	static const json_int_t least[] = {2, 4, 8}; /* submissions of a day of each level above 1 */
	json_t *shown = json_array();
	json_int_t total = 0;
	int64_t day_ms = INT64_C(1000) * DAY_S, today = now_ms / day_ms, at_ms;
	/* The first day of 1970 was a Thursday. */
	int64_t begin = today - (today + THURSDAY) % WEEK - (WEEKS - 1) * WEEK;
	json_array_each(days, one) {
		if (!format_parse_time(json_text_or_empty(one, "day"), &at_ms) || at_ms / day_ms < begin)
			continue;
		int64_t day = at_ms / day_ms - begin;
		json_int_t count = member_int(one, "submissions");
		int level = 1;
		while (level <= (int)ARRAY_SIZE(least) && count >= least[level - 1])
			level++;
		json_t *cell = json_copy(one);
		json_object_update_new(cell,
			json_pack("{s:I, s:I, s:i}", "x", day / WEEK * SPACING, "y", TOP + day % WEEK * SPACING, "level", level));
		json_array_insert_new(shown, 0, cell);
		total += count;
	}
	json_object_update_new(
		model, json_pack("{s:o, s:I, s:o}", "days", shown, "total", total, "months", months_of(begin * day_ms)));
}

/* ---- rankings ---- */

/* A ranking of a user, with the way to its score. New reference. */
static json_t *
rank_row(json_t *rank)
{
	const json_t *history = json_object_get(rank, "history");
	size_t count = json_array_size(history);
	json_t *row = json_copy(rank), *first = count > 1 ? json_array_get(history, 0) : NULL;
	json_object_update_new(row,
		json_pack("{s:I, s:O?, s:o, s:O?, s:O?}", "improvements", (json_int_t)count - 1, "first", first, "factor",
			json_sprintf("%.3g times as fast", member_number(first, "score") / member_number(rank, "score")),
			"previous", first ? json_array_get(history, count - 2) : NULL, "last", json_array_get(history, count - 1)));
	return row;
}

static void
finish_page(const struct visit *visit, json_t *model)
{
	json_t *ranks = json_array(), *records = json_array();
	json_array_each(site_model(visit, "page.ranks"), rank) {
		json_t *row = rank_row(rank);
		json_array_append_new(ranks, row);
		if (member_int(rank, "rank") == 1)
			json_array_append(records, row);
	}
	json_object_update_new(model, json_pack("{s:o, s:o}", "ranks", ranks, "records", records));
	add_activity(model, site_model(visit, "page.activity"), visit->web->host->utc_ms(visit->web->host));
}

/* ---- settings ---- */

static void
respond_export(struct visit *visit)
{
	const struct http_header headers[] = {respond_uncached[0], respond_uncached[1],
		{"Content-Disposition", "attachment; filename=\"kettle-export.json\""}, {NULL, NULL}};
	AUTO_FREE char *text = json_dumps(site_model(visit, "export"), JSON_INDENT(1));
	http_answer(visit->request, STATUS_OK, http_content_new("application/json", text, strlen(text), headers));
	visit_end(visit);
}

#define OWN .guard = is_own, .needs_user = true

const struct site_page pages_user[] = {
	{.path = "user/*",
		.template = "user",
		.title = "{page.user_name}",
		.reads = {{"page", "user.page", "name=/1", true}},
		.guard = is_shown,
		.finish = finish_page},
	{.path = "user/*/submissions",
		.query = "board state page ",
		.template = "user_submissions",
		.title = "Your submissions",
		.data = "/api/v1/submission.list",
		.reads = {{"submissions", "submission.list", "leaderboard=?board state=?state limit=100 offset=+100"},
			{"leaderboards", "leaderboard.list", "all=true short=true"}},
		.rows = "submissions",
		OWN},
	{.path = "user/*/submissions/delete",
		.template = "confirm",
		.title = "Delete all {account.submissions} submissions",
		.reads = {{"account", "user.show"}},
		.back = "../settings",
		.form = {"submission.delete_own", .next = "../submissions"},
		OWN},
	{.path = "user/*/tokens",
		.template = "user_tokens",
		.title = "Your tokens and logins",
		.data = "/api/v1/token.list",
		.reads = {{"tokens", "token.list"}},
		.form = {"token.create", "name=::name expires=:expires"},
		OWN},
	{.path = "user/*/tokens/*",
		.template = "confirm",
		.title = "Revoke {path.3}",
		.back = "../tokens",
		.form = {"token.revoke", "name=/3", "../tokens"},
		OWN},
	{.path = "user/*/settings",
		.template = "user_settings",
		.title = "Your settings",
		.data = "/api/v1/user.show",
		.reads = {{"account", "user.show"}},
		.form = {"user.update", "profile=::profile", "settings"},
		OWN},
	{.path = "user/*/delete",
		.template = "confirm",
		.title = "Delete the account",
		.back = "settings",
		.form = {"user.delete", .next = "/", .ends_session = true},
		OWN},
	{.path = "user/*/export",
		.query = "after ",
		.reads = {{"export", "user.export", "after=#after"}},
		.respond = respond_export,
		OWN},
	{.path = NULL},
};
