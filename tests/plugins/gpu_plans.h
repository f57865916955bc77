/* SPDX-License-Identifier: MIT */
/* What the tests of cu and hip share: plans of tasks of empty files, and looks into them. They abort by cmocka. */
#ifndef TEST_GPU_PLANS_H
#define TEST_GPU_PLANS_H

#include <jansson.h>
#include <kettle/plugin.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"

/* The instance that plans; its setup, with an option that has its own name as its value, and its teardown, for cmocka. */
extern void *gpu_plans_self;
int gpu_plans_setup(const char *compiler);
int gpu_plans_teardown(void **state);

/* The plan of a task (names of its files between spaces, the first is the submission) with two runs for a device. New. */
json_t *gpu_plans_good(const char *names, const char *config, const char *device);
/* The same, which must be refused in exactly that way. */
void gpu_plans_refused(const char *names, const char *config, const char *device, int code, const char *sentence);

/*
 * A profile of a task of one source: its runs, and nothing else, are under that profiler and leave that file; what is
 * compiled first has that flag (NULL: none).
 */
void gpu_plans_profile(const char *name, const char *device, const char *profiler, const char *file, const char *flag);

/* The strings of a list, or the keys of an object, of a step are these, between spaces. */
void gpu_plans_expect(const json_t *plan, const char *id, const char *key, const char *wanted);
const char *gpu_plans_text(const json_t *plan, const char *id, const char *object, const char *key);
const char *gpu_plans_word(const json_t *plan, const char *id, size_t index);

/* The board of a single file has one source, the harness, which it brings along; a file that lacks something makes none. */
void gpu_plans_single(const char *lang, const char *name, const char *template_name);

/* What interpret makes of it; state NULL: nothing. */
void gpu_plans_explained(
	const char *step, const json_t *outcome, const char *state, const char *blame, const char *sentence);

/* The plugin says what it is, and its options, their help and the keys of config stand in the manual. */
void gpu_plans_table(const char *name, const char *manual);

#endif
