/* SPDX-License-Identifier: MIT */
/* One job: its unit, its plan, the order of its steps, its end. */
/*
 * Theory of operation. job_advance looks at the steps in the order of the plan and begins each step that can begin: the
 * steps that it needs have passed, or ended where they are optional, and, unless it is a build, no prepare or run step
 * before it is still to come. It is called at the start and by each step that ends; a recursive call only makes it
 * repeat its loop. When all steps have ended, the job is reported and its folders are removed; the job stays in the
 * list until they are gone. A lost job is reported at once. It stays in the list, silent, until its last process has ended, so that its device stays locked
 * until then.
 */
#include <config.h>

#include "exec/job/job.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/base.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "base/list.h"
#include "base/text.h"
#include "exec/job/job_internal.h"
#include "exec/machine/machine.h"

/* ---- sending artifacts to a reader on another machine ---- */

/*
 * Theory of operation. A thread of work reads a file in pieces, and each piece is an event. The next piece is read only
 * while little of the output is unwritten; else the sender waits for the output to drain, so that a slow reader makes
 * kettle-exec wait, not grow. A cancel, or the end of the output, ends the sending.
 */

#define SEND_HEAD 512 /* bytes of an event beside its data */

static void send_next(struct job *job);

/* The file that comes next; NULL: there is none. Skips folders. */
static const struct output_file *
current_file(struct sender *sender, const struct job *job)
{
	for (; sender->step < job->count; sender->step++, sender->file = 0) {
		const struct manifest *artifacts = &job->steps[sender->step].artifacts.manifest;
		for (; sender->file < artifacts->count; sender->file++)
			if (!artifacts->files[sender->file].folder)
				return &artifacts->files[sender->file];
	}
	return NULL;
}

static void
close_file(struct sender *sender)
{
	if (sender->fd >= 0)
		close(STEAL_FD(sender->fd));
	sender->offset = 0;
	sender->file++;
}

static void
send_end(struct job *job)
{
	struct sender *sender = &job->sender;
	if (sender->fd >= 0)
		close(STEAL_FD(sender->fd));
	free(STEAL(sender->piece));
	sender->state = SENDER_IDLE;
	sender->done(job);
}

/* Reads the next piece. sender->error: it could not. */
static void
read_piece(void *arg)
{
	struct job *job = arg;
	struct sender *sender = &job->sender;
	const struct output_file *file = current_file(sender, job);
	if (sender->fd < 0) {
		AUTO_FREE char *path = xasprintf("%s/%s/%s", job->artifacts, job->steps[sender->step].plan->id, file->path);
		sender->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	}
	uint64_t left = file->size - sender->offset;
	size_t want = left < SEND_PIECE ? (size_t)left : SEND_PIECE;
	ssize_t n = sender->fd < 0 ? -1 : pread(sender->fd, sender->piece, want, (off_t)sender->offset);
	sender->error = n < 0 ? errno : (size_t)n < want ? ENODATA : 0;
	sender->length = n < 0 ? 0 : (size_t)n;
}

static void
emit_error(struct job *job, const char *sentence)
{
	exec_context_emit(job->exec, json_pack("{s:s, s:o}", "event", "error", "error", json_writer_text(sentence)));
}

static void
piece_read(void *arg)
{
	struct job *job = arg;
	struct sender *sender = &job->sender;
	const struct output_file *file = current_file(sender, job);
	const char *step = job->steps[sender->step].plan->id;
	if (sender->error) {
		AUTO_FREE char *why = xasprintf("The artifact `%s` of step `%s` of job `%s` could not be read: %s.", file->path,
			step, job->line.job, strerror(sender->error));
		emit_error(job, why);
		close_file(sender);
		send_next(job);
		return;
	}
	sender->offset += sender->length;
	bool last = sender->offset == file->size;
	AUTO_FREE char *data = base64_encode(sender->piece, sender->length);
	exec_context_emit(job->exec, json_pack("{s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:o*}", "event", "file", "job",
									 job->line.job, "step", step, "name", file->path, "size", (json_int_t)file->size,
									 "sha256", file->sha256, "data", data, "last", last ? json_true() : NULL));
	if (last)
		close_file(sender);
	send_next(job);
}

