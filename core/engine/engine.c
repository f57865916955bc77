/* SPDX-License-Identifier: MIT */
/* The engine: its jobs, the scheduler, start and stop. See engine.h for the theory of operation. */
#include <config.h>

#include "engine/engine.h"

#include "base/base.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/engine_internal.h"
#include "judge/unit_facts.h"
#include "model/rate_limit.h"
#include "model/jobs.h"
#include "model/remote_names.h"
#include "model/settings.h"

#include <assert.h>

/* ---- names on remote sides ---- */

struct epoch {
	struct store *store; /* the engine may be gone before the answer */
	struct remote_names names;
};

static int
epoch_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct epoch *epoch = arg;
	return remote_names_renew(db, &epoch->names, err);
}

static int
confirm_op(struct db *db, void *arg, struct kettle_error *err)
{
	const struct epoch *epoch = arg;
	return remote_names_confirm(db, &epoch->names, err);
}

static void
on_confirmed(void *arg, const struct kettle_error *err)
{
	(void)err; /* both epochs stay valid */
	free(arg);
}

static void
on_epoch(void *arg, const struct kettle_error *err)
{
	struct epoch *epoch = arg;
	if (!err && *epoch->names.database_epoch)
		store_later(epoch->store, confirm_op, on_confirmed, epoch);
	else
		free(epoch);
}

/* Renews the database's epoch, so that no old copy of the database may use the name of a job that starts now. */
static void
renew_epoch(struct engine *engine)
{
	uint64_t now = clock_ms(engine->setup.clock);
	if (now < engine->names.epoch_at_ms)
		return;
	struct epoch *epoch = xnew(struct epoch, .store = engine->setup.store);
	engine->names.epoch_at_ms = now + REMOTE_EPOCH_MS;
	store_write(epoch->store, epoch_op, on_epoch, epoch);
}

/* ---- the scheduler ---- */

static bool
may_run_unfit(struct fair_queue_item *item, void *arg)
{
	return unit_fitness_allows(arg, (struct engine_job *)item);
}

/* Takes the next job from the device's queue that may start on this unit; NULL: there is none. */
static struct fair_queue_item *
take_for(const struct engine *engine, struct device *device, struct unit *unit)
{
	if (!unit->fitness.causes)
		return fair_queue_take(device->queue);
	if (!unit_fitness_may_allow(engine, unit))
		return NULL;
	struct fair_queue_item *item = fair_queue_take_where(device->queue, may_run_unfit, unit);
	if (!item)
		device->unfit.expired = false; /* no job has waited too long */
	return item;
}

/*
 * Takes the next job from the device's queue that a unit has room for, and sets that unit. NULL: there is none. Units
 * that are unfit to score come first, to leave the others to the jobs that need them.
 */
static struct engine_job *
take_next(const struct engine *engine, struct device *device, struct unit **ret_unit)
{
	struct fair_queue_item *item = NULL;
	for (int pass = 0; pass < 4 && !item; pass++) {
		bool prefetch = pass >= 2, fit = pass % 2;
		for (struct unit *unit = device->units; unit && !item; unit = unit->next) {
			*ret_unit = unit;
			if (fit == !unit->fitness.causes && engine_unit_has_room(engine, unit, prefetch))
				item = take_for(engine, device, unit);
		}
	}
	if (item)
		device->unranked -= !((struct engine_job *)item)->ranked;
	return (struct engine_job *)item;
}

void
engine_schedule(struct engine *engine)
{
	engine->dirty = false;
	/* Until the load is done, the engine does not know which units are disabled. */
	if (engine->load.state != LOAD_DONE || engine->stop.begun || clock_ms(engine->setup.clock) < engine->pause_until_ms)
		return;
	for (struct device *device = engine->devices; device; device = device->next) {
		struct unit *unit;
		unit_fitness_note_wait(engine, device);
		if (device->awaiting_units.first)
			multi_device_release(device);
		struct engine_job *job;
		while (fair_queue_length(device->queue) > 0 && !budget_is_spent(device) &&
			   (job = take_next(engine, device, &unit))) {
			if (budget_holds(job))
				continue;
			renew_epoch(engine);
			engine_job_start(job, unit);
		}
	}
}

static void
on_prepare(uv_prepare_t *prepare)
{
	struct engine *engine = prepare->data;
	while (engine->dirty)
		engine_schedule(engine);
}

