/* SPDX-License-Identifier: MIT */
/*
 * Tasks run here and now, without a database: one file, or all solutions that a task brings.
 *
 * Theory of operation. Files are read on a thread of the pool; all the rest happens on the loop. Verifying is one run
 * after the other; the next one is posted, not called, so that runs that end at once do not pile up on the stack.
 */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "base/missing_header.h"
#include "base/file.h"
#include "base/text.h"
#include "commands/local_job.h"
#include "commands/task_choice.h"
#include "commands/task_run.h"
#include "session/core.h"
#include "task/task_form.h"
#include "task/task.h"

#define EXPECT_LINES 10 /* of a solution, in which it may name its expected result */

/* Decides the language of a single reference file, for the device that the arguments name, else the first one. */
static void
choose_language(struct core *core, const json_t *args, void (*done)(void *arg, const json_t *languages), void *arg)
{
	const struct task_source source = {.path = json_text_or_null(args, "path")};
	AUTO_JSON json_t *unit = local_job_unit(core, json_text_or_null(args, "device"));
	AUTO_JSON json_t *devices = json_pack("[O*]", json_object_get(unit, "name"));
	task_choose(core, &source, json_text_or_null(args, "lang"), devices, done, arg);
}

static int
check_code(const struct task_run *run, const char *file, const char *code, size_t size, struct kettle_error *err)
{
	const char *lang = json_text_or_null(json_object_get(run->bundle, "task"), "lang");
	const struct language *language = language_find(run->core->languages, lang);
	if (!utf8_valid(code, size))
		return kettle_fail(err, KETTLE_EINVAL, "%s is not UTF-8 text.", file);
	if (size == 0)
		return kettle_fail(err, KETTLE_EINVAL, "%s is empty.", file);
	return language_takes_file(language, file, err);
}

static void
run_read(void *arg)
{
	struct task_run *run = arg;
	size_t size = 0;
	const char *path = json_text_or_null(run->args, "path"), *file = json_text_or_null(run->args, "file");
	if (task_read_harness(run->core->languages, path, json_text_or_null(run->args, "lang"),
			json_text_or_null(run->args, "harness"), &run->bundle, &run->err) < 0)
		return;
	if (file_read(file, (size_t)run->core->env.submission_bytes, &run->code, &size, &run->err) < 0)
		return;
	(void)check_code(run, file, run->code, size, &run->err);
}

static void
answer_run(struct task_run *run)
{
	AUTO_JSON json_t *answer = run->verdict ? verdict_write(run->verdict) : NULL;
	(void)json_object_update_new(
		answer, json_pack("{s:O, s:O*, s:O, s:O, s:O*}", "task", json_object_get(run->bundle, "name"), "source",
					json_object_get(run->bundle, "submission"), "device", json_object_get(run->unit, "name"), "mode",
					json_object_get(run->args, "mode"), "kept", run->kept));
	run->answer(run->arg, &run->err, answer);
}

static void
run_chosen(void *arg, const json_t *languages)
{
	struct task_run *run = arg;
	if (task_choice_take(languages, json_text_or_null(run->args, "path"), run->args, &run->err) < 0 ||
		core_work(run->core, run_read, task_run_begin, run, &run->err) < 0)
		task_run_end(run);
}

void
cmd_task_run(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct task_run *run = xnew(struct task_run, .core = core, .waiter = actor->waiter, .args = json_deep_copy(args),
		.ended = answer_run, .answer = answer, .arg = arg);
	choose_language(core, run->args, run_chosen, run);
}

/* ---- verifying ---- */

/* A task's solutions, one after the other. */
struct verify {
	struct core *core;
	struct waiter waiter;
	json_t *args, *bundle;
	json_t *
		solutions; /* [{"name", "kind", "expected", "mode", "code", "error": why it cannot be run}] that are still to be run */
	json_t *results;
	size_t count;
	char *device;
	struct kettle_error err;
	kettle_answer answer;
	void *arg;
};

