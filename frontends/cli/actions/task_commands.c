/* SPDX-License-Identifier: MIT */
/* `kettle task`: checks and verified solutions printed, packs and copies written to files. `kettle competition sync`. */
#include <config.h>

#include "cli/actions/actions.h"

#include "base/base.h"
#include "base/contents.h"
#include "base/file.h"
#include "cli/run/follow.h"
#include "common/template.h"

const struct args_option task_pack_options[] = {
	{"output", 'o', "FILE", "the zip to write, which must not exist; default: NAME.zip in the current folder"},
	{NULL, 0, NULL, NULL},
};

/* ---- check ---- */

/* Whether the error begins with the path of the task, as terminals and editors need it to find the place. */
static bool
names_path(const json_t *entry)
{
	const char *path = json_text_or_empty(entry, "path");
	return *path && strncmp(json_text_or_empty(entry, "error"), path, strlen(path)) == 0;
}

void
task_check_render(struct run *run, const json_t *result)
{
	const struct term *term = &run->term;
	json_array_each(json_object_get(result, "tasks"), entry) {
		bool ok = member_true(entry, "ok");
		if (ok && run->quiet)
			continue;
		if (!json_text_or_null(entry, "problem") && names_path(entry))
			template_put(term, "{!error}", entry, NULL);
		else
			template_put(term, "{problem?  {*problem} in }{path}: {ok?|{!error}}", entry, NULL);
		if (ok) {
			term_put(term, STYLE_GREEN, "ok");
			template_put(term,
				"{competition? (competition {competition}, {problems} problem{problems#|s}, deadline "
				"{deadline?{deadline}|none})|"
				"{lang? ({lang}, {tests} test{tests#|s}, {benchmarks} benchmark{benchmarks#|s}"
				"{harness=kettle?, harness: kettle})}}",
				entry, NULL);
		}
		template_put(term,
			"\n{judging@@  judging{kind=any?| on a {kind}}: {by}; open: {open} (docs/tasks.md)\n}"
			"{remarks@@  remark: {}\n}{tried@@  {device}: {said}\n}",
			entry, NULL);
		json_array_each(json_object_get(entry, "tried"), tried)
			run_print_log(term->out, tried);
	}
}

/* ---- verify ---- */

static bool
is_skipped(const json_t *solution)
{
	return strcmp(json_text_or_empty(solution, "found"), "skipped") == 0;
}

/* Prints a line for a solution that task.verify has run. */
static void
put_solution(const struct term *term, const json_t *solution)
{
	if (is_skipped(solution)) {
		term_put(term, STYLE_YELLOW, "- ");
		template_put(term, "{name}: skipped: {error}\n", solution, NULL);
		return;
	}
	const json_t *ok = json_object_get(solution, "ok");
	const char *error = json_text_or_empty(solution, "error");
	term_put(term,
		json_is_false(ok)  ? STYLE_RED
		: json_is_true(ok) ? STYLE_GREEN
						   : STYLE_YELLOW,
		json_is_false(ok)  ? "✗ "
		: json_is_true(ok) ? "✓ "
						   : "? ");
	template_put(term, "{name}: ", solution, NULL);
	if (json_is_false(ok))
		template_put(term, "expected {expected?`{expected:word}`|a failure}, got ", solution, NULL);
	template_put(term, "{found=compile?a compile error|{found:word}}{score?, {score:seconds}}", solution, NULL);
	if (json_is_null(ok))
		fputs(", undecided in this mode", term->out);
	else if (json_is_true(ok) && !member_is(solution, "found", "passed"))
		fputs(", as it should", term->out);
	fputc('\n', term->out);
	if (!json_is_true(ok) && *error)
		term_block(term->out, error, 4, 0);
}

void
task_verify_render(struct run *run, const json_t *result)
{
	size_t right = 0, undecided = 0, skipped = 0, count = json_array_size(json_object_get(result, "solutions"));
	json_array_each(json_object_get(result, "solutions"), solution) {
		right += member_true(solution, "ok");
		skipped += is_skipped(solution);
		undecided += json_is_null(json_object_get(solution, "ok")) && !is_skipped(solution);
		/* --quiet prints only wrong and skipped solutions. */
		if (run->quiet && (json_is_false(json_object_get(solution, "ok")) || is_skipped(solution)))
			put_solution(&run->term, solution);
	}
	term_sanitize(run->term.out, json_text_or_empty(result, "task"), 0);
	fprintf(run->term.out, ": %zu of %zu solutions ended as expected", right, count);
	if (skipped)
		fprintf(run->term.out, "; %zu skipped: the machine lacks what they need", skipped);
	if (undecided)
		fprintf(run->term.out, "; %zu undecided in this mode", undecided);
	fputs(".\n", run->term.out);
}

void
task_verify_start(struct run *run)
{
	follow_call(run, put_solution);
}

/* ---- pack and new ---- */

#define WRITTEN "Wrote the task {*name} to {*path}: {files:count} file{files#|s}.\n"
/* The next steps of an author with a new task. */
#define NEXT "Next: `kettle task check {path}`, then `kettle leaderboard create NAME --task {path}`.\n"

/* Ends the run; prints the path to which a task was written. */
static void
finish_written(struct run *run, const json_t *result, json_t *files_take, const char *path, const char *template)
{
	run_finish_facts(run,
		json_pack("{s:O, s:s, s:o, s:O*, s:O*}", "name", json_object_get(result, "name"), "path", path, "files",
			files_take, "size", json_object_get(result, "size"), "hash", json_object_get(result, "hash")),
		template);
}

void
task_pack_answer(struct run *run, const json_t *result)
{
	struct kettle_error err = {0};
	AUTO_FREE void *data = NULL;
	size_t size = 0;
	const char *base64 = json_text_or_empty(result, "base64"), *path = args_text(&run->args, "output");
	AUTO_FREE char *name = path ? xstrdup(path) : xasprintf("%s.zip", json_text_or_empty(result, "name"));
	int rc = base64_decode(base64, strlen(base64), &data, &size);
	if (rc)
		rc = kettle_fail(&err, rc, "The engine sent a pack that is not base64.");
	else
		rc = save_file(name, data, size, &err);
	if (rc)
		run_fail(run, &err);
	else
		finish_written(run, result, json_incref(json_object_get(result, "files")), name, WRITTEN);
}

void
task_new_answer(struct run *run, const json_t *result)
{
	struct kettle_error err = {0};
	const char *dir = json_text_or_empty(run->args.values, "dir"), *reference = json_text_or_empty(result, "reference");
	const json_t *files = json_object_get(result, "files");
	if (save_folder(dir, files, &err)) {
		run_fail(run, &err);
		return;
	}
	json_t *names = json_array();
	json_object_each(files, name, contents)
		json_array_append_new(names, json_string(name));
	/* A task of a single reference file has the path of that file. */
	AUTO_FREE char *file = *reference ? path_join(dir, reference) : NULL;
	finish_written(run, result, names, file ? file : dir, WRITTEN NEXT);
}

/* ---- competition sync ---- */

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
