/* SPDX-License-Identifier: MIT */
/* Shared by the files of kettle-plot: the request, the drawing. One thread. */
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

/* Appends the picture. The same plot gives the same bytes. EIO: cairo's reason. */
int plot_draw(const struct plot *plot, struct buf *picture, struct kettle_error *err);
