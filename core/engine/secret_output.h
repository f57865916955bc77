/* SPDX-License-Identifier: MIT */
/* The output of secret runs that a failed machine or a signal ended, in a file for operators. */
#pragma once

#include "judge/verdict.h"

#define SECRET_OUTPUT_READ (64u << 10)   /* bytes that are read from the end of stderr and of stdout */
#define SECRET_OUTPUT_STREAM (16u << 10) /* bytes that are kept of each */
#define SECRET_OUTPUT_FILE \
	(1u << 20) /* bytes of the file; what came before is in PATH.1, and what came before that is gone */

/* The path DB.secret-output. New string. [any] */
char *secret_output_path(const char *database);
/* Whether operators may need the output of a secret run of the verdict. [any] */
bool secret_output_wanted(const struct verdict *verdict, const struct completion *completion);
/*
 * The output of those runs, without the secrets of their plan. completion: the one that the verdict was made from;
 * head: the time and the job. New string; NULL: there are no such runs. [any]
 */
char *secret_output_text(const struct verdict *verdict, const struct completion *completion, const char *head);
/* Appends the text to the file, which only its owner can read. KETTLE_EIO: it cannot be written. [any, blocks] */
int secret_output_write(const char *path, const char *text, struct kettle_error *err);
