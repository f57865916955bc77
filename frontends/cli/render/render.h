/* SPDX-License-Identifier: MIT */
/*
 * Answers that need a function of their own, a section for each file; run_view prints all others by their view in the
 * command table. Functions are members of struct args_ui unless a comment says otherwise: `render`, or the one that
 * the name ends with (…_start, …_answer, …_status, …_json).
 */
#pragma once

#include "cli/run/invocation.h"

/* ---- render_board.c: leaderboards ---- */
/* Prints the board with its rankings, then the tools that run its submissions. */
extern const struct args_option render_board_show_options[];
/* With --trend calls leaderboard.trend instead. */
void render_board_show_start(struct run *run);
void render_board_show_answer(struct run *run, const json_t *result);
void render_board_show(struct run *run, const json_t *result);
/* All entries in one array, in the form of GET /submissions. */
json_t *render_board_show_json(const json_t *result);
/* For leaderboard rate-limit: without a limit to set or remove, shows the limits, which every user may see. */
void render_board_limits_start(struct run *run);

/* ---- render_submission.c: the report of a submission, and two submissions side by side ---- */
/* An option of the commands that print a report. */
#define RENDER_VERBOSE \
	{ \
		"verbose", 0, NULL, "print also the details of failed tests and benchmarks" \
	}
void render_submission_report(struct run *run, const json_t *result);
extern const struct args_option render_submission_options[]; /* of submission show */
void render_submission_show(struct run *run, const json_t *result);
void render_task_run(struct run *run, const json_t *result);
/* The exit status for the verdict of a submission or of one job. */
int render_submission_status(const json_t *result);
void render_submission_diff(struct run *run, const json_t *result);

/* ---- render_device.c: devices, their queues and their calibration ---- */
void render_device_list(struct run *run, const json_t *result);
void render_device_calibrations(struct run *run, const json_t *result);
/* Prints the positions of the requested jobs in the queues of their devices. */
void render_queue_positions(struct run *run, const json_t *result);
/*
 * Not a member: prints a line with the tools and packages of a device, a row of device.list; nothing if they are not
 * known. names: only these tools; NULL: all.
 */
void render_device_tools(const struct term *term, const json_t *device, const json_t *names);
void render_device_calibrated(struct run *run, const json_t *result);
void render_device_doctor(struct run *run, const json_t *result);
int render_device_doctor_status(const json_t *result); /* RUN_ENGINE if a machine gave no report, or a GPU is unfit */
/* RUN_ENGINE if a unit could not be calibrated, verified or enabled. */
int render_device_status(const json_t *result);

/* ---- render_local.c: plugins, the configuration, statistics, and the space that gc freed ---- */
void render_plugin_info(struct run *run, const json_t *result);
void render_plugin_test(struct run *run, const json_t *result);
int render_plugin_test_status(const json_t *result); /* RUN_FAILED if a test failed */
void render_config_check(struct run *run, const json_t *result);
void render_config_reload(struct run *run, const json_t *result);
void render_version(struct run *run, const json_t *result);
void render_admin_stats(struct run *run, const json_t *result);
void render_admin_freed(struct run *run, const json_t *result);
