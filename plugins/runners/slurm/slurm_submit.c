/* SPDX-License-Identifier: MIT */
/*
 * sbatch.
 *
 * Theory of operation. One submission is under way at a time: a thread of the pool writes its plans into the shared folder, then
 * sbatch runs. Jobs that come meanwhile wait, and those of them with equal options go as one array, whose task i takes the
 * name in line i of the array's list. When sbatch fails without a refusal, Slurm may have the jobs or not, so the next valid
 * snapshot of the queue decides, which there is none of while the controller is down: until then the jobs wait, and no
 * attempt is spent. After `give_up_s` of that they are given up: each is claimed, so that it never begins, and lost.
 */
#include <config.h>

#include "runners/slurm/slurm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "runners/common/exec_archive.h"
#include "runners/slurm/shared_folder.h"

#define AGAIN_MS 1000
#define AGAIN_MOST_MS 60000
#define DOCTOR_MINUTES 5

struct slurm_submission {
	struct slurm *slurm;
	struct slurm_submission *next;
	struct slurm_job **jobs; /* by task; NULL: it has left */
	size_t count;
	char *array; /* NULL: a single job */
	json_t *unit;
	long long minutes;
	bool written, sent; /* sbatch was called, so Slurm may have it */
	bool is_doctor;     /* it is a single one */
	unsigned failures;
	uint64_t failing_ms; /* since when; 0: it has not failed */
	char last_stderr[SLURM_LAST_STDERR_MAX];
	uint64_t again_ms, since_snapshot;
	bool settled; /* a snapshot has shown that Slurm does not have it */
	char id[SLURM_ID_SIZE];
};

static void
free_submission(struct slurm_submission *submission)
{
	struct slurm_submission **link = &submission->slurm->submissions;
	while (*link && *link != submission)
		link = &(*link)->next;
	if (*link)
		*link = submission->next;
	for (size_t i = 0; i < submission->count; i++)
		if (submission->jobs[i])
			submission->jobs[i]->submission = NULL;
	json_decref(submission->unit);
	free(submission->array);
	free(submission->jobs);
	free(submission);
}

void
slurm_submit_leave(struct slurm_job *job)
{
	struct slurm_submission *submission = STEAL(job->submission);
	for (size_t i = 0; submission && i < submission->count; i++)
		if (submission->jobs[i] == job)
			submission->jobs[i] = NULL;
}

void
slurm_submit_free_all(struct slurm *slurm)
{
	while (slurm->submissions)
		free_submission(slurm->submissions);
	slurm->active = NULL;
}

/* ---- the end of a submission ---- */

/* Slurm has it; id "": its rows in the queue will tell. */
static void
accept_submission(struct slurm_submission *submission, const char *id)
{
	struct slurm *slurm = submission->slurm;
	for (size_t i = 0; i < submission->count; i++) {
		struct slurm_job *job = STEAL(submission->jobs[i]);
		if (job)
			slurm_job_accepted(job, *id ? id : NULL);
	}
	free_submission(submission);
	slurm->submit_failed = false;
	slurm->host->reached(slurm->host, NULL, NULL);
	slurm_job_cancel_next(slurm);
}

static void
refuse_submission(struct slurm_submission *submission, const char *reason)
{
	for (size_t i = 0; i < submission->count; i++) {
		struct slurm_job *job = submission->jobs[i];
		if (!job)
			continue;
		submission->jobs[i] = NULL;
		job->submission = NULL;
		job->state = SLURM_FRESH; /* so that nothing looks for it */
		if (job->remote)
			remote_lost(job->remote, KETTLE_LOSS_MISCONFIGURED, "Slurm refused its job: %s", reason);
		else
			slurm_job_drop(job);
	}
	free_submission(submission);
}

/* The caller of a doctor waits for its report. */
static void
report_failure(const struct slurm_job *job, const char *reason)
{
	AUTO_FREE char *why = xasprintf("Slurm did not take the job: %s", reason);
	if (job && job->remote)
		remote_report(job->remote, NULL, why);
}

/* It is tried again, once a snapshot has shown that Slurm does not have it. */
static void
defer_submission(struct slurm_submission *submission, const char *reason)
{
	struct slurm *slurm = submission->slurm;
	uint64_t now = slurm_now_ms(slurm);
	if (submission->failures++ == 0)
		submission->failing_ms = now;
	(void)snprintf(submission->last_stderr, sizeof(submission->last_stderr), "%s", reason);
	submission->again_ms = now + remote_backoff_ms(submission->failures, AGAIN_MS, AGAIN_MOST_MS);
	submission->since_snapshot = slurm->snapshot;
	submission->settled = !submission->sent;
	if (submission->is_doctor) {
		report_failure(submission->jobs[0], reason);
		return;
	}
	slurm->host->log(slurm->host, slurm->submit_failed ? KETTLE_LOG_DEBUG : KETTLE_LOG_WARNING,
		"jobs wait, since they could not be given to Slurm: %s", reason);
	slurm->submit_failed = true;
	slurm->host->reached(slurm->host, NULL, reason);
}

