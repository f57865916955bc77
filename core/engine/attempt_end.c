/* SPDX-License-Identifier: MIT */
/* The end of an attempt: a verdict, another attempt, or neither. */
#include <config.h>

#include "engine/engine_internal.h"

#include "base/base.h"
#include "base/failpoint.h"
#include "base/gpu_fitness.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/secret_output.h"
#include "judge/calibration.h"
#include "judge/completion.h"
#include "judge/verdict.h"
#include "loop/loop_services.h"
#include "model/artifact.h"
#include "model/profile_pack.h"

#include <assert.h>

/* ---- what the store does for one job ---- */

void *
job_write_new(struct engine_job *job, size_t size)
{
	struct job_write *op = xcalloc(1, size);
	*op = (struct job_write){.job = job, .id = job->id, .attempt = job->attempt};
	return op;
}

void
job_write_write(struct job_write *op, store_op run, store_done done)
{
	op->run = run;
	op->done = done;
	store_write(op->job->engine->setup.store, run, done, op);
}

bool
job_write_may_pass(const struct kettle_error *err)
{
	return err && err->code != KETTLE_ECONFLICT && err->code != KETTLE_ENOENT && err->code != KETTLE_EINVAL &&
		   err->code != KETTLE_ECANCELED;
}

/*
 * Keeps a write for engine_job_retry_writes if it failed for a reason that may pass, such as a full disk. False: it is
 * not kept, since no retry helps, or since the engine stops and its next start finds the job.
 */
static bool
job_write_defer(struct job_write *op, const struct kettle_error *err)
{
	struct engine_job *job = op->job;
	assert(job->state == JOB_ENDING && !job->again.write);
	if (!job_write_may_pass(err) || job->engine->stop.begun)
		return false;
	log_write(KETTLE_LOG_ERROR, "engine", "job %lld cannot be written to the database yet and will be retried: %s",
		(long long)job->id, err->message);
	job->again.write = op;
	job->again.at_ms = clock_ms(job->engine->setup.clock) + ENGINE_STORE_RETRY_MS;
	return true;
}

void
engine_job_retry_writes(struct engine_job *job)
{
	struct job_write *op = STEAL(job->again.write);
	job_write_write(op, op->run, op->done);
}

#define DEPRIORITISED_MAX 10000

/* ---- without a verdict ---- */

static void
leave_unit(struct engine_job *job)
{
	assert(job->state != JOB_QUEUED);
	if (job->phase == PHASE_RUNNING)
		multi_device_run(job, false);
	if (job->unit) {
		job->unit->active--;
		*(job->unit_previous ? &job->unit_previous->unit_next : &job->unit->jobs) = job->unit_next;
		if (job->unit_next)
			job->unit_next->unit_previous = job->unit_previous;
	}
	multi_device_leave(job);
	job->unit = NULL;
	job->phase = PHASE_BUILDING;
	job->engine->dirty = true;
}

void
attempt_end_drop(struct engine_job *job)
{
	leave_unit(job);
	engine_job_forget(job);
}

void
attempt_end_queue(struct engine_job *job)
{
	leave_unit(job);
	if (job->engine->stop.begun || job->stop == STOP_CANCEL) {
		engine_job_forget(job);
	} else {
		job->stop = STOP_NO;
		job->held.why ? engine_job_hold(job, &job->device->awaiting_units) : engine_job_queue(job);
	}
}

struct requeue_write {
	struct job_write write; /* first */
	enum kettle_loss loss;
	bool waits, queued; /* waits: for devices, which uses up no attempt; queued: the job is in the queue again */
	char reason[300];
};

static int
requeue_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct requeue_write *op = arg;
	return jobs_requeue(db, op->write.id, op->write.attempt, op->loss, op->waits, op->reason, &op->queued, err);
}

static void
on_requeued(void *arg, const struct kettle_error *err)
{
	struct requeue_write *op = arg;
	if (job_write_defer(&op->write, err))
		return;
	if (err && err->code != KETTLE_ECONFLICT)
		log_write(KETTLE_LOG_ERROR, "engine",
			"job %lld could not be put back into the queue; the next start of Kettle puts it back: %s",
			(long long)op->write.id, err->message);
	if (!err && op->queued)
		attempt_end_queue(op->write.job);
	else
		attempt_end_drop(op->write.job);
	free(op);
}

