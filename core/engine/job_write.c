/* SPDX-License-Identifier: MIT */
/* What the store does for one job of the engine, once more where the database could not take it. */
#include <config.h>

#include "engine/engine_internal.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/xalloc.h"

#include <assert.h>
#include <stdlib.h>

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

bool
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
