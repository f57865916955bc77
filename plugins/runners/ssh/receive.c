/* SPDX-License-Identifier: MIT */
/* The artifacts of a job: kettle-exec sends events, from which this writes files into the job's spool. */
/*
 * Theory of operation. Events wait in a queue; one work at a time, on a thread of the pool, takes all that wait and
 * writes them. It checks everything that the other machine says: names, order, sizes, digests. A wrong piece makes the
 * job lost; a full disk costs only the files, as if they had been too large. The receiver lives until its last work
 * has ended.
 */
#include <config.h>

#include "runners/ssh/ssh.h"

#include <errno.h>
#include <fcntl.h>
#include <kettle/runner.h>
#include <unistd.h>

#include "base/base.h"
#include "base/contents.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/io.h"

/* For the loop thread, except members of the work. */
struct receiver {
	const struct kettle_host *host;
	char *ref, *spool;
	void (*ended)(void *arg);
	void *arg;
	json_t *waiting; /* events */
	size_t waiting_bytes;
	bool busy, dropped, finished;
	bool overrun; /* events came faster than the disk wrote: no more are taken */
	json_t *completion;
	/* of the work, while it is busy */
	json_t *writing;
	char *path; /* of the file being written; NULL: none */
	json_t *kept;
	int fd;
	uint64_t offset, bytes;
	unsigned files;
	struct kettle_error wrong;   /* why an event is refused; code 0: none is */
	struct kettle_error trouble; /* why this machine could not write */
};

struct receiver *
receiver_new(const struct kettle_host *host, const char *ref, const char *spool, void (*ended)(void *arg), void *arg)
{
	return xnew(struct receiver, .host = host, .ref = xstrdup(ref), .spool = xstrdup(spool), .ended = ended, .arg = arg,
		.waiting = json_array(), .fd = -1);
}

/* ---- on the work's thread ---- */

static void
close_file(struct receiver *receiver, bool whole)
{
	if (receiver->fd >= 0)
		close(STEAL_FD(receiver->fd));
	if (receiver->path && !whole)
		(void)unlink(receiver->path);
	free(STEAL(receiver->path));
	json_decref(STEAL(receiver->kept));
}

