/* SPDX-License-Identifier: MIT */
/*
 * Jobs of the runner slurm.
 *
 * Theory of operation. A job is known by its unique name, or as a task of an array of a unique name; ids of Slurm are used again after
 * its controller has crashed, so an id is used only while the newest snapshot has it with the name. Whether a job may begin is decided once, by the
 * `claim` in its folder: a folder that the first run of the job makes, or a link by which the engine gives the job up. So a job that the
 * controller has forgotten, or starts a second time, runs at most once, and the engine knows whether it ever began. What
 * touches the shared folder is done on threads of the pool. A job that has ended stays in the table for some time after it has
 * left the queue: what Slurm still runs of it is cancelled, also if a controller that has crashed lists it once more. Its result
 * stays in the folder for a day, and the claim of a job without one, since the engine may be killed before it has stored the verdict
 * or the loss.
 */
#include <config.h>

#include "runners/slurm/slurm_internal.h"

#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/failpoint.h"
#include "base/xalloc.h"
#include "runners/slurm/shared_folder.h"

#define CANCEL_AGAIN_MS 3000
#define CANCEL_TASKS 100 /* of one scancel */

uint64_t
slurm_now_ms(const struct slurm *slurm)
{
	return slurm->host->monotonic_ms(slurm->host);
}

/* ---- the table ---- */

static int
compare_names(const void *a, const void *b)
{
	return strcmp(((const struct slurm_job *)a)->name, ((const struct slurm_job *)b)->name);
}

static int
compare_tasks(const void *a, const void *b)
{
	const struct slurm_job *one = a, *other = b;
	int order = strcmp(one->array, other->array);
	return order ? order : (one->task > other->task) - (one->task < other->task);
}

struct slurm_job *
slurm_job_find(const struct slurm *slurm, const char *name)
{
	struct slurm_job wanted = {.name = (char *)name};
	void *node = tfind(&wanted, (void *const *)&slurm->by_name, compare_names);
	return node ? *(struct slurm_job **)node : NULL;
}

struct slurm_job *
slurm_job_of_row(const struct slurm *slurm, const struct squeue_row *row)
{
	if (row->task < 0) {
		struct slurm_job *job = slurm_job_find(slurm, row->name);
		return job && !job->array ? job : NULL;
	}
	struct slurm_job wanted = {.array = (char *)row->name, .task = (size_t)row->task};
	void *node = tfind(&wanted, (void *const *)&slurm->by_task, compare_tasks);
	return node ? *(struct slurm_job **)node : NULL;
}

void
slurm_job_set_array(struct slurm_job *job, char *array_take, size_t task)
{
	job->array = array_take;
	job->task = task;
	struct slurm_job **there = tsearch(job, &job->slurm->by_task, compare_tasks);
	if (!there)
		xalloc_fail();
	if (*there == job)
		return;
	/* Two folders that name the same task: one of them was changed by hand. */
	free(STEAL(job->array));
}

const char *
slurm_job_slurm_name(const struct slurm_job *job)
{
	return job->array ? job->array : job->name;
}

static struct slurm_job *
add(struct remote_job *remote, enum slurm_state state)
{
	struct slurm *slurm = remote->remote->self;
	struct slurm_job *job = xcalloc(1, sizeof(*job)), *before = slurm_job_find(slurm, remote->name);
	if (before) /* a job that was recovered again */
		slurm_job_forget(before);
	*job = (struct slurm_job){.slurm = slurm,
		.next = slurm->jobs,
		.remote = remote,
		.name = xstrdup(remote->name),
		.state = state,
		.queued_ms = slurm_now_ms(slurm)};
	slurm->jobs = job;
	if (!tsearch(job, &slurm->by_name, compare_names))
		xalloc_fail();
	remote->own = job;
	slurm_poll_start(slurm);
	return job;
}

