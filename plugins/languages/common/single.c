/* SPDX-License-Identifier: MIT */
/* Boards that are made of a single reference file: the task around it, with the harness inside. */
#include <config.h>

#include <kettle/compiled.h>
#include <string.h>

/* What a reference must define; the rest is for the compiler to say. */
static int
check_reference(const char *name, const char *text, struct kettle_error *err)
{
	static const char *const needed[] = {
		"input_t", "output_t", "generate_input", "ref_kernel", "check_implementation", NULL};
	for (size_t i = 0; needed[i]; i++)
		if (!strstr(text, needed[i]))
			return kettle_fail(err, KETTLE_EINVAL,
				"The reference `%s` does not define `%s`; it must define input_t, output_t, generate_input(), "
				"ref_kernel(input_t) and check_implementation(output_t, output_t).",
				name, needed[i]);
	return 0;
}

static int
add_file(json_t *listed, json_t *files, const char *name, const char *source, json_t *text_take)
{
	int failed = json_array_append_new(listed, json_pack("{s:s, s:s}", "name", name, "source", source));
	if (text_take)
		failed |= json_object_set_new(files, name, json_pack("{s:o}", "text", text_take));
	return failed;
}

int
kettle_compiled_single(const struct kettle_compiled_single *single, const char *name, const char *text,
	json_t **ret_task, struct kettle_error *err)
{
	int rc = check_reference(name, text, err);
	if (rc)
		return rc;
	json_t *listed = json_array(), *files = json_object();
	int failed = 0;
	for (size_t i = 0; i < single->harness_count; i++)
		failed |=
			add_file(listed, files, single->harness[i][0], single->harness[i][0], json_string(single->harness[i][1]));
	/* A reference without a guard may be included by the submission as well; behind the text no line moves. */
	failed |= add_file(listed, files, single->reference, single->reference, json_sprintf("%s\n#pragma once\n", text));
	failed |= add_file(listed, files, single->submission, "@SUBMISSION@", NULL);
	json_t *description = json_sprintf("Define `custom_kernel` as `%s` defines `ref_kernel`: the same input, the same "
									   "result, in less time%s. Ten fresh "
									   "inputs are checked, a hundred calls are timed.",
		single->reference, single->measured);
	json_t *starter =
		json_sprintf("#include \"%s\"\n\noutput_t\ncustom_kernel(input_t input)\n{\n\treturn ref_kernel(input);\n}\n",
			single->reference);
	json_t *task = json_pack("{s:s, s:o, s:o, s:{s:[s]}, s:{s:s}, s:[{s:i}], s:[{s:i}], s:s}", "lang", single->lang,
		"description", description, "files", listed, "config", "sources", single->harness[0][0], "templates",
		single->template_name, single->submission, "tests", "seed", 4242, "benchmarks", "seed", 93246, "ranking_by",
		"last");
	json_t *made = json_pack("{s:o, s:o, s:{s:{s:s, s:o}}}", "task", task, "files", files, "templates",
		single->template_name, "file_name", single->submission, "text", starter);
	if (failed || !made) {
		json_decref(made);
		return kettle_compiled_fail_memory(err);
	}
	*ret_task = made;
	return 0;
}
