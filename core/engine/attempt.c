/* SPDX-License-Identifier: MIT */
/* One job of the engine on its unit: start, phases, recovery, stop. */
#include <config.h>

#include "engine/engine_internal.h"

#include "base/base.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/text.h"
#include "model/settings.h"
#include "task/task.h"

#include <assert.h>
#include <limits.h>

static void
enter_unit(struct engine_job *job, struct unit *unit)
{
	assert(!job->unit);
	engine_job_enter(job, JOB_STARTING);
	job->unit = unit;
	if (!unit)
		return;
	unit->active++;
	job->unit_previous = NULL;
	job->unit_next = unit->jobs;
	if (unit->jobs)
		unit->jobs->unit_previous = job;
	unit->jobs = job;
}

/* The milliseconds that the job's build steps, or its run steps, may take: their wall limits and ENGINE_SLACK_MS. */
static uint64_t
budget_ms(const struct engine_job *job, bool running)
{
	double seconds = plan_wall_s(job->plan, running);
	/* kettle-exec runs a step a second time if the GPU was throttled. */
	if (running && job->unit && json_array_size(job->unit->gpus) > 0)
		seconds *= 2;
	return (uint64_t)(seconds * 1000) + ENGINE_SLACK_MS;
}

static void
enter_phase(struct engine_job *job, enum job_phase phase)
{
	uint64_t now = clock_ms(job->engine->setup.clock);
	assert(job->state == JOB_ACTIVE && job->phase != PHASE_SENDING);
	if (job->phase == PHASE_RUNNING)
		multi_device_run(job, false);
	job->phase = phase;
	switch (phase) {
	case PHASE_BUILDING:
		/* A machine that exists for this job alone is in use from the start. */
		job->used.from_ms = job->unit->runner->ops->describe ? 0 : now;
		job->used.to_ms = 0;
		job->deadline_ms = now + budget_ms(job, false);
		/* A remote side that recovers jobs need not report the end of the build. */
		if (job->unit->runner->ops->recover)
			job->deadline_ms += budget_ms(job, true);
		break;
	case PHASE_WAITING:
		job->used.from_ms = 0;
		job->deadline_ms = 0;
		break;
	case PHASE_RUNNING:
		job->used.from_ms = job->used.from_ms ? job->used.from_ms : now;
		multi_device_run(job, true);
		job->deadline_ms = now + budget_ms(job, true);
		break;
	case PHASE_SENDING:
		job->used.to_ms = now;
		job->deadline_ms = now + ENGINE_SLACK_MS;
		break;
	}
}

/* The machine sends what the job left: one limit for `bytes` replaces those of the steps. Only the first report counts. */
static void
enter_sending(struct engine_job *job, int64_t bytes)
{
	if (job->phase == PHASE_SENDING)
		return;
	enter_phase(job, PHASE_SENDING);
	if (bytes > ENGINE_SENDING_MAX_BYTES)
		bytes = ENGINE_SENDING_MAX_BYTES;
	job->deadline_ms += bytes > 0 ? (uint64_t)bytes * 1000 / ENGINE_SENDING_BYTES_A_SECOND : 0;
}

/* elsewhere: on a machine without the device. */
static void
enter_building(struct engine_job *job, bool elsewhere)
{
	enter_phase(job, PHASE_BUILDING);
	if (elsewhere)
		job->used.from_ms = 0;
}

static void
on_attempt_event(struct inflight_job *inflight, const json_t *event)
{
	struct engine_job *job = CONTAINER_OF(inflight, struct engine_job, inflight);
	const char *name = json_text_or_null(event, "event");
	bool elsewhere = member_true(event, "elsewhere");
	if (!name || job->state != JOB_ACTIVE || job->stop != STOP_NO)
		return;
	if (strcmp(name, "started") == 0 && !elsewhere)
		unit_health_usable(job);
	if (strcmp(name, "sending") == 0)
		enter_sending(job, member_int(event, "bytes"));
	else if (job->phase == PHASE_SENDING)
		; /* only the completion comes after it */
	else if (strcmp(name, "waiting") == 0)
		enter_phase(job, PHASE_WAITING);
	else if (strcmp(name, "started") == 0 && job->phase == PHASE_WAITING)
		enter_building(job, elsewhere);
	else if (strcmp(name, "device") == 0)
		enter_phase(job, PHASE_RUNNING);
	json_t *shown = plan_redact_event(job->plan, event);
	if (shown)
		engine_progress(job, shown);
}

