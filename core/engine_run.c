/* SPDX-License-Identifier: MIT */
/* One job of the engine: from the queue over its runner to its verdict. */
#include <config.h>

#include "engine_inner.h"

#include "artifact.h"
#include "calibration.h"
#include "cleanup.h"
#include "failpoint.h"
#include "jobs.h"
#include "log.h"
#include "shown.h"
#include "state.h"
#include "task.h"
#include "text.h"
#include "verdict.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The store's work for one job, and what the loop does after it. */
struct job_op {
	struct engine_job *job; /* the loop's; may be gone where only a handle is stored */
	int64_t id, attempt;
	store_op run;
	store_done done;
	json_t *material, *verdict, *calibration;
	uint64_t completed_ns; /* of the verdict; 0: it came from no completion */
	int64_t record_ns;
	char *handle;
	char unit[96];
	char reason[300];
	struct kettle_error no_material;
	bool spared, waits, queued, refused;
	kettle_answer answer;
	void *arg;
};

static struct job_op *
new_op(struct engine_job *job)
{
	struct job_op *op = calloc(1, sizeof(*op));
	if (!op)
		abort(); /* a few bytes for a job that is already running: no state could be kept without them */
	op->job = job;
	op->id = job->id;
	op->attempt = job->attempt;
	return op;
}

static void
free_op(struct job_op *op)
{
	json_decref(op->material);
	json_decref(op->verdict);
	json_decref(op->calibration);
	free(op->handle);
	free(op);
}

static void
write_op(struct job_op *op, store_op run, store_done done)
{
	op->run = run;
	op->done = done;
	store_write(op->job->engine->setup.store, run, done, op);
}

/* Whether the database may take it at another time: it could not, and not because of what it was told. */
static bool
may_pass(const struct kettle_error *err)
{
	return err && err->code != KETTLE_ECONFLICT && err->code != KETTLE_ENOENT && err->code != KETTLE_EINVAL &&
		   err->code != KETTLE_ECANCELED;
}

/* A full disk may become free: what was not stored is kept. An engine that stops leaves the job to the next one. */
static bool
keep_for_later(struct job_op *op, const struct kettle_error *err)
{
	struct engine_job *job = op->job;
	if (!may_pass(err) || job->engine->stopping)
		return false;
	log_write(KETTLE_LOG_ERROR, "engine", "job %lld: the database could not take it, it is tried again: %s",
		(long long)job->id, err->message);
	job->again = op;
	job->again_at_ms = uv_now(job->engine->setup.loop) + ENGINE_STORE_RETRY_MS;
	return true;
}

void
engine_job_again(struct engine_job *job)
{
	struct job_op *op = STEAL(job->again);
	write_op(op, op->run, op->done);
}

/* The job leaves its unit. */
static void
leave_unit(struct engine_job *job)
{
	if (job->unit && job->phase == PHASE_RUNNING)
		job->unit->running--;
	if (job->unit)
		job->unit->active--;
	engine_places_leave(job);
	if (job->in_flight)
		job->engine->in_flight--;
	job->unit = NULL;
	job->phase = PHASE_BUILDING;
	job->in_flight = false;
}

static void
enter_unit(struct engine_job *job, struct unit *unit)
{
	job->unit = unit;
	if (unit)
		unit->active++;
	job->in_flight = true;
	job->engine->in_flight++;
}

static void
forget(struct engine_job *job)
{
	struct engine *engine = job->engine;
	leave_unit(job);
	engine_job_forget(job);
	engine_schedule(engine);
}

/* Back to its queue here, where it is queued in the database. */
static void
queue_again(struct engine_job *job)
{
	struct engine *engine = job->engine;
	leave_unit(job);
	if (engine->stopping || job->stop == STOP_CANCEL) {
		engine_job_forget(job);
	} else {
		job->stop = STOP_NO;
		job->waits ? engine_places_hold(job) : engine_job_queue(job);
	}
	engine_schedule(engine);
}

static int
requeue_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct job_op *op = arg;
	return jobs_requeue(db, op->id, op->attempt, op->spared, op->waits, op->reason, &op->queued, err);
}

static void
requeued(void *arg, const struct kettle_error *err)
{
	struct job_op *op = arg;
	if (keep_for_later(op, err))
		return;
	if (err && err->code != KETTLE_ECONFLICT)
		log_write(
			KETTLE_LOG_ERROR, "engine", "job %lld stays as it is in the database: %s", (long long)op->id, err->message);
	if (!err && op->queued)
		queue_again(op->job);
	else
		forget(op->job);
	free_op(op);
}

