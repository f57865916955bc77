/* SPDX-License-Identifier: MIT */
/* Formats numbers and times. */
#include <config.h>

#include "common/format.h"

#include <ctype.h>
#include <math.h>
#include <time.h>

#include "base/base.h"

static const struct unit {
	const char *name;
	double ns;
} units[] = {{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}};

#define WRAPPED 60  /* columns of a line that its author wrapped; shorter ones end where they should */
#define ENDLESS 1e9 /* seconds: nothing takes so long, and its digits would fill a table */

/* Returns the decimals for four significant digits of a value of 1 or more. */
static int
decimals_of(double value)
{
	return value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 999.95 ? 1 : 0;
}

/* Returns the largest unit in which the rounded value is still 1 or more. */
static const struct unit *
unit_of(double ns)
{
	size_t i = 0;
	while (i + 1 < ARRAY_SIZE(units) && ns / units[i].ns >= 999.95)
		i++;
	return &units[i];
}

void
format_ns_error(double ns, double error, char ret_text[FORMAT_SIZE])
{
	if (!isfinite(ns) || ns < 0) {
		snprintf(ret_text, FORMAT_SIZE, "–");
		return;
	}
	char plus_minus[FORMAT_SIZE / 2] = "";
	const struct unit *unit = unit_of(ns);
	double value = ns / unit->ns;
	int decimals = decimals_of(value);
	if (value >= ENDLESS) {
		snprintf(ret_text, FORMAT_SIZE, "%.3e %s", value, unit->name);
		return;
	}
	if (isfinite(error) && error >= 0)
		snprintf(plus_minus, sizeof(plus_minus), " ± %.*f", decimals, error / unit->ns);
	snprintf(ret_text, FORMAT_SIZE, "%.*f%s %s", decimals, value, plus_minus, unit->name);
}

void
format_ns(double ns, char ret_text[FORMAT_SIZE])
{
	format_ns_error(ns, NAN, ret_text);
}

/* Whether a difference is told as a factor. */
static bool
is_far(double percent)
{
	return percent >= 100 || percent <= -90;
}

void
format_change(double percent, char ret_text[FORMAT_SIZE])
{
	if (is_far(percent))
		snprintf(ret_text, FORMAT_SIZE, "%.3g times", 1 + percent / 100);
	else if (fabs(percent) < FORMAT_SAME)
		snprintf(ret_text, FORMAT_SIZE, "0 %%");
	else
		snprintf(ret_text, FORMAT_SIZE, "%+.*f %%", fabs(percent) < 1 ? 2 : 1, percent);
}

void
format_share(double share, char ret_text[FORMAT_SIZE])
{
	double percent = share * 100;
	if (percent > 0 && percent < 0.01)
		snprintf(ret_text, FORMAT_SIZE, "< 0.01 %%");
	else
		snprintf(ret_text, FORMAT_SIZE, percent >= 10 ? "%.1f %%" : "%.2f %%", percent);
}

void
format_difference(double percent, bool is_noise, char ret_text[FORMAT_SIZE])
{
	char change[FORMAT_SIZE];
	const char *word = percent < 0 ? "less" : "more";
	format_change(percent, change);
	if (!isfinite(percent))
		*ret_text = '\0';
	else if (is_noise)
		snprintf(ret_text, FORMAT_SIZE, "%.40s, within noise", change);
	else if (fabs(percent) < FORMAT_SAME)
		snprintf(ret_text, FORMAT_SIZE, "the same");
	else if (is_far(percent) && percent < 0)
		snprintf(ret_text, FORMAT_SIZE, "%.3g times as fast", 1 / (1 + percent / 100));
	else if (is_far(percent))
		snprintf(ret_text, FORMAT_SIZE, "%.40s the time", change);
	else
		snprintf(ret_text, FORMAT_SIZE, "%.40s %s time", change + 1, word);
}