struct handle_write {
	struct job_write write; /* first; the job may be gone when the write ends */
	struct engine *engine;
	char *handle, *runner; /* runner: the name of the one that made the handle */
	char plan_hash[65];
	kettle_answer answer;
	void *arg;
};

static int
handle_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct handle_write *op = arg;
	const struct job_handle handle = {op->handle, op->runner, op->plan_hash};
	return jobs_set_handle(db, op->write.id, op->write.attempt, &handle, err);
}

static void
handle_stored(void *arg, const struct kettle_error *err)
{
	struct handle_write *op = arg;
	struct engine_job *job = engine_job_find(op->engine, op->write.id);
	AUTO_JSON json_t *result = json_object();
	failpoint("engine.handle");
	if (!err && job && job->attempt == op->write.attempt)
		job->handled = true;
	op->engine->in_flight--;
	struct kettle_error none = {0};
	if (op->answer)
		op->answer(op->arg, err ? err : &none, err ? NULL : result);
	else if (err)
		log_write(KETTLE_LOG_WARNING, "engine", "cannot store the handle of job %lld: %s", (long long)op->write.id,
			err->message);
	free_all(op->handle, op->runner, op);
}

static void
on_handle(struct inflight_job *inflight, const char *handle, kettle_answer answer, void *arg)
{
	struct engine_job *job = CONTAINER_OF(inflight, struct engine_job, inflight);
	struct handle_write *op = job_write_new(job, sizeof(*op));
	op->engine = job->engine;
	op->engine->in_flight++; /* until handle_stored */
	op->handle = xstrdup(handle);
	op->runner = xstrdup(job->unit->runner->name);
	memcpy(op->plan_hash, job->plan_hash, sizeof(op->plan_hash));
	op->answer = answer;
	op->arg = arg;
	job_write_write(&op->write, handle_op, handle_stored);
}

static void
on_done(struct inflight_job *inflight, const struct completion *completion)
{
	struct engine_job *job = CONTAINER_OF(inflight, struct engine_job, inflight);
	attempt_end_complete(job, completion);
}

static void
register_live(struct engine_job *job)
{
	(void)snprintf(
		job->inflight.ref, sizeof(job->inflight.ref), "%lld.%lld", (long long)job->id, (long long)job->attempt);
	job->inflight.event = on_attempt_event;
	job->inflight.handle = on_handle;
	job->inflight.done = on_done;
}

/* A job as its runner gets it, with the buffers that it points into. */
struct description {
	struct kettle_job job;
	char spool[PATH_MAX], name[80];
};

static void
describe_job(const struct engine_job *job, const json_t *section, struct description *ret)
{
	const char *folder = job->engine->setup.spool, *ref = job->inflight.ref;
	bool fits = folder && snprintf(ret->spool, sizeof(ret->spool), "%s/%s.run", folder, ref) < PATH_MAX;
	(void)snprintf(ret->name, sizeof(ret->name), "kettle-%s-%s", job->engine->names.prefix, ref);
	ret->job = (struct kettle_job){
		.size = sizeof(struct kettle_job),
		.ref = ref,
		.device = job->device->name,
		.unit = section,
		.deadline_ms = job->plan ? budget_ms(job, false) + budget_ms(job, true) : 0,
		.spool = fits ? ret->spool : NULL,
		.name = ret->name,
		.plan_hash = job->plan_hash[0] ? job->plan_hash : NULL,
	};
}

/* Sets the job's plan_hash if its runner can recover jobs, else clears it. */
static void
hash_plan(struct engine_job *job)
{
	job->plan_hash[0] = '\0';
	if (!job->unit->runner->ops->recover)
		return;
	AUTO_FREE char *text = json_dumps(job->plan->json, JSON_COMPACT | JSON_SORT_KEYS);
	sha256_hex(text, strlen(text), job->plan_hash);
}

/* The unit's section with its facts and its calibration, as planning needs them. New reference. */
static json_t *
planned_unit(const struct engine_job *job)
{
	json_t *device = json_copy(job->unit->config);
	if (json_is_object(job->unit->machine.calibration))
		json_object_set(device, "calibration", job->unit->machine.calibration);
	if (job->unit->machine.facts)
		json_object_set(device, "facts", job->unit->machine.facts);
	return device;
}