/* Back to the queue, or to the verdict "the runner failed" when the attempts are used up. */
static void
requeue(struct engine_job *job, bool spared, const char *reason)
{
	struct job_op *op = new_op(job);
	job->state = JOB_ENDING;
	op->spared = spared;
	op->waits = job->waits != NULL;
	(void)snprintf(op->reason, sizeof(op->reason), "%s", reason);
	failpoint("engine.requeue");
	write_op(op, requeue_op, requeued);
}

/* The machine's fault: the unit rests a little, and the job is tried again. `proven` as in engine_unit_lost. */
static void
lose(struct engine_job *job, const char *why, bool proven)
{
	engine_unit_lost(job->engine, job->unit, why, proven);
	requeue(job, false, why);
}

static int
finish_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct job_op *op = arg;
	return jobs_finish(db, op->id, op->attempt, op->verdict, err);
}

/* ---- how long the verdict took to be stored ---- */

static int
record_op(struct db *db, void *arg, struct kettle_error *err)
{
	const struct job_op *op = arg;
	return jobs_recorded(db, op->id, op->attempt, op->record_ns, err);
}

static void
recorded(void *arg, const struct kettle_error *err)
{
	(void)err; /* a figure less */
	free_op(arg);
}

/* What a commit took is known only after it; it is worth none of its own. */
static void
record(struct engine_job *job, uint64_t completed_ns)
{
	struct job_op *op = new_op(job);
	op->record_ns = (int64_t)(time_monotonic_ns() - completed_ns);
	store_later(job->engine->setup.store, record_op, recorded, op);
}

/* ---- the end ---- */

static void finish(struct engine_job *job, json_t *verdict_take, bool refused);
static json_t *error_verdict(const char *sentence);

static void
finished(void *arg, const struct kettle_error *err)
{
	struct job_op *op = arg;
	if (keep_for_later(op, err))
		return;
	if (err && err->code == KETTLE_ECONFLICT)
		log_write(KETTLE_LOG_INFO, "engine", "job %lld: a late outcome of attempt %lld is dropped", (long long)op->id,
			(long long)op->attempt);
	else if (err && err->code != KETTLE_ECANCELED)
		log_write(KETTLE_LOG_ERROR, "engine", "job %lld: the verdict could not be stored: %s", (long long)op->id,
			err->message);
	failpoint("engine.finished");
	if (!err && op->completed_ns)
		record(op->job, op->completed_ns);
	if (err && err->code == KETTLE_EINVAL && !op->refused)
		finish(op->job, error_verdict(err->message), true);
	else
		forget(op->job);
	free_op(op);
}

/* refused: a verdict before this one was no good. */
static void
finish(struct engine_job *job, json_t *verdict_take, bool refused)
{
	struct job_op *op = new_op(job);
	job->state = JOB_ENDING;
	op->verdict = verdict_take;
	op->completed_ns = refused ? 0 : job->stamps.completed_ns;
	op->refused = refused;
	failpoint("engine.verdict");
	write_op(op, finish_op, finished);
}

/* A verdict without any outcome: the engine could not even begin, or could not keep what came. */
static json_t *
error_verdict(const char *sentence)
{
	return json_pack("{s:s, s:s, s:b, s:n, s:[]}", "state", "error", "error", sentence, "retry", 0, "score", "runs");
}

/* ---- what it left ---- */

struct keeping {
	uv_work_t work;
	struct engine_job *job;
	json_t *verdict;
	char attempt[LIVE_REF_SIZE];
	const char *spool;
	int64_t max_bytes;
	struct kettle_error err;
};

static void
keep_work(uv_work_t *work)
{
	struct keeping *keeping = (struct keeping *)work;
	(void)artifact_take(keeping->spool, keeping->attempt, keeping->max_bytes,
		json_object_get(keeping->verdict, "artifacts"), &keeping->err);
}

static void
kept(uv_work_t *work, int status)
{
	struct keeping *keeping = (struct keeping *)work;
	(void)status;
	if (keeping->err.code < 0)
		log_write(KETTLE_LOG_WARNING, "engine", "job %s: not everything it left is kept: %s", keeping->attempt,
			keeping->err.message);
	finish(keeping->job, keeping->verdict, false);
	free(keeping);
}

