/* SPDX-License-Identifier: MIT */
/* The engine between a real store and a runner that the test controls. One world at a time. */
#pragma once

#include "engine/engine_internal.h"
#include "session/plugin_host.h"
#include "unit/command_fixture.h"

#define WORLD_TASKS_MAX 16
#define WORLD_PATIENCE_MS UINT64_C(3600000)

/* What the runner does on a request. */
enum manner { WAITS, AT_ONCE, REFUSES, NOT_NOW, NEVER };

struct task {
	char ref[INFLIGHT_REF_SIZE], unit[96], handle[32], name[80], plan_hash[65], expect[200];
	json_t *plan;
	bool cancelled, recovered;
	size_t units; /* that it got at once */
	bool score;   /* its section says that its times are scores */
};

/* A runner whose jobs end when the test says so. */
struct fake {
	enum manner on_submit, on_cancel, on_recover;
	bool cancel_ends_all;
	bool recover_queued; /* what is recovered still queues on the remote side, which recover says */
	int odd;             /* what submit returns without a sentence, for once; 0: nothing */
	const char *refuses; /* label of the one unit that refuses */
	struct task tasks[WORLD_TASKS_MAX];
	size_t count, submits, cancels, recovers, detaches;
	unsigned slots, prefetch;
	bool same_machine;       /* all units are one machine's */
	json_t *facts;           /* what its machines say, or {label: what that unit's says}; NULL: nothing */
	enum manner on_describe; /* NEVER: when fake_describe_end says so */
	size_t describes, asked;
	bool beats; /* it answers heartbeats at once */
	size_t heartbeats;
	struct {
		void (*done)(void *arg, const struct kettle_error *err);
		void *arg;
	} heartbeat; /* that waits; done NULL: none */
	struct inquiry {
		void (*done)(void *arg, const struct kettle_error *err, json_t *facts);
		void *arg;
	} inquiries[WORLD_TASKS_MAX]; /* that wait, `asked` of them */
};

struct world {
	struct commands_fixture c;
	struct runner runners[2]; /* fake, and forgetful, which cannot recover */
	struct core core;         /* only for its host: job_event, job_handle, job_done */
	struct core_host host;
	struct engine *engine;
	json_t *progress; /* what was shown and not stored */
	size_t fed;       /* events that the engine got */
	bool stopped;
};

extern struct world world;
extern struct fake fake;

/*
 * Turns the loop until it is so. Simulated time passes, a tick at a time, where nothing else is left to do; fails the test
 * when it would have to wait for too long.
 */
#define until(condition) \
	do { \
		uint64_t end_ms_ = clock_ms(&world.c.f.clock) + WORLD_PATIENCE_MS; \
		world_turn(0); \
		while (!(condition)) { \
			if (clock_ms(&world.c.f.clock) > end_ms_) \
				fail_msg("line %d: never came: %s", __LINE__, #condition); \
			world_turn(ENGINE_TICK_MS); \
		} \
	} while (0)

/* A board with the device CPU, and an engine with one unit of one slot that prefetches one. For cmocka. */
int world_setup(void **state);
int world_teardown(void **state);

/* The runner's job, in the order it got them (the last takes the place of one that ended). */
struct task *fake_task(size_t index);
/* It ends with this status, every step passed; with a completion of its own (stolen, NULL: none). */
void fake_end(size_t index, const char *status);
/* What fake_end tells, for changes. New reference. */
json_t *fake_completion(size_t index, const char *status);
void fake_end_with(size_t index, json_t *completion_take);
void fake_say(size_t index, json_t *event_take);
/* The runner answers the first waiting describe request with fake.facts. */
void fake_describe_end(void);
/* The runner answers the heartbeat that waits; with an error where its kettle-exec has ended. */
void fake_heartbeat_end(bool ended);

/* Tells the engine the events that were stored meanwhile. */
void world_feed(void);
/* A turn of the loop: it waits for the store where that has work, else as much simulated time passes. */
void world_turn(uint64_t ms);
/* So much simulated time passes, in ticks, between which all that follows from them is done. */
void world_pass(uint64_t ms);
/* Another day begins, so many from now. */
void world_next_day(int days);
uint64_t world_now(void);
/* So many units of CPU, and devices besides as JSON (or NULL). New reference. */
json_t *world_devices(int units, const char *more);
/* An engine that has not started; one that has; its end, checked for what it left. */
void world_engine(json_t *devices_take);
void world_start(json_t *devices_take);
void world_stop(uint64_t grace_ms);
/* For engine_stop: sets world.stopped, once. */
void world_stopped_once(void *arg);

/* Submits to the board; the number of the job. Alice tests; held: it is still queued. */
int64_t world_submit_as(const char *who, const char *mode);
int64_t world_submit(void);
int64_t world_submit_held(void);
/* Alice cancels the submission of the job. */
void world_cancel(int64_t job);
/* The job's row. */
const char *world_text(const char *column, int64_t job);
bool world_job_is(int64_t job, const char *state);
int64_t world_number(const char *column, int64_t job);
/* A unit of the first device. */
struct unit *world_unit(size_t index);
/* engine_unit_set of the unit with this label; not stored. */
void world_set(const char *label, bool disabled, const char *reason);
