/* SPDX-License-Identifier: MIT */
/* What the tests of languages share: plans of tasks of small files, their steps, manual pages. They abort by cmocka. */
#ifndef TEST_PLANS_H
#define TEST_PLANS_H

#include <jansson.h>
#include <kettle/plugin.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"

/* The instance that plans, which setup makes and plans_teardown frees, for cmocka. */
extern void *plans_self;
void *plans_instance(json_t *options_take);
int plans_teardown(void **state);

/* A task to plan. names: of its files, between spaces, the first is the submission; all others may be NULL. */
struct plans_given {
	const char *names, *text; /* text: of the submission */
	const char *others;       /* the text of all other files */
	const char *config, *device, *mode, *runs;
	const char *imported; /* what the task was seen to import, as JSON */
};
int plans_make(struct plans_given given, json_t **ret_plan, struct kettle_error *err);
/* The plan, which must be possible. New. */
json_t *plans_given_good(struct plans_given given);
json_t *plans_good(const char *names, const char *config, const char *device);
/* The same, which must be refused with this code and sentence. */
void plans_refused(const char *names, const char *config, const char *device, int code, const char *sentence);

/*
 * In a profile of a task of one source only the runs are under that profiler, and leave those files; the first compile step
 * has that flag (NULL: none).
 */
void plans_profile(const char *name, const char *device, const char *profiler, const char *file, const char *flag);

/* The step with this id. */
const json_t *plans_step(const json_t *plan, const char *id);
/* The strings of a list, or the keys of an object, are these, between spaces. */
void plans_expect_words(const json_t *words, const char *wanted);
/* The same of a step's member. */
void plans_expect(const json_t *plan, const char *id, const char *key, const char *wanted);
const char *plans_text(const json_t *plan, const char *id, const char *object, const char *key);
const char *plans_word(const json_t *plan, const char *id, size_t index);

/* The board of a single file has the harness as its one source and file; a reference that lacks something is refused. */
void plans_single(const char *lang, const char *name, const char *template_name);

/* The result of interpret; state NULL: it has nothing to add. */
void plans_explained(
	const char *step, const json_t *outcome, const char *state, const char *blame, const char *sentence);

/* Which texts of config the schema takes; both lists end with NULL. */
void plans_schema(const char *const *good, const char *const *bad);

/* The plugin's tables are filled in, and the manual has its options, their help and the keys of config. */
void plans_table(const char *name, const char *comment, const char *manual);

#endif
