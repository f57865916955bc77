/* SPDX-License-Identifier: MIT */
/*
 * sbatch.
 *
 * Theory of operation. One batch of jobs is under way at a time: a thread of the pool writes its plans into the shared
 * folder, then sbatch runs. Jobs that come meanwhile wait; those with equal options then go as one array, whose task i
 * has the name in line i of the array's list.
 *
 * If sbatch fails without a refusal, Slurm may have the jobs or not. So the next valid snapshot of the queue decides;
 * while the controller is down there is none. Jobs that the snapshot lacks are sent again, an array as the same array.
 * Similar jobs wait for that, so that they spend no attempt.
 */
#include <config.h>

#include "runners/slurm/slurm_internal.h"

#include <unistd.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "runners/common/exec_archive.h"

#define AGAIN_MS 1000
#define AGAIN_MOST_MS 60000
#define DOCTOR_MINUTES 5

struct plan {
	char *name, *envelope;
	size_t size;
};

/* One call of sbatch, with the data for a thread of the pool. */
struct slurm_batch {
	struct slurm *slurm;
	struct slurm_job **jobs; /* by task; NULL: it has left the batch */
	size_t count;
	char *array; /* NULL: a single job */
	json_t *unit;
	long long minutes;
	bool is_doctor; /* a single doctor */
	char id[SLURM_ID_SIZE];
	/* The thread's. */
	json_t *section;
	char *folder, *exec; /* exec: NULL until it is found */
	struct plan *plans;  /* as many as jobs */
	struct kettle_error err;
};

void
slurm_submit_leave(struct slurm_job *own)
{
	struct slurm *slurm = own->job->remote->self;
	for (size_t i = 0; own->in_batch && i < slurm->batch->count; i++)
		if (slurm->batch->jobs[i] == own)
			slurm->batch->jobs[i] = NULL;
	own->in_batch = false;
}

static void
end_batch(struct slurm_batch *batch)
{
	struct slurm *slurm = batch->slurm;
	for (size_t i = 0; i < batch->count; i++) {
		if (batch->jobs[i])
			slurm_submit_leave(batch->jobs[i]);
		free_all(batch->plans[i].name, batch->plans[i].envelope);
	}
	json_decref_all(batch->unit, batch->section);
	free_all(batch->plans, batch->jobs, batch->array, batch->folder, batch->exec, batch);
	slurm->batch = NULL;
	slurm_go_on(slurm);
}

/* Takes the next job out of the batch; NULL: none is left. Asks the list anew, since ending one job may end others. */
static struct slurm_job *
take_job(struct slurm_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		struct slurm_job *own = batch->jobs[i];
		if (own) {
			slurm_submit_leave(own);
			return own;
		}
	}
	return NULL;
}

/* ---- the end of sbatch ---- */

static void
accept_batch(struct slurm_batch *batch)
{
	struct slurm *slurm = batch->slurm;
	free(STEAL(slurm->unsent));
	slurm->remote.host->reached(slurm->remote.host, NULL, NULL);
	for (struct slurm_job *own; (own = take_job(batch));) {
		memcpy(own->id, batch->id, sizeof(own->id));
		slurm_job_accepted(own);
	}
}

static void
refuse_batch(struct slurm_batch *batch, const char *reason)
{
	for (struct slurm_job *own; (own = take_job(batch));) {
		own->sent = false; /* do not look for it */
		remote_lost(own->job, KETTLE_LOSS_MISCONFIGURED, "Slurm refused its job: %s", reason);
	}
}