/* Whether there is room to send the file, decided at its begin. */
static bool
has_room(struct job *job, const struct output_file *file)
{
	struct sender *sender = &job->sender;
	if (sender->offset > 0 || sender->fd >= 0)
		return true;
	if (file->size > SEND_MAX_BYTES - sender->bytes) {
		AUTO_FREE char *why = xasprintf("The artifacts of job `%s` exceed %u MiB; those from `%s` of step `%s` on are "
										"not sent.",
			job->line.job, SEND_MAX_BYTES >> 20, file->path, job->steps[sender->step].plan->id);
		emit_error(job, why);
		return false;
	}
	sender->bytes += file->size;
	return true;
}

static void
send_next(struct job *job)
{
	struct sender *sender = &job->sender;
	const struct output_file *file = current_file(sender, job);
	if (!file || job->status == JOB_CANCELLED || job->exec->out->broken || !has_room(job, file)) {
		send_end(job);
		return;
	}
	sender->state = json_writer_pending(job->exec->out) > SEND_QUEUE ? SENDER_WAITING : SENDER_READING;
	if (sender->state == SENDER_READING)
		work_start(&sender->work, job->exec->loop, read_piece, piece_read, job);
}

/* The approximate bytes of events that the reader must still take. */
static uint64_t
bytes_left(const struct job *job)
{
	uint64_t files = 0, events = 0;
	for (size_t i = 0; i < job->count; i++) {
		files += manifest_bytes(&job->steps[i].artifacts.manifest);
		events += SEND_HEAD * job->steps[i].artifacts.manifest.count;
		if (job->steps[i].outcome)
			events += json_dumpb(job->steps[i].outcome, NULL, 0, JSON_COMPACT);
	}
	return events + (files < SEND_MAX_BYTES ? files : SEND_MAX_BYTES) / 3 * 4;
}

/* Sends the artifacts of all steps, then calls done, maybe before it returns. Loop thread. */
static void
send_begin(struct job *job, void (*done)(void *job))
{
	uint64_t bytes = bytes_left(job);
	if (bytes > SEND_SAID)
		exec_context_emit(job->exec,
			json_pack("{s:s, s:s, s:I}", "event", "sending", "job", job->line.job, "bytes", (json_int_t)bytes));
	job->sender = (struct sender){.fd = -1, .piece = xmalloc(SEND_PIECE), .done = done};
	send_next(job);
}

/* The reader has taken all output, or the job was cancelled: a sender that waits continues or ends. Loop thread. */
static void
send_wake(struct job *job)
{
	if (job->sender.state == SENDER_WAITING)
		send_next(job);
}

static int start(struct exec_context *exec, json_t *line_take, bool own, struct kettle_error *err);

bool
job_may_follow(enum job_stage stage, enum job_stage next)
{
	static const unsigned may_follow[] = {
		[JOB_RUNNING] = 1 << JOB_STOPPED | 1 << JOB_ENDED | 1 << JOB_GIVEN_UP,
		[JOB_STOPPED] = 1 << JOB_ENDED | 1 << JOB_GIVEN_UP,
		[JOB_ENDED] = 1 << JOB_REPORTED,
		[JOB_GIVEN_UP] = 1 << JOB_REPORTED,
		[JOB_REPORTED] = 0,
	};
	return may_follow[stage] & 1 << next;
}

static void
enter(struct job *job, enum job_stage stage)
{
	assert(job_may_follow(job->stage, stage));
	job->stage = stage;
}

struct job *
job_find(const struct exec_context *exec, const char *ref)
{
	for (struct job *job = exec->jobs; job; job = job->next)
		if (!job_is_reported(job) && !job->own && strcmp(job->line.job, ref) == 0)
			return job;
	return NULL;
}

