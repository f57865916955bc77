/* SPDX-License-Identifier: MIT */
/* Whole cores on one loop, as many processes would have them: the first is the owner of the database. */
#pragma once

#include "session/core_internal.h"
#include "unit/command_fixture.h"

#define CORES_MAX 4

struct cores {
	char dir[64], path[96];
	uv_loop_t loop;
	struct loop_services *io;
	struct languages *languages;
	struct runner runner; /* keeps every job until it is stopped or cancelled */
	json_t *devices;      /* CPU */
	struct core *core[CORES_MAX];
};
extern struct cores cores;

struct answer {
	int count;
	struct kettle_error err;
	json_t *result;
};

/* Turns the loop until it is so; fails the test when that takes too long. */
#define until(condition) \
	do { \
		uint64_t end_ = uv_hrtime() + UINT64_C(30000000000); \
		while (!(condition)) { \
			if (uv_hrtime() > end_) \
				fail_msg("line %d: never came: %s", __LINE__, #condition); \
			cores_turn(); \
		} \
	} while (0)

/* For cmocka. The end closes every core and checks that the loop is empty. */
int cores_setup(void **state);
int cores_teardown(void **state);
/* One turn of the loop, which waits for at most 20 ms; where nothing came, as much simulated time passes. */
void cores_turn(void);
/* So much simulated time passes, from timer to timer, while the stores, posts and threads have nothing to do. */
void cores_pass(uint64_t ms);
struct clock *cores_clock(void);
/* Makes a core in this place, not attached yet. */
struct core *cores_make(size_t place, bool is_server);
/* Closes one and frees it. */
void cores_close(size_t place);
/* For a test that closes one itself: it is closed. */
void cores_closed(size_t place);
/* Begins to close one; cores_close waits for it. */
void cores_leave(size_t place);

/* Asks as NAME or NAME:ROLE; the answer comes later. args is stolen. */
void cores_ask(size_t place, const char *who, const char *command, json_t *args_take, struct answer *answer);
/* Asks and waits; the code, and the answer, which is freed by the next one. */
int cores_run(size_t place, const char *who, const char *command, json_t *args_take);
const json_t *cores_must(size_t place, const char *who, const char *command, json_t *args_take);
extern struct answer cores_answer; /* of cores_run */
void answer_clear(struct answer *answer);

/* A board with the device CPU, closed or not. */
void cores_board(size_t place, const char *name, bool closed);
/* Arguments of a submission to the board. New reference. */
json_t *cores_file(const char *board);
json_t *cores_actor(const char *who);
/* core_follow of a subscription of this process. */
int cores_subscribe(struct core *core, const json_t *actor, const json_t *filter, int64_t after, kettle_event_fn fn,
	void *arg, uint64_t *ret_id, struct kettle_error *err);
