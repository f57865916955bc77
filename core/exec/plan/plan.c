/* SPDX-License-Identifier: MIT */
/* Checks a plan: its schema first, then what a schema cannot say. */
#include <config.h>

#include "exec/plan/plan.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "exec/plan/result.h"
#include "base/schema.h"
#include "base/text.h"

extern const char plan_schema_text[];

/* A step under check, and what came before it. */
struct check {
	const json_t *files; /* of the plan, may be NULL */
	json_t *before;      /* id → step, of the steps that were checked */
	size_t contents;     /* bytes so far */
	const char *id;
	struct kettle_error *err;
};

int
plan_schema(json_t **ret_schema, struct kettle_error *err)
{
	return schema_load(plan_schema_text, ret_schema, err);
}

static const char *
text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static int
count_contents(struct check *check, const json_t *contents)
{
	const json_t *text = json_object_get(contents, "text"), *base64 = json_object_get(contents, "base64");
	check->contents += json_string_length(text ? text : base64);
	if (check->contents > PLAN_MAX_CONTENTS)
		return kettle_fail(check->err, KETTLE_ETOOBIG, "The plan's contents are more than the %u MiB that are allowed.",
			PLAN_MAX_CONTENTS >> 20);
	return 0;
}

/* `what` is the key that the path stands under. */
static int
check_path(struct check *check, const char *what, const char *path)
{
	struct kettle_error inner = {0};
	if (path_check_inside(path, &inner) != 0)
		return kettle_fail(check->err, KETTLE_EINVAL,
			"Step `%s`: the path `%s` in `%s` must stay below the folder of the step: %s", check->id, path, what,
			inner.message);
	return 0;
}