static bool
may_leave_files(const json_t *plan)
{
	size_t i;
	json_t *step;
	json_array_foreach(json_object_get(plan, "steps"), i, step) {
		if (json_array_size(json_object_get(step, "artifacts")) > 0)
			return true;
	}
	return false;
}

/* Takes over what it left, off the loop, and then ends the job. */
static void
keep_and_finish(struct engine_job *job, json_t *verdict_take)
{
	const struct engine_setup *setup = &job->engine->setup;
	struct keeping *keeping = setup->spool && may_leave_files(job->plan) ? calloc(1, sizeof(*keeping)) : NULL;
	if (!keeping) {
		finish(job, verdict_take, false);
		return;
	}
	job->state = JOB_ENDING;
	*keeping = (struct keeping){
		.job = job, .verdict = verdict_take, .spool = setup->spool, .max_bytes = setup->artifact_bytes};
	(void)snprintf(keeping->attempt, sizeof(keeping->attempt), "%s", job->live.ref);
	if (uv_queue_work(setup->loop, &keeping->work, keep_work, kept) == 0)
		return;
	free(keeping);
	finish(job, verdict_take, false);
}

/* Scores go on with the calibration that there is; that it is another machine's is said once. */
static void
check_machine(struct unit *unit, const json_t *completion)
{
	const json_t *machine = json_object_get(completion, "system");
	bool changed = json_is_object(unit->calibration) && calibration_machine_changed(unit->calibration, machine);
	if (changed && !unit->changed)
		log_write(KETTLE_LOG_WARNING, "engine",
			"the machine of unit %s has changed since it was calibrated; `kettle device calibrate %s` measures it "
			"again",
			unit->label, unit->device->name);
	unit->changed = changed;
}

/* Whether kettle-exec itself says that its machine has failed: a program may leave with such a status on purpose. */
static bool
is_proven(const struct engine_job *job, const json_t *completion)
{
	const json_t *outcomes = json_object_get(completion, "outcomes"), *outcome;
	size_t i;
	json_array_foreach(outcomes, i, outcome) {
		const char *state = json_string_value(json_object_get(outcome, "state"));
		if (!state || strcmp(state, "error") == 0)
			return true;
	}
	return json_array_size(outcomes) < json_array_size(json_object_get(job->plan, "steps"));
}

static void
interpret(struct engine_job *job, const json_t *completion)
{
	struct kettle_error err = {0};
	json_t *verdict = NULL;
	check_machine(job->unit, completion);
	if (verdict_make(job->engine->setup.languages, job->task, job->plan, completion, &verdict, &err) < 0) {
		finish(job, error_verdict(err.message), false);
		return;
	}
	if (json_is_true(json_object_get(verdict, "retry"))) {
		const char *why = json_string_value(json_object_get(verdict, "error"));
		lose(job, why ? why : "the machine could not run it", is_proven(job, completion));
		json_decref(verdict);
		return;
	}
	job->unit->losses = 0;
	timing_add_engine(json_object_get(verdict, "timing"), &job->stamps, completion);
	keep_and_finish(job, verdict);
}

/* The runner's one completion. */
static void
on_done(struct live_job *live, const json_t *completion)
{
	struct engine_job *job = (struct engine_job *)((char *)live - offsetof(struct engine_job, live));
	const char *status = json_string_value(json_object_get(completion, "status"));
	const char *why = json_string_value(json_object_get(completion, "error"));
	const char *aside = json_string_value(json_object_get(completion, "aside"));
	job->stamps.completed_ns = time_monotonic_ns();
	failpoint("engine.completed");
	engine_health_judge(job, completion);
	if (aside)
		engine_unit_aside(job->unit, aside);
	if (job->stop == STOP_CANCEL) {
		forget(job);
	} else if (status && strcmp(status, "done") == 0) {
		interpret(job, completion);
	} else if (job->stop == STOP_HAND_BACK) {
		requeue(job, true, "handed back when the engine stopped");
	} else {
		if (!why)
			why = job->stop == STOP_DEADLINE ? "the runner did not finish in time" : "the runner gave no reason";
		lose(job, why, true);
	}
}

