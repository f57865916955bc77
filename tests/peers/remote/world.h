/* SPDX-License-Identifier: MIT */
/*
 * A simulated remote side, and an engine that loses power: what a runner can meet, drawn from a seed.
 *
 * Theory of operation. A case is one seed. The runner under test is the real plugin, between the fake host's simulated clock and
 * a table (struct kettle_host) of which HTTP, children, the store's answers and the pool's threads are this model's: each is
 * answered by a timer, after a delay from the seed, in one thread. The engine here submits jobs, cancels some, tries lost
 * ones again, is restarted, and is killed: before a call of the table that the seed names nothing of that life has an
 * effect any more, and a new one begins with what was committed, so that a kill may come between any two effects. The dead
 * are stopped and destroyed when the case is over, so that nothing of them is left either.
 *
 * A side (github.c, …) says what the remote side does with a request or a command. What must hold is checked here: each
 * attempt completes once, with the result that was made for it; what has never begun is never said to have run, nor begins
 * twice; from some moment on the world is calm, and then everything ends; nothing is left; and no secret is in the log.
 */
#pragma once

#include <jansson.h>
#include <kettle/host.h>
#include <kettle/plugin.h>
#include <kettle/runner.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define WORLD_KEY "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
#define WORLD_SECRET "hunter2" /* every credential of a side contains it, and every plan */
#define WORLD_ATTEMPTS 64      /* of a job */
#define WORLD_JOBS 32

struct world;
struct life;

enum climate {
	FAIR,    /* nothing fails */
	ROUGH,   /* what passes: losses, errors, outages, restarts; no job may lose an attempt that counts */
	HOSTILE, /* likewise, and lies and dead machines */
};

/* In how many of a thousand cases a fault happens; all 0 from calm_ms on. */
struct weather {
	unsigned lost, unheard, slow,
		errors;      /* of requests: before they arrive; their answers; both late; statuses of 5xx */
	unsigned limits; /* of requests: answered with a rate limit, 429 or 403, and the time to wait */
	unsigned lies;   /* of answers */
	unsigned deaths; /* of runs */
};

/* One attempt at a job. */
struct attempt {
	struct job *job;
	char ref[32], name[48], hash[65];
	enum {
		ATTEMPT_PLANNED,
		ATTEMPT_IN_FLIGHT,
		ATTEMPT_COMPLETED, /* and that is not committed */
		ATTEMPT_LIMBO,     /* the engine is down, or is to ask again */
		ATTEMPT_ENDED,
	} state;
	char *handle; /* as it was committed */
	uint64_t submitted_ms, cancel_ms;
	const struct life *cancelled_in; /* the life that has passed the cancel on, in a calm world */
	/* What is true of it on the remote side. */
	bool said_to_run; /* to the engine, in this life */
	unsigned starts;
	bool finished; /* its result was made */
	json_t *made;  /* that completion */
	bool excused;  /* the runner may count it, if it is lost */
	bool denied;   /* it was said never to have begun */
	bool doubted;  /* the side has told a lie about it */
	/* In a world with parts: what is built first, in another place; and of that, the attempt. Else NULL. */
	struct attempt *first, *whole;
};

struct job {
	struct world *world;
	unsigned number, count, counted;
	struct attempt attempts[WORLD_ATTEMPTS];
	bool cancelled, ended;
};

/* A request of HTTP, which the side serves. */
struct wire_request {
	char *method, *url, *headers; /* headers: a line each */
	char *body;
	size_t body_size;
	const struct life *life; /* of its sender, to compare */
	uint64_t sent_ms;
};

struct wire_answer {
	int status;
	char *headers; /* "name: value" a line; new string, or NULL */
	char *body;    /* new, or NULL */
	size_t size;
};

/* A child, as the side sees it. */
struct child {
	struct world *world;
	struct life *life; /* NULL: the engine is dead, or it has ended */
	char **argv;
	struct kettle_spawn spawn;
	struct child *next;
	bool ended, input_closed;
	void *own; /* the side's; freed with free */
	char *input;
	size_t input_size; /* what was written and not taken */
};

struct side {
	const char *name;
	const struct kettle_plugin *plugin;
	bool outlives; /* jobs go on without an engine, so there is recover */
	unsigned most_jobs;
	uint64_t settle_ms; /* after the calm began, until everything is as if nothing had ever been wrong */
	uint64_t linger_ms; /* that a case goes on after the last job has ended */
	uint64_t cases[8];  /* seeds that have failed once: they run, too; 0: no more */
	/* The state of the side, in world->side. */
	void (*begin)(struct world *world);
	void (*end)(struct world *world);
	json_t *(*section)(struct world *world);
	json_t *(*unit)(struct world *world);
	void (*serve)(struct world *world, const struct wire_request *request, struct wire_answer *ret_answer);
	/* An answer has reached the runner. NULL: it does not matter. */
	void (*heard)(struct world *world, const struct wire_request *request, const struct wire_answer *answer);
	void (*start)(struct child *child);
	void (*input)(struct child *child);            /* more input, or its end */
	void (*kill)(struct child *child, int signal); /* NULL: it ends at once */
	void (*check)(struct world *world);            /* at the end of a case; may call world_fail */
};

