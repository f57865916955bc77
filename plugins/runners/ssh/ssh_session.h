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

#define SSH_SESSION_INSTALL_MS 300000 /* for the archive, which has a few MiB, and its unpacking */
#define SSH_SESSION_DOCTOR_MS 15000   /* that a doctor waits for a connection, however long that may take */
#define SSH_SESSION_BACKOFF_MS 1000   /* of remote_backoff_ms */
#define SSH_SESSION_BACKOFF_MAX_MS 30000
#define SSH_SESSION_RETRIES 10 /* connections in a row that fail, after which the next one waits until it is needed */
#define SSH_SESSION_IDLE_MS 3600000      /* a connection that nothing has used for so long is closed */
#define SSH_SESSION_STOP_MS 5000         /* for the kettle-exec there to end when the runner stops */
#define SSH_SESSION_BYTES_A_SECOND 65536 /* what the slowest connection must carry: a long line is waited for so long */

enum ssh_session_state {
	SSH_SESSION_IDLE,       /* no connection, and none is needed */
	SSH_SESSION_READING,    /* the archive is being read */
	SSH_SESSION_CONNECTING, /* ssh runs; its kettle-exec has not greeted */
	SSH_SESSION_INSTALLING, /* ssh copies the archive */
	SSH_SESSION_UP,
	SSH_SESSION_PAUSED, /* the last connection failed */
};

struct pending_doctor;

/* One host with one set of options. */
struct ssh_session {
	struct ssh_session *next;
	const struct kettle_host *host;
	const json_t *section;    /* of the runner; borrowed */
	json_t *options;          /* of its units */
	char *name;               /* "kettle-exec on HOST" */
	void (*quiet)(void *arg); /* it has nothing under way any more, while it stops */
	void *arg;
	enum ssh_session_state state;
	bool stopping, closing; /* of the runner; of this connection, which is idle */
	bool reached;           /* it was up before */
	bool installed;         /* the archive was copied since it was last up */
	bool reading;           /* a thread reads the archive */
	unsigned failures;      /* in a row */
	unsigned silent, idle;  /* beats in a row in which nothing came; without use */
	uint64_t unsent;        /* bytes that the slowest connection would still carry */
	char
		why[sizeof(((struct kettle_error *)NULL)->message)]; /* why this side ends the connection; empty: it does not */
	struct exec_client lines;
	struct exec_doctors doctors;
	struct pending_doctor *pending;
	struct kettle_timer *patience; /* of these */
	struct kettle_timer *timer;    /* of the state */
	struct kettle_timer *beat;
	struct kettle_process *installer;
	unsigned receivers;
	/* the archive; the thread's while it reads */
	char *archive, digest[65];
	size_t archive_size;
	struct kettle_error archive_error;
};

/* `section` is borrowed until ssh_session_free and may change its contents; options: of a unit, checked. New. */
struct ssh_session *ssh_session_new(
	const struct kettle_host *host, const json_t *section, const json_t *options, void (*quiet)(void *arg), void *arg);
/* It must be quiet. */
void ssh_session_free(struct ssh_session *session);

/* The operations of the runner's table. */
int ssh_session_submit(
	struct ssh_session *session, const struct kettle_job *job, const json_t *plan, struct kettle_error *err);
int ssh_session_describe(struct ssh_session *session, const json_t *unit,
	void (*done)(void *arg, const struct kettle_error *err, json_t *facts), void *arg, struct kettle_error *err);
int ssh_session_heartbeat(struct ssh_session *session, void (*done)(void *arg, const struct kettle_error *err),
	void *arg, struct kettle_error *err);
int ssh_session_doctor(struct ssh_session *session,
	void (*done)(void *arg, const struct kettle_error *err, json_t *report), void *arg, struct kettle_error *err);
/* Ends what is under way; `quiet` is called when that is over, perhaps before this returns, and not if nothing is. */
void ssh_session_stop(struct ssh_session *session);
/* After an earlier stop. */
void ssh_session_start(struct ssh_session *session);
/* Whether nothing is under way. */
bool ssh_session_is_quiet(const struct ssh_session *session);

#endif