/* Moves the job's folder out of the spool if the run line says so. Returns the new path, or NULL. */
static char *
keep_folder(struct job *job)
{
	const char *own = strrchr(job->exec->spool.dir, '/') + 1;
	if (!job->dir || job->status == JOB_LOST || !job->line.keep)
		return NULL;
	AUTO_FREE char *folder = path_join(job->exec->config.state, "kept");
	/* The spool's name makes the name unique among all kettle-execs. */
	AUTO_FREE char *kept = xasprintf("%s/%s-%s", folder, own, strrchr(job->dir, '/') + 1);
	if (file_mkdirs(folder, 0755, NULL) != 0 || rename(job->dir, kept) != 0)
		return NULL;
	free(STEAL(job->dir));
	return STEAL(kept);
}

/* Describes the devices that the job had: what they are, how many, and their driver. */
static void
describe_gpus(const struct job *job, json_t *system)
{
	struct gpu first = {0};
	size_t count = 0;
	for (size_t i = 0; i < job->lease.watch.gpus.count; i++) {
		struct gpu gpu = gpu_find(job->exec->gpus, job->lease.watch.gpus.list[i]);
		if (gpu.json && count++ == 0)
			first = gpu;
	}
	if (count == 0)
		return;
	json_t *runtime = first.cuda ? json_sprintf("CUDA %s", first.cuda) : json_string("ROCm");
	(void)json_object_update_new(system, json_pack("{s:s*, s:I, s:o, s:s*}", "gpu", first.name, "count",
											 (json_int_t)count, "runtime", runtime, "driver", first.driver));
}

/* Describes the machine, with the versions of the tools that the job's steps named. New reference. */
static json_t *
describe_system(const struct job *job)
{
	json_t *system = json_deep_copy(job->exec->facts), *tools = json_object();
	AUTO_JSON json_t *all = json_object(), *interpreters = json_object();
	for (size_t i = 0; i < job->count; i++) {
		const struct tool *tool = job->steps[i].processes[0].tool;
		if (!tool || json_object_get(tools, tool->name))
			continue;
		const char *version = json_text_or_null(job->steps[i].tools.told, "version");
		json_t *packages = json_object_get(job->steps[i].tools.told, "packages");
		(void)json_object_set_new(tools, tool->name, json_string(version ? version : "unknown"));
		if (!packages)
			continue;
		(void)json_object_update_missing(all, packages);
		(void)json_object_set(interpreters, tool->name, packages);
	}
	for (size_t i = 0; i < job->count; i++)
		(void)json_object_update_missing(tools, json_object_get(job->steps[i].plan->ended, "tools"));
	(void)json_object_update_new(system,
		json_pack("{s:s, s:o, s:O*, s:O*, s:O*}", "level", sandbox_level_name(sandbox_level_of(job->exec->protections)),
			"tools", tools, "packages", json_object_size(all) > 0 ? all : NULL, "interpreters",
			json_object_size(interpreters) > 0 ? interpreters : NULL, "torch", json_object_get(all, "torch")));
	describe_gpus(job, system);
	return system;
}

/* Sets a worse status, until the status has been reported. */
static void
set_status(struct job *job, enum job_status status)
{
	assert(!job_is_reported(job) && status > job->status);
	job->status = status;
}

/* The exit status of kettle-exec for a job. */
static enum exec_status
judge(const struct job *job)
{
	enum exec_status judged = job->status == JOB_DONE ? EXEC_PASSED : EXEC_FAILED;
	if (job->status == JOB_LOST)
		judged = exec_is_usage(job->refused.code) ? EXEC_USAGE : EXEC_UNABLE;
	for (size_t i = 0; i < job->count; i++) {
		const struct step *step = &job->steps[i];
		if (step->plan->shared || step->plan->optional)
			continue;
		if (step->phase == STEP_ENDED && step->state == STEP_ERROR)
			judged = EXEC_UNABLE;
		else if (step->state != STEP_PASSED && step->state != STEP_SKIPPED && judged == EXEC_PASSED)
			judged = EXEC_FAILED;
	}
	return judged;
}

