/* SPDX-License-Identifier: MIT */
/* Text for people out of what a profiler says: clean, on lines of bounded length, and no longer than a report may be. */
#ifndef KETTLE_PROFILE_REPORT_H
#define KETTLE_PROFILE_REPORT_H

#include "base/buf.h"
#include <stdbool.h>

#define REPORT_MAX_BYTES 65536 /* of the text of one run */
#define REPORT_MAX_WORD 200    /* bytes of a name in it */

/*
 * Appends a name or a value: control characters and what is no UTF-8 replaced, newlines blank, cut at `most` bytes.
 * [any]
 */
void report_word(struct buf *out, const char *text, size_t most);
/* Whether there is room for another line. */
bool report_has_room(const struct buf *out);
/* 1234567.5 as "1,234,567.50", with that many digits behind the point. */
#define REPORT_NUMBER_SIZE 48
void report_number(double value, int digits, char ret_text[REPORT_NUMBER_SIZE]);

#endif
