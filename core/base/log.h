/* SPDX-License-Identifier: MIT */
/* The log: one line an entry on stderr, in a form that journald understands. All [any] but log_setup. */
#pragma once

#include <jansson.h>
#include <kettle/host.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

/* "TIME level area: message", an object a line, "<priority>area: message". */
enum log_format { LOG_TEXT, LOG_JSON, LOG_JOURNAL };

#define LOG_LINE_MAX 4096    /* bytes, newline included; what is longer is cut and ends with "…" */
#define LOG_EVENTS_PER_S 100 /* entries of log_event in a second */

/* Before the first call it is LOG_TEXT and info. Called by main before threads start, and on a reload. */
void log_setup(enum log_format format, enum kettle_log_level level);
/* The format for the stderr of this process: LOG_JOURNAL when JOURNAL_STREAM names it, else LOG_TEXT. */
enum log_format log_format_default(void);
/* "text", "json", "journal". EINVAL. */
int log_format_parse(const char *text, enum log_format *ret_format, struct kettle_error *err);
/* "error", "warning", "info", "debug". EINVAL. */
int log_level_parse(const char *text, enum kettle_log_level *ret_level, struct kettle_error *err);

/* Newlines, control and invisible characters in the message are escaped; the line is written by one write(2). */
void log_write(enum kettle_log_level level, const char *area, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void log_vwrite(enum kettle_log_level level, const char *area, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

/*
 * Entries of the level info with data, for things that a server does on request: at most LOG_EVENTS_PER_S are written in
 * a second. The next entry that is written has the number of those left out, as `left_out`.
 *
 * if (log_event_due()) log_event("engine", "verdict", json_pack("{s:I, s:s}", "job", job, "state", state));
 */
/* Whether such an entry is written now; counts it. */
bool log_event_due(void);
/*
 * Writes it. fields: an object of texts, numbers and booleans (others are left out), none of them called at, level, area or
 * message: members of the line in LOG_JSON, else " name=value" after the message. Taken over.
 */
void log_event(const char *area, const char *message, json_t *fields_take);
/* log_event_due at this time, in ms of any clock (exported for its test). */
bool log_event_due_at(uint64_t now_ms);
