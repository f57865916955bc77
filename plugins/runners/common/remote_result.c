/* SPDX-License-Identifier: MIT */
/* Opens results of jobs on a remote side. */
/*
 * Theory of operation. A thread of the pool opens the result piece by piece (decrypts, decompresses, checks, writes
 * artifacts), so that a result of any size takes little memory. Then the loop completes the job.
 */
#include <config.h>

#include "runners/common/remote_internal.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/failpoint.h"
#include "base/file.h"
#include "sealed/result_package.h"

struct opening {
	struct remote_job *job;
	int fd;      /* of the envelope */
	char *path;  /* path to read again; NULL: only fd */
	bool unread; /* it could not be read, perhaps only now */
	bool large;  /* it is properly sealed, but larger than the limit */
	bool full;   /* its files cannot be written here */
	struct result_reader *reader;
	size_t report_size;
	json_t *completion;
	struct remote_second second; /* of a first part */
	char *run;
	struct kettle_error err;
};

static void
opening_free(struct opening *opening)
{
	if (opening->fd >= 0)
		close(opening->fd);
	json_decref_all(opening->completion, opening->second.unit);
	free_all(opening->second.envelope, opening->second.whole, opening->run, opening->path, opening);
}

static int
read_result(void *arg, uint64_t offset, void *data, size_t size, struct kettle_error *err)
{
	struct opening *opening = arg;
	int rc = file_read_piece(opening->fd, opening->path ? opening->path : "The result", offset, data, size, err);
	opening->unread = rc < 0;
	return rc;
}

static int
find_result(struct opening *opening, struct sealed_source *ret_source)
{
	struct stat st;
	*ret_source = (struct sealed_source){.read = read_result, .arg = opening};
	int rc = opening->path ? file_open(opening->path, &opening->fd, &ret_source->size, &opening->err) : 0;
	opening->unread = rc < 0;
	if (!opening->path && fstat(opening->fd, &st) == 0)
		ret_source->size = (uint64_t)st.st_size;
	return rc;
}

static int
take_result(void *arg, const void *data, size_t size, struct kettle_error *err)
{
	struct opening *opening = arg;
	int rc = result_reader_take(opening->reader, data, size, err);
	opening->large = rc == KETTLE_ETOOBIG;
	opening->full = rc == KETTLE_EIO;
	return rc;
}

static int
finish_result(struct opening *opening)
{
	int rc = result_reader_finish(opening->reader, &opening->completion, &opening->run, &opening->err);
	opening->full = rc == KETTLE_EIO;
	return rc;
}

static void
open_result(void *arg)
{
	struct opening *opening = arg;
	const struct remote_job *job = opening->job;
	const struct sealed_scope scope = {job->name, job->plan_hash};
	struct sealed_source source;
	AUTO_FREE char *outputs = job->part == REMOTE_FIRST ? remote_parts_outputs(job) : NULL;
	opening->reader = result_reader_new(outputs ? outputs : job->spool, RESULT_PACKAGE_MAX);
	int rc = find_result(opening, &source);
	if (rc == 0)
		rc = sealed_open_stream(
			job->key, SEALED_RESULT, &scope, &source, RESULT_PACKAGE_MAX, take_result, opening, &opening->err);
	if (rc == 0)
		rc = finish_result(opening);
	if (rc == 0 && outputs)
		(void)remote_parts_second(job, opening->completion, &opening->second, &opening->err);
	if (outputs)
		(void)file_remove_tree(outputs, NULL);
	opening->report_size = result_reader_line_size(opening->reader);
	result_reader_free(opening->reader);
}

static void
on_opened(void *arg)
{
	struct opening *opening = arg;
	struct remote_job *job = opening->job;
	failpoint("remote.opened");
	if (job->phase != REMOTE_OPENING) { /* completed meanwhile */
		if (job->part == REMOTE_FIRST && !job->detached)
			remote_parts_forget(job);
	} else if (job->cancelled) {
		remote_cancelled(job);
	} else if (opening->path && opening->unread && ++job->unread < REMOTE_READS) {
		job->phase = REMOTE_SUBMITTED;
		remote_step_wait(job);
	} else if (opening->second.unkept) {
		remote_lost(job, KETTLE_LOSS_UNREACHED, "It has built, and its whole plan is gone: %s", opening->err.message);
	} else if (opening->full) {
		remote_lost(job, KETTLE_LOSS_UNREACHED, "Its result from %s cannot be kept: %s", job->remote->side,
			opening->err.message);
	} else if (opening->err.code < 0) {
		remote_lost(job, opening->large ? KETTLE_LOSS_PERMANENT : KETTLE_LOSS_NODE_FAULT,
			"Its result from %s is void: %s", job->remote->side, opening->err.message);
	} else if (job->run && strcmp(job->run, opening->run ? opening->run : "") != 0) {
		remote_lost(job, KETTLE_LOSS_NODE_FAULT, "Its result from %s is void: it is that of run %s, not of run %s.",
			job->remote->side, opening->run ? opening->run : "(none)", job->run);
	} else if (opening->second.unit) {
		remote_begin_second(job, &opening->second);
	} else {
		remote_job_end(job, STEAL(opening->completion));
	}
	size_t size = opening->report_size;
	opening_free(opening);
	xalloc_trim(size);
	remote_job_release(job);
}

void
remote_result(struct remote_job *job, int fd_take, const char *path)
{
	struct kettle_error err = {0};
	const struct kettle_host *host = job->remote->host;
	struct opening *opening = xnew(struct opening, .job = job, .fd = fd_take, .path = path ? xstrdup(path) : NULL);
	if (job->phase >= REMOTE_OPENING) {
		opening_free(opening);
		return;
	}
	failpoint("remote.opening");
	remote_step_end(job);
	job->phase = REMOTE_OPENING;
	remote_job_hold(job);
	if (host->work(host, open_result, on_opened, opening, &err) == 0)
		return;
	opening_free(opening);
	remote_lost(job, KETTLE_LOSS_NODE_FAULT, "Its result could not be opened: %s", err.message);
	remote_job_release(job);
}
