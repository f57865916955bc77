/* SPDX-License-Identifier: MIT */
/* Draws the best scores of a leaderboard over time. */
/*
 * Theory of operation. The store's side makes a request from the answer of leaderboard.trend. Then, on the loop, a
 * kettle-plot of its own draws it: a bad font or a fault in cairo ends that process alone. It gets the request on its
 * standard input and gives one line, the picture in base64, of bounded length and within a time limit. The core stays
 * until the process has ended.
 */
#include <config.h>

#include "commands/handlers.h"

#include "base/base.h"
#include "base/file.h"
#include "base/text.h"
#include "model/board.h"
#include "session/core.h"

#include <signal.h>
#include <unistd.h>

#define PLOT_AT_ONCE 4
#define PLOT_LIMIT_MS 10000
#define PLOT_MAX_LINE (16u << 20) /* bytes of a picture in base64 */
#define PLOT_DEVICES_MAX 8
#define PLOT_POINTS_MAX 1000
#define PLOT_TIME_LENGTH 19 /* of a time to the second */
#define EXIT_NOT_LINKED 127 /* of the dynamic linker */
#define BASE64 "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="

/* ---- the request ---- */

/* [ms since 1970, seconds] of each point. New reference. */
static json_t *
plot_points(const json_t *points)
{
	json_t *pairs = json_array();
	json_array_each(points, point) {
		char time[PLOT_TIME_LENGTH + 1];
		int64_t ms = 0;
		(void)snprintf(time, sizeof(time), "%s", json_text_or_empty(point, "time"));
		if (time_parse_deadline(time, 0, &ms, NULL) == 0)
			(void)json_array_append_new(pairs, json_pack("[I, O]", (json_int_t)ms, json_object_get(point, "score")));
	}
	return pairs;
}

/* A panel of one device. New reference. */
static json_t *
plot_panel(const json_t *trend)
{
	json_t *all = json_array();
	json_array_each(json_object_get(trend, "series"), series) {
		const char *name = json_text_or_null(series, "user_name");
		(void)json_array_append_new(all, json_pack("{s:s, s:o}", "name", name ? name : "best of all users", "points",
											 plot_points(json_object_get(series, "points"))));
	}
	return json_pack("{s:O, s:o}", "name", json_object_get(trend, "device"), "series", all);
}

int
cmd_board_plot(const struct command_call *call, json_t **ret_result, struct kettle_error *err)
{
	AUTO_JSON json_t *args = json_copy((json_t *)call->args), *trends = NULL, *panels = json_array();
	struct command_call trend_call = *call;
	struct board board;
	(void)json_object_set_new(args, "limit", json_integer(PLOT_POINTS_MAX));
	if (json_object_get(args, "of"))
		(void)json_object_set(args, "user", json_object_get(args, "of"));
	trend_call.args = args;
	int rc = cmd_board_trend(&trend_call, &trends, err);
	if (rc == 0)
		rc = board_find_visible(call->db, call->actor, json_text_or_null(args, "name"), &board, err);
	if (rc < 0)
		return rc;
	if (json_array_size(json_object_get(trends, "trends")) > PLOT_DEVICES_MAX)
		return kettle_fail(
			err, KETTLE_EINVAL, "A plot has room for %d devices: choose one with `device`.", PLOT_DEVICES_MAX);
	json_array_each(json_object_get(trends, "trends"), trend)
		(void)json_array_append_new(panels, plot_panel(trend));
	*ret_result = json_pack("{s:O, s:O, s:I, s:O}", "format", json_object_get(args, "format"), "title",
		json_object_get(trends, "leaderboard"), "until",
		(json_int_t)(board_ended(&board, call->db->now_ms) ? board.deadline_at : call->db->now_ms), "panels", panels);
	return 0;
}

/* ---- the process ---- */

/* One plot that is being drawn. */
struct drawing {
	struct core *core;
	struct kettle_process *process;
	struct kettle_timer *timer;
	json_t *request;
	char *picture, *complaint;
	bool late;
	kettle_answer answer;
	void *arg;
};

/* Answers and frees. */
static void
end_drawing(struct drawing *drawing, const struct kettle_error *err)
{
	const json_t *request = drawing->request;
	AUTO_JSON json_t *result = err->code < 0
								   ? NULL
								   : json_pack("{s:O, s:O, s:s}", "leaderboard", json_object_get(request, "title"),
										 "format", json_object_get(request, "format"), "base64", drawing->picture);
	struct core *core = drawing->core;
	core->plots--;
	drawing->answer(drawing->arg, err, result);
	json_decref(drawing->request);
	free_all(drawing->picture, drawing->complaint, drawing);
	core_release(core);
}

