/* SPDX-License-Identifier: MIT */
/* Commands on tasks without a database: read, check, pack, new. Files are read on a thread of the pool. */
#include <config.h>

#include "commands/handlers.h"

#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/file.h"
#include "base/installed.h"
#include "base/sanitize_text.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "commands/local_job.h"
#include "commands/pool_call.h"
#include "commands/task_choice.h"
#include "commands/task_try.h"
#include "judge/plan.h"
#include "judge/step_verdict.h"
#include "model/board.h"
#include "session/core.h"
#include "task/competition.h"
#include "task/folder.h"
#include "task/task_form.h"
#include "task/pack.h"
#include "task/task.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SENT_NAME_MAX 200 /* characters */

/* ---- probes of devices ---- */

/*
 * Theory of operation. For one device after the other: reads its machine's report on the GPU, if the unit names one;
 * then makes the language's probe, a plan of build steps; then runs that plan as a local job. kettle-exec keeps what
 * was built, so the second probe of the same machine costs nothing. Only a step that the language blames on the machine
 * is an error here; any other failure is left to the jobs, which report it.
 */
struct probe {
	struct inflight_job job; /* first */
	struct core *core;
	json_t *bundle, *names; /* of the devices that are left */
	json_t *unit;           /* of the present device */
	struct plan *plan;
	struct kettle_error err;
	void (*done)(void *arg, const struct kettle_error *err);
	void *arg;
};

static void probe_next(void *arg);

static void
probe_finish(struct probe *probe)
{
	probe->done(probe->arg, &probe->err);
	json_decref(probe->bundle);
	json_decref(probe->names);
	json_decref(probe->unit);
	plan_free(probe->plan);
	free(probe);
}

/* Posts the next one instead of calling it: probes that end at once must not pile up on the stack. */
static void
probe_go_on(struct probe *probe)
{
	json_decref(STEAL(probe->unit));
	plan_free(STEAL(probe->plan));
	if (probe->err.code < 0 || probe->core->closing || loop_post(probe->core->setup.io, probe_next, probe) < 0)
		probe_finish(probe);
}

static void
ignore_event(struct inflight_job *job, const json_t *event)
{
	(void)job;
	(void)event;
}

/* The first step for which the machine is to blame, in words. */
static void
read_outcomes(struct probe *probe, const struct completion *completion)
{
	const json_t *task = json_object_get(probe->bundle, "task");
	const struct language *language = language_find(probe->core->languages, json_text_or_null(task, "lang"));
	for (size_t i = 0; i < probe->plan->count && probe->err.code == 0; i++) {
		const struct plan_step *step = &probe->plan->steps[i];
		const struct outcome *outcome = completion_outcome(completion, step->id);
		struct step_result result = {0};
		if (outcome)
			step_result_read(language, task, step, outcome, &result);
		if (result.state == VERDICT_ERROR && result.blame && strcmp(result.blame, "machine") == 0)
			(void)kettle_fail(&probe->err, KETTLE_EUNAVAIL, "The task cannot run on %s: %s",
				json_text_or_null(probe->unit, "name"), result.why.message);
	}
}

static void
on_probed(struct inflight_job *job, const struct completion *completion)
{
	struct probe *probe = (struct probe *)job;
	if (completion->status == COMPLETION_DONE)
		read_outcomes(probe, completion);
	probe_go_on(probe);
}

/* A machine that does not report its memory may have enough. */
static bool
has_memory(struct probe *probe)
{
	const json_t *facts = json_object_get(probe->unit, "facts");
	json_int_t needed = member_int(json_object_get(probe->bundle, "task"), "memory");
	json_int_t most = member_int(json_object_get(facts, "machine"), "memory");
	if (most > 0 && needed > most)
		(void)kettle_fail(&probe->err, KETTLE_EUNAVAIL,
			"The task requires `memory: %" JSON_INTEGER_FORMAT "`, but the machine of %s has %" JSON_INTEGER_FORMAT
			" bytes.",
			needed, json_text_or_null(probe->unit, "name"), most);
	return probe->err.code == 0;
}