static void
end_verify(struct verify *verify)
{
	bool ok = true;
	json_array_each(verify->results, result)
		ok = ok && !json_is_false(json_object_get(result, "ok"));
	AUTO_JSON json_t *answer = json_pack("{s:O*, s:s?, s:O*, s:b}", "task", json_object_get(verify->bundle, "name"),
		"device", verify->device, "solutions", verify->results, "ok", ok);
	verify->answer(verify->arg, &verify->err, verify->err.code < 0 ? NULL : answer);
	json_decref_all(verify->args, verify->bundle, verify->solutions, verify->results);
	free_all(verify->device, verify);
}

/* Modes by how much of a fault they reveal; any other counts as a ranked run. */
static int
strength(const char *mode)
{
	static const char *const weak[] = {"test", "profile", "benchmark"};
	for (int i = 0; mode && i < (int)ARRAY_SIZE(weak); i++)
		if (strcmp(mode, weak[i]) == 0)
			return i;
	return (int)ARRAY_SIZE(weak);
}

/* The word of small letters and _ behind `word` and blanks; new reference, NULL: `word` is not there. Moves *at behind it. */
static json_t *
word_behind(const char **at, const char *word)
{
	const char *text = *at + strspn(*at, " \t");
	if (strncmp(text, word, strlen(word)) != 0)
		return NULL;
	text += strlen(word);
	text += strspn(text, " \t");
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz_");
	*at = text + len;
	return len ? json_stringn(text, len) : NULL;
}

/*
 * The result that a solution expects in its first comment lines, and the mode in which it shows:
 * "expect: failed in test". New references, or NULL.
 */
static void
read_expected(const char *code, const char *comment, json_t **ret_expected, json_t **ret_mode)
{
	size_t prefix = comment ? strlen(comment) : 0;
	for (int line = 0; line < EXPECT_LINES && prefix && *code && !*ret_expected; line++) {
		const char *at = code + strspn(code, " \t");
		if (strncmp(at, comment, prefix) == 0) {
			at += prefix;
			*ret_expected = word_behind(&at, "expect:");
			*ret_mode = *ret_expected ? word_behind(&at, "in ") : NULL;
		}
		code += strcspn(code, "\n");
		code += *code == '\n';
	}
}

/* The header that a solution needs, by its first comment lines: "needs: cublas_v2.h". New reference, or NULL. */
static json_t *
read_needed(const char *code, const char *comment)
{
	static const char key[] = "needs:";
	size_t prefix = comment ? strlen(comment) : 0;
	for (int line = 0; line < EXPECT_LINES && prefix && *code; line++) {
		const char *at = code + prefix + (strncmp(code, comment, prefix) == 0 ? strspn(code + prefix, " \t") : 0);
		if (strncmp(code, comment, prefix) == 0 && strncmp(at, key, sizeof(key) - 1) == 0) {
			at += sizeof(key) - 1;
			at += strspn(at, " \t");
			size_t len = strcspn(at, " \t\r\n");
			return len ? json_stringn(at, len) : NULL;
		}
		code += strcspn(code, "\n");
		code += *code == '\n';
	}
	return NULL;
}

static int
read_solution(struct verify *verify, const struct source_dir *source_dir, const char *kind, const char *name)
{
	const char *lang = json_text_or_null(json_object_get(verify->bundle, "task"), "lang");
	const struct language *language = language_find(verify->core->languages, lang);
	AUTO_FREE char *code = NULL;
	size_t size = 0;
	char path[300];
	struct kettle_error why = {0};
	(void)snprintf(path, sizeof(path), "solutions/%s/%s", kind, name);
	if (language_takes_file(language, name, NULL))
		return 0; /* a note beside the solutions */
	int rc = source_dir_read(source_dir, path, 0, (size_t)verify->core->env.submission_bytes, &code, &size, &why);
	if (rc == 0 && !utf8_valid(code, size))
		rc = kettle_fail(&why, KETTLE_EINVAL, "it is not UTF-8 text.");
	json_t *expected = NULL, *mode = NULL;
	if (rc < 0) {
		/* The file cannot be read at all: a fault, whatever the solution should show. */
		free(code);
		code = xstrdup("");
		size = 0;
	}
	read_expected(code, language->ops->comment, &expected, &mode);
	if (!expected && strcmp(kind, "correct") == 0)
		expected = json_string("passed");
	json_t *solution = json_pack("{s:s, s:s, s:o?, s:o, s:s%, s:o*, s:s*}", "name", path + strlen("solutions/"), "kind",
		kind, "expected", expected, "mode", mode ? mode : json_string("ranked"), "code", code, size, "needs",
		read_needed(code, language->ops->comment), "error", rc < 0 ? why.message : NULL);
	if (json_array_append_new(verify->solutions, solution) < 0)
		return kettle_fail(&verify->err, KETTLE_EINVAL, "%s is not valid UTF-8.", path);
	return 0;
}