static void
give_up(struct slurm_submission *submission)
{
	int seconds = (int)(submission->slurm->give_up_ms / 1000);
	for (size_t i = 0; i < submission->count; i++) {
		struct slurm_job *job = submission->jobs[i];
		if (!job)
			continue;
		submission->jobs[i] = NULL;
		job->submission = NULL;
		if (submission->written) { /* Slurm may have it */
			slurm_job_accepted(job, NULL);
			slurm_job_give_up(job, "It could not be given to Slurm for %d s: %s", seconds, submission->last_stderr);
			continue;
		}
		job->state = SLURM_FRESH; /* so that nothing looks for it */
		if (job->remote)
			remote_lost(job->remote, KETTLE_LOSS_AWAY, "It could not be given to Slurm for %d s: %s", seconds,
				submission->last_stderr);
		else
			slurm_job_drop(job);
	}
	free_submission(submission);
}

void
slurm_submit_give_up(struct slurm *slurm)
{
	uint64_t now = slurm_now_ms(slurm);
	struct slurm_submission *submission = slurm->submissions;
	while (submission) {
		if (submission == slurm->active || !submission->failing_ms ||
			now - submission->failing_ms < slurm->give_up_ms) {
			submission = submission->next;
			continue;
		}
		give_up(submission); /* what the engine does then may change the list */
		submission = slurm->submissions;
	}
}

/* ---- sbatch ---- */

static void
on_answer(void *arg, char *line)
{
	struct slurm_submission *submission = arg;
	if (!submission->id[0])
		(void)sbatch_answer_parse(line, submission->id);
}

static void
on_submitted(void *arg, const struct slurm_end *end)
{
	struct slurm_submission *submission = arg;
	struct slurm *slurm = submission->slurm;
	const char *reason;
	failpoint("slurm.submitted");
	slurm->active = NULL;
	if (end->worked && submission->id[0])
		accept_submission(submission, submission->id);
	else if (end->worked)
		defer_submission(submission, "the answer of sbatch is not the number of a job.");
	else if (sbatch_is_refusal(end->last_stderr, &reason))
		refuse_submission(submission, reason);
	else
		defer_submission(submission, end->last_stderr);
	slurm_submit_next(slurm);
}

static void
send_submission(struct slurm_submission *submission)
{
	struct slurm *slurm = submission->slurm;
	const struct slurm_job *first = NULL;
	struct kettle_error err = {0};
	for (size_t i = submission->count; i-- > 0;) {
		struct slurm_job *job = submission->jobs[i];
		/* It was cancelled, and Slurm does not have it. */
		if (job && job->remote && job->cancel_wanted)
			remote_cancelled(job->remote);
		job = submission->jobs[i]; /* while the runner stops it has left */
		if (job && !job->remote)
			slurm_job_drop(job); /* it leaves the submission */
		else if (job)
			first = job;
	}
	if (!first || slurm->stopping) {
		slurm->active = NULL;
		free_submission(submission);
		return;
	}
	const char *name = submission->array ? submission->array : first->name;
	AUTO_FREE char *output = xasprintf("%s/jobs/%s/log%s", slurm->folder, name, submission->array ? ".%a" : "");
	const struct sbatch_request request = {.sbatch = slurm->sbatch,
		.unit = submission->unit,
		.name = name,
		.output = output,
		.tasks = submission->array ? submission->count : 0,
		.minutes = submission->minutes};
	AUTO_ARGUMENTS struct arguments arguments = {0};
	sbatch_arguments(&request, &arguments);
	AUTO_FREE char *script = path_join(slurm->folder, SHARED_SCRIPT);
	const char *const rest[] = {
		script, slurm->folder, slurm->exec, name, submission->is_doctor ? "doctor" : "run", slurm->config};
	for (size_t i = 0; i < ARRAY_SIZE(rest) && rest[i]; i++)
		arguments_add(&arguments, "%s", rest[i]);
	const struct slurm_use use = {.on_line = on_answer, .on_end = on_submitted, .arg = submission, .max_lines = 1000};
	submission->sent = true;
	submission->settled = false;
	submission->id[0] = '\0';
	if (slurm_command_run(slurm, &arguments, &use, &err) == 0)
		return;
	slurm->active = NULL;
	submission->sent = false;
	defer_submission(submission, err.message);
}

