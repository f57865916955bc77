/* SPDX-License-Identifier: MIT */
/* A host for tests of the command line: no loop, no core; answers are given by the test. */
#pragma once

#include <kettle/plugin.h>
#include <stdbool.h>

#define CLI_HOST_CALLS 32

/* An answer of the core to a command; the results are owned by the host. */
struct cli_host_answer {
	const char *command;
	json_t *result; /* NULL: an error */
	int code;
	const char *message, *member;
};

struct cli_host {
	struct kettle_host host;
	json_t *table;
	struct cli_host_answer answers[CLI_HOST_CALLS];
	size_t answers_count;
	/* The calls: [{"command", "args"}]. */
	json_t *calls;
	json_t *actor;
	/* Events to deliver to the subscription, once each. */
	json_t *events;
	json_t *filter;
	int64_t after;
	kettle_event_fn event_fn;
	void *event_arg;
	bool unsubscribed;
	struct cli_host_task *tasks, **tasks_end;
	size_t timers;
};

/* The commands, as in the core's table. */
void cli_host_init(struct cli_host *host);
void cli_host_free(struct cli_host *host);
/* The next call of command gets this answer (stolen); a command without one gets an error. */
void cli_host_answer(struct cli_host *host, const char *command, json_t *result_take);
void cli_host_refuse(struct cli_host *host, const char *command, int code, const char *message);
/* ... because of this argument. */
void cli_host_refuse_argument(
	struct cli_host *host, const char *command, const char *member, int code, const char *message);
/* Delivers events and runs posted functions until none is left; events come before the answers to calls. */
void cli_host_turn(struct cli_host *host);

/*
 * Runs a command line (NULL at the end) against the plugin until it is done or nothing is left to
 * happen; then the plugin is stopped, so a command that still waited ends with 130. Returns the exit status. What it
 * wrote is in ret_out and ret_err: new strings. globals (may be NULL) are added to {"user": "alice"}.
 */
int cli_host_run(struct cli_host *host, const json_t *globals, const char *const *argv, char **ret_out, char **ret_err);
/* The same on a terminal of that many columns where input is typed; what is written to either stream is in ret_out. */
int cli_host_run_terminal(
	struct cli_host *host, unsigned columns, const char *input, const char *const *argv, char **ret_out);

/* What a test of the command line works with: a host, what the last command line wrote, and a folder. */
struct cli_state {
	struct cli_host host;
	char *out, *err;
	char folder[64], file[96]; /* file: for the test */
};

/* For cmocka: *state is a new struct cli_state, whose host has the table of cli_host_init, or the core's own one. */
int cli_state_setup(void **state);
int cli_state_setup_core(void **state);
int cli_state_teardown(void **state);
/* cli_host_run, whose output is kept until the next one. */
int cli_state_run(struct cli_state *state, const json_t *globals, const char *const *argv);

#define RUN(state, ...) cli_state_run(state, NULL, (const char *const[]){__VA_ARGS__, NULL})
#define HAS(text, part) \
	do { \
		if (!strstr(text, part)) \
			fail_msg("no \"%s\" in \"%s\"", part, text); \
	} while (0)
