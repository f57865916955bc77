/* SPDX-License-Identifier: MIT */
/* `kettle competition sync`: prints what was changed, or would be. */
#include <config.h>

#include "cli/actions/actions.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "common/template.h"

const struct args_option competition_options[] = {
	{"set", 0, "NAME", "only the set with this name or file name"},
	{"branch", 0, "NAME", "the branch of a repository on GitHub; default: the repository's own"},
	{NULL, 0, NULL, NULL},
};

/* "  create vectoradd: devices CPU; deadline 2026-12-31" */
static const char step_template[] = "{action=update?  change {*name}: {changes}|  create {*name} on {devices:and}; "
									"deadline {deadline?{deadline}|none}}{differs?; the task runs differently: "
									"{differs}{scores=left?; {ranked} places in the rankings are lost}}\n";

/* Prints the problems of a list, and why they are there: what `member` of each is the text of; end follows it. */
static void
put_problems(const struct run *run, const json_t *problems, enum term_style style, const char *word, const char *member,
	const char *end)
{
	const struct term *term = &run->term;
	json_array_each(problems, entry) {
		struct kettle_error reason = {0};
		snprintf(reason.message, sizeof(reason.message), "%s", json_text_or_empty(entry, member));
		(void)kettle_blame(&reason, KETTLE_CAUSE_NONE, json_text_or_empty(entry, "member"), 0);
		run_name_options(run, &reason);
		fputs("  ", term->out);
		term_put(term, style, word);
		template_put(term, "{*name}: ", entry, NULL);
		term_sanitize(term->out, reason.message, 0);
		fputs(end, term->out);
	}
}

/* Prints the problems that are skipped or wrong, and why. */
static void
put_rest(const struct run *run, const json_t *result)
{
	const struct term *term = &run->term;
	put_problems(run, json_object_get(result, "skipped"), STYLE_YELLOW, "skip ", "reason", ".\n");
	put_problems(run, json_object_get(result, "errors"), STYLE_RED, "wrong ", "error", "\n");
	template_put(term, "{absent@@  {*} is no longer in the file; the leaderboard stays unchanged.\n}", result, NULL);
}

int
competition_status(const json_t *result)
{
	return json_array_size(json_object_get(result, "errors")) > 0 ? RUN_FAILED : RUN_OK;
}

void
competition_render(struct run *run, const json_t *result)
{
	static const char *const lists[][2] = {{"created", "created"}, {"updated", "changed"}, {"unchanged", "unchanged"},
		{"skipped", "skipped"}, {"errors", "wrong"}};
	const char *between = member_true(result, "dry_run") ? "Dry run: nothing was changed; without --dry-run: " : "";
	size_t i;
	const json_t *step;
	json_array_foreach(json_object_get(result, "plan"), i, step)
		if (!run->quiet)
			template_put(&run->term, step_template, step, NULL);
	if (!run->quiet)
		template_put(&run->term, "{described@@  describe {}\n}", result, NULL);
	if (!run->quiet)
		put_rest(run, result);
	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		size_t count = json_array_size(json_object_get(result, lists[i][0]));
		if (count == 0)
			continue;
		fprintf(run->term.out, "%s%zu %s", between, count, lists[i][1]);
		between = ", ";
	}
	fputs(strcmp(between, ", ") == 0 ? ".\n" : "The file names no problems.\n", run->term.out);
}
