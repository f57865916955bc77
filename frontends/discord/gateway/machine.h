/* SPDX-License-Identifier: MIT */
/*
 * The protocol of Discord's gateway (version 10) as a state machine: no input or output, no clock, no thread of its
 * own.
 *
 * Its owner reports what happens, with the time, and carries out the actions. All times are in milliseconds of one
 * monotonic clock. Everything is called on one thread. An action never calls the machine back: its results are
 * reported later.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MACHINE_NEVER UINT64_MAX
#define MACHINE_TOKEN_MAX 200    /* bytes of a token */
#define MACHINE_URL_MAX 512      /* bytes of an address */
#define MACHINE_SESSION_MAX 256  /* bytes of a session's id */
#define MACHINE_SEND_MAX 4096    /* bytes of a sent text: Discord's limit */
#define MACHINE_SENDS_MINUTE 120 /* texts sent in a minute: Discord's limit */
#define MACHINE_SPACING_MS 5000  /* from one IDENTIFY to the next: Discord's limit */
#define MACHINE_RETRY_MS 1000    /* the first window of the back-off, which doubles */
#define MACHINE_DELAY_MAX_MS 60000
#define MACHINE_STABLE_MS 60000  /* a session of this age ends the back-off */
#define MACHINE_CONNECT_MS 30000 /* for making a connection */
#define MACHINE_HELLO_MS 20000
#define MACHINE_READY_MS 60000  /* from IDENTIFY to READY */
#define MACHINE_REPLAY_MS 60000 /* from one event of a replay to the next */
#define MACHINE_MALFORMED_MAX 3 /* malformed frames without an event between them; then the session is given up */
#define MACHINE_RESUMES_MAX 10  /* failed resumes in a row, after which the session is given up */
#define MACHINE_UNREACHABLE 3   /* failed connections, after which the gateway's address is fetched again */

enum gateway_state {
	GATEWAY_CONNECTED, /* connected; READY or RESUMED come next */
	GATEWAY_READY,     /* a new session has begun */
	GATEWAY_RESUMED,   /* the session continues, and nothing was lost */
	GATEWAY_LOST,      /* the connection has ended or could not be made; the sentence says why and what comes next */
	GATEWAY_FATAL,     /* the gateway has stopped for good; the sentence says what the operator must do */
};

struct machine_rules {
	const char *token;    /* at most MACHINE_TOKEN_MAX bytes of printable ASCII; copied */
	unsigned intents;     /* for IDENTIFY */
	uint64_t random_seed; /* for jitter; each machine should have another number */
	uint64_t retry_ms;    /* the first window of the back-off; 0: MACHINE_RETRY_MS */
};

struct machine_actions {
	/* Requests GET /gateway/bot, then machine_fetched or machine_fetch_failed. */
	void (*fetch)(void *arg);
	/* Opens a connection, then machine_connected or machine_closed. Borrowed. */
	void (*connect)(void *arg, const char *url);
	/* Sends a text frame. Borrowed. */
	void (*send)(void *arg, const char *text, size_t len);
	/*
	 * Ends the connection with this code, or stops making it. machine_closed must follow within seconds, whatever the
	 * server does.
	 */
	void (*close)(void *arg, int code);
	/* An event of the session: each once, in order. */
	void (*dispatch)(void *arg, const char *name, json_t *data_take);
	void (*state)(void *arg, enum gateway_state state, const char *sentence);
};

struct machine;

/* actions is borrowed for the machine's life. */
struct machine *machine_new(const struct machine_rules *rules, const struct machine_actions *actions, void *arg);
/* NULL is allowed. */
void machine_free(struct machine *machine);

void machine_start(struct machine *machine, uint64_t now);
/*
 * Reports the answer of GET /gateway/bot: the address, and how many sessions may still begin until reset_after_ms from
 * now.
 */
void machine_fetched(
	struct machine *machine, uint64_t now, const char *url, unsigned remaining, uint64_t reset_after_ms);
/* Reports that there was none. The next try comes after retry_after_ms and after the back-off. */
void machine_fetch_failed(struct machine *machine, uint64_t now, uint64_t retry_after_ms, const char *why);
void machine_connected(struct machine *machine, uint64_t now);
/* Reports a complete text frame, whose length the owner has limited. */
void machine_frame(struct machine *machine, uint64_t now, const char *text, size_t len);
/* Reports a frame that the owner does not accept: too long, binary. why: "it …", without a full stop. */
void machine_bad_frame(struct machine *machine, uint64_t now, const char *why);
/*
 * Reports that the connection has ended, or could not be made. code: of the server's close frame, or 0; why: a clause,
 * or NULL.
 */
void machine_closed(struct machine *machine, uint64_t now, int code, const char *why);
/* The time at which machine_timer must be called, or MACHINE_NEVER. Each call of the machine may change it. */
uint64_t machine_due(const struct machine *machine);
void machine_timer(struct machine *machine, uint64_t now);
/*
 * Ends the session at Discord (close 1000). True: machine_closed is still to be reported; false: there is no
 * connection. The machine calls no further action.
 */
bool machine_stop(struct machine *machine);

/* The time between the last heartbeat and its answer; 0: none was answered yet. */
unsigned machine_latency_ms(const struct machine *machine);
/* The number of malformed frames in the machine's life. */
unsigned machine_malformed(const struct machine *machine);
