/* SPDX-License-Identifier: MIT */
/* Requests the plan of a job from its language, and checks all that the language returns. */
#include <config.h>

#include "judge/plan.h"

#include "base/base.h"
#include "base/contents.h"
#include "base/file.h"
#include "base/schema.h"
#include "judge/calibration.h"
#include "judge/capture.h"
#include "judge/run_steps.h"
#include "judge/unit_facts.h"

/* The keys of a prepared run that a language must leave as they are: the meaning of the outcome depends on them. */
static const char *const kept_keys[] = {
	"kind", "run", "cases", "result", "pass", "unique", "secret", "device", "limits", "capture"};
/* Keys that only a run has. */
static const char *const run_keys[] = {"run", "cases", "result", "secret", "secret_fd", "device", "profile", "capture"};

/* ---- the plan as a struct ---- */

static struct plan_step
read_step(const json_t *json)
{
	const json_t *run = json_object_get(json, "run"), *limits = json_object_get(json, "limits");
	const json_t *index = json_object_get(run, "index"), *pass = json_object_get(json, "pass");
	const char *title = json_text_or_null(json, "title"),
			   *cases = json_text_or_empty(json_object_get(json, "cases"), "text");
	struct plan_step step = {
		.json = json,
		.id = json_text_or_empty(json, "id"),
		.title = title ? title : json_text_or_empty(json, "id"),
		.run = run,
		.optional = member_true(json, "optional"),
		.shared = member_true(json, "shared"),
		.mode = json_text_or_empty(run, "mode"),
		.secret = member_true(run, "secret"),
		.index = index ? json_integer_value(index) : -1,
		.devices = member_int(json, "device"),
		.wall_s = json_number_value(json_object_get(limits, "wall")),
		.cpu_s = json_number_value(json_object_get(limits, "cpu")),
		.pass_exit = json_object_get(pass, "exit"),
		.pass_result = json_object_get(pass, "result"),
		.artifacts = json_array_size(json_object_get(json, "artifacts")) > 0,
	};
	for (; *cases; cases++)
		step.cases += *cases == '\n';
	return step;
}

struct plan *
plan_read(json_t *plan_take)
{
	const json_t *steps = json_object_get(plan_take, "steps"), *step;
	struct plan *plan = xcalloc(1, sizeof(*plan) + json_array_size(steps) * sizeof(*plan->steps));
	plan->json = plan_take;
	json_array_foreach(steps, plan->count, step)
		plan->steps[plan->count] = read_step(step);
	return plan;
}

void
plan_free(struct plan *plan)
{
	if (plan)
		json_decref(plan->json);
	free(plan);
}

double
plan_wall_s(const struct plan *plan, bool running)
{
	double seconds = 0;
	for (size_t i = 0; i < plan->count; i++)
		if (plan->steps[i].run == running)
			seconds += plan->steps[i].wall_s > 0 ? plan->steps[i].wall_s : PLAN_WALL_S;
	return seconds;
}

bool
plan_is_secret(const struct plan *plan, const char *id)
{
	for (size_t i = 0; i < plan->count; i++)
		if (strcmp(plan->steps[i].id, id) == 0)
			return plan->steps[i].secret;
	return true;
}

const char *
plan_title(const struct plan *plan, const char *id)
{
	for (size_t i = 0; i < plan->count; i++)
		if (strcmp(plan->steps[i].id, id) == 0)
			return json_text_or_null(plan->steps[i].json, "title");
	return NULL;
}

