/* SPDX-License-Identifier: MIT */
/* The days of activity of a year as a picture. */
#include <config.h>

#include "web/site/activity.h"

#include <time.h>

#include "base/cleanup.h"
#include "base/json_access.h"

#define WEEKS 53
#define WEEK 7     /* days */
#define SPACING 13 /* of cells, which are 10 wide */
#define TOP 14     /* where the cells begin, below the months */
#define DAY_S 86400
#define LEVELS 4
#define DAY_SIZE sizeof("2026-01-31")

static json_int_t
level_of(json_int_t submissions)
{
	static const json_int_t least[LEVELS] = {1, 2, 4, 8};
	json_int_t level = 0;
	while (level < LEVELS && submissions >= least[level])
		level++;
	return level;
}

/* Adds a month's name where the first of it is in a week, but for the last ones, whose name would not fit. */
static void
add_month(json_t *months, const struct tm *date, int week)
{
	char label[sizeof("Jan")];
	if (date->tm_mday != 1 || week > WEEKS - 3)
		return;
	(void)strftime(label, sizeof(label), "%b", date);
	json_array_append_new(months, json_pack("{s:i, s:s}", "x", week * SPACING, "label", label));
}

static void
add_cell(json_t *cells, int day, json_int_t submissions, const char *date)
{
	json_array_append_new(
		cells, json_pack("{s:i, s:i, s:I, s:o}", "x", day / WEEK * SPACING, "y", TOP + day % WEEK * SPACING, "level",
				   level_of(submissions), "title",
				   submissions ? json_sprintf("%s: %lld", date, (long long)submissions) : json_string("")));
}

void
activity_add(json_t *model, const json_t *days, int64_t now_ms)
{
	AUTO_JSON json_t *counts = json_object();
	json_t *cells = json_array(), *months = json_array(), *shown = json_array();
	time_t now = (time_t)(now_ms / 1000);
	struct tm date;
	(void)gmtime_r(&now, &date);
	int count = (WEEKS - 1) * WEEK + (date.tm_wday + WEEK - 1) % WEEK + 1;
	json_int_t total = 0;
	json_array_each(days, one)
		json_object_set(counts, json_text_or_empty(one, "day"), one);
	for (int day = 0; day < count; day++) {
		char text[DAY_SIZE];
		time_t at = now - (time_t)(count - 1 - day) * DAY_S;
		(void)gmtime_r(&at, &date);
		(void)strftime(text, sizeof(text), "%Y-%m-%d", &date);
		json_t *one = json_object_get(counts, text);
		add_month(months, &date, day / WEEK);
		add_cell(cells, day, member_int(one, "submissions"), text);
		total += member_int(one, "submissions");
		if (one)
			json_array_insert(shown, 0, one);
	}
	json_object_update_new(
		model, json_pack("{s:o, s:I, s:{s:i, s:i, s:o, s:o}}", "days", shown, "total", total, "grid", "width",
				   WEEKS * SPACING, "height", TOP + WEEK * SPACING, "months", months, "cells", cells));
}
