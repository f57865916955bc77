/* SPDX-License-Identifier: MIT */
/*
 * squeue, and looks into the shared folder.
 *
 * Theory of operation. While there are jobs a timer lists results/ on a thread of the pool, and reads the progress of jobs that run. More
 * rarely one squeue lists all of the user's jobs: that is a snapshot. It counts if squeue worked, its first line is the
 * header and each further one is a row. A job that a snapshot lacks, which began after Slurm had accepted it, is missed; if it
 * is still missed after the grace time and a look that found no result, squeue is called once more for its last state, and then it
 * is lost. While the controller or the folder cannot be reached no job is.
 */
#include <config.h>

#include "runners/slurm/slurm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounded_json.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/failpoint.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "runners/slurm/shared_folder.h"

#define MAX_ROWS 1000000
#define MAX_RESULTS 200000
#define MAX_LOSSES 200 /* names in one call of squeue */
#define QUERY_AGAIN_MS 2000
#define QUERY_MOST_MS 10000
#define LEFT_OVER_MS 8000   /* a job that has ended and is still listed after this is cancelled */
#define REMEMBER_MS 600000  /* for so long a job that has ended is known again */
#define REMEMBERED_MS 30000 /* between two calls of squeue for these alone */
#define OVERDUE_MS 60000    /* beyond the time that Slurm was given for a job */
#define FORGET_MS 86400000  /* a job that has ended, while no snapshot comes */
#define SWEEP_MS 3600000
#define DOCTOR_MS 150000 /* the command itself waits for three minutes */

/* All jobs, held so that they stay while each is dealt with. */
struct held_jobs {
	struct slurm_job **list;
	size_t count;
};

static struct held_jobs
hold_jobs(const struct slurm *slurm)
{
	struct held_jobs held = {0};
	for (const struct slurm_job *job = slurm->jobs; job; job = job->next)
		held.count++;
	held.list = xcalloc(held.count + 1, sizeof(struct slurm_job *));
	held.count = 0;
	for (struct slurm_job *job = slurm->jobs; job; job = job->next) {
		job->busy++;
		held.list[held.count++] = job;
	}
	return held;
}

static void
release_jobs(struct slurm *slurm, struct held_jobs *held)
{
	slurm->busy += held->count; /* slurm_work_done counts both */
	for (size_t i = 0; i < held->count; i++)
		slurm_work_done(slurm, held->list[i]);
	free(held->list);
}

/* ---- looks ---- */

struct look_item {
	char *name, *text;
	size_t offset;
	bool is_doctor; /* its text is a report, and then: */
	json_t *report; /* NULL: it is none */
	char *words;
};

struct look {
	struct slurm *slurm;
	char *folder;
	struct look_item *items;
	size_t count;
	json_t *names; /* of results; NULL: see err */
	uint64_t began_ms;
	struct kettle_error err;
};

static void
look_for_report(const char *folder, struct look_item *item)
{
	size_t size;
	if (!shared_folder_report(folder, item->name, &item->text, &size))
		return;
	item->words = shared_folder_last_words(folder, item->name, NULL, 0);
	item->report = bounded_json_parse(item->text, size, BOUNDED_JSON_VALUES, 0, NULL);
}

static void
look(void *arg)
{
	struct look *state = arg;
	(void)shared_folder_results(state->folder, MAX_RESULTS, &state->names, &state->err);
	for (size_t i = 0; i < state->count; i++) {
		struct look_item *item = &state->items[i];
		if (item->is_doctor)
			look_for_report(state->folder, item);
		else
			item->text = shared_folder_progress(state->folder, item->name, &item->offset);
	}
}

static void
report_progress(struct slurm_job *job, char *text, size_t offset)
{
	char *rest = NULL;
	job->progress = offset;
	for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line && job->remote;
		 line = strtok_r(NULL, "\n", &rest)) {
		AUTO_JSON json_t *event = bounded_json_parse(line, strlen(line), BOUNDED_JSON_VALUES, 0, NULL);
		remote_progress(job->remote, event);
	}
}

static void
report_doctor(const struct slurm_job *job, const struct look_item *item)
{
	AUTO_FREE char *why = xasprintf(
		"kettle-exec --doctor gave no report on the node: %s", *item->words ? item->words : "it said nothing.");
	remote_report(job->remote, item->report, why);
}

