/* SPDX-License-Identifier: MIT */
/*
 * A user's page, and what is a user's own.
 *
 * A user who is hidden and one who does not exist get the same answer. The pages below the user's are for that user
 * alone: their commands act as the user of the session, and the name in the path must be that user's.
 */
#include <config.h>

#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "common/format.h"
#include "web/accounts/session.h"
#include "web/site/parts.h"
#include "web/visit/respond.h"

#define TEXT_OF_IT(number) #number
#define TEXT_OF(number) TEXT_OF_IT(number)
#define DELETED_MAX 1000 /* submissions that one form deletes */
#define WEEKS 53
#define WEEK 7     /* days */
#define SPACING 13 /* of cells, which are 10 wide */
#define TOP 14     /* where the cells begin, below the months */
#define DAY_S 86400
#define LEVELS 4
#define DAY_SIZE sizeof("2026-01-31")

/* ---- for all of these pages ---- */

/* Whether the path names the user of the session; for other users the page is 404. */
static bool
is_own(const struct visit *visit)
{
	const char *user = site_user(visit);
	return user && strcmp(site_segment(visit, 1), user) == 0;
}

/* Adds the members of user_head and of forms. */
static void
add_head(json_t *model, const char *name, bool own)
{
	json_object_set_new(model, "name", json_string(name));
	json_object_set_new(model, "own", json_boolean(own));
}

static void
finish_own(const struct visit *visit, json_t *model)
{
	add_head(model, site_user(visit), true);
}

/* ---- the public page ---- */

/* A hidden user's answer has no ranks; an unknown user has no answer: both give 404. */
static bool
is_shown(const struct visit *visit)
{
	bool is_read = member_int(visit->data, "read") > 0;
	return !is_read || json_object_get(site_model(visit, "page"), "ranks");
}

/* ---- the days of activity of a year, as a picture ---- */

static json_int_t
level_of(json_int_t submissions)
{
	static const json_int_t least[LEVELS] = {1, 2, 4, 8};
	json_int_t level = 0;
	while (level < LEVELS && submissions >= least[level])
		level++;
	return level;
}

/* Adds a month's name where the first of it is in a week, but for the last ones, whose name would not fit. */
static void
add_month(json_t *months, const struct tm *date, int week)
{
	char label[sizeof("Jan")];
	if (date->tm_mday != 1 || week > WEEKS - 3)
		return;
	(void)strftime(label, sizeof(label), "%b", date);
	json_array_append_new(months, json_pack("{s:i, s:s}", "x", week * SPACING, "label", label));
}

static void
add_cell(json_t *cells, int day, json_int_t submissions, const char *date)
{
	json_array_append_new(
		cells, json_pack("{s:i, s:i, s:I, s:o}", "x", day / WEEK * SPACING, "y", TOP + day % WEEK * SPACING, "level",
				   level_of(submissions), "title",
				   submissions ? json_sprintf("%s: %lld", date, (long long)submissions) : json_string("")));
}

/*
 * Adds to a model, of days [{"day": 2026-01-31, "submissions"}, …]: `days`, those of the 53 weeks until now; `total`, the
 * submissions on them; and `grid` {"width", "height", "months": [{"x", "label"}], "cells": [{"x", "y", "level": 0 to 4,
 * "title"}]}, a column for each week and a row for each day of it, Monday first.
 */
static void
add_activity(json_t *model, const json_t *days, int64_t now_ms)
{
	AUTO_JSON json_t *counts = json_object();
	json_t *cells = json_array(), *months = json_array(), *shown = json_array();
	time_t now = (time_t)(now_ms / 1000);
	struct tm date;
	(void)gmtime_r(&now, &date);
	int count = (WEEKS - 1) * WEEK + (date.tm_wday + WEEK - 1) % WEEK + 1;
	json_int_t total = 0;
	json_array_each(days, one)
		json_object_set(counts, json_text_or_empty(one, "day"), one);
	for (int day = 0; day < count; day++) {
		char text[DAY_SIZE];
		time_t at = now - (time_t)(count - 1 - day) * DAY_S;
		(void)gmtime_r(&at, &date);
		(void)strftime(text, sizeof(text), "%Y-%m-%d", &date);
		json_t *one = json_object_get(counts, text);
		add_month(months, &date, day / WEEK);
		add_cell(cells, day, member_int(one, "submissions"), text);
		total += member_int(one, "submissions");
		if (one)
			json_array_insert(shown, 0, one);
	}
	json_object_update_new(
		model, json_pack("{s:o, s:I, s:{s:i, s:i, s:o, s:o}}", "days", shown, "total", total, "grid", "width",
				   WEEKS * SPACING, "height", TOP + WEEK * SPACING, "months", months, "cells", cells));
}

