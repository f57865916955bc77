/* SPDX-License-Identifier: MIT */
/* The artifacts of a job, from the events of a kettle-exec that sends them into the job's spool. Loop thread. */
#ifndef KETTLE_RUNNERS_SSH_RECEIVE_H
#define KETTLE_RUNNERS_SSH_RECEIVE_H

#include <jansson.h>
#include <kettle/host.h>
#include <stddef.h>

#define RECEIVE_MAX_BYTES (1u << 30)  /* of all files of a job */
#define RECEIVE_MAX_FILES 100000      /* likewise: a step leaves 1,000 at most */
#define RECEIVE_MAX_QUEUE (64u << 20) /* bytes of text that wait to be written */

struct receiver; /* of one job; opaque */

/* Its files go to the folder spool, which is made with the first one. `ended` is called when it is gone. */
struct receiver *receiver_new(
	const struct kettle_host *host, const char *ref, const char *spool, void (*ended)(void *arg), void *arg);
/* An event `file`. */
void receiver_take(struct receiver *receiver, json_t *event);
/*
 * The job has ended: completes it when all its files are written, as lost where they are not what was announced. The
 * receiver then frees itself. Once.
 */
void receiver_finish(struct receiver *receiver, json_t *completion);
/* The job is completed otherwise: the receiver frees itself. In place of receiver_finish. */
void receiver_drop(struct receiver *receiver);

#endif