static void
on_picture(void *arg, const char *line, size_t len)
{
	struct drawing *drawing = arg;
	if (!drawing->picture && len > 0 && strspn(line, BASE64) == len)
		drawing->picture = xstrdup(line);
}

static void
on_plot_complaint(void *arg, const char *line, size_t len)
{
	struct drawing *drawing = arg;
	(void)len;
	free(drawing->complaint);
	drawing->complaint = xasprintf("%.200s", line);
}

static void
plot_time_out(void *arg)
{
	struct drawing *drawing = arg;
	drawing->timer = NULL;
	drawing->late = true;
	loop_process_kill(drawing->core->setup.io, drawing->process, SIGKILL);
}

static int
fail_missing(const char *file, struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_EUNAVAIL,
		"Plots are drawn by kettle-plot, and there is no `%s`: install the package libcairo2-dev and build Kettle "
		"again. "
		"`kettle leaderboard show --trend` shows the same as text.",
		file);
}

static void
on_plot_exit(void *arg, int status, int signal)
{
	struct drawing *drawing = arg;
	struct kettle_error err = {0};
	const char *complaint = drawing->complaint ? drawing->complaint : "it printed nothing";
	loop_timer_stop(drawing->core->setup.io, STEAL(drawing->timer));
	if (drawing->late)
		(void)kettle_fail(&err, KETTLE_EUNAVAIL, "kettle-plot exceeded its %d s limit.", PLOT_LIMIT_MS / 1000);
	else if (status == EXIT_NOT_LINKED)
		(void)kettle_fail(
			&err, KETTLE_EUNAVAIL, "kettle-plot cannot be started; install the package libcairo2: %s", complaint);
	else if (status != 0 || !drawing->picture)
		(void)kettle_fail(&err, KETTLE_EIO, "kettle-plot drew nothing (%s %d): %s",
			status < 0 ? "signal" : "exit status", status < 0 ? signal : status, complaint);
	end_drawing(drawing, &err);
}

/* KETTLE_PLOT, else the program beside this one. New string. */
static char *
find_plot(void)
{
	const char *named = getenv("KETTLE_PLOT");
	AUTO_FREE char *folder = path_program_dir();
	return named && *named ? xstrdup(named) : path_join(folder ? folder : "", "kettle-plot");
}

static int
start_drawing(struct drawing *drawing, struct kettle_error *err)
{
	struct loop_services *io = drawing->core->setup.io;
	AUTO_FREE char *file = find_plot(), *text = json_dumps(drawing->request, JSON_COMPACT);
	AUTO_FREE char *home = xasprintf("HOME=%s", getenv("HOME") ? getenv("HOME") : "/");
	const char *argv[] = {file, NULL}, *env[] = {home, "LC_ALL=C.UTF-8", NULL};
	struct kettle_spawn spawn = {.size = sizeof(spawn),
		.file = file,
		.argv = argv,
		.env = env,
		.max_line = PLOT_MAX_LINE,
		.on_stdout = on_picture,
		.on_stderr = on_plot_complaint,
		.on_exit = on_plot_exit,
		.arg = drawing};
	if (access(file, X_OK) != 0)
		return fail_missing(file, err);
	int rc = loop_spawn(io, &spawn, &drawing->process, err);
	if (rc < 0)
		return rc;
	if (loop_process_write(io, drawing->process, text, strlen(text), err) < 0 ||
		loop_timer_start(io, PLOT_LIMIT_MS, 0, plot_time_out, drawing, &drawing->timer, err) < 0)
		loop_process_kill(io, drawing->process, SIGKILL);
	loop_process_close_stdin(io, drawing->process);
	return 0;
}

void
finish_board_plot(struct core *core, json_t *result, kettle_answer answer, void *arg)
{
	struct kettle_error err = {0};
	if (core->plots >= PLOT_AT_ONCE) {
		(void)kettle_fail(&err, KETTLE_EUNAVAIL, "%d plots are already being drawn; try again.", PLOT_AT_ONCE);
		answer(arg, &err, NULL);
		return;
	}
	struct drawing *drawing =
		xnew(struct drawing, .core = core, .request = json_incref(result), .answer = answer, .arg = arg);
	core->plots++;
	core_hold(core);
	if (start_drawing(drawing, &err) < 0)
		end_drawing(drawing, &err);
}