static void
free_look(struct look *state)
{
	for (size_t i = 0; i < state->count; i++) {
		free(state->items[i].name);
		free(state->items[i].text);
		free(state->items[i].words);
		json_decref(state->items[i].report);
	}
	free(state->items);
	free(state->folder);
	json_decref(state->names);
	free(state);
}

static void
on_looked(void *arg)
{
	struct look *state = arg;
	struct slurm *slurm = state->slurm;
	size_t i;
	const json_t *name;
	slurm->looking = false;
	if (state->names)
		slurm->looked_ms = state->began_ms;
	else if (!slurm->unlooked_ms && state->err.code < 0)
		slurm->host->log(slurm->host, KETTLE_LOG_WARNING, "%s", state->err.message);
	slurm->unlooked_ms = state->names ? 0 : slurm->unlooked_ms ? slurm->unlooked_ms : state->began_ms;
	for (i = 0; i < state->count; i++) {
		struct slurm_job *job = slurm_job_find(slurm, state->items[i].name);
		if (job && job->remote && !job->remote->report)
			report_progress(job, state->items[i].text, state->items[i].offset);
		else if (job && job->remote && state->items[i].text)
			report_doctor(job, &state->items[i]);
	}
	json_array_foreach(state->names, i, name) {
		struct slurm_job *job = slurm_job_find(slurm, json_string_value(name));
		if (!job || !job->remote || job->remote->phase == REMOTE_OPENING)
			continue;
		failpoint("slurm.result");
		AUTO_FREE char *path = shared_folder_result(slurm->folder, job->name);
		remote_result_file(job->remote, path);
	}
	free_look(state);
	slurm_work_done(slurm, NULL);
}

/* Whether its folder may have something new. */
static bool
has_news(const struct slurm_job *job)
{
	return job->remote && (job->remote->running || job->remote->report);
}

static void
start_look(struct slurm *slurm)
{
	struct look *state = xcalloc(1, sizeof(*state));
	uint64_t now = slurm_now_ms(slurm);
	size_t count = 0;
	for (const struct slurm_job *job = slurm->jobs; job; job = job->next)
		count += has_news(job);
	*state = (struct look){.slurm = slurm,
		.folder = xstrdup(slurm->folder),
		.items = xcalloc(count + 1, sizeof(struct look_item)),
		.began_ms = now};
	for (const struct slurm_job *job = slurm->jobs; job; job = job->next)
		if (has_news(job))
			state->items[state->count++] = (struct look_item){
				.name = xstrdup(job->name), .offset = job->progress, .is_doctor = job->remote->report};
	slurm->looking = true;
	slurm_work(slurm, NULL, look, on_looked, state);
}

/* ---- what is old ---- */

static void
sweep(void *arg)
{
	const struct look *state = arg;
	shared_folder_sweep(state->folder, state->slurm->host->utc_ms(state->slurm->host));
}

static void
on_swept(void *arg)
{
	struct look *state = arg;
	struct slurm *slurm = state->slurm;
	free_look(state);
	slurm_work_done(slurm, NULL);
}

void
slurm_poll_sweep(struct slurm *slurm)
{
	struct look *state = xcalloc(1, sizeof(*state));
	*state = (struct look){.slurm = slurm, .folder = xstrdup(slurm->folder)};
	slurm->swept_ms = slurm_now_ms(slurm);
	slurm_work(slurm, NULL, sweep, on_swept, state);
}

/* ---- the queue ---- */

struct slurm_query {
	struct slurm *slurm;
	bool is_autopsy; /* of jobs that are missed: their last states */
	bool has_header, is_void;
	uint64_t began_ms;
	json_t *finals;  /* of an autopsy: name → last state, null: not listed */
	struct buf part; /* of a row that has more lines */
};

static void
take_row(struct slurm_query *query, char *text)
{
	struct slurm *slurm = query->slurm;
	struct squeue_row row;
	if (!squeue_row_parse(text, &row)) {
		query->is_void = true;
		return;
	}
	struct slurm_job *job = slurm_job_of_row(slurm, &row);
	if (job && query->is_autopsy) {
		if (json_object_get(query->finals, job->name))
			(void)json_object_set_new(query->finals, job->name, json_string(row.state));
	} else if (job) {
		job->seen = slurm->snapshot;
		job->seen_standing = slurm_standing(row.state);
		(void)snprintf(job->id, sizeof(job->id), "%s", row.id);
		(void)snprintf(job->seen_state, sizeof(job->seen_state), "%s", row.state);
		(void)snprintf(job->seen_reason, sizeof(job->seen_reason), "%s", row.reason);
	}
}

