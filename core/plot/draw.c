/* SPDX-License-Identifier: MIT */
/* The picture: a panel for each device, in it a stair for each series, from one best score to the next. */
#include <config.h>

#include "plot/plot.h"

#include <cairo-svg.h>
#include <cairo.h>
#include <math.h>
#include <time.h>

#include "base/base.h"
#include "base/utf8.h"

/* ---- axes: the labelled values, and their labels ---- */

#define MINUTE 60e3
#define HOUR 3600e3
#define DAY 86400e3
#define TIME_TICKS 6  /* at most */
#define SCORE_TICKS 6 /* about */
#define DECADE 10.0
#define TIME_MARGIN 0.02       /* before the first time; the axis ends at the last */
#define TIME_SPAN (5 * MINUTE) /* at least */
#define SCORE_MARGIN 0.06
#define TICKS_MAX 24
#define LABEL_SIZE 48

/* An axis: values from low to high, or their logarithms, and the labels of some of them. */
struct axis {
	double low, high;
	bool logarithmic;
	size_t count;
	struct {
		double value;
		char label[LABEL_SIZE];
	} ticks[TICKS_MAX];
};

static void
add_tick(struct axis *axis, double value, const char *label)
{
	if (axis->count == TICKS_MAX || value < axis->low || value > axis->high)
		return;
	axis->ticks[axis->count].value = value;
	(void)snprintf(axis->ticks[axis->count++].label, LABEL_SIZE, "%s", label);
}

/* The axis of times in ms since 1970, labelled in UTC. */
static void
axis_of_times(double first, double last, struct axis *ret_axis)
{
	static const double steps[] = {MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR / 2, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY,
		2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 60 * DAY, 90 * DAY, 180 * DAY, 365 * DAY};
	double span = fmax(last - first, TIME_SPAN), step = 0;
	*ret_axis = (struct axis){.low = last - span * (1 + TIME_MARGIN), .high = last};
	for (size_t i = 0; i < ARRAY_SIZE(steps) && (i == 0 || (ret_axis->high - ret_axis->low) / step > TIME_TICKS); i++)
		step = steps[i];
	while ((ret_axis->high - ret_axis->low) / step > TIME_TICKS)
		step *= 2;
	for (double at = ceil(ret_axis->low / step) * step; at <= ret_axis->high; at += step) {
		char label[LABEL_SIZE];
		/* A date, or, for steps shorter than a day, a date and a time. */
		struct tm tm;
		time_t seconds = (time_t)(at / 1e3);
		(void)gmtime_r(&seconds, &tm);
		(void)strftime(label, LABEL_SIZE, step < DAY ? "%m-%d %H:%M" : "%Y-%m-%d", &tm);
		add_tick(ret_axis, at, label);
	}
}

/* A score in its usual unit: "2.5 µs". */
static void
label_score(double seconds, char ret_label[LABEL_SIZE])
{
	static const struct {
		double seconds;
		const char *name;
	} units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}};
	size_t i = 0;
	/* A value just below the unit is the unit, with a rounding error. */
	while (i + 1 < ARRAY_SIZE(units) && seconds < units[i].seconds * (1 - 1e-9))
		i++;
	(void)snprintf(ret_label, LABEL_SIZE, "%.6g %s", seconds / units[i].seconds, units[i].name);
}

static void
add_score(struct axis *axis, double value)
{
	char label[LABEL_SIZE];
	label_score(value, label);
	add_tick(axis, value, label);
}

/* Powers of ten and, where these are few, two and five times as much. */
static void
add_decades(struct axis *axis)
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

