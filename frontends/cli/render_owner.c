/* SPDX-License-Identifier: MIT */
/* What the owner of a leaderboard does to it, for people. */
#include <config.h>

#include "render_owner.h"

#include <string.h>

#include "value.h"

static void
put_remarks(const struct term *term, const json_t *remarks)
{
	size_t i;
	const json_t *remark;
	json_array_foreach(remarks, i, remark) {
		term_put(term, STYLE_YELLOW, "Remark: ");
		term_clean(term->out, json_string_value(remark), 0);
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
		term_clean(term->out, json_string_value(name), 0);
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