static void
build(void *arg)
{
	struct probe *probe = arg;
	struct core *core = probe->core;
	struct kettle_error ignored = {0};
	if (!core->closing && !has_memory(probe)) {
		probe_go_on(probe);
		return;
	}
	if (core->closing || plan_make_probe(core->languages, probe->bundle, probe->unit, &probe->plan, &ignored) != 0 ||
		local_job_start(core, &probe->job, "probe", probe->unit, probe->plan, &ignored) < 0)
		probe_go_on(probe);
}

static void
probe_next(void *arg)
{
	struct probe *probe = arg;
	if (json_array_size(probe->names) == 0 || probe->core->closing) {
		probe_finish(probe);
		return;
	}
	probe->unit = local_job_unit(probe->core, json_string_value(json_array_get(probe->names, 0)));
	(void)json_array_remove(probe->names, 0);
	if (probe->unit)
		local_job_describe(probe->core, json_object_get(probe->bundle, "task"), probe->unit, build, probe);
	else
		probe_go_on(probe);
}

/* The named devices, else the task's, else all configured ones. New reference. */
static json_t *
probe_choose(const struct core *core, const json_t *bundle, const json_t *devices)
{
	const json_t *gpus = json_object_get(json_object_get(bundle, "task"), "gpus");
	if (json_array_size(devices) > 0 || json_array_size(gpus) > 0)
		return json_copy((json_t *)(json_array_size(devices) > 0 ? devices : gpus));
	json_t *names = json_array();
	const char *name;
	json_t *device;
	json_object_foreach(core->devices, name, device)
		(void)json_array_append_new(names, json_string(name));
	return names;
}

/*
 * Has the first unit of each device build the probe of the task's language (kettle/language.h). devices: names (NULL or
 * empty: those that the task names, else all of the configuration). A device is skipped if this process has no runner
 * for it, if the task cannot be planned for it, or if its machine does not answer. done: with EUNAVAIL and a sentence
 * that names what the first device lacks, else without an error; called once, perhaps before this returns.
 */
static void
probe_task(struct core *core, const json_t *bundle, const json_t *devices,
	void (*done)(void *arg, const struct kettle_error *err), void *arg)
{
	struct probe *probe = xmalloc(sizeof(*probe));
	*probe = (struct probe){.job = {.event = ignore_event, .done = on_probed},
		.core = core,
		.bundle = json_incref((json_t *)bundle),
		.names = probe_choose(core, bundle, devices),
		.done = done,
		.arg = arg};
	probe_next(probe);
}

static void probe_bundles(struct pool_call *call);

/* The entry of the present bundle, or NULL: there is only one bundle. */
static json_t *
entry_at_hand(const struct pool_call *call)
{
	const json_t *index = json_array_get(json_array_get(call->bundles, 0), 0);
	return json_array_get(
		json_object_get(call->result, "tasks"), json_is_integer(index) ? (size_t)json_integer_value(index) : SIZE_MAX);
}

static void
fail_entry(const struct pool_call *call, json_t *entry, const char *error)
{
	(void)json_object_set_new(entry, "ok", json_false());
	(void)json_object_set_new(entry, "error", json_string(error));
	(void)json_object_set_new(call->result, "ok", json_false());
}

static void
next_bundle(struct pool_call *call)
{
	(void)json_array_remove(call->bundles, 0);
	probe_bundles(call);
}

/* The sentence for the creator of a leaderboard that no submission could pass. New string. */
static char *
refusal(const char *reason)
{
	return xasprintf("%s Use `force` to create the leaderboard anyway.", reason);
}

static char *
refusal_of_trial(const json_t *tried)
{
	AUTO_FREE char *reason = xasprintf(
		"No submission could pass on %s: %s", json_text_or_empty(tried, "device"), json_text_or_empty(tried, "error"));
	return refusal(reason);
}

static void
refuse(struct pool_call *call, char *sentence_take)
{
	AUTO_FREE char *sentence = sentence_take;
	(void)kettle_blame(
		&call->err, KETTLE_CAUSE_NONE, "force", kettle_fail(&call->err, KETTLE_ECONFLICT, "%s", sentence));
}

/*
 * A fault of the task is an error of its entry; for a single bundle the caller decides. With `refuse` it is an error of
 * either that no submission could pass.
 */
