/* SPDX-License-Identifier: MIT */
/* Boards made of a single reference file. */
#ifndef KETTLE_PY_SINGLE_H
#define KETTLE_PY_SINGLE_H

#include <jansson.h>
#include <kettle/error.h>
#include <stddef.h>

/* single_file of kettle/language.h: a task with one test and one benchmark. `self` is not used. */
int py_single(void *self, const char *name, const char *text, size_t size, json_t **ret_task, struct kettle_error *err);

#endif
