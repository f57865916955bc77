/* SPDX-License-Identifier: MIT */
/* Boards made of a single reference file. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether a character may be part of a name. [any] */
bool single_is_word(char c);
/* The operation single_file of a language. [any] */
int single_make(
	void *self, const char *name, const char *text, size_t size, json_t **ret_task, struct kettle_error *err);
