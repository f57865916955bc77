/* SPDX-License-Identifier: MIT */
/*
 * A submission, and two of them compared.
 *
 * What `finish` adds: `jobs` (see report.h), `listing` {"text", "lines": [numbers], "cut"}, `header` (its directives or null), `may` {"cancel", "delete",
 * "flag", "unflag"}.
 */
#include <config.h>

#include "web/site/site.h"

#include <string.h>

#include "base/json_access.h"
#include "web/api/api.h"
#include "web/site/report.h"

#define CODE_SHOWN_MAX (256u << 10) /* bytes */
#define LINES_SHOWN_MAX 5000
#define REFRESH_S 10
#define FAR "1152921504606846976" /* past the end of any file: only whether it may be read */

/* ---- what is read ---- */

/* The jobs that have ended with a score; NULL: of none of them. */
static const json_t *
scored_job(const struct visit *visit)
{
	json_array_each(json_object_get(site_model(visit, "submission"), "jobs"), job)
		if (json_is_number(json_object_get(job, "score")))
			return job;
	return NULL;
}

/* Arguments of submission.diff from another submission to this one; NULL: it is none, or this one. */
static json_t *
args_from(const struct visit *visit, json_int_t other)
{
	json_int_t id = member_int(site_model(visit, "submission"), "id");
	return other && other != id && scored_job(visit) ? json_pack("{s:I, s:I}", "a", other, "b", id) : NULL;
}

static json_int_t
best_of(const struct visit *visit)
{
	return member_int(json_object_get(scored_job(visit), "better"), "submission");
}

static json_t *
args_best(const struct visit *visit)
{
	return args_from(visit, best_of(visit));
}

/* From the first place on the device; not where that is the user's best, too. */
static json_t *
args_first(const struct visit *visit)
{
	const char *device = json_text_or_empty(scored_job(visit), "device");
	const json_t *ranking = list_find(site_model(visit, "board.rankings"), "device", device);
	json_int_t first = member_int(json_array_get(json_object_get(ranking, "entries"), 0), "submission_id");
	return first == best_of(visit) ? NULL : args_from(visit, first);
}

/* ---- the code ---- */