static int
plan(struct engine_job *job, const struct job_material *material, struct kettle_error *err)
{
	AUTO_JSON json_t *device = planned_unit(job);
	char owner[32];
	(void)snprintf(owner, sizeof(owner), "user-%lld", (long long)job->user);
	job->languages = job->engine->setup.languages;
	int rc = plan_make(job->languages, material->bundle, material->code, material->mode, device, material->seed,
		material->capture, &job->plan, err);
	if (rc)
		return rc;
	plan_set_owner(job->plan, owner);
	job->ranked = strcmp(material->mode, "ranked") == 0;
	job->task = json_incref(json_object_get(material->bundle, "task"));
	return 0;
}

/*
 * Frees what an active job no longer needs, since thousands of jobs of one task may be in flight for hours. Equal tasks
 * and steps are shared with the device's last plan. Only the manifest of a profile still needs the contents of the
 * plan's files.
 */
static void
slim(struct engine_job *job)
{
	struct device *device = job->device;
	if (!attempt_leaves_files(job->plan))
		(void)json_object_del(job->plan->json, "files");
	plan_share(job->plan, device->last_plan.steps);
	if (json_equal(job->task, device->last_plan.task)) {
		json_decref(job->task);
		job->task = json_incref(device->last_plan.task);
	}
	json_decref(device->last_plan.task);
	device->last_plan.task = json_incref(job->task);
	json_decref(device->last_plan.steps);
	device->last_plan.steps = json_incref(json_object_get(job->plan->json, "steps"));
}

/* The unit's section for the runner, with the job's other units, the expected model, and whether it scores. New reference. */
static json_t *
expecting_section(const struct engine_job *job)
{
	AUTO_JSON json_t *units = multi_device_section(job), *expect = unit_model_expect(job->unit);
	json_t *section = json_copy(units);
	if (expect)
		(void)json_object_set(section, "expect", expect);
	if (job->ranked)
		(void)json_object_set_new(section, "score", json_true());
	return section;
}

static void
submit(struct engine_job *job, const struct job_material *material)
{
	struct kettle_error err = {0};
	int rc = plan(job, material, &err);
	if (rc < 0) {
		attempt_end_refuse(job, rc == KETTLE_EINVAL ? "task" : "operator", err.message);
		return;
	}
	if (job->ranked && !unit_fitness_runs(job->unit)) {
		attempt_end_unfit(job, false, job->unit->fitness.causes);
		return;
	}
	rc = multi_device_take(job, &err);
	if (rc == KETTLE_EINVAL || (rc < 0 && job->unfit_since_ms && unit_fitness_waits_long(job))) {
		attempt_end_refuse(job, rc == KETTLE_EINVAL ? "task" : "machine", err.message);
		return;
	}
	if (rc < 0) {
		attempt_end_requeue(job, job->held.why ? KETTLE_LOSS_HANDED_BACK : KETTLE_LOSS_NODE_FAULT, err.message);
		return;
	}
	AUTO_JSON json_t *section = expecting_section(job);
	register_live(job);
	if (inflight_add(job->engine->setup.inflight, &job->inflight) < 0) {
		attempt_end_requeue(job, KETTLE_LOSS_HANDED_BACK, "its last attempt has not ended");
		return;
	}
	engine_job_enter(job, JOB_ACTIVE);
	enter_phase(job, PHASE_BUILDING);
	hash_plan(job);
	struct description description;
	describe_job(job, section, &description);
	job->stamps.submitted_ns = clock_ns(job->engine->setup.clock);
	job->sent_utc_ms = clock_utc_ms(job->engine->setup.clock);
	failpoint("engine.submit");
	rc = job->unit->runner->ops->submit(job->unit->runner->self, &description.job, job->plan->json, &err);
	/* If the runner completed the job before submit returned, the return value does not matter. */
	if (rc != 0 && job->state == JOB_ACTIVE) {
		const char *name = job->unit->runner->name;
		if (rc > 0)
			log_write(KETTLE_LOG_WARNING, name, "submit returned %d, which is neither 0 nor an error code", rc);
		if (rc < 0 && !err.message[0])
			log_write(KETTLE_LOG_WARNING, name, "submit returned the error %d without a message", rc);
		inflight_remove(job->engine->setup.inflight, &job->inflight);
		attempt_end_lost(
			job, err.message[0] ? err.message : "the runner refused the job without a reason", KETTLE_LOSS_NODE_FAULT);
		return;
	}
	if (job->state == JOB_ACTIVE)
		slim(job);
	failpoint("engine.submitted");
}

