/* SPDX-License-Identifier: MIT */
/* Formats numbers and times. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FORMAT_SIZE 64
#define FORMAT_SAME 0.005 /* percent: what is less is no difference */

/* A duration in a readable unit with four significant digits: "1.234 µs". Not a number, or negative: "–". */
void format_ns(double ns, char ret_text[FORMAT_SIZE]);
/* A duration and its error in the unit of the duration: "12.34 ± 0.05 µs". Leaves out an error that is NAN. */
void format_ns_error(double ns, double error, char ret_text[FORMAT_SIZE]);
/*
 * A difference in percent: "-12.5 %", "+0.31 %", "0 %"; "13.9 times" if the value at least doubled, "0.013 times" if less
 * than a tenth is left.
 */
void format_change(double percent, char ret_text[FORMAT_SIZE]);
/* A share, 1 being the whole, in percent: "41.3 %", "5.12 %", "< 0.01 %". */
void format_share(double share, char ret_text[FORMAT_SIZE]);
/*
 * A difference of two times in percent in words: "12.5 % less time", "3 times as fast", "2.5 times the time", "the same"; with
 * noise "-0.31 %, within noise". Not a number: "".
 */
void format_difference(double percent, bool is_noise, char ret_text[FORMAT_SIZE]);
/* Bytes: "512 B", "1.5 KiB". */
void format_bytes(double bytes, char ret_text[FORMAT_SIZE]);
/* Parses an ISO 8601 time in UTC as ms since 1970; a date alone means its beginning. */
bool format_parse_time(const char *text, int64_t *ret_ms);
/* Such a time as "2026-07-01 10:00 UTC"; copies a text that is not a time. */
void format_time(const char *text, char ret_text[FORMAT_SIZE]);
/* The distance of a time from now: "in 3 days", "2 hours ago", "now". */
void format_relative(int64_t ms, int64_t now_ms, char ret_text[FORMAT_SIZE]);
/* A state or another key in words: "timed out" for timed_out. */
void format_word(const char *word, char ret_text[FORMAT_SIZE]);
/* The likely duration of a wait: "in about 3 minutes". */
void format_wait(int64_t seconds, char ret_text[FORMAT_SIZE]);
/*
 * Joins the lines of a paragraph that its author wrapped, for a terminal that is narrower. Code, lists, tables and
 * headings in Markdown stay as they are. New string.
 */
char *format_unwrapped(const char *text);