/* Has the batch tried again. A doctor ends instead, since its caller waits. sent: Slurm may have the jobs. */
static void
defer_batch(struct slurm_batch *batch, bool sent, const char *reason)
{
	struct slurm *slurm = batch->slurm;
	uint64_t again_ms = 0;
	if (!batch->is_doctor) {
		slurm->remote.host->log(slurm->remote.host, slurm->unsent ? KETTLE_LOG_DEBUG : KETTLE_LOG_WARNING,
			"jobs wait, since they could not be given to Slurm: %s", reason);
		free(slurm->unsent);
		slurm->unsent = xstrdup(reason);
		slurm->remote.host->reached(slurm->remote.host, NULL, reason);
	}
	for (struct slurm_job *own; (own = take_job(batch));) {
		own->tries++;
		if (!again_ms)
			again_ms = remote_now_ms(&slurm->remote) + remote_backoff_ms(own->tries, AGAIN_MS, AGAIN_MOST_MS);
		own->again_ms = again_ms;
		if (sent || own->job->phase == REMOTE_ORPHANED) {
			own->since_snapshot = slurm->snapshot;
			own->missing_ms = 0;
		}
		AUTO_FREE char *why = xasprintf("Slurm did not take the job: %s", reason);
		if (batch->is_doctor)
			remote_report(own->job, NULL, why);
		else
			remote_update(own->job, sent ? REMOTE_UNCERTAIN : REMOTE_NO_ANSWER, reason);
	}
}

static bool
on_answer(void *arg, char *line)
{
	struct slurm_batch *batch = arg;
	if (!batch->id[0])
		(void)sbatch_answer_parse(line, batch->id);
	return true;
}

static void
on_submitted(void *arg, const struct command_end *end)
{
	struct slurm_batch *batch = arg;
	const char *reason;
	failpoint("slurm.submitted");
	if (end->worked && batch->id[0])
		accept_batch(batch);
	else if (end->worked)
		defer_batch(batch, true, "the answer of sbatch is not the number of a job.");
	else if (sbatch_is_refusal(end->why, &reason))
		refuse_batch(batch, reason);
	else
		defer_batch(batch, true, end->why);
	end_batch(batch);
}

static void
run_sbatch(struct slurm_batch *batch, const char *name)
{
	struct slurm *slurm = batch->slurm;
	struct kettle_error err = {0};
	AUTO_FREE char *output = xasprintf("%s/jobs/%s/log%s", slurm->folder, name, batch->array ? ".%a" : "");
	AUTO_FREE char *script = path_join(slurm->folder, SHARED_SCRIPT);
	const struct sbatch_request request = {.sbatch = slurm->sbatch,
		.unit = batch->unit,
		.name = name,
		.output = output,
		.tasks = batch->array ? batch->count : 0,
		.minutes = batch->minutes};
	AUTO_ARGUMENTS struct arguments arguments = {0};
	sbatch_arguments(&request, &arguments);
	const char *const rest[] = {
		script, slurm->folder, slurm->exec, name, batch->is_doctor ? "doctor" : "run", slurm->config};
	for (size_t i = 0; i < ARRAY_SIZE(rest) && rest[i]; i++)
		arguments_add(&arguments, "%s", rest[i]);
	const struct command_use use = {.on_line = on_answer, .on_end = on_submitted, .arg = batch, .max_lines = 1000};
	if (slurm_run(slurm, &arguments, use, &err) < 0) {
		defer_batch(batch, false, err.message);
		end_batch(batch);
	}
}

static void
send_batch(struct slurm_batch *batch)
{
	const struct slurm_job *first = NULL;
	for (size_t i = batch->count; i-- > 0;) {
		struct slurm_job *own = batch->jobs[i];
		if (!own)
			continue;
		own->written = true;
		if (own->job->cancelled) { /* Slurm does not have it */
			slurm_submit_leave(own);
			remote_cancelled(own->job);
			continue;
		}
		own->sent = true;
		first = own;
	}
	if (first)
		run_sbatch(batch, batch->array ? batch->array : first->job->name);
	else
		end_batch(batch);
}

/* ---- the plans ---- */

int
slurm_find_exec(const json_t *section, const char *folder, char **ret_exec, struct kettle_error *err)
{
	const char *named = json_text_or_null(section, "exec");
	if (named) {
		*ret_exec = xstrdup(named);
		return 0;
	}
	AUTO_FREE char *path = exec_archive_path(section), *data = NULL;
	size_t size;
	char digest[65];
	int rc = exec_archive_read(path, &data, &size, digest, err);
	if (rc < 0)
		return rc;
	AUTO_FREE char *exec = xasprintf("%s/exec/%s/bin/kettle-exec", folder, digest);
	if (access(exec, X_OK) != 0)
		return kettle_fail(err, KETTLE_ENOENT,
			"The shared folder %s lacks the kettle-exec of this Kettle: run `kettle runner init slurm %s`.", folder,
			folder);
	*ret_exec = STEAL(exec);
	return 0;
}