/* The database's part of the start or the recovery of a job. */
struct start_write {
	struct job_write write; /* first */
	char label[96];
	char *key;    /* of the unit */
	char *runner; /* of the unit, or the one that made the handle; NULL: not known */
	char *handle; /* of a job that was running; NULL: none */
	struct job_material material;
	struct kettle_error no_material;
	json_t *calibration;
};

static struct start_write *
start_write_new(struct engine_job *job, const char *key, const char *runner, const char *handle)
{
	struct start_write *op = job_write_new(job, sizeof(*op));
	op->key = xstrdup(key);
	op->runner = runner ? xstrdup(runner) : NULL;
	op->handle = handle ? xstrdup(handle) : NULL;
	return op;
}

static void
start_write_free(struct start_write *op)
{
	job_material_clear(&op->material);
	json_decref(op->calibration);
	free_all(op->key, op->runner, op->handle, op);
}

/* Hands the calibration to the unit, for the plan. */
static void
take_calibration(struct start_write *op, struct unit *unit)
{
	json_decref(STEAL(unit->machine.calibration));
	unit->machine.calibration = STEAL(op->calibration);
}

static int
start_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct start_write *op = arg;
	const struct job_unit unit = {.label = op->label, .key = op->key, .runner = op->runner};
	int rc = jobs_start(db, op->write.id, &unit, &op->write.attempt, err);
	/* Unreadable material uses up an attempt, as a failed run does; otherwise the job would start again for ever. */
	if (rc == 0 && jobs_material(db, op->write.id, &op->material, &op->no_material) == 0)
		rc = settings_unit_calibration(db, op->material.device, op->key, &op->calibration, err);
	return rc;
}

/* The database could not start the job, which is still queued there. */
static void
not_started(struct engine_job *job, const struct kettle_error *err)
{
	if (!job_write_may_pass(err)) {
		attempt_end_drop(job);
		return;
	}
	log_write(KETTLE_LOG_ERROR, "engine", "job %lld cannot be started yet and will be retried: %s", (long long)job->id,
		err->message);
	job->engine->pause_until_ms = clock_ms(job->engine->setup.clock) + ENGINE_STORE_RETRY_MS;
	attempt_end_queue(job);
}

/* Submits the job once its unit's facts are known. late: a sentence if the machine did not describe itself in time, or NULL. */
static void
attempt_go_on(void *arg, const char *late)
{
	struct start_write *op = arg;
	struct engine_job *job = op->write.job;
	if (job->stop == STOP_CANCEL)
		attempt_end_drop(job);
	else if (job->engine->stop.begun)
		attempt_end_requeue(job, KETTLE_LOSS_HANDED_BACK, "handed back when the engine stopped");
	else if (late)
		attempt_end_lost(job, late, KETTLE_LOSS_AWAY);
	else if (job->unit->disabled.cause)
		attempt_end_requeue(job, KETTLE_LOSS_HANDED_BACK, "its unit turned out to be disabled");
	else
		submit(job, &op->material);
	start_write_free(op);
}

static void
on_started(void *arg, const struct kettle_error *err)
{
	struct start_write *op = arg;
	struct engine_job *job = op->write.job;
	failpoint("engine.started");
	if (err || job->stop == STOP_CANCEL) {
		err ? not_started(job, err) : attempt_end_drop(job);
		start_write_free(op);
		return;
	}
	job->attempt = op->write.attempt;
	take_calibration(op, job->unit);
	engine_progress(job, json_pack("{s:s, s:s}", "event", "assigned", "unit", job->unit->label));
	if (!op->material.bundle) {
		/* Unreadable material counts as a failed attempt, unless the engine stops. */
		bool stopping = job->engine->stop.begun;
		attempt_end_requeue(job, stopping ? KETTLE_LOSS_HANDED_BACK : KETTLE_LOSS_NODE_FAULT,
			stopping ? "handed back when the engine stopped" : op->no_material.message);
		start_write_free(op);
	} else if (job->engine->stop.begun || !unit_health_fetch_facts(job->engine, job->unit, attempt_go_on, op)) {
		attempt_go_on(op, NULL);
	}
}

