/* SPDX-License-Identifier: MIT */
/*
 * Answers for people, a section for each file. Functions are members of struct run_ui unless a comment says otherwise:
 * with a run and a result they render, with a run alone (…_start) they start, with a result alone (…_status) they give
 * the exit status.
 */
#ifndef KETTLE_CLI_RENDER_H
#define KETTLE_CLI_RENDER_H

#include "cli/run/invocation.h"

/* ---- render_board.c: leaderboards and rankings ---- */
/* The board with its rankings, then what its devices have. */
void render_board_show_start(struct run *run);
int render_board_show(struct run *run, const json_t *result);
/* Its json member: all entries in one array, as GET /submissions has them. */
json_t *render_board_show_json(const json_t *result);
int render_board_created(struct run *run, const json_t *result);
int render_board_list(struct run *run, const json_t *result);
int render_board_deleted(struct run *run, const json_t *result);

/* ---- render_board_admin.c: what the owner of a leaderboard does to it ---- */
int render_owner_updated(struct run *run, const json_t *result);
/* Shows the limits where nothing is to be set, which everybody may. */
void render_owner_limits_start(struct run *run);
int render_owner_limits(struct run *run, const json_t *result);
int render_owner_joined(struct run *run, const json_t *result);
int render_owner_invited(struct run *run, const json_t *result);
int render_owner_invites(struct run *run, const json_t *result);
int render_owner_revoked(struct run *run, const json_t *result);

/* ---- render_submission.c: submissions: the report, lists ---- */
int render_submission_report(struct run *run, const json_t *result); /* after submit: its status is the verdict */
extern const struct args_option render_submission_options[];         /* of submission show */
int render_submission_show(struct run *run, const json_t *result);   /* the same, but showing succeeded: RUN_OK */
int render_submission_list(struct run *run, const json_t *result);
int render_submission_cancelled(struct run *run, const json_t *result);
int render_submission_deleted(struct run *run, const json_t *result);
int render_submission_flagged(struct run *run, const json_t *result);
int render_submission_unflagged(struct run *run, const json_t *result);
int render_task_run(struct run *run, const json_t *result);
/* What the verdict of a submission, or of one job, makes of the exit status. */
int render_submission_status(const json_t *result);

/* ---- render_timing.c: where the time of a submission went ---- */
/* No member: prints parts and steps of every job of a submission.show that has them. */
void render_timing(struct run *run, const json_t *submission);

/* ---- render_user.c: users, and the questions before two of them are joined ---- */
int render_user_list(struct run *run, const json_t *result);
int render_user_show(struct run *run, const json_t *result);
int render_user_banned(struct run *run, const json_t *result);
int render_user_unbanned(struct run *run, const json_t *result);
int render_user_role(struct run *run, const json_t *result);
/* With a code it shows who would be joined and asks, where there is somebody to ask. */
void render_user_link_start(struct run *run);
int render_user_link(struct run *run, const json_t *result); /* a code, or who was joined */

/* ---- render_device.c: devices, their queues and their calibration ---- */
int render_device_list(struct run *run, const json_t *result);
/* The positions of the requested jobs in the queues of their devices. */
int render_queue_positions(struct run *run, const json_t *result);
/* No member: a line on what can be built and imported there, of a row of device.list; nothing where that is not known. */
void render_device_tools(const struct term *term, const json_t *device);
/* Calls device.calibrate and shows what its runs do meanwhile. */
void render_device_calibrate_start(struct run *run);
int render_device_calibrated(struct run *run, const json_t *result);
/* RUN_ENGINE where a unit could not be calibrated. */
int render_device_calibrated_status(const json_t *result);
/* What units became; the status says whether all of them did. */
int render_device_changed(struct run *run, const json_t *result);
int render_device_changed_status(const json_t *result);

/* ---- render_admin.c: what the operator of the engine reads: figures, copies ---- */
int render_admin_accepting(struct run *run, const json_t *result);
int render_admin_stats(struct run *run, const json_t *result);
int render_admin_freed(struct run *run, const json_t *result);
/* Of what this process does by itself and for long: shows how far it is. */
void render_admin_long_start(struct run *run);
int render_admin_backup(struct run *run, const json_t *result);
int render_admin_export(struct run *run, const json_t *result);

/* ---- render_local.c: plugins and the configuration ---- */
int render_local_plugin_list(struct run *run, const json_t *result);
int render_local_plugin_info(struct run *run, const json_t *result);
int render_local_plugin_test(struct run *run, const json_t *result);
int render_local_plugin_test_status(const json_t *result); /* whether all that was checked is right */
int render_local_config_check(struct run *run, const json_t *result);
int render_local_version(struct run *run, const json_t *result);
int render_local_version_status(const json_t *result);

#endif
