/* SPDX-License-Identifier: MIT */
/* What secret runs printed that the machine failed or a signal ended, in a file for operators. */
#ifndef KETTLE_ENGINE_SECRET_OUTPUT_H
#define KETTLE_ENGINE_SECRET_OUTPUT_H

#include "judge/verdict.h"

#define SECRET_OUTPUT_READ (64u << 10)   /* bytes that are looked at of stderr and of stdout each, of their end */
#define SECRET_OUTPUT_STREAM (16u << 10) /* bytes that are kept of them */
#define SECRET_OUTPUT_FILE \
	(1u << 20) /* bytes of the file; what came before is in PATH.1, and what came before that is gone */

/* DB.secret-output; new string. [any] */
char *secret_output_path(const char *database);
/* Whether a secret run of a verdict ended so that operators may have to find out why. [any] */
bool secret_output_wanted(const struct verdict *verdict, const struct completion *completion);
/*
 * What those secret runs of a verdict printed, by the completion of which it was made, without the secrets of their plan; head: when,
 * of which job. New string; NULL: there are none. [any]
 */
char *secret_output_text(const struct verdict *verdict, const struct completion *completion, const char *head);
/* Appends it to the file, which its owner alone may read. KETTLE_EIO. [any, blocks] */
int secret_output_write(const char *path, const char *text, struct kettle_error *err);

#endif