void
slurm_submit_settle(struct slurm *slurm)
{
	struct slurm_submission *submission = slurm->submissions, *next;
	for (; submission; submission = next) {
		char id[SLURM_ID_SIZE] = "";
		next = submission->next;
		if (submission == slurm->active || submission->settled || submission->since_snapshot >= slurm->snapshot)
			continue;
		submission->settled = true;
		for (size_t i = 0; i < submission->count && !id[0]; i++)
			if (submission->jobs[i] && submission->jobs[i]->seen == slurm->snapshot)
				memcpy(id, submission->jobs[i]->id, sizeof(id));
		if (id[0])
			accept_submission(submission, id);
	}
	slurm_submit_next(slurm);
}

void
slurm_submit_soon(struct slurm *slurm)
{
	for (struct slurm_submission *submission = slurm->submissions; submission; submission = submission->next)
		submission->again_ms = 0;
}

/* ---- the plans ---- */

int
slurm_submit_find_exec(const json_t *section, const char *folder, char **ret_exec, struct kettle_error *err)
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

/* What a thread of the pool writes. */
struct writing {
	struct slurm_submission *submission;
	struct slurm *slurm;
	json_t *section;
	char *folder, *array, *exec; /* exec: NULL until it is found */
	size_t count;
	bool is_doctor;
	struct {
		char *name, *envelope;
		size_t size;
	} plans[SHARED_ARRAY_MAX];
	struct kettle_error err;
};

static void
write_plans(void *arg)
{
	struct writing *writing = arg;
	AUTO_FREE char *key = path_join(writing->folder, "key");
	AUTO_BUF struct buf list = {0};
	struct kettle_error *err = &writing->err;
	*err = (struct kettle_error){0};
	int rc = shared_folder_make(writing->folder, err);
	if (rc == 0)
		rc = shared_folder_put_script(writing->folder, err);
	if (rc == 0 && access(key, R_OK) != 0)
		rc = kettle_fail(err, KETTLE_ENOENT, "The shared folder %s has no key: run `kettle runner init slurm %s`.",
			writing->folder, writing->folder);
	if (rc == 0 && !writing->exec)
		rc = slurm_submit_find_exec(writing->section, writing->folder, &writing->exec, err);
	for (size_t i = 0; rc == 0 && i < writing->count; i++) {
		buf_printf(&list, "%s\n", writing->plans[i].name);
		if (writing->plans[i].envelope)
			rc = shared_folder_put(writing->folder, writing->plans[i].name, writing->plans[i].envelope,
				writing->plans[i].size, writing->array, i, err);
	}
	if (rc == 0 && writing->is_doctor) {
		AUTO_FREE char *path = xasprintf("%s/jobs/%s", writing->folder, writing->plans[0].name);
		rc = file_mkdirs(path, 0700, err);
	}
	if (rc == 0 && writing->array)
		(void)shared_folder_put_list(writing->folder, writing->array, list.data, err);
}

static void
on_written(void *arg)
{
	struct writing *writing = arg;
	struct slurm_submission *submission = writing->submission;
	struct slurm *slurm = writing->slurm;
	bool worked = writing->err.code == 0;
	for (size_t i = 0; i < writing->count; i++) {
		struct slurm_job *job = submission->jobs[i];
		/* It is needed again where it could not be written. */
		if (!worked && job && job->remote && job->remote->phase == REMOTE_SENDING) {
			job->remote->envelope = STEAL(writing->plans[i].envelope);
			job->remote->envelope_size = writing->plans[i].size;
		}
		free(writing->plans[i].name);
		free(writing->plans[i].envelope);
	}
	if (worked && !slurm->exec)
		slurm->exec = STEAL(writing->exec);
	submission->written = worked;
	if (worked)
		failpoint("slurm.written");
	if (worked) {
		send_submission(submission);
	} else {
		slurm->active = NULL;
		defer_submission(submission, writing->err.message);
	}
	json_decref(writing->section);
	free(writing->folder);
	free(writing->array);
	free(writing->exec);
	free(writing);
	slurm_submit_next(slurm);
	slurm_work_done(slurm, NULL);
}