/* ---- rankings ---- */

/* A ranking of a user, with the way to its score. New reference. */
static json_t *
rank_row(json_t *rank, bool own)
{
	const json_t *history = json_object_get(rank, "history");
	size_t count = json_array_size(history);
	json_t *row = json_copy(rank), *first = json_array_get(history, 0);
	double factor =
		json_number_value(json_object_get(first, "score")) / json_number_value(json_object_get(rank, "score"));
	json_object_set_new(row, "medal", json_string(site_medal(member_int(rank, "rank"))));
	json_object_set_new(row, "improvements", json_integer((json_int_t)count - 1));
	json_object_set_new(row, "first", count > 1 ? json_incref(first) : json_null());
	json_object_set_new(row, "factor", json_sprintf("%.3g times as fast", factor));
	json_object_set_new(row, "compare",
		own && count > 1
			? json_sprintf("%lld/%lld", (long long)member_int(json_array_get(history, count - 2), "submission_id"),
				  (long long)member_int(json_array_get(history, count - 1), "submission_id"))
			: json_null());
	json_object_set_new(
		row, "since", count ? json_incref(json_object_get(json_array_get(history, count - 1), "time")) : json_null());
	return row;
}

static void
finish_page(const struct visit *visit, json_t *model)
{
	const json_t *page = json_object_get(model, "page"), *medals = json_object_get(page, "medals");
	const char *name = json_text_or_empty(page, "user_name"), *user = site_user(visit);
	bool own = user && strcmp(user, name) == 0;
	json_t *ranks = json_array(), *records = json_array();
	json_array_each(json_object_get(page, "ranks"), rank) {
		json_t *row = rank_row(rank, own);
		json_array_append_new(ranks, row);
		if (member_int(rank, "rank") == 1)
			json_array_append(records, row);
	}
	add_head(model, name, own);
	json_object_set_new(model, "ranks", ranks);
	json_object_set_new(model, "records", records);
	json_object_set_new(model, "medals",
		json_boolean(member_int(medals, "gold") + member_int(medals, "silver") + member_int(medals, "bronze") > 0));
	const struct kettle_host *host = visit->web->host;
	add_activity(model, json_object_get(page, "activity"), host->utc_ms(host));
}

/* ---- submissions ---- */

static void
add_option(json_t *options, const char *value, const char *chosen)
{
	json_array_append_new(options, json_pack("{s:s, s:b}", "value", value, "selected", strcmp(value, chosen) == 0));
}

/* Of the page of a list those with the chosen state, and what a form chooses. */
static void
finish_submissions(const struct visit *visit, json_t *model)
{
	static const char *const all[] = {"queued", "running", "passed", "failed", "timed_out", "error", "cancelled"};
	const char *board = site_query(visit, "board"), *state = site_query(visit, "state");
	json_t *rows = json_array(), *boards = json_array(), *states = json_array();
	size_t listed = json_array_size(json_object_get(model, "submissions"));
	json_int_t page = site_page_number(visit);
	json_array_each(json_object_get(model, "submissions"), row)
		if (!state || member_is(row, "state", state))
			json_array_append(rows, row);
	json_array_each(json_object_get(model, "leaderboards"), one)
		add_option(boards, json_text_or_empty(one, "name"), board ? board : "");
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		add_option(states, all[i], state ? state : "");
	finish_own(visit, model);
	json_object_update_new(model,
		json_pack("{s:o, s:o, s:o, s:{s:s, s:s}, s:I, s:I, s:I}", "rows", rows, "boards", boards, "states", states,
			"filter", "board", board ? board : "", "state", state ? state : "", "listed", (json_int_t)listed, "from",
			(page - 1) * SITE_ROWS + 1, "to", (page - 1) * SITE_ROWS + (json_int_t)listed));
	site_add_pages(visit, model, json_object_get(model, "submissions"));
}

static void delete_next(struct visit *visit, json_t *result);

