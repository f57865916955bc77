/* SPDX-License-Identifier: MIT */
/* Jobs in two parts: what needs no device is built elsewhere first. */
/*
 * Theory of operation. A unit with `build` among its options has each job begin as a job of its own, in another place
 * of the same remote side. Its plan has the steps before the first one that needs the device, and only the files that
 * these name; so it has no secret. The whole plan waits meanwhile, sealed, in a file beside the job's artifacts, so
 * that the engine may end. When the first part has ended, a thread of the pool makes of the whole plan and of what
 * came back the plan of the second part, in which these steps have `ended`: kettle-exec there takes their outcomes and
 * outputs as they are, and reports all outcomes of the job. If no step is left that could run, the job has ended.
 *
 * The first part has a name of its own, and so a key of its own: no envelope of one part can be taken for one of the
 * other. The handle has the name of the part that is under way.
 */
#include <config.h>

#include "runners/common/remote_internal.h"

#include <unistd.h>

#include "base/base.h"
#include "base/contents.h"
#include "base/file.h"

#define MAX_RETURNED (32u << 20) /* bytes of outputs that go on to the second part */
#define MAX_CONTENT (60u << 20)  /* bytes of a plan with them; kettle-exec reads 64 MiB */
#define MAX_WHOLE (128u << 20)   /* bytes of the file with the whole plan */

/* ---- the unit ---- */

static const json_t *
build_options(const json_t *unit)
{
	return json_object_get(json_object_get(unit, "options"), "build");
}

/* Checks the value and appends it. */
static int
take_option(const struct kettle_option *option, json_t *value, json_t *options, struct kettle_error *err)
{
	bool list = option->type == KETTLE_OPTION_STRINGS, fits = json_is_string(value);
	/* As the core makes lists of the unit's own options. */
	AUTO_JSON json_t *taken = list && fits ? json_pack("[O]", value) : json_incref(value);
	if (list)
		fits = json_is_array(taken);
	else if (option->type == KETTLE_OPTION_INT)
		fits = json_is_integer(value) && (double)json_integer_value(value) >= option->min &&
			   (double)json_integer_value(value) <= option->max;
	json_array_each(list ? taken : NULL, text)
		fits = fits && json_is_string(text);
	if (!fits && option->type == KETTLE_OPTION_INT)
		return kettle_fail(err, KETTLE_EINVAL, "`%s` in `build` of a unit must be an integer from %.0f to %.0f.",
			option->key, option->min, option->max);
	if (!fits)
		return kettle_fail(err, KETTLE_EINVAL, "`%s` in `build` of a unit must be %s.", option->key,
			list ? "a list of strings" : "a string");
	json_object_set(options, option->key, taken);
	return 0;
}

static const struct kettle_option *
find_option(const struct remote *remote, const char *name)
{
	for (size_t i = 0; i < remote->ops->unit_options_count; i++)
		if (strcmp(remote->ops->unit_options[i].key, name) == 0 && strcmp(name, "build") != 0)
			return &remote->ops->unit_options[i];
	return NULL;
}

/* Without GPU, memory and what the machine must be: those of the unit's own place. */
json_t *
remote_parts_place(const json_t *unit, json_t *options)
{
	if (!json_is_object(options))
		return NULL;
	return json_pack("{s:O*, s:O*, s:O*, s:O}", "name", json_object_get(unit, "name"), "runner",
		json_object_get(unit, "runner"), "sandbox", json_object_get(unit, "sandbox"), "options", options);
}

int
remote_parts_unit(const struct remote *remote, const json_t *unit, json_t **ret_unit, struct kettle_error *err)
{
	json_t *build = (json_t *)build_options(unit);
	AUTO_JSON json_t *options = json_object();
	*ret_unit = NULL;
	if (!build)
		return 0;
	if (!json_is_object(build) || json_object_size(build) == 0)
		return kettle_fail(
			err, KETTLE_EINVAL, "`build` of a unit must have options, those of the place in which its jobs build.");
	json_object_each(build, name, value) {
		const struct kettle_option *option = find_option(remote, name);
		if (!option)
			return kettle_fail(
				err, KETTLE_EINVAL, "`build` of a unit has `%s`, which is no option of a unit there.", name);
		int rc = take_option(option, value, options, err);
		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; i < remote->ops->unit_options_count; i++) {
		const struct kettle_option *option = &remote->ops->unit_options[i];
		if (option->required && !json_object_get(options, option->key))
			return kettle_fail(err, KETTLE_EINVAL, "`build` of a unit needs `%s`.", option->key);
	}
	*ret_unit = remote_parts_place(unit, options);
	return 0;
}

