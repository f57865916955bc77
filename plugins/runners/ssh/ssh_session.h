/* SPDX-License-Identifier: MIT */
/* A host: the connection to its kettle-exec, which all units of that host share. Everything on the loop thread. */
#ifndef KETTLE_RUNNERS_SSH_SSH_SESSION_H
#define KETTLE_RUNNERS_SSH_SSH_SESSION_H

#include <jansson.h>
#include <kettle/host.h>
#include <kettle/runner.h>
#include <stdbool.h>

#include "runners/common/exec_doctor.h"
#include "runners/common/exec_client.h"
#include "runners/ssh/ssh_command.h"

#define SSH_SESSION_INSTALL_MS 300000 /* for copying the archive, a few MiB, and unpacking it */
#define SSH_SESSION_DOCTOR_MS 15000   /* for which a doctor waits for a connection */
#define SSH_SESSION_BACKOFF_MS 1000   /* first pause of remote_backoff_ms */
#define SSH_SESSION_BACKOFF_MAX_MS 30000
#define SSH_SESSION_RETRIES 10      /* failed connections in a row, after which the next one waits until it is needed */
#define SSH_SESSION_IDLE_MS 3600000 /* after so long without use a connection is closed */
#define SSH_SESSION_STOP_MS 5000    /* for the host's kettle-exec to end when the runner stops */
#define SSH_SESSION_BYTES_A_SECOND 65536 /* rate of the slowest connection, by which a long line is waited for */

enum ssh_session_state {
	SSH_SESSION_IDLE,       /* no connection, and none needed */
	SSH_SESSION_READING,    /* the archive is being read */
	SSH_SESSION_CONNECTING, /* ssh runs; kettle-exec has not greeted */
	SSH_SESSION_INSTALLING, /* ssh copies the archive */
	SSH_SESSION_UP,
	SSH_SESSION_PAUSED, /* the last connection failed */
};

struct pending_doctor;

/* One host with one set of options. */
struct ssh_session {
	struct ssh_session *next;
	const struct kettle_host *host;
	const json_t *section;    /* the runner's; borrowed */
	json_t *options;          /* the units' */
	char *name;               /* "kettle-exec on HOST" */
	void (*quiet)(void *arg); /* called while it stops, when nothing is under way any more */
	void *arg;
	enum ssh_session_state state;
	bool stopping, closing; /* the runner stops; the idle connection is being closed */
	bool reached;           /* a connection was up before */
	bool installed;         /* the archive was copied since the last open connection */
	bool reading;           /* a thread reads the archive */
	unsigned failures;      /* in a row */
	unsigned silent, idle;  /* beats in a row without input; without use */
	uint64_t unsent;        /* bytes that the slowest connection would not have carried yet */
	char
		why[sizeof(((struct kettle_error *)NULL)->message)]; /* why this side ends the connection; empty: it does not */
	struct exec_client lines;
	struct exec_doctors doctors;
	struct pending_doctor *pending;
	struct kettle_timer *patience; /* of pending doctors */
	struct kettle_timer *timer;    /* of the state */
	struct kettle_timer *beat;
	struct kettle_process *installer;
	unsigned receivers;
	/* the archive; the thread's while `reading` */
	char *archive, digest[65];
	size_t archive_size;
	struct kettle_error archive_error;
};

/* `section` is borrowed until ssh_session_free; its contents may change. options: of a unit, checked. New. */
struct ssh_session *ssh_session_new(
	const struct kettle_host *host, const json_t *section, const json_t *options, void (*quiet)(void *arg), void *arg);
/* Frees a session, which must be quiet. */
void ssh_session_free(struct ssh_session *session);

/* Operations of the runner's table. */
int ssh_session_submit(
	struct ssh_session *session, const struct kettle_job *job, const json_t *plan, struct kettle_error *err);
int ssh_session_describe(struct ssh_session *session, const json_t *unit,
	void (*done)(void *arg, const struct kettle_error *err, json_t *facts), void *arg, struct kettle_error *err);
int ssh_session_heartbeat(struct ssh_session *session, void (*done)(void *arg, const struct kettle_error *err),
	void *arg, struct kettle_error *err);
int ssh_session_doctor(struct ssh_session *session,
	void (*done)(void *arg, const struct kettle_error *err, json_t *report), void *arg, struct kettle_error *err);
/*
 * Stops the session; calls `quiet` when nothing is under way any more, perhaps before this returns; never if nothing
 * was.
 */
void ssh_session_stop(struct ssh_session *session);
/* Allows connections again after ssh_session_stop. */
void ssh_session_start(struct ssh_session *session);
/* Whether nothing is under way. */
bool ssh_session_is_quiet(const struct ssh_session *session);

#endif
