/* SPDX-License-Identifier: MIT */
/* `kettle leaderboard task`, `leaderboard template` and `harness show`: printed, or written with -o. */
#include <config.h>

#include "cli/actions/actions.h"

#include "base/base.h"
#include "base/contents.h"
#include "base/json_text.h"
#include "common/table.h"
#include "common/template.h"

#define INDENT 4 /* columns, for lines below a step */

const struct args_option board_task_folder_options[] = {
	{"output", 'o', "DIR", "write the files to this folder, which must not exist"},
	{NULL, 0, NULL, NULL},
};

const struct args_option board_task_file_options[] = {
	{"output", 'o', "FILE", "write to this file, which must not exist"},
	{NULL, 0, NULL, NULL},
};

/* ---- the task ---- */

static void
put_pairs(const struct term *term, const char *title, const json_t *object)
{
	if (json_object_size(object) == 0)
		return;
	fprintf(term->out, "%*s%-8s", INDENT, "", title);
	json_object_each(object, name, value) {
		AUTO_FREE char *text = json_is_string(value) ? NULL : json_text(value, JSON_ENCODE_ANY | JSON_COMPACT);
		fputs("  ", term->out);
		term_sanitize(term->out, name, 0);
		fputc('=', term->out);
		term_sanitize(term->out, text ? text : json_string_value(value), 0);
	}
	fputc('\n', term->out);
}

static void
put_words(const struct term *term, const char *title, const json_t *words)
{
	if (json_array_size(words) == 0)
		return;
	fprintf(term->out, "%*s%-8s", INDENT, "", title);
	template_put(term, "{@@  {}}\n", words, NULL);
}

static void
put_inputs(const struct term *term, const json_t *inputs)
{
	AUTO_JSON json_t *names = json_array();
	json_object_each(inputs, name, value)
		json_array_append_new(names, json_string(name));
	put_words(term, "inputs", names);
}

/* Prints the command, environment, inputs and limits of a process. */
static void
put_process(const struct term *term, const json_t *process)
{
	if (!process)
		return;
	fprintf(term->out, "%*s$", INDENT, "");
	template_put(term, "{argv@@ {}}\n", process, NULL);
	put_pairs(term, "env", json_object_get(process, "env"));
	put_inputs(term, json_object_get(process, "inputs"));
	put_pairs(term, "limits", json_object_get(process, "limits"));
}

static void
put_cases(const struct term *term, const json_t *cases)
{
	const char *text = json_text_or_empty(cases, "text");
	size_t lines = 0;
	if (!cases)
		return;
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	fprintf(term->out, "%*s%-8s  ", INDENT, "", "cases");
	term_sanitize(term->out, json_text_or_empty(cases, "name"), 0);
	fprintf(term->out, ", %zu line%s\n", lines, lines == 1 ? "" : "s");
}

static void
put_step(const struct term *term, const json_t *step)
{
	const json_t *pass = json_object_get(step, "pass");
	template_put(term, "  {*id}  {kind}{cache?, kept for equal input}\n", step, NULL);
	if (json_object_get(step, "argv"))
		put_process(term, step);
	put_process(term, json_object_get(step, "referee"));
	put_process(term, json_object_get(step, "solver"));
	put_words(term, "needs", json_object_get(step, "needs"));
	put_words(term, "outputs", json_object_get(step, "outputs"));
	put_cases(term, json_object_get(step, "cases"));
	put_pairs(term, "secret", json_object_get(step, "secret"));
	put_pairs(term, "passes", pass);
}

/* Prints the plans; without --mode only the ranked one, which has all steps except the profile's. */
static void
put_plan(struct run *run, const json_t *row)
{
	const struct term *term = &run->term;
	bool chosen = *json_text_or_empty(run->args.values, "mode") != '\0';
	if (!chosen && strcmp(json_text_or_empty(row, "mode"), "ranked") != 0)
		return;
	fputc('\n', term->out);
	template_put(term, "{*device}, {mode}\n{error?  {error}\n}", row, NULL);
	json_array_each(json_object_get(json_object_get(row, "plan"), "steps"), step)
		put_step(term, step);
}

static double
contents_size(const json_t *contents)
{
	const json_t *text = json_object_get(contents, "text"), *base64 = json_object_get(contents, "base64");
	return text ? (double)json_string_length(text) : (double)(json_string_length(base64) / 4 * 3);
}

