/* SPDX-License-Identifier: MIT */
/*
 * Declarations about followed submissions: submission_message.c follows them, report.c reports each job that has
 * ended.
 */
#pragma once

#include "common/progress.h"
#include "discord/interaction/interaction.h"

/*
 * A followed submission. record, as in the state: {"interaction", "id", "board", "mode", "file_name", "practice",
 * "remarks"?, "jobs": [{"job", "device", "line"?: how it ended, "told"?: true when all of it is posted}]}. The outbox
 * keeps, below "sub/NUMBER/": "live", the live message in a thread after the token's end; "JOB/thread" and
 * "JOB/result", the threads of a job.
 */
struct submission_message {
	struct bot *bot;
	struct interaction *interaction;
	json_t *record;
	struct progress *progress;
	uint64_t subscription;
	bool subscribed;
	bool changed;                /* the message must be edited */
	bool moving;                 /* the message is being moved to a thread */
	bool nowhere;                /* no place is left for it after the token's end */
	unsigned edits;              /* rows of the outbox that have not ended */
	unsigned moves;              /* how often its thread was deleted */
	unsigned reports;            /* reports under way */
	json_int_t ended;            /* number of the event that ended it; 0: it has not ended */
	char *last;                  /* the content of the last edit */
	char thread[SNOWFLAKE_SIZE]; /* where the message is going, or went last */
};

/* The job of a record; NULL: it has no such job. Borrowed. */
json_t *submission_message_job(const struct submission_message *msg, json_int_t job);
/* The outbox's key of something kept for a job; job 0: for the submission. New string. */
char *submission_message_key(const struct submission_message *msg, json_int_t job, const char *what);
/* The thread that has the live message; "": none. Borrowed. */
const char *submission_message_place(const struct submission_message *msg);
/* Writes the record into the state. done may be NULL. */
void submission_message_store(struct submission_message *msg, kettle_answer done, void *arg);
/* Ends a report; the event is done, unless seq is 0. */
void submission_message_report_ended(struct submission_message *msg, json_int_t seq);

/* Starts the report of a job: event is its job.done (borrowed). Calls submission_message_report_ended. */
void report_begin(struct submission_message *msg, const json_t *event);

/* Keeps a row of the outbox: the private thread of a job, with the user in it. */
void report_thread(struct submission_message *msg, const json_t *job, outbox_fn done, void *arg);