void
format_bytes(double bytes, char ret_text[FORMAT_SIZE])
{
	static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	size_t i = 0;
	if (!isfinite(bytes) || bytes < 0) {
		snprintf(ret_text, FORMAT_SIZE, "–");
		return;
	}
	for (; i + 1 < ARRAY_SIZE(names) && bytes >= 1024; i++)
		bytes /= 1024;
	snprintf(ret_text, FORMAT_SIZE, "%.*f %s", i > 0 && bytes < 10 ? 1 : 0, bytes, names[i]);
}

bool
format_parse_time(const char *text, int64_t *ret_ms)
{
	struct tm tm = {0};
	const char *rest = strptime(text, "%Y-%m-%d", &tm);
	if (!rest)
		return false;
	if (*rest == 'T' || *rest == ' ') {
		const char *time = strptime(rest + 1, "%H:%M:%S", &tm);
		rest = time ? time : strptime(rest + 1, "%H:%M", &tm);
	}
	if (!rest)
		return false;
	*ret_ms = (int64_t)timegm(&tm) * 1000;
	return true;
}

void
format_time(const char *text, char ret_text[FORMAT_SIZE])
{
	int64_t ms;
	struct tm tm;
	time_t seconds;
	if (!format_parse_time(text, &ms)) {
		snprintf(ret_text, FORMAT_SIZE, "%s", text);
		return;
	}
	seconds = (time_t)(ms / 1000);
	gmtime_r(&seconds, &tm);
	strftime(ret_text, FORMAT_SIZE, "%Y-%m-%d %H:%M UTC", &tm);
}

void
format_relative(int64_t ms, int64_t now_ms, char ret_text[FORMAT_SIZE])
{
	static const struct {
		const char *name;
		int64_t seconds;
	} steps[] = {{"year", 31557600}, {"month", 2629800}, {"day", 86400}, {"hour", 3600}, {"minute", 60}, {"second", 1}};
	int64_t away = ms > now_ms ? ms - now_ms : now_ms - ms, seconds = (away + 500) / 1000;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		/* At least two of a unit, so that "in 35 hours" does not become "in 1 day". */
		int64_t least = steps[i].seconds * (i + 2 < ARRAY_SIZE(steps) ? 2 : 1);
		int64_t count = (seconds + steps[i].seconds / 2) / steps[i].seconds;
		if (seconds < least)
			continue;
		snprintf(ret_text, FORMAT_SIZE, ms > now_ms ? "in %lld %s%s" : "%lld %s%s ago", (long long)count, steps[i].name,
			count == 1 ? "" : "s");
		return;
	}
	snprintf(ret_text, FORMAT_SIZE, "now");
}

void
format_wait(int64_t seconds, char ret_text[FORMAT_SIZE])
{
	char relative[FORMAT_SIZE];
	format_relative((seconds > 0 ? seconds : 1) * 1000, 0, relative);
	snprintf(ret_text, FORMAT_SIZE, "in about %.50s", relative + strlen("in "));
}

void
format_word(const char *word, char ret_text[FORMAT_SIZE])
{
	snprintf(ret_text, FORMAT_SIZE, "%s", word);
	for (char *p = ret_text; *p; p++)
		*p = *p == '_' ? ' ' : *p;
}

char *
format_unwrapped(const char *text)
{
	char *joined = xstrdup(text), *before = NULL; /* the end of the line before, if this one continues it */
	bool code = false;
	for (char *line = joined; *line;) {
		char *end = line + strcspn(line, "\n");
		bool fence = strncmp(line, "```", 3) == 0;
		code = code != fence;
		bool plain = !code && !fence && end > line && !strchr(" \t-*+#|>", *line) && !isdigit((unsigned char)*line);
		if (plain && before)
			*before = ' ';
		before = plain && *end && end - line >= WRAPPED ? end : NULL;
		line = end + (*end != '\0');
	}
	return joined;
}