/* ---- the first part ---- */

/* The number of steps before the first one that needs the device or must not run on another machine. */
static size_t
count_first(const json_t *steps)
{
	json_array_each_at(steps, i, step)
		if (member_is(step, "kind", "run") || member_int(step, "device") > 0 || json_object_get(step, "artifacts") ||
			json_object_get(step, "secret"))
			return i;
	return json_array_size(steps);
}

/* The files that the steps name; they are not run steps, so all of them are in `inputs`. New reference. */
static json_t *
files_of(const json_t *steps, const json_t *files)
{
	json_t *named = json_object();
	json_array_each(steps, step)
		json_object_each(json_object_get(step, "inputs"), path, input) {
			const char *file = json_text_or_null(input, "file");
			json_t *contents = file ? json_object_get(files, file) : NULL;
			if (contents)
				json_object_set(named, file, contents);
		}
	return named;
}

/*
 * The plan of the first part; NULL: the job stays one, since nothing of the submission is built (only such a step has an
 * owner), or nothing is run afterwards. New reference.
 */
static json_t *
first_plan(const json_t *plan)
{
	const json_t *all = json_object_get(plan, "steps");
	size_t count = count_first(all);
	bool builds = false;
	AUTO_JSON json_t *steps = json_array();
	for (size_t i = 0; i < count; i++) {
		json_array_append(steps, json_array_get(all, i));
		builds = builds || json_object_get(json_array_get(all, i), "owner");
	}
	if (!builds || count == json_array_size(all))
		return NULL;
	return json_pack("{s:O*, s:O*, s:o, s:b, s:O}", "version", json_object_get(plan, "version"), "owner",
		json_object_get(plan, "owner"), "files", files_of(steps, json_object_get(plan, "files")), "return_outputs", 1,
		"steps", steps);
}

/* ---- packing: envelopes, and the whole plan while the first part runs ---- */

/* Seals the content of a plan's envelope, and overwrites it. second: for the second part, of a job in its first one. */
static int
seal(const struct remote_job *job, bool second, char *text, char **ret_envelope, size_t *ret_size,
	struct kettle_error *err)
{
	AUTO_FREE char *name = second ? remote_parts_name(job) : xstrdup(job->name);
	const struct sealed_scope scope = {name, job->plan_hash};
	size_t size = strlen(text);
	int rc =
		sealed_seal(second ? job->second_key : job->key, SEALED_PLAN, &scope, text, size, ret_envelope, ret_size, err);
	explicit_bzero(text, size);
	return rc;
}

static char *
whole_path(const struct remote_job *job)
{
	return path_join(job->spool, "plan");
}

char *
remote_parts_name(const struct remote_job *job)
{
	return xstrndup(job->name, strlen(job->name) - strlen(REMOTE_BUILD));
}

static char *
content_text(const json_t *unit, const json_t *plan)
{
	AUTO_JSON json_t *content = json_pack("{s:O, s:O}", "unit", unit, "plan", plan);
	return json_dumps(content, JSON_COMPACT);
}

struct remote_packing *
remote_packing_new(const json_t *unit, const json_t *plan, const json_t *first_unit)
{
	AUTO_JSON json_t *first = first_unit ? first_plan(plan) : NULL;
	return xnew(struct remote_packing, .text = content_text(unit, plan),
		.first = first ? content_text(first_unit, first) : NULL);
}

void
remote_packing_free(struct remote_packing *packing)
{
	free_all(packing->envelope, packing->text, packing->first, packing);
}

/* Seals and keeps the whole plan of a job whose first part is sent. */
static int
keep_whole(struct remote_packing *packing)
{
	const struct remote_job *job = packing->job;
	AUTO_FREE char *path = whole_path(job), *whole = NULL;
	size_t size = 0;
	int rc = seal(job, true, packing->text, &whole, &size, &packing->err);
	if (rc == 0)
		rc = file_mkdirs(job->spool, 0700, &packing->err);
	if (rc == 0)
		rc = file_write(path, whole, size, 0600, &packing->err);
	packing->unkept = rc < 0 && whole;
	return rc;
}

void
remote_pack(void *arg)
{
	struct remote_packing *packing = arg;
	const struct remote_job *job = packing->job;
	if (!packing->first || keep_whole(packing) == 0)
		(void)seal(job, false, packing->first ? packing->first : packing->text, &packing->envelope,
			&packing->envelope_size, &packing->err);
}

void
remote_parts_forget(const struct remote_job *job)
{
	AUTO_FREE char *path = whole_path(job);
	(void)unlink(path);
	(void)rmdir(job->spool);
}