static void
bundle_tried(void *arg, json_t *tried)
{
	struct pool_call *call = arg;
	json_t *entry = entry_at_hand(call);
	const json_t *fault = task_try_fault(tried);
	const json_t *obstacle = member_true(call->args, "refuse") ? task_try_obstacle(tried) : NULL;
	(void)json_object_set(entry ? entry : call->result, "tried", tried);
	json_t *imported = entry ? NULL : task_try_imports(tried);
	if (json_array_size(imported) > 0)
		(void)json_object_set(call->result, "imported", imported);
	json_decref(imported);
	AUTO_FREE char *sentence = obstacle ? refusal_of_trial(obstacle) : NULL;
	if (entry && (obstacle || fault))
		fail_entry(call, entry, obstacle ? sentence : json_text_or_empty(fault, "error"));
	else if (obstacle)
		refuse(call, STEAL(sentence));
	next_bundle(call);
}

/* A device's lack is an error of the entry, if there is one, else of the command. */
static void
bundle_probed(void *arg, const struct kettle_error *err)
{
	struct pool_call *call = arg;
	json_t *entry = entry_at_hand(call), *bundle = json_array_get(json_array_get(call->bundles, 0), 1);
	bool tries = entry ? !member_true(call->args, "no_try") : member_true(call->args, "try");
	bool refuses = err->code < 0 && member_true(call->args, "refuse");
	AUTO_FREE char *sentence = refuses ? refusal(err->message) : NULL;
	if (err->code < 0 && entry)
		fail_entry(call, entry, refuses ? sentence : err->message);
	else if (refuses)
		refuse(call, STEAL(sentence));
	else if (err->code < 0)
		call->err = *err;
	if (err->code == 0 && tries)
		task_try(call->core, &call->waiter, bundle,
			probe_choose(call->core, bundle, json_object_get(call->args, "device")), bundle_tried, call);
	else
		next_bundle(call);
}

static void
probe_bundles(struct pool_call *call)
{
	const json_t *bundle = json_array_get(json_array_get(call->bundles, 0), 1);
	if (call->err.code < 0 || !bundle)
		pool_call_answer(call);
	else
		probe_task(call->core, bundle, json_object_get(call->args, "device"), bundle_probed, call);
}

/* ---- reading ---- */

/* The source of a task: a path, else a file that was sent. */
struct source {
	const char *path, *name;
	const void *data;
	size_t size;
};

static int
read_source(const struct pool_call *call, const struct source *source, const char *lang, json_t **ret_bundle,
	struct kettle_error *err)
{
	if (source->path)
		return task_read_as(call->languages, source->path, lang, ret_bundle, err);
	return task_read_bytes(call->languages, source->name, source->data, source->size, lang, ret_bundle, err);
}

/* Reads the task in the named language; without one by default, and also in each language that may be chosen. */
static int
read_in_languages(struct pool_call *call, const struct source *source, const json_t *names, json_t **ret_bundle,
	struct kettle_error *err)
{
	const char *lang = json_text_or_null(call->args, "lang");
	size_t i;
	const json_t *name;
	call->choices = json_array();
	json_array_foreach(lang ? NULL : names, i, name) {
		json_t *bundle = NULL;
		if (read_source(call, source, json_string_value(name), &bundle, NULL) == 0)
			(void)json_array_append_new(call->choices, bundle);
	}
	return read_source(call, source, lang, ret_bundle, err);
}

/* Goes on with the chosen language. */
static void
language_chosen(struct pool_call *call)
{
	if (call->err.code == 0 && member_true(call->args, "probe"))
		call->bundles = json_pack("[[n, O]]", call->result);
	probe_bundles(call);
}