static void
finish_stop(struct engine *engine)
{
	if (!engine->stop.begun || engine->in_flight > 0 || !engine->stop.done)
		return;
	void (*stopped)(void *) = STEAL(engine->stop.done);
	stopped(engine->stop.arg);
}

static void
hand_back(struct engine_job *job, void *arg)
{
	(void)arg;
	if (job->state == JOB_ACTIVE && !engine_job_detach(job))
		engine_job_stop(job, STOP_HAND_BACK);
}

/* Whether the job waits on a remote side that a reload has removed from its device, where it may wait for ever. */
static bool
waits_in_vain(const struct engine_job *job)
{
	const struct unit *unit = job->unit;
	return job->state == JOB_ACTIVE && job->stop == STOP_NO && job->phase == PHASE_WAITING && unit->removed &&
		   unit->runner->ops->recover && !engine_unit_find(job->engine, job->device->name, unit->key);
}

static void
check_time(struct engine_job *job, void *arg)
{
	(void)arg;
	uint64_t now = clock_ms(job->engine->setup.clock);
	if (job->engine->stop.begun && engine_job_detach(job))
		return;
	if (waits_in_vain(job))
		engine_job_stop(job, STOP_HAND_BACK);
	else if (job->state == JOB_ACTIVE && job->deadline_ms && now >= job->deadline_ms)
		engine_job_overdue(job);
	else if (job->again.write && (now >= job->again.at_ms || job->engine->stop.begun))
		engine_job_retry_writes(job);
}

static void
on_tick(void *arg)
{
	struct engine *engine = arg;
	uint64_t now = clock_ms(engine->setup.clock);
	engine_each_job(engine, check_time, NULL);
	unit_health_tick(engine);
	unit_fitness_tick(engine);
	heartbeat_tick(engine);
	budget_tick(engine);
	if (engine->stop.begun && now >= engine->stop.at_ms)
		engine_each_job(engine, hand_back, NULL);
	if (!engine->stop.begun && engine->load.state != LOAD_UNDER_WAY && engine->load.again_at_ms &&
		now >= engine->load.again_at_ms)
		engine_start(engine);
	engine_schedule(engine);
	finish_stop(engine);
}

int
engine_new(const struct engine_setup *setup, struct engine **ret_engine, struct kettle_error *err)
{
	struct engine *engine = xnew(struct engine, .setup = *setup, .metrics.since_utc_ms = clock_utc_ms(setup->clock));
	(void)uv_prepare_init(setup->loop, &engine->prepare);
	engine->prepare.data = engine;
	int rc = engine_devices_load(engine, setup->devices, err);
	if (rc < 0) {
		engine_free(engine);
		return rc;
	}
	clock_timer_start(setup->clock, &engine->tick, ENGINE_TICK_MS, ENGINE_TICK_MS, on_tick, engine);
	(void)uv_prepare_start(&engine->prepare, on_prepare);
	uv_unref((uv_handle_t *)&engine->prepare);
	*ret_engine = engine;
	return 0;
}

struct load {
	struct engine *engine;
	json_t *jobs, *units, *recent, *configured, *used;
	struct remote_names names;
	bool first; /* the engine's first load, which also loads the names */
};

static int
load_open(struct db *db, void *arg, struct kettle_error *err)
{
	struct load *load = arg;
	/* Comes before the jobs: in a copy of a database they lose their handles. */
	int rc = load->first ? remote_names_load(db, &load->names, err) : 0;
	if (rc == 0)
		rc = jobs_open(db, &load->jobs, err);
	if (rc == 0)
		rc = jobs_recent(db, &load->recent, err);
	if (rc == 0)
		rc = device_usage_today(db, &load->used, err);
	return rc < 0 ? rc : settings_units_match(db, load->configured, &load->units, err);
}

/* NULL: the device is not configured, which is logged. The job stays in the database. */
static struct engine_job *
add_job(struct engine *engine, int64_t id, int64_t submission, int64_t user, const char *device_name)
{
	struct device *device = engine_device_find(engine, device_name);
	if (!device)
		log_write(KETTLE_LOG_WARNING, "engine",
			"job %lld waits for device `%s`, which is no longer configured; add it to `devices` and reload",
			(long long)id, device_name);
	return device ? engine_job_add(engine, device, id, submission, user) : NULL;
}