/* The sum of the wall limits of the job's build steps, or of its run steps. */
static uint64_t
budget_ms(const struct engine_job *job, bool running)
{
	double seconds = 0;
	size_t i;
	json_t *step;
	json_array_foreach(json_object_get(job->plan, "steps"), i, step) {
		const char *kind = json_string_value(json_object_get(step, "kind"));
		const json_t *wall = json_object_get(json_object_get(step, "limits"), "wall");
		if (kind && (strcmp(kind, "run") == 0) == running)
			seconds += wall ? json_number_value(wall) : 180;
	}
	/* Where a GPU is throttled, kettle-exec runs a step a second time. */
	if (running && job->unit && json_object_get(job->unit->config, "gpu"))
		seconds *= 2;
	return (uint64_t)(seconds * 1000) + ENGINE_SLACK_MS;
}

static void
enter_phase(struct engine_job *job, enum job_phase phase)
{
	uint64_t now = uv_now(job->engine->setup.loop);
	if (job->phase == PHASE_RUNNING) {
		job->unit->running--;
		engine_places_run(job, false);
	}
	job->phase = phase;
	switch (phase) {
	case PHASE_BUILDING:
		job->deadline_ms = now + budget_ms(job, false);
		break;
	case PHASE_WAITING:
		job->deadline_ms = 0;
		break;
	case PHASE_RUNNING:
		job->unit->running++;
		engine_places_run(job, true);
		job->deadline_ms = now + budget_ms(job, true);
		break;
	}
}

static void
on_event(struct live_job *live, const json_t *event)
{
	struct engine_job *job = (struct engine_job *)((char *)live - offsetof(struct engine_job, live));
	const char *name = json_string_value(json_object_get(event, "event"));
	if (!name || job->state != JOB_ACTIVE || job->stop != STOP_NO)
		return;
	if (strcmp(name, "waiting") == 0)
		enter_phase(job, PHASE_WAITING);
	else if (strcmp(name, "device") == 0)
		enter_phase(job, PHASE_RUNNING);
	json_t *shown = shown_event(job->plan, event);
	if (shown)
		engine_progress(job, shown);
}

static int
handle_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct job_op *op = arg;
	return jobs_set_handle(db, op->id, op->attempt, op->handle, err);
}

static void
handle_stored(void *arg, const struct kettle_error *err)
{
	struct job_op *op = arg;
	AUTO_JSON json_t *result = json_object();
	failpoint("engine.handle");
	struct kettle_error none = {0};
	op->answer(op->arg, err ? err : &none, err ? NULL : result);
	free_op(op);
}

static void
on_handle(struct live_job *live, const char *handle, kettle_answer answer, void *arg)
{
	struct engine_job *job = (struct engine_job *)((char *)live - offsetof(struct engine_job, live));
	struct job_op *op = new_op(job);
	op->handle = strdup(handle);
	if (!op->handle)
		abort();
	op->answer = answer;
	op->arg = arg;
	write_op(op, handle_op, handle_stored);
}

static void
register_live(struct engine_job *job)
{
	(void)snprintf(job->live.ref, sizeof(job->live.ref), "%lld.%lld", (long long)job->id, (long long)job->attempt);
	job->live.event = on_event;
	job->live.handle = on_handle;
	job->live.done = on_done;
}

/* section, and spool (room for the path): what the description refers to. */
static struct kettle_job
describe_job(const struct engine_job *job, const json_t *section, char spool[PATH_MAX])
{
	const char *folder = job->engine->setup.spool;
	bool fits = folder && snprintf(spool, PATH_MAX, "%s/%s.run", folder, job->live.ref) < PATH_MAX;
	return (struct kettle_job){
		.spool = fits ? spool : NULL,
		.size = sizeof(struct kettle_job),
		.ref = job->live.ref,
		.device = job->device->name,
		.unit = section,
		.deadline_ms = job->plan ? budget_ms(job, false) + budget_ms(job, true) : 0,
	};
}

/* The unit as a plan is made for it: its section, what it is, and what the calibrators take there. New reference. */
static json_t *
planned_unit(const struct engine_job *job)
{
	json_t *device = json_copy(job->unit->config);
	json_t *calibration = job->unit->calibration;
	if (device && json_is_object(calibration))
		(void)json_object_set(device, "calibration", calibration);
	if (device && job->unit->facts)
		(void)json_object_set(device, "facts", job->unit->facts);
	return device;
}

static int
plan(struct engine_job *job, const json_t *material, struct kettle_error *err)
{
	const json_t *bundle = json_object_get(material, "task");
	AUTO_JSON json_t *device = planned_unit(job);
	int status = task_plan(job->engine->setup.languages, bundle, json_string_value(json_object_get(material, "code")),
		json_string_value(json_object_get(material, "mode")), device,
		json_string_value(json_object_get(material, "seed")), &job->plan, err);
	if (status == 0)
		job->task = json_incref(json_object_get(bundle, "task"));
	return status;
}