json_t *
plan_redact_event(const struct plan *plan, const json_t *event)
{
	const char *name = json_text_or_null(event, "event");
	const json_t *outcome = json_object_get(event, "outcome");
	const char *step = json_text_or_null(outcome ? outcome : event, "step");
	bool secret = step && plan_is_secret(plan, step);
	if (!name)
		return NULL;
	if (strcmp(name, "started") == 0 || strcmp(name, "waiting") == 0 || strcmp(name, "device") == 0)
		return json_pack("{s:s, s:O*}", "event", name, "device", json_object_get(event, "device"));
	if (!step)
		return NULL;
	if (strcmp(name, "step") == 0)
		return json_pack("{s:s, s:s, s:s*, s:O*, s:O*, s:b}", "event", name, "step", step, "title",
			secret ? NULL : plan_title(plan, step), "state", json_object_get(event, "state"), "cached",
			json_object_get(event, "cached"), "secret", secret);
	if (strcmp(name, "outcome") == 0)
		return json_pack("{s:s, s:s, s:s*, s:O*, s:b, s:O*, s:O*, s:O*, s:O*}", "event", name, "step", step, "title",
			secret ? NULL : plan_title(plan, step), "state", json_object_get(outcome, "state"), "secret", secret, "run",
			json_object_get(outcome, "run"), "wall_ns", secret ? NULL : json_object_get(outcome, "wall_ns"), "limit",
			secret ? NULL : json_object_get(outcome, "limit"), "limit_value",
			secret ? NULL : json_object_get(outcome, "limit_value"));
	if (strcmp(name, "result") == 0 && !secret)
		return json_pack("{s:s, s:s, s:O*, s:O*}", "event", name, "step", step, "key", json_object_get(event, "key"),
			"value", json_object_get(event, "value"));
	return NULL;
}

void
plan_set_owner(const struct plan *plan, const char *owner)
{
	json_t *steps = json_object_get(plan->json, "steps");
	json_object_set_new(plan->json, "owner", json_string(owner));
	for (size_t i = 0; i < plan->count; i++) {
		json_t *step = json_array_get(steps, i);
		bool cached = member_true(step, "cache") && !plan->steps[i].task_only;
		if (cached || json_object_get(step, "jit"))
			json_object_set_new(step, "owner", json_string(owner));
		else
			json_object_del(step, "owner");
	}
}

/* The step of `earlier` in place of an equal step; else the step with the equal members of `earlier`. New reference. */
static json_t *
share_step(json_t *step, json_t *earlier)
{
	if (json_equal(step, earlier))
		return json_incref(earlier);
	json_t *shared = json_copy(step);
	json_object_each(step, key, value) {
		json_t *same = json_object_get(earlier, key);
		if (same && json_equal(value, same))
			json_object_set(shared, key, same);
	}
	return shared;
}

void
plan_share(struct plan *plan, const json_t *earlier)
{
	json_t *steps = json_object_get(plan->json, "steps");
	for (size_t i = 0; i < plan->count && i < json_array_size(earlier); i++) {
		bool task_only = plan->steps[i].task_only, complete = plan->steps[i].complete;
		bool task_files = plan->steps[i].task_files;
		json_array_set_new(steps, i, share_step(json_array_get(steps, i), json_array_get(earlier, i)));
		plan->steps[i] = read_step(json_array_get(steps, i));
		plan->steps[i].task_only = task_only;
		plan->steps[i].task_files = task_files;
		plan->steps[i].complete = complete;
	}
}

/* ---- the steps among each other ---- */

/* The step of that id among the first `count`, or NULL. */
static const struct plan_step *
find_plan_step(const struct plan *plan, size_t count, const char *id)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(plan->steps[i].id, id) == 0)
			return &plan->steps[i];
	return NULL;
}

static int
check_needs(const struct plan *plan, size_t index, struct kettle_error *err)
{
	const struct plan_step *step = &plan->steps[index];
	json_array_each(json_object_get(step->json, "needs"), need)
		if (!find_plan_step(plan, index, json_string_value(need)))
			return kettle_fail(err, KETTLE_EINVAL, "the step `%s` needs `%s`, which is not an earlier step.", step->id,
				json_string_value(need));
	return 0;
}

