/* SPDX-License-Identifier: MIT */
/* What the files about followed submissions share: submission_message.c follows them, report.c tells what became of each job. */
#ifndef KETTLE_DISCORD_FLOWS_LIVE_INTERNAL_H
#define KETTLE_DISCORD_FLOWS_LIVE_INTERNAL_H

#include "common/progress.h"
#include "discord/interaction/interaction.h"

/*
 * A followed submission. record, which is the state's: {"interaction", "id", "board", "mode", "file_name", "jobs": [{"job",
 * "device", "thread"?: id, or "" where there is none, "line"?: how it ended, "result"?: the public thread, "told"?: true when
 * all of it was told}], "channel"?: the thread that the live message has moved to, "message"?: its id there after the token's
 * end, or "" where it goes on nowhere, "moves"?: how often it has moved}.
 */
struct submission_message {
	struct bot *bot;
	struct interaction *interaction;
	json_t *record;
	struct progress *progress;
	uint64_t subscription;
	bool subscribed;
	bool changed;     /* the message must be edited */
	bool editing;     /* an edit is under way */
	bool moving;      /* the message is being moved to a thread */
	unsigned reports; /* that are under way */
	json_int_t ended; /* the number of the event that ended it; 0: it goes on */
	char *last;       /* the content of the last edit */
};

/* The job of a record; NULL: it has none of that number. Borrowed. */
json_t *submission_message_job(const struct submission_message *msg, json_int_t job);
/* Writes the record into the state. done may be NULL. */
void submission_message_store(struct submission_message *msg, kettle_answer done, void *arg);
/* What is to be seen has changed. */
void submission_message_changed(struct submission_message *msg);
/* A report has ended; the event is dealt with, unless seq is 0. */
void submission_message_report_ended(struct submission_message *msg, json_int_t seq);

/* Tells what became of a job: event is its job.done (borrowed). Calls submission_message_report_ended. */
void report_begin(struct submission_message *msg, const json_t *event);

/* done(arg, thread): the private thread of a job with the user in it, made if there is none; "": it cannot be made, and why is
 * told to the user. Borrowed. */
typedef void (*report_thread_fn)(void *arg, const char *thread);
void report_thread(struct submission_message *msg, json_t *job, report_thread_fn done, void *arg);

#endif
