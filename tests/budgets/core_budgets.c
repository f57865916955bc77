/* SPDX-License-Identifier: MIT */
/* A whole core: a submission that is accepted, and events for those who have subscribed. */
#include <config.h>

#include "budgets/budget.h"
#include "unit/core_fixture.h"

#define HEAR 100
#define HEAR_OTHERS 900

static size_t heard;

static void
on_event(void *arg, const json_t *event)
{
	(void)arg, (void)event;
	heard++;
}

static void
on_answer(void *arg, const struct kettle_error *err, json_t *result)
{
	if (err->code < 0 || !result)
		fail_msg("%s", err->message);
	(*(size_t *)arg)++;
}

static void
turn_until(const size_t *count, size_t wanted)
{
	while (*count < wanted)
		(void)uv_run(&cores.loop, UV_RUN_ONCE);
}

/* From the call to the answer, which follows the commit. */
static void
accept_one(void)
{
	size_t answers = 0;
	json_t *actor = cores_actor("alice"), *args = cores_file("arena");
	budget_begin();
	assert_int_equal(core_call(cores.core[0], actor, "submit", args, on_answer, &answers), 0);
	turn_until(&answers, 1);
	budget_end("accept");
	json_decref(actor);
	json_decref(args);
}

static void
subscribe(size_t place, const char *board)
{
	json_t *actor = cores_actor("owner"), *filter = json_pack("{s:s}", "leaderboard", board);
	struct kettle_error err = {0};
	uint64_t id;
	if (cores_subscribe(cores.core[place], actor, filter, -1, on_event, NULL, &id, &err) < 0)
		fail_msg("%s", err.message);
	json_decref(actor);
	json_decref(filter);
}

static json_t *
event_of(const char *board)
{
	return json_pack("{s:s, s:s, s:s, s:i, s:i}", "kind", "board.updated", "scope", "p", "leaderboard_name", board,
		"submission", 7, "user", 1);
}

/* A subscriber is first told of the past: until all hear what is published now. */
static void
go_live(const char *board, size_t count)
{
	json_t *event = event_of(board);
	for (heard = 0; heard != count;) {
		heard = 0;
		core_publish(cores.core[0], event);
		cores_turn();
	}
	json_decref(event);
}

static void
publish(const char *board, size_t hear, const char *name)
{
	json_t *event = event_of(board);
	for (int i = 0; i < BUDGET_TIMES; i++) {
		heard = 0;
		budget_begin();
		core_publish(cores.core[0], event);
		turn_until(&heard, hear);
		budget_end(name);
	}
	json_decref(event);
}

void
budget_core(void)
{
	(void)cores_setup(NULL);
	for (int i = 0; i < BUDGET_TIMES; i++) /* the unit takes the first two jobs */
		accept_one();
	for (int i = 0; i < HEAR_OTHERS; i++)
		subscribe(0, "other");
	for (int i = 0; i < HEAR; i++)
		subscribe(0, "heard");
	go_live("heard", HEAR);
	publish("heard", HEAR, "event");
	(void)cores_make(1, false);
	(void)cores_must(1, "owner", "leaderboard.list", NULL);
	subscribe(1, "far");
	go_live("far", 1);
	publish("far", 1, "event_client");
	(void)cores_teardown(NULL);
}