static void
load_job(struct engine *engine, const json_t *row)
{
	json_int_t id = 0, submission = 0, user = 0, attempt = 0, queued_at = 0;
	const char *device = "", *state = "";
	(void)json_unpack((json_t *)row, "{s:I, s:I, s:I, s:s, s:s, s?I, s?I}", "job", &id, "submission", &submission,
		"user", &user, "device", &device, "state", &state, "attempt", &attempt, "queued_at", &queued_at);
	if (engine_job_find(engine, id))
		return;
	struct engine_job *job = add_job(engine, id, submission, user, device);
	if (!job)
		return;
	job->attempt = attempt;
	job->ranked = member_is(row, "mode", "ranked");
	/* The time of acceptance on the monotonic clock, which may have restarted since; at least 1. */
	int64_t ago_ms = clock_utc_ms(engine->setup.clock) - queued_at;
	uint64_t now = clock_ns(engine->setup.clock), ago = ago_ms > 0 ? (uint64_t)ago_ms * 1000000 : 0;
	job->stamps.accepted_ns = ago < now ? now - ago : 1;
	if (strcmp(state, "running") == 0)
		engine_job_recover(job, row);
	else
		engine_job_queue(job);
}

static void
take_names(struct engine *engine, const struct remote_names *names)
{
	engine->names.known = true;
	(void)snprintf(engine->names.prefix, sizeof(engine->names.prefix), "%s", names->prefix);
	if (names->copied || names->released > 0)
		log_write(KETTLE_LOG_WARNING, "engine",
			"this database is a copy of another one: its jobs get new names on remote sides, which begin with "
			"kettle-%s, and %lld jobs that ran there run again",
			names->prefix, (long long)names->released);
	engine->names.epoch_at_ms = clock_ms(engine->setup.clock) + REMOTE_EPOCH_MS;
	struct epoch *epoch = xnew(struct epoch, engine->setup.store, *names);
	on_epoch(epoch, NULL);
}

static void
on_loaded(void *arg, const struct kettle_error *err)
{
	struct load *load = arg;
	struct engine *engine = load->engine;
	engine->load.state = !err && engine->load.again_at_ms == 0 ? LOAD_DONE : LOAD_NEEDED;
	engine->in_flight--;
	if (err)
		engine->load.again_at_ms = clock_ms(engine->setup.clock) + ENGINE_STORE_RETRY_MS;
	if (load->first && !err)
		take_names(engine, &load->names);
	unit_health_load(engine, load->units);
	expected_wait_load(engine, load->recent);
	budget_load(engine, load->used);
	/* An engine that stops leaves the jobs to its next start. */
	json_array_each(engine->stop.begun ? NULL : load->jobs, row)
		load_job(engine, row);
	size_t open = json_array_size(load->jobs);
	if (open > 0 && !engine->stop.begun)
		log_write(KETTLE_LOG_INFO, "engine", "continuing with %zu open job%s", open, open == 1 ? "" : "s");
	if (err)
		log_write(
			KETTLE_LOG_ERROR, "engine", "the open jobs could not be loaded and will be retried soon: %s", err->message);
	engine_schedule(engine);
	json_decref_all(load->jobs, load->units, load->recent, load->configured, load->used);
	free(load);
}

void
engine_start(struct engine *engine)
{
	struct load *load = xcalloc(1, sizeof(*load));
	*load =
		(struct load){.engine = engine, .configured = engine_units_configured(engine), .first = !engine->names.known};
	assert(engine->load.state != LOAD_UNDER_WAY);
	engine->load.state = LOAD_UNDER_WAY;
	engine->load.again_at_ms = 0;
	engine->in_flight++;
	/* A write sees what earlier writes stored of units, and settings_units_match stores what it finds. */
	store_write(engine->setup.store, load_open, on_loaded, load);
}

int
engine_reload(struct engine *engine, const json_t *devices, struct kettle_error *err)
{
	int rc = engine_devices_load(engine, devices, err);
	if (rc < 0)
		return rc;
	/* The database may have jobs of a device that came back. */
	if (engine->load.state == LOAD_UNDER_WAY)
		engine->load.again_at_ms = clock_ms(engine->setup.clock);
	else if (!engine->stop.begun)
		engine_start(engine);
	engine_schedule(engine);
	return 0;
}

bool
engine_loaded(const struct engine *engine)
{
	return engine->load.state == LOAD_DONE;
}

void
engine_take_languages(struct engine *engine, const struct languages *languages)
{
	engine->setup.languages = languages;
}

void
engine_limit(struct engine *engine, int64_t artifact_bytes, int64_t artifact_user_bytes)
{
	engine->setup.artifact_bytes = artifact_bytes;
	engine->setup.artifact_user_bytes = artifact_user_bytes;
}