static void
free_unused(struct slurm_job *job)
{
	if (!job->dropped || job->busy > 0)
		return;
	free(job->name);
	free(job->array);
	free(job);
}

void
slurm_job_forget(struct slurm_job *job)
{
	struct slurm_job **link = &job->slurm->jobs;
	slurm_submit_leave(job);
	while (*link != job)
		link = &(*link)->next;
	*link = job->next;
	(void)tdelete(job, &job->slurm->by_name, compare_names);
	if (job->array)
		(void)tdelete(job, &job->slurm->by_task, compare_tasks);
	job->dropped = true;
	free_unused(job);
}

/* ---- threads of the pool ---- */

void
slurm_work(struct slurm *slurm, struct slurm_job *job, kettle_fn work, kettle_fn after, void *arg)
{
	struct kettle_error err = {0};
	slurm->busy++;
	if (job)
		job->busy++;
	if (slurm->host->work(slurm->host, work, after, arg, &err) < 0)
		after(arg); /* the engine closes: what work would have found stays unknown */
}

void
slurm_work_done(struct slurm *slurm, struct slurm_job *job)
{
	slurm->busy--;
	if (job) {
		job->busy--;
		free_unused(job);
	}
	slurm_finish_stop(slurm);
}

void
slurm_finish_stop(struct slurm *slurm)
{
	if (slurm->stopped && slurm->busy == 0 && !slurm->commands) {
		kettle_fn stopped = STEAL(slurm->stopped);
		stopped(slurm->stopped_arg);
	}
}

/* One job's files, on a thread of the pool. */
struct job_files {
	struct slurm *slurm;
	struct slurm_job *job; /* that stays meanwhile; NULL: it may be forgotten */
	char *folder, *name, *array;
	size_t task;
	bool recovered, has_result;
	int claimed; /* as shared_folder_claim says */
	char *words;
	char *why; /* of a job that is given up */
	char final[32];
};

static struct job_files *
job_files_new(const struct slurm_job *job)
{
	struct job_files *files = xcalloc(1, sizeof(*files));
	*files = (struct job_files){.slurm = job->slurm,
		.folder = xstrdup(job->slurm->folder),
		.name = xstrdup(job->name),
		.array = job->array ? xstrdup(job->array) : NULL,
		.task = job->task,
		.recovered = job->recovered,
		.claimed = KETTLE_EUNAVAIL};
	return files;
}

static void
job_files_free(struct job_files *files)
{
	struct slurm *slurm = files->slurm;
	struct slurm_job *job = files->job;
	free(files->folder);
	free(files->name);
	free(files->array);
	free(files->words);
	free(files->why);
	free(files);
	slurm_work_done(slurm, job);
}

/* Runs work for a job's files, then after; the job stays until job_files_free. */
static void
work_on_files(struct slurm_job *job, struct job_files *files, kettle_fn work, kettle_fn after)
{
	files->job = job;
	slurm_work(job->slurm, job, work, after, files);
}

static void
remove_files(void *arg)
{
	const struct job_files *files = arg;
	shared_folder_retire(files->folder, files->name, files->array);
}

static void
on_removed(void *arg)
{
	failpoint("slurm.retired");
	job_files_free(arg);
}

/* Whether no other task of its array needs the array's list any more. */
static bool
is_last_task(const struct slurm_job *job)
{
	for (const struct slurm_job *other = job->slurm->jobs; other && job->array; other = other->next)
		if (other != job && other->array && !other->gone_ms && strcmp(other->array, job->array) == 0)
			return false;
	return job->array;
}

void
slurm_job_remove_files(const struct slurm_job *job)
{
	struct job_files *files = job_files_new(job);
	if (!is_last_task(job))
		free(STEAL(files->array));
	slurm_work(job->slurm, NULL, remove_files, on_removed, files);
}

void
slurm_job_drop(struct slurm_job *job)
{
	slurm_job_remove_files(job);
	slurm_job_forget(job);
}

/* ---- losses ---- */