/* Sends `done`, exactly once for each run line: at the job's end, or when it is lost. */
static void
report(struct job *job, const char *error)
{
	static const char *const names[] = {[JOB_DONE] = "done", [JOB_CANCELLED] = "cancelled", [JOB_LOST] = "lost"};
	enum job_stage next = job->stage == JOB_ENDED ? JOB_REPORTED : JOB_GIVEN_UP;
	if (job->own) {
		shared_tell(job);
		enter(job, next);
		return;
	}
	AUTO_JSON json_t *outcomes = json_array();
	for (size_t i = 0; i < job->count; i++)
		if (job->steps[i].outcome && !job->steps[i].plan->shared)
			json_array_append(outcomes, job->steps[i].outcome);
	AUTO_JSON json_t *system = describe_system(job);
	AUTO_FREE char *kept = keep_folder(job);
	failpoint("exec.done");
	/* An engine that does not know `loss` reads the other two. */
	json_t *elsewhere = job->refused.elsewhere ? json_true() : NULL;
	exec_context_emit(job->exec,
		json_pack("{s:s, s:s, s:s, s:s*, s:O*, s:O*, s:o, s:s*, s:O, s:O, s:o*, s:{s:I, s:I, s:I}}", "event", "done",
			"job", job->line.job, "status", names[job->status], "loss", elsewhere ? "unstarted" : NULL, "gone",
			elsewhere, "uncounted", elsewhere, "error", json_writer_text(error), "kept", kept, "outcomes", outcomes,
			"system", system, "device", device_lease_report(job), "stamps", "received_ns", (json_int_t)job->received_ns,
			"device_ns", (json_int_t)job->device_ns, "done_ns",
			(json_int_t)(job->done_ns ? job->done_ns : time_monotonic_ns())));
	enter(job, next);
	if (job->exec->on_done)
		job->exec->on_done(job->exec->arg, judge(job));
}

static void
job_free(struct job *job)
{
	for (size_t i = 0; i < job->count; i++)
		step_close(&job->steps[i]);
	device_lease_close(job);
	jit_close(&job->jit);
	free(job->steps);
	job->exec->sharing = job->exec->sharing && !job->own;
	free_all(job->dir, job->artifacts);
	run_line_close(&job->line);
	free(job);
}

/* Removes the artifacts of a cancelled or lost job. The folder stays, since it may hold artifacts of other jobs. */
static void
remove_artifacts(const struct job *job)
{
	for (size_t i = 0; i < job->count; i++) {
		AUTO_FREE char *folder = path_join(job->artifacts, job->steps[i].plan->id);
		if (job->steps[i].plan->artifacts.count > 0)
			(void)file_remove_tree(folder, NULL);
	}
	(void)rmdir(job->artifacts);
}

static void
remove_job_folder(void *arg)
{
	struct job *job = arg;
	if (!job->dir)
		return;
	jit_trim(job);
	if (job->status != JOB_DONE)
		remove_artifacts(job);
	(void)file_remove_tree(job->dir, NULL);
}

static void
job_removed(void *arg)
{
	struct job *job = arg;
	struct exec_context *exec = job->exec;
	failpoint("exec.removed");
	LIST_REMOVE(exec->jobs, job);
	job_free(job);
	if (!exec_context_is_busy(exec) && exec->on_idle)
		exec->on_idle(exec->arg);
}

static void
report_and_remove(void *arg)
{
	struct job *job = arg;
	jit_tell(job->exec, job->jit.trouble);
	if (job->stage == JOB_ENDED)
		report(job, NULL);
	json_t *line = shared_make_line(job);
	if (line)
		(void)start(job->exec, line, true, NULL);
	work_start(&job->ending, job->exec->loop, remove_job_folder, job_removed, job);
}

static void
send_and_report(void *arg)
{
	struct job *job = arg;
	if (job->line.send && !job->own && job->stage == JOB_ENDED)
		send_begin(job, report_and_remove);
	else
		report_and_remove(job);
}

static void
job_finish(struct job *job)
{
	assert(job->turn == TURN_NONE);
	enter(job, job->stage == JOB_GIVEN_UP ? JOB_REPORTED : JOB_ENDED);
	job->done_ns = time_monotonic_ns();
	if (!job->jit.grown || !job->jit.key[0] || job->line.keep) {
		send_and_report(job);
		return;
	}
	job->jit.trim = job->exec->stores++ % CACHE_TRIM_EVERY == 0;
	work_start(&job->ending, job->exec->loop, jit_store, send_and_report, job);
}