/* Plans the job and gives it to the runner. */
static void
submit(struct engine_job *job, const json_t *material)
{
	struct kettle_error err = {0};
	if (plan(job, material, &err) < 0) {
		finish(job, error_verdict(err.message), false);
		return;
	}
	int status = engine_places_take(job, &err);
	if (status == KETTLE_EINVAL) {
		finish(job, error_verdict(err.message), false);
		return;
	}
	AUTO_JSON json_t *section = status == 0 ? engine_places_section(job) : NULL;
	if (!section) {
		requeue(job, job->waits != NULL, status < 0 ? err.message : "there is not enough memory for it");
		return;
	}
	register_live(job);
	if (live_add(job->engine->setup.live, &job->live) < 0) {
		requeue(job, true, "there is not enough memory for it");
		return;
	}
	job->state = JOB_ACTIVE;
	job->phase = PHASE_BUILDING;
	enter_phase(job, PHASE_BUILDING);
	char spool[PATH_MAX];
	struct kettle_job description = describe_job(job, section, spool);
	job->stamps.submitted_ns = time_monotonic_ns();
	failpoint("engine.submit");
	status = job->unit->runner->ops->submit(job->unit->runner->self, &description, job->plan, &err);
	/* A runner may complete the job before it returns; what it returns then does not matter any more. */
	if (status < 0 && job->state == JOB_ACTIVE) {
		live_remove(job->engine->setup.live, &job->live);
		lose(job, err.message, true);
		return;
	}
	failpoint("engine.submitted");
}

/* How fast the unit is that the job runs on. */
static int
read_calibration(struct db *db, struct job_op *op, struct kettle_error *err)
{
	return state_unit_calibration(
		db, json_string_value(json_object_get(op->material, "device")), op->unit, &op->calibration, err);
}

/* The unit keeps it for the plan. */
static void
take_calibration(struct job_op *op, struct unit *unit)
{
	json_decref(STEAL(unit->calibration));
	unit->calibration = STEAL(op->calibration);
}

static int
start_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct job_op *op = arg;
	int status = jobs_start(db, op->id, op->unit, &op->attempt, err);
	/* What cannot be read uses up attempts like what cannot be run: else it would be started for ever. */
	if (status == 0 && jobs_material(db, op->id, &op->material, &op->no_material) == 0)
		status = read_calibration(db, op, err);
	return status;
}

/* The database could not start it: it is still queued there. */
static void
not_started(struct engine_job *job, const struct kettle_error *err)
{
	if (!may_pass(err)) {
		forget(job);
		return;
	}
	log_write(KETTLE_LOG_ERROR, "engine", "job %lld could not be started, which is tried again: %s", (long long)job->id,
		err->message);
	job->engine->pause_until_ms = uv_now(job->engine->setup.loop) + ENGINE_STORE_RETRY_MS;
	queue_again(job);
}

/* Everything is known that the plan needs; late: but for its machine, which does not answer. */
static void
go_on(void *arg, const char *late)
{
	struct job_op *op = arg;
	struct engine_job *job = op->job;
	if (job->stop == STOP_CANCEL)
		forget(job);
	else if (job->engine->stopping)
		requeue(job, true, "handed back when the engine stopped");
	else if (late)
		lose(job, late, true);
	else
		submit(job, op->material);
	free_op(op);
}

static void
started(void *arg, const struct kettle_error *err)
{
	struct job_op *op = arg;
	struct engine_job *job = op->job;
	failpoint("engine.started");
	if (err || job->stop == STOP_CANCEL) {
		err ? not_started(job, err) : forget(job);
		free_op(op);
		return;
	}
	job->attempt = op->attempt;
	take_calibration(op, job->unit);
	json_t *place = json_pack("{s:s, s:s}", "event", "assigned", "unit", job->unit->label);
	engine_progress(job, place);
	if (!op->material) {
		/* What cannot be read is as good as what cannot be run, unless the engine stops anyway. */
		bool stopping = job->engine->stopping;
		requeue(job, stopping, stopping ? "handed back when the engine stopped" : op->no_material.message);
		free_op(op);
	} else if (job->engine->stopping || !engine_health_know(job->engine, job->unit, go_on, op)) {
		go_on(op, NULL);
	}
}