static void
claim(void *arg)
{
	struct job_files *files = arg;
	AUTO_FREE char *result = shared_folder_result(files->folder, files->name);
	/* Claimed first: a run that was there before has left its result, or never will. */
	files->claimed = shared_folder_claim(files->folder, files->name, NULL);
	files->has_result = access(result, F_OK) == 0;
	bool is_known = shared_folder_has(files->folder, files->name);
	/* What is not seen says nothing where the folder has gone away meanwhile. */
	if (files->claimed == 0 && !shared_folder_is_there(files->folder))
		files->claimed = KETTLE_EUNAVAIL;
	else if (files->claimed == 0 && files->recovered && !is_known)
		files->claimed = 1; /* it was never sent */
	files->words = shared_folder_last_words(files->folder, files->name, files->array, files->task);
}

static void
lose(struct slurm_job *job, const struct job_files *files)
{
	const char *final = files->final, *words = files->words;
	enum slurm_standing standing = *final ? slurm_standing(final) : SLURM_TAKEN_AWAY;
	/* Nothing will come of it any more; sentences are for operators and participants. */
	if (standing == SLURM_FAILED)
		remote_lost(job->remote, KETTLE_LOSS_NODE_FAULT, "Its job in Slurm ended without a result (%s)%s%s", final,
			*words ? ": " : ".", words);
	else if (files->claimed == 1)
		remote_lost(job->remote, KETTLE_LOSS_NOT_STARTED, "Slurm %s before it began%s%s%s.",
			*final ? "gave its job up" : "does not have its job, which had left the queue", *final ? " (" : "", final,
			*final ? ")" : "");
	else if (*final)
		remote_lost(job->remote, KETTLE_LOSS_UNKNOWN_JOB, "Slurm gave its job up while it ran (%s).", final);
	else
		remote_lost(job->remote, KETTLE_LOSS_UNKNOWN_JOB, "Slurm no longer knows its job, which left no result.");
}

static void
on_lost_claimed(void *arg)
{
	struct job_files *files = arg;
	struct slurm_job *job = files->job;
	failpoint("slurm.claimed");
	job->losing = false;
	/* Where the folder cannot be reached, or a result has come, the next look decides. */
	if (job->remote && job->missing_ms && files->claimed >= 0 && !files->has_result)
		lose(job, files);
	job_files_free(files);
}

void
slurm_job_lose(struct slurm_job *job, const char *final)
{
	if (job->losing)
		return;
	job->losing = true;
	struct job_files *files = job_files_new(job);
	(void)snprintf(files->final, sizeof(files->final), "%s", final ? final : "");
	work_on_files(job, files, claim, on_lost_claimed);
}

static void
on_given_up(void *arg)
{
	struct job_files *files = arg;
	struct slurm_job *job = files->job;
	failpoint("slurm.given_up");
	job->losing = false;
	if (job->remote && !files->has_result && files->claimed == 0) {
		/* It has begun, and from now on the time of a job that runs counts. */
		remote_running(job->remote);
	} else if (job->remote && !files->has_result) {
		job->cancel_wanted = true;
		remote_lost(job->remote, files->claimed == 1 ? KETTLE_LOSS_AWAY : KETTLE_LOSS_UNREACHED, "%s", files->why);
	}
	job_files_free(files);
}

void
slurm_job_give_up(struct slurm_job *job, const char *format, ...)
{
	struct job_files *files;
	va_list args;
	if (job->losing || !job->remote || job->remote->phase == REMOTE_OPENING)
		return;
	job->losing = true;
	files = job_files_new(job);
	va_start(args, format);
	if (vasprintf(&files->why, format, args) < 0)
		xalloc_fail();
	va_end(args);
	work_on_files(job, files, claim, on_given_up);
}

/* ---- cancel ---- */

/* The tasks of one call of scancel. */
struct cancelling {
	struct slurm *slurm;
	char *name; /* of the job or array */
};