void
engine_job_start(struct engine_job *job, struct unit *unit)
{
	struct start_write *op = start_write_new(job, unit->key, unit->runner->name, NULL);
	assert(!job->held.why && !unit->removed && !unit->disabled.cause);
	job->handled = false;
	job->stamps = (struct timing_stamps){.accepted_ns = job->stamps.accepted_ns,
		.queued_ns = job->stamps.queued_ns,
		.started_ns = clock_ns(job->engine->setup.clock)};
	enter_unit(job, unit);
	(void)snprintf(op->label, sizeof(op->label), "%s", unit->label);
	plan_free(STEAL(job->plan));
	json_decref(STEAL(job->task));
	failpoint("engine.start");
	job_write_write(&op->write, start_op, on_started);
}

static int
material_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct start_write *op = arg;
	int rc = jobs_check_running(db, op->write.id, op->write.attempt, err);
	if (rc == 0)
		rc = jobs_material(db, op->write.id, &op->material, err);
	return rc ? rc : settings_unit_calibration(db, op->material.device, op->key, &op->calibration, err);
}

/* Asks the runner to recover the job, and passes a pending stop on once the runner has found it. */
static int
find_again(struct engine_job *job, const char *handle, struct kettle_error *err)
{
	enum job_stop stop = job->stop;
	register_live(job);
	if (inflight_add(job->engine->setup.inflight, &job->inflight) < 0)
		return kettle_fail(err, KETTLE_ECONFLICT, "It is in flight already.");
	AUTO_JSON json_t *section = json_incref(job->unit->config);
	struct description description;
	describe_job(job, section, &description);
	job->stop = STOP_NO;
	engine_job_enter(job, JOB_ACTIVE);
	enter_phase(job, PHASE_BUILDING);
	int rc = job->unit->runner->ops->recover(job->unit->runner->self, &description.job, handle, err);
	if (job->state != JOB_ACTIVE)
		return 0; /* completed already */
	if (rc < 0) {
		inflight_remove(job->engine->setup.inflight, &job->inflight);
		job->stop = stop;
		return rc;
	}
	slim(job);
	if (stop != STOP_NO)
		engine_job_stop(job, stop);
	return 0;
}

/* Ends what still runs remotely of a job that was cancelled or deleted before it was recovered. The job has no plan. */
static void
end_away(struct engine_job *job, const char *handle)
{
	struct engine *engine = job->engine;
	const struct runner *runner = job->unit->runner;
	const int64_t id = job->id;
	struct kettle_error err = {0};
	struct description description;
	register_live(job);
	if (inflight_add(engine->setup.inflight, &job->inflight) < 0) {
		attempt_end_drop(job);
		return;
	}
	AUTO_JSON json_t *section = json_incref(job->unit->config);
	describe_job(job, section, &description);
	char ref[INFLIGHT_REF_SIZE];
	memcpy(ref, job->inflight.ref, sizeof(ref));
	job->stop = STOP_CANCEL;
	engine_job_enter(job, JOB_ACTIVE);
	job->deadline_ms = clock_ms(engine->setup.clock) + ENGINE_CANCEL_MS;
	int rc = runner->ops->recover(runner->self, &description.job, handle, &err);
	job = engine_job_find(engine, id);
	if (!job)
		return; /* completed already */
	if (rc == 0) {
		runner->ops->cancel(runner->self, ref);
		return;
	}
	log_write(KETTLE_LOG_WARNING, "engine",
		"job %s has ended, but `%s` cannot stop processes that the job may have left: %s", ref, runner->name,
		err.message);
	inflight_remove(engine->setup.inflight, &job->inflight);
	attempt_end_drop(job);
}

/* Drops the job here. The database keeps it with its handle, and the engine loads it again after ENGINE_LOOK_AGAIN_MS. */
static void
look_later(struct engine_job *job, const struct kettle_error *why)
{
	struct engine *engine = job->engine;
	log_write(KETTLE_LOG_WARNING, "engine",
		"job %lld of submission %lld cannot be followed now; the engine tries again in a minute: %s",
		(long long)job->id, (long long)job->submission, why->message);
	if (engine->load.again_at_ms == 0)
		engine->load.again_at_ms = clock_ms(engine->setup.clock) + ENGINE_LOOK_AGAIN_MS;
	attempt_end_drop(job);
}

/* Plans the job again and asks its runner for it. EUNAVAIL: the remote side is not reached; other errors: it has no such job. */
static int
look_for(struct engine_job *job, struct start_write *op, struct kettle_error *err)
{
	take_calibration(op, job->unit);
	/* The engine needs the plan to interpret the outcomes. Planning is a pure function, so this is the same plan. */
	return plan(job, &op->material, err) < 0 ? KETTLE_ENOENT : find_again(job, op->handle, err);
}

