/* SPDX-License-Identifier: MIT */
/*
 * squeue.
 *
 * Theory of operation. One squeue lists all of the user's jobs, including ended ones as long as the controller knows
 * them: this is a snapshot. It is valid if squeue worked, its first line is the header and each further line is a row.
 * A job is missed if the queue lacks it in a snapshot that began after Slurm had accepted it. If it is still missed
 * after the grace time and after a look that found no result, it is lost. While the controller or the folder cannot be
 * reached, no job is lost.
 */
#include <config.h>

#include "runners/slurm/slurm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/xalloc.h"

#define MAX_ROWS 1000000
#define QUERY_AGAIN_MS 2000
#define QUERY_MOST_MS 10000
#define REMEMBERED_MS 30000 /* between two calls of squeue only for jobs that had left the queue */
#define STATUS_MS 20000

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

static void
take_snapshot(struct slurm *slurm)
{
	uint64_t now = slurm_now_ms(slurm);
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
	if (slurm->query_failures++ == 0 && !slurm->stopping)
		slurm->host->log(slurm->host, KETTLE_LOG_WARNING, "squeue cannot be used: %s", last_stderr);
	slurm->host->reached(slurm->host, NULL, last_stderr);
	slurm->query_ms = slurm_now_ms(slurm) + remote_backoff_ms(slurm->query_failures, QUERY_AGAIN_MS, QUERY_MOST_MS);
	free(slurm->unlisted);
	slurm->unlisted = xasprintf("Slurm's queue cannot be listed: %s", last_stderr);
}

static void
on_queried(void *arg, const struct slurm_end *end)
{
	struct slurm_query *query = arg;
	struct slurm *slurm = query->slurm;
	uint64_t now = slurm_now_ms(slurm), took = now - query->began_ms;
	slurm->query = NULL;
	if (!end->worked) {
		take_failure(slurm, end->last_stderr);
	} else if (!query->has_header || query->is_void || query->part.len) {
		take_failure(slurm, "its answer is not the list of jobs that it should be.");
	} else {
		free(STEAL(slurm->unlisted));
		if (!slurm->unsent)
			slurm->host->reached(slurm->host, NULL, NULL);
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
	struct slurm_query *query = xcalloc(1, sizeof(*query));
	*query = (struct slurm_query){.slurm = slurm, .began_ms = slurm_now_ms(slurm)};
	arguments_add(&arguments, "%s", slurm->squeue);
	arguments_add(&arguments, "--array");
	arguments_add(&arguments, "--all"); /* also hidden partitions */
	arguments_add(&arguments, "--user=%s", slurm->uid);
	arguments_add(&arguments, "--states=all");
	arguments_add(&arguments, "--format=%s", SQUEUE_FORMAT);
	slurm->snapshot++;
	const struct slurm_use use = {.on_line = on_row, .on_end = on_queried, .arg = query, .max_lines = MAX_ROWS};
	slurm->query = query;
	slurm->queried_ms = query->began_ms;
	if (slurm_command_run(slurm, &arguments, &use, &err) == 0)
		return;
	const struct slurm_end end = {false, err.message};
	on_queried(query, &end);
}

static bool
has_to_query(const struct slurm *slurm)
{
	bool remembered = false;
	if (slurm->remote.inquiries)
		return true;
	for (const struct remote_job *job = slurm->remote.jobs; job; job = job->next) {
		const struct slurm_job *own = job->own;
		if (own && own->since_snapshot != SLURM_NOT_SENT && (job->phase != REMOTE_ORPHANED || !own->missing_ms))
			return true;
		remembered = remembered || job->phase == REMOTE_ORPHANED;
	}
	return remembered && slurm_now_ms(slurm) - slurm->queried_ms > REMEMBERED_MS;
}

void
slurm_queue_next(struct slurm *slurm)
{
	if (!slurm->query && slurm_now_ms(slurm) >= slurm->query_ms && has_to_query(slurm))
		start_query(slurm);
}

void
slurm_queue_soon(struct slurm *slurm)
{
	if (slurm->query_failures == 0)
		slurm->query_ms = 0;
}

/* ---- the status ---- */

/* A status that waits for the next snapshot. */
struct status {
	struct slurm *slurm;
	struct remote_inquiry *inquiry;
	struct kettle_timer *timer;
	uint64_t began_ms, snapshot;
};

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

static void
on_status_due(void *arg)
{
	const struct status *status = arg;
	struct slurm *slurm = status->slurm;
	size_t running = 0;
	if (slurm->taken <= status->snapshot) {
		if (slurm_now_ms(slurm) - status->began_ms > STATUS_MS)
			remote_answer(status->inquiry, NULL, "Slurm's controller did not list its jobs within 20 s.");
		else
			slurm_queue_next(slurm);
		return;
	}
	for (const struct remote_job *job = slurm->remote.jobs; job; job = job->next)
		running += job->running && job->phase < REMOTE_ORPHANED && !job->report;
	AUTO_JSON json_t *answer = json_pack("{s:o, s:o}", "jobs", remote_list(&slurm->remote, where), "text",
		json_sprintf("%zu jobs of this engine wait in Slurm, %zu run.", slurm->remote.count - running, running));
	remote_answer(status->inquiry, answer, NULL);
}

static void
end_status(void *own)
{
	struct status *status = own;
	status->slurm->host->timer_stop(status->slurm->host, status->timer);
	free(status);
}

int
slurm_queue_status(void *self, remote_done done, void *arg, struct kettle_error *err)
{
	struct slurm *slurm = self;
	if (slurm->stopping)
		return kettle_fail(err, KETTLE_EUNAVAIL, "The runner is stopping.");
	struct status *status = xcalloc(1, sizeof(*status));
	*status = (struct status){.slurm = slurm, .began_ms = slurm_now_ms(slurm), .snapshot = slurm->snapshot};
	int rc = slurm->host->timer_start(
		slurm->host, slurm->poll_ms, slurm->poll_ms, on_status_due, status, &status->timer, err);
	if (rc < 0) {
		free(status);
		return rc;
	}
	status->inquiry = remote_inquire(&slurm->remote, done, arg, status, end_status);
	slurm_queue_soon(slurm);
	return 0;
}
