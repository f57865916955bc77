/* SPDX-License-Identifier: MIT */
/* Questions with options on a terminal, and reading off the loop thread: files, standard input and the answers. */
#pragma once

#include "common/term.h"

#include <jansson.h>
#include <kettle/host.h>

struct input; /* one reading */

/* data is borrowed, with a NUL after its size bytes; NULL if err->code is not 0. */
typedef void (*input_fn)(void *arg, const struct kettle_error *err, const char *data, size_t size);

/*
 * Starts to read a regular file, or standard input for "-": all of it, or one line. Calls fn exactly once, on the loop
 * thread, never before this returns. Its errors: KETTLE_ENOENT, EACCES, EINVAL (no regular file), ETOOBIG (over max
 * bytes), EIO, ECANCELED (cancelled, or no line before the end).
 */
int input_start(const struct kettle_host *host, const char *path, size_t max, bool line, input_fn fn, void *arg,
	struct input **ret_input, struct kettle_error *err);
/* Cancels a reading of standard input; fn is still called. */
void input_cancel(struct input *input);

/* Lists the options (names) by number, with the question below. */
void input_menu(FILE *out, const json_t *options, const char *question);
/* Says that a line names none of the options, before they are shown again. */
void input_unknown(FILE *out, const char *line);
/* The option that a word names; NULL: none. Borrowed. */
const char *input_option(const char *word, const json_t *options);
/* The same for the only word of a line. */
const char *input_chosen(const char *line, const json_t *options);
