/* SPDX-License-Identifier: MIT */
/* The run of one command line. Loop thread only. */
#pragma once

#include "cli/args/args.h"
#include "common/term.h"

#include <kettle/host.h>

/* Exit statuses. */
enum run_status {
	RUN_OK = 0,
	RUN_FAILED = 1, /* the submission failed, a conformance test failed */
	RUN_USAGE = 2,
	RUN_ENGINE = 3,        /* an error of the engine or of the machine */
	RUN_INTERRUPTED = 130, /* stopped by a signal while waiting */
};

struct run;
struct run_call; /* a call, a file or an input line without a result yet */

struct run {
	const struct kettle_host *host;
	const json_t *command; /* from the table; borrowed */
	const struct args_ui *ui;
	struct args args;
	json_t *actor;
	const char *user; /* the name; borrowed from actor */
	struct term term;
	bool json, quiet;
	char *file;             /* typed path of a file argument that was read, or NULL */
	struct run_call *calls; /* all without a result yet */
	void *work;             /* data of the command until its result (an export, a followed submission), or NULL */
	void (*ended)(struct run *run); /* frees `work` before a result or an error is printed; NULL: nothing to free */
	/* Before that: says what continues without the run. True: it calls run_interrupt_end later. May be NULL. */
	bool (*interrupted)(struct run *run);
	kettle_fn stopped; /* called when the run is over; set by run_interrupt */
	void *stopped_arg;
	bool report_is_new; /* the file of -o did not exist; it is removed if nothing is written to it */
	FILE *report;       /* of -o, opened before the command starts, or NULL */
	struct run **owner; /* set to NULL when the run is over */
	void (*done)(void *arg, int status);
	void *done_arg;
};

typedef void (*run_answer)(struct run *run, const json_t *result);
typedef void (*run_bytes)(struct run *run, const char *data, size_t size);

/*
 * Starts a command of the table with its interface; argv: the words after the command's. *owner points to the run
 * while it exists. done is called exactly once, never before this returns, also after an error.
 */
void run_start(const struct kettle_host *host, const json_t *globals, const json_t *command, const struct args_ui *ui,
	int argc, const char *const *argv, struct run **owner, void (*done)(void *arg, int status), void *done_arg);
/* The user of the command line in the core's form. New reference. */
json_t *run_actor(const json_t *globals);
/* Flushes standard output and calls done later, on the loop thread: for lines that need no run (help). */
void run_post_done(const struct kettle_host *host, void (*done)(void *arg, int status), void *done_arg, int status);

/*
 * These pass their result to fn, unless the run is over by then. An error ends the run (run_fail) without calling fn.
 */
void run_call(struct run *run, const char *command, const json_t *args, run_answer fn);
/* Like run_call, but an error does not end the run: fn gets NULL. */
void run_try(struct run *run, const char *command, const json_t *args, run_answer fn);
/* Calls the run's own command with its arguments. Its result goes to `answer` of its interface, else to run_result. */
void run_command(struct run *run);
/* Reads one line of standard input off the loop thread, without its newline. The end of the input is an error. */
void run_read_line(struct run *run, run_bytes fn);

/*
 * Calls work(arg) on a thread of the pool, then fn(run, arg) unless the run is over by then, and drop(arg) in any
 * case. An error ends the run (run_fail) without calling fn.
 */
void run_work(struct run *run, kettle_fn work, kettle_fn drop, void *arg, void (*fn)(struct run *run, void *arg));

/* Renders a result, as JSON with --json, and ends the run with its exit status. */
void run_result(struct run *run, const json_t *result);
/* Prints facts about the command's work, as JSON with --json, else by the template, and ends the run with RUN_OK. */
void run_finish_facts(struct run *run, json_t *facts_take, const char *template);
/* Prints a result, or a part of it, by the view of the command. */
void run_view(struct run *run, const json_t *result);
/* Opens a file for writing and never waits for the reader of a FIFO. NULL with errno; ENXIO: there is no reader. */
FILE *run_open_output(const char *path, bool append);
/* Prints a value as JSON; on a terminal only in ASCII. */
void run_print_json(const struct term *term, const json_t *value);
/* Prints the output of a task that failed by its own fault, below a line with the device: an element of `tried`. */
void run_print_log(FILE *out, const json_t *tried);
/* Prints an error: on standard error, or as the only document on term. */
void run_print_error(const struct term *term, bool json, const struct kettle_error *err);
/* Replaces the argument's name that the core's message quotes (`member`) by the option's name. */
void run_name_options(const struct run *run, struct kettle_error *err);
/* Prints the error and ends the run with its exit status. */
void run_fail(struct run *run, const struct kettle_error *err);
/* Ends the run and frees it; late answers are ignored. */
void run_finish(struct run *run, int status);
/*
 * At SIGINT and SIGTERM: prints what continues without the run and ends it, at once or after a call that
 * run->interrupted makes. Then calls stopped(arg).
 */
void run_interrupt(struct run *run, kettle_fn stopped, void *arg);
/* Ends a run whose `interrupted` returned true. */
void run_interrupt_end(struct run *run);