/* Whether path is `above` or lies below it. */
static int
is_below(const char *path, const char *above)
{
	size_t len = strlen(above);
	return strncmp(path, above, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/* An output may be taken as declared, or a file out of a folder that is declared. */
static int
check_output(struct check *check, const char *name, const char *id, const char *output)
{
	const json_t *step = json_object_get(check->before, id);
	if (!step)
		return kettle_fail(check->err, KETTLE_EINVAL,
			"Step `%s`: the input `%s` comes from step `%s`, and no step before it has that id.", check->id, name, id);
	const json_t *outputs = json_object_get(step, "outputs"), *declared;
	size_t i;
	json_array_foreach(outputs, i, declared)
		if (is_below(output, json_string_value(declared)))
			return check_path(check, "inputs", output);
	return kettle_fail(check->err, KETTLE_EINVAL,
		"Step `%s`: the input `%s` is `%s` of step `%s`, which does not declare it in its outputs.", check->id, name,
		output, id);
}

static int
check_input(struct check *check, const char *name, const json_t *input)
{
	const char *file = text_of(input, "file"), *step = text_of(input, "step");
	int rc = check_path(check, "inputs", name);
	if (rc != 0)
		return rc;
	if (is_below(name, "out") && (!step || strcmp(name, "out") == 0))
		return kettle_fail(check->err, KETTLE_EINVAL,
			"Step `%s`: the input `%s` lies in `out`; only what an earlier step left can lie there, under a name of "
			"its "
			"own.",
			check->id, name);
	if (file && !json_object_get(check->files, file))
		return kettle_fail(check->err, KETTLE_EINVAL,
			"Step `%s`: the input `%s` is the file `%s`, which the plan's `files` do not have.", check->id, name, file);
	if (step)
		return check_output(check, name, step, text_of(input, "output"));
	return count_contents(check, input);
}

/* No input may lie below another one, and none may be the cases file: which of them would win? */
static int
check_overlap(struct check *check, const json_t *inputs, const char *cases)
{
	const char *name, *other;
	json_t *value, *other_value;
	json_object_foreach((json_t *)inputs, name, value) {
		if (cases && (is_below(cases, name) || is_below(name, cases)))
			return kettle_fail(check->err, KETTLE_EINVAL, "Step `%s`: the input `%s` and the cases file `%s` collide.",
				check->id, name, cases);
		const char *slash = strchr(name, '/');
		if (!slash)
			continue;
		json_object_foreach((json_t *)inputs, other, other_value)
			if (other != name && is_below(name, other))
				return kettle_fail(
					check->err, KETTLE_EINVAL, "Step `%s`: the inputs `%s` and `%s` collide.", check->id, other, name);
	}
	return 0;
}

static int
check_argv(struct check *check, const json_t *argv)
{
	const json_t *word;
	size_t i;
	json_array_foreach(argv, i, word)
		if (strlen(json_string_value(word)) != json_string_length(word))
			return kettle_fail(check->err, KETTLE_EINVAL, "Step `%s`: an argument of `argv` holds a NUL.", check->id);
	const char *tool = json_string_value(json_array_get(argv, 0));
	if (strncmp(tool, "./", 2) == 0)
		return check_path(check, "argv", tool + 2);
	if (tool[0] == '/' && path_check_inside(tool + 1, NULL) == 0)
		return 0;
	if (tool[0] == '\0' || strchr(tool, '/'))
		return kettle_fail(check->err, KETTLE_EINVAL,
			"Step `%s`: `%s` must be the name of a tool, which this machine resolves, its absolute path, or ./FILE.",
			check->id, tool);
	return 0;
}

static int
check_environment(struct check *check, const json_t *environment)
{
	const char *name;
	json_t *value;
	json_object_foreach((json_t *)environment, name, value)
		if (strlen(json_string_value(value)) != json_string_length(value))
			return kettle_fail(check->err, KETTLE_EINVAL, "Step `%s`: the variable `%s` holds a NUL.", check->id, name);
	return 0;
}

/* argv, env and inputs: of a step, or of a referee or solver. */
static int
check_process(struct check *check, const json_t *process, const char *cases)
{
	const json_t *inputs = json_object_get(process, "inputs");
	const char *name;
	json_t *input;
	int rc = check_argv(check, json_object_get(process, "argv"));
	if (rc == 0)
		rc = check_environment(check, json_object_get(process, "env"));
	json_object_foreach((json_t *)inputs, name, input)
		if (rc == 0)
			rc = check_input(check, name, input);
	return rc == 0 ? check_overlap(check, inputs, cases) : rc;
}

/* What goes through a pipe must fit into it, and one line be one value. */
static int
check_secret(struct check *check, const json_t *step)
{
	const json_t *secret = json_object_get(step, "secret");
	const char *name;
	json_t *value;
	size_t size = 0;
	int rc = check_environment(check, secret);
	if (rc != 0 || !json_object_get(step, "secret_fd"))
		return rc;
	json_object_foreach((json_t *)secret, name, value) {
		size += strlen(name) + json_string_length(value) + 2;
		if (strchr(json_string_value(value), '\n'))
			return kettle_fail(check->err, KETTLE_EINVAL,
				"Step `%s`: the secret `%s` has several lines, which `secret_fd` cannot hand over.", check->id, name);
	}
	if (size > PLAN_MAX_SECRET)
		return kettle_fail(check->err, KETTLE_ETOOBIG,
			"Step `%s`: its secret has more than the %d bytes that `secret_fd` hands over.", check->id,
			PLAN_MAX_SECRET);
	return 0;
}

static int
check_plan_names(struct check *check, const json_t *step, const char *key)
{
	const json_t *path;
	size_t i;
	json_array_foreach(json_object_get(step, key), i, path) {
		const char *text = json_string_value(path);
		int rc = check_path(check, key, text);
		if (rc != 0)
			return rc;
		if (is_below(text, "out"))
			return kettle_fail(check->err, KETTLE_EINVAL,
				"Step `%s`: `%s` in `%s` is named from out/ on: without `out/` in front of it.", check->id, text, key);
	}
	return 0;
}

static int
check_needs(struct check *check, const json_t *step)
{
	const json_t *need;
	size_t i;
	json_array_foreach(json_object_get(step, "needs"), i, need)
		if (!json_object_get(check->before, json_string_value(need)))
			return kettle_fail(check->err, KETTLE_EINVAL, "Step `%s` needs `%s`, and no step before it has that id.",
				check->id, json_string_value(need));
	return 0;
}

static int
check_patterns(struct check *check, const json_t *step)
{
	struct kettle_error inner = {0};
	const json_t *pattern;
	size_t i;
	json_array_foreach(json_object_get(step, "unique"), i, pattern)
		if (result_check_pattern(json_string_value(pattern), &inner) != 0)
			return kettle_fail(check->err, KETTLE_EINVAL, "Step `%s`, unique: %s", check->id, inner.message);
	return 0;
}

/* Refuses a key; `why` ends the sentence. */
static int
plan_refuse(struct check *check, const json_t *step, const char *key, const char *why)
{
	if (!json_object_get(step, key))
		return 0;
	return kettle_fail(check->err, KETTLE_EINVAL, "Step `%s` has `%s`, but %s.", check->id, key, why);
}

struct refusal {
	const char *key, *why;
};

static int
refuse_all(struct check *check, const json_t *step, const struct refusal *list, size_t count)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = plan_refuse(check, step, list[i].key, list[i].why);
	return rc;
}

static int
check_kind(struct check *check, const json_t *step)
{
	static const struct refusal prepare[] = {
		{"cases", "a prepare step gets no cases"},
		{"secret", "a prepare step gets no secret"},
		{"result", "a prepare step gets no result channel"},
		{"secret_fd", "a prepare step gets no secret"},
		{"referee", "only a run step has a referee"},
	};
	static const struct refusal build[] = {
		{"cases", "a build step gets no cases"},
		{"secret", "a build step gets no secret"},
		{"secret_fd", "a build step gets no secret"},
		{"result", "a build step gets no result channel"},
		{"device", "a build step gets no device"},
		{"referee", "only a run step has a referee"},
	};
	static const struct refusal run[] = {{"cache", "only build and prepare steps can be kept in the cache"}};
	const char *kind = text_of(step, "kind");
	if (strcmp(kind, "prepare") == 0)
		return refuse_all(check, step, prepare, ARRAY_SIZE(prepare));
	if (strcmp(kind, "build") == 0)
		return refuse_all(check, step, build, ARRAY_SIZE(build));
	return refuse_all(check, step, run, ARRAY_SIZE(run));
}

static int
check_combinations(struct check *check, const json_t *step)
{
	static const struct refusal with_referee[] = {
		{"argv", "its referee and solver have one each"},
		{"inputs", "its referee and solver have their own"},
		{"env", "its referee and solver have their own"},
	};
	static const struct refusal alone[] = {
		{"solver", "no `referee`: they come together"},
		{"share", "no `referee` and `solver` to share it"},
	};
	static const struct refusal no_result[] = {{"unique", "no `result` channel that it could be about"}};
	static const struct refusal no_secret[] = {{"secret_fd", "no `secret` to hand over"}};
	static const struct refusal cached[] = {{"artifacts", "a cached step keeps outputs alone"}};
	bool referee = json_object_get(step, "referee") != NULL;
	if (referee && !json_object_get(step, "solver"))
		return kettle_fail(
			check->err, KETTLE_EINVAL, "Step `%s` has a referee and no solver: they come together.", check->id);
	if (!referee && !json_object_get(step, "argv"))
		return kettle_fail(check->err, KETTLE_EINVAL, "Step `%s` has no `argv`: nothing to run.", check->id);
	int rc = referee ? refuse_all(check, step, with_referee, ARRAY_SIZE(with_referee))
					 : refuse_all(check, step, alone, ARRAY_SIZE(alone));
	if (rc == 0 && !json_object_get(step, "result"))
		rc = refuse_all(check, step, no_result, ARRAY_SIZE(no_result));
	if (rc == 0 && !json_object_get(step, "secret"))
		rc = refuse_all(check, step, no_secret, ARRAY_SIZE(no_secret));
	if (rc == 0 && json_is_true(json_object_get(step, "cache")))
		rc = refuse_all(check, step, cached, ARRAY_SIZE(cached));
	if (rc == 0 && !json_object_get(step, "result") && json_object_get(json_object_get(step, "pass"), "result"))
		rc = kettle_fail(check->err, KETTLE_EINVAL,
			"Step `%s` passes by result values, but has no `result` channel that they could come from.", check->id);
	return rc;
}

/* What a profiler may do besides is for the one kind of step that counts for nothing and knows no secret. */
static int
check_profile(struct check *check, const json_t *step)
{
	static const struct refusal profile[] = {
		{"secret", "a profile gets no secret"}, {"referee", "a profile is of one process"}};
	const char *mode = text_of(json_object_get(step, "run"), "mode");
	if (!json_object_get(step, "profile"))
		return 0;
	if (!mode || strcmp(mode, "profile") != 0 || json_is_true(json_object_get(json_object_get(step, "run"), "secret")))
		return kettle_fail(check->err, KETTLE_EINVAL,
			"Step `%s` has `profile`, but is no run in the mode profile: no other may use a profiler.", check->id);
	return refuse_all(check, step, profile, ARRAY_SIZE(profile));
}

static int
check_step(struct check *check, const json_t *step)
{
	const json_t *cases = json_object_get(step, "cases");
	const char *cases_name = text_of(cases, "name");
	int rc = check_needs(check, step);
	if (rc == 0)
		rc = check_kind(check, step);
	if (rc == 0)
		rc = check_combinations(check, step);
	if (rc == 0 && cases)
		rc = check_path(check, "cases", cases_name);
	if (rc == 0 && cases && is_below(cases_name, "out"))
		rc = kettle_fail(check->err, KETTLE_EINVAL, "Step `%s`: the cases file lies in `out`.", check->id);
	if (rc == 0 && cases)
		rc = count_contents(check, cases);
	const json_t *referee = json_object_get(step, "referee");
	if (rc == 0)
		rc = check_process(check, referee ? referee : step, cases_name);
	if (rc == 0 && referee)
		rc = check_process(check, json_object_get(step, "solver"), NULL);
	if (rc == 0)
		rc = check_plan_names(check, step, "outputs");
	if (rc == 0)
		rc = check_plan_names(check, step, "artifacts");
	if (rc == 0)
		rc = check_profile(check, step);
	if (rc == 0)
		rc = check_secret(check, step);
	return rc == 0 ? check_patterns(check, step) : rc;
}

static int
check_plan_files(struct check *check)
{
	const char *name;
	json_t *contents;
	json_object_foreach((json_t *)check->files, name, contents) {
		int rc = count_contents(check, contents);
		if (rc != 0)
			return rc;
	}
	return 0;
}

int
plan_check(const json_t *schema, const json_t *plan, struct kettle_error *err)
{
	int rc = schema_check(schema, plan, "plan", NULL, err);
	if (rc != 0)
		return rc;
	AUTO_JSON json_t *before = json_object();
	if (!before)
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory to check a plan.");
	struct check check = {.files = json_object_get(plan, "files"), .before = before, .err = err};
	rc = check_plan_files(&check);
	json_t *step;
	size_t i;
	json_array_foreach(json_object_get(plan, "steps"), i, step) {
		check.id = text_of(step, "id");
		if (rc == 0 && json_object_get(before, check.id))
			rc = kettle_fail(err, KETTLE_EINVAL, "Two steps of the plan have the id `%s`.", check.id);
		if (rc == 0)
			rc = check_step(&check, step);
		if (rc == 0)
			rc = json_object_set(before, check.id, step) == 0 ? 0 : KETTLE_ENOMEM;
		if (rc != 0)
			break;
	}
	return rc;
}
