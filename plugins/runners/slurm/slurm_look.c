/* SPDX-License-Identifier: MIT */
/*
 * Looks into the shared folder.
 *
 * Theory of operation. One look at a time, on a thread of the pool, lists results/ and reads the progress of running
 * jobs. It answers for all jobs that wait for an answer: a job with a result has ended; for the others the newest
 * snapshot of the queue decides. While the queue or the folder cannot be read, nothing counts against a job that has
 * begun.
 */
#include <config.h>

#include "runners/slurm/slurm_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/bounded_json.h"
#include "base/cleanup.h"
#include "base/failpoint.h"
#include "base/xalloc.h"
#include "runners/slurm/shared_folder.h"

#define MAX_RESULTS 200000
#define SWEEP_MS 3600000

struct look_item {
	char *name, *text;
	size_t offset;
	bool is_doctor; /* text is a report; false: progress */
	json_t *report; /* NULL: text is not JSON */
	char *words;
};

struct look {
	struct slurm *slurm;
	char *folder;
	struct look_item *items;
	size_t count;
	bool sweeps;   /* also removes old files */
	json_t *names; /* in results/; NULL: see err */
	uint64_t began_ms;
	struct kettle_error err;
};

static void
look(void *arg)
{
	struct look *state = arg;
	if (state->sweeps)
		shared_folder_sweep(state->folder, state->slurm->host->utc_ms(state->slurm->host));
	(void)shared_folder_results(state->folder, MAX_RESULTS, &state->names, &state->err);
	for (size_t i = 0; i < state->count; i++) {
		struct look_item *item = &state->items[i];
		size_t size;
		if (!item->is_doctor) {
			item->text = shared_folder_progress(state->folder, item->name, &item->offset);
		} else if (shared_folder_report(state->folder, item->name, &item->text, &size)) {
			item->words = shared_folder_last_words(state->folder, item->name, NULL, 0);
			item->report = bounded_json_parse(item->text, size, BOUNDED_JSON_VALUES, 0, NULL);
		}
	}
}

/* Handles a job's progress or report, which may end the job. */
static void
take_item(struct slurm *slurm, struct look_item *item)
{
	struct slurm_job *own = slurm_job_find(slurm, item->name);
	char *rest = NULL;
	if (!own || !item->text)
		return;
	own->progress = item->offset;
	if (item->is_doctor) {
		AUTO_FREE char *why = xasprintf(
			"kettle-exec --doctor gave no report on the node: %s", *item->words ? item->words : "it said nothing.");
		remote_report(own->job, item->report, why);
		return;
	}
	for (char *line = strtok_r(item->text, "\n", &rest); line && slurm_job_find(slurm, item->name) == own;
		 line = strtok_r(NULL, "\n", &rest)) {
		AUTO_JSON json_t *event = bounded_json_parse(line, strlen(line), BOUNDED_JSON_VALUES, 0, NULL);
		remote_progress(own->job, event);
	}
}

/* Answers for a job that has left no result. */
static void
answer(struct remote_job *job, void *arg)
{
	const struct look *state = arg;
	const struct slurm *slurm = state->slurm;
	struct slurm_job *own = job->own;
	const char *unread = state->names ? NULL : state->err.message,
			   *unheard = slurm->unlisted ? slurm->unlisted : unread;
	if (!own || !own->asked)
		return;
	own->asked = false;
	if (own->missing_ms && !slurm->unlisted && slurm->looked_ms >= own->missing_ms + slurm->grace_ms)
		slurm_job_lose(own);
	if (job->running)
		failpoint("slurm.running");
	if (job->running)
		remote_update(job, REMOTE_RUNNING, unheard);
	else if (slurm->unlisted || (own->missing_ms && unread))
		remote_update(job, REMOTE_NO_ANSWER, unheard);
	else
		remote_update(
			job, slurm_job_is_listed(own) && own->standing == SLURM_RUNNING ? REMOTE_RUNNING : REMOTE_PENDING, NULL);
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
	else if (!slurm->unlooked && state->err.code < 0)
		slurm->host->log(slurm->host, KETTLE_LOG_WARNING, "%s", state->err.message);
	slurm->unlooked = !state->names;
	for (i = 0; i < state->count; i++)
		take_item(slurm, &state->items[i]);
	json_array_foreach(state->names, i, name) {
		struct slurm_job *own = slurm_job_find(slurm, json_string_value(name));
		if (!own || !own->asked)
			continue;
		own->asked = false;
		remote_update(own->job, REMOTE_ENDED, NULL);
	}
	remote_each(&slurm->remote, answer, state);
	for (i = 0; i < state->count; i++) {
		free(state->items[i].name);
		free(state->items[i].text);
		free(state->items[i].words);
		json_decref(state->items[i].report);
	}
	free(state->items);
	free(state->folder);
	json_decref(state->names);
	free(state);
	slurm_go_on(slurm);
	slurm_work_done(slurm);
}

void
slurm_look_next(struct slurm *slurm)
{
	size_t asked = 0;
	for (const struct remote_job *job = slurm->remote.jobs; job; job = job->next)
		asked += job->own && ((struct slurm_job *)job->own)->asked;
	if (slurm->looking || asked == 0)
		return;
	struct look *state = xcalloc(1, sizeof(*state));
	*state = (struct look){.slurm = slurm,
		.folder = xstrdup(slurm->folder),
		.items = xcalloc(asked, sizeof(struct look_item)),
		.began_ms = slurm_now_ms(slurm)};
	for (const struct remote_job *job = slurm->remote.jobs; job; job = job->next) {
		const struct slurm_job *own = job->own;
		if (own && own->asked && (job->running || job->report))
			state->items[state->count++] =
				(struct look_item){.name = xstrdup(job->name), .offset = own->progress, .is_doctor = job->report};
	}
	state->sweeps = !slurm->swept_ms || state->began_ms - slurm->swept_ms > SWEEP_MS;
	if (state->sweeps)
		slurm->swept_ms = state->began_ms;
	slurm->look_ms = state->began_ms + slurm->poll_ms;
	slurm->looking = true;
	slurm_work(slurm, look, on_looked, state);
}