static void
on_row(void *arg, char *line)
{
	struct slurm_query *query = arg;
	if (!query->has_header) {
		query->has_header = true;
		query->is_void = strcmp(line, SQUEUE_HEADER) != 0;
	} else if (query->is_void) {
		return;
	} else if (!query->part.len && squeue_row_is_whole(line)) {
		take_row(query, line);
	} else {
		buf_printf(&query->part, "%s%s", query->part.len ? "\n" : "", line);
		query->is_void = query->part.len > SQUEUE_ROW_MAX;
		if (!squeue_row_is_whole(query->part.data ? query->part.data : ""))
			return;
		take_row(query, query->part.data);
		query->part.len = 0;
	}
}

/* A snapshot has the job. */
static void
take_listed(struct slurm_job *job, uint64_t now)
{
	job->missing_ms = 0;
	if (job->state == SLURM_ENDED) {
		if (job->gone_ms || now - job->ended_ms > LEFT_OVER_MS)
			job->cancel_wanted = true;
		if (job->cancel_sent && now > job->cancel_ms)
			job->cancel_sent = false; /* it did not help: once more */
		return;
	}
	if (job->seen_standing == SLURM_RUNS && job->remote)
		remote_running(job->remote);
}

/* A snapshot that is late enough does not have it. */
static void
take_missing(struct slurm_job *job, uint64_t now)
{
	if (job->state == SLURM_ENDED && !job->gone_ms) {
		job->gone_ms = now;
		slurm_job_remove_files(job);
	} else if (job->state == SLURM_ENDED && now - job->gone_ms > REMEMBER_MS) {
		slurm_job_forget(job);
	} else if (job->state == SLURM_ENDED) {
		job->cancel_wanted = false;
	} else if (job->remote && job->cancel_sent) {
		remote_cancelled(job->remote);
	} else if (!job->missing_ms) {
		job->missing_ms = now;
	}
}

static void
take_snapshot(struct slurm *slurm)
{
	uint64_t now = slurm_now_ms(slurm);
	struct held_jobs held = hold_jobs(slurm);
	slurm->taken = slurm->snapshot;
	slurm_submit_settle(slurm);
	for (size_t i = 0; i < held.count; i++) {
		struct slurm_job *job = held.list[i];
		if (job->dropped || (job->state != SLURM_QUEUED && job->state != SLURM_ENDED))
			continue;
		if (job->seen == slurm->snapshot)
			take_listed(job, now);
		else if (job->since_snapshot < slurm->snapshot)
			take_missing(job, now);
	}
	release_jobs(slurm, &held);
	slurm_job_cancel_next(slurm);
}

static void
take_finals(struct slurm *slurm, const json_t *finals)
{
	const char *name;
	json_t *final;
	json_object_foreach((json_t *)finals, name, final) {
		struct slurm_job *job = slurm_job_find(slurm, name);
		const char *state = json_string_value(final);
		enum slurm_standing standing = state ? slurm_standing(state) : SLURM_TAKEN_AWAY;
		if (!job || !job->remote || !job->missing_ms)
			continue;
		if (standing == SLURM_WAITS || standing == SLURM_RUNS)
			job->missing_ms = 0;
		else
			slurm_job_lose(job, state);
	}
}