static int
read_solutions(struct verify *verify, const struct source_dir *source_dir, const char *kind)
{
	char folder[32];
	(void)snprintf(folder, sizeof(folder), "solutions/%s", kind);
	AUTO_JSON json_t *names = source_dir_list(source_dir, folder);
	int rc = 0;
	json_array_each(names, name)
		if (rc == 0)
			rc = read_solution(verify, source_dir, kind, json_string_value(name));
	return rc;
}

static void
verify_read(void *arg)
{
	struct verify *verify = arg;
	AUTO_TASK_FORM struct task_form form = {0};
	const char *path = json_text_or_null(verify->args, "path");
	if (task_read_harness(verify->core->languages, path, json_text_or_null(verify->args, "lang"),
			json_text_or_null(verify->args, "harness"), &verify->bundle, &verify->err) < 0 ||
		task_form_open(path, &form, &verify->err) < 0)
		return;
	if (read_solutions(verify, &form.source_dir, "correct") == 0)
		(void)read_solutions(verify, &form.source_dir, "wrong");
	verify->count = json_array_size(verify->solutions);
	if (verify->err.code == 0 && verify->count == 0)
		(void)kettle_fail(&verify->err, KETTLE_EINVAL,
			"The task `%s` has no solutions: put correct ones into solutions/correct and wrong ones into "
			"solutions/wrong.",
			json_text_or_null(verify->bundle, "name"));
}

/* The verdict as the word that solutions use in `expect`. */
static const char *
found_end(const struct verdict *verdict)
{
	for (size_t i = 0; verdict->state == VERDICT_FAILED && i < verdict->count; i++)
		if (!verdict->entries[i].step.run && verdict->entries[i].judged.state != VERDICT_PASSED)
			return "compile";
	return verdict_state_name(verdict->state);
}

/* true, false, or null: the run cannot tell. New reference. */
static json_t *
judge(const json_t *solution, const char *mode, const char *found)
{
	const char *expected = json_text_or_null(solution, "expected");
	bool passed = strcmp(found, "passed") == 0;
	if (expected ? strcmp(expected, found) == 0 : !passed && strcmp(found, "error") != 0)
		return json_true();
	if (passed && strength(mode) < strength(json_text_or_null(solution, "mode")))
		return json_null();
	return json_false();
}

static bool
is_header(void *arg, const char *name)
{
	return strcmp(name, arg) == 0;
}

static bool
misses_header(const struct verdict *verdict, const char *header)
{
	for (size_t i = 0; i < verdict->count; i++) {
		const char *text = json_string_value(verdict->entries[i].err);
		if (text && missing_header_find(text, is_header, (void *)header))
			return true;
	}
	return false;
}