void
attempt_end_requeue(struct engine_job *job, enum kettle_loss loss, const char *reason)
{
	struct requeue_write *op = job_write_new(job, sizeof(*op));
	engine_job_enter(job, JOB_ENDING);
	op->loss = loss;
	op->waits = job->held.why;
	(void)snprintf(op->reason, sizeof(op->reason), "%.*s", (int)sizeof(op->reason) - 1, reason);
	failpoint("engine.requeue");
	job_write_write(&op->write, requeue_op, on_requeued);
}

/* The machine is at fault: its unit pauses, and the job is tried again. `proven` as in engine_unit_lost. */
static void
attempt_end_retry(struct engine_job *job, const char *why, bool proven)
{
	engine_unit_lost(job, why, proven);
	attempt_end_requeue(job, KETTLE_LOSS_NODE_FAULT, why);
}

/*
 * A unit that has lost all its last jobs probably caused this loss too, so the job keeps its attempts. The user's other
 * jobs go first then, since the job itself may crash its machine.
 */
void
attempt_end_lost(struct engine_job *job, const char *why, enum kettle_loss loss)
{
	bool spared = job->unit->losses.count >= ENGINE_LOSSES_SPARE;
	job->deprioritised += spared && job->deprioritised < DEPRIORITISED_MAX;
	engine_unit_lost(job, why, true);
	bool counts = loss == KETTLE_LOSS_NODE_FAULT || loss == KETTLE_LOSS_UNKNOWN_JOB;
	attempt_end_requeue(job, counts && spared ? KETTLE_LOSS_SPARED : loss, why);
}

/*
 * Ends an attempt on a unit that its runner calls unusable. Its first such job may have caused that, so the loss counts
 * among the job's uncounted ones: a job that makes units unusable between jobs that succeed ends with an error. While
 * the unit stays unusable, jobs wait for it without a limit, in turns.
 */
static void
attempt_end_unusable(struct engine_job *job, const char *why)
{
	bool first = job->unit->obstacles[UNIT_UNUSABLE].said_ns == 0;
	unit_health_unusable(job->engine, job->unit, why);
	job->deprioritised += job->deprioritised < DEPRIORITISED_MAX;
	attempt_end_requeue(job, first ? KETTLE_LOSS_MISCONFIGURED : KETTLE_LOSS_HANDED_BACK, why);
}

void
attempt_end_unfit(struct engine_job *job, bool ran, const json_t *causes)
{
	AUTO_FREE char *why = unit_fitness_why(causes);
	if (unit_fitness_waits_long(job)) {
		AUTO_FREE char *sentence = xasprintf("No GPU was fit to score this submission within %d h of waiting, and it "
											 "was not scored; the last reason was: "
											 "%s.",
			(int)(ENGINE_UNFIT_MAX_MS / 3600000), why);
		attempt_end_refuse(job, "machine", sentence);
		return;
	}
	/* Nothing else limits attempts in which it ran, and may have heated the GPU, and those on machines chosen anew. */
	enum kettle_loss loss = ran                         ? KETTLE_LOSS_UNFIT
							: job->unit->fitness.causes ? KETTLE_LOSS_HANDED_BACK
														: KETTLE_LOSS_NOT_STARTED;
	attempt_end_requeue(job, loss, why);
}

/* ---- how long the verdict took to be stored ---- */

struct record_write {
	struct job_write write; /* first; its job may be gone */
	int64_t took_ns;
};

static int
record_op(struct db *db, void *arg, struct kettle_error *err)
{
	const struct record_write *op = arg;
	return jobs_recorded(db, op->write.id, op->write.attempt, op->took_ns, err);
}

static void
on_recorded(void *arg, const struct kettle_error *err)
{
	(void)err; /* only a figure is missing */
	free(arg);
}

/* Stores how long the verdict took to be stored. This is known only after its commit, and goes into the next one. */
static void
attempt_record(struct engine_job *job, uint64_t completed_ns)
{
	struct record_write *op = job_write_new(job, sizeof(*op));
	op->took_ns = (int64_t)(clock_ns(job->engine->setup.clock) - completed_ns);
	store_later(job->engine->setup.store, record_op, on_recorded, op);
}

/* ---- files that are not kept ---- */

struct leftovers {
	char *spool;
	json_t *names;
};

static void
remove_leftovers(void *arg)
{
	struct leftovers *left = arg;
	(void)artifact_remove(left->spool, left->names);
}

static void
on_leftovers_removed(void *arg)
{
	struct leftovers *left = arg;
	free(left->spool);
	json_decref(left->names);
	free(left);
}

