/* SPDX-License-Identifier: MIT */
/* Boards of GPUs that are made of a single reference file: the task around it, with the harness inside. */
#include <config.h>

#include "gpu_single.h"

#include <string.h>

#include "compiled.h"
#include "plugins/languages/compiled/gpu_harness.h"

static const char description[] =
	"Define `custom_kernel` as `reference.cuh` defines `ref_kernel`: the same input, the same result, in less time, "
	"the "
	"way to the device and back included. Ten fresh inputs are checked, a hundred calls are timed.";

static const char template_text[] =
	"#include \"reference.cuh\"\n\noutput_t\ncustom_kernel(input_t input)\n{\n\treturn ref_kernel(input);\n}\n";

/* What the harness brings; the first is what is compiled. */
static const struct {
	const char *name, *text;
} harness[] = {
	{"eval_single.cu", gpu_eval_single},
	{"eval.cu", gpu_eval},
	{"gpu.h", gpu_names},
	{"harness.h", gpu_harness},
	{"utils.h", gpu_utils},
};

static int
add_file(json_t *listed, json_t *files, const char *name, const char *source, json_t *text_take)
{
	int failed = json_array_append_new(listed, json_pack("{s:s, s:s}", "name", name, "source", source));
	if (text_take)
		failed |= json_object_set_new(files, name, json_pack("{s:o}", "text", text_take));
	return failed;
}

int
gpu_single(const char *lang, const char *template_name, const char *name, const char *text, json_t **ret_task,
	struct kettle_error *err)
{
	int rc = compiled_check_reference(name, text, err);
	if (rc)
		return rc;
	json_t *listed = json_array(), *files = json_object();
	int failed = 0;
	for (size_t i = 0; i < sizeof(harness) / sizeof(harness[0]); i++)
		failed |= add_file(listed, files, harness[i].name, harness[i].name, json_string(harness[i].text));
	/* A reference without a guard may be included by the submission as well; behind the text no line moves. */
	failed |= add_file(listed, files, "reference.cuh", "reference.cuh", json_sprintf("%s\n#pragma once\n", text));
	failed |= add_file(listed, files, "train.cuh", "@SUBMISSION@", NULL);
	json_t *task = json_pack("{s:s, s:s, s:o, s:{s:[s]}, s:{s:s}, s:[{s:i}], s:[{s:i}], s:s}", "lang", lang,
		"description", description, "files", listed, "config", "sources", harness[0].name, "templates", template_name,
		"train.cuh", "tests", "seed", 4242, "benchmarks", "seed", 93246, "ranking_by", "last");
	json_t *made = json_pack("{s:o, s:o, s:{s:{s:s, s:s}}}", "task", task, "files", files, "templates", template_name,
		"file_name", "train.cuh", "text", template_text);
	if (failed || !made) {
		json_decref(made);
		return compiled_fail_memory(err);
	}
	*ret_task = made;
	return 0;
}