/*
 * A task can only be named by its id, so the newest snapshot must say that the id is still that of its array. One that sbatch has
 * not accepted may run nevertheless; where Slurm gets it later, slurm_job_accepted has it cancelled once more.
 */
static bool
needs_cancel(const struct slurm_job *job, uint64_t now)
{
	return job->cancel_wanted && !job->cancel_sent && job->cancel_ms <= now && job->state != SLURM_FRESH &&
		   job->state != SLURM_FINDING && (!job->array || (job->seen > 0 && job->seen == job->slurm->taken));
}

/* It is tried again every few seconds, and said once. */
static void
log_uncancelled(struct slurm *slurm, const char *name, const char *why)
{
	slurm->host->log(slurm->host, slurm->cancel_failed ? KETTLE_LOG_DEBUG : KETTLE_LOG_WARNING,
		"%s cannot be cancelled: %s", name, why);
	slurm->cancel_failed = true;
}

static void
on_cancel_ended(void *arg, const struct slurm_end *end)
{
	struct cancelling *cancelling = arg;
	struct slurm *slurm = cancelling->slurm;
	uint64_t now = slurm_now_ms(slurm);
	failpoint("slurm.cancelled");
	slurm->cancelling = false;
	for (struct slurm_job *job = slurm->jobs; job; job = job->next) {
		bool was_cancelled = job->cancelling;
		job->cancelling = false; /* one scancel runs at a time */
		if (!was_cancelled || !job->cancel_wanted)
			continue;
		job->cancel_sent = end->worked;
		job->cancel_ms = now + CANCEL_AGAIN_MS;
		job->since_snapshot = slurm->snapshot;
	}
	if (!end->worked)
		log_uncancelled(slurm, cancelling->name, end->last_stderr);
	else
		slurm->cancel_failed = false;
	free(cancelling->name);
	free(cancelling);
	slurm_poll_soon(slurm);
	slurm_job_cancel_next(slurm);
}

void
slurm_job_cancel_next(struct slurm *slurm)
{
	uint64_t now = slurm_now_ms(slurm);
	struct slurm_job *first = slurm->jobs;
	AUTO_ARGUMENTS struct arguments arguments = {0};
	struct kettle_error err = {0};
	while (first && !needs_cancel(first, now))
		first = first->next;
	if (!first || slurm->cancelling)
		return;
	arguments_add(&arguments, "%s", slurm->scancel);
	arguments_add(&arguments, "--quiet");
	/* Beside any of these scancel takes ID_TASK for the whole array. */
	if (!first->array) {
		arguments_add(&arguments, "--user=%s", slurm->uid);
		arguments_add(&arguments, "--name=%s", first->name);
	}
	unsigned tasks = 0;
	for (struct slurm_job *job = first; job && tasks < CANCEL_TASKS; job = job->next) {
		if (!needs_cancel(job, now) || strcmp(slurm_job_slurm_name(job), slurm_job_slurm_name(first)) != 0)
			continue;
		job->cancelling = true;
		tasks++;
		if (job->array)
			arguments_add(&arguments, "%s_%zu", job->id, job->task);
	}
	struct cancelling *cancelling = xcalloc(1, sizeof(*cancelling));
	*cancelling = (struct cancelling){.slurm = slurm, .name = xstrdup(slurm_job_slurm_name(first))};
	const struct slurm_use use = {.on_end = on_cancel_ended, .arg = cancelling, .max_lines = 1000};
	slurm->cancelling = true;
	if (slurm_command_run(slurm, &arguments, &use, &err) == 0)
		return;
	/* on_cancel_ended would try the next one at once. */
	slurm->cancelling = false;
	for (struct slurm_job *job = slurm->jobs; job; job = job->next) {
		job->cancel_ms = job->cancelling ? now + CANCEL_AGAIN_MS : job->cancel_ms;
		job->cancelling = false;
	}
	log_uncancelled(slurm, cancelling->name, err.message);
	free(cancelling->name);
	free(cancelling);
}