static json_int_t
count_one(struct visit *visit, const char *what)
{
	json_int_t count = member_int(visit->data, what) + 1;
	json_object_set_new(visit->data, what, json_integer(count));
	return count;
}

/* A submission that may not be deleted, or is already gone, is left. */
static bool
keep_one(struct visit *visit, const struct kettle_error *err)
{
	if (err->code != KETTLE_EACCES && err->code != KETTLE_ENOENT)
		return false;
	(void)count_one(visit, "kept");
	delete_next(visit, NULL);
	return true;
}

static void
on_newest(struct visit *visit, json_t *rows)
{
	const json_t *row = json_array_get(rows, 0);
	visit->mend = row ? keep_one : NULL;
	if (row)
		visit_call(visit, "submission.delete", json_pack("{s:O}", "id", json_object_get(row, "id")), delete_next);
	else
		site_done(visit, rows);
}

/* Deletes the newest submission of those that are not kept, and so on. */
static void
delete_next(struct visit *visit, json_t *result)
{
	visit->mend = NULL;
	if (count_one(visit, "deleted") > DELETED_MAX)
		site_done(visit, result);
	else
		visit_call(visit, "submission.list",
			json_pack("{s:i, s:I}", "limit", 1, "offset", member_int(visit->data, "kept")), on_newest);
}

/* ---- tokens ---- */

static void
finish_revoke(const struct visit *visit, json_t *model)
{
	json_object_set_new(model, "token", json_string(site_segment(visit, 3)));
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

static const struct site_page pages[] = {
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
		.reads = {{"submissions", "submission.list", "leaderboard=?board limit=100 offset=+100"},
			{"leaderboards", "leaderboard.list", "all=true short=true"}},
		.finish = finish_submissions,
		OWN},
	{.path = "user/*/submissions/delete",
		.template = "confirm",
		.title = "Delete all submissions",
		.reads = {{"account", "user.show"}},
		.sentence =
			"This deletes your {account.submissions} submissions, with their code and results; those that run are "
			"cancelled. They leave the rankings. What was marked as a cheat stays, and rate limits still count what is "
			"deleted. At most " TEXT_OF(DELETED_MAX) " are deleted at once. This cannot be undone.",
		.button = "Delete my submissions",
		.back = "../settings",
		OWN},
	{.path = "user/*/tokens",
		.template = "user_tokens",
		.title = "Your tokens and logins",
		.data = "/api/v1/token.list",
		.reads = {{"tokens", "token.list"}},
		.finish = finish_own,
		OWN},
	{.path = "user/*/tokens/*",
		.template = "confirm",
		.title = "Revoke a token",
		.finish = finish_revoke,
		.sentence = "{token=" SESSION_NAME
					"?This logs you out in all browsers, this one too.|Programs with the token “{token}” can no "
					"longer act as you, and logins of that name end.}",
		.button = "Revoke",
		.back = "../tokens",
		OWN},
	{.path = "user/*/settings",
		.template = "user_settings",
		.title = "Your settings",
		.data = "/api/v1/user.show",
		.reads = {{"account", "user.show"}},
		.finish = finish_own,
		OWN},
	{.path = "user/*/delete",
		.template = "confirm",
		.title = "Delete the account",
		.sentence =
			"Your name, accounts, tokens, logins, memberships, notes and role are removed, and what runs is cancelled. "
			"Submissions with their code, rankings and leaderboards stay, under a name that does not say who you were: "
			"delete "
			"the submissions first where they should not. This logs you out, and cannot be undone.",
		.button = "Delete my account",
		.back = "settings",
		OWN},
	{.path = "user/*/export",
		.query = "after ",
		.reads = {{"export", "user.export", "after=#after"}},
		.respond = respond_export,
		OWN},
	{.path = NULL},
};

static const struct site_form forms[] = {
	{.path = "user/*/submissions/delete", .run = delete_next, .next = "../submissions"},
	{.path = "user/*/tokens", .command = "token.create", .args = "name=::name expires=:expires"},
	{.path = "user/*/tokens/*", .command = "token.revoke", .args = "name=/3", .next = "../tokens"},
	{.path = "user/*/settings", .command = "user.update", .args = "profile=::profile", .next = "settings"},
	{.path = "user/*/delete", .command = "user.delete", .next = "/", .ends_session = true},
	{.path = NULL},
};

const struct site_part part_user = {pages, forms};