/* The state of the steps that a step depends on. */
struct dependency {
	bool open;                /* a step has not ended */
	const struct step *stops; /* a step that has ended without passing; NULL: none */
};

/* Whether a step that has ended stops those that need it. */
static bool
stops(const struct step *step)
{
	bool optional = step->plan->shared || (step->plan->optional && step->state != STEP_SKIPPED);
	return step->state != STEP_PASSED && !optional;
}

/* Looks at `needs`, and at the steps whose outputs are inputs. */
static struct dependency
needs_of(const struct job *job, const struct step *step)
{
	struct dependency need = {0};
	for (size_t i = 0; i < step->plan->needs_count; i++) {
		const struct step *other = &job->steps[step->plan->needs[i] - job->line.plan.steps];
		if (other->phase != STEP_ENDED)
			need.open = true;
		else if (stops(other) && !need.stops)
			need.stops = other;
	}
	return need;
}

/* Prepare and run steps run one after the other, in the order of the plan. */
static bool
is_its_turn(const struct job *job, const struct step *step)
{
	for (const struct step *other = job->steps; step->plan->kind != STEP_BUILD && other < step; other++)
		if (other->plan->kind != STEP_BUILD && other->phase != STEP_ENDED)
			return false;
	return true;
}

static void
advance_step(struct job *job, struct step *step)
{
	if (job->status != JOB_DONE) {
		step_end_unbegun(step, STEP_CANCELLED, NULL);
		return;
	}
	struct dependency need = needs_of(job, step);
	if (step->plan->shared && !shared_is_used(job)) {
		step_end_unbegun(step, STEP_SKIPPED, NULL);
	} else if (need.stops) {
		char why[128];
		(void)snprintf(why, sizeof(why), "It needs step `%.64s`, which did not pass.", need.stops->plan->id);
		step_end_unbegun(step, STEP_SKIPPED, why);
	} else if (!need.open && is_its_turn(job, step)) {
		step_begin(step);
	}
}

/* Releases the devices after the last step that needs them. */
static void
release_device(struct job *job)
{
	for (size_t i = 0; i < job->count; i++)
		if (job->steps[i].plan->device > 0 && job->steps[i].phase != STEP_ENDED)
			return;
	device_lease_release(job);
}

static void
job_advance(struct job *job)
{
	if (job->turn != TURN_NONE) {
		job->turn = TURN_AGAIN;
		return;
	}
	bool ended;
	do {
		job->turn = TURN_TAKEN;
		ended = true;
		for (size_t i = 0; i < job->count; i++) {
			if (job->steps[i].phase == STEP_IDLE)
				advance_step(job, &job->steps[i]);
			ended = ended && job->steps[i].phase == STEP_ENDED;
		}
	} while (job->turn == TURN_AGAIN);
	job->turn = TURN_NONE;
	release_device(job);
	bool checks = job->lease.state == LEASE_CHECKING || job->lease.state == LEASE_CHECKING_AGAIN;
	if (ended && !checks && job->stage != JOB_ENDED && job->stage != JOB_REPORTED)
		job_finish(job);
}

static void
job_devices_held(struct job *job)
{
	/* No job may be freed while this loop runs. */
	job->turn = TURN_TAKEN;
	for (size_t i = 0; i < job->count; i++)
		step_device_granted(&job->steps[i]);
	job->turn = TURN_NONE;
	job_advance(job);
}

static void
job_stop(struct job *job)
{
	if (job->stage == JOB_RUNNING)
		enter(job, JOB_STOPPED);
	job->turn = TURN_TAKEN;
	for (size_t i = 0; i < job->count; i++)
		if (job->steps[i].phase != STEP_IDLE)
			step_cancel(&job->steps[i]);
	job->turn = TURN_NONE;
	job_advance(job);
	send_wake(job);
}

void
job_cancel(struct job *job)
{
	if (job->status != JOB_DONE)
		return;
	failpoint("exec.cancel");
	set_status(job, JOB_CANCELLED);
	job_stop(job);
}

