/* SPDX-License-Identifier: MIT */
/* What languages of GPU boards have in common: architectures of units, and explanations of what their tools say. */
#include <config.h>

#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "plugins/languages/compiled/gpu_rtc.h"
#include "plugins/languages/compiled/lacks.h"
#include "plugins/languages/sentence.h"

#define RTC "rtc" /* the program that compiles device code by a library, and the step that makes it */
#define RTC_SUBMISSION "rtc-submission"
#define EXIT_DEVICE 110 /* a harness found that the GPU's interface fails */

static const char *
text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

static bool
is(const json_t *object, const char *key, const char *value)
{
	return strcmp(text_of(object, key), value) == 0;
}

/* ---- the target ---- */

/* "H100", "h100-pcie" and "H100x8" are the model H100. */
static bool
is_model(const char *name, const char *model)
{
	size_t len = strlen(model);
	return strncasecmp(name, model, len) == 0 && (name[len] < '0' || name[len] > '9');
}

static const char *
target_of_name(const struct gpu_vendor *vendor, const char *name)
{
	for (const struct gpu_model *model = vendor->models; model->name; model++)
		if (is_model(name, model->name))
			return model->target;
	return NULL;
}

static int
fail_no_target(const struct gpu_vendor *vendor, const char *name, bool native, struct kettle_error *err)
{
	if (native)
		return kettle_fail(err, KETTLE_EUNAVAIL,
			"The device `%.64s` says `%s: native`, but nothing is known of its GPU: say what it is, or have its unit "
			"name "
			"a `gpu` of this machine.",
			name, vendor->key);
	return kettle_fail(err, KETTLE_EUNAVAIL,
		"The task needs %s, and `%.64s` is not known to be one: say its `%s` in the configuration of the device.",
		vendor->device, name, vendor->key);
}

int
gpu_target(
	const struct gpu_vendor *vendor, const json_t *unit, char ret_target[GPU_TARGET_SIZE], struct kettle_error *err)
{
	const char *said = text_of(unit, vendor->key), *name = text_of(unit, "name");
	const char *fact = text_of(json_object_get(json_object_get(unit, "facts"), "gpu"), vendor->fact);
	const char *known = target_of_name(vendor, name);
	bool native = strcmp(said, "native") == 0;
	if (said[0] && !native && !vendor->read_target(said, false, ret_target))
		return kettle_fail(err, KETTLE_EINVAL, "The device `%.64s` says `%s: %.64s`, which is no architecture.", name,
			vendor->key, said);
	if ((said[0] && !native) || vendor->read_target(fact, true, ret_target))
		return 0;
	if (native || !known)
		return fail_no_target(vendor, name, native, err);
	(void)snprintf(ret_target, GPU_TARGET_SIZE, "%s", known);
	return 0;
}

/* ---- plans ---- */

/* What a making of ours has besides. */
struct planned {
	const struct gpu_vendor *vendor;
	const char *compiler; /* as the options name it */
	char target[GPU_TARGET_SIZE];
};

const char *
gpu_target_of(const struct compiled_making *making)
{
	return ((const struct planned *)making->arg)->target;
}

int
gpu_plan(const struct gpu_vendor *vendor, const struct compiled_rules *rules, const json_t *options,
	const struct kettle_plan_request *request, json_t **ret_plan, struct kettle_error *err)
{
	struct planned planned = {.vendor = vendor};
	planned.compiler = json_string_value(json_object_get(options, vendor->compiler));
	struct compiled_making making = {.request = request, .rules = rules, .options = options, .arg = &planned};
	struct kettle_error untold = {0};
	json_t *plan = NULL;
	int no_target = gpu_target(vendor, request->device, planned.target, &untold);
	int rc = compiled_plan(&making, &plan, err);
	if (rc == 0 && no_target)
		rc = kettle_fail(err, no_target, "%s", untold.message);
	if (rc == 0)
		*ret_plan = plan;
	else
		json_decref(plan);
	return rc;
}

