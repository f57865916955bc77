/* SPDX-License-Identifier: MIT */
/* Reads plans: the schema first, then each step with what a schema cannot say. */
#include <config.h>

#include "exec/plan/plan.h"

#include "base/base.h"
#include "base/file.h"
#include "base/file_name.h"
#include "base/schema.h"
#include "exec/plan/result.h"

/* ---- limits of a step: the defaults of its kind, the plan's values, the machine's maximum ---- */

struct limits
limits_default(enum step_kind kind, unsigned devices)
{
	static const struct limits of_kind[] = {
#define X(name, wire, build, prepare, run) .name = build,
		[STEP_BUILD] = {LIMITS(X)},
#undef X
#define X(name, wire, build, prepare, run) .name = prepare,
		[STEP_PREPARE] = {LIMITS(X)},
#undef X
#define X(name, wire, build, prepare, run) .name = run,
		[STEP_RUN] = {LIMITS(X)},
#undef X
	};
	struct limits limits = of_kind[kind];
	if (devices > 1) {
		limits.memory *= devices;
		limits.processes *= devices;
		limits.shm = devices * LIMITS_SHM_DEVICE;
	}
	return limits;
}

static bool
is_time(const char *name)
{
	return strcmp(name, "wall") == 0 || strcmp(name, "cpu") == 0;
}

double
limits_named(const struct limits *limits, const char *name)
{
	uint64_t value = 0;
#define X(member, wire, build, prepare, run) value = strcmp(name, wire) == 0 ? limits->member : value;
	LIMITS(X)
#undef X
	return is_time(name) ? (double)value / (double)LIMITS_SECOND : (double)value;
}

static void
limits_take(uint64_t *limit, const char *name, const json_t *object)
{
	const json_t *value = json_object_get(object, name);
	if (!json_is_number(value))
		return;
	if (is_time(name))
		*limit = (uint64_t)(json_number_value(value) * (double)LIMITS_SECOND);
	else
		*limit = (uint64_t)json_number_value(value);
}

void
limits_apply(struct limits *limits, const json_t *object)
{
#define X(name, wire, build, prepare, run) limits_take(&limits->name, wire, object);
	LIMITS(X)
#undef X
}

static void
cap(uint64_t *limit, uint64_t max)
{
	if (max > 0 && (*limit == 0 || *limit > max))
		*limit = max;
}

void
limits_cap(struct limits *limits, const struct limits *max)
{
#define X(name, wire, build, prepare, run) cap(&limits->name, max->name);
	LIMITS(X)
#undef X
}

extern const char plan_schema_text[];

/* The state while a plan is read. */
struct reader {
	const json_t *files;    /* of the plan; may be NULL */
	struct plan *plan;      /* with the steps that were read, and after them */
	struct plan_step *step; /* the step that is being read */
	size_t contents;        /* bytes so far */
	struct kettle_error *err;
};

