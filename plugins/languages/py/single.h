/* SPDX-License-Identifier: MIT */
/* Boards made of a single reference file. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether a character may be part of a name. [any] */
bool single_is_word(char c);
/* Whether a line without indentation defines, assigns or imports the name. [any] */
bool single_defines(const char *text, size_t size, const char *name);
/* Kettle's harness: its files, and last one without a name. The first is that of single reference files. */
extern const struct single_file {
	const char *name, *text;
} single_harness[];
/* The operation single_file of a language. [any] */
int single_make(
	void *self, const char *name, const char *text, size_t size, json_t **ret_task, struct kettle_error *err);