/* What of the machine a step reads besides its compiler: headers and libraries of the device's configuration. */
static void
add_folders(const struct compiled_making *making, bool headers, json_t *step)
{
	json_t *folders = json_array();
	if (headers)
		compiled_add_all(&folders, "", json_object_get(making->request->device, "include_dirs"));
	compiled_add_all(&folders, "", json_object_get(making->request->device, "library_dirs"));
	if (json_array_size(folders) > 0)
		json_object_set(step, "folders", folders);
	json_decref(folders);
}

static void
add_variable(json_t *step, const char *name, const char *value)
{
	json_t *env = json_object_get(step, "env");
	if (!env && json_object_set_new(step, "env", env = json_object()) != 0)
		return;
	json_object_set_new(env, name, json_string(value));
}

/* What the maker's tools must be told: they would look about otherwise, and what is installed beside them would decide. */
static void
add_environment(const struct compiled_making *making, json_t *step)
{
	const struct gpu_vendor *vendor = ((const struct planned *)making->arg)->vendor;
	if (vendor->variable)
		add_variable(step, vendor->variable, vendor->value);
}

void
gpu_finish_build(const struct compiled_making *making, json_t *step)
{
	add_environment(making, step);
	add_folders(making, true, step);
}

/* "submission.cubin" of submission.cu. New. */
static json_t *
rtc_output(const struct compiled_making *making)
{
	const struct planned *planned = making->arg;
	const char *base = compiled_base(making->request->submission), *dot = strrchr(base, '.');
	return json_sprintf("%.*s%s", (int)(dot ? dot - base : (long)strlen(base)), base, planned->vendor->rtc.ending);
}

/* ./rtc nvrtc submission.cu out/submission.cubin OPTIONS */
static json_t *
rtc_argv(const struct compiled_making *making, const json_t *output)
{
	const struct planned *planned = making->arg;
	const struct gpu_rtc *rtc = &planned->vendor->rtc;
	const char *standard = json_string_value(json_object_get(making->config, "standard"));
	json_t *argv = json_pack("[s, s, s]", "./" RTC, rtc->api, making->request->submission);
	compiled_add(&argv, "out/%s", json_string_value(output));
	compiled_add(&argv, "-L@TOOLKIT_LIB@");
	compiled_add(&argv, "%s%s", rtc->target, planned->target);
	if (standard)
		compiled_add(&argv, "-std=%s", standard);
	for (size_t i = 0; rtc->options[i]; i++)
		compiled_add(&argv, "%s", rtc->options[i]);
	compiled_add_defines(making, &argv);
	compiled_add_all(&argv, "-I", json_object_get(making->config, "include_dirs"));
	compiled_add_all(&argv, "", json_object_get(making->config, "rtc_flags"));
	compiled_add_all(&argv, "-I", json_object_get(making->request->device, "include_dirs"));
	return argv;
}

int
gpu_add_steps(struct compiled_making *making, struct kettle_error *err)
{
	const struct planned *planned = making->arg;
	if (!compiled_rtc(making))
		return 0;
	json_t *build = json_pack("{s:s, s:s, s:s, s:[s, s, s, s, s, s, s], s:{s:{s:s}}, s:[s], s:b}", "id", RTC, "kind",
		"build", "title", "compile " RTC, "argv", "g++", "-O1", "-std=c++17", RTC ".cpp", "-o", "out/" RTC, "-ldl",
		"inputs", RTC ".cpp", "text", gpu_rtc_text, "outputs", RTC, "cache", 1);
	json_t *output = rtc_output(making), *inputs = compiled_inputs(making, making->request->submission);
	json_object_set_new(inputs, RTC, json_pack("{s:s, s:s}", "step", RTC, "output", RTC));
	json_t *step = json_pack("{s:s, s:s, s:o, s:[s], s:o, s:o, s:[O], s:[s], s:b}", "id", RTC_SUBMISSION, "kind",
		"build", "title", json_sprintf("compile %s", making->request->submission), "needs", RTC, "argv",
		rtc_argv(making, output), "inputs", inputs, "outputs", output, "toolchain", planned->compiler, "cache", 1);
	json_decref(output);
	if (step)
		gpu_finish_build(making, step);
	int failed = json_array_append_new(making->steps, build);
	failed |= json_array_append_new(making->steps, step);
	return failed ? compiled_fail_memory(err) : 0;
}

