/* SPDX-License-Identifier: MIT */
/* Submissions for people: the report, lists. */
#ifndef KETTLE_CLI_RENDER_SUBMISSION_H
#define KETTLE_CLI_RENDER_SUBMISSION_H

#include "cli/run/invocation.h"

/* Render members of struct run_ui. */
int render_submission_report(struct run *run, const json_t *result); /* after submit: its status is the verdict */
extern const struct args_option render_submission_options[];         /* of submission show */
int render_submission_show(struct run *run, const json_t *result);   /* the same, but showing succeeded: RUN_OK */
int render_submission_list(struct run *run, const json_t *result);
int render_submission_cancelled(struct run *run, const json_t *result);
int render_submission_deleted(struct run *run, const json_t *result);
int render_submission_flagged(struct run *run, const json_t *result);
int render_submission_unflagged(struct run *run, const json_t *result);
int render_task_run(struct run *run, const json_t *result);

/* status member: what the verdict of a submission, or of one job, makes of the exit status. */
int render_submission_status(const json_t *result);

#endif