/* Refuses the step that is being read. The sentence begins with its name. */
#define REFUSE(reader, format, ...) \
	kettle_fail((reader)->err, KETTLE_EINVAL, "Step `%s`" format, (reader)->step->id, ##__VA_ARGS__)

json_t *
plan_schema(void)
{
	return schema_own(plan_schema_text);
}

static int
count_contents(struct reader *reader, const json_t *contents)
{
	const json_t *text = json_object_get(contents, "text"), *base64 = json_object_get(contents, "base64");
	reader->contents += json_string_length(text ? text : base64);
	if (reader->contents > PLAN_MAX_CONTENTS)
		return kettle_fail(reader->err, KETTLE_ETOOBIG,
			"The plan's contents are more than the %u MiB that are allowed.", PLAN_MAX_CONTENTS >> 20);
	return 0;
}

static struct plan_contents
read_contents(const json_t *object)
{
	return (struct plan_contents){.blob = json_text_or_null(object, "blob"), .bytes = object};
}

/* what: the key of the path. */
static int
check_path(struct reader *reader, const char *what, const char *path)
{
	struct kettle_error inner = {0};
	if (path_check_inside(path, &inner) != 0)
		return REFUSE(
			reader, ": the path `%s` in `%s` must stay below the folder of the step: %s", path, what, inner.message);
	return 0;
}

/* A step that was read before; NULL: none has this id. */
static const struct plan_step *
find_step(const struct reader *reader, const char *id)
{
	for (size_t i = 0; i < reader->plan->count; i++)
		if (strcmp(reader->plan->steps[i].id, id) == 0)
			return &reader->plan->steps[i];
	return NULL;
}

static void
add_need(struct plan_step *step, const struct plan_step *need)
{
	step->needs = xreallocarray(step->needs, step->needs_count + 1, sizeof(*step->needs));
	step->needs[step->needs_count++] = need;
}

/* Takes an output as declared, or a file in a declared folder. */
static int
take_output(struct reader *reader, struct plan_input *input, const char *id)
{
	input->step = find_step(reader, id);
	if (!input->step)
		return REFUSE(
			reader, ": the input `%s` comes from step `%s`, but no earlier step has this id.", input->path, id);
	add_need(reader->step, input->step);
	for (size_t i = 0; i < input->step->outputs.count; i++)
		if (path_below(input->output, input->step->outputs.list[i]))
			return check_path(reader, "inputs", input->output);
	return REFUSE(reader, ": the input `%s` is `%s` of step `%s`, which does not declare it in its outputs.",
		input->path, input->output, id);
}

static int
read_input(struct reader *reader, const char *path, const json_t *object, struct plan_input *input)
{
	const char *file = json_text_or_null(object, "file"), *id = json_text_or_null(object, "step");
	const json_t *contents = file ? json_object_get(reader->files, file) : object;
	*input = (struct plan_input){
		.path = path, .output = json_text_or_null(object, "output"), .contents = read_contents(contents)};
	int rc = check_path(reader, "inputs", path);
	if (rc != 0)
		return rc;
	if (path_below(path, "out") && (!id || strcmp(path, "out") == 0))
		return REFUSE(reader,
			": the input `%s` lies in `out`; only outputs of earlier steps can lie there, under names of their own.",
			path);
	if (!contents)
		return REFUSE(reader, ": the input `%s` is the file `%s`, which the plan's `files` do not have.", path, file);
	return id ? take_output(reader, input, id) : count_contents(reader, object);
}

/* No input may lie below another one or be the cases file, since it would be unclear which one counts. */
static int
check_overlap(struct reader *reader, const struct plan_process *process, const char *cases)
{
	for (size_t i = 0; i < process->inputs_count; i++) {
		const char *path = process->inputs[i].path;
		if (cases && (path_below(cases, path) || path_below(path, cases)))
			return REFUSE(reader, ": the input `%s` and the cases file `%s` collide.", path, cases);
		for (size_t k = 0; k < process->inputs_count && strchr(path, '/'); k++)
			if (k != i && path_below(path, process->inputs[k].path))
				return REFUSE(reader, ": the inputs `%s` and `%s` collide.", process->inputs[k].path, path);
	}
	return 0;
}

static int
read_argv(struct reader *reader, const json_t *argv, struct strings *ret_argv)
{
	json_array_each(argv, word)
		if (strlen(json_string_value(word)) != json_string_length(word))
			return REFUSE(reader, ": an argument of `argv` contains a NUL.");
	strings_read(ret_argv, argv);
	const char *tool = ret_argv->list[0];
	if (strncmp(tool, "./", 2) == 0)
		return check_path(reader, "argv", tool + 2);
	if (tool[0] == '/' && path_check_inside(tool + 1, NULL) == 0)
		return 0;
	if (tool[0] == '\0' || strchr(tool, '/'))
		return REFUSE(reader,
			": `%s` must be the name of a tool, which this machine resolves, its absolute path, or ./FILE.", tool);
	return 0;
}

static int
check_environment(struct reader *reader, const json_t *environment)
{
	json_object_each(environment, name, value)
		if (strlen(json_string_value(value)) != json_string_length(value))
			return REFUSE(reader, ": the variable `%s` contains a NUL.", name);
	return 0;
}

static void
read_warm(const json_t *warm, struct plan_process *process)
{
	process->warm = warm != NULL;
	strings_read(&process->preload, json_object_get(warm, "preload"));
	strings_read(&process->recipes, json_object_get(warm, "recipes"));
	process->warm_alone = json_object_get(warm, "alone") != NULL;
	strings_read(&process->alone, json_object_get(warm, "alone"));
}

/* Reads argv, env, inputs, limits and warm of a step, its referee or its solver. */
static int
read_process(struct reader *reader, const json_t *step, const json_t *object, const char *cases)
{
	struct plan_process *process = &reader->step->processes[reader->step->count++];
	json_t *inputs = json_object_get(object, "inputs");
	process->limits = limits_default(reader->step->kind, reader->step->device);
	limits_apply(&process->limits, json_object_get(step, "limits"));
	reader->step->memory = process->limits.memory;
	limits_apply(&process->limits, json_object_get(object, "limits"));
	process->environment = json_object_get(object, "env");
	read_warm(json_object_get(object, "warm"), process);
	process->inputs = xcalloc(json_object_size(inputs), sizeof(*process->inputs));
	int rc = read_argv(reader, json_object_get(object, "argv"), &process->argv);
	if (rc == 0)
		rc = check_environment(reader, process->environment);
	json_object_each(inputs, path, input)
		if (rc == 0)
			rc = read_input(reader, path, input, &process->inputs[process->inputs_count++]);
	/* The order of inputs in a plan has no meaning. */
	if (process->inputs_count > 0)
		qsort(process->inputs, process->inputs_count, sizeof(*process->inputs), file_name_order);
	return rc == 0 ? check_overlap(reader, process, cases) : rc;
}

/* A secret for a pipe must fit into it, and each line must be one value. */
static int
check_secret(struct reader *reader)
{
	const struct plan_step *step = reader->step;
	size_t size = 0;
	int rc = check_environment(reader, step->secret);
	if (rc != 0 || !step->secret_fd)
		return rc;
	json_object_each(step->secret, name, value) {
		size += strlen(name) + json_string_length(value) + 2;
		if (strchr(json_string_value(value), '\n'))
			return REFUSE(reader, ": the secret `%s` has several lines, which `secret_fd` cannot hand over.", name);
	}
	if (size > PLAN_MAX_SECRET)
		return kettle_fail(reader->err, KETTLE_ETOOBIG,
			"Step `%s`: its secret has more than the %d bytes that `secret_fd` hands over.", step->id, PLAN_MAX_SECRET);
	return 0;
}

static int
check_plan_names(struct reader *reader, const struct strings *paths, const char *key)
{
	for (size_t i = 0; i < paths->count; i++) {
		int rc = check_path(reader, key, paths->list[i]);
		if (rc != 0)
			return rc;
		if (path_below(paths->list[i], "out"))
			return REFUSE(reader, ": `%s` in `%s` must be relative to out/: remove `out/` from its beginning.",
				paths->list[i], key);
	}
	return 0;
}

static int
read_needs(struct reader *reader, const json_t *needs)
{
	json_array_each(needs, id) {
		const struct plan_step *need = find_step(reader, json_string_value(id));
		if (!need)
			return REFUSE(reader, " needs `%s`, but no earlier step has this id.", json_string_value(id));
		add_need(reader->step, need);
	}
	return 0;
}

static int
check_patterns(struct reader *reader)
{
	struct kettle_error inner = {0};
	for (size_t i = 0; i < reader->step->unique.count; i++)
		if (result_check_pattern(reader->step->unique.list[i], &inner) != 0)
			return REFUSE(reader, ", unique: %s", inner.message);
	return 0;
}

/* When a key must be absent: in a kind of step, or with or without other members. */
enum {
	IN_BUILD = 1 << STEP_BUILD,
	IN_PREPARE = 1 << STEP_PREPARE,
	IN_RUN = 1 << STEP_RUN,
	WITH_REFEREE = 1 << 3,
	WITHOUT_REFEREE = 1 << 4,
	WITHOUT_RESULT = 1 << 5,
	WITHOUT_SECRET = 1 << 6,
	WITH_CACHE = 1 << 7,
	WITH_PROFILE = 1 << 8,
	WITHOUT_PROFILE = 1 << 9,
	WITH_SHARED = 1 << 10,
};
/* why: the end of the sentence. */
static const struct {
	unsigned when;
	const char *key, *why;
} refusals[] = {
	{IN_PREPARE, "cases", "a prepare step gets no cases"},
	{IN_PREPARE, "secret", "a prepare step gets no secret"},
	{IN_PREPARE, "result", "a prepare step gets no result channel"},
	{IN_PREPARE, "secret_fd", "a prepare step gets no secret"},
	{IN_BUILD, "cases", "a build step gets no cases"},
	{IN_BUILD, "secret", "a build step gets no secret"},
	{IN_BUILD, "secret_fd", "a build step gets no secret"},
	{IN_BUILD, "result", "a build step gets no result channel"},
	{IN_BUILD, "device", "a build step gets no device"},
	{IN_BUILD | IN_PREPARE, "referee", "only a run step has a referee"},
	{IN_BUILD | IN_PREPARE, "jit", "only a run keeps what compilers leave while it runs"},
	{IN_BUILD | IN_PREPARE | WITH_REFEREE | WITH_PROFILE, "host", "only a run of one process without `profile` may"},
	{IN_RUN, "cache", "only build and prepare steps can be kept in the cache"},
	{IN_RUN, "optional", "only build and prepare steps may fail without consequence"},
	{WITH_SHARED, "optional", "no job waits for a `shared` step"},
	{IN_RUN, "ended", "only build and prepare steps can end on another machine"},
	{WITH_REFEREE, "argv", "its referee and solver have one each"},
	{WITH_REFEREE, "inputs", "its referee and solver have their own"},
	{WITH_REFEREE, "env", "its referee and solver have their own"},
	{WITH_REFEREE, "warm", "its referee and solver have their own"},
	{WITHOUT_REFEREE, "solver", "no `referee`: both are required"},
	{WITHOUT_REFEREE, "share", "no `referee` and `solver` to share it"},
	{WITHOUT_RESULT, "unique", "no `result` channel that it could be about"},
	{WITHOUT_SECRET, "secret_fd", "no `secret` to hand over"},
	{WITH_CACHE, "artifacts", "a cached step keeps outputs alone"},
	{WITH_PROFILE, "secret", "a profile gets no secret"},
	{WITHOUT_PROFILE, "capture", "no `profile` that it could be about"},
};

static int
check_combinations(struct reader *reader, const json_t *object)
{
	const struct plan_step *step = reader->step;
	bool referee = json_object_get(object, "referee") != NULL;
	unsigned present = 1u << step->kind | (referee ? WITH_REFEREE : WITHOUT_REFEREE) |
					   (step->result ? 0 : WITHOUT_RESULT) | (step->secret ? 0 : WITHOUT_SECRET) |
					   (step->cache ? WITH_CACHE : 0) | (step->profile ? WITH_PROFILE : WITHOUT_PROFILE) |
					   (step->shared ? WITH_SHARED : 0);
	if (referee && !json_object_get(object, "solver"))
		return REFUSE(reader, " has a referee but no solver: both are required.");
	if (!referee && !json_object_get(object, "argv"))
		return REFUSE(reader, " has no `argv`: nothing to run.");
	/*
	 * A profiler has more rights than other programs, so it is only for the kind of step that has no score and no
	 * secret.
	 */
	if (step->profile && (!member_is(step->run, "mode", "profile") || member_true(step->run, "secret")))
		return REFUSE(reader, " has `profile`, but only a run in the mode profile may use a profiler.");
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
		if (refusals[i].when & present && json_object_get(object, refusals[i].key))
			return REFUSE(reader, " has `%s`, but %s.", refusals[i].key, refusals[i].why);
	if (step->host && strncmp(json_string_value(json_array_get(json_object_get(object, "argv"), 0)), "./", 2) != 0)
		return REFUSE(reader, " has `host`, so `argv` must begin with ./FILE, which is loaded.");
	if (step->supervised && (!step->result || step->secret_fd))
		return REFUSE(reader, " has a supervisor (`host`), so it needs a `result` channel, and no `secret_fd`.");
	if (!step->result && step->pass_result)
		return REFUSE(reader, " passes by result values, but has no `result` channel.");
	return 0;
}

/* Reads members that do not depend on other members or steps. */
static void
read_members(const json_t *object, struct plan_step *step)
{
	const json_t *pass = json_object_get(object, "pass"), *exits = json_object_get(pass, "exit");
	const json_t *cases = json_object_get(object, "cases");
	const json_t *jit = json_object_get(object, "jit");
	step->title = json_text_or_null(object, "title");
	step->kind = member_is(object, "kind", "build")     ? STEP_BUILD
				 : member_is(object, "kind", "prepare") ? STEP_PREPARE
														: STEP_RUN;
	strings_read(&step->outputs, json_object_get(object, "outputs"));
	strings_read(&step->artifacts, json_object_get(object, "artifacts"));
	strings_read(&step->toolchain, json_object_get(object, "toolchain"));
	strings_read(&step->folders, json_object_get(object, "folders"));
	strings_read(&step->unique, json_object_get(object, "unique"));
	step->passes[0] = !exits;
	json_array_each(exits, status)
		step->passes[json_integer_value(status)] = true;
	step->pass_result = json_object_get(pass, "result");
	step->cache = member_true(object, "cache");
	step->optional = member_true(object, "optional");
	step->supervised = member_is(object, "host", "supervised");
	step->host = step->supervised || member_true(object, "host");
	step->shared = member_true(object, "shared");
	step->owner = json_text_or_null(object, "owner");
	step->device = (unsigned)member_int(object, "device");
	step->cases = json_text_or_null(cases, "name");
	step->cases_contents = read_contents(cases);
	step->result = json_text_or_null(object, "result");
	step->secret = json_object_get(object, "secret");
	step->secret_fd = json_text_or_null(object, "secret_fd");
	step->jit_folder = json_text_or_null(jit, "folder");
	strings_read(&step->jit_tools, json_object_get(jit, "tools"));
	step->profile = json_text_or_null(object, "profile");
	step->capture = json_object_get(object, "capture");
	step->run = json_object_get(object, "run");
	step->share = (uint64_t)member_int(object, "share");
	step->ended = json_object_get(object, "ended");
}

static int
check_ended(struct reader *reader)
{
	const struct plan_step *step = reader->step;
	const json_t *outcome = json_object_get(step->ended, "outcome");
	const char *kind = step->kind == STEP_BUILD ? "build" : "prepare";
	if (step->ended && (step->shared || !member_is(outcome, "step", step->id) || !member_is(outcome, "kind", kind)))
		return REFUSE(reader, " has `ended` with the outcome of another step, or is one of all jobs.");
	json_array_each(json_object_get(step->ended, "outputs"), output) {
		int rc = count_contents(reader, output);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* A shared step must not depend on anything of one job. */
static int
check_shared(struct reader *reader)
{
	const struct plan_step *step = reader->step;
	bool may = step->kind == STEP_BUILD && step->cache && !step->owner && step->needs_count == 0;
	return may || !step->shared ? 0
								: REFUSE(reader, " has `shared`, which only a build with `cache` and without `owner` "
												 "and `needs` may have: all jobs use its output.");
}

static int
check_cases(struct reader *reader)
{
	const struct plan_step *step = reader->step;
	if (!step->cases)
		return 0;
	int rc = check_path(reader, "cases", step->cases);
	if (rc == 0 && path_below(step->cases, "out"))
		rc = REFUSE(reader, ": the cases file lies in `out`.");
	return rc == 0 ? count_contents(reader, step->cases_contents.bytes) : rc;
}

static int
read_step(struct reader *reader, const json_t *object)
{
	struct plan_step *step = reader->step;
	const json_t *referee = json_object_get(object, "referee");
	step->id = json_text_or_null(object, "id");
	if (find_step(reader, step->id))
		return kettle_fail(reader->err, KETTLE_EINVAL, "Two steps of the plan have the id `%s`.", step->id);
	read_members(object, step);
	int rc = read_needs(reader, json_object_get(object, "needs"));
	if (rc == 0)
		rc = check_combinations(reader, object);
	if (rc == 0)
		rc = check_cases(reader);
	if (rc == 0)
		rc = read_process(reader, object, referee ? referee : object, step->cases);
	if (rc == 0 && referee)
		rc = read_process(reader, object, json_object_get(object, "solver"), NULL);
	if (rc == 0)
		rc = check_plan_names(reader, &step->outputs, "outputs");
	if (rc == 0)
		rc = check_plan_names(reader, &step->artifacts, "artifacts");
	if (rc == 0)
		rc = check_secret(reader);
	if (rc == 0)
		rc = check_shared(reader);
	if (rc == 0)
		rc = check_ended(reader);
	return rc == 0 ? check_patterns(reader) : rc;
}

int
plan_read(const json_t *schema, const json_t *object, struct plan *ret_plan, struct kettle_error *err)
{
	*ret_plan = (struct plan){0};
	int rc = schema_check(schema, object, "plan", NULL, err);
	if (rc != 0)
		return rc;
	struct reader reader = {.files = json_object_get(object, "files"), .plan = ret_plan, .err = err};
	const json_t *steps = json_object_get(object, "steps");
	json_object_each(reader.files, name, contents)
		if (rc == 0)
			rc = count_contents(&reader, contents);
	ret_plan->steps = xcalloc(json_array_size(steps), sizeof(*ret_plan->steps));
	ret_plan->owner = json_text_or_null(object, "owner");
	ret_plan->return_outputs = member_true(object, "return_outputs");
	json_array_each_at(steps, i, step) {
		if (rc != 0)
			break;
		reader.step = &ret_plan->steps[i];
		rc = read_step(&reader, step);
		/* A queue elsewhere may still have a plan from before plans had owners. */
		ret_plan->owner = ret_plan->owner ? ret_plan->owner : reader.step->owner;
		ret_plan->count++;
	}
	return rc;
}

void
plan_free(struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		struct plan_step *step = &plan->steps[i];
		for (size_t k = 0; k < step->count; k++) {
			struct plan_process *process = &step->processes[k];
			strings_free(&process->argv);
			strings_free(&process->preload);
			strings_free(&process->recipes);
			strings_free(&process->alone);
			free(process->inputs);
		}
		free(step->needs);
		strings_free(&step->outputs);
		strings_free(&step->artifacts);
		strings_free(&step->toolchain);
		strings_free(&step->folders);
		strings_free(&step->unique);
		strings_free(&step->jit_tools);
	}
	free(plan->steps);
	*plan = (struct plan){0};
}
