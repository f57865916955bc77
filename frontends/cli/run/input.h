/* SPDX-License-Identifier: MIT */
/* Reads files, standard input and answers to questions off the loop thread. */
#ifndef KETTLE_CLI_INPUT_H
#define KETTLE_CLI_INPUT_H

#include <kettle/host.h>
#include <stdbool.h>

struct input; /* one reading */

/* data is borrowed, NUL-terminated behind size bytes. err->code is 0 or says why not: data is NULL then. */
typedef void (*input_fn)(void *arg, const struct kettle_error *err, const char *data, size_t size);

/*
 * Begins to read a regular file, or standard input for "-": all of it, or one line. fn comes exactly once, on the loop
 * thread, never before this returns. Errors there: KETTLE_ENOENT, EACCES, EINVAL (no regular file), ETOOBIG (over max
 * bytes), EIO, ECANCELED (cancelled, or no line before the end).
 */
int input_start(const struct kettle_host *host, const char *path, size_t max, bool line, input_fn fn, void *arg,
	struct input **ret_input, struct kettle_error *err);
/* Tells a reading that waits for standard input to give up; fn still comes. */
void input_cancel(struct input *input);

#endif
