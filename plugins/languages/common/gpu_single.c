/* SPDX-License-Identifier: MIT */
/* What comes with Kettle for GPU boards: the harness, also of boards that are made of a single reference file. */
#include <config.h>

#include <kettle/gpu.h>

#include "plugins/languages/common/gpu_harness.h"

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
		.measured = ", the way to the device and back included",
		.harness = files,
		.harness_count = sizeof(files) / sizeof(files[0])};
	(void)size;
	return kettle_compiled_single(&single, name, text, ret_task, err);
}
