/* SPDX-License-Identifier: MIT */
/* The log: one line an entry on stderr, in a form that journald understands. All [any]. */
#ifndef KETTLE_LOG_H
#define KETTLE_LOG_H

#include <kettle/host.h>
#include <stdarg.h>

enum log_format { LOG_TEXT, LOG_JSON, LOG_JOURNAL };

/* Called once by main before threads start. LOG_JOURNAL puts "<priority>" in front; it is the default when
 * JOURNAL_STREAM names stderr. */
void log_setup(enum log_format format, enum kettle_log_level level);
int log_format_parse(const char *text, enum log_format *ret_format, struct kettle_error *err);
int log_level_parse(const char *text, enum kettle_log_level *ret_level, struct kettle_error *err);

/* Newlines and control characters of the message are escaped; a line is at most 4,096 bytes and written by one
 * write(2). */
void log_write(enum kettle_log_level level, const char *area, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void log_vwrite(enum kettle_log_level level, const char *area, const char *format, va_list args);

#endif