/* A run finds what was compiled under its name. */
static void
add_rtc(const struct compiled_making *making, json_t *step)
{
	json_t *output = rtc_output(making), *needs = json_pack("[s]", RTC_SUBMISSION);
	json_object_set_new(json_object_get(step, "inputs"), json_string_value(output),
		json_pack("{s:s, s:O}", "step", RTC_SUBMISSION, "output", output));
	compiled_need(step, needs);
	json_decref(needs);
	json_decref(output);
}

void
gpu_finish_run(const struct compiled_making *making, const char *compiler, json_t *step)
{
	add_variable(step, GPU_DEVICE, text_of(making->request->device, "name"));
	add_environment(making, step);
	json_object_set_new(step, "toolchain", json_pack("[s]", compiler));
	add_folders(making, false, step);
	if (compiled_rtc(making))
		add_rtc(making, step);
}

/* ---- sentences ---- */

/* The line around a place in a text, without blanks at its beginning. */
static void
say_line(struct sentence *sentence, const char *text, const char *at)
{
	while (at > text && at[-1] != '\n')
		at--;
	at += strspn(at, " \t\r");
	sentence_repeat(sentence, at, strcspn(at, "\r\n"));
}

/* Where the first of some words is in a text; NULL: none is. */
static const char *
find_any(const char *text, const char *const *words)
{
	for (; *words; words++) {
		const char *found = strstr(text, *words);
		if (found)
			return found;
	}
	return NULL;
}

/* ---- builds ---- */

/* "13.0" out of "13.0.88". */
static int
short_version(const char *version)
{
	size_t len = strcspn(version, ".");
	return (int)(version[len] ? len + 1 + strcspn(version + len + 1, ".") : len);
}

/* The target that a compile step was told, out of its arguments; "" where it was told none. */
static void
told_target(const struct gpu_vendor *vendor, const json_t *step, char ret_target[GPU_TARGET_SIZE])
{
	static const char *const options[] = {",code=", "--offload-arch=", "--gpu-architecture="};
	const json_t *word;
	size_t i;
	ret_target[0] = '\0';
	json_array_foreach(json_object_get(step, "argv"), i, word)
		for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++) {
			const char *found = strstr(json_string_value(word), options[k]);
			if (found)
				(void)vendor->read_target(found + strlen(options[k]), false, ret_target);
		}
}

/* The device's architecture and the machine's toolkit do not fit: nothing that a participant could mend. */
static int
explain_target(const struct gpu_vendor *vendor, const json_t *step, const json_t *outcome, json_t **ret_verdict,
	struct kettle_error *err)
{
	struct sentence sentence = {0};
	char target[GPU_TARGET_SIZE];
	const char *version = text_of(json_object_get(outcome, "tool"), "version");
	const struct gpu_since *since = vendor->since;
	told_target(vendor, step, target);
	while (since->target && strcmp(since->target, target) != 0)
		since++;
	sentence_say(&sentence, "The board's machine has %s %.*s, which does not know the device's architecture %s%s",
		vendor->product, version[0] ? short_version(version) : 1, version[0] ? version : "?", vendor->prefix, target);
	/* What the table says must not contradict what happened. */
	if (since->last && strtod(version, NULL) > strtod(since->last, NULL))
		sentence_say(&sentence, "; the last that does is %s %s", vendor->product, since->last);
	else if (since->target && strtod(version, NULL) < strtod(since->first, NULL))
		sentence_say(&sentence, "; the first that does is %s %s", vendor->product, since->first);
	sentence_say(&sentence, ".");
	return sentence_give(&sentence, "error", "machine", false, ret_verdict, err);
}

static int
explain_build(const struct gpu_vendor *vendor, const json_t *step, const json_t *outcome, json_t **ret_verdict,
	struct kettle_error *err)
{
	const char *text = text_of(json_object_get(outcome, "stderr"), "text"), *found;
	struct sentence sentence = {0};
	if (find_any(text, vendor->unknown_target))
		return explain_target(vendor, step, outcome, ret_verdict, err);
	if (lacks_explain_header(vendor->product, outcome, ret_verdict, err) == 0 ||
		lacks_explain_rtc(vendor->product, vendor->rtc.api, outcome, ret_verdict, err) == 0)
		return 0;
	if ((found = find_any(text, vendor->bad_machine))) {
		sentence_say(&sentence, "The board's machine cannot compile: ");
		say_line(&sentence, text, found);
		return sentence_give(&sentence, "error", "machine", false, ret_verdict, err);
	}
	if ((found = find_any(text, vendor->bad_option))) {
		sentence_say(&sentence, "The compiler does not take what task and configuration tell it: ");
		say_line(&sentence, text, found);
		return sentence_give(&sentence, "error", "task", false, ret_verdict, err);
	}
	return lacks_explain_library(vendor->product, step, outcome, ret_verdict, err);
}

