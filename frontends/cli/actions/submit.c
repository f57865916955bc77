/* SPDX-License-Identifier: MIT */
/* `kettle submit` and `submission watch`: progress and a report. */
#include <config.h>

#include "cli/actions/actions.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json_access.h"
#include "cli/render/render.h"
#include "cli/run/follow.h"
#include "common/wrap.h"

const struct args_option submit_options[] = {
	{"output", 'o', "FILE", "also write the report (with --json: the document) to this file"},
	RENDER_VERBOSE,
	{"file-name", 0, "NAME", "the file name of the submission if FILE is - (standard input)"},
	{NULL, 0, NULL, NULL},
};

const struct args_option task_run_options[] = {
	{"output", 'o', "FILE", "also write the report (with --json: the document) to this file"},
	RENDER_VERBOSE,
	{NULL, 0, NULL, NULL},
};

static void
say_accepted(struct term *term, int64_t id, bool again, const json_t *result)
{
	struct wrap_part part;
	wrap_part_begin(&part, term);
	fprintf(term->out, "%s submission %lld%s.\n", again ? "Rerunning" : "Accepted", (long long)id,
		member_true(result, "practice") ? " as practice, outside of the ranking" : "");
	json_array_each(json_object_get(result, "remarks"), remark) {
		term_put(term, STYLE_YELLOW, "Remark: ");
		term_sanitize(term->out, json_string_value(remark), 0);
		fputc('\n', term->out);
	}
	wrap_part_end(&part, false);
}

void
submit_accepted(struct run *run, const json_t *result)
{
	int64_t id = member_int(result, "id");
	bool waits = !member_true(run->args.values, "no_wait");
	/* Programs read only the number. */
	if (!run->json && !run->quiet && (waits || run->term.tty))
		say_accepted(&run->term, id, member_is(run->command, "name", "submission.rerun"), result);
	if (waits) {
		follow_submission(run, id, member_int(result, "seq"), json_object_get(result, "jobs"),
			json_is_false(json_object_get(result, "stays")));
		return;
	}
	if (run->json)
		run_print_json(&run->term, result);
	else if (run->term.tty)
		fprintf(run->term.out, "`kettle submission watch %lld` follows it.\n", (long long)id);
	else
		fprintf(run->term.out, "%lld\n", (long long)id);
	run_finish(run, RUN_OK);
}

void
submit_watched(struct run *run, const json_t *result)
{
	AUTO_JSON json_t *args = json_pack("{s:O}", "id", json_object_get(result, "id"));
	if (member_true(result, "done"))
		run_call(run, "submission.show", args, run_result);
	else
		follow_submission(
			run, member_int(result, "id"), member_int(result, "seq"), json_object_get(result, "jobs"), false);
}