static struct job *
next_running(const struct exec_context *exec)
{
	struct job *job = exec->jobs;
	while (job && job->stage != JOB_RUNNING)
		job = job->next;
	return job;
}

void
job_output_drained(struct exec_context *exec)
{
	struct job *next;
	for (struct job *job = exec->jobs; job; job = next) {
		next = job->next;
		send_wake(job);
	}
}

void
job_cancel_all(struct exec_context *exec)
{
	/* Marks all jobs first; otherwise the end of one could start a build of another. */
	for (struct job *job = exec->jobs; job; job = job->next)
		if (job->status == JOB_DONE && !job_is_reported(job))
			set_status(job, JOB_CANCELLED);
	job_output_drained(exec);
	/* Begins anew each time, since the end of a job may end others. */
	for (struct job *job; (job = next_running(exec));)
		job_stop(job);
}

static void
job_lose(struct job *job, const char *why)
{
	if (job->status == JOB_LOST)
		return;
	set_status(job, JOB_LOST);
	report(job, why);
	job_stop(job);
}

static void
make_steps(struct job *job)
{
	job->steps = xcalloc(job->line.plan.count, sizeof(*job->steps));
	for (; job->count < job->line.plan.count; job->count++)
		step_open(
			&job->steps[job->count], job, &job->line.plan.steps[job->count], xasprintf("%s/%zu", job->dir, job->count));
}

/* Checks a run line that has a `job`, completely. */
static int
accept_line(struct job *job, struct kettle_error *err)
{
	struct exec_context *exec = job->exec;
	bool fits = true;
	int rc = run_line_read(exec, &job->line, err);
	if (rc == 0)
		rc = expected_machine_check(exec, &job->line, &fits, err);
	job->refused.elsewhere = !fits;
	for (size_t i = 0; rc == 0 && i < job->line.unit.count; i++)
		exec_context_avoid_cores(exec, &job->line.unit.devices[i].cores);
	if (rc == 0) {
		failpoint("exec.accepted");
		rc = spool_make(&exec->spool, "job-", &job->dir, err);
	}
	if (rc != 0)
		return rc;
	job->blob_dirs[0] = job->line.blobs ? job->line.blobs : exec->blobs;
	job->blob_dirs[1] = job->line.blobs ? exec->blobs : NULL;
	job->artifacts = job->line.spool ? xstrdup(job->line.spool) : path_join(job->dir, "artifacts");
	make_steps(job);
	budget_open(&job->budget, exec->config.artifacts_max_bytes);
	rc = device_lease_open(job, err);
	if (rc == 0)
		jit_open(job);
	return rc;
}

static int
start(struct exec_context *exec, json_t *line_take, bool own, struct kettle_error *err)
{
	struct run_line line;
	int rc = run_line_open(line_take, &line, err);
	if (rc == 0 && job_find(exec, line.job))
		rc = kettle_fail(err, KETTLE_ECONFLICT, "The job `%s` is already running.", line.job);
	if (rc != 0) {
		run_line_close(&line);
		return rc;
	}
	struct kettle_error error = {0};
	struct job *job = xnew(struct job, .exec = exec, .line = line, .own = own, .advance = job_advance,
		.devices_held = job_devices_held, .lose = job_lose, .received_ns = time_monotonic_ns());
	if (accept_line(job, &error) != 0) {
		job->refused.code = error.code;
		set_status(job, JOB_LOST);
		report(job, error.message);
		/* It is empty. */
		if (job->dir)
			(void)file_remove_tree(job->dir, NULL);
		job_free(job);
		return 0;
	}
	job->next = exec->jobs;
	exec->jobs = job;
	failpoint("exec.started");
	if (own)
		exec->sharing = true;
	else
		exec_context_emit(exec, json_pack("{s:s, s:s}", "event", "started", "job", line.job));
	job_advance(job);
	return 0;
}

int
job_start(struct exec_context *exec, json_t *line_take, struct kettle_error *err)
{
	return start(exec, line_take, false, err);
}
