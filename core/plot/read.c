/* SPDX-License-Identifier: MIT */
/* The request, which holds names and numbers that users chose: checked before anything is drawn. */
#include <config.h>

#include "plot/plot.h"

#include <math.h>
#include <stdlib.h>

#include "base/json_access.h"
#include "base/xalloc.h"

#define TIME_MAX 253402300799999 /* the end of the year 9999 */

static int
read_point(const json_t *json, int64_t before, struct plot_point *ret_point, struct kettle_error *err)
{
	const json_t *time = json_array_get(json, 0), *score = json_array_get(json, 1);
	struct plot_point point = {json_integer_value(time), json_number_value(score)};
	if (!json_is_integer(time) || point.time < before || point.time > TIME_MAX)
		return kettle_fail(err, KETTLE_EINVAL, "A point has no time, or a time before that of the previous point.");
	if (!json_is_number(score) || !isnormal(point.score) || point.score < 0)
		return kettle_fail(err, KETTLE_EINVAL, "A point has no score above zero.");
	*ret_point = point;
	return 0;
}

static int
read_series(const json_t *json, struct plot_series *series, struct kettle_error *err)
{
	const json_t *points = json_object_get(json, "points");
	size_t count = json_array_size(points);
	int64_t before = 0;
	series->name = json_text_or_null(json, "name");
	if (!series->name || !json_is_array(points) || count > PLOT_POINTS_MAX)
		return kettle_fail(err, KETTLE_EINVAL, "A series must have a name and at most %d points.", PLOT_POINTS_MAX);
	series->points = xcalloc(count + 1, sizeof(*series->points));
	for (; series->count < count; series->count++) {
		struct plot_point *point = &series->points[series->count];
		int rc = read_point(json_array_get(points, series->count), before, point, err);
		if (rc < 0)
			return rc;
		before = point->time;
	}
	return 0;
}

static int
read_panel(const json_t *json, struct plot_panel *panel, struct kettle_error *err)
{
	const json_t *all = json_object_get(json, "series");
	panel->name = json_text_or_null(json, "name");
	if (!panel->name || !json_is_array(all) || json_array_size(all) > PLOT_SERIES_MAX)
		return kettle_fail(err, KETTLE_EINVAL, "A panel must have a name and at most %d series.", PLOT_SERIES_MAX);
	json_array_each(all, one) {
		int rc = read_series(one, &panel->series[panel->count++], err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int
plot_read(const json_t *request, struct plot *ret_plot, struct kettle_error *err)
{
	const json_t *panels = json_object_get(request, "panels");
	ret_plot->title = json_text_or_null(request, "title");
	ret_plot->png = member_is(request, "format", "png");
	ret_plot->until = (double)member_int(request, "until");
	if (ret_plot->until < 0 || ret_plot->until > TIME_MAX)
		return kettle_fail(err, KETTLE_EINVAL, "`until` must be a time.");
	if (!ret_plot->png && !member_is(request, "format", "svg"))
		return kettle_fail(err, KETTLE_EINVAL, "`format` must be svg or png.");
	if (!ret_plot->title || json_array_size(panels) == 0 || json_array_size(panels) > PLOT_PANELS_MAX)
		return kettle_fail(err, KETTLE_EINVAL, "There must be a title, and from 1 to %d panels.", PLOT_PANELS_MAX);
	json_array_each(panels, one) {
		int rc = read_panel(one, &ret_plot->panels[ret_plot->count++], err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

void
plot_free(struct plot *plot)
{
	for (size_t i = 0; i < plot->count; i++)
		for (size_t k = 0; k < plot->panels[i].count; k++)
			free(plot->panels[i].series[k].points);
}