/* Removes files or folders of the spool on the pool. Takes the names. */
static void
remove_files(const struct engine *engine, json_t *names_take)
{
	struct leftovers *left = xnew(struct leftovers, .spool = xstrdup(engine->setup.spool), .names = names_take);
	if (loop_work(engine->setup.io, remove_leftovers, on_leftovers_removed, left, NULL) != 0)
		on_leftovers_removed(left);
}

/* ---- verdicts ---- */

struct verdict_write {
	struct job_write write; /* first */
	struct verdict *verdict;
	uint64_t completed_ns; /* 0: the verdict came from no completion */
	bool refused;          /* the database refused the verdict before this one */
	int64_t user_bytes;    /* limit for the files that are kept of the job's user */
	json_t *expired;       /* paths of older files beyond that limit; NULL: none */
};

static void attempt_finish(struct engine_job *job, struct verdict *verdict_take, bool refused);

static int
finish_op(struct db *db, void *arg, struct kettle_error *err)
{
	struct verdict_write *op = arg;
	int rc = jobs_finish(db, op->write.id, op->write.attempt, op->verdict, err);
	json_decref(STEAL(op->expired)); /* from a transaction that failed */
	if (rc == 0 && json_array_size(op->verdict->artifacts) > 0)
		rc = artifact_trim(db, op->write.id, op->user_bytes, &op->expired, err);
	return rc;
}

static json_t *
milliseconds(uint64_t from_ns, uint64_t to_ns)
{
	return from_ns && to_ns >= from_ns ? json_integer((json_int_t)((to_ns - from_ns) / 1000000)) : json_null();
}

/* Logs a verdict as one line, without its sentence, which may quote the output of a submission. */
static void
log_verdict(const struct verdict_write *op)
{
	const struct engine_job *job = op->write.job;
	const struct verdict *verdict = op->verdict;
	const struct timing_stamps *stamps = &job->stamps;
	if (!log_event_due())
		return;
	uint64_t now_ns = clock_ns(job->engine->setup.clock);
	log_event("engine", "verdict",
		json_pack("{s:I, s:I, s:I, s:s, s:s?, s:I, s:s, s:o, s:s?, s:s?, s:o, s:o, s:o}", "submission",
			(json_int_t)job->submission, "job", (json_int_t)job->id, "user", (json_int_t)job->user, "device",
			job->device->name, "unit", job->unit ? job->unit->label : NULL, "attempt", (json_int_t)op->write.attempt,
			"state", verdict_state_name(verdict->state), "score", verdict_seconds(verdict->score.value), "fault",
			verdict_fault(verdict), "stage", verdict->stage, "queued_ms",
			milliseconds(stamps->accepted_ns, stamps->started_ns), "ran_ms",
			milliseconds(stamps->started_ns, stamps->completed_ns), "total_ms",
			milliseconds(stamps->accepted_ns, now_ns)));
}

static void
on_finished(void *arg, const struct kettle_error *err)
{
	struct verdict_write *op = arg;
	struct engine_job *job = op->write.job;
	if (job_write_defer(&op->write, err))
		return;
	if (!err) {
		metrics_verdict(job, op->verdict);
		log_verdict(op);
	}
	if (err && err->code == KETTLE_ECONFLICT)
		log_write(KETTLE_LOG_INFO, "engine", "job %lld: ignored a late result of attempt %lld", (long long)op->write.id,
			(long long)op->write.attempt);
	else if (err && err->code != KETTLE_ECANCELED)
		log_write(KETTLE_LOG_ERROR, "engine", "job %lld: the verdict could not be stored: %s", (long long)op->write.id,
			err->message);
	failpoint("engine.finished");
	if (!err && op->expired && job->engine->setup.spool)
		remove_files(job->engine, STEAL(op->expired));
	if (!err && op->completed_ns)
		attempt_record(job, op->completed_ns);
	if (err && err->code == KETTLE_EINVAL && !op->refused)
		attempt_finish(job, verdict_error("operator", "record", err->message), true);
	else
		attempt_end_drop(job);
	verdict_free(op->verdict);
	json_decref(op->expired);
	free(op);
}

static void
attempt_finish(struct engine_job *job, struct verdict *verdict_take, bool refused)
{
	struct verdict_write *op = job_write_new(job, sizeof(*op));
	engine_job_enter(job, JOB_ENDING);
	op->verdict = verdict_take;
	op->user_bytes = job->engine->setup.artifact_user_bytes;
	op->completed_ns = refused ? 0 : job->stamps.completed_ns;
	op->refused = refused;
	if (job->stamps.started_ns && op->completed_ns > job->stamps.started_ns && verdict_take->state != VERDICT_ERROR)
		expected_wait_add(job->device, (op->completed_ns - job->stamps.started_ns) / 1000000);
	failpoint("engine.verdict");
	job_write_write(&op->write, finish_op, on_finished);
}

