/* SPDX-License-Identifier: MIT */
/* `kettle competition sync`: prints the plan of a dry run, then calls the command. */
#include <config.h>

#include "cli/actions/actions.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "common/template.h"

const struct args_option competition_options[] = {
	{"set", 0, "NAME", "only the set with this name or file name"},
	{"branch", 0, "NAME", "of a repository on GitHub: the branch; default: the repository's own"},
	{NULL, 0, NULL, NULL},
};

/* "  create vectoradd: devices CPU; deadline 2026-12-31" */
static const char step_template[] = "{action=update?  change {*name}: {changes}|  create {*name} on {devices:and}; "
									"deadline {deadline?{deadline}|none}}{differs?; the task runs differently: "
									"{differs}{scores=left?; {ranked} places in the rankings are lost}}\n";

/* Prints the problems that are skipped or wrong, and why. */
static void
put_rest(const struct run *run, const json_t *result)
{
	const struct term *term = &run->term;
	size_t i;
	const json_t *entry;
	json_array_foreach(json_object_get(result, "skipped"), i, entry) {
		struct kettle_error reason = {0};
		snprintf(reason.message, sizeof(reason.message), "%s", json_text_or_empty(entry, "reason"));
		(void)kettle_blame(&reason, KETTLE_CAUSE_NONE, json_text_or_empty(entry, "member"), 0);
		run_name_options(run, &reason);
		fputs("  ", term->out);
		term_put(term, STYLE_YELLOW, "skip ");
		template_put(term, "{*name}: ", entry, NULL);
		term_sanitize(term->out, reason.message, 0);
		fputs(".\n", term->out);
	}
	json_array_foreach(json_object_get(result, "errors"), i, entry) {
		fputs("  ", term->out);
		term_put(term, STYLE_RED, "wrong ");
		template_put(term, "{*name}: {error}\n", entry, NULL);
	}
	template_put(term, "{absent@@  {*} is no longer in the file; it stays as it is.\n}", result, NULL);
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
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		size_t count = json_array_size(json_object_get(result, lists[i][0]));
		if (count == 0)
			continue;
		fprintf(run->term.out, "%s%zu %s", between, count, lists[i][1]);
		between = ", ";
	}
	fputs(strcmp(between, ", ") == 0 ? ".\n" : "The file names no problems.\n", run->term.out);
}

static void
on_planned(struct run *run, const json_t *result)
{
	size_t i;
	const json_t *step;
	json_array_foreach(json_object_get(result, "plan"), i, step)
		if (!run->quiet)
			template_put(&run->term, step_template, step, NULL);
	if (!run->quiet)
		put_rest(run, result);
	if (member_true(run->args.values, "dry_run")) {
		run_result(run, result);
		return;
	}
	fflush(run->term.out);
	run_command(run);
}

static void
call_dry(struct run *run, run_answer fn)
{
	AUTO_JSON json_t *args = json_copy(run->args.values);
	json_object_set_new(args, "dry_run", json_true());
	run_call(run, "competition.sync", args, fn);
}

static void
show_plan(struct run *run)
{
	if (run->json)
		run_command(run);
	else
		call_dry(run, on_planned);
}

static void
on_tried(struct run *run, const json_t *problems)
{
	json_object_set(run->args.values, "problems", (json_t *)problems);
	show_plan(run);
}

/* Unless that is forced, no leaderboard is made to which no submission could pass. */
static void
try_new(struct run *run, const json_t *result)
{
	json_t *created = json_object_get(result, "created");
	AUTO_JSON json_t *args =
		json_pack("{s:O, s:O}", "problems", json_object_get(run->args.values, "problems"), "name", created);
	if (json_array_size(created) > 0)
		run_call(run, "competition.try", args, on_tried);
	else
		show_plan(run);
}

void
competition_start(struct run *run)
{
	if (member_true(run->args.values, "force"))
		show_plan(run);
	else
		call_dry(run, try_new);
}