/* The source of one input: the plan's files, or the output of an earlier step. */
static int
check_input(const struct plan *plan, size_t index, const char *path, const json_t *input, struct kettle_error *err)
{
	const char *id = plan->steps[index].id, *file = json_text_or_null(input, "file");
	const char *from = json_text_or_null(input, "step"), *output = json_text_or_null(input, "output");
	if (path_check_inside(path, NULL))
		return kettle_fail(
			err, KETTLE_EINVAL, "the input `%s` of the step `%s` is not a path inside its folder.", path, id);
	if (file && !json_object_get(json_object_get(plan->json, "files"), file))
		return kettle_fail(
			err, KETTLE_EINVAL, "the step `%s` takes the file `%s`, which the plan does not have.", id, file);
	const struct plan_step *earlier = from ? find_plan_step(plan, index, from) : NULL;
	if (from && (!earlier || !list_has_text(json_object_get(earlier->json, "outputs"), output)))
		return kettle_fail(err, KETTLE_EINVAL,
			"the step `%s` takes `%s` from `%s`, which is not an output of an earlier step.", id, output, from);
	return 0;
}

/* process: the step itself, its referee or its solver. */
static int
check_inputs(const struct plan *plan, size_t index, const json_t *process, struct kettle_error *err)
{
	int rc = 0;
	json_object_each(json_object_get(process, "inputs"), path, input)
		rc = rc ? rc : check_input(plan, index, path, input, err);
	return rc;
}

static int
check_paths(const struct plan_step *step, const char *key, struct kettle_error *err)
{
	json_array_each(json_object_get(step->json, key), path)
		if (path_check_inside(json_string_value(path), NULL))
			return kettle_fail(err, KETTLE_EINVAL, "`%s` in the %s of the step `%s` is not a path inside its folder.",
				json_string_value(path), key, step->id);
	return 0;
}

/*
 * A build or prepare step has nothing that is for runs: no `cases`, no secret, no device. Cases of public runs may be among
 * its inputs, as text.
 */
static int
check_kind(const struct plan_step *step, const struct plan *runs, struct kettle_error *err)
{
	bool run = member_is(step->json, "kind", "run");
	if (run && !find_plan_step(runs, runs->count, step->id))
		return kettle_fail(err, KETTLE_EINVAL, "the run step `%s` is not part of the job.", step->id);
	for (size_t i = 0; !run && i < ARRAY_SIZE(run_keys); i++)
		if (json_object_get(step->json, run_keys[i]))
			return kettle_fail(
				err, KETTLE_EINVAL, "the step `%s` has `%s`, which only run steps may have.", step->id, run_keys[i]);
	return 0;
}

static int
check_step(const struct plan *plan, size_t index, const struct plan *runs, struct kettle_error *err)
{
	const struct plan_step *step = &plan->steps[index];
	static const char *const apart[] = {"inputs", "env", "warm"};
	const json_t *referee = json_object_get(step->json, "referee"), *solver = json_object_get(step->json, "solver");
	bool argv = json_object_get(step->json, "argv");
	if (find_plan_step(plan, index, step->id))
		return kettle_fail(err, KETTLE_EINVAL, "two steps have the id `%s`.", step->id);
	int rc = check_needs(plan, index, err);
	if (rc == 0 && (!referee != !solver || argv == !!referee))
		rc = kettle_fail(
			err, KETTLE_EINVAL, "the step `%s` must have either `argv` or both `referee` and `solver`.", step->id);
	for (size_t i = 0; rc == 0 && referee && i < ARRAY_SIZE(apart); i++)
		if (json_object_get(step->json, apart[i]))
			rc = kettle_fail(err, KETTLE_EINVAL,
				"the step `%s` has `%s` itself, and not its `referee` and `solver` each.", step->id, apart[i]);
	if (rc == 0)
		rc = check_inputs(plan, index, step->json, err);
	if (rc == 0)
		rc = check_inputs(plan, index, referee, err);
	if (rc == 0)
		rc = check_inputs(plan, index, solver, err);
	if (rc == 0)
		rc = check_paths(step, "outputs", err);
	if (rc == 0)
		rc = check_paths(step, "artifacts", err);
	return rc ? rc : check_kind(step, runs, err);
}

/* ---- the runs ---- */