static int
explain_missing(const struct gpu_vendor *vendor, const json_t *outcome, json_t **ret_verdict, struct kettle_error *err)
{
	struct sentence sentence = {0};
	const char *why = text_of(outcome, "error");
	sentence_say(&sentence, "The board's machine lacks %s. %s", vendor->toolkit, why);
	return sentence_give(&sentence, "error", "machine", false, ret_verdict, err);
}

/* ---- runs ---- */

/* What a run said, and what its harness reported of cases that failed; new string or NULL. */
static char *
all_words(const json_t *outcome)
{
	char *text = NULL, *reported = sentence_reported(outcome);
	int len = reported ? asprintf(&text, "%s\n%s\n%s", text_of(json_object_get(outcome, "stderr"), "text"),
							 text_of(json_object_get(outcome, "stdout"), "text"), reported)
					   : -1;
	free(reported);
	return len < 0 ? NULL : text;
}

/*
 * Words alone prove nothing, since a submission can print them. They decide who is told what; a run that did not pass
 * stays one that did not pass.
 */
static int
explain_words(const struct gpu_vendor *vendor, const json_t *step, const json_t *outcome, const char *text,
	json_t **ret_verdict, struct kettle_error *err)
{
	struct sentence sentence = {0};
	const char *device = text_of(json_object_get(step, "env"), GPU_DEVICE), *found;
	bool said = json_integer_value(json_object_get(outcome, "exit")) == EXIT_DEVICE;
	if ((found = find_any(text, vendor->no_device))) {
		sentence_say(&sentence, "The task needs %s, and %s has none that works: ", vendor->device,
			device[0] ? device : "this device");
		say_line(&sentence, text, found);
		return sentence_give(&sentence, "error", "machine", true, ret_verdict, err);
	}
	if (said && (found = find_any(text, vendor->wrong_target))) {
		sentence_say(&sentence,
			"The program was built for another GPU than the unit of %s has, or for a newer driver; its `%s` may be "
			"wrong: ",
			device[0] ? device : "this device", vendor->key);
		say_line(&sentence, text, found);
		return sentence_give(&sentence, "error", "machine", false, ret_verdict, err);
	}
	if (said && (found = find_any(text, vendor->fault))) {
		sentence_say(&sentence, "The %s run failed on the GPU: ", text_of(json_object_get(step, "run"), "mode"));
		say_line(&sentence, text, found);
		return sentence_give(&sentence, "failed", "participant", false, ret_verdict, err);
	}
	return sentence_nothing(err);
}

static int
explain_run(const struct gpu_vendor *vendor, const json_t *step, const json_t *outcome, json_t **ret_verdict,
	struct kettle_error *err)
{
	char *text = all_words(outcome);
	int rc = text ? explain_words(vendor, step, outcome, text, ret_verdict, err) : sentence_nothing(err);
	free(text);
	return rc == KETTLE_ENOENT ? lacks_explain_library(vendor->product, step, outcome, ret_verdict, err) : rc;
}

int
gpu_explain(const struct gpu_vendor *vendor, const char *compiler, const json_t *step, const json_t *outcome,
	json_t **ret_verdict, struct kettle_error *err)
{
	if (is(outcome, "state", "error") && is(outcome, "missing", compiler))
		return explain_missing(vendor, outcome, ret_verdict, err);
	if (!is(outcome, "state", "failed"))
		return sentence_nothing(err);
	if (is(step, "kind", "run"))
		return explain_run(vendor, step, outcome, ret_verdict, err);
	return explain_build(vendor, step, outcome, ret_verdict, err);
}