static void
accept_jobs(struct engine *engine, const struct event *event)
{
	for (size_t i = 0; i < json_array_size(event->jobs); i++) {
		const char *device;
		int64_t id = event_job(event, i, &device);
		if (!device[0] || engine_job_find(engine, id))
			continue;
		struct engine_job *job = add_job(engine, id, event->submission, event->user, device);
		if (!job)
			continue;
		job->ranked = member_is(json_object_get(event->json, "data"), "mode", "ranked");
		engine_job_queue(job);
	}
	engine_schedule(engine);
}

/* Stops the running jobs that an event cancelled, and forgets the waiting ones. */
static void
cancel_jobs(struct engine *engine, const struct event *event)
{
	for (size_t i = 0; i < json_array_size(event->jobs); i++) {
		const char *device;
		struct engine_job *job = engine_job_find(engine, event_job(event, i, &device));
		if (!job)
			continue;
		if (job->state == JOB_QUEUED)
			engine_job_forget(job);
		else
			engine_job_stop(job, STOP_CANCEL);
	}
	engine_schedule(engine);
}

void
engine_event(struct engine *engine, const struct event *event)
{
	const char *kind = event->kind;
	metrics_event(engine, event);
	if (strcmp(kind, "submission.accepted") == 0 || strcmp(kind, "submission.rerun") == 0)
		accept_jobs(engine, event);
	else if (strcmp(kind, "submission.cancelled") == 0 || strcmp(kind, "submission.deleted") == 0 ||
			 strcmp(kind, "leaderboard.deleted") == 0)
		cancel_jobs(engine, event);
}

/* The position of a job that its runner cannot bring to its remote side; NULL: it can. New reference. */
static json_t *
waiting_position(const struct engine_job *job)
{
	AUTO_FREE char *waits = unit_health_sentence(job->unit);
	return waits ? json_pack("{s:s, s:s, s:o}", "device", job->device->name, "waits", waits, "obstacle",
					   unit_health_obstacle(job->unit))
				 : NULL;
}

/* Why ranked jobs wait, where all units of a device are unfit. New reference. */
static json_t *
fitness_reason(const struct unit *unit)
{
	AUTO_FREE char *why = unit_fitness_why(unit->fitness.causes);
	return json_sprintf(
		"No `%s` unit is fit to score, and ranked submissions wait. %s: %s.", unit->device->name, unit->label, why);
}

json_t *
engine_queue_position(const struct engine *engine, int64_t id, int64_t user)
{
	const struct engine_job *job = engine_job_find(engine, id);
	if (!job || (user && job->user != user))
		return NULL;
	if (job->state == JOB_ACTIVE && job->phase == PHASE_WAITING)
		return waiting_position(job);
	if (job->state != JOB_QUEUED)
		return NULL;
	if (job->held.why)
		return json_pack("{s:s, s:s}", "device", job->device->name, "waits", job->held.why);
	size_t place = fair_queue_position(job->device->queue, &job->item);
	json_t *spent = budget_reason(job->device);
	int64_t wait_s = spent ? -1 : expected_wait_s(job->device, place);
	const struct unit *blocking = unit_health_blocking(job->device), *unfit = unit_fitness_blocking(job);
	return json_pack("{s:I, s:I, s:s, s:o*, s:o*, s:o*}", "place", (json_int_t)place, "length",
		(json_int_t)fair_queue_length(job->device->queue), "device", job->device->name, "waits",
		spent   ? spent
		: unfit ? fitness_reason(unfit)
				: multi_device_shortage(job->device),
		"wait_s", wait_s < 0 || unfit ? NULL : json_integer(wait_s), "obstacle",
		spent      ? NULL
		: blocking ? unit_health_obstacle(blocking)
		: unfit    ? unit_fitness_describe(unfit)
				   : NULL);
}

/* ---- devices as people see them ---- */

static json_t *
jobs_of_unit(const struct unit *unit)
{
	json_t *jobs = json_array();
	for (const struct engine_job *job = unit->jobs; job; job = job->unit_next)
		(void)json_array_append_new(jobs, json_pack("{s:I, s:I, s:I}", "job", (json_int_t)job->id, "submission",
											  (json_int_t)job->submission, "user", (json_int_t)job->user));
	return jobs;
}

