/* SPDX-License-Identifier: MIT */
/*
 * The conversation with a `kettle-exec --serve`, beside this program or at the other end of a connection: run lines
 * out, events in, requests for its greeting and for heartbeats. Everything on the loop thread.
 */
#pragma once

#include <jansson.h>
#include <kettle/host.h>
#include <kettle/runner.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bounded_json.h"
#include "runners/common/command.h"

#define EXEC_CLIENT_MAX BOUNDED_JSON_RESULT_BYTES /* bytes of a line from it */

#define EXEC_CLIENT_LONG (64u << 10)       /* bytes of a line that count as an answer to a heartbeat */
#define EXEC_CLIENT_REF_MAX 128            /* bytes of a job's reference in an event that is too large to read */
#define EXEC_CLIENT_INVALID_LINES_MAX 1000 /* lines that are no events, after which the client ends the process */
#define EXEC_CLIENT_INVALID_LINES_BYTES (64u << 10) /* bytes of an invalid line that count as one more */
#define EXEC_CLIENT_LOGGED_MAX 100                  /* lines of kettle-exec that are logged in a minute */
#define EXEC_CLIENT_LAST_STDERR_MAX 400             /* bytes kept of the last line of its standard error */
#define EXEC_DOCTOR_MAX (4u << 20)                  /* bytes of the report of `kettle-exec --doctor --json` */
#define EXEC_DOCTOR_LIMIT_MS 120000

/* One job that has not been completed. */
struct exec_job {
	struct exec_job *next;
	char *line; /* the run line; NULL: it was written */
	void *own;  /* the owner's data */
	char ref[];
};

struct exec_client;
struct describe_request;
struct heartbeat_request;

/* Callbacks of the conversation's owner. */
struct exec_client_ops {
	/* A greeting has come. Whether this kettle-exec can be used; the first one then makes it ready. NULL: always. */
	bool (*greeted)(void *arg, const json_t *hello);
	/* A piece of an artifact has come. NULL: kettle-exec writes artifacts where the run line says. */
	void (*file)(void *arg, struct exec_job *job, const json_t *event);
	/* The job has ended. The owner completes it, or itself after exec_client_forget. NULL: the client completes it. */
	void (*done)(void *arg, struct exec_job *job, json_t *event);
	/* The job is about to be freed: frees what is in job->own. NULL: there is nothing to free. */
	void (*release)(void *arg, struct exec_job *job);
	/* The process has ended, after its last line; lines->process is NULL. */
	void (*ended)(void *arg, int status, int signal);
};

/* One conversation, which outlives its processes. Zero-initialise; set host, ops, arg, name and commands. */
struct exec_client {
	const struct kettle_host *host;
	const struct exec_client_ops *ops;
	void *arg;
	const char *name;               /* for messages: "kettle-exec", "kettle-exec on lab2" */
	struct kettle_process *process; /* NULL: none runs */
	bool ready;                     /* run lines are written at once; false: they wait */
	bool heard;                     /* bytes have come since the owner last set this to false */
	bool reading;                   /* a long line is being parsed; later lines wait for it */
	size_t written;                 /* bytes written since the owner last set this to 0 */
	size_t part;                    /* bytes that have come since the last line */
	size_t invalid_lines;           /* of this process: see EXEC_CLIENT_INVALID_LINES_MAX */
	uint64_t minute;                /* the minute in which `logged` counts */
	unsigned logged;
	char last_stderr[EXEC_CLIENT_LAST_STDERR_MAX]; /* the last line of its standard error; plain ASCII */
	json_t *facts;                                 /* the newest greeting of the process */
	struct exec_job *jobs;
	struct describe_request *requests;
	struct heartbeat_request *heartbeats; /* one message answers them all */
	/* Doctors, and other commands of the owner, who sets all but the list. */
	struct commands commands;
	unsigned reports; /* of doctors that a thread reads; commands.idle is called after each */
	bool stopping;    /* doctors are ended, since the runner stops; set by exec_client_stop_doctors */
};

/* Starts the process; argv[0] is the file. Set `ready` before or after. */
int exec_client_start(struct exec_client *lines, const char *const *argv, struct kettle_error *err);
/* Writes a message (stolen) to the process, which must run. EINVAL: its text is not UTF-8. */
int exec_client_write(struct exec_client *lines, json_t *message_take, struct kettle_error *err);

/*
 * Accepts a job: its run line is written now or when kettle-exec is ready. send: its artifacts come as events; else
 * kettle-exec writes them to the job's spool. *ret_job (may be NULL) is valid until the job is completed or forgotten.
 */
int exec_client_submit(struct exec_client *lines, const struct kettle_job *description, const json_t *plan, bool send,
	struct exec_job **ret_job, struct kettle_error *err);
/* The job of this reference; NULL: there is none. */
struct exec_job *exec_client_find(const struct exec_client *lines, const char *ref);
/* Cancels a job, at once if its run line was not written; does nothing for an unknown job. */
void exec_client_cancel(struct exec_client *lines, const char *ref);
/* Completes and frees a job. */
void exec_client_complete(struct exec_client *lines, struct exec_job *job, json_t *completion_take);
/* Frees a job that the owner completes itself. */
void exec_client_forget(struct exec_client *lines, struct exec_job *job);
/* The completion of a lost job. New reference. */
json_t *exec_client_lost(enum kettle_loss loss, const char *why);
/* Completes all jobs as lost; written: only those whose run line was. UNREACHED becomes AWAY for the others. */
void exec_client_lose(struct exec_client *lines, bool written, enum kettle_loss loss, const char *reason);

/* The runner's capacity: `slots` and `prefetch` of the unit, by default 1. */
int exec_client_capacity(
	void *self, const json_t *unit, unsigned *ret_slots, unsigned *ret_prefetch, struct kettle_error *err);
/* The runner's `describe`, answered by the newest greeting of a process that will run, or by fail_requests. */
int exec_client_describe(
	struct exec_client *lines, const json_t *unit, kettle_answer done, void *arg, struct kettle_error *err);
/* The runner's `heartbeat`, answered in the same way. */
int exec_client_heartbeat(struct exec_client *lines, void (*done)(void *arg, const struct kettle_error *err), void *arg,
	struct kettle_error *err);
/* Whether a request waits for an answer. */
bool exec_client_is_waited_for(const struct exec_client *lines);

/* Forgets the greeting and the last line of standard error of a process that has ended. */
void exec_client_reset(struct exec_client *lines);
/* Answers all requests with an error. */
void exec_client_fail_requests(struct exec_client *lines, const struct kettle_error *err);
/* Says how a process ended (EUNAVAIL), with the last line of its standard error. what: its name in messages. */
void exec_client_explain(
	const char *what, int status, int signal, const char *last_stderr, struct kettle_error *ret_why);
/*
 * Starts `argv`, which is a `kettle-exec --doctor --json` or leads to one. Calls `done` once, with its report or with
 * an error: it ended without a report, or took longer than EXEC_DOCTOR_LIMIT_MS.
 */
int exec_client_doctor(
	struct exec_client *lines, const struct arguments *argv, kettle_answer done, void *arg, struct kettle_error *err);
/* Ends the doctors and other commands that run; doctors answer that the runner stops. */
void exec_client_stop_doctors(struct exec_client *lines);
/* Whether doctors or other commands are under way. */
bool exec_client_has_commands(const struct exec_client *lines);

/* Logs a line of the process's standard error and keeps it as last_stderr. lines: a struct exec_client. */
void exec_client_complain(void *lines, const char *line, size_t len);