static void
on_queried(void *arg, const struct slurm_end *end)
{
	struct slurm_query *query = arg;
	struct slurm *slurm = query->slurm;
	uint64_t now = slurm_now_ms(slurm);
	const char *last_stderr = end->worked ? "its answer is not the list of jobs that it should be." : end->last_stderr;
	bool valid = end->worked && query->has_header && !query->is_void && !query->part.len;
	slurm->query = NULL;
	if (valid) {
		slurm->unlisted_ms = 0;
		if (!slurm->submit_failed)
			slurm->host->reached(slurm->host, NULL, NULL);
		uint64_t took = now - query->began_ms;
		if (slurm->query_failures > 0)
			slurm_submit_soon(slurm);
		slurm->query_failures = 0;
		/* A large queue is listed more rarely. */
		slurm->query_ms = now + (took * 10 > slurm->queue_ms ? took * 10 : slurm->queue_ms);
		query->is_autopsy ? take_finals(slurm, query->finals) : take_snapshot(slurm);
	} else {
		if (slurm->query_failures++ == 0 && !slurm->stopping)
			slurm->host->log(slurm->host, KETTLE_LOG_WARNING, "squeue cannot be used: %s", last_stderr);
		slurm->host->reached(slurm->host, NULL, last_stderr);
		slurm->query_ms = now + remote_backoff_ms(slurm->query_failures, QUERY_AGAIN_MS, QUERY_MOST_MS);
		slurm->unlisted_ms = slurm->unlisted_ms ? slurm->unlisted_ms : query->began_ms;
		(void)snprintf(slurm->last_stderr, sizeof(slurm->last_stderr), "%s", last_stderr);
	}
	buf_free(&query->part);
	json_decref(query->finals);
	free(query);
}

/* The names of the jobs that are missed for long enough; NULL: there are none. New string. */
static char *
choose_losses(const struct slurm *slurm, json_t *finals)
{
	AUTO_BUF struct buf names = {0};
	AUTO_JSON json_t *chosen = json_object();
	size_t count = 0;
	for (const struct slurm_job *job = slurm->jobs; job && json_object_size(finals) < MAX_LOSSES; job = job->next) {
		if (!job->remote || job->losing || !job->missing_ms || job->remote->phase == REMOTE_OPENING ||
			slurm->looked_ms < job->missing_ms + slurm->grace_ms)
			continue;
		const char *name = slurm_job_slurm_name(job);
		/* The tasks of an array have the same one. */
		if (json_object_set_new(chosen, name, json_null()) == 0 && json_object_size(chosen) > count) {
			count++;
			buf_printf(&names, "%s%s", names.len ? "," : "", name);
		}
		(void)json_object_set_new(finals, job->name, json_null());
	}
	return names.len ? buf_take(&names) : NULL;
}

static void
start_query(struct slurm *slurm)
{
	AUTO_ARGUMENTS struct arguments arguments = {0};
	struct kettle_error err = {0};
	struct slurm_query *query = xcalloc(1, sizeof(*query));
	*query = (struct slurm_query){.slurm = slurm, .began_ms = slurm_now_ms(slurm), .finals = json_object()};
	AUTO_FREE char *names = choose_losses(slurm, query->finals);
	arguments_add(&arguments, "%s", slurm->squeue);
	arguments_add(&arguments, "--array");
	arguments_add(&arguments, "--all"); /* partitions that are hidden, too */
	arguments_add(&arguments, "--user=%s", slurm->uid);
	arguments_add(&arguments, "--format=%s", SQUEUE_FORMAT);
	if (names) {
		arguments_add(&arguments, "--states=all");
		arguments_add(&arguments, "--name=%s", names);
		query->is_autopsy = true;
	} else {
		slurm->snapshot++;
	}
	const struct slurm_use use = {.on_line = on_row, .on_end = on_queried, .arg = query, .max_lines = MAX_ROWS};
	slurm->query = query;
	slurm->queried_ms = query->began_ms;
	if (slurm_command_run(slurm, &arguments, &use, &err) == 0)
		return;
	const struct slurm_end end = {false, err.message};
	on_queried(query, &end);
}

/* ---- the timer ---- */

static bool
has_to_query(const struct slurm *slurm)
{
	if (slurm->remote.inquiries)
		return true;
	for (const struct slurm_job *job = slurm->jobs; job; job = job->next)
		if (job->state == SLURM_QUEUED || (job->state == SLURM_ENDED && !job->gone_ms) || job->state == SLURM_SUBMITTED)
			return true;
	return slurm->jobs && slurm_now_ms(slurm) - slurm->queried_ms > REMEMBERED_MS;
}