/* ---- the second part ---- */

char *
remote_parts_outputs(const struct remote_job *job)
{
	return path_join(job->spool, "outputs");
}

/* Whether it is the outcome of this step. */
static bool
is_outcome_of(const json_t *outcome, const json_t *step)
{
	static const char *const states[] = {"passed", "failed", "limit", "skipped", "error"};
	bool known = false;
	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		known = known || member_is(outcome, "state", states[i]);
	return known && member_is(outcome, "step", json_text_or_empty(step, "id"));
}

static int
check_outcomes(const json_t *steps, const json_t *outcomes, struct kettle_error *err)
{
	size_t count = count_first(steps), next = 0;
	for (size_t i = 0; i < count; i++) {
		const json_t *step = json_array_get(steps, i);
		if (!member_true(step, "shared") && !is_outcome_of(json_array_get(outcomes, next++), step))
			return kettle_fail(err, KETTLE_EINVAL, "It does not have the outcomes of the steps that were sent.");
	}
	return next == json_array_size(outcomes)
			   ? 0
			   : kettle_fail(err, KETTLE_EINVAL, "It has outcomes of steps that were not sent.");
}

static bool
takes_from(const json_t *inputs, const json_t *stopped)
{
	bool takes = false;
	json_object_each((json_t *)inputs, path, input) {
		const char *step = json_text_or_null(input, "step");
		takes = takes || (step && json_object_get(stopped, step));
	}
	return takes;
}

/* Whether the step needs one that did not pass: then kettle-exec skips it. */
static bool
is_stopped(const json_t *step, const json_t *stopped)
{
	bool stops = takes_from(json_object_get(step, "inputs"), stopped) ||
				 takes_from(json_object_get(json_object_get(step, "referee"), "inputs"), stopped) ||
				 takes_from(json_object_get(json_object_get(step, "solver"), "inputs"), stopped);
	json_array_each(json_object_get(step, "needs"), need)
		stops = stops || json_object_get(stopped, json_string_value(need));
	return stops;
}

static bool
is_optional(const json_t *steps, const char *id)
{
	bool optional = false;
	json_array_each(steps, step)
		optional = optional || (member_is(step, "id", id) && member_true(step, "optional"));
	return optional;
}

/* Appends the outcomes of the steps that are left, if none of them would run; else changes nothing. */
static bool
skip_rest(const json_t *steps, json_t *outcomes)
{
	AUTO_JSON json_t *stopped = json_object(), *skipped = json_array();
	size_t count = count_first(steps);
	json_array_each(outcomes, outcome)
		if (member_is(outcome, "state", "skipped") ||
			(!member_is(outcome, "state", "passed") && !is_optional(steps, json_text_or_empty(outcome, "step"))))
			json_object_set_new(stopped, json_text_or_empty(outcome, "step"), json_true());
	json_array_each_at(steps, i, step) {
		const char *id = json_text_or_empty(step, "id");
		if (i < count)
			continue;
		if (!is_stopped(step, stopped))
			return false;
		json_object_set_new(stopped, id, json_true());
		json_array_append_new(skipped,
			json_pack("{s:s, s:s, s:s}", "step", id, "kind", json_text_or_empty(step, "kind"), "state", "skipped"));
	}
	json_array_extend(outcomes, skipped);
	return true;
}

/* The outputs of a step with the contents of its files; NULL: they are not all there, or too many. New reference. */
static json_t *
read_outputs(const json_t *outcome, const char *folder, size_t *left)
{
	const char *step = json_text_or_empty(outcome, "step");
	const json_t *outputs = json_object_get(outcome, "outputs");
	AUTO_JSON json_t *list = json_array();
	if (!json_is_array(outputs))
		return NULL;
	json_array_each(outputs, output) {
		const char *name = json_text_or_empty(output, "path");
		AUTO_FREE char *path = xasprintf("%s/%s/%s", folder, step, name), *data = NULL;
		AUTO_JSON json_t *entry = json_copy(output);
		size_t size = 0;
		if (path_check_inside(name, NULL) != 0)
			return NULL;
		if (!member_true(output, "folder")) {
			if (file_read(path, *left, &data, &size, NULL) != 0)
				return NULL;
			AUTO_FREE char *text = base64_encode(data, size);
			json_object_set_new(entry, "base64", json_string(text));
			*left -= size;
		}
		json_array_append(list, entry);
	}
	return json_incref(list);
}

