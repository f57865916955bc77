/* SPDX-License-Identifier: MIT */
/* Boards of GPUs that are made of a single reference file. */
#ifndef KETTLE_GPU_SINGLE_H
#define KETTLE_GPU_SINGLE_H

#include <jansson.h>
#include <kettle/error.h>

/*
 * As `single_file` of kettle/language.h, for the language `lang` with the template of that name. The board's one source
 * is the harness, which includes reference and submission. Pure. [any]
 */
int gpu_single(const char *lang, const char *template_name, const char *name, const char *text, json_t **ret_task,
	struct kettle_error *err);

#endif
