/* SPDX-License-Identifier: MIT */
/* What operators want to know of the queue. */
#include <config.h>

#include "runners/slurm/slurm_internal.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xalloc.h"

#define STATUS_MS 20000

/* One that waits for the next snapshot. */
struct status {
	uint64_t began_ms, snapshot;
};

/* What the newest snapshot says. New string. */
static char *
where(const struct remote_job *remote)
{
	const struct slurm_job *job = remote->own;
	if (!job || job->seen != job->slurm->taken || job->seen == 0 || job->state != SLURM_QUEUED)
		return xstrdup("not in the queue");
	AUTO_FREE char *place = job->array ? xasprintf("job %s_%zu", job->id, job->task) : xasprintf("job %s", job->id);
	return xasprintf("%s, %s (%s)", place, job->seen_state, job->seen_reason);
}

static json_t *
list_jobs(const struct slurm *slurm)
{
	size_t running = 0;
	for (const struct remote_job *job = slurm->remote.jobs; job; job = job->next)
		running += job->running && job->phase < REMOTE_LEFT && !job->report;
	return json_pack("{s:o, s:o}", "jobs", remote_list(&slurm->remote, where), "text",
		json_sprintf("%zu jobs of this engine wait in Slurm, %zu run.", slurm->remote.count - running, running));
}

void
slurm_status_tick(struct slurm *slurm)
{
	for (struct remote_inquiry *inquiry = slurm->remote.inquiries, *next; inquiry; inquiry = next) {
		const struct status *status = inquiry->own;
		next = inquiry->next;
		if (slurm->taken > status->snapshot) {
			AUTO_JSON json_t *answer = list_jobs(slurm);
			remote_answer(inquiry, answer, NULL);
		} else if (slurm_now_ms(slurm) - status->began_ms > STATUS_MS) {
			remote_answer(inquiry, NULL, "Slurm's controller did not list its jobs within 20 s.");
		}
	}
}

int
slurm_status(void *self, remote_done done, void *arg, struct kettle_error *err)
{
	struct slurm *slurm = self;
	if (slurm->stopping)
		return kettle_fail(err, KETTLE_EUNAVAIL, "The runner is stopping.");
	struct status *status = xcalloc(1, sizeof(*status));
	*status = (struct status){slurm_now_ms(slurm), slurm->snapshot};
	(void)remote_inquire(&slurm->remote, done, arg, status, free);
	slurm_poll_start(slurm);
	slurm_poll_soon(slurm);
	return 0;
}