/* Gives the steps of the plan what came of them; false: it cannot go on with that, and the plan is spoiled. */
static bool
add_ended(json_t *steps, const json_t *completion, const char *folder)
{
	/* Of a step that has ended elsewhere: times by the clock of another machine, and files that have come already. */
	static const char *const not_here[] = {"outputs", "artifacts", "stamps", "start_ns"};
	const json_t *outcomes = json_object_get(completion, "outcomes");
	json_t *tools = json_object_get(json_object_get(completion, "system"), "tools");
	size_t count = count_first(steps), next = 0, left = MAX_RETURNED;
	for (size_t i = 0; i < count; i++) {
		json_t *step = json_array_get(steps, i);
		if (member_true(step, "shared"))
			continue;
		const json_t *outcome = json_array_get(outcomes, next++);
		bool leaves = member_is(outcome, "state", "passed") || json_object_get(outcome, "outputs");
		json_t *outputs = leaves ? read_outputs(outcome, folder, &left) : json_array();
		if (!outputs)
			return false;
		json_t *kept = json_copy((json_t *)outcome);
		for (size_t k = 0; k < ARRAY_SIZE(not_here); k++)
			(void)json_object_del(kept, not_here[k]);
		json_object_set_new(
			step, "ended", json_pack("{s:o, s:o, s:O*}", "outcome", kept, "outputs", outputs, "tools", tools));
	}
	return true;
}

static int
open_whole(const struct remote_job *job, struct remote_second *second, json_t **ret_content, struct kettle_error *err)
{
	AUTO_FREE char *path = whole_path(job), *name = remote_parts_name(job), *text = NULL;
	const struct sealed_scope scope = {name, job->plan_hash};
	size_t size = 0;
	int rc = file_read(path, MAX_WHOLE, &second->whole, &second->whole_size, err);
	if (rc == 0)
		rc = sealed_open(job->second_key, SEALED_PLAN, &scope, second->whole, second->whole_size, SEALED_MAX_CONTENT,
			&text, &size, err);
	if (rc < 0)
		return rc;
	*ret_content = json_loadb(text, size, 0, NULL);
	explicit_bzero(text, size);
	return *ret_content ? 0 : kettle_fail(err, KETTLE_EINVAL, "`%s` is damaged.", path);
}

/*
 * Makes the first part's completion that of the job. Its machine is not the device's: the engine must not take it for
 * the model that scores are of, nor for a sign that the unit works, nor charge its time.
 */
static void
end_with_first(json_t *completion)
{
	static const char *const kept[] = {"level", "tools", "packages", "interpreters", "torch"};
	AUTO_JSON json_t *system = json_object();
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		json_object_set(system, kept[i], json_object_get(json_object_get(completion, "system"), kept[i]));
	if (json_object_get(completion, "system"))
		json_object_set(completion, "system", system);
	json_object_set_new(completion, "elsewhere", json_true());
	json_array_each(json_object_get(completion, "outcomes"), outcome) {
		(void)json_object_del(outcome, "outputs");
		(void)json_object_del(outcome, "artifacts");
	}
}

int
remote_parts_second(
	const struct remote_job *job, json_t *completion, struct remote_second *ret_second, struct kettle_error *err)
{
	AUTO_FREE char *folder = remote_parts_outputs(job);
	AUTO_JSON json_t *content = NULL;
	json_t *outcomes = json_object_get(completion, "outcomes");
	if (!member_is(completion, "status", "done")) {
		end_with_first(completion);
		return 0;
	}
	int rc = open_whole(job, ret_second, &content, err);
	ret_second->unkept = rc < 0;
	json_t *steps = json_object_get(json_object_get(content, "plan"), "steps");
	if (rc == 0)
		rc = check_outcomes(steps, outcomes, err);
	if (rc == 0 && !skip_rest(steps, outcomes)) {
		ret_second->unit = json_incref(json_object_get(content, "unit"));
		AUTO_FREE char *text = add_ended(steps, completion, folder) ? json_dumps(content, JSON_COMPACT) : NULL;
		if (text && strlen(text) <= MAX_CONTENT)
			rc = seal(job, true, text, &ret_second->envelope, &ret_second->envelope_size, err);
	} else {
		end_with_first(completion);
	}
	return rc;
}

void
remote_parts_again(const struct remote_job *job, const char *why)
{
	job->remote->host->log(job->remote->host, KETTLE_LOG_INFO, "job %s builds again where it runs: %s", job->ref, why);
}

bool
remote_send_whole(struct remote_job *job)
{
	if (!job->whole)
		return false;
	remote_parts_again(job, "with what it has built it is too large to be sent");
	free(job->envelope);
	job->envelope = STEAL(job->whole);
	job->envelope_size = job->whole_size;
	remote_wait(job, remote_now_ms(job->remote));
	return true;
}
