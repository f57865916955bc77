/* SPDX-License-Identifier: MIT */
/* What the store does for one job of the engine, once more where the database could not take it. */
#include <config.h>

#include "engine/job_write.h"

#include "base/cleanup.h"
#include "base/log.h"

#include <stdlib.h>

struct engine_op *
engine_op_new(struct engine_job *job)
{
	struct engine_op *op = calloc(1, sizeof(*op));
	if (!op)
		abort(); /* a few bytes for a job that is already running: no state could be kept without them */
	op->job = job;
	op->id = job->id;
	op->attempt = job->attempt;
	return op;
}

void
engine_op_free(struct engine_op *op)
{
	json_decref(op->material);
	json_decref(op->verdict);
	json_decref(op->calibration);
	free(op->handle);
	free(op);
}

void
engine_op_write(struct engine_op *op, store_op run, store_done done)
{
	op->run = run;
	op->done = done;
	store_write(op->job->engine->setup.store, run, done, op);
}

bool
engine_op_may_pass(const struct kettle_error *err)
{
	return err && err->code != KETTLE_ECONFLICT && err->code != KETTLE_ENOENT && err->code != KETTLE_EINVAL &&
		   err->code != KETTLE_ECANCELED;
}

bool
engine_op_keep(struct engine_op *op, const struct kettle_error *err)
{
	struct engine_job *job = op->job;
	if (!engine_op_may_pass(err) || job->engine->stopping)
		return false;
	log_write(KETTLE_LOG_ERROR, "engine", "job %lld: the database could not take it, it is tried again: %s",
		(long long)job->id, err->message);
	job->again = op;
	job->again_at_ms = uv_now(job->engine->setup.loop) + ENGINE_STORE_RETRY_MS;
	return true;
}

void
engine_job_again(struct engine_job *job)
{
	struct engine_op *op = STEAL(job->again);
	engine_op_write(op, op->run, op->done);
}