/* The result of one solution. New reference. */
static json_t *
result_of(const struct task_run *run, const json_t *solution)
{
	const char *found = found_end(run->verdict), *error = verdict_message(&run->verdict->why);
	const char *mode = json_text_or_null(run->args, "mode");
	AUTO_JSON json_t *ok = judge(solution, mode, found);
	/* A machine's lack is no fault of the solution, unless the solution should show it. */
	bool lacks = !json_is_true(ok) && run->verdict->why.cause == KETTLE_CAUSE_LACKS;
	const char *needed = json_text_or_null(solution, "needs");
	AUTO_JSON json_t *why = error ? json_string(error) : NULL;
	if (!lacks && needed && strcmp(found, "compile") == 0 && misses_header(run->verdict, needed)) {
		lacks = true;
		json_decref(why);
		why = json_sprintf("The machine lacks `%s`.", needed);
	}
	return json_pack("{s:O, s:O, s:O, s:s, s:s, s:o, s:o, s:O?}", "name", json_object_get(solution, "name"), "kind",
		json_object_get(solution, "kind"), "expected", json_object_get(solution, "expected"), "mode", mode, "found",
		lacks ? "skipped" : found, "ok", lacks ? json_null() : json_incref(ok), "score",
		verdict_seconds(run->verdict->score.value), "error", why);
}

static void verify_next(void *arg);

static void
end_solution(struct verify *verify, json_t *result_take)
{
	if (result_take) {
		(void)json_array_append_new(verify->results, result_take);
		json_t *members = json_pack("{s:O, s:I, s:I}", "solution", result_take, "done",
			(json_int_t)json_array_size(verify->results), "of", (json_int_t)verify->count);
		if (members)
			local_job_tell(verify->core, verify->waiter.caller, members);
	}
	if (loop_post(verify->core->setup.io, verify_next, verify) < 0) {
		(void)kettle_fail(&verify->err, KETTLE_ECANCELED, "The engine is stopping.");
		end_verify(verify);
	}
}

static void
solution_ended(struct task_run *run)
{
	struct verify *verify = run->arg;
	AUTO_JSON json_t *solution = json_incref(json_array_get(verify->solutions, 0));
	(void)json_array_remove(verify->solutions, 0);
	if (!verify->device && run->unit)
		verify->device = xstrdup(json_text_or_null(run->unit, "name"));
	if (run->err.code < 0)
		verify->err = run->err;
	end_solution(verify, run->err.code < 0 ? NULL : result_of(run, solution));
}

static void
verify_next(void *arg)
{
	struct verify *verify = arg;
	const json_t *solution = json_array_get(verify->solutions, 0);
	if (verify->err.code < 0 || !solution) {
		end_verify(verify);
		return;
	}
	if (json_object_get(solution, "error")) {
		json_t *result = json_pack("{s:O, s:O, s:O, s:O, s:s, s:b, s:n, s:O}", "name",
			json_object_get(solution, "name"), "kind", json_object_get(solution, "kind"), "expected",
			json_object_get(solution, "expected"), "mode", json_object_get(solution, "mode"), "found", "error", "ok", 0,
			"score", "error", json_object_get(solution, "error"));
		(void)json_array_remove(verify->solutions, 0);
		end_solution(verify, result);
		return;
	}
	struct task_run *run = xmalloc(sizeof(*run));
	json_t *args = json_copy(verify->args);
	/* The mode of the arguments, else of the solution. */
	if (!json_object_get(args, "mode"))
		(void)json_object_set(args, "mode", json_object_get(solution, "mode"));
	*run = (struct task_run){
		.core = verify->core,
		.waiter = verify->waiter,
		.args = args,
		.bundle = json_incref(verify->bundle),
		.code = xstrdup(json_text_or_null(solution, "code")),
		.ended = solution_ended,
		.arg = verify,
	};
	task_run_begin(run);
}

static void
verify_chosen(void *arg, const json_t *languages)
{
	struct verify *verify = arg;
	if (task_choice_take(languages, json_text_or_null(verify->args, "path"), verify->args, &verify->err) < 0 ||
		core_work(verify->core, verify_read, verify_next, verify, &verify->err) < 0)
		end_verify(verify);
}

void
cmd_task_verify(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct verify *verify = xnew(struct verify, .core = core, .waiter = actor->waiter, .args = json_deep_copy(args),
		.solutions = json_array(), .results = json_array(), .answer = answer, .arg = arg);
	choose_language(core, verify->args, verify_chosen, verify);
}