static void
write_plans(void *arg)
{
	struct slurm_batch *batch = arg;
	const char *folder = batch->folder;
	AUTO_FREE char *key = path_join(folder, "key");
	AUTO_BUF struct buf list = {0};
	struct kettle_error *err = &batch->err;
	*err = (struct kettle_error){0};
	int rc = shared_folder_make(folder, err);
	if (rc == 0)
		rc = shared_folder_put_script(folder, err);
	if (rc == 0 && access(key, R_OK) != 0)
		rc = kettle_fail(
			err, KETTLE_ENOENT, "The shared folder %s has no key: run `kettle runner init slurm %s`.", folder, folder);
	if (rc == 0 && !batch->exec)
		rc = slurm_find_exec(batch->section, folder, &batch->exec, err);
	for (size_t i = 0; rc == 0 && i < batch->count; i++) {
		const struct plan *plan = &batch->plans[i];
		/* The line of a cancelled task is empty, so that the others keep their numbers. */
		buf_printf(&list, "%s\n", plan->name);
		if (*plan->name)
			rc = shared_folder_put(folder, plan->name, plan->envelope, plan->size, batch->array, i, err);
	}
	if (rc == 0 && batch->array)
		(void)shared_folder_put_list(folder, batch->array, list.data, err);
}

static void
on_written(void *arg)
{
	struct slurm_batch *batch = arg;
	struct slurm *slurm = batch->slurm;
	if (batch->err.code == 0) {
		failpoint("slurm.written");
		if (!slurm->exec)
			slurm->exec = STEAL(batch->exec);
		send_batch(batch);
	} else {
		/* The plans are needed for the next try. */
		for (size_t i = 0; i < batch->count; i++)
			if (batch->jobs[i])
				batch->jobs[i]->job->envelope = STEAL(batch->plans[i].envelope);
		defer_batch(batch, false, batch->err.message);
		end_batch(batch);
	}
	slurm_work_done(slurm);
}

static void
write_batch(struct slurm_batch *batch)
{
	struct slurm *slurm = batch->slurm;
	batch->section = json_deep_copy(slurm->section);
	(void)json_object_del(batch->section, "key");
	batch->folder = xstrdup(slurm->folder);
	batch->exec = slurm->exec ? xstrdup(slurm->exec) : NULL;
	for (size_t i = 0; i < batch->count; i++) {
		struct remote_job *job = batch->jobs[i] ? batch->jobs[i]->job : NULL;
		batch->plans[i].name = xstrdup(job ? job->name : "");
		if (!job)
			continue;
		batch->plans[i].envelope = STEAL(job->envelope);
		batch->plans[i].size = job->envelope_size;
	}
	(void)kettle_fail(&batch->err, KETTLE_ECANCELED, "The engine stops.");
	slurm_work(slurm, write_plans, on_written, batch);
}

/* ---- which jobs go together ---- */

/* Whether the two can be tasks of one array. A unit may have no options. */
static bool
are_alike(const struct remote_job *one, const struct remote_job *other)
{
	const json_t *options = json_object_get(one->unit, "options"), *others = json_object_get(other->unit, "options");
	return !one->report && !other->report &&
		   slurm_unit_minutes(one->unit, one->deadline_ms) == slurm_unit_minutes(other->unit, other->deadline_ms) &&
		   (options == others || json_equal(options, others)) &&
		   slurm_unit_memory_mb(one->unit) == slurm_unit_memory_mb(other->unit);
}