/* The time of a job that runs, which holds whatever Slurm says or does not say. */
static void
end_overdue(struct slurm_job *job, uint64_t now)
{
	const struct slurm *slurm = job->slurm;
	const struct remote_job *remote = job->remote;
	if (!job->running_ms)
		failpoint("slurm.running");
	job->running_ms = job->running_ms ? job->running_ms : now;
	uint64_t most = (uint64_t)slurm_unit_minutes(remote->unit, remote->deadline_ms) * 60000 + OVERDUE_MS;
	if (now - job->running_ms <= most || job->cancel_wanted || remote->phase == REMOTE_OPENING)
		return;
	/* slurmstepd has died, say: Slurm lists the job for ever, and whatever it ran may still run. */
	job->cancel_wanted = true;
	if (slurm->unlisted_ms || slurm->unlooked_ms)
		remote_lost(job->remote, KETTLE_LOSS_UNREACHED, "Its job in Slurm has run for longer than its time, and %s%s",
			slurm->unlisted_ms ? "Slurm's queue cannot be listed: " : "the shared folder cannot be read.",
			slurm->unlisted_ms ? slurm->last_stderr : "");
	else
		remote_lost(
			job->remote, KETTLE_LOSS_NODE_FAULT, "Slurm did not end its job, which has run for longer than its time.");
}

static void
end_late_doctor(struct slurm_job *job, uint64_t now)
{
	if (now - job->queued_ms <= DOCTOR_MS)
		return;
	job->cancel_wanted = true;
	remote_report(job->remote, NULL, "Slurm did not run the job within 150 s; see what it waits for with `squeue`.");
}

/* Ends what has waited for too long: for the end of a job, the queue, or the folder. */
static void
end_late(struct slurm *slurm)
{
	uint64_t now = slurm_now_ms(slurm), most = slurm->give_up_ms;
	int seconds = (int)(most / 1000);
	struct held_jobs held = hold_jobs(slurm);
	bool unlisted = slurm->unlisted_ms && now - slurm->unlisted_ms >= most;
	bool unlooked = slurm->unlooked_ms && now - slurm->unlooked_ms >= most;
	for (size_t i = 0; i < held.count; i++) {
		struct slurm_job *job = held.list[i];
		if (job->dropped)
			continue;
		if (job->remote && job->remote->report)
			end_late_doctor(job, now);
		else if (job->remote && job->remote->running)
			end_overdue(job, now);
		else if (job->state == SLURM_ENDED && !job->gone_ms && now - job->ended_ms > FORGET_MS)
			slurm_job_drop(job);
		else if (job->state == SLURM_QUEUED && unlisted && now - job->queued_ms >= most)
			slurm_job_give_up(job, "Slurm's queue could not be listed for %d s: %s", seconds, slurm->last_stderr);
		else if (unlooked && ((job->state == SLURM_QUEUED && job->missing_ms) || job->state == SLURM_FINDING))
			slurm_job_give_up(job, "The shared folder could not be read for %d s.", seconds);
	}
	release_jobs(slurm, &held);
	slurm_submit_give_up(slurm);
}

static void
on_tick(void *arg)
{
	struct slurm *slurm = arg;
	if (!slurm->jobs && !slurm->remote.inquiries) {
		slurm_poll_stop(slurm);
		return;
	}
	if (!slurm->looking && slurm->remote.jobs)
		start_look(slurm);
	if (slurm_now_ms(slurm) - slurm->swept_ms > SWEEP_MS)
		slurm_poll_sweep(slurm);
	end_late(slurm);
	if (!slurm->query && slurm_now_ms(slurm) >= slurm->query_ms && has_to_query(slurm))
		start_query(slurm);
	slurm_job_find_again(slurm);
	slurm_submit_next(slurm);
	slurm_job_cancel_next(slurm);
	slurm_status_tick(slurm);
}

void
slurm_poll_start(struct slurm *slurm)
{
	struct kettle_error err = {0};
	if (slurm->tick || slurm->stopping)
		return;
	if (slurm->host->timer_start(slurm->host, slurm->poll_ms, slurm->poll_ms, on_tick, slurm, &slurm->tick, &err) < 0)
		slurm->host->log(slurm->host, KETTLE_LOG_WARNING, "%s", err.message);
}

void
slurm_poll_stop(struct slurm *slurm)
{
	slurm->host->timer_stop(slurm->host, STEAL(slurm->tick));
}

void
slurm_poll_soon(struct slurm *slurm)
{
	if (slurm->query_failures == 0)
		slurm->query_ms = 0;
}
