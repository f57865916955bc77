/* SPDX-License-Identifier: MIT */
/* Answers of the core as lines of plain text, narrow enough for a block of code in a small window. Loop thread. */
#pragma once

#include <jansson.h>

#include "base/view_column.h"

#define PLAIN_WIDTH 64 /* columns */

/* A table of rows (common/table.h). New string. */
char *plain_table(const struct view_column *columns, size_t count, const json_t *rows);
/* An answer by the command table's view; args: the call's. New string, without a newline at its end. */
char *plain_view(const json_t *view, const json_t *answer, const json_t *args);
/* The whole report of a submission, from an answer of submission.show. New string. */
char *plain_report(const json_t *submission);
/* The submission's jobs, with the name of its file in places in the code. New reference. */
json_t *plain_jobs(const json_t *submission);
/* The submission's verdict on each device, in a line. New string. */
char *plain_verdict(const json_t *submission);