/* Whether the job is sent with the first one. A batch that was sent before is sent again unchanged. */
static bool
goes_with(const struct slurm_job *own, const struct slurm_job *first)
{
	const struct remote_job *job = own ? own->job : NULL;
	if (!own || own == first)
		return own;
	if (first->tasks > 0)
		return first->array && own->array && strcmp(own->array, first->array) == 0 && !job->cancelled &&
			   (job->phase == REMOTE_SENDING || job->phase == REMOTE_FINDING);
	return own->wanted && own->tasks == 0 && are_alike(job, first->job);
}

/* Whether the job must wait, since similar jobs wait for Slurm to take them. */
static bool
has_to_wait(const struct slurm_job *own)
{
	for (const struct remote_job *job = own->job->remote->jobs; job && own->tries == 0; job = job->next) {
		const struct slurm_job *other = job->own;
		if (other && other->tries > 0 && !job->cancelled && are_alike(job, own->job) &&
			(job->phase == REMOTE_SENDING || job->phase == REMOTE_FINDING))
			return true;
	}
	return false;
}

void
slurm_submit(struct remote_job *job)
{
	struct slurm_job *own = job->own;
	const struct slurm *slurm = job->remote->self;
	uint64_t now = remote_now_ms(&slurm->remote);
	if (!job->report)
		failpoint("slurm.send");
	if (own->again_ms > now)
		remote_wait(job, own->again_ms);
	else if (has_to_wait(own))
		remote_update(
			job, REMOTE_NO_ANSWER, slurm->unsent ? slurm->unsent : "other jobs wait for Slurm to accept them.");
	else
		own->wanted = true;
}

static void
collect(struct slurm_batch *batch, struct slurm_job *first)
{
	struct slurm *slurm = batch->slurm;
	size_t all = 0, skipped = 0;
	for (const struct remote_job *job = slurm->remote.jobs; job; job = job->next)
		all += goes_with(job->own, first);
	batch->count = first->tasks > 0 ? first->tasks : all < SHARED_ARRAY_MAX ? all : SHARED_ARRAY_MAX;
	batch->jobs = xcalloc(batch->count, sizeof(struct slurm_job *));
	batch->plans = xcalloc(batch->count, sizeof(struct plan));
	/* The list begins with the newest job. */
	for (const struct remote_job *job = slurm->remote.jobs; job; job = job->next)
		if (goes_with(job->own, first) && (first->array || skipped++ >= all - batch->count)) {
			struct slurm_job *own = job->own;
			batch->jobs[first->array ? own->task : all - skipped] = own;
		}
}

void
slurm_submit_next(struct slurm *slurm)
{
	struct slurm_job *first = NULL;
	for (const struct remote_job *job = slurm->remote.jobs; job && !slurm->batch; job = job->next)
		if (job->own && ((struct slurm_job *)job->own)->wanted)
			first = job->own;
	if (!first)
		return;
	struct slurm_batch *batch = slurm->batch = xcalloc(1, sizeof(*batch));
	*batch = (struct slurm_batch){.slurm = slurm,
		.unit = json_incref(first->job->unit),
		.is_doctor = first->job->report,
		.minutes = first->job->report ? DOCTOR_MINUTES : slurm_unit_minutes(first->job->unit, first->job->deadline_ms)};
	collect(batch, first);
	if (first->array)
		batch->array = xstrdup(first->array);
	else if (batch->count > 1)
		batch->array = xasprintf("%s.array", batch->jobs[0]->job->name);
	for (size_t i = 0; i < batch->count; i++) {
		struct slurm_job *own = batch->jobs[i];
		if (!own)
			continue;
		if (batch->array && !own->array)
			slurm_job_set_array(own, xstrdup(batch->array), i);
		own->tasks = batch->count;
		own->wanted = false;
		own->in_batch = true;
	}
	first->written ? send_batch(batch) : write_batch(batch);
}

static void
hasten(struct remote_job *job, void *arg)
{
	struct slurm_job *own = job->own;
	(void)arg;
	if (!own)
		return;
	if (job->phase == REMOTE_SENDING && own->again_ms && !job->awaiting)
		remote_wait(job, remote_now_ms(job->remote));
	own->again_ms = 0;
}

void
slurm_submit_soon(struct slurm *slurm)
{
	remote_each(&slurm->remote, hasten, NULL);
}