/* Whether everything in `kept` is in `step` with the same value; an object may have got further members. */
static bool
keeps(const json_t *step, const json_t *kept)
{
	json_object_each(kept, key, value)
		if (!json_equal(json_object_get(step, key), value))
			return false;
	return true;
}

/* The core's part of a run; limits and environment may have grown, needs may name builds besides. */
static int
check_run(const struct plan_step *step, const struct plan_step *run, struct kettle_error *err)
{
	const char *touched = NULL;
	if (!step)
		return kettle_fail(err, KETTLE_EINVAL, "the run `%s` is missing.", run->id);
	for (size_t i = 0; i < ARRAY_SIZE(kept_keys) && !touched; i++) {
		const json_t *before = json_object_get(run->json, kept_keys[i]);
		const json_t *after = json_object_get(step->json, kept_keys[i]);
		bool grows = strcmp(kept_keys[i], "limits") == 0;
		if (grows ? !keeps(after, before) : (before || after) && !json_equal(before, after))
			touched = kept_keys[i];
	}
	/* A profiler may do more than a run, so only the mode that counts for nothing has one. */
	if (!touched && json_object_get(step->json, "profile") && strcmp(run->mode, "profile") != 0)
		touched = "profile";
	const json_t *referee = json_object_get(step->json, "referee");
	if (!touched && !keeps(json_object_get(referee ? referee : step->json, "env"), json_object_get(run->json, "env")))
		touched = "env";
	json_array_each(json_object_get(run->json, "needs"), need)
		if (!list_has_text(json_object_get(step->json, "needs"), json_string_value(need)))
			touched = "needs";
	if (touched)
		return kettle_fail(err, KETTLE_EINVAL, "it changed `%s` of the run `%s`.", touched, run->id);
	return 0;
}

/* json: the plan that the language made; prepared: the run steps that it got. */
static int
check_plan(json_t *json, const json_t *prepared, struct kettle_error *err)
{
	const json_t *schema = NULL;
	int rc = kept_schema_of_plans(&schema, err);
	if (rc == 0)
		rc = schema_check(schema, json, "plan", NULL, err);
	if (rc)
		return rc;
	AUTO_PLAN struct plan *plan = plan_read(json_incref(json)),
						  *runs = plan_read(json_pack("{s:O}", "steps", prepared));
	for (size_t i = 0; rc == 0 && i < plan->count; i++)
		rc = check_step(plan, i, runs, err);
	for (size_t i = 0; rc == 0 && i < runs->count; i++)
		rc = check_run(find_plan_step(plan, plan->count, runs->steps[i].id), &runs->steps[i], err);
	return rc;
}

/* ---- the plan from the language ---- */

typedef int (*plan_fn)(
	void *self, const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err);

/* The step of this id among those before another one; NULL: none. */
static const struct plan_step *
step_before(const struct plan *plan, const struct plan_step *step, const char *id)
{
	for (const struct plan_step *other = plan->steps; other < step; other++)
		if (strcmp(other->id, id) == 0)
			return other;
	return NULL;
}

/*
 * Whether no submission has a part in what a process reads: files of the task, and outputs of steps of which that is known
 * to be so.
 */
static bool
reads_task_files(const struct plan *plan, const struct plan_step *step, const json_t *process, const char *submission)
{
	json_object_each(json_object_get(process, "inputs"), name, input) {
		const char *file = json_text_or_null(input, "file"), *from = json_text_or_null(input, "step");
		const struct plan_step *maker = from ? step_before(plan, step, from) : NULL;
		if ((file && strcmp(file, submission) == 0) || (from && (!maker || !maker->task_files)))
			return false;
	}
	return true;
}

/* Nothing of the submission may get into the process that judges it, whatever it imports or finds in a cache. */
static int
check_referee(const struct plan *plan, const struct plan_step *step, const char *submission, struct kettle_error *err)
{
	const json_t *referee = json_object_get(step->json, "referee");
	if (!referee || reads_task_files(plan, step, referee, submission))
		return 0;
	return kettle_fail(
		err, KETTLE_EINVAL, "the referee of the step `%s` reads what the submission has a part in.", step->id);
}