/* Takes the one language that runs the file on a device at hand; of several the caller chooses, of none the default stays. */
static void
languages_planned(void *arg, const json_t *fitting)
{
	struct pool_call *call = arg;
	AUTO_JSON json_t *names = json_array();
	size_t i;
	const json_t *bundle;
	json_array_foreach(fitting, i, bundle)
		(void)json_array_append(names, json_object_get(json_object_get(bundle, "task"), "lang"));
	AUTO_FREE char *list = board_join(names);
	if (i > 0) {
		json_decref(call->result);
		call->result = json_copy(json_array_get(fitting, 0));
		call->err = (struct kettle_error){0};
	}
	if (i < 2) {
		language_chosen(call);
		return;
	}
	if (member_true(call->args, "choose"))
		(void)json_object_set(call->result, "languages", names);
	else
		(void)kettle_blame(&call->err, KETTLE_CAUSE_NONE, "lang",
			kettle_fail(&call->err, KETTLE_EINVAL,
				"The reference file of `%s` fits several languages: choose with `lang` from %s.",
				json_text_or_empty(call->result, "name"), list));
	pool_call_answer(call);
}

static void
choose_language(struct pool_call *call)
{
	if (json_array_size(call->choices) == 0)
		language_chosen(call);
	else
		task_choose(call->core, call->choices,
			probe_choose(call->core, json_array_get(call->choices, 0), json_object_get(call->args, "device")),
			languages_planned, call);
}

static int
task_read_one(struct pool_call *call, json_t **ret_result, struct kettle_error *err)
{
	const struct source source = {.path = json_text_or_null(call->args, "path")};
	AUTO_JSON json_t *names = NULL;
	int rc = task_languages(call->languages, source.path, &names, err);
	return rc ? rc : read_in_languages(call, &source, names, ret_result, err);
}

void
cmd_task_read(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	pool_call_start(core, actor, args, task_read_one, choose_language, answer, arg);
}

/* A name from another machine may have either slash. Errors contain the name. */
static char *
sent_name(const char *name)
{
	const char *base = name + strlen(name);
	while (base > name && base[-1] != '/' && base[-1] != '\\')
		base--;
	return sanitize_line(base, SENT_NAME_MAX);
}

static int
unpack_sent(struct pool_call *call, json_t **ret_result, struct kettle_error *err)
{
	const json_t *file = json_object_get(call->args, "file"), *base64 = json_object_get(file, "base64");
	AUTO_FREE char *name = sent_name(json_text_or_null(file, "name"));
	AUTO_FREE void *data = NULL;
	size_t size = 0;
	if (!*name)
		return kettle_fail(
			err, KETTLE_EINVAL, "The file has no name: its extension says whether it is a zip or a reference file.");
	/* Four characters are three bytes: a file over the limit is not decoded. */
	if (json_string_length(base64) / 4 * 3 > TASK_ARCHIVE_MAX_PACKED + 2)
		return kettle_fail(
			err, KETTLE_ETOOBIG, "`%s` exceeds the limit of %u MiB.", name, TASK_ARCHIVE_MAX_PACKED >> 20);
	if (base64_decode(json_string_value(base64), json_string_length(base64), &data, &size) < 0)
		return kettle_fail(err, KETTLE_EINVAL, "The contents of the file are not base64.");
	const struct source source = {.name = name, .data = data, .size = size};
	AUTO_JSON json_t *names = task_single_languages(call->languages, name);
	return read_in_languages(call, &source, names, ret_result, err);
}

void
cmd_task_unpack(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	pool_call_start(core, actor, args, unpack_sent, choose_language, answer, arg);
}

static int
read_problems(struct pool_call *call, json_t **ret_result, struct kettle_error *err)
{
	json_t *sets = NULL;
	int rc = competition_read_all(
		call->languages, json_text_or_null(call->args, "path"), json_text_or_null(call->args, "set"), &sets, err);
	if (rc)
		return rc;
	*ret_result = json_pack("{s:o}", "sets", sets);
	return 0;
}

void
cmd_competition_read(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	pool_call_start(core, actor, args, read_problems, pool_call_answer, answer, arg);
}

/* ---- trying what becomes a leaderboard ---- */

static int
check_bundle(struct pool_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *bundle = NULL;
	int rc = task_check_bundle(call->languages, json_object_get(call->args, "task"), &bundle, err);
	if (rc < 0)
		return rc;
	call->bundles = json_pack("[[n, O]]", bundle);
	(void)json_object_update_new(call->args, json_pack("{s:b, s:b}", "try", 1, "refuse", 1));
	*ret_result = json_object();
	return 0;
}

