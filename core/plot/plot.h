/* SPDX-License-Identifier: MIT */
/* Shared by the files of kettle-plot: the request, the axes, the drawing. One thread. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define PLOT_REQUEST_MAX (4u << 20) /* bytes */
#define PLOT_PANELS_MAX 8
#define PLOT_SERIES_MAX 16
#define PLOT_POINTS_MAX 2000 /* of a series */
#define PLOT_TICKS_MAX 24
#define PLOT_LABEL_SIZE 48

struct plot_point {
	int64_t time; /* ms since 1970 */
	double score; /* seconds, above zero */
};

struct plot_series {
	const char *name; /* borrowed from the request */
	struct plot_point *points;
	size_t count;
};

/* The series of one device. */
struct plot_panel {
	const char *name; /* borrowed from the request */
	struct plot_series series[PLOT_SERIES_MAX];
	size_t count;
};

struct plot {
	const char *title; /* borrowed from the request */
	bool png;
	double until; /* ms since 1970: the time axis reaches so far; 0: to the last point */
	struct plot_panel panels[PLOT_PANELS_MAX];
	size_t count;
};

/* An axis: values from low to high, or their logarithms, and the labels of some of them. */
struct plot_axis {
	double low, high;
	bool logarithmic;
	size_t count;
	struct {
		double value;
		char label[PLOT_LABEL_SIZE];
	} ticks[PLOT_TICKS_MAX];
};

/* axis.c. The axis of times in ms since 1970, labelled in UTC. */
void plot_axis_of_times(double first, double last, struct plot_axis *ret_axis);
/* The axis of scores; logarithmic where they span more than a decade. */
void plot_axis_of_scores(double least, double most, struct plot_axis *ret_axis);
/* A score in its usual unit: "2.5 µs". */
void plot_label_score(double seconds, char ret_label[PLOT_LABEL_SIZE]);
/* The position of a value on it: 0 at its low end, 1 at its high end. */
double plot_axis_place(const struct plot_axis *axis, double value);

/* draw.c. Appends the picture. The same plot gives the same bytes. EIO: cairo's reason. */
int plot_draw(const struct plot *plot, struct buf *picture, struct kettle_error *err);
