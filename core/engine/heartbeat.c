/* SPDX-License-Identifier: MIT */
/* Heartbeats: find units whose kettle-exec hangs. */
/*
 * Theory of operation. While a unit has jobs, its runner gets heartbeat requests (one at a time, the next one
 * ENGINE_HEARTBEAT_MS after the answer), which kettle-exec answers on its loop. A late answer is logged. After
 * ENGINE_HEARTBEAT_SILENT_MS without an answer the unit is quarantined and its jobs are taken from it: they are
 * cancelled, in case kettle-exec still reads, and tried again, elsewhere if the device has other units. The request
 * stays open, and its answer brings the unit back. If kettle-exec ends instead, the next request brings it back.
 *
 * Only time in which this loop runs counts as waiting: an engine that was held up has not read answers.
 */
#include <config.h>

#include "engine/engine_internal.h"

#include "base/log.h"
#include "base/base.h"

/* A tick that comes later than this after the last one shows that the engine was held up. */
#define TICK_MAX_MS ((uint64_t)2 * ENGINE_TICK_MS)

static void
take_back(struct engine_job *job, void *arg)
{
	const struct unit *unit = arg;
	char why[sizeof(unit->disabled.why)], ref[INFLIGHT_REF_SIZE];
	if (job->state != JOB_ACTIVE || !multi_device_uses(job, unit))
		return;
	memcpy(why, unit->disabled.why, sizeof(why));
	memcpy(ref, job->inflight.ref, sizeof(ref));
	const struct runner *runner = job->unit->runner;
	engine_job_abandon(job, why);
	/* The job is no longer in flight, so later reports of the runner are ignored. */
	runner->ops->cancel(runner->self, ref);
}

static void
quarantine(struct engine *engine, struct unit *unit)
{
	char why[sizeof(unit->disabled.why)];
	(void)snprintf(
		why, sizeof(why), "its kettle-exec has not answered for %d s; it may hang", ENGINE_HEARTBEAT_SILENT_MS / 1000);
	/* A unit that is disabled for another reason stays disabled when it answers. */
	if (!unit->disabled.cause) {
		unit_health_disable(engine, unit, UNIT_SILENT, why);
		unit_health_remember(engine, unit, why);
	}
	engine_each_job(engine, take_back, unit);
}

static void
on_heartbeat(void *arg, const struct kettle_error *err)
{
	struct heartbeat *heartbeat = arg;
	struct engine *engine = heartbeat->engine;
	struct unit *unit = heartbeat->unit;
	uint64_t waited_ms = heartbeat->waited_ms;
	free(heartbeat);
	if (!unit)
		return;
	unit->heartbeat.open = NULL;
	unit->heartbeat.next_ms = clock_ms(engine->setup.clock) + ENGINE_HEARTBEAT_MS;
	if (err->code != 0)
		return;
	if (waited_ms > ENGINE_HEARTBEAT_LATE_MS)
		log_write(KETTLE_LOG_WARNING, "engine",
			"the kettle-exec of unit %s answered a heartbeat after %llu ms; check the load and the disks of its "
			"machine",
			unit->label, (unsigned long long)waited_ms);
	if (unit->disabled.cause != UNIT_SILENT)
		return;
	unit_health_ready(engine, unit, false, "its kettle-exec responds again");
	unit_health_remember(engine, unit, "its kettle-exec responds again");
}

static void
ask(struct engine *engine, struct unit *unit)
{
	struct kettle_error err = {0};
	const struct runner *runner = unit->runner;
	struct heartbeat *heartbeat = xnew(struct heartbeat, .engine = engine, .unit = unit);
	unit->heartbeat.open = heartbeat;
	unit->heartbeat.next_ms = clock_ms(engine->setup.clock) + ENGINE_HEARTBEAT_MS;
	if (runner->ops->heartbeat(runner->self, unit->config, on_heartbeat, heartbeat, &err) == 0)
		return;
	unit->heartbeat.open = NULL;
	free(heartbeat);
}

static void
wait_on(struct engine *engine, struct unit *unit, uint64_t elapsed_ms)
{
	bool was_silent = unit->heartbeat.open->waited_ms >= ENGINE_HEARTBEAT_SILENT_MS;
	unit->heartbeat.open->waited_ms += elapsed_ms;
	if (!was_silent && unit->heartbeat.open->waited_ms >= ENGINE_HEARTBEAT_SILENT_MS)
		quarantine(engine, unit);
}

void
heartbeat_tick(struct engine *engine)
{
	uint64_t now = clock_ms(engine->setup.clock), elapsed = now - engine->heartbeat_ms;
	engine->heartbeat_ms = now;
	for (struct device *device = engine->stop.begun ? NULL : engine->devices; device; device = device->next)
		for (struct unit *unit = device->units; unit; unit = unit->next) {
			if (unit->heartbeat.open)
				wait_on(engine, unit, elapsed < TICK_MAX_MS ? elapsed : TICK_MAX_MS);
			else if ((unit->active || unit->disabled.cause == UNIT_SILENT) && unit->runner->ops->heartbeat &&
					 now >= unit->heartbeat.next_ms)
				ask(engine, unit);
		}
}