void
cmd_task_try(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	pool_call_start(core, actor, args, check_bundle, probe_bundles, answer, arg);
}

/* Adds a problem whose leaderboard would be new to those that are tried, with the devices that it names. */
static void
add_new_problem(const struct pool_call *call, json_t *problem, json_t *entries)
{
	AUTO_JSON json_t *bundle = NULL;
	const json_t *gpus = json_object_get(problem, "gpus");
	if (!list_has_text(json_object_get(call->args, "name"), json_text_or_empty(problem, "name")) ||
		json_text_or_null(problem, "error") ||
		task_check_bundle(call->languages, json_object_get(problem, "bundle"), &bundle, NULL) < 0)
		return;
	if (json_array_size(gpus) > 0)
		(void)json_object_set(json_object_get(bundle, "task"), "gpus", (json_t *)gpus);
	(void)json_array_append_new(call->bundles, json_pack("[I, O]", (json_int_t)json_array_size(entries), bundle));
	(void)json_array_append_new(entries, json_pack("{s:O}", "problem", problem));
}

static int
find_new_problems(struct pool_call *call, json_t **ret_result, struct kettle_error *err)
{
	json_t *sets = json_object_get(json_object_get(call->args, "problems"), "sets"), *entries = json_array(), *set,
		   *problem;
	size_t i, k;
	(void)err;
	call->bundles = json_array();
	(void)json_object_set_new(call->args, "refuse", json_true());
	json_array_foreach(sets, i, set)
		json_array_foreach(json_object_get(set, "problems"), k, problem)
			add_new_problem(call, problem, entries);
	*ret_result = json_pack("{s:O?, s:o}", "sets", sets, "tasks", entries);
	return 0;
}

/* Who gets the sets of competition.try. */
struct sets_caller {
	kettle_answer answer;
	void *arg;
};

/* Stores the reason of each problem as its error. */
static void
answer_sets(void *arg, const struct kettle_error *err, json_t *result)
{
	struct sets_caller *caller = arg;
	size_t i;
	json_t *entry;
	json_array_foreach(json_object_get(result, "tasks"), i, entry)
		if (json_object_get(entry, "error"))
			(void)json_object_set(json_object_get(entry, "problem"), "error", json_object_get(entry, "error"));
	AUTO_JSON json_t *sets = result ? json_pack("{s:O?}", "sets", json_object_get(result, "sets")) : NULL;
	caller->answer(caller->arg, err, sets);
	free(caller);
}

void
cmd_competition_try(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	struct sets_caller *caller = xmalloc(sizeof(*caller));
	*caller = (struct sets_caller){answer, arg};
	pool_call_start(core, actor, args, find_new_problems, probe_bundles, answer_sets, caller);
}

/* ---- checking ---- */

/* The result for one task. New reference. */
static json_t *
on_checked(const struct pool_call *call, const char *path, const json_t *bundle, const char *error)
{
	const json_t *task = json_object_get(bundle, "task");
	bool refused = json_array_size(json_object_get(bundle, "remarks")) > 0 && member_true(call->args, "strict");
	if (!bundle)
		return json_pack("{s:s, s:b, s:s?}", "path", path, "ok", 0, "error", error);
	return json_pack("{s:s, s:b, s:s?, s:O, s:O*, s:I, s:I, s:I, s:O*}", "path", path, "ok", !refused, "error",
		refused ? "`--strict` takes its remarks for errors." : NULL, "name", json_object_get(bundle, "name"), "lang",
		json_object_get(task, "lang"), "tests", (json_int_t)json_array_size(json_object_get(task, "tests")),
		"benchmarks", (json_int_t)json_array_size(json_object_get(task, "benchmarks")), "files",
		(json_int_t)json_object_size(json_object_get(bundle, "files")), "remarks", json_object_get(bundle, "remarks"));
}

static void
check_task(struct pool_call *call, const char *path, json_t *results)
{
	struct kettle_error err = {0};
	AUTO_JSON json_t *bundle = NULL;
	(void)task_read_as(call->languages, path, json_text_or_null(call->args, "lang"), &bundle, &err);
	if (bundle)
		(void)json_array_append_new(call->bundles, json_pack("[I, O]", (json_int_t)json_array_size(results), bundle));
	(void)json_array_append_new(results, on_checked(call, path, bundle, err.message));
}

