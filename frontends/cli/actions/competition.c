/* SPDX-License-Identifier: MIT */
/* `kettle problems sync`: a dry run says what will change, then it is done. */
#include <config.h>

#include "cli/actions/competition.h"

#include <string.h>

#include "base/cleanup.h"
#include "cli/text/json_read.h"

const struct args_option problems_options[] = {
	{"set", 0, "NAME", "only the set of this name, or of the file of this name"},
	{NULL, 0, NULL, NULL},
};

static void
put_words(const struct term *term, const char *before, const json_t *words)
{
	size_t i;
	const json_t *word;
	json_array_foreach(words, i, word) {
		fputs(i ? ", " : before, term->out);
		term_sanitize(term->out, json_string_value(word), 0);
	}
}

/* "  create vectoradd: devices CPU; deadline 2026-12-31" */
static void
put_step(const struct term *term, const json_t *step)
{
	bool update = strcmp(value_text(step, "action"), "update") == 0;
	const char *deadline = value_text(step, "deadline");
	fprintf(term->out, "  %s ", update ? "change" : "create");
	term_put(term, STYLE_BOLD, value_text(step, "name"));
	fputc(':', term->out);
	if (update)
		put_words(term, " ", json_object_get(step, "changes"));
	else
		put_words(term, " devices ", json_object_get(step, "devices"));
	if (!update) {
		fputs("; deadline ", term->out);
		term_sanitize(term->out, *deadline ? deadline : "none", 0);
	}
	if (json_array_size(json_object_get(step, "differs")) > 0) {
		put_words(term, "; the task runs differently: ", json_object_get(step, "differs"));
		if (strcmp(value_text(step, "scores"), "left") == 0)
			fprintf(term->out, "; %lld places in the rankings are given up", (long long)value_int(step, "ranked", 0));
	}
	fputc('\n', term->out);
}

/* What is not done, and why. */
static void
put_rest(const struct run *run, const json_t *result)
{
	const struct term *term = &run->term;
	size_t i;
	const json_t *entry;
	json_array_foreach(json_object_get(result, "skipped"), i, entry) {
		fputs("  ", term->out);
		term_put(term, STYLE_YELLOW, "skip ");
		term_put(term, STYLE_BOLD, value_text(entry, "name"));
		fputs(": ", term->out);
		struct kettle_error reason = {0};
		snprintf(reason.message, sizeof(reason.message), "%s", value_text(entry, "reason"));
		run_name_options(run, &reason);
		term_sanitize(term->out, reason.message, 0);
		fputs(".\n", term->out);
	}
	json_array_foreach(json_object_get(result, "errors"), i, entry) {
		fputs("  ", term->out);
		term_put(term, STYLE_RED, "wrong ");
		term_put(term, STYLE_BOLD, value_text(entry, "name"));
		fputs(": ", term->out);
		term_sanitize(term->out, value_text(entry, "error"), 0);
		fputc('\n', term->out);
	}
	json_array_foreach(json_object_get(result, "absent"), i, entry) {
		fputs("  ", term->out);
		term_put(term, STYLE_BOLD, json_string_value(entry));
		fputs(" is no longer in the file; it stays as it is.\n", term->out);
	}
}

int
problems_status(const json_t *result)
{
	return json_array_size(json_object_get(result, "errors")) > 0 ? RUN_FAILED : RUN_OK;
}

int
problems_render(struct run *run, const json_t *result)
{
	static const char *const lists[][2] = {{"created", "created"}, {"updated", "changed"}, {"unchanged", "unchanged"},
		{"skipped", "skipped"}, {"errors", "wrong"}};
	const char *between = value_true(result, "dry_run") ? "Nothing is done; it would be: " : "";
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		size_t count = json_array_size(json_object_get(result, lists[i][0]));
		if (count == 0)
			continue;
		fprintf(run->term.out, "%s%zu %s", between, count, lists[i][1]);
		between = ", ";
	}
	fputs(strcmp(between, ", ") == 0 ? ".\n" : "There are no problems in the file.\n", run->term.out);
	return problems_status(result);
}

static void
on_planned(struct run *run, const struct kettle_error *err, json_t *result)
{
	size_t i;
	const json_t *step;
	if (err && err->code) {
		run_fail(run, err);
		return;
	}
	json_array_foreach(json_object_get(result, "plan"), i, step)
		if (!run->quiet)
			put_step(&run->term, step);
	if (!run->quiet)
		put_rest(run, result);
	if (value_true(run->args.values, "dry_run")) {
		run_result(run, result);
		return;
	}
	fflush(run->term.out);
	run_call(run, "problems.sync", run->args.values, run_answered);
}

void
problems_start(struct run *run)
{
	if (run->json) {
		run_call(run, "problems.sync", run->args.values, run_answered);
		return;
	}
	AUTO_JSON json_t *args = json_copy(run->args.values);
	json_object_set_new(args, "dry_run", json_true());
	run_call(run, "problems.sync", args, on_planned);
}
