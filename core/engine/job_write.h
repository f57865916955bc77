/* SPDX-License-Identifier: MIT */
/* What the store does for one job of the engine, once more where the database could not take it. Loop thread. */
#ifndef KETTLE_ENGINE_JOB_WRITE_H
#define KETTLE_ENGINE_JOB_WRITE_H

#include "engine/engine_internal.h"
#include "model/jobs.h"

/* The store's work for one job, and what the loop does after it. */
struct job_write {
	struct engine_job *job; /* the loop's; may be gone where only a handle is stored */
	int64_t id, attempt;
	store_op run;
	store_done done;
	struct job_material material;
	json_t *calibration;
	struct verdict *verdict;
	uint64_t completed_ns; /* of the verdict; 0: it came from no completion */
	int64_t record_ns;
	char *handle;
	char unit[96];
	char reason[300];
	struct kettle_error no_material;
	bool uncounted, waits, queued, refused;
	kettle_answer answer;
	void *arg;
};

/* Of this job and its attempt. */
struct job_write *job_write_new(struct engine_job *job);
void job_write_free(struct job_write *op);
/* In a transaction of its own; done gets the op, and frees it unless job_write_defer took it. */
void job_write_write(struct job_write *op, store_op run, store_done done);
/* Whether the database may take it at another time: it could not, and not because of what it was told. NULL: it could. */
bool job_write_may_pass(const struct kettle_error *err);
/*
 * A full disk may become free: what was not stored for such a reason is kept, and is tried again (engine_job_retry_writes). An
 * engine that stops leaves the job to the next one. False: it is not kept.
 */
bool job_write_defer(struct job_write *op, const struct kettle_error *err);

#endif
