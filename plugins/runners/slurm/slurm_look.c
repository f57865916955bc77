/* SPDX-License-Identifier: MIT */
/*
 * The queue and the shared folder, as the newest squeue and the newest look show them.
 *
 * Theory of operation. One squeue lists all of the user's jobs, including ended ones as long as the controller knows
 * them: this is a snapshot. It is valid if squeue worked, its first line is the header and each further line is a row.
 * A job is missed if the queue lacks it in a snapshot that began after Slurm had accepted it. If it is still missed
 * after the grace time and after a look that found no result, it is lost. While the controller or the folder cannot be
 * reached, no job is lost.
 *
 * One look at a time, on a thread of the pool, lists results/ and reads the progress of running
 * jobs. It answers for all jobs that wait for an answer: a job with a result has ended; for the others the newest
 * snapshot of the queue decides. While the queue or the folder cannot be read, nothing counts against a job that has
 * begun.
 */
#include <config.h>

#include "runners/slurm/slurm_internal.h"

#include "base/base.h"
#include "base/bounded_json.h"
#include "base/buf.h"
#include "base/failpoint.h"

#define MAX_ROWS 1000000
#define QUERY_AGAIN_MS 2000
#define QUERY_MOST_MS 10000
#define REMEMBERED_MS 30000 /* between two calls of squeue only for jobs that had left the queue */
#define STATUS_MS 20000
#define MAX_RESULTS 200000
#define SWEEP_MS 3600000

/* ---- squeue ---- */

struct slurm_query {
	struct slurm *slurm;
	bool has_header, is_void;
	uint64_t began_ms;
	struct buf part; /* the part read so far of a row with several lines */
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
	struct slurm_job *own = slurm_job_of_row(slurm, &row);
	enum slurm_standing standing = slurm_standing(row.state);
	bool in_queue = standing == SLURM_PENDING || standing == SLURM_RUNNING;
	/* A job that was sent twice may have two rows; the one in the queue counts. */
	if (!own || (!in_queue && own->seen == slurm->snapshot))
		return;
	own->seen = in_queue ? slurm->snapshot : own->seen;
	own->standing = standing;
	(void)snprintf(own->id, sizeof(own->id), "%s", row.id);
	(void)snprintf(own->state, sizeof(own->state), "%s", row.state);
	(void)snprintf(own->reason, sizeof(own->reason), "%s", row.reason);
}

static bool
on_row(void *arg, char *line)
{
	struct slurm_query *query = arg;
	if (!query->has_header) {
		query->has_header = true;
		query->is_void = strcmp(line, SQUEUE_HEADER) != 0;
	} else if (!query->part.len && squeue_row_is_whole(line)) {
		take_row(query, line);
	} else {
		buf_printf(&query->part, "%s%s", query->part.len ? "\n" : "", line);
		query->is_void = query->part.len > SQUEUE_ROW_MAX;
		if (squeue_row_is_whole(query->part.data ? query->part.data : "")) {
			take_row(query, query->part.data);
			query->part.len = 0;
		}
	}
	return !query->is_void;
}

static void
take_snapshot(struct slurm *slurm)
{
	uint64_t now = remote_now_ms(&slurm->remote);
	slurm->taken = slurm->snapshot;
	for (const struct remote_job *job = slurm->remote.jobs; job; job = job->next) {
		struct slurm_job *own = job->own;
		if (own && own->seen == slurm->snapshot)
			own->missing_ms = 0;
		else if (own && own->since_snapshot < slurm->snapshot && !own->missing_ms)
			own->missing_ms = now;
	}
}

static void
take_failure(struct slurm *slurm, const char *last_stderr)
{
	if (slurm->query_failures++ == 0 && !slurm->remote.stopping)
		slurm->remote.host->log(slurm->remote.host, KETTLE_LOG_WARNING, "squeue cannot be used: %s", last_stderr);
	slurm->remote.host->reached(slurm->remote.host, NULL, last_stderr);
	slurm->query_ms =
		remote_now_ms(&slurm->remote) + remote_backoff_ms(slurm->query_failures, QUERY_AGAIN_MS, QUERY_MOST_MS);
	free(slurm->unlisted);
	slurm->unlisted = xasprintf("Slurm's queue cannot be listed: %s", last_stderr);
}

static void
on_queried(void *arg, const struct command_end *end)
{
	struct slurm_query *query = arg;
	struct slurm *slurm = query->slurm;
	uint64_t now = remote_now_ms(&slurm->remote), took = now - query->began_ms;
	slurm->query = NULL;
	if (!end->worked && !query->is_void) {
		take_failure(slurm, end->why);
	} else if (!query->has_header || query->is_void || query->part.len) {
		take_failure(slurm, "its answer is not a list of jobs.");
	} else {
		free(STEAL(slurm->unlisted));
		if (!slurm->unsent)
			slurm->remote.host->reached(slurm->remote.host, NULL, NULL);
		if (slurm->query_failures > 0)
			slurm_submit_soon(slurm);
		slurm->query_failures = 0;
		/* Lists a large queue less often. */
		slurm->query_ms = now + (took * 10 > slurm->queue_ms ? took * 10 : slurm->queue_ms);
		take_snapshot(slurm);
	}
	buf_free(&query->part);
	free(query);
	slurm_go_on(slurm);
}