/* The file first, then every problem of it as a task of its own. */
static void
check_competition(struct pool_call *call, const char *path, json_t *results)
{
	struct kettle_error err = {0};
	AUTO_JSON json_t *sets = NULL;
	size_t i, j;
	json_t *set, *problem;
	if (competition_read_all(call->languages, path, NULL, &sets, &err) < 0) {
		(void)json_array_append_new(results, on_checked(call, path, NULL, err.message));
		return;
	}
	json_array_foreach(sets, i, set) {
		const json_t *problems = json_object_get(set, "problems");
		if (json_object_get(set, "error")) {
			(void)json_array_append_new(results, on_checked(call, path, NULL, json_text_or_null(set, "error")));
			continue;
		}
		(void)json_array_append_new(
			results, json_pack("{s:s, s:b, s:n, s:O, s:O, s:O, s:I}", "path", path, "ok", 1, "error", "competition",
						 json_object_get(set, "name"), "file", json_object_get(set, "file"), "deadline",
						 json_object_get(set, "deadline"), "problems", (json_int_t)json_array_size(problems)));
		json_array_foreach(problems, j, problem) {
			json_t *bundle = json_object_get(problem, "bundle");
			if (json_is_object(bundle))
				(void)json_array_append_new(
					call->bundles, json_pack("[I, O]", (json_int_t)json_array_size(results), bundle));
			json_t *one = on_checked(call, json_text_or_null(problem, "directory"),
				json_is_object(bundle) ? bundle : NULL, json_text_or_null(problem, "error"));
			(void)json_object_set(one, "problem", json_object_get(problem, "name"));
			(void)json_array_append_new(results, one);
		}
	}
}

static int
check_all(struct pool_call *call, json_t **ret_result, struct kettle_error *err)
{
	(void)err;
	json_t *results = json_array(), *one;
	bool ok = true;
	size_t i;
	call->bundles = json_array();
	json_array_foreach(json_object_get(call->args, "path"), i, one) {
		AUTO_TASK_FORM struct task_form form = {0};
		const char *path = json_string_value(one);
		(void)task_form_open(path, &form, NULL);
		if (form.kind == TASK_FORM_COMPETITION)
			check_competition(call, path, results);
		else
			check_task(call, path, results);
	}
	json_array_foreach(results, i, one)
		ok = ok && member_true(one, "ok");
	*ret_result = json_pack("{s:o, s:b}", "tasks", results, "ok", ok);
	return 0;
}

void
cmd_task_check(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	pool_call_start(core, actor, args, check_all, probe_bundles, answer, arg);
}

/* ---- packing, and beginning with a copy ---- */

static int
pack_task(struct pool_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *pack = NULL, *names = json_array();
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	const char *name;
	json_t *contents;
	int rc = task_pack(call->languages, json_text_or_null(call->args, "path"), json_text_or_null(call->args, "lang"),
		member_true(call->args, "solutions"), &pack, err);
	if (rc == 0)
		rc = task_pack_zip(pack, &data, &size, err);
	if (rc)
		return rc;
	json_object_foreach(json_object_get(pack, "files"), name, contents)
		(void)json_array_append_new(names, json_string(name));
	AUTO_FREE char *base64 = base64_encode(data, size);
	*ret_result = json_pack("{s:O, s:O, s:O, s:I, s:s?}", "name", json_object_get(pack, "name"), "hash",
		json_object_get(pack, "hash"), "files", names, "size", (json_int_t)size, "base64", base64);
	return 0;
}

void
cmd_task_pack(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	pool_call_start(core, actor, args, pack_task, pool_call_answer, answer, arg);
}

/* The only file of a folder, which is then the task. New string; NULL: there is none, or there are more. */
static char *
only_file(const char *folder)
{
	AUTO_DIR DIR *dir = opendir(folder);
	AUTO_FREE char *only = NULL;
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		AUTO_FREE char *path = path_join(folder, entry->d_name);
		struct stat st;
		if (entry->d_name[0] == '.' || !path || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
			continue;
		if (only)
			return NULL;
		only = xstrdup(entry->d_name);
	}
	return STEAL(only);
}

