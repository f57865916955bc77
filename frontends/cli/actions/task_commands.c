/* SPDX-License-Identifier: MIT */
/* The work on tasks: checks and verified solutions for people, packs and copies written to files. */
#include <config.h>

#include "cli/actions/task_commands.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/contents.h"
#include "base/file.h"
#include "cli/run/follow.h"
#include "cli/text/format.h"
#include "cli/actions/write_files.h"
#include "cli/text/json_read.h"

const struct args_option task_pack_options[] = {
	{"output", 'o', "FILE", "the zip, which must not be there yet; default: NAME.zip here"},
	{NULL, 0, NULL, NULL},
};

static void
put_line(const struct term *term, const char *prefix, const char *text)
{
	fputs(prefix, term->out);
	term_sanitize(term->out, text, 0);
	fputc('\n', term->out);
}

/* ---- check ---- */

int
task_work_check_status(const json_t *result)
{
	return value_true(result, "ok") ? RUN_OK : RUN_USAGE;
}

/* What is said behind "ok". */
static void
put_facts(const struct term *term, const json_t *entry)
{
	if (*value_text(entry, "competition")) {
		const char *deadline = value_text(entry, "deadline");
		fputs(" (competition ", term->out);
		term_sanitize(term->out, value_text(entry, "competition"), 0);
		fprintf(term->out, ", %lld problems, deadline ", (long long)value_int(entry, "problems", 0));
		term_sanitize(term->out, *deadline ? deadline : "none", 0);
		fputc(')', term->out);
	} else if (*value_text(entry, "lang")) {
		long long tests = value_int(entry, "tests", 0), benchmarks = value_int(entry, "benchmarks", 0);
		fprintf(term->out, " (%s, %lld test%s, %lld benchmark%s)", value_text(entry, "lang"), tests,
			tests == 1 ? "" : "s", benchmarks, benchmarks == 1 ? "" : "s");
	}
}

int
task_work_render_check(struct run *run, const json_t *result)
{
	const struct term *term = &run->term;
	size_t i, j;
	const json_t *entry, *remark;
	json_array_foreach(json_object_get(result, "tasks"), i, entry) {
		bool ok = value_true(entry, "ok");
		if (ok && run->quiet)
			continue;
		if (*value_text(entry, "problem")) {
			fputs("  ", term->out);
			term_put(term, STYLE_BOLD, value_text(entry, "problem"));
			fputs(" in ", term->out);
		}
		term_sanitize(term->out, value_text(entry, "path"), 0);
		fputs(": ", term->out);
		term_put(term, ok ? STYLE_GREEN : STYLE_RED, ok ? "ok" : value_text(entry, "error"));
		if (ok)
			put_facts(term, entry);
		fputc('\n', term->out);
		json_array_foreach(json_object_get(entry, "remarks"), j, remark)
			put_line(term, "  remark: ", json_string_value(remark));
	}
	return task_work_check_status(result);
}

/* ---- verify ---- */

int
task_work_verify_status(const json_t *result)
{
	return value_true(result, "ok") ? RUN_OK : RUN_FAILED;
}

static bool
is_skipped(const json_t *solution)
{
	return strcmp(value_text(solution, "found"), "skipped") == 0;
}

/* "- correct/jax_jit.py: skipped: The board's machine lacks `jax`; it has numpy 1.24.2." */
static void
put_skipped(const struct term *term, const json_t *solution)
{
	term_put(term, STYLE_YELLOW, "- ");
	term_sanitize(term->out, value_text(solution, "name"), 0);
	put_line(term, ": skipped: ", value_text(solution, "error"));
}

/* One solution that task.verify has run, in a line of its own. */
static void
put_solution(const struct term *term, const json_t *solution)
{
	if (is_skipped(solution)) {
		put_skipped(term, solution);
		return;
	}
	const json_t *ok = json_object_get(solution, "ok");
	const char *expected = value_text(solution, "expected"), *error = value_text(solution, "error");
	bool wrong = strcmp(value_text(solution, "kind"), "wrong") == 0;
	char score[FORMAT_SIZE];
	term_put(term,
		json_is_false(ok)  ? STYLE_RED
		: json_is_true(ok) ? STYLE_GREEN
						   : STYLE_YELLOW,
		json_is_false(ok)  ? "✗ "
		: json_is_true(ok) ? "✓ "
						   : "? ");
	term_sanitize(term->out, value_text(solution, "name"), 0);
	fputs(": ", term->out);
	term_sanitize(term->out, value_text(solution, "found"), 0);
	if (json_is_number(json_object_get(solution, "score"))) {
		format_ns(value_number(solution, "score") * 1e9, score);
		fprintf(term->out, ", %s", score);
	}
	if (json_is_null(ok))
		fputs(", where this mode may not tell", term->out);
	if (json_is_false(ok)) {
		fputs(", but it must ", term->out);
		term_sanitize(term->out, *expected ? (wrong ? "end as " : "have ") : "not have passed", 0);
		term_sanitize(term->out, expected, 0);
	}
	fputc('\n', term->out);
	if (!json_is_true(ok) && *error)
		term_block(term->out, error, 4, 0);
}