/* The axis of scores; logarithmic where they span more than a decade. */
static void
axis_of_scores(double least, double most, struct axis *ret_axis)
{
	*ret_axis = (struct axis){.logarithmic = most / least > DECADE};
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

/* The position of a value on it: 0 at its low end, 1 at its high end. */
static double
axis_place(const struct axis *axis, double value)
{
	return axis->logarithmic ? log(value / axis->low) / log(axis->high / axis->low)
							 : (value - axis->low) / (axis->high - axis->low);
}

/* In points, of which a PNG has PNG_SCALE pixels each way. */
#define WIDTH 900
#define HEAD 40
#define PANEL 400
#define PNG_SCALE 2
#define LEFT 84
#define RIGHT 190 /* with the legend */
#define TOP 34
#define BOTTOM 54
#define TEXT 12
#define DOT 3.2
#define ARROW 4
#define OUTLIER 3    /* the axis leaves out a score that would make it this many times as long */
#define DOTS_MAX 200 /* a longer series has none: they would cover it */
#define LEGEND_LINE 20
#define LEGEND_MAX 18 /* characters */
#define TITLE_MAX 80

struct colour {
	double red, green, blue;
};

/* Colours of the text and the first series, then ones that colour-blind readers can tell apart (Okabe and Ito, 2008). */
static const struct colour ink = {0.13, 0.13, 0.13}, grey = {0.7, 0.7, 0.7}, faint = {0.88, 0.88, 0.88};
static const struct colour palette[] = {{0, 0.447, 0.698}, {0.835, 0.369, 0}, {0, 0.62, 0.451}, {0.8, 0.475, 0.655},
	{0.902, 0.624, 0}, {0.337, 0.706, 0.914}};

enum align { ALIGN_LEFT, ALIGN_MIDDLE, ALIGN_RIGHT };

/* A panel that is being drawn. */
struct canvas {
	cairo_t *cairo;
	double top; /* of the area of the curves */
	struct axis times, scores;
};

static void
set_colour(cairo_t *cairo, const struct colour *colour)
{
	cairo_set_source_rgb(cairo, colour->red, colour->green, colour->blue);
}

/* The first series, of all users, is broad if others are drawn over it; colours that are used up come again with dashes. */
static void
set_series(cairo_t *cairo, const struct plot_panel *panel, size_t series)
{
	static const double dashes[] = {7, 3};
	bool below = series == 0 && panel->count > 1, again = series > ARRAY_SIZE(palette);
	set_colour(cairo, below ? &grey : series == 0 ? &ink : &palette[(series - 1) % ARRAY_SIZE(palette)]);
	cairo_set_dash(cairo, dashes, again ? 2 : 0, 0);
	cairo_set_line_width(cairo, below ? 6 : 1.8);
	cairo_new_path(cairo);
}

static void
put_text(cairo_t *cairo, double x, double y, enum align align, const char *text)
{
	cairo_text_extents_t extents;
	cairo_text_extents(cairo, text, &extents);
	x -= align == ALIGN_LEFT ? 0 : align == ALIGN_MIDDLE ? extents.x_advance / 2 : extents.x_advance;
	cairo_move_to(cairo, x, y);
	cairo_show_text(cairo, text);
}

static void
set_font(cairo_t *cairo, double size, bool bold)
{
	cairo_select_font_face(
		cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL, bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
	cairo_set_font_size(cairo, size);
}

/* A name that a user chose, cut to the room for it. */
static void
put_name(cairo_t *cairo, double x, double y, const char *name, size_t most)
{
	AUTO_FREE char *whole = sanitize_text(name, most + 1), *cut = sanitize_text(name, most);
	AUTO_FREE char *marked = xasprintf("%s…", cut);
	put_text(cairo, x, y, ALIGN_LEFT, strcmp(whole, cut) == 0 ? whole : marked);
}

static double
x_of(const struct canvas *canvas, double time)
{
	return LEFT + axis_place(&canvas->times, time) * (WIDTH - LEFT - RIGHT);
}

/* A value above the axis is placed at its end. */
static double
y_of(const struct canvas *canvas, double score)
{
	return canvas->top + (1 - fmin(1, axis_place(&canvas->scores, score))) * (PANEL - TOP - BOTTOM);
}

static void
draw_line(cairo_t *cairo, double x1, double y1, double x2, double y2)
{
	cairo_move_to(cairo, x1, y1);
	cairo_line_to(cairo, x2, y2);
	cairo_stroke(cairo);
}

static void
draw_axes(const struct canvas *canvas)
{
	cairo_t *cairo = canvas->cairo;
	double bottom = canvas->top + PANEL - TOP - BOTTOM;
	cairo_set_dash(cairo, NULL, 0, 0);
	cairo_set_line_width(cairo, 1);
	set_font(cairo, TEXT, false);
	for (size_t i = 0; i < canvas->scores.count; i++) {
		double y = y_of(canvas, canvas->scores.ticks[i].value);
		set_colour(cairo, &faint);
		draw_line(cairo, LEFT, y, WIDTH - RIGHT, y);
		set_colour(cairo, &ink);
		put_text(cairo, LEFT - 8, y + TEXT / 3.0, ALIGN_RIGHT, canvas->scores.ticks[i].label);
	}
	for (size_t i = 0; i < canvas->times.count; i++) {
		double x = x_of(canvas, canvas->times.ticks[i].value);
		set_colour(cairo, &faint);
		draw_line(cairo, x, canvas->top, x, bottom);
		set_colour(cairo, &ink);
		put_text(cairo, x, bottom + 18, ALIGN_MIDDLE, canvas->times.ticks[i].label);
	}
	set_colour(cairo, &ink);
	draw_line(cairo, LEFT, canvas->top, LEFT, bottom);
	draw_line(cairo, LEFT, bottom, WIDTH - RIGHT, bottom);
	put_text(cairo, (LEFT + WIDTH - RIGHT) / 2.0, bottom + 38, ALIGN_MIDDLE, "time of the submission, UTC");
	cairo_save(cairo);
	cairo_move_to(cairo, 16, (canvas->top + bottom) / 2);
	cairo_rotate(cairo, -acos(0));
	cairo_rel_move_to(cairo, -70, 0);
	cairo_show_text(cairo, canvas->scores.logarithmic ? "best score, log scale" : "best score");
	cairo_restore(cairo);
}

static void
draw_point(const struct canvas *canvas, const struct plot_point *point)
{
	cairo_t *cairo = canvas->cairo;
	double x = x_of(canvas, (double)point->time), y = y_of(canvas, point->score);
	char label[LABEL_SIZE];
	if (point->score <= canvas->scores.high) {
		cairo_arc(cairo, x, y, DOT, 0, 4 * acos(0));
		cairo_fill(cairo);
		return;
	}
	cairo_move_to(cairo, x, y - ARROW);
	cairo_line_to(cairo, x - ARROW, y + ARROW);
	cairo_line_to(cairo, x + ARROW, y + ARROW);
	cairo_close_path(cairo);
	cairo_fill(cairo);
	set_font(cairo, TEXT, false);
	label_score(point->score, label);
	put_text(cairo, x + 2 * ARROW, y + TEXT, ALIGN_LEFT, label);
	cairo_new_path(cairo); /* the next point does not begin where the text ends */
}

/* The best score stays the same until the last time of the panel. */
static void
draw_series(const struct canvas *canvas, const struct plot_panel *panel, size_t index, double last)
{
	const struct plot_series *series = &panel->series[index];
	cairo_t *cairo = canvas->cairo;
	if (series->count == 0)
		return;
	set_series(cairo, panel, index);
	for (size_t i = 0; i < series->count; i++) {
		double x = x_of(canvas, (double)series->points[i].time), y = y_of(canvas, series->points[i].score);
		if (i > 0)
			cairo_line_to(cairo, x, y_of(canvas, series->points[i - 1].score));
		cairo_line_to(cairo, x, y);
	}
	cairo_line_to(cairo, x_of(canvas, last), y_of(canvas, series->points[series->count - 1].score));
	cairo_stroke(cairo);
	for (size_t i = 0; i < series->count && series->count <= DOTS_MAX; i++)
		draw_point(canvas, &series->points[i]);
}

/* The least and the greatest of the panel's times and scores; false: it has no point. */
static bool
find_range(const struct plot_panel *panel, double times[2], double scores[2])
{
	bool any = false;
	for (size_t i = 0; i < panel->count; i++) {
		for (size_t k = 0; k < panel->series[i].count; k++) {
			double time = (double)panel->series[i].points[k].time, score = panel->series[i].points[k].score;
			times[0] = any ? fmin(times[0], time) : time;
			times[1] = any ? fmax(times[1], time) : time;
			scores[0] = any ? fmin(scores[0], score) : score;
			scores[1] = any ? fmax(scores[1], score) : score;
			any = true;
		}
	}
	return any;
}

static int
compare_scores(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;
	return (one > other) - (one < other);
}

/* The greatest score on the axis: leaves out up to half of the scores, first tries that press all others into one line. */
static double
find_top(const struct plot_panel *panel)
{
	size_t count = 0, kept = 0;
	for (size_t i = 0; i < panel->count; i++)
		count += panel->series[i].count;
	AUTO_FREE double *scores = xcalloc(count, sizeof(*scores));
	for (size_t i = 0, at = 0; i < panel->count; i++)
		for (size_t k = 0; k < panel->series[i].count; k++)
			scores[at++] = panel->series[i].points[k].score;
	qsort(scores, count, sizeof(*scores), compare_scores);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || scores[i] > scores[kept - 1])
			scores[kept++] = scores[i];
	size_t top = kept - 1;
	while (top > kept / 2 && log(scores[top] / scores[0]) > OUTLIER * log(scores[top - 1] / scores[0]))
		top--;
	return scores[top];
}

static void
draw_panel(cairo_t *cairo, const struct plot_panel *panel, double top, double until)
{
	struct canvas canvas = {.cairo = cairo, .top = top + TOP};
	double times[2], scores[2];
	set_colour(cairo, &ink);
	set_font(cairo, TEXT + 2, true);
	put_name(cairo, LEFT, top + TOP - 12, panel->name, TITLE_MAX);
	if (!find_range(panel, times, scores)) {
		set_font(cairo, TEXT, false);
		put_text(cairo, LEFT, canvas.top + LEGEND_LINE, ALIGN_LEFT, "no ranked run yet");
		return;
	}
	times[1] = fmax(times[1], until);
	axis_of_times(times[0], times[1], &canvas.times);
	axis_of_scores(scores[0], find_top(panel), &canvas.scores);
	draw_axes(&canvas);
	/* The series of all users is drawn below those of single users, from which it is made. */
	for (size_t i = 0; i < panel->count; i++)
		draw_series(&canvas, panel, i, times[1]);
	double x = WIDTH - RIGHT + 14, y = canvas.top + TEXT;
	set_font(cairo, TEXT, false);
	for (size_t i = 0; i < panel->count; i++, y += LEGEND_LINE) {
		set_series(cairo, panel, i);
		draw_line(cairo, x, y - TEXT / 3.0, x + 22, y - TEXT / 3.0);
		set_colour(cairo, &ink);
		put_name(cairo, x + 28, y, panel->series[i].name, LEGEND_MAX);
	}
}

static cairo_status_t
append(void *arg, const unsigned char *data, unsigned size)
{
	buf_add(arg, data, size);
	return CAIRO_STATUS_SUCCESS;
}

int
plot_draw(const struct plot *plot, struct buf *picture, struct kettle_error *err)
{
	int height = HEAD + PANEL * (int)plot->count;
	cairo_surface_t *surface =
		plot->png ? cairo_image_surface_create(CAIRO_FORMAT_RGB24, WIDTH * PNG_SCALE, height * PNG_SCALE)
				  : cairo_svg_surface_create_for_stream(append, picture, WIDTH, height);
	cairo_t *cairo = cairo_create(surface);
	if (plot->png)
		cairo_scale(cairo, PNG_SCALE, PNG_SCALE);
	cairo_set_source_rgb(cairo, 1, 1, 1);
	cairo_paint(cairo);
	cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
	set_colour(cairo, &ink);
	set_font(cairo, TEXT + 5, true);
	put_name(cairo, LEFT, HEAD - 10, plot->title, TITLE_MAX);
	for (size_t i = 0; i < plot->count; i++)
		draw_panel(cairo, &plot->panels[i], HEAD + (double)i * PANEL, plot->until);
	cairo_status_t status = cairo_status(cairo);
	cairo_destroy(cairo);
	if (status == CAIRO_STATUS_SUCCESS && plot->png)
		status = cairo_surface_write_to_png_stream(surface, append, picture);
	cairo_surface_finish(surface);
	if (status == CAIRO_STATUS_SUCCESS)
		status = cairo_surface_status(surface);
	cairo_surface_destroy(surface);
	return status == CAIRO_STATUS_SUCCESS ? 0
										  : kettle_fail(err, KETTLE_EIO, "cairo: %s.", cairo_status_to_string(status));
}