void
attempt_end_refuse(struct engine_job *job, const char *fault, const char *sentence)
{
	attempt_finish(job, verdict_error(fault, "queue", sentence), false);
}

/* Ends the job with a verdict at once, since its runner says that no attempt can succeed. */
static void
attempt_end_impossible(struct engine_job *job, const char *why)
{
	AUTO_FREE char *sentence = xasprintf(
		"The runner cannot run the job; the code was not judged, and another attempt would fail in the same way: %s",
		why);
	log_write(KETTLE_LOG_WARNING, "engine", "unit %s cannot run job %lld of submission %lld: %s", job->unit->label,
		(long long)job->id, (long long)job->submission, why);
	attempt_end_refuse(job, "operator", sentence);
}

/* ---- files that it left ---- */

struct artifact_transfer {
	struct engine_job *job;
	struct verdict *verdict;
	char attempt[INFLIGHT_REF_SIZE];
	const char *spool;
	int64_t max_bytes;
	struct profile_pack_job described; /* borrows from the job, which outlives the transfer */
	struct kettle_error err;
};

static void
keep_work(void *arg)
{
	struct artifact_transfer *transfer = arg;
	struct kettle_error why = {0};
	(void)profile_pack(
		transfer->spool, transfer->attempt, transfer->max_bytes, &transfer->described, transfer->verdict, &why);
	(void)artifact_take(
		transfer->spool, transfer->attempt, transfer->max_bytes, transfer->verdict->artifacts, &transfer->err);
	if (transfer->err.code == 0)
		transfer->err = why;
}

static void
on_kept(void *arg)
{
	struct artifact_transfer *transfer = arg;
	if (transfer->err.code < 0)
		log_write(KETTLE_LOG_WARNING, "engine", "job %s: not all of its files were stored: %s", transfer->attempt,
			transfer->err.message);
	attempt_finish(transfer->job, transfer->verdict, false);
	free(transfer);
}

bool
attempt_leaves_files(const struct plan *plan)
{
	bool may = false;
	for (size_t i = 0; i < plan->count; i++)
		may = may || plan->steps[i].artifacts;
	return may;
}

/* Stores the files that the job may have left, on a thread of the pool, then finishes the job. Takes the verdict. */
static void
keep_and_finish(struct engine_job *job, struct verdict *verdict_take)
{
	const struct engine_setup *setup = &job->engine->setup;
	if (!setup->spool || !attempt_leaves_files(job->plan)) {
		attempt_finish(job, verdict_take, false);
		return;
	}
	struct artifact_transfer *transfer = xmalloc(sizeof(*transfer));
	engine_job_enter(job, JOB_ENDING);
	*transfer = (struct artifact_transfer){.job = job,
		.verdict = verdict_take,
		.spool = setup->spool,
		.max_bytes = setup->artifact_bytes,
		.described = {.task = job->task, .device = job->device->name, .job = job->id, .submission = job->submission}};
	(void)snprintf(transfer->attempt, sizeof(transfer->attempt), "%s", job->inflight.ref);
	if (loop_work(setup->io, keep_work, on_kept, transfer, NULL) == 0)
		return;
	free(transfer);
	attempt_finish(job, verdict_take, false);
}

/* ---- files of attempts without a verdict ---- */

/* Removes the files of an attempt without a verdict at once: cancelled profiles could fill the disk until the next sweep. */
static void
discard_files(const struct engine_job *job)
{
	const struct engine_setup *setup = &job->engine->setup;
	if (!setup->spool || !attempt_leaves_files(job->plan))
		return;
	remove_files(job->engine, json_pack("[o]", json_sprintf("%s.run", job->inflight.ref)));
}

/* ---- what secret runs printed ---- */

struct secret_output {
	char *path, *text;
	struct kettle_error err;
};

static void
write_secret_output(void *arg)
{
	struct secret_output *output = arg;
	(void)secret_output_write(output->path, output->text, &output->err);
}

static void
on_secret_output_written(void *arg)
{
	struct secret_output *output = arg;
	if (output->err.code < 0)
		log_write(KETTLE_LOG_WARNING, "engine", "%s", output->err.message);
	free_all(output->path, output->text, output);
}

