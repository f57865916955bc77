/* SPDX-License-Identifier: MIT */
/* The artifacts of a job: kettle-exec sends events, from which this writes files into the job's spool. Loop thread. */
#ifndef KETTLE_RUNNERS_SSH_RECEIVE_H
#define KETTLE_RUNNERS_SSH_RECEIVE_H

#include <jansson.h>
#include <kettle/host.h>
#include <stddef.h>

#define RECEIVE_MAX_BYTES (1u << 30)  /* of all files of a job */
#define RECEIVE_MAX_FILES 100000      /* likewise; a step leaves at most 1,000 */
#define RECEIVE_MAX_QUEUE (64u << 20) /* bytes of text that wait to be written */

struct receiver; /* of one job; opaque */

/*
 * Makes a receiver that writes to the folder spool, which the first file creates. `ended` is called when the receiver
 * is freed.
 */
struct receiver *receiver_new(
	const struct kettle_host *host, const char *ref, const char *spool, void (*ended)(void *arg), void *arg);
/* Takes an event `file`. */
void receiver_take(struct receiver *receiver, json_t *event);
/*
 * The job has ended: completes it when all its files are written, or as lost if they do not match what was announced.
 * The receiver then frees itself. Call it once.
 */
void receiver_finish(struct receiver *receiver, json_t *completion);
/* In place of receiver_finish, if the job is completed otherwise: the receiver frees itself. */
void receiver_drop(struct receiver *receiver);

#endif
