/* SPDX-License-Identifier: MIT */
/* One command line being carried out: what it was asked, and what it waits for. Loop thread only. */
#ifndef KETTLE_CLI_RUN_INVOCATION_H
#define KETTLE_CLI_RUN_INVOCATION_H

#include "cli/args/args.h"
#include "cli/text/term.h"

#include <kettle/host.h>

/* Exit statuses. */
enum run_status {
	RUN_OK = 0,
	RUN_FAILED = 1, /* the submission failed, a conformance test failed */
	RUN_USAGE = 2,
	RUN_ENGINE = 3,        /* the engine could not */
	RUN_INTERRUPTED = 130, /* stopped by a signal while it waited */
};

struct run;
struct run_call; /* an answer, a file or an input line that is under way */

struct run {
	const struct kettle_host *host;
	const json_t *command; /* of the table; borrowed */
	const struct run_ui *ui;
	struct args args;
	json_t *actor;
	const char *user; /* its name; borrowed from actor */
	struct term term;
	bool json, quiet;
	struct run_call *calls; /* all that are under way */
	void *work;             /* what the command keeps while it lasts (an export, a submission that is shown), or NULL */
	void (*ended)(struct run *run);       /* frees it; NULL: there is none */
	void (*interrupted)(struct run *run); /* before that: says what goes on without the run; may be NULL */
	bool report_is_new;                   /* and goes again where nothing is written to it */
	FILE *report;                         /* of -o, opened before anything is submitted, or NULL */
	struct run **owner;                   /* set to NULL when the run is over */
	void (*done)(void *arg, int status);
	void *done_arg;
};

typedef void (*run_answer)(struct run *run, const struct kettle_error *err, json_t *result);
typedef void (*run_bytes)(struct run *run, const struct kettle_error *err, const char *data, size_t size);

/*
 * The command of the table and its interface; argv are the words behind the command's. *owner points to the run while
 * it lasts. done comes exactly once, never before this returns. Errors are printed and given to done like all others.
 */
void run_start(const struct kettle_host *host, const json_t *globals, const json_t *command, const struct run_ui *ui,
	int argc, const char *const *argv, struct run **owner, void (*done)(void *arg, int status), void *done_arg);
/* Calls done on the loop thread with nothing else to do: for what needs no run (help). */
void run_post_done(const struct kettle_host *host, void (*done)(void *arg, int status), void *done_arg, int status);

/* Asks the core. fn is not called any more once the run is over. */
void run_call(struct run *run, const char *command, const json_t *args, run_answer fn);
/* The same of the run's own command, with its arguments. */
void run_command(struct run *run, run_answer fn);
/* Reads a regular file, or standard input for "-", off the loop thread; at most RUN_MAX_FILE bytes. */
#define RUN_MAX_FILE (32u << 20)
void run_read_file(struct run *run, const char *path, run_bytes fn);
/* Reads one line of standard input off the loop thread, without its newline. KETTLE_ECANCELED: it ended. */
void run_read_line(struct run *run, run_bytes fn);

/* Renders a result, in JSON where that was asked for, and ends the run. */
void run_result(struct run *run, const json_t *result);
/* Draws a result, or a part of it, as the view of the command says. */
void run_view(struct run *run, const json_t *result);
/* Opens the file of -o for writing, so that a wrong path is known before anything else happens. */
int run_open_report(struct run *run, struct kettle_error *err);
/* Prints a value as JSON; on a terminal in ASCII alone. */
void run_print_json(const struct term *term, const json_t *value);
/* The usual end of a call: renders the result or fails. */
void run_answered(struct run *run, const struct kettle_error *err, json_t *result);
/* Says what went wrong, on standard error or as the one document on term. */
void run_print_error(const struct term *term, bool json, const struct kettle_error *err);
/*
 * The core's sentences call arguments by their names in the table ("`limit` must be …", "say `force`"); on a command
 * line they are --limit and --force.
 */
void run_name_options(const struct run *run, struct kettle_error *err);
/* Says what went wrong, and ends the run. */
void run_fail(struct run *run, const struct kettle_error *err);
/* Ends the run and frees it; everything under way is forgotten. The exit status of an error: kettle_error_exit. */
void run_finish(struct run *run, int status);
/* The terminal's user does not want to wait any longer (SIGINT, SIGTERM): says what goes on without it and ends. */
void run_interrupt(struct run *run);

#endif
