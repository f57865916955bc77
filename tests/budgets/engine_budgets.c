/* SPDX-License-Identifier: MIT */
/*
 * A job of a ranked submission: from its queue to the runner, and from the runner's answer to the database. Places in a long
 * queue.
 */
#include <config.h>

#include "budgets/budget.h"
#include "unit/engine_fixture.h"

#define QUEUED 20000
#define PLACES 100
#define FIRST 1000 /* number of the first one */

static void
turn_until_submits(size_t count)
{
	world_feed();
	while (fake.submits < count) {
		(void)uv_run(&world.c.f.loop, UV_RUN_ONCE);
		world_feed();
	}
}

static void
turn_until_idle(void)
{
	while (world.engine->in_flight > 0) {
		(void)uv_run(&world.c.f.loop, UV_RUN_ONCE);
		world_feed();
	}
}

static void
forget(struct engine_job *job, void *arg)
{
	(void)arg;
	engine_job_forget(job);
}

/* Those at the end, of a user who has nearly all. The engine does not see the queue before the loop turns. */
static void
measure_places(void)
{
	for (int64_t i = 0; i < QUEUED; i++)
		engine_job_queue(
			engine_job_add(world.engine, world.engine->devices, FIRST + i, FIRST + i, i % 100 ? 1 : 2 + i));
	for (size_t times = 0; times < BUDGET_TIMES; times++) {
		budget_begin();
		for (int64_t i = 0; i < PLACES; i++)
			json_decref(engine_queue_position(world.engine, FIRST + QUEUED - 1 - i, 0));
		budget_end("places");
	}
	engine_each_job(world.engine, forget, NULL);
}

void
budget_engine(void)
{
	(void)world_setup(NULL);
	for (size_t i = 0; i < BUDGET_TIMES; i++) {
		char name[32];
		(void)snprintf(name, sizeof(name), "user-%zu", i);
		(void)commands_submit(&world.c, name, "arena", "ranked");
		budget_begin();
		turn_until_submits(i + 1);
		budget_end("start");
		json_t *completion = fake_completion(0, "done");
		budget_begin();
		fake_end_with(0, completion);
		turn_until_idle();
		budget_end("verdict");
	}
	measure_places();
	(void)world_teardown(NULL);
}
