/* SPDX-License-Identifier: MIT */
/* Functions that the files of this folder share. */
#pragma once

#include "common/term.h"

#include <jansson.h>
#include <kettle/host.h>

/* ---- input.c: reads files, standard input and answers to questions off the loop thread ---- */
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
