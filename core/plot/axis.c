/* SPDX-License-Identifier: MIT */
/* Axes: the labelled values, and their labels. */
#include <config.h>

#include "plot/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"

#define MINUTE 60e3
#define HOUR 3600e3
#define DAY 86400e3
#define TIME_TICKS 6  /* at most */
#define SCORE_TICKS 6 /* about */
#define DECADE 10.0
#define TIME_MARGIN 0.02       /* before the first time; the axis ends at the last */
#define TIME_SPAN (5 * MINUTE) /* at least */
#define SCORE_MARGIN 0.06

static void
add_tick(struct plot_axis *axis, double value, const char *label)
{
	if (axis->count == PLOT_TICKS_MAX || value < axis->low || value > axis->high)
		return;
	axis->ticks[axis->count].value = value;
	(void)snprintf(axis->ticks[axis->count++].label, PLOT_LABEL_SIZE, "%s", label);
}

void
plot_axis_of_times(double first, double last, struct plot_axis *ret_axis)
{
	static const double steps[] = {MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR / 2, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY,
		2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 60 * DAY, 90 * DAY, 180 * DAY, 365 * DAY};
	double span = fmax(last - first, TIME_SPAN), step = 0;
	*ret_axis = (struct plot_axis){.low = last - span * (1 + TIME_MARGIN), .high = last};
	for (size_t i = 0; i < ARRAY_SIZE(steps) && (i == 0 || (ret_axis->high - ret_axis->low) / step > TIME_TICKS); i++)
		step = steps[i];
	while ((ret_axis->high - ret_axis->low) / step > TIME_TICKS)
		step *= 2;
	for (double at = ceil(ret_axis->low / step) * step; at <= ret_axis->high; at += step) {
		char label[PLOT_LABEL_SIZE];
		/* A date, or, for steps shorter than a day, a date and a time. */
		struct tm tm;
		time_t seconds = (time_t)(at / 1e3);
		(void)gmtime_r(&seconds, &tm);
		(void)strftime(label, PLOT_LABEL_SIZE, step < DAY ? "%m-%d %H:%M" : "%Y-%m-%d", &tm);
		add_tick(ret_axis, at, label);
	}
}

void
plot_label_score(double seconds, char ret_label[PLOT_LABEL_SIZE])
{
	static const struct {
		double seconds;
		const char *name;
	} units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}};
	size_t i = 0;
	/* A value just below the unit is the unit, with a rounding error. */
	while (i + 1 < ARRAY_SIZE(units) && seconds < units[i].seconds * (1 - 1e-9))
		i++;
	(void)snprintf(ret_label, PLOT_LABEL_SIZE, "%.6g %s", seconds / units[i].seconds, units[i].name);
}

static void
add_score(struct plot_axis *axis, double value)
{
	char label[PLOT_LABEL_SIZE];
	plot_label_score(value, label);
	add_tick(axis, value, label);
}

/* Powers of ten and, where these are few, two and five times as much. */
static void
add_decades(struct plot_axis *axis)
{
	double decades = log10(axis->high / axis->low);
	int every = decades > 2.0 * SCORE_TICKS ? (int)ceil(decades / SCORE_TICKS) : 1;
	for (int power = (int)floor(log10(axis->low)); power <= (int)ceil(log10(axis->high)); power++) {
		if (power % every != 0)
			continue;
		add_score(axis, pow(DECADE, power));
		if (decades < SCORE_TICKS / 2.0) {
			add_score(axis, 2 * pow(DECADE, power));
			add_score(axis, 5 * pow(DECADE, power));
		}
	}
}

void
plot_axis_of_scores(double least, double most, struct plot_axis *ret_axis)
{
	*ret_axis = (struct plot_axis){.logarithmic = most / least > DECADE};
	if (ret_axis->logarithmic) {
		double margin = pow(most / least, SCORE_MARGIN);
		ret_axis->low = least / margin;
		ret_axis->high = most * margin;
		add_decades(ret_axis);
	} else {
		double span = fmax(most - least, most / DECADE);
		ret_axis->low = least - span * SCORE_MARGIN;
		ret_axis->high = least + span * (1 + SCORE_MARGIN);
		/* Multiples of one, two or five times a power of ten. */
		static const double factors[] = {1, 2, 5, 10};
		double rough = (ret_axis->high - ret_axis->low) / SCORE_TICKS, power = pow(DECADE, floor(log10(rough))),
			   step = 0;
		for (size_t i = 0; i < ARRAY_SIZE(factors) && step < rough; i++)
			step = factors[i] * power;
		for (double n = ceil(ret_axis->low / step); n * step <= ret_axis->high; n++)
			if (n > 0)
				add_score(ret_axis, n * step);
	}
}

double
plot_axis_place(const struct plot_axis *axis, double value)
{
	return axis->logarithmic ? log(value / axis->low) / log(axis->high / axis->low)
							 : (value - axis->low) / (axis->high - axis->low);
}