void
engine_job_start(struct engine_job *job, struct unit *unit)
{
	struct job_op *op = new_op(job);
	job->state = JOB_STARTING;
	job->stamps = (struct timing_stamps){
		.accepted_ns = job->stamps.accepted_ns, .queued_ns = job->stamps.queued_ns, .started_ns = time_monotonic_ns()};
	enter_unit(job, unit);
	(void)snprintf(op->unit, sizeof(op->unit), "%s", unit->label);
	json_decref(STEAL(job->plan));
	json_decref(STEAL(job->task));
	failpoint("engine.start");
	write_op(op, start_op, started);
}

/* NULL: it is not configured any more, and what another one would make of its handle nobody knows. */
static struct unit *
find_unit(const struct device *device, const char *label)
{
	for (struct unit *unit = device->units; unit; unit = unit->next)
		if (!unit->removed && strcmp(unit->label, label) == 0)
			return unit;
	return NULL;
}

static int
material_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct job_op *op = arg;
	int status = jobs_material(db, op->id, &op->material, err);
	return status == 0 ? read_calibration(db, op, err) : status;
}

/* Asks the runner for it; what it is to be stopped for is told once it is found. */
static bool
find_again(struct engine_job *job, const char *handle)
{
	struct kettle_error err = {0};
	enum job_stop stop = job->stop;
	register_live(job);
	if (live_add(job->engine->setup.live, &job->live) < 0)
		return false;
	char spool[PATH_MAX];
	AUTO_JSON json_t *section = json_incref(job->unit->config);
	struct kettle_job description = describe_job(job, section, spool);
	job->stop = STOP_NO;
	job->state = JOB_ACTIVE;
	enter_phase(job, PHASE_BUILDING);
	int status = job->unit->runner->ops->recover(job->unit->runner->self, &description, handle, &err);
	if (job->state != JOB_ACTIVE)
		return true; /* completed already */
	if (status < 0) {
		live_remove(job->engine->setup.live, &job->live);
		job->stop = stop;
		return false;
	}
	if (stop != STOP_NO)
		engine_job_stop(job, stop);
	return true;
}

static void
recover(void *arg, const struct kettle_error *store_err)
{
	struct job_op *op = arg;
	struct engine_job *job = op->job;
	struct kettle_error err = {0};
	bool can = !store_err && op->handle && job->unit && job->unit->runner->ops->recover;
	if (can)
		take_calibration(op, job->unit);
	/* The plan is made again (it is a pure function), so that the outcomes found can be interpreted. */
	if (!can || plan(job, op->material, &err) < 0 || !find_again(job, op->handle))
		requeue(job, false, "the engine was restarted while it ran");
	free_op(op);
}

void
engine_job_recover(struct engine_job *job, const char *unit, const char *handle)
{
	struct job_op *op = new_op(job);
	op->handle = handle ? strdup(handle) : NULL;
	(void)snprintf(op->unit, sizeof(op->unit), "%s", unit);
	job->state = JOB_STARTING;
	enter_unit(job, find_unit(job->device, unit));
	store_read(job->engine->setup.store, material_op, recover, op);
}

void
engine_job_stop(struct engine_job *job, enum job_stop why)
{
	if (job->stop == STOP_CANCEL || (job->stop != STOP_NO && why != STOP_CANCEL))
		return;
	bool told = job->stop != STOP_NO;
	job->stop = why;
	if (job->state != JOB_ACTIVE)
		return;
	job->deadline_ms = uv_now(job->engine->setup.loop) + ENGINE_CANCEL_MS;
	if (told)
		return;
	/* The runner may complete it at once, and the job may be gone while the runner still reads its reference. */
	const struct runner *runner = job->unit->runner;
	char ref[LIVE_REF_SIZE];
	memcpy(ref, job->live.ref, sizeof(ref));
	runner->ops->cancel(runner->self, ref);
}

void
engine_job_overdue(struct engine_job *job)
{
	if (job->stop == STOP_NO) {
		log_write(KETTLE_LOG_WARNING, "engine", "job %s is overdue and is cancelled", job->live.ref);
		engine_job_stop(job, STOP_DEADLINE);
		return;
	}
	/* Told to stop and still there: whatever it holds is not to be trusted with another job. */
	live_remove(job->engine->setup.live, &job->live);
	engine_unit_aside(job->unit, "a job that was cancelled did not end");
	AUTO_JSON json_t *completion = json_pack("{s:s, s:s}", "status", "lost", "error", "the runner did not answer");
	on_done(&job->live, completion);
}
