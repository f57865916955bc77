/* SPDX-License-Identifier: MIT */
/* Declarations that the files of the runner ssh share. Everything on the loop thread, unless it says otherwise. */
#pragma once

#include <jansson.h>
#include <kettle/host.h>
#include <kettle/runner.h>
#include <stdbool.h>

#include "runners/common/exec_client.h"

/* ---- ssh_command.c: the command lines of ssh, with the command for the other machine's shell. [any] ---- */

#define SSH_FLAGS_MAX 64
#define SSH_MISSING 113 /* exit status of the scripts: the archive's kettle-exec is missing */

enum ssh_command {
	SSH_SERVE,   /* `kettle-exec --serve`; ends with SSH_MISSING if the archive's kettle-exec is missing */
	SSH_DOCTOR,  /* `kettle-exec --doctor --json` */
	SSH_INSTALL, /* reads the archive from standard input, checks its digest, and unpacks it where the others look */
};

/* The settings of a connection. Borrowed. */
struct ssh_setup {
	const char *program;   /* ssh */
	long long connect_s;   /* limit for making the connection */
	long long lease_s;     /* of the other machine's kettle-exec */
	const json_t *options; /* of the unit: host, exec, folder, flags */
	const char *digest;    /* of the archive; NULL: `exec` names an installed one */
	const char *settings;  /* of kettle-exec, as JSON */
};

/* Checks whether the options of a unit can be used. EINVAL. */
int ssh_command_check(const json_t *options, struct kettle_error *err);
/* Makes a command line that runs this on the other machine. */
void ssh_command(const struct ssh_setup *setup, enum ssh_command command, struct arguments *ret_argv);

/* ---- receive.c: the artifacts of a job, which kettle-exec sends as events ---- */

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

/* ---- ssh_session.c: a host, with the connection to its kettle-exec, which all units of that host share ---- */

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
	SSH_SESSION_READING,    /* a thread reads the archive */
	SSH_SESSION_CONNECTING, /* ssh runs; kettle-exec has not greeted */
	SSH_SESSION_INSTALLING, /* ssh copies the archive */
	SSH_SESSION_UP,
	SSH_SESSION_PAUSED, /* the last connection failed */
};

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
	unsigned failures;      /* in a row */
	unsigned silent, idle;  /* beats in a row without input; without use */
	uint64_t unsent;        /* bytes that the slowest connection would not have carried yet */
	char
		why[sizeof(((struct kettle_error *)NULL)->message)]; /* why this side ends the connection; empty: it does not */
	struct exec_client lines;
	struct pending_doctor *pending;
	struct kettle_timer *patience; /* of pending doctors */
	struct kettle_timer *timer;    /* of the state */
	struct kettle_timer *beat;
	unsigned receivers;
	/* the archive; the thread's while it is READING */
	char *archive, digest[65];
	size_t archive_size;
	struct kettle_error archive_error;
};

/* `section` is borrowed until ssh_session_free; its contents may change. options: of a unit, checked. New. */
struct ssh_session *ssh_session_new(
	const struct kettle_host *host, const json_t *section, const json_t *options, void (*quiet)(void *arg), void *arg);
/* Frees a session, which must be quiet. */
void ssh_session_free(struct ssh_session *session);

/* Begins a connection if there is none. Does not shorten a pause. */
void ssh_session_need(struct ssh_session *session);
/* Operations of the runner's table. */
int ssh_session_submit(
	struct ssh_session *session, const struct kettle_job *job, const json_t *plan, struct kettle_error *err);
int ssh_session_doctor(struct ssh_session *session, kettle_answer done, void *arg, struct kettle_error *err);
/*
 * Stops the session; calls `quiet` when nothing is under way any more, perhaps before this returns; never if nothing
 * was.
 */
void ssh_session_stop(struct ssh_session *session);
/* Whether nothing is under way. */
bool ssh_session_is_quiet(const struct ssh_session *session);