static void
put_files(const struct term *term, const json_t *result)
{
	static const struct view_column columns[] = {
		COLUMN_CUT("file", "{file}"), COLUMN_RIGHT("size", "{size@{bytes:bytes}}"), SPARE_COLUMN(1, "", "{what}")};
	AUTO_JSON json_t *rows = json_array();
	json_object_each(json_object_get(result, "files"), name, contents)
		json_array_append_new(
			rows, json_pack("{s:s, s:{s:f}}", "file", name, "size", "bytes", contents_size(contents)));
	json_array_append_new(
		rows, json_pack("{s:s, s:s}", "file", json_text_or_empty(result, "submission"), "what", "what is submitted"));
	json_object_each(json_object_get(result, "templates"), name, contents) {
		AUTO_FREE char *what = xasprintf("template for %s", name);
		json_array_append_new(rows, json_pack("{s:s, s:{s:f}, s:s}", "file", json_text_or_empty(contents, "file_name"),
										"size", "bytes", contents_size(contents), "what", what));
	}
	TABLE_PRINT(term, columns, rows, 2);
}

void
board_task_render(struct run *run, const json_t *result)
{
	const struct term *term = &run->term;
	template_put(term, "{*leaderboard}, task {name}\n\n", result, NULL);
	put_files(term, result);
	fputs("\n  task.yml\n", term->out);
	term_block(term->out, json_text_or_empty(result, "yml"), INDENT, 0);
	json_array_each(json_object_get(result, "plans"), row)
		put_plan(run, row);
	if (!run->quiet)
		fputs("\n-o DIR writes all of it, --json prints it.\n", term->out);
}

void
board_task_answer(struct run *run, const json_t *result)
{
	const char *folder = args_text(&run->args, "output");
	AUTO_JSON json_t *files = NULL;
	AUTO_FREE char *task = NULL;
	struct kettle_error why = {0};
	if (!folder) {
		run_result(run, result);
	} else if (task_files(result, &files, &task, &why) < 0 || save_folder(folder, files, &why) < 0) {
		run_fail(run, &why);
	} else {
		AUTO_FREE char *path = xasprintf("%s%s%s", folder, *task ? "/" : "", task);
		run_finish_facts(run,
			json_pack("{s:s, s:s, s:I}", "folder", folder, "task", path, "files", (json_int_t)json_object_size(files)),
			"Wrote the task to {*task}.\n");
	}
}

/* ---- templates ---- */

static int
choose_one(const json_t *result, struct kettle_error *err)
{
	if (json_array_size(json_object_get(result, "templates")) == 1)
		return 0;
	AUTO_FREE char *names = template_text("{templates?{templates@{language}}|none}", result, NULL);
	return kettle_fail(err, KETTLE_EINVAL, "The leaderboard `%s` has several templates: choose with --lang from %s.",
		json_text_or_empty(result, "leaderboard"), names);
}

void
board_task_template_render(struct run *run, const json_t *result)
{
	term_code(&run->term, json_text_or_empty(json_array_get(json_object_get(result, "templates"), 0), "text"));
}

void
board_task_template_answer(struct run *run, const json_t *result)
{
	const char *path = args_text(&run->args, "output");
	const json_t *one = json_array_get(json_object_get(result, "templates"), 0);
	const char *text = json_text_or_empty(one, "text");
	struct kettle_error why = {0};
	bool all = run->json && !path;
	if (!all && choose_one(result, &why) < 0)
		run_fail(run, &why);
	else if (!path)
		run_result(run, result);
	else if (save_file(path, text, strlen(text), &why) < 0)
		run_fail(run, &why);
	else
		run_finish_facts(run, json_pack("{s:s, s:s}", "file", path, "language", json_text_or_empty(one, "language")),
			"Wrote the template to {*file}.\n");
}

/* ---- harnesses ---- */

void
board_task_eval_render(struct run *run, const json_t *result)
{
	const json_t *files = json_object_get(result, "files");
	json_array_each_at(files, i, file) {
		/* Puts titles over several files as head(1) does. */
		if (json_array_size(files) > 1)
			template_put(&run->term, i > 0 ? "\n==> {name} <==\n" : "==> {name} <==\n", file, NULL);
		term_code(&run->term, json_text_or_empty(file, "text"));
	}
}

void
board_task_eval_answer(struct run *run, const json_t *result)
{
	const char *folder = args_text(&run->args, "output");
	AUTO_JSON json_t *files = json_object();
	struct kettle_error why = {0};
	json_array_each(json_object_get(result, "files"), file)
		json_object_set_new(
			files, json_text_or_empty(file, "name"), json_pack("{s:O}", "text", json_object_get(file, "text")));
	if (!folder)
		run_result(run, result);
	else if (save_folder(folder, files, &why) < 0)
		run_fail(run, &why);
	else
		run_finish_facts(run, json_pack("{s:s, s:I}", "folder", folder, "files", (json_int_t)json_object_size(files)),
			"Wrote the harness to {*folder}.\n");
}
