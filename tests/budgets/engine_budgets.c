/* SPDX-License-Identifier: MIT */
/* A job of a ranked submission: from its queue to the runner, and from the runner's answer to the database. */
#include <config.h>

#include "budgets/budget.h"
#include "unit/engine_fixture.h"

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

void
budget_engine(void)
{
	(void)world_setup(NULL);
	for (size_t i = 0; i < BUDGET_TIMES; i++) {
		char name[32];
		(void)snprintf(name, sizeof(name), "user-%zu", i);
		(void)commands_submit(&world.c, name, "board", "ranked");
		budget_begin();
		turn_until_submits(i + 1);
		budget_end("start");
		json_t *completion = fake_completion(0, "done");
		budget_begin();
		fake_end_with(0, completion);
		turn_until_idle();
		budget_end("verdict");
	}
	(void)world_teardown(NULL);
}