static void
start_query(struct slurm *slurm)
{
	AUTO_ARGUMENTS struct arguments arguments = {0};
	struct kettle_error err = {0};
	struct slurm_query *query = xnew(struct slurm_query, .slurm = slurm, .began_ms = remote_now_ms(&slurm->remote));
	arguments_add(&arguments, "%s", slurm->squeue);
	arguments_add(&arguments, "--array");
	arguments_add(&arguments, "--all"); /* also hidden partitions */
	arguments_add(&arguments, "--user=%s", slurm->uid);
	arguments_add(&arguments, "--states=all");
	arguments_add(&arguments, "--format=%s", SQUEUE_FORMAT);
	slurm->snapshot++;
	const struct command_use use = {.on_line = on_row, .on_end = on_queried, .arg = query, .max_lines = MAX_ROWS};
	slurm->query = query;
	slurm->queried_ms = query->began_ms;
	if (slurm_run(slurm, &arguments, use, &err) == 0)
		return;
	const struct command_end end = {.why = err.message};
	on_queried(query, &end);
}

static bool
has_to_query(const struct slurm *slurm)
{
	bool remembered = false;
	for (const struct remote_job *job = slurm->remote.jobs; job; job = job->next) {
		const struct slurm_job *own = job->own;
		if (own && own->since_snapshot != SLURM_NOT_SENT && (job->phase != REMOTE_ORPHANED || !own->missing_ms))
			return true;
		remembered = remembered || job->phase == REMOTE_ORPHANED;
	}
	return remembered && remote_now_ms(&slurm->remote) - slurm->queried_ms > REMEMBERED_MS;
}

void
slurm_queue_next(struct slurm *slurm)
{
	if (!slurm->query && remote_now_ms(&slurm->remote) >= slurm->query_ms && has_to_query(slurm))
		start_query(slurm);
}

void
slurm_queue_soon(struct slurm *slurm)
{
	if (slurm->query_failures == 0)
		slurm->query_ms = 0;
}

/* ---- the status ---- */

/* Describes the job's place by the newest snapshot. New string. */
static char *
where(const struct remote_job *job)
{
	const struct slurm_job *own = job->own;
	if (!own || !slurm_job_is_listed(own) || job->phase < REMOTE_SUBMITTED)
		return xstrdup("not in the queue");
	AUTO_FREE char *place = own->array ? xasprintf("job %s_%zu", own->id, own->task) : xasprintf("job %s", own->id);
	return xasprintf("%s, %s (%s)", place, own->state, own->reason);
}

void
slurm_queue_status(struct remote_job *job)
{
	struct slurm *slurm = job->remote->self;
	struct slurm_job *own = job->own;
	size_t running = 0;
	if (!own) {
		own = slurm_job_new(job);
		own->since_snapshot = slurm->snapshot;
		slurm_queue_soon(slurm);
	}
	uint64_t now = remote_now_ms(&slurm->remote); /* not before own->began_ms */
	if (slurm->taken <= own->since_snapshot) {
		if (now - own->began_ms > STATUS_MS)
			remote_report(job, NULL, "Slurm's controller did not list its jobs within 20 s.");
		else
			remote_wait(job, now + slurm->poll_ms);
		return;
	}
	for (const struct remote_job *other = slurm->remote.jobs; other; other = other->next)
		running += other->running && other->phase < REMOTE_ORPHANED && !other->report;
	AUTO_JSON json_t *answer = json_pack("{s:o, s:o}", "jobs", remote_list(&slurm->remote, where), "text",
		json_sprintf("%zu jobs of this engine wait in Slurm, %zu run.", slurm->remote.count - running, running));
	remote_report(job, answer, NULL);
}

/* ---- the shared folder ---- */

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
		shared_folder_sweep(state->folder, state->slurm->remote.host->utc_ms(state->slurm->remote.host));
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
	slurm->looking = false;
	if (state->names)
		slurm->looked_ms = state->began_ms;
	else if (!slurm->unlooked && state->err.code < 0)
		slurm->remote.host->log(slurm->remote.host, KETTLE_LOG_WARNING, "%s", state->err.message);
	slurm->unlooked = !state->names;
	for (i = 0; i < state->count; i++)
		take_item(slurm, &state->items[i]);
	json_array_each(state->names, name) {
		struct slurm_job *own = slurm_job_find(slurm, json_string_value(name));
		if (!own || !own->asked)
			continue;
		own->asked = false;
		remote_update(own->job, REMOTE_ENDED, NULL);
	}
	remote_each(&slurm->remote, answer, state);
	for (i = 0; i < state->count; i++) {
		free_all(state->items[i].name, state->items[i].text, state->items[i].words);
		json_decref(state->items[i].report);
	}
	free_all(state->items, state->folder);
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
	struct look *state = xnew(struct look, .slurm = slurm, .folder = xstrdup(slurm->folder),
		.items = xcalloc(asked, sizeof(struct look_item)), .began_ms = remote_now_ms(&slurm->remote));
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
