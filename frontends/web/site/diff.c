/* SPDX-License-Identifier: MIT */
/* Two submissions compared. */
#include <config.h>

#include "base/json_access.h"
#include "web/site/site.h"

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
finish(const struct visit *visit, json_t *model)
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

const struct site_page pages_diff[] = {
	{.path = "diff/*/*",
		.template = "diff",
		.title = "Submissions {compared.a.id} and {compared.b.id}",
		.data = "/api/v1/submission.diff?a={compared.a.id}&b={compared.b.id}",
		.reads = {{"compared", "submission.diff", "a=/1 b=/2"},
			{"page", "user.page", "name=.compared.b.user_name", true},
			{"board", "leaderboard.show", "name=.compared.b.leaderboard_name limit=1", true}},
		.diff = "compared.diff",
		.finish = finish},
	{.path = NULL},
};