/* Whether the step builds only from files of the task and outputs of other such steps. */
static bool
is_task_only(const struct plan *plan, const struct plan_step *step, const char *submission)
{
	const json_t *inputs = json_object_get(step->json, "inputs");
	json_object_each(inputs, name, input) {
		const char *file = json_text_or_null(input, "file"), *from = json_text_or_null(input, "step");
		const struct plan_step *maker = from ? step_before(plan, step, from) : NULL;
		if (file ? strcmp(file, submission) == 0 : !maker || !maker->task_only)
			return false;
	}
	return member_is(step->json, "kind", "build") && json_object_size(inputs);
}

/* Whether a file of the task promises that its harness's reports are complete. */
static bool
promises_complete(const json_t *files, const char *submission)
{
	json_object_each(files, name, contents)
		if (strcmp(name, submission) != 0 && strstr(json_text_or_empty(contents, "text"), PLAN_COMPLETE))
			return true;
	return false;
}

/* Whether a file of the task opens the NVTX range that a profile of kernels keeps to. */
static bool
opens_range(const json_t *files, const char *submission)
{
	json_object_each(files, name, contents) {
		const char *text = json_text_or_empty(contents, "text");
		if (strcmp(name, submission) != 0 && strcasestr(text, "nvtx") && strstr(text, "custom_kernel"))
			return true;
	}
	return false;
}

/* Says in profiles by a profiler with such ranges that there is none. */
static void
mark_ranges(const json_t *files, const char *submission, json_t *plan)
{
	bool opens = opens_range(files, submission);
	json_array_each(json_object_get(plan, "steps"), step) {
		if (opens || !member_is(step, "profile", "ncu"))
			continue;
		json_t *capture = json_object_get(step, "capture");
		json_t *marked = capture ? json_copy(capture) : json_object();
		json_object_set_new(marked, "range", json_false());
		json_object_set_new(step, "capture", marked);
	}
}

/* If the task wants it, no run finds compilers' output of another run. */
static void
remove_jit_caches(const json_t *task, json_t *plan)
{
	const json_t *wanted = json_object_get(task, "jit_cache");
	if (!json_is_false(wanted) && !member_is(task, "jit_cache", "no"))
		return;
	json_array_each(json_object_get(plan, "steps"), step)
		json_object_del(step, "jit");
}

static int
invalid_plan(const struct language *language, const struct kettle_error *why, struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_EINTERNAL, "The language %s made an invalid plan: %s", language->name, why->message);
}

static int
complete_plan(const struct language *language, plan_fn make, const json_t *bundle, const char *code, const char *mode,
	const json_t *device, const json_t *runs, struct plan **ret_plan, struct kettle_error *err)
{
	AUTO_JSON json_t *plan = NULL, *files = json_copy(json_object_get(bundle, "files"));
	AUTO_JSON json_t *task = json_copy(json_object_get(bundle, "task"));
	if (json_object_get(bundle, "imported"))
		json_object_set(task, "imported", json_object_get(bundle, "imported"));
	const struct kettle_plan_request request = {
		.size = sizeof(request),
		.task = task,
		.files = files,
		.submission = json_text_or_null(bundle, "submission"),
		.mode = mode,
		.device = device,
		.runs = runs,
	};
	json_object_set_new(files, request.submission, contents_json(code, strlen(code)));
	int rc = make(language->self, &request, &plan, err);
	if (rc)
		return rc;
	struct kettle_error inner = {0};
	if (!plan)
		rc = kettle_fail(&inner, KETTLE_EINVAL, "there is none.");
	else
		rc = check_plan(plan, runs, &inner);
	if (rc)
		return invalid_plan(language, &inner, err);
	remove_jit_caches(request.task, plan);
	mark_ranges(files, request.submission, plan);
	AUTO_PLAN struct plan *whole = plan_read(STEAL(plan));
	bool complete = promises_complete(files, request.submission);
	for (size_t i = 0; i < whole->count; i++) {
		struct plan_step *step = &whole->steps[i];
		step->task_only = is_task_only(whole, step, request.submission);
		step->task_files = reads_task_files(whole, step, step->json, request.submission);
		step->complete = complete && step->run;
		if (check_referee(whole, step, request.submission, &inner) != 0)
			return invalid_plan(language, &inner, err);
	}
	*ret_plan = STEAL(whole);
	return 0;
}

