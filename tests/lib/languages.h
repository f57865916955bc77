/* SPDX-License-Identifier: MIT */
/* Languages for tests: the real cpp, and stand-ins that take KernelBot's py and cu tasks. */
#ifndef TEST_LANGUAGES_H
#define TEST_LANGUAGES_H

#include "judge/language.h"

/* Aborts where it cannot. Every call gives new ones; languages_free at the end. */
struct languages *languages_new(void);
void languages_free(struct languages *languages);

/* The languages of a whole test program: set-up and teardown of its group make and free them. */
extern struct languages *languages;
int languages_setup(void **state);
int languages_teardown(void **state);

/* What the stand-in py does instead of planning and explaining properly; NULL: its own work. Set by a test. */
struct py_hooks {
	int (*plan)(const struct kettle_plan_request *request, json_t *plan);
	json_t *(*interpret)(const json_t *step, const json_t *outcome);
};
extern struct py_hooks py_hooks;

#endif
