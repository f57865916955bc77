/* SPDX-License-Identifier: MIT */
/* kettle-plot: draws best scores over time. */
/*
 * Reads one JSON document of at most PLOT_REQUEST_MAX bytes from standard input,
 *
 *     {"format": "svg" or "png", "title": text, "until": ms since 1970, where the times end,
 *      "panels": [{"name": device, "series": [{"name": text, "points": [[ms since 1970, seconds], …]}]}]}
 *
 * and writes the picture in base64, as one line, to standard output. Names and numbers come from users. It opens no file
 * but fonts and their configuration. Exit status: 0 it was drawn, 2 the request is wrong, 3 it could not be drawn; the
 * reason is on standard error. kettle-plot is started by the command leaderboard.plot.
 */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/base.h"
#include "base/contents.h"
#include "plot/plot.h"

enum { EXIT_DRAWN = 0, EXIT_USAGE = 2, EXIT_UNABLE = 3 };

#define CPU_SECONDS 20           /* no request takes one */
#define TIME_MAX 253402300799999 /* the end of the year 9999 */

/* ---- the request, whose names and numbers users chose: checked before anything is drawn ---- */

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

static int
read_plot(const json_t *request, struct plot *ret_plot, struct kettle_error *err)
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

static void
free_plot(struct plot *plot)
{
	for (size_t i = 0; i < plot->count; i++)
		for (size_t k = 0; k < plot->panels[i].count; k++)
			free(plot->panels[i].series[k].points);
}

/* ---- the program ---- */

static int
fail(int status, const char *message)
{
	(void)fprintf(stderr, "kettle-plot: %s\n", message);
	return status;
}

/* The request, parsed; NULL with *ret_reason. */
static json_t *
read_request(const char **ret_reason)
{
	AUTO_FREE char *text = xmalloc(PLOT_REQUEST_MAX + 1);
	json_error_t error;
	size_t size = fread(text, 1, PLOT_REQUEST_MAX + 1, stdin);
	*ret_reason = ferror(stdin) ? strerror(errno) : "The request is too large.";
	if (ferror(stdin) || size > PLOT_REQUEST_MAX)
		return NULL;
	json_t *request = json_loadb(text, size, 0, &error);
	*ret_reason = "The request is not JSON.";
	return request;
}

static int
draw(const json_t *request)
{
	struct kettle_error err = {0};
	struct plot plot = {0};
	AUTO_BUF struct buf picture = {0};
	int rc = read_plot(request, &plot, &err), status = rc == 0 ? EXIT_UNABLE : EXIT_USAGE;
	if (rc == 0)
		rc = plot_draw(&plot, &picture, &err);
	free_plot(&plot);
	if (rc < 0)
		return fail(status, err.message);
	AUTO_FREE char *coded = base64_encode(picture.data, picture.len);
	if (puts(coded) == EOF || fflush(stdout) != 0)
		return fail(EXIT_UNABLE, strerror(errno));
	return EXIT_DRAWN;
}

int
main(int argc, char **argv)
{
	const struct rlimit cpu = {CPU_SECONDS, CPU_SECONDS};
	const char *reason;
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		(void)printf("kettle-plot %s\n", PACKAGE_VERSION);
		return EXIT_DRAWN;
	}
	if (argc != 1)
		return fail(EXIT_USAGE, "No arguments are allowed; a request is read from standard input.");
	(void)setrlimit(RLIMIT_CPU, &cpu);
	json_t *request = read_request(&reason);
	if (!request)
		return fail(EXIT_USAGE, reason);
	int status = draw(request);
	json_decref(request);
	/* Fonts that cairo and fontconfig keep until the end of the process are no leak that a sanitizer should report. */
	_exit(status);
}