/* Writes the output of secret runs to a file for operators, if these may need it to find out why a run ended. */
static void
keep_secret_output(const struct engine_job *job, const struct verdict *verdict, const struct completion *completion)
{
	const struct engine_setup *setup = &job->engine->setup;
	if (!setup->secret_output || !secret_output_wanted(verdict, completion))
		return;
	AUTO_FREE char *head = xasprintf("%s job %s of submission %lld on %s", TIME_TEXT(clock_utc_ms(setup->clock)),
		job->inflight.ref, (long long)job->submission, job->unit->label);
	log_write(KETTLE_LOG_INFO, "engine", "job %s: the last output of its secret run is in %s", job->inflight.ref,
		setup->secret_output);
	struct secret_output *output = xnew(struct secret_output, .path = xstrdup(setup->secret_output),
		.text = secret_output_text(verdict, completion, head));
	if (loop_work(setup->io, write_secret_output, on_secret_output_written, output, NULL) != 0)
		on_secret_output_written(output);
}

/* ---- completions ---- */

/* Warns once if the unit's machine is not the calibrated one. Scores still use the calibration. */
static void
check_machine(struct unit *unit, const struct completion *completion)
{
	bool changed = json_is_object(unit->machine.calibration) &&
				   calibration_machine_changed(unit->machine.calibration, completion->system);
	if (changed && !unit->machine.changed)
		log_write(KETTLE_LOG_WARNING, "engine",
			"the machine of unit %s has changed since it was calibrated; `kettle device calibrate %s` measures it "
			"again",
			unit->label, unit->device->name);
	unit->machine.changed = changed;
}

/* Whether kettle-exec itself reports that the machine failed. An exit status proves nothing: a program can choose it. */
static bool
is_proven(const struct engine_job *job, const struct completion *completion)
{
	for (size_t i = 0; i < completion->count; i++)
		if (completion->outcomes[i].state == OUTCOME_NONE || completion->outcomes[i].state == OUTCOME_ERROR)
			return true;
	return completion->count < job->plan->count;
}

/*
 * Whether a verdict falls because the GPUs were unfit to score. A failure says something about the code, except after
 * errors of the memory, or where other processes may have used up the memory.
 */
static bool
is_void(const struct verdict *verdict, const json_t *causes)
{
	return json_array_size(causes) > 0 && !verdict->claimed &&
		   (verdict->state != VERDICT_FAILED || list_has_text(causes, gpu_word(GPU_WORD_ECC)) ||
			   list_has_text(causes, gpu_word(GPU_WORD_PROCESSES)));
}

/* Whether a run step began to run the code of the submission. */
static bool
has_run(const struct engine_job *job, const struct completion *completion)
{
	for (size_t i = 0; i < completion->count && i < job->plan->count; i++)
		if (job->plan->steps[i].run && completion->outcomes[i].state != OUTCOME_NONE &&
			completion->outcomes[i].state != OUTCOME_ERROR)
			return true;
	return false;
}

/* Drops a verdict of GPUs that were unfit for these causes. False: it counts. */
static bool
drop_void(
	struct engine_job *job, const struct completion *completion, const struct verdict *verdict, const json_t *causes)
{
	if (!is_void(verdict, causes) || (verdict->state != VERDICT_ERROR && unit_fitness_stands(job, causes)))
		return false;
	discard_files(job);
	attempt_end_unfit(job, has_run(job, completion), causes);
	return true;
}

/* unfit: the causes of unit_fitness_judge. */
static void
interpret(struct engine_job *job, const struct completion *completion, const json_t *unfit)
{
	struct kettle_error err = {0};
	if (unit_model_check(job->engine, job->unit, completion->system, &err) < 0) {
		discard_files(job);
		attempt_end_requeue(job, KETTLE_LOSS_NOT_STARTED, err.message);
		return;
	}
	if (completion_check(completion, job->plan, &err) < 0) {
		discard_files(job);
		attempt_end_retry(job, err.message, true);
		return;
	}
	check_machine(job->unit, completion);
	struct verdict *verdict = verdict_make(job->languages, job->task, job->plan, completion, &job->stamps);
	keep_secret_output(job, verdict, completion);
	if (drop_void(job, completion, verdict, unfit)) {
		verdict_free(verdict);
		return;
	}
	if (verdict->retry)
		discard_files(job);
	if (verdict->retry && verdict->claimed) {
		engine_unit_lost(job, verdict->why.message, false);
		attempt_end_requeue(job, KETTLE_LOSS_CLAIMED, verdict->why.message);
		verdict_free(verdict);
		return;
	}
	if (verdict->retry) {
		attempt_end_retry(job, verdict->why.message, is_proven(job, completion));
		verdict_free(verdict);
		return;
	}
	if (!member_true(completion->json, "elsewhere")) {
		engine_unit_works(job->unit);
		unit_health_usable(job);
	}
	if (job->ranked && verdict->state == VERDICT_PASSED && json_array_size(unfit) == 0)
		job->unit->fitness.scored_ms = clock_ms(job->engine->setup.clock);
	keep_and_finish(job, verdict);
}