static int
find_plan_language(const struct languages *languages, const json_t *bundle, const struct language **ret_language,
	struct kettle_error *err)
{
	const char *lang = json_text_or_null(json_object_get(bundle, "task"), "lang");
	*ret_language = lang ? language_find(languages, lang) : NULL;
	if (*ret_language && json_text_or_null(bundle, "submission"))
		return 0;
	return kettle_fail(err, KETTLE_EUNAVAIL, "The language `%s` of the task is not loaded.", lang ? lang : "");
}

int
plan_make_probe(const struct languages *languages, const json_t *bundle, const json_t *device, struct plan **ret_plan,
	struct kettle_error *err)
{
	const struct language *language = NULL;
	AUTO_JSON json_t *runs = json_array();
	int rc = find_plan_language(languages, bundle, &language, err);
	if (rc)
		return rc;
	if (!language->ops->probe)
		return kettle_fail(err, KETTLE_ENOENT, "The language %s does not probe machines.", language->name);
	rc = complete_plan(language, language->ops->probe, bundle, "", "test", device, runs, ret_plan, err);
	for (size_t i = 0; rc == 0 && i < (*ret_plan)->count; i++)
		(*ret_plan)->steps[i].task_only = true; /* there is no submission */
	return rc;
}

/* Whether the profilers that the language chose can do that. guesses: it may have chosen none since it did not know the GPU. */
static int
check_captures(const struct plan *plan, const json_t *device, bool guesses, struct kettle_error *err)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < plan->count; i++) {
		const json_t *step = plan->steps[i].json, *capture = json_object_get(step, "capture");
		const char *profiler = json_text_or_null(step, "profile");
		if (capture && (profiler || !guesses))
			rc = capture_fits(profiler, json_text_or_empty(device, "name"), capture, err);
	}
	return rc;
}

static int
make_unchecked(const struct languages *languages, const json_t *bundle, const char *code, const char *mode,
	const json_t *device, const char *seed, const json_t *capture, struct plan **ret_plan, struct kettle_error *err)
{
	const struct language *language = NULL;
	AUTO_JSON json_t *runs = NULL;
	int rc = find_plan_language(languages, bundle, &language, err);
	if (rc)
		return rc;
	AUTO_FREE char *calibration =
		calibration_text(json_object_get(device, "calibration"), json_text_or_null(bundle, "hash"));
	rc = run_steps_make(json_object_get(bundle, "task"), mode, seed, calibration, capture, &runs, err);
	return rc ? rc : complete_plan(language, language->ops->plan, bundle, code, mode, device, runs, ret_plan, err);
}

int
plan_make(const struct languages *languages, const json_t *bundle, const char *code, const char *mode,
	const json_t *device, const char *seed, const json_t *capture, struct plan **ret_plan, struct kettle_error *err)
{
	int rc = make_unchecked(languages, bundle, code, mode, device, seed, capture, ret_plan, err);
	if (rc == 0 && (rc = check_captures(*ret_plan, device, false, err)) < 0)
		plan_free(STEAL(*ret_plan));
	return rc;
}

int
plan_check_capture(const struct languages *languages, const json_t *bundle, const char *code, const json_t *device,
	const json_t *capture, struct kettle_error *err)
{
	AUTO_PLAN struct plan *plan = NULL;
	AUTO_JSON json_t *gpus = unit_gpus(device);
	bool known = json_array_size(gpus) == 0 || json_object_get(json_object_get(device, "facts"), "gpu");
	/* Other faults of the plan are reported with the job. */
	if (make_unchecked(languages, bundle, code, "profile", device, "0", capture, &plan, NULL) != 0)
		return 0;
	return check_captures(plan, device, !known, err);
}