static json_t *
describe_unit(const struct engine *engine, const struct unit *unit)
{
	AUTO_FREE char *waits = unit_health_sentence(unit);
	AUTO_FREE char *unfit = unit->fitness.causes ? unit_fitness_why(unit->fitness.causes) : NULL;
	const char *reason = unit->disabled.cause                      ? unit->disabled.why
						 : unit->obstacles[UNIT_AWAY].said_ns      ? waits
						 : unit->obstacles[UNIT_UNUSABLE].said_ns  ? unit->obstacles[UNIT_UNUSABLE].why
						 : unit->losses.count >= ENGINE_LOSSES_ONE ? unit->losses.why
																   : unfit;
	AUTO_FREE char *model = unit->machine.learned ? xstrdup(unit->machine.learned) : unit_model(unit->machine.facts);
	return json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:i, s:i, s:i, s:i, s:o, s:O, s:s, s:s*, s:o*, s:o*, s:o*}", "unit",
		unit->label, "runner", unit->runner->name, "state", engine_unit_state(engine, unit), "reason", reason, "cause",
		unit_cause_name(unit->disabled.cause), "slots", (int)unit->slots, "prefetch", (int)unit->prefetch, "active",
		(int)unit->active, "running", (int)unit->running, "jobs", jobs_of_unit(unit), "config", unit->config, "key",
		unit->key, "model", model, "expect", unit_model_expect(unit), "obstacle", unit_health_obstacle(unit), "unfit",
		unit_fitness_describe(unit));
}

int
engine_ready(const struct engine *engine, struct kettle_error *err)
{
	const struct unit *first = NULL;
	if (engine->stop.begun)
		return kettle_fail(err, KETTLE_ECANCELED, "The engine is stopping.");
	if (!engine_loaded(engine))
		return kettle_fail(err, KETTLE_EUNAVAIL, "The engine has not loaded its jobs yet.");
	for (const struct device *device = engine->devices; device; device = device->next)
		for (const struct unit *unit = device->units; unit; unit = unit->next) {
			if (unit_condition(unit) == CONDITION_IN_ORDER)
				return 0;
			if (!first && !unit->removed)
				first = unit;
		}
	if (!first)
		return kettle_fail(err, KETTLE_EUNAVAIL, "No unit is configured.");
	return kettle_fail(
		err, KETTLE_EUNAVAIL, "No unit can take a job: `%s` is %s.", first->label, engine_unit_state(engine, first));
}

json_t *
engine_devices(const struct engine *engine)
{
	json_t *list = json_array();
	for (const struct device *device = engine->devices; device; device = device->next) {
		json_t *units = json_array();
		for (const struct unit *unit = device->units; unit; unit = unit->next)
			if (!unit->removed || unit->active)
				(void)json_array_append_new(units, describe_unit(engine, unit));
		size_t waiting = engine_device_queued(device);
		json_t *spent = budget_reason(device);
		if (json_array_size(units) == 0 && waiting == 0) {
			json_decref(spent);
			json_decref(units); /* removed, and no request waits for it */
			continue;
		}
		(void)json_array_append_new(list,
			json_pack("{s:s, s:I, s:o*, s:o*, s:o*, s:o}", "name", device->name, "queued", (json_int_t)waiting, "waits",
				spent     ? spent
				: waiting ? multi_device_shortage(device)
						  : NULL,
				"wait_s", spent ? NULL : expected_wait_next(engine, device), "budget", budget_describe(device), "units",
				units));
	}
	return list;
}

void
engine_stop(struct engine *engine, uint64_t grace_ms, void (*done)(void *arg), void *arg)
{
	engine->stop.begun = true;
	engine->stop.at_ms = clock_ms(engine->setup.clock) + grace_ms;
	engine->stop.done = done;
	engine->stop.arg = arg;
	if (grace_ms == 0)
		engine_each_job(engine, hand_back, NULL);
	/* The tick calls done; this function never does. */
	clock_timer_start(engine->setup.clock, &engine->tick, 1, engine->in_flight ? 10 : ENGINE_TICK_MS, on_tick, engine);
}

static void
on_prepare_closed(uv_handle_t *handle)
{
	struct engine *engine = handle->data;
	while (engine->jobs.first)
		engine_job_forget(engine->jobs.first);
	engine_devices_free(engine);
	json_decref(engine->metrics.submissions);
	free(engine);
}

void
engine_free(struct engine *engine)
{
	if (!engine)
		return;
	assert(engine->in_flight == 0);
	clock_timer_stop(&engine->tick);
	uv_close((uv_handle_t *)&engine->prepare, on_prepare_closed);
}