/*
 * The longest time, in nanoseconds and at least 1, that the runner can have had the job. The larger difference of two
 * clocks counts: the monotonic clock stops while this machine sleeps and restarts with it, and the calendar's may be
 * set back.
 */
static int64_t
away_ns(const struct engine_job *job)
{
	const struct timing_stamps *stamps = &job->stamps;
	int64_t utc_ms = job->sent_utc_ms ? clock_utc_ms(job->engine->setup.clock) - job->sent_utc_ms : 0;
	int64_t ns = stamps->submitted_ns ? (int64_t)(stamps->completed_ns - stamps->submitted_ns) : 0;
	ns = utc_ms > ns / 1000000 ? utc_ms * 1000000 : ns;
	return ns > 0 ? ns : 1;
}

/* Ends an attempt without a result, after a loss that the runner reports or after a stop by the engine. */
static void
attempt_lost(struct engine_job *job, const struct completion *completion)
{
	char said[sizeof(job->unit->obstacles[UNIT_AWAY].why) + 100];
	const char *why = completion->error;
	/* The job may have gone on there. KETTLE_LOSS_UNREACHED has a limit, which ends a job that takes its machine down. */
	bool unreached = job->stop == STOP_UNREACHED && completion->loss == KETTLE_LOSS_NODE_FAULT;
	enum kettle_loss loss = unreached ? KETTLE_LOSS_UNREACHED : completion->loss;
	(void)snprintf(said, sizeof(said), "its remote side could not be reached when its time limit had passed: %s",
		job->unit->obstacles[UNIT_AWAY].why);
	if (!why)
		why = unreached                    ? said
			  : job->stop == STOP_DEADLINE ? "the runner did not finish in time"
										   : "the runner gave no reason";
	if (loss == KETTLE_LOSS_PERMANENT)
		attempt_end_impossible(job, why);
	else if (loss == KETTLE_LOSS_MISCONFIGURED)
		attempt_end_unusable(job, why);
	else if (loss == KETTLE_LOSS_NOT_STARTED || (loss == KETTLE_LOSS_UNKNOWN_JOB && !engine_unit_gone(job->unit)))
		attempt_end_requeue(job, loss, why);
	else
		attempt_end_lost(job, why, loss);
}

void
attempt_end_complete(struct engine_job *job, const struct completion *reported)
{
	struct completion trimmed = *reported;
	const struct completion *completion = &trimmed;
	job->stamps.completed_ns = clock_ns(job->engine->setup.clock);
	failpoint("engine.completed");
	/* Removes reported times that are impossible, with a warning, so that none is stored, shown or counted. */
	struct kettle_error what;
	completion_trim_times(&trimmed, away_ns(job), &what);
	if (what.message[0])
		log_write(KETTLE_LOG_WARNING, "engine",
			"the machine of unit %s reported impossible times of job %lld of submission %lld, which are not used; the "
			"first is %s",
			job->unit ? job->unit->label : "", (long long)job->id, (long long)job->submission, what.message);
	budget_count(job, completion);
	unit_health_judge(job, completion);
	AUTO_JSON json_t *unfit = unit_fitness_judge(job, completion);
	if (completion->disabled)
		unit_health_give_up(job->engine, job->unit, completion->disabled);
	if (job->stop == STOP_CANCEL || completion->status != COMPLETION_DONE)
		discard_files(job);
	if (job->stop == STOP_CANCEL) {
		attempt_end_drop(job);
	} else if (completion->status == COMPLETION_DONE) {
		interpret(job, completion, unfit);
	} else if (job->stop == STOP_HAND_BACK) {
		attempt_end_requeue(job, KETTLE_LOSS_HANDED_BACK,
			job->unit->removed ? "its unit was removed before it ran" : "handed back when the engine stopped");
	} else {
		attempt_lost(job, completion);
	}
}