static int
open_file(struct receiver *receiver, json_t *event)
{
	const char *step = json_text_or_empty(event, "step"), *name = json_text_or_empty(event, "name");
	json_int_t size = json_is_integer(json_object_get(event, "size")) ? member_int(event, "size") : -1;
	struct kettle_error *wrong = &receiver->wrong;
	int rc = path_check_inside(step, wrong);
	if (rc == 0)
		rc = path_check_inside(name, wrong);
	if (rc == 0 && (strchr(step, '/') || size < 0 || strlen(json_text_or_empty(event, "sha256")) != 64))
		rc = kettle_fail(wrong, KETTLE_EINVAL, "A file from the host has no plain step, no size or no sha256.");
	if (rc == 0 && ((uint64_t)size > RECEIVE_MAX_BYTES - receiver->bytes || receiver->files == RECEIVE_MAX_FILES))
		rc = kettle_fail(wrong, KETTLE_ETOOBIG, "The host sent more than %u MiB or %d files.", RECEIVE_MAX_BYTES >> 20,
			RECEIVE_MAX_FILES);
	if (rc < 0)
		return rc;
	receiver->bytes += (uint64_t)size;
	receiver->files++;
	receiver->offset = 0;
	receiver->kept = json_pack("{s:s, s:s, s:I, s:s}", "step", step, "name", name, "size", size, "sha256",
		json_text_or_empty(event, "sha256"));
	receiver->path = xasprintf("%s/%s/%s", receiver->spool, step, name);
	AUTO_FREE char *folder = path_above(receiver->path, 1);
	if (receiver->trouble.code < 0)
		return 0;
	if (file_mkdirs(folder, 0700, &receiver->trouble) == 0)
		receiver->fd = open(receiver->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (receiver->fd < 0 && receiver->trouble.code == 0)
		(void)kettle_fail(&receiver->trouble, KETTLE_EIO, "`%s` cannot be made: %s.", receiver->path, strerror(errno));
	return 0;
}

static bool
is_of_file(const struct receiver *receiver, const json_t *event)
{
	static const char *const keys[] = {"step", "name", "size", "sha256"};
	bool same = true;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		same = same && json_equal(json_object_get(receiver->kept, keys[i]), json_object_get(event, keys[i]));
	return same;
}

static int
end_file(struct receiver *receiver)
{
	char hex[65] = "";
	bool whole = receiver->offset == (uint64_t)member_int(receiver->kept, "size"), kept = receiver->fd >= 0;
	if (whole && kept && (lseek(receiver->fd, 0, SEEK_SET) != 0 || sha256_fd(receiver->fd, hex) != 0))
		return kettle_fail(&receiver->trouble, KETTLE_EIO, "`%s` cannot be read: %s.", receiver->path, strerror(errno));
	if (!whole || (kept && strcmp(hex, json_text_or_empty(receiver->kept, "sha256")) != 0))
		return kettle_fail(&receiver->wrong, KETTLE_EIO, "The file `%s` of step `%s` is not what was announced.",
			json_text_or_empty(receiver->kept, "name"), json_text_or_empty(receiver->kept, "step"));
	close_file(receiver, true);
	return 0;
}

static int
write_piece(struct receiver *receiver, json_t *event)
{
	const json_t *data = json_object_get(event, "data");
	AUTO_FREE void *bytes = NULL;
	size_t size = 0;
	int rc = receiver->path ? 0 : open_file(receiver, event);
	if (rc < 0)
		return rc;
	if (!is_of_file(receiver, event) || !json_is_string(data) ||
		base64_decode(json_string_value(data), json_string_length(data), &bytes, &size) < 0)
		return kettle_fail(&receiver->wrong, KETTLE_EINVAL,
			"The data of the file `%s` is not base64, or belongs to another file.",
			json_text_or_empty(receiver->kept, "name"));
	receiver->offset += size;
	if (receiver->offset > (uint64_t)member_int(receiver->kept, "size"))
		return kettle_fail(&receiver->wrong, KETTLE_ETOOBIG, "The file `%s` is larger than was announced.",
			json_text_or_empty(receiver->kept, "name"));
	if (receiver->fd >= 0 && write_all(receiver->fd, bytes, size) != 0) {
		(void)kettle_fail(
			&receiver->trouble, KETTLE_EIO, "`%s` cannot be written: %s.", receiver->path, strerror(errno));
		(void)unlink(receiver->path);
		close(STEAL_FD(receiver->fd));
	}
	return member_true(event, "last") ? end_file(receiver) : 0;
}

static void
write_waiting(void *arg)
{
	struct receiver *receiver = arg;
	json_array_each(receiver->writing, event)
		if (receiver->wrong.code == 0 && write_piece(receiver, event) < 0)
			close_file(receiver, false);
}

/* ---- on the loop ---- */

static void
free_receiver(struct receiver *receiver)
{
	void (*ended)(void *arg) = receiver->ended;
	void *arg = receiver->arg;
	close_file(receiver, false);
	json_decref_all(receiver->waiting, receiver->completion);
	free_all(receiver->ref, receiver->spool, receiver);
	ended(arg);
}

static void
complete(struct receiver *receiver)
{
	json_t *completion = STEAL(receiver->completion);
	if (receiver->overrun)
		(void)kettle_fail(&receiver->trouble, KETTLE_ETOOBIG, "The files arrived faster than they could be written.");
	else if (receiver->path && receiver->wrong.code == 0)
		(void)kettle_fail(&receiver->wrong, KETTLE_EIO, "The file `%s` of step `%s` arrived incomplete.",
			json_text_or_empty(receiver->kept, "name"), json_text_or_empty(receiver->kept, "step"));
	if (receiver->trouble.code < 0)
		receiver->host->log(receiver->host, KETTLE_LOG_WARNING, "job %s: not all of its files were stored: %s",
			receiver->ref, receiver->trouble.message);
	if (receiver->wrong.code < 0) {
		json_decref(completion);
		completion = exec_client_lost(KETTLE_LOSS_NODE_FAULT, receiver->wrong.message);
	}
	receiver->host->job_done(receiver->host, receiver->ref, completion);
	free_receiver(receiver);
}

static void on_written(void *arg);

static void
go_on(struct receiver *receiver)
{
	struct kettle_error err = {0};
	if (receiver->busy)
		return;
	if (receiver->dropped) {
		free_receiver(receiver);
		return;
	}
	if (json_array_size(receiver->waiting) == 0) {
		if (receiver->finished)
			complete(receiver);
		return;
	}
	receiver->writing = receiver->waiting;
	receiver->waiting = json_array();
	receiver->waiting_bytes = 0;
	receiver->busy = true;
	if (receiver->host->work(receiver->host, write_waiting, on_written, receiver, &err) == 0)
		return;
	receiver->busy = false;
	json_decref(STEAL(receiver->writing));
	receiver->trouble = err;
	go_on(receiver);
}

static void
on_written(void *arg)
{
	struct receiver *receiver = arg;
	receiver->busy = false;
	json_decref(STEAL(receiver->writing));
	go_on(receiver);
}

void
receiver_take(struct receiver *receiver, json_t *event)
{
	size_t size = json_string_length(json_object_get(event, "data"));
	receiver->overrun = receiver->overrun || receiver->waiting_bytes + size > RECEIVE_MAX_QUEUE;
	if (receiver->overrun)
		return;
	receiver->waiting_bytes += size;
	json_array_append(receiver->waiting, event);
	go_on(receiver);
}

void
receiver_finish(struct receiver *receiver, json_t *completion)
{
	receiver->completion = json_incref(completion);
	receiver->finished = true;
	go_on(receiver);
}

void
receiver_drop(struct receiver *receiver)
{
	receiver->dropped = true;
	go_on(receiver);
}