static void
recover(void *arg, const struct kettle_error *store_err)
{
	struct start_write *op = arg;
	struct engine_job *job = op->write.job;
	struct kettle_error err = {0};
	const struct runner *runner = job->unit ? job->unit->runner : NULL;
	bool can = op->handle && op->runner && runner && runner->ops->recover && strcmp(runner->name, op->runner) == 0;
	bool ended = job->stop == STOP_CANCEL || (store_err && store_err->code == KETTLE_ECONFLICT);
	int rc = 0;
	job->handled = can;
	if (can && ended)
		end_away(job, op->handle);
	else
		rc = can && !store_err ? look_for(job, op, &err) : KETTLE_ENOENT;
	if (rc == KETTLE_EUNAVAIL)
		look_later(job, &err);
	else if (rc < 0)
		attempt_end_requeue(job, KETTLE_LOSS_ENGINE, "the engine was restarted while it ran");
	start_write_free(op);
}

void
engine_job_recover(struct engine_job *job, const json_t *row)
{
	struct start_write *op = start_write_new(
		job, json_text_or_empty(row, "unit_key"), json_text_or_null(row, "runner"), json_text_or_null(row, "handle"));
	(void)snprintf(job->plan_hash, sizeof(job->plan_hash), "%s", json_text_or_empty(row, "plan_hash"));
	job->sent_utc_ms = member_int(row, "started_at");
	/* NULL: the unit is no longer configured, and the handle is valid on no other unit. */
	enter_unit(job, engine_unit_find(job->engine, job->device->name, op->key));
	store_read(job->engine->setup.store, material_op, recover, op);
}

bool
engine_job_detach(struct engine_job *job)
{
	const struct runner *runner = job->unit ? job->unit->runner : NULL;
	if (job->state != JOB_ACTIVE || job->stop != STOP_NO || !job->handled || !runner->ops->recover ||
		!runner->ops->detach)
		return false;
	char ref[INFLIGHT_REF_SIZE];
	memcpy(ref, job->inflight.ref, sizeof(ref));
	log_write(
		KETTLE_LOG_INFO, "engine", "job %s continues without the engine; `%s` attaches to it again", ref, runner->name);
	inflight_remove(job->engine->setup.inflight, &job->inflight);
	attempt_end_drop(job);
	runner->ops->detach(runner->self, ref);
	return true;
}

void
engine_job_stop(struct engine_job *job, enum job_stop why)
{
	if (job->stop == STOP_CANCEL || (job->stop != STOP_NO && why != STOP_CANCEL))
		return;
	bool stopping = job->stop != STOP_NO;
	job->stop = why;
	if (job->state != JOB_ACTIVE)
		return;
	job->deadline_ms = clock_ms(job->engine->setup.clock) + ENGINE_CANCEL_MS;
	if (stopping)
		return;
	/* The runner may complete and free the job while it still reads the reference, so it gets a copy. */
	const struct runner *runner = job->unit->runner;
	char ref[INFLIGHT_REF_SIZE];
	memcpy(ref, job->inflight.ref, sizeof(ref));
	runner->ops->cancel(runner->self, ref);
}

void
engine_job_overdue(struct engine_job *job)
{
	if (job->stop == STOP_NO) {
		log_write(KETTLE_LOG_WARNING, "engine", "job %s takes longer than its plan allows and is cancelled",
			job->inflight.ref);
		engine_job_stop(job, job->unit->obstacles[UNIT_AWAY].said_ns ? STOP_UNREACHED : STOP_DEADLINE);
		return;
	}
	/* While a heartbeat is late, the heartbeat decides about the unit. */
	if (job->unit->heartbeat.open && job->unit->heartbeat.open->waited_ms > ENGINE_HEARTBEAT_LATE_MS) {
		job->deadline_ms = clock_ms(job->engine->setup.clock) + ENGINE_HEARTBEAT_LATE_MS;
		return;
	}
	unit_health_give_up(job->engine, job->unit, "a job that was cancelled did not end");
	engine_job_abandon(job, "the runner did not answer");
}

void
engine_job_abandon(struct engine_job *job, const char *why)
{
	inflight_remove(job->engine->setup.inflight, &job->inflight);
	attempt_end_complete(job, &(struct completion){.status = COMPLETION_LOST, .error = why});
}