struct world {
	const struct side *side;
	uint64_t seed, state[2]; /* of two series of random numbers: the model's, and what the runner draws itself */
	enum climate climate;
	struct weather weather;
	uint64_t calm_ms;
	bool parts;   /* jobs build in another place first */
	bool endless; /* the first outage has no end: each job is lost, and that in time */
	/* From and to. In the first there is no connection, in the second each breaks off. */
	uint64_t outage_ms[2][2];
	struct kettle_fake *fake;
	const struct kettle_host *host; /* the fake's */
	char *folder;                   /* of the case */
	struct life *life;              /* NULL: the engine is down */
	struct job jobs[WORLD_JOBS];
	unsigned job_count, kills, restarts;
	void *own; /* the side's */
	bool over;
	/* of world.c */
	struct life *lives;
	struct wire *wires;
	struct child *children;
	struct later *laters;
	uint64_t next_id;
	struct completion *completions;
	json_t *records, *shown; /* recorded answers, and which of them a side has shown; NULL: forms do not matter */
	uint64_t began_ms;
	struct buf trace;
	char *failure; /* what does not hold; NULL: nothing */
};

/* Runs the cases of a side, as many as the size of the tests wants, or the one of KETTLE_SEED; an assertion of cmocka fails. */
void world_test(const struct side *side);
/* The same with jobs that build in another place first. */
void world_test_parts(const struct side *side);
/* One case twice: both go the same way. */
void world_test_replay(const struct side *side);
/* What the side answers has the form of what was recorded in tests/fixtures/remote, and all of that is met. */
void world_test_forms(const struct side *side);

/* ---- for sides ---- */

uint64_t world_now(const struct world *world);
int64_t world_utc(const struct world *world);
/* 0 to below - 1. */
uint64_t world_draw(struct world *world, uint64_t below);
/* Whether it happens, in so many of a thousand cases; never once it is calm. */
bool world_strikes(struct world *world, unsigned per_mille);
bool world_is_calm(const struct world *world);
/* Whether the outage of this number is on. */
bool world_is_out(const struct world *world, size_t number);
/* Into the trace. */
void world_say(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Something that must hold does not: the case ends. */
void world_fail(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Calls fn(arg) after ms, unless the world has ended. */
void world_after(struct world *world, uint64_t ms, void (*fn)(void *arg), void *arg);

struct attempt *world_attempt(struct world *world, const char *name);
struct attempt *world_attempt_by_ref(struct world *world, const char *ref);
/* A job's plan. New reference. */
json_t *world_plan(const struct attempt *attempt);
/* The unit's options, with those of the place where it builds, if there are parts. Takes both. New reference. */
json_t *world_options(const struct world *world, json_t *options_take, json_t *build_take);
/* A part was sent to a place: it must be the one in which it builds, or the other one. */
void world_placed(struct world *world, const struct attempt *attempt, bool builds);
/* The part of the attempt that its handle names. */
struct attempt *world_part(struct attempt *attempt);
/* Opens a sealed plan, in either form: the attempt that it is for, or its first part. NULL: it is none, which has failed the case. */
struct attempt *world_open(struct world *world, const char *name, const void *data, size_t size);
/* The remote side begins it. */
void world_begins(struct world *world, struct attempt *attempt);
/* It has run: the completion that it leaves. Borrowed. */
const json_t *world_makes(struct world *world, struct attempt *attempt);
/* The same sealed, as kettle-exec does with --run. New. */
char *world_seal(struct world *world, struct attempt *attempt, const char *run, size_t *ret_size);
/* A result that was not made for it: of another attempt or plan, or what another run of the same plan has left. New. */
char *world_seal_other(
	struct world *world, const struct attempt *attempt, const char *run, bool same_plan, size_t *ret_size);

/* An answer that is no lie, for the tests of forms: key names the recorded one, if there is one. */
void world_shows(struct world *world, const char *key, const json_t *answer);
/* The same of a line of a command. */
void world_shows_line(struct world *world, const char *key, const char *line);

void child_says(struct child *child, bool complaint, const char *line);
void child_ends(struct child *child, int status, int signal);
/* Whether the engine that started it is alive. */
bool child_is_heard(const struct child *child);
