/* SPDX-License-Identifier: MIT */
/*
 * Code that languages of GPU boards share: architectures of units, explanations of their tools' messages, the harness.
 */
#include <config.h>

#include <kettle/explain.h>
#include <kettle/gpu.h>

#include "base/base.h"
#include "base/file_name.h"
#include "plugins/languages/common/gpu_harness.h"
#include "plugins/languages/common/gpu_rtc.h"

#define RTC "rtc" /* the program that compiles device code by a library, and the step that makes it */
#define RTC_SUBMISSION "rtc-submission"
#define SUPERVISED "// kettle-host: supervised" /* a line of the task's code: what its harness needs */
#define START "kettle_harness_start"            /* the function of that harness which runs first */
#define EXIT_DEVICE 110                         /* exit status of a harness that finds the GPU's interface failing */

/* The variable of a run step that names its device, for explanations and programs. */
#define DEVICE_VARIABLE "KETTLE_DEVICE"

static const struct kettle_gpu_vendor *
vendor_of(const struct kettle_compiled_builder *builder)
{
	return (const struct kettle_gpu_vendor *)builder->rules;
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
target_of_name(const struct kettle_gpu_vendor *vendor, const char *name)
{
	for (const struct kettle_gpu_model *model = vendor->models; model->name; model++)
		if (is_model(name, model->name))
			return model->target;
	return NULL;
}

static int
fail_no_target(const struct kettle_gpu_vendor *vendor, const char *name, bool native, struct kettle_error *err)
{
	if (native)
		return kettle_fail(err, KETTLE_EUNAVAIL,
			"The device `%.64s` has `%s: native`, but its GPU is unknown: set the architecture, or set `gpu` of its "
			"unit to a GPU of this machine.",
			name, vendor->key);
	return kettle_fail(err, KETTLE_EUNAVAIL,
		"The task needs %s, and `%.64s` is not known to be one: its operator can set `%s` in the configuration of the "
		"device.",
		vendor->device, name, vendor->key);
}

static int
find_target(const struct kettle_gpu_vendor *vendor, const json_t *unit, char ret_target[KETTLE_COMPILED_TARGET_SIZE],
	struct kettle_error *err)
{
	const char *set = kettle_json_text(unit, vendor->key), *name = kettle_json_text(unit, "name");
	const char *fact = kettle_json_text(json_object_get(json_object_get(unit, "facts"), "gpu"), vendor->fact);
	const char *known = target_of_name(vendor, name);
	bool native = strcmp(set, "native") == 0;
	if (set[0] && !native && !vendor->read_target(set, false, ret_target))
		return kettle_fail(err, KETTLE_EINVAL, "The device `%.64s` has `%s: %.64s`, which is not an architecture.",
			name, vendor->key, set);
	if ((set[0] && !native) || vendor->read_target(fact, true, ret_target))
		return 0;
	if (native || !known)
		return fail_no_target(vendor, name, native, err);
	(void)snprintf(ret_target, KETTLE_COMPILED_TARGET_SIZE, "%s", known);
	return 0;
}

/* ---- plans ---- */

/* Lets the step read the device's folders of libraries and, if `headers`, of headers. */
static void
add_folders(const struct kettle_compiled_builder *builder, bool headers, json_t *step)
{
	AUTO_JSON json_t *folders = json_array();
	if (headers)
		kettle_args_add_list(folders, "", json_object_get(builder->request->device, "include_dirs"));
	kettle_args_add_list(folders, "", json_object_get(builder->request->device, "library_dirs"));
	if (json_array_size(folders) > 0)
		json_object_set(step, "folders", folders);
}

static void
add_variable(json_t *step, const char *name, const char *value)
{
	if (!json_object_get(step, "env"))
		json_object_set_new(step, "env", json_object());
	json_object_set_new(json_object_get(step, "env"), name, json_string(value));
}

/* Sets the variable that names the vendor to its tools; without it they choose by what else is installed. */
static void
add_environment(const struct kettle_compiled_builder *builder, json_t *step)
{
	const struct kettle_gpu_vendor *vendor = vendor_of(builder);
	if (vendor->variable)
		add_variable(step, vendor->variable, vendor->value);
}

void
kettle_gpu_finish_step(const struct kettle_compiled_builder *builder, json_t *step)
{
	add_environment(builder, step);
	add_folders(builder, true, step);
}

/* Returns a new name, such as "submission.cubin" for submission.cu. */
static json_t *
rtc_output(const struct kettle_compiled_builder *builder)
{
	const char *base = file_name_of(builder->request->submission);
	const char *dot = strrchr(base, '.');
	return json_sprintf("%.*s%s", (int)(dot ? dot - base : (long)strlen(base)), base, vendor_of(builder)->rtc.ending);
}

/* ./rtc nvrtc submission.cu out/submission.cubin OPTIONS */
static json_t *
rtc_argv(const struct kettle_compiled_builder *builder, const json_t *output)
{
	const struct kettle_gpu_rtc *rtc = &vendor_of(builder)->rtc;
	const char *standard = json_string_value(json_object_get(builder->config, "standard"));
	json_t *argv = json_pack("[s, s, s]", "./" RTC, rtc->api, builder->request->submission);
	kettle_args_add(argv, "out/%s", json_string_value(output));
	kettle_args_add(argv, "-L@TOOLKIT_LIB@");
	kettle_args_add(argv, "%s%s", rtc->target, builder->target);
	if (standard)
		kettle_args_add(argv, "-std=%s", standard);
	kettle_args_add_words(argv, rtc->options);
	kettle_compiled_add_defines(builder, argv);
	kettle_args_add_list(argv, "-I", json_object_get(builder->config, "include_dirs"));
	kettle_args_add_list(argv, "", json_object_get(builder->config, "rtc_flags"));
	kettle_args_add_list(argv, "-I", json_object_get(builder->request->device, "include_dirs"));
	return argv;
}

/* The compiler as the options name it. */
static const char *
compiler_of(const struct kettle_compiled_builder *builder)
{
	return kettle_compiled_option(builder, vendor_of(builder)->compiler);
}

int
kettle_gpu_begin(struct kettle_compiled_builder *builder, struct kettle_error *err)
{
	int rc = find_target(vendor_of(builder), builder->request->device, builder->target, err);
	if (rc || !kettle_compiled_rtc(builder))
		return rc;
	json_t *build = json_pack("{s:s, s:s, s:s, s:[s, s, s, s, s, s, s], s:{s:{s:s}}, s:[s], s:b}", "id", RTC, "kind",
		"build", "title", "compile " RTC, "argv", "g++", "-O1", "-std=c++17", RTC ".cpp", "-o", "out/" RTC, "-ldl",
		"inputs", RTC ".cpp", "text", kettle_gpu_rtc_text, "outputs", RTC, "cache", 1);
	AUTO_JSON json_t *output = rtc_output(builder);
	json_t *inputs = kettle_compiled_inputs(builder, builder->request->submission);
	json_object_set_new(inputs, RTC, json_pack("{s:s, s:s}", "step", RTC, "output", RTC));
	json_t *step = json_pack("{s:s, s:s, s:o, s:[s], s:o, s:o, s:[O], s:[s], s:b}", "id", RTC_SUBMISSION, "kind",
		"build", "title", json_sprintf("compile %s", builder->request->submission), "needs", RTC, "argv",
		rtc_argv(builder, output), "inputs", inputs, "outputs", output, "toolchain", compiler_of(builder), "cache", 1);
	kettle_gpu_finish_step(builder, step);
	json_array_append_new(builder->steps, build);
	json_array_append_new(builder->steps, step);
	return 0;
}

static bool
has_line(const char *text, const char *line)
{
	for (size_t len; *text; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		size_t size = len - (len > 0 && text[len - 1] == '\r');
		if (size == strlen(line) && memcmp(text, line, size) == 0)
			return true;
	}
	return false;
}

/* Whether a file is a source of the program, or one that a source may include as a header or a source. */
static bool
is_code(const struct kettle_compiled_builder *builder, const char *name)
{
	return list_has_text(builder->sources, name) || kettle_compiled_ends_in(name, kettle_gpu_headers) ||
		   kettle_compiled_ends_in(name, builder->rules->sources);
}

bool
kettle_gpu_has_host(const struct kettle_compiled_builder *builder)
{
	json_object_each(builder->request->files, name, contents)
		if (strcmp(name, builder->request->submission) != 0 && is_code(builder, name) &&
			has_line(kettle_json_text(contents, "text"), SUPERVISED))
			return true;
	return false;
}

/* A profiler starts a program of its own kind, and there is nothing to keep from it. */
static bool
is_hosted(const struct kettle_compiled_builder *builder)
{
	return !kettle_compiled_profiles(builder) && kettle_gpu_has_host(builder);
}

void
kettle_gpu_add_host(const struct kettle_compiled_builder *builder, const char *prefix, json_t *argv)
{
	/* As in a program, all symbols are defined, and a definition of its own comes before that of a library. */
	static const char *const words[] = {"--entry=main", "-Bsymbolic", "-zdefs"};
	if (!kettle_gpu_has_host(builder))
		return;
	/* Without the function a linker only leaves out DT_INIT, but cannot give the function a second name, and fails. */
	kettle_args_add(argv, "%s--defsym=kettle_harness=" START, prefix);
	kettle_args_add(argv, "%s-init=" START, prefix);
	if (!is_hosted(builder))
		return;
	kettle_args_add(argv, "-shared");
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		kettle_args_add(argv, "%s%s", prefix, words[i]);
}

void
kettle_gpu_finish_run(const struct kettle_compiled_builder *builder, json_t *step)
{
	add_variable(step, DEVICE_VARIABLE, kettle_json_text(builder->request->device, "name"));
	add_environment(builder, step);
	json_object_set_new(step, "toolchain", json_pack("[s]", compiler_of(builder)));
	add_folders(builder, false, step);
	if (is_hosted(builder))
		json_object_set_new(step, "host", json_string("supervised"));
	if (!kettle_compiled_rtc(builder))
		return;
	AUTO_JSON json_t *output = rtc_output(builder);
	json_object_set_new(json_object_get(step, "inputs"), json_string_value(output),
		json_pack("{s:s, s:O}", "step", RTC_SUBMISSION, "output", output));
	kettle_compiled_need(step, RTC_SUBMISSION);
}

/* ---- sentences ---- */

/* Quotes the line that contains `at`, without leading blanks. */
static struct kettle_sentence
line_around(const char *text, const char *at)
{
	struct kettle_sentence line = {0};
	while (at > text && at[-1] != '\n')
		at--;
	at += strspn(at, " \t\r");
	kettle_sentence_quote(&line, at, strcspn(at, "\r\n"));
	return line;
}

/* Returns the place of the first of these words that the text has; NULL: none. */
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

/* Returns the length of "13.0" in "13.0.88". */
static int
short_version(const char *version)
{
	size_t len = strcspn(version, ".");
	return (int)(version[len] ? len + 1 + strcspn(version + len + 1, ".") : len);
}

/* Finds the target in the arguments of a compile step; "": none. */
static void
find_step_target(
	const struct kettle_gpu_vendor *vendor, const json_t *step, char ret_target[KETTLE_COMPILED_TARGET_SIZE])
{
	static const char *const options[] = {",code=", "--offload-arch=", "--gpu-architecture="};
	ret_target[0] = '\0';
	json_array_each(json_object_get(step, "argv"), word)
		for (size_t k = 0; k < ARRAY_SIZE(options); k++) {
			const char *found = strstr(json_string_value(word), options[k]);
			if (found)
				(void)vendor->read_target(found + strlen(options[k]), false, ret_target);
		}
}

/* Explains that the machine's toolkit does not know the device's architecture, which no participant can change. */
static int
explain_target(const struct kettle_gpu_vendor *vendor, const json_t *step, const json_t *outcome, json_t **ret_result,
	struct kettle_error *err)
{
	struct kettle_sentence sentence = {0};
	char target[KETTLE_COMPILED_TARGET_SIZE];
	const char *version = kettle_json_text(json_object_get(outcome, "tool"), "version");
	const struct kettle_gpu_since *since = vendor->since;
	double number = strtod(version, NULL);
	find_step_target(vendor, step, target);
	while (since->target && strcmp(since->target, target) != 0)
		since++;
	bool late = since->last && number > strtod(since->last, NULL);
	bool early = since->target && number > 0 && number < strtod(since->first, NULL);
	if (!late && !early && !kettle_explain_is_task_only(step))
		return kettle_explain_nothing(err);
	kettle_sentence_add(&sentence, "The machine has %s %.*s, which does not support the device's architecture %s%s",
		vendor->product, version[0] ? short_version(version) : 1, version[0] ? version : "?", vendor->prefix, target);
	/* The table may be wrong, so the sentence quotes it only where it agrees with the compiler. */
	if (late)
		kettle_sentence_add(&sentence, "; the last that does is %s %s", vendor->product, since->last);
	else if (early)
		kettle_sentence_add(&sentence, "; the first that does is %s %s", vendor->product, since->first);
	kettle_sentence_add(&sentence, ".");
	return kettle_sentence_result(&sentence, "error", "machine", false, ret_result, err);
}

/*
 * Explains a failed build. Trusts the compiler's words only if the submission cannot have printed them, or if the
 * machine's facts about its toolkit agree with them.
 */
static int
explain_build(const struct kettle_gpu_vendor *vendor, const json_t *step, const json_t *outcome, json_t **ret_result,
	struct kettle_error *err)
{
	const char *text = kettle_json_text(json_object_get(outcome, "stderr"), "text"), *found;
	if (find_any(text, vendor->unknown_target))
		return explain_target(vendor, step, outcome, ret_result, err);
	if (kettle_explain_header(vendor->product, step, outcome, ret_result, err) == 0 ||
		(kettle_json_is(step, "id", RTC_SUBMISSION) &&
			kettle_explain_rtc(vendor->product, vendor->rtc.api, outcome, ret_result, err) == 0) ||
		kettle_explain_library(vendor->product, step, outcome, ret_result, err) == 0)
		return 0;
	if (!kettle_explain_is_task_only(step))
		return kettle_explain_nothing(err);
	if ((found = find_any(text, vendor->bad_machine)))
		return kettle_explain("error", "machine", false, ret_result, err, "The machine cannot compile: %s",
			line_around(text, found).text);
	if ((found = find_any(text, vendor->bad_option)))
		return kettle_explain("error", "task", false, ret_result, err,
			"The compiler rejects the options of the task or the configuration: %s", line_around(text, found).text);
	return kettle_explain_nothing(err);
}

/* ---- runs ---- */

/*
 * A submission can print these words and end with this status, too. So the machine is to blame only if the harness
 * says so on the result channel; the words only choose the sentence.
 */
static int
explain_run(const struct kettle_gpu_vendor *vendor, const json_t *step, const json_t *outcome, json_t **ret_result,
	struct kettle_error *err)
{
	AUTO_FREE char *reported = kettle_explain_reported(outcome);
	AUTO_JSON json_t *all = json_sprintf("%s\n%s\n%s", kettle_json_text(json_object_get(outcome, "stderr"), "text"),
		kettle_json_text(json_object_get(outcome, "stdout"), "text"), reported ? reported : "");
	const char *name = kettle_json_text(json_object_get(step, "env"), DEVICE_VARIABLE), *text = json_string_value(all);
	const char *device = name[0] ? name : "this device", *found;
	bool claimed = kettle_json_is(json_object_get(outcome, "result"), "fault", "machine");
	if (json_integer_value(json_object_get(outcome, "exit")) != EXIT_DEVICE)
		return kettle_explain_nothing(err);
	if (claimed && (found = find_any(text, vendor->no_device)))
		return kettle_explain("error", "machine", true, ret_result, err,
			"The task needs %s, but %s has none that works: %s", vendor->device, device, line_around(text, found).text);
	if (claimed && (found = find_any(text, vendor->wrong_target)))
		return kettle_explain("error", "machine", false, ret_result, err,
			"The program was built for another GPU than the unit of %s has, or for a newer driver; its `%s` may be "
			"wrong: %s",
			device, vendor->key, line_around(text, found).text);
	if (!claimed && (found = find_any(text, vendor->fault)))
		return kettle_explain("failed", "participant", false, ret_result, err, "The %s run failed on the GPU: %s",
			kettle_json_text(json_object_get(step, "run"), "mode"), line_around(text, found).text);
	return kettle_explain_nothing(err);
}

int
kettle_gpu_interpret(
	void *self, const json_t *step, const json_t *outcome, json_t **ret_result, struct kettle_error *err)
{
	const struct kettle_compiled *language = self;
	const struct kettle_gpu_vendor *vendor = (const struct kettle_gpu_vendor *)language->rules;
	if (kettle_json_is(outcome, "state", "error") &&
		kettle_json_is(outcome, "missing", kettle_json_text(language->options, vendor->compiler)))
		return kettle_explain_lacks(vendor->toolkit, false, ret_result, err, "The machine lacks %s. %s",
			vendor->toolkit, kettle_json_text(outcome, "error"));
	if (!kettle_json_is(outcome, "state", "failed"))
		return kettle_explain_nothing(err);
	if (kettle_json_is(step, "kind", "run"))
		return explain_run(vendor, step, outcome, ret_result, err);
	return explain_build(vendor, step, outcome, ret_result, err);
}

json_t *
kettle_gpu_tools(void *self)
{
	const struct kettle_compiled *language = self;
	const struct kettle_gpu_vendor *vendor = (const struct kettle_gpu_vendor *)language->rules;
	return json_pack("[O]", json_object_get(language->options, vendor->compiler));
}

/* ---- the harness ---- */

const char *const kettle_gpu_headers[] = {".cuh", ".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", NULL};

const struct kettle_harness_file kettle_gpu_harness[KETTLE_GPU_HARNESS_COUNT] = {{"eval.cu", "eval.cu"},
	{"eval_single.cu", "eval_single.cu"}, {"gpu.h", "gpu.h"}, {"harness.h", "harness.h"}, {"utils.h", "utils.h"}};

static const char *const files[][2] = {{"eval_single.cu", kettle_gpu_eval_single}, {"eval.cu", kettle_gpu_eval},
	{"gpu.h", kettle_gpu_names}, {"harness.h", kettle_gpu_harness_text}, {"utils.h", kettle_gpu_utils}};

int
kettle_gpu_single_file(
	void *self, const char *name, const char *text, size_t size, json_t **ret_task, struct kettle_error *err)
{
	const struct kettle_gpu_vendor *vendor =
		(const struct kettle_gpu_vendor *)((const struct kettle_compiled *)self)->rules;
	const struct kettle_compiled_single single = {.lang = vendor->lang,
		.template_name = vendor->template_name,
		.reference = "reference.cuh",
		.submission = "train.cuh",
		.measured = ", including the transfer to the device and back",
		.harness = files,
		.harness_count = ARRAY_SIZE(files)};
	(void)size;
	return kettle_compiled_single(&single, name, text, ret_task, err);
}