static void
on_cancel_claimed(void *arg)
{
	struct job_files *files = arg;
	struct slurm_job *job = files->job;
	/* It has not begun and never will: only its place in the queue is left. */
	if (job->remote && files->claimed == 1)
		remote_cancelled(job->remote);
	slurm_job_cancel_next(job->slurm);
	job_files_free(files);
}

static void
cancel(struct remote_job *remote)
{
	struct slurm_job *job = remote->own;
	if (job->state == SLURM_FRESH) {
		remote_cancelled(remote);
		return;
	}
	job->cancel_wanted = true;
	work_on_files(job, job_files_new(job), claim, on_cancel_claimed);
}

/* ---- the other operations of remote.h ---- */

static void
send(struct remote_job *remote)
{
	struct slurm *slurm = remote->remote->self;
	if (!remote->report)
		failpoint("slurm.send");
	(void)add(remote, SLURM_FRESH);
	slurm_submit_next(slurm);
}

void
slurm_job_accepted(struct slurm_job *job, const char *id)
{
	failpoint("slurm.accepted");
	job->state = SLURM_QUEUED;
	job->queued_ms = slurm_now_ms(job->slurm);
	job->submission = NULL;
	if (id)
		memcpy(job->id, id, sizeof(job->id));
	job->cancel_sent = false; /* Slurm may not have had it then */
	job->since_snapshot = job->slurm->snapshot;
	if (job->remote)
		remote_sent(job->remote);
	else
		job->state = SLURM_ENDED;
}

static void
read_array(void *arg)
{
	struct job_files *files = arg;
	shared_folder_restore(files->folder, files->name);
	files->array = shared_folder_array(files->folder, files->name, &files->task);
	files->claimed = shared_folder_is_there(files->folder) ? 0 : KETTLE_EUNAVAIL;
}

static void
on_array_read(void *arg)
{
	struct job_files *files = arg;
	struct slurm_job *job = files->job;
	if (job->state == SLURM_FINDING && files->claimed < 0) {
		job->unfound = true; /* the next tick tries again */
	} else if (job->state == SLURM_FINDING && !job->dropped) {
		if (files->array)
			slurm_job_set_array(job, STEAL(files->array), files->task);
		slurm_job_accepted(job, NULL);
		slurm_poll_soon(job->slurm);
		slurm_job_cancel_next(job->slurm);
	}
	job_files_free(files);
}

void
slurm_job_find_again(struct slurm *slurm)
{
	for (struct slurm_job *job = slurm->jobs; job; job = job->next) {
		if (!job->unfound)
			continue;
		job->unfound = false;
		work_on_files(job, job_files_new(job), read_array, on_array_read);
	}
}

static void
find(struct remote_job *remote)
{
	struct slurm_job *job = add(remote, SLURM_FINDING);
	job->recovered = true;
	work_on_files(job, job_files_new(job), read_array, on_array_read);
}

static void
release(struct remote_job *remote)
{
	struct slurm_job *job = remote->own;
	if (!job)
		return;
	job->remote = NULL;
	remote->own = NULL;
	if (remote->detached) {
		slurm_job_forget(job);
	} else if (job->state == SLURM_FRESH || job->slurm->stopping) {
		slurm_job_drop(job);
	} else {
		failpoint("slurm.ended");
		job->ended_ms = slurm_now_ms(job->slurm);
		job->since_snapshot = job->slurm->snapshot;
		if (job->state == SLURM_QUEUED)
			job->state = SLURM_ENDED;
	}
}

static int
check_unit(struct remote *remote, const json_t *unit, struct kettle_error *err)
{
	(void)remote;
	return slurm_unit_check(unit, err);
}

const struct remote_ops slurm_remote_ops = {
	.send = send, .find = find, .cancel = cancel, .release = release, .check_unit = check_unit};
