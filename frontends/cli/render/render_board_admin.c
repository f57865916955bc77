/* SPDX-License-Identifier: MIT */
/* What the owner of a leaderboard does to it, for people. */
#include <config.h>

#include "cli/render/render.h"

#include <string.h>

#include "base/cleanup.h"
#include "cli/text/format.h"
#include "cli/text/table.h"
#include "cli/text/json_read.h"

static void
put_remarks(const struct term *term, const json_t *remarks)
{
	size_t i;
	const json_t *remark;
	json_array_foreach(remarks, i, remark) {
		term_put(term, STYLE_YELLOW, "Remark: ");
		term_sanitize(term->out, json_string_value(remark), 0);
		fputc('\n', term->out);
	}
}

/* "A, B and C" of an array of strings. */
static void
put_names(const struct term *term, const json_t *names)
{
	size_t i, count = json_array_size(names);
	const json_t *name;
	json_array_foreach(names, i, name) {
		fputs(i == 0 ? "" : i + 1 < count ? ", " : " and ", term->out);
		term_sanitize(term->out, json_string_value(name), 0);
	}
}

static bool
has_word(const json_t *words, const char *wanted)
{
	size_t i;
	const json_t *word;
	json_array_foreach(words, i, word)
		if (strcmp(json_string_value(word), wanted) == 0)
			return true;
	return false;
}

/* What a new version of the task means for what was there before it. */
static void
put_scores(const struct term *term, const json_t *result)
{
	json_int_t ranked = value_int(result, "ranked", 0), open = value_int(result, "open", 0);
	if (strcmp(value_text(result, "scores"), "left") == 0)
		fprintf(term->out,
			"Scores so far count no more (%lld place%s): the rankings begin anew with submission %lld.\n",
			(long long)ranked, ranked == 1 ? "" : "s", (long long)value_int(result, "counts_from", 0));
	else
		fputs("Scores so far still count.\n", term->out);
	if (open > 0)
		fprintf(term->out, "%lld job%s queued or running, and end%s on the version before.\n", (long long)open,
			open == 1 ? " is" : "s are", open == 1 ? "s" : "");
}

int
render_owner_updated(struct run *run, const json_t *result)
{
	const struct term *term = &run->term;
	const json_t *changes = json_object_get(result, "changes");
	put_remarks(term, json_object_get(result, "remarks"));
	fputs("Leaderboard ", term->out);
	term_put(term, STYLE_BOLD, value_text(json_object_get(result, "leaderboard"), "name"));
	if (json_array_size(changes) == 0) {
		fputs(" is like that already.\n", term->out);
		return RUN_OK;
	}
	fputs(" is updated: ", term->out);
	put_names(term, changes);
	fputs(".\n", term->out);
	if (has_word(changes, "task"))
		put_scores(term, result);
	return RUN_OK;
}

/* ---- rate limits ---- */

void
render_owner_limits_start(struct run *run)
{
	const json_t *values = run->args.values;
	bool shows = !json_object_get(values, "per_hour") && !value_true(values, "remove");
	AUTO_JSON json_t *args = json_copy(run->args.values);
	if (shows)
		json_object_del(args, "remove");
	run_call(run, shows ? "leaderboard.rate_limits" : "leaderboard.rate_limit", args, run_answered);
}

int
render_owner_limits(struct run *run, const json_t *result)
{
	static const struct table_column columns[] = {
		{.title = "category"}, {.title = "device"}, {.title = "an hour", .right = true}};
	AUTO_JSON json_t *rows = json_array();
	size_t i;
	const json_t *limit;
	json_array_foreach(json_object_get(result, "limits"), i, limit) {
		char per_hour[FORMAT_SIZE];
		const char *device = value_text(limit, "device");
		snprintf(per_hour, sizeof(per_hour), "%lld", (long long)value_int(limit, "per_hour", 0));
		table_row(rows, 3, value_text(limit, "category"), *device ? device : "all together", per_hour);
	}
	if (json_array_size(rows) > 0) {
		table_print(&run->term, columns, ARRAY_SIZE(columns), rows, 0);
		return RUN_OK;
	}
	fputs("Leaderboard ", run->term.out);
	term_put(&run->term, STYLE_BOLD, value_text(result, "leaderboard"));
	fputs(value_true(run->args.values, "remove") ? " has no such rate limit any more.\n" : " has no rate limit.\n",
		run->term.out);
	return RUN_OK;
}

/* ---- invites ---- */

int
render_owner_joined(struct run *run, const json_t *result)
{
	fputs("You may see ", run->term.out);
	put_names(&run->term, json_object_get(result, "leaderboards"));
	fputs(" now.\n", run->term.out);
	return RUN_OK;
}

int
render_owner_invited(struct run *run, const json_t *result)
{
	const json_t *codes = json_object_get(result, "codes"), *code;
	size_t i;
	if (!run->quiet) {
		fputs("Each of these opens ", run->term.out);
		put_names(&run->term, json_object_get(result, "leaderboards"));
		fputs(" to one user, by `kettle leaderboard join CODE`:\n", run->term.out);
	}
	json_array_foreach(codes, i, code)
		fprintf(run->term.out, "%s\n", json_string_value(code));
	return RUN_OK;
}

int
render_owner_invites(struct run *run, const json_t *result)
{
	static const struct table_column columns[] = {{.title = "code"}, {.title = "claimed by", .cut = true},
		{.title = "when"}, {.title = "created"}, {.title = "opens", .cut = true}};
	AUTO_JSON json_t *rows = json_array();
	const json_t *invites = json_object_get(result, "invites"), *invite;
	size_t i;
	json_array_foreach(invites, i, invite) {
		char claimed[FORMAT_SIZE], created[FORMAT_SIZE], count[FORMAT_SIZE];
		size_t boards = json_array_size(json_object_get(invite, "leaderboards"));
		format_time(value_text(invite, "claimed_at"), claimed);
		format_time(value_text(invite, "created_at"), created);
		snprintf(count, sizeof(count), "%zu leaderboards", boards);
		table_row(rows, 5, value_text(invite, "code"), value_text(invite, "user_name"), claimed, created,
			boards > 1 ? count : NULL);
	}
	if (json_array_size(rows) > 0)
		table_print(&run->term, columns, ARRAY_SIZE(columns), rows, 0);
	else
		fputs("There is no invite; `kettle invite create NAME` makes one.\n", run->term.out);
	if (json_array_size(rows) > 0 && (json_int_t)json_array_size(rows) < value_int(result, "count", 0))
		fprintf(run->term.out, "(%zu of %lld; --limit and --offset show others)\n", json_array_size(rows),
			(long long)value_int(result, "count", 0));
	return RUN_OK;
}

int
render_owner_revoked(struct run *run, const json_t *result)
{
	fputs("The invite is revoked", run->term.out);
	if (value_true(result, "was_claimed")) {
		fputs(": ", run->term.out);
		term_put(&run->term, STYLE_BOLD, value_text(result, "user_name"));
		fputs(" may see ", run->term.out);
		put_names(&run->term, json_object_get(result, "leaderboards"));
		fputs(" no more, unless by another one", run->term.out);
	}
	fputs(".\n", run->term.out);
	return RUN_OK;
}