static json_t *
listing_of(const json_t *submission)
{
	const char *code = json_text_or_null(submission, "code");
	if (!code)
		return json_null();
	json_t *listing = report_cut(code, CODE_SHOWN_MAX), *numbers = json_array();
	const char *text = json_text_or_empty(listing, "text");
	for (json_int_t line = 1; *text && line <= LINES_SHOWN_MAX; line++) {
		json_array_append_new(numbers, json_integer(line));
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	json_object_set_new(listing, "lines", numbers);
	return listing;
}

/* ---- what the reader may do, as far as the page offers it; the core decides ---- */

static json_t *
may_of(const struct visit *visit, const json_t *submission)
{
	const char *user = session_user(visit);
	const json_t *board = site_model(visit, "board.leaderboard");
	bool own = user && member_is(submission, "user_name", user), flagged = json_text_or_null(submission, "flagged"),
		 done = member_true(submission, "done");
	bool judge = user && (member_is(board, "creator", user) || site_administers(visit));
	return json_pack("{s:b, s:b, s:b, s:b}", "cancel", (own || judge) && !done, "delete", judge || (own && !flagged),
		"flag", judge && !flagged && done, "unflag", judge && flagged);
}

static void
finish(const struct visit *visit, json_t *model)
{
	const json_t *submission = site_model(visit, "submission");
	const char *code = json_text_or_empty(submission, "code");
	json_object_set_new(model, "listing", listing_of(submission));
	json_object_set_new(model, "header", report_directives(code, strlen(code)));
	json_object_set_new(model, "may", may_of(visit, submission));
	json_object_set_new(model, "jobs", report_jobs(submission, site_model(visit, "best"), site_model(visit, "first")));
	if (!member_true(submission, "done"))
		json_object_set_new(json_object_get(model, "site"), "refresh", json_integer(REFRESH_S));
}

/* ---- files ---- */

static void
on_opened(struct visit *visit, json_t *file)
{
	links_send(visit, file, json_text_or_empty(file, "name"));
}

/* The user may read the file, as the answer to `file` says. */
static void
send_artifact(struct visit *visit)
{
	visit_call_internal(visit, "artifact.open",
		json_pack("{s:O}", "artifact", json_object_get(site_model(visit, "file"), "artifact")), on_opened);
}

/* ---- two submissions compared ---- */

static void
add_step(json_t *steps, const char *label, json_int_t a, json_int_t b)
{
	json_array_append_new(steps, json_pack("{s:s, s:I, s:I}", "label", label, "a", a, "b", b));
}

/* The number of the submission at a place of a history; 0: there is none. */
static json_int_t
number_at(const json_t *history, size_t index)
{
	return member_int(json_array_get(history, index), "submission_id");
}

/*
 * Adds the links from the second submission: to the best before it and the one that came after it, in the ranking of a device
 * that has it. false: that has it not.
 */
static bool
add_steps(json_t *steps, const json_t *history, json_int_t a, json_int_t b)
{
	json_array_each(history, point) {
		if (member_int(point, "submission_id") != b)
			continue;
		size_t at = point_index;
		json_int_t before = at > 0 ? number_at(history, at - 1) : 0, earlier = at > 1 ? number_at(history, at - 2) : 0;
		json_int_t after = number_at(history, at + 1);
		if (before && before != a)
			add_step(steps, "Previous best and this", before, b);
		else if (before && earlier)
			add_step(steps, "Step before", earlier, before);
		if (after)
			add_step(steps, "Next step", b, after);
		return true;
	}
	return false;
}

/* The link to the first place, where its code may be read. */
static void
add_first(json_t *steps, const json_t *board, json_int_t a, json_int_t b)
{
	json_array_each(member_true(board, "code_open") ? json_object_get(board, "rankings") : NULL, ranking) {
		json_int_t first = number_at(json_object_get(ranking, "entries"), 0);
		if (first && first != b && first != a) {
			add_step(steps, "This and the first", b, first);
			return;
		}
	}
}

static void
finish_diff(const struct visit *visit, json_t *model)
{
	const char *board = json_string_value(site_model(visit, "compared.b.leaderboard_name"));
	json_int_t a = json_integer_value(site_model(visit, "compared.a.id")),
			   b = json_integer_value(site_model(visit, "compared.b.id"));
	json_t *steps = json_array();
	json_array_each(site_model(visit, "page.ranks"), rank)
		if (member_is(rank, "leaderboard", board) && add_steps(steps, json_object_get(rank, "history"), a, b))
			break;
	add_first(steps, json_object_get(model, "board"), a, b);
	json_object_set_new(model, "steps", steps);
	json_object_set_new(
		model, "same_board", json_boolean(member_is(site_model(visit, "compared.a"), "leaderboard_name", board)));
}

const struct site_page pages_submission[] = {
	{.path = "submission/*",
		.template = "submission",
		.title = "Submission {submission.id}{submission.done?: {submission.state:word}}",
		.data = "/api/v1/submission.show?id={submission.id}",
		.about = "{submission.leaderboard_name}: {submission.user_name}",
		.picture = "{board.code_open?{board.leaderboard.visibility=public?/submission/{submission.id}/picture.png}}",
		.reads = {{"submission", "submission.show", "id=/1"},
			{"board", "leaderboard.show", "name=.submission.leaderboard_name limit=1", true},
			{"best", "submission.diff", .optional = true, .make = args_best},
			{"first", "submission.diff", .optional = true, .make = args_first}},
		.finish = finish},
	{.path = "submission/*/artifact/*",
		.reads = {{"file", "submission.artifact", "artifact=/3 offset=" FAR}},
		.respond = send_artifact},
	{.path = "submission/*/cancel",
		.template = "confirm",
		.title = "Cancel submission {submission.id}",
		.reads = {{"submission", "submission.show", "id=/1"}},
		.back = "/submission/{submission.id}",
		.form = {"submission.cancel", "id=/1", "/submission/{result.id}"}},
	{.path = "submission/*/delete",
		.template = "confirm",
		.title = "Delete submission {submission.id}",
		.reads = {{"submission", "submission.show", "id=/1"}},
		.back = "/submission/{submission.id}",
		.form = {"submission.delete", "id=/1", "/user/{user}"}},
	{.path = "submission/*/flag",
		.refused_on = &pages_submission[0],
		.form = {"submission.flag", "id=/1 reason=::reason", "/submission/{result.id}"}},
	{.path = "submission/*/unflag",
		.refused_on = &pages_submission[0],
		.form = {"submission.unflag", "id=/1", "/submission/{result.id}"}},
	{.path = "diff/*/*",
		.template = "diff",
		.title = "Submissions {compared.a.id} and {compared.b.id}",
		.data = "/api/v1/submission.diff?a={compared.a.id}&b={compared.b.id}",
		.reads = {{"compared", "submission.diff", "a=/1 b=/2"},
			{"page", "user.page", "name=.compared.b.user_name", true},
			{"board", "leaderboard.show", "name=.compared.b.leaderboard_name limit=1", true}},
		.diff = "compared.diff",
		.finish = finish_diff},
	{.path = NULL},
};
