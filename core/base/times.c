/* SPDX-License-Identifier: MIT */
/* Times: stamps for the edges, clocks for durations, deadlines that people write. */
#include <config.h>

#include "base/times.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#define MINUTE_MS INT64_C(60000)
#define DAY_MS (24 * 60 * MINUTE_MS)
#define MOST_MS (36525 * DAY_MS) /* most that "+…" adds: a hundred years */

/* Digits of a number that is not negative, from the right, zeros in front. */
static void
put_digits(char *to, int64_t number, int count)
{
	for (; count > 0; number /= 10)
		to[--count] = (char)('0' + number % 10);
}

/* Not by strftime: pages of rankings are full of times, and it would be most of their cost. */
char *
time_text(int64_t ms, char ret_text[TIME_TEXT_SIZE])
{
	int64_t part = ms % 1000;
	time_t seconds = (time_t)(ms / 1000 - (part < 0));
	if (part < 0)
		part += 1000;
	struct tm tm = {0};
	if (!gmtime_r(&seconds, &tm) || tm.tm_year < -1900 || tm.tm_year > 9999 - 1900)
		return memcpy(ret_text, "?", 2);
	memcpy(ret_text, "0000-00-00T00:00:00.000Z", 25);
	put_digits(ret_text, tm.tm_year + 1900, 4);
	put_digits(ret_text + 5, tm.tm_mon + 1, 2);
	put_digits(ret_text + 8, tm.tm_mday, 2);
	put_digits(ret_text + 11, tm.tm_hour, 2);
	put_digits(ret_text + 14, tm.tm_min, 2);
	put_digits(ret_text + 17, tm.tm_sec, 2);
	put_digits(ret_text + 20, part, 3);
	return ret_text;
}

int64_t
time_now_ms(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

uint64_t
time_monotonic_ns(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Reads least to most digits and moves *at behind them. */
static bool
read_digits(const char **at, int least, int most, int *ret_number)
{
	int number = 0, count = 0;
	for (; count < most && isdigit((unsigned char)**at); count++)
		number = number * 10 + (*(*at)++ - '0');
	*ret_number = number;
	return count >= least && !isdigit((unsigned char)**at);
}

static bool
read_char(const char **at, char c)
{
	if (**at != c)
		return false;
	(*at)++;
	return true;
}

static bool
read_date(const char **at, struct tm *tm)
{
	bool good = read_digits(at, 4, 4, &tm->tm_year) && read_char(at, '-') && read_digits(at, 2, 2, &tm->tm_mon) &&
				read_char(at, '-') && read_digits(at, 2, 2, &tm->tm_mday);
	tm->tm_year -= 1900;
	tm->tm_mon -= 1;
	return good;
}

static bool
read_clock(const char **at, struct tm *tm)
{
	if (!read_char(at, ' ') && !read_char(at, 'T'))
		return false;
	if (!read_digits(at, 1, 2, &tm->tm_hour) || !read_char(at, ':') || !read_digits(at, 2, 2, &tm->tm_min))
		return false;
	if (read_char(at, ':') && !read_digits(at, 2, 2, &tm->tm_sec))
		return false;
	(void)read_char(at, 'Z');
	return tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec < 60;
}

static int
times_fail(const char *text, struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_EINVAL,
		"The time \"%.40s\" is not understood: write a date (2026-07-31), a date and time in UTC (2026-07-31 "
		"18:00) "
		"or a time from now (+30d, +12h, +90m).",
		text);
}

static int
parse_relative(const char *text, int64_t now_ms, int64_t *ret_ms, struct kettle_error *err)
{
	const char *at = text + 1;
	int count = 0;
	if (!read_digits(&at, 1, 8, &count) || *at == '\0' || at[1] != '\0')
		return times_fail(text, err);
	int64_t unit = *at == 'd' ? DAY_MS : *at == 'h' ? 60 * MINUTE_MS : *at == 'm' ? MINUTE_MS : 0;
	if (unit == 0)
		return times_fail(text, err);
	if (count > MOST_MS / unit)
		return kettle_fail(err, KETTLE_EINVAL, "The time \"%.40s\" is more than a hundred years away.", text);
	*ret_ms = now_ms + count * unit;
	return 0;
}

/* Seconds since 1970; -1: the calendar has no such day. */
static int64_t
seconds_of(struct tm *tm)
{
	struct tm given = *tm;
	time_t seconds = timegm(tm);
	bool same = tm->tm_year == given.tm_year && tm->tm_mon == given.tm_mon && tm->tm_mday == given.tm_mday;
	return same && seconds >= 0 ? (int64_t)seconds : -1;
}

/* day_ms: added to a date without a time. */
static int
parse(const char *text, int64_t now_ms, int64_t day_ms, int64_t *ret_ms, struct kettle_error *err)
{
	if (*text == '+')
		return parse_relative(text, now_ms, ret_ms, err);
	const char *at = text;
	struct tm tm = {0};
	if (!read_date(&at, &tm))
		return times_fail(text, err);
	bool whole_day = *at == '\0';
	if (!whole_day && (!read_clock(&at, &tm) || *at != '\0'))
		return times_fail(text, err);
	int64_t seconds = seconds_of(&tm);
	if (seconds < 0)
		return kettle_fail(err, KETTLE_EINVAL, "The time \"%.40s\" names a day that does not exist.", text);
	/* 0 means none. */
	if (seconds == 0 && (!whole_day || day_ms == 0))
		return kettle_fail(err, KETTLE_EINVAL, "The time \"%.40s\" must be later than 1970-01-01.", text);
	*ret_ms = seconds * 1000 + (whole_day ? day_ms : 0);
	return 0;
}

int
time_parse_deadline(const char *text, int64_t now_ms, int64_t *ret_ms, struct kettle_error *err)
{
	return parse(text, now_ms, DAY_MS - 1, ret_ms, err);
}

int
time_parse_opening(const char *text, int64_t now_ms, int64_t *ret_ms, struct kettle_error *err)
{
	return parse(text, now_ms, 0, ret_ms, err);
}