int
task_work_render_verify(struct run *run, const json_t *result)
{
	size_t i, right = 0, undecided = 0, skipped = 0, count = json_array_size(json_object_get(result, "solutions"));
	const json_t *solution;
	json_array_foreach(json_object_get(result, "solutions"), i, solution) {
		right += value_true(solution, "ok");
		skipped += is_skipped(solution);
		undecided += json_is_null(json_object_get(solution, "ok")) && !is_skipped(solution);
		/* Whatever else is not said: what was not run. */
		if (run->quiet && (json_is_false(json_object_get(solution, "ok")) || is_skipped(solution)))
			put_solution(&run->term, solution);
	}
	term_sanitize(run->term.out, value_text(result, "task"), 0);
	fprintf(run->term.out, ": %zu of %zu solutions are as they must be", right, count);
	if (skipped)
		fprintf(run->term.out, "; %zu skipped, for what the machine lacks", skipped);
	if (undecided)
		fprintf(run->term.out, "; of %zu this run cannot tell", undecided);
	fputs(".\n", run->term.out);
	return task_work_verify_status(result);
}

static void
on_verified(struct run *run, const struct kettle_error *err, json_t *result)
{
	follow_end(run);
	run_answered(run, err, result);
}

void
task_work_verify(struct run *run)
{
	follow_verify(run, put_solution);
	run_call(run, "task.verify", run->args.values, on_verified);
}

/* ---- pack and new ---- */

/* Ends the run with what was written where. */
static void
finish_written(struct run *run, const json_t *result, json_t *files_take, const char *path)
{
	AUTO_JSON json_t *facts = json_pack("{s:O, s:s, s:o, s:O*, s:O*}", "name", json_object_get(result, "name"), "path",
		path, "files", files_take, "size", json_object_get(result, "size"), "hash", json_object_get(result, "hash"));
	if (run->json) {
		run_print_json(&run->term, facts);
	} else {
		fputs("The task ", run->term.out);
		term_put(&run->term, STYLE_BOLD, value_text(result, "name"));
		fprintf(run->term.out, " is in ");
		term_put(&run->term, STYLE_BOLD, path);
		size_t count = json_array_size(json_object_get(facts, "files"));
		fprintf(run->term.out, ": %zu file%s.\n", count, count == 1 ? "" : "s");
	}
	run_finish(run, RUN_OK);
}

static void
on_packed(struct run *run, const struct kettle_error *err, json_t *result)
{
	struct kettle_error why = {0};
	AUTO_BUF struct buf name = {0};
	AUTO_FREE void *data = NULL;
	size_t size = 0;
	const char *base64 = value_text(result, "base64"), *path = args_text(&run->args, "output");
	if (err && err->code) {
		run_fail(run, err);
		return;
	}
	int rc = buf_printf(&name, "%s", path ? path : value_text(result, "name"));
	if (rc == 0 && !path)
		rc = buf_adds(&name, ".zip");
	if (rc == 0)
		rc = base64_decode(base64, strlen(base64), &data, &size);
	if (rc)
		rc = kettle_fail(&why, rc, "The pack cannot be taken out of its answer.");
	else
		rc = save_file(name.data, data, size, &why);
	if (rc)
		run_fail(run, &why);
	else
		finish_written(run, result, json_incref(json_object_get(result, "files")), name.data);
}

void
task_work_pack(struct run *run)
{
	run_call(run, "task.pack", run->args.values, on_packed);
}

static void
on_copied(struct run *run, const struct kettle_error *err, json_t *result)
{
	struct kettle_error why = {0};
	const char *dir = value_text(run->args.values, "dir"), *reference = value_text(result, "reference"), *name;
	const json_t *files = json_object_get(result, "files");
	json_t *names = NULL, *contents;
	if (err && err->code) {
		run_fail(run, err);
		return;
	}
	if (save_folder(dir, files, &why)) {
		run_fail(run, &why);
		return;
	}
	names = json_array();
	json_object_foreach((json_t *)files, name, contents)
		json_array_append_new(names, json_string(name));
	/* Of a single reference file the path is the file's: what every command takes that takes a task. */
	AUTO_FREE char *file = *reference ? path_join(dir, reference) : NULL;
	finish_written(run, result, names, file ? file : dir);
}

void
task_work_new(struct run *run)
{
	run_call(run, "task.new", run->args.values, on_copied);
}