static void
write_submission(struct slurm_submission *submission)
{
	struct slurm *slurm = submission->slurm;
	struct writing *writing = xcalloc(1, sizeof(*writing));
	writing->submission = submission;
	writing->slurm = slurm;
	writing->section = json_deep_copy(slurm->section);
	(void)json_object_del(writing->section, "key");
	writing->folder = xstrdup(slurm->folder);
	writing->array = submission->array ? xstrdup(submission->array) : NULL;
	writing->exec = slurm->exec ? xstrdup(slurm->exec) : NULL;
	writing->count = submission->count;
	writing->is_doctor = submission->is_doctor;
	for (size_t i = 0; i < submission->count; i++) {
		struct slurm_job *job = submission->jobs[i];
		/* A task that was cancelled meanwhile keeps its number: its line names no job. */
		writing->plans[i].name = xstrdup(job ? job->name : "");
		if (job && job->remote) {
			writing->plans[i].envelope = STEAL(job->remote->envelope);
			writing->plans[i].size = job->remote->envelope_size;
		}
	}
	(void)kettle_fail(&writing->err, KETTLE_ECANCELED, "The engine stops.");
	slurm_work(slurm, NULL, write_plans, on_written, writing);
}

/* ---- what goes together ---- */

/* A unit need not have any. */
static bool
same_options(const json_t *one, const json_t *other)
{
	const json_t *options = json_object_get(one, "options"), *others = json_object_get(other, "options");
	return options == others || json_equal(options, others);
}

static bool
goes_with(const struct slurm_submission *submission, const struct slurm_job *job)
{
	return job->state == SLURM_FRESH && job->remote && !job->remote->report && !submission->is_doctor &&
		   slurm_unit_minutes(job->remote->unit, job->remote->deadline_ms) == submission->minutes &&
		   same_options(job->remote->unit, submission->unit) &&
		   slurm_unit_memory_mb(job->remote->unit) == slurm_unit_memory_mb(submission->unit);
}

/* Whether jobs like it wait for Slurm to take them: then it waits, too. */
static bool
has_to_wait(const struct slurm *slurm, const struct slurm_job *job)
{
	for (const struct slurm_submission *submission = slurm->submissions; submission; submission = submission->next)
		if (goes_with(submission, job))
			return true;
	return false;
}

/* The job that waits longest, and those that go with it; NULL: none waits. */
static struct slurm_submission *
collect(struct slurm *slurm)
{
	struct slurm_job *first = NULL;
	for (struct slurm_job *job = slurm->jobs; job; job = job->next)
		if (job->state == SLURM_FRESH && job->remote && !has_to_wait(slurm, job))
			first = job; /* the newest is the first of the list */
	if (!first)
		return NULL;
	struct slurm_submission *submission = xcalloc(1, sizeof(*submission));
	*submission = (struct slurm_submission){.slurm = slurm,
		.next = slurm->submissions,
		.jobs = xcalloc(SHARED_ARRAY_MAX, sizeof(struct slurm_job *)),
		.unit = json_incref(first->remote->unit),
		.is_doctor = first->remote->report,
		.minutes = first->remote->report ? DOCTOR_MINUTES
										 : slurm_unit_minutes(first->remote->unit, first->remote->deadline_ms)};
	slurm->submissions = submission;
	size_t all = 0, skipped = 0;
	for (const struct slurm_job *job = slurm->jobs; job; job = job->next)
		all += goes_with(submission, job);
	submission->count = submission->is_doctor ? 1 : all < SHARED_ARRAY_MAX ? all : SHARED_ARRAY_MAX;
	if (submission->is_doctor)
		submission->jobs[0] = first;
	for (struct slurm_job *job = slurm->jobs; job; job = job->next)
		if (goes_with(submission, job) && skipped++ >= all - submission->count)
			submission->jobs[all - skipped] = job;
	if (submission->count > 1)
		submission->array = xasprintf("%s.array", first->name);
	for (size_t i = 0; i < submission->count; i++) {
		submission->jobs[i]->state = SLURM_SUBMITTED;
		submission->jobs[i]->submission = submission;
		if (submission->array)
			slurm_job_set_array(submission->jobs[i], xstrdup(submission->array), i);
	}
	return submission;
}

void
slurm_submit_next(struct slurm *slurm)
{
	struct slurm_submission *submission = slurm->submissions;
	uint64_t now = slurm_now_ms(slurm);
	if (slurm->active || slurm->stopping)
		return;
	while (submission && (!submission->settled || submission->again_ms > now))
		submission = submission->next;
	if (!submission)
		submission = collect(slurm);
	if (!submission)
		return;
	slurm->active = submission;
	if (submission->written)
		send_submission(submission);
	else
		write_submission(submission);
}