/*
 * The shipped tasks by name: folders that hold a task.yml, or a single reference file alone, whose name is the value.
 * New object.
 */
static json_t *
shipped_names(const char *dir)
{
	struct dirent **entries = NULL;
	int count = scandir(dir, &entries, NULL, alphasort);
	json_t *names = json_object();
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;
		AUTO_FREE char *folder = path_join(dir, name);
		AUTO_FREE char *yml = path_join(folder, "task.yml");
		AUTO_FREE char *only = NULL;
		if (name[0] != '.' && access(yml, R_OK) == 0)
			(void)json_object_set_new(names, name, json_true());
		else if (name[0] != '.' && (only = only_file(folder)))
			(void)json_object_set_new(names, name, json_string(only));
		free(entries[i]);
	}
	free(entries);
	return names;
}

static int
fail_shipped(const char *dir, const char *from, const json_t *names, struct kettle_error *err)
{
	AUTO_BUF struct buf list = {0};
	const char *name, *near = nearest_key(from, names);
	json_t *unused;
	json_object_foreach((json_t *)names, name, unused)
		buf_printf(&list, "%s%s", list.len ? ", " : "", name);
	if (!list.len)
		return kettle_fail(err, KETTLE_ENOENT,
			"There is no shipped task `%.64s`: the folder %s contains no tasks (KETTLE_TASKS sets another folder).",
			from, dir);
	return kettle_fail(err, KETTLE_ENOENT, "There is no shipped task `%.64s`%s%s%s; there are %s.", from,
		near ? " (did you mean `" : "", near ? near : "", near ? "`?)" : "", list.data);
}

static int
copy_shipped(struct pool_call *call, json_t **ret_result, struct kettle_error *err)
{
	const char *from = json_text_or_null(call->args, "from");
	AUTO_FREE char *dir = installed_tasks();
	AUTO_JSON json_t *names = shipped_names(dir);
	if (!json_object_get(names, from))
		return fail_shipped(dir, from, names, err);
	const char *reference = json_text_or_null(names, from);
	bool solutions = member_true(call->args, "solutions");
	AUTO_FREE char *path = path_join(dir, from);
	AUTO_FREE char *file = reference ? path_join(path, reference) : NULL;
	return file ? task_pack_reference(call->languages, file, solutions, ret_result, err)
				: task_pack(call->languages, path, NULL, solutions, ret_result, err);
}

void
cmd_task_new(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	pool_call_start(core, actor, args, copy_shipped, pool_call_answer, answer, arg);
}

/*
 * The entry of a shipped task; if it cannot be read, for example because its language is not loaded, the reason. New
 * reference.
 */
static json_t *
describe_shipped(const struct languages *languages, const char *dir, const char *name, const json_t *reference)
{
	AUTO_FREE char *folder = path_join(dir, name);
	AUTO_FREE char *path =
		json_is_string(reference) ? path_join(folder, json_string_value(reference)) : xstrdup(folder);
	AUTO_JSON json_t *bundle = NULL;
	struct kettle_error why = {0};
	int rc = task_read(languages, path, &bundle, &why);
	const json_t *task = json_object_get(bundle, "task");
	return json_pack("{s:s, s:s?, s:s, s:s*}", "name", name, "language", json_text_or_null(task, "lang"), "description",
		json_text_or_empty(task, "description"), "error", rc < 0 ? why.message : NULL);
}

static int
list_shipped(struct pool_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_FREE char *dir = installed_tasks();
	AUTO_JSON json_t *names = shipped_names(dir);
	const char *name;
	json_t *reference, *list = json_array();
	(void)err;
	json_object_foreach(names, name, reference)
		(void)json_array_append_new(list, describe_shipped(call->languages, dir, name, reference));
	*ret_result = json_pack("{s:s, s:o}", "folder", dir, "tasks", list);
	return 0;
}

void
cmd_task_list(struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg)
{
	pool_call_start(core, actor, args, list_shipped, pool_call_answer, answer, arg);
}
