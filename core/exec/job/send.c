/* SPDX-License-Identifier: MIT */
/* Sends what an ended job left, for a reader on another machine. */
/*
 * Theory of operation. A file is read in pieces, on a thread of work, and each piece is an event. The next one is read
 * only while little of the output is still to be written; else the sender waits for json_lines to be empty, so that a
 * slow reader makes kettle-exec wait and not grow. A cancel, and the end of the output, end the sending.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "exec/job/job_internal.h"

#define SEND_HEAD 512 /* bytes of an event beside its data */

static void send_next(struct job *job);

/* The file that is the sender's turn; NULL: there is none left. Passes over folders. */
static const struct output_file *
current_file(struct sender *sender, const struct job *job)
{
	for (; sender->step < job->count; sender->step++, sender->file = 0) {
		const struct manifest *artifacts = &job->steps[sender->step].artifacts;
		for (; sender->file < artifacts->count; sender->file++)
			if (!artifacts->files[sender->file].folder)
				return &artifacts->files[sender->file];
	}
	return NULL;
}

static void
close_file(struct sender *sender)
{
	if (sender->fd >= 0)
		close(STEAL_FD(sender->fd));
	sender->offset = 0;
	sender->file++;
}

static void
send_end(struct job *job)
{
	struct sender *sender = &job->sender;
	if (sender->fd >= 0)
		close(STEAL_FD(sender->fd));
	free(STEAL(sender->piece));
	sender->sending = false;
	sender->done(job);
}

/* Reads the next piece; sender->error: it could not. */
static void
read_piece(void *arg)
{
	struct job *job = arg;
	struct sender *sender = &job->sender;
	const struct output_file *file = current_file(sender, job);
	if (sender->fd < 0) {
		AUTO_FREE char *path = xasprintf("%s/%s/%s", job->artifacts, job->steps[sender->step].plan->id, file->path);
		sender->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	}
	uint64_t left = file->size - sender->offset;
	size_t want = left < SEND_PIECE ? (size_t)left : SEND_PIECE;
	ssize_t n = sender->fd < 0 ? -1 : pread(sender->fd, sender->piece, want, (off_t)sender->offset);
	sender->error = n < 0 ? errno : (size_t)n < want ? ENODATA : 0;
	sender->length = n < 0 ? 0 : (size_t)n;
}

static void
emit_error(struct job *job, const char *sentence)
{
	exec_context_emit(job->exec, json_pack("{s:s, s:o}", "event", "error", "error", json_writer_text(sentence)));
}

static void
piece_read(void *arg)
{
	struct job *job = arg;
	struct sender *sender = &job->sender;
	const struct output_file *file = current_file(sender, job);
	const char *step = job->steps[sender->step].plan->id;
	sender->reading = false;
	if (sender->error) {
		AUTO_FREE char *why = xasprintf("The artifact `%s` of step `%s` of job `%s` could not be read: %s.", file->path,
			step, job->line.job, strerror(sender->error));
		emit_error(job, why);
		close_file(sender);
		send_next(job);
		return;
	}
	sender->offset += sender->length;
	bool last = sender->offset == file->size;
	AUTO_FREE char *data = base64_encode(sender->piece, sender->length);
	exec_context_emit(job->exec, json_pack("{s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:o*}", "event", "file", "job",
									 job->line.job, "step", step, "name", file->path, "size", (json_int_t)file->size,
									 "sha256", file->sha256, "data", data, "last", last ? json_true() : NULL));
	if (last)
		close_file(sender);
	send_next(job);
}

/* Whether the file may still be sent, at its begin. */
static bool
has_room(struct job *job, const struct output_file *file)
{
	struct sender *sender = &job->sender;
	if (sender->offset > 0 || sender->fd >= 0)
		return true;
	if (file->size > SEND_MAX_BYTES - sender->bytes) {
		AUTO_FREE char *why = xasprintf("The artifacts of job `%s` exceed %u MiB; those from `%s` of step `%s` on are "
										"not sent.",
			job->line.job, SEND_MAX_BYTES >> 20, file->path, job->steps[sender->step].plan->id);
		emit_error(job, why);
		return false;
	}
	sender->bytes += file->size;
	return true;
}

static void
send_next(struct job *job)
{
	struct sender *sender = &job->sender;
	const struct output_file *file = current_file(sender, job);
	if (!file || job->cancelled || job->exec->out->broken || !has_room(job, file)) {
		send_end(job);
		return;
	}
	sender->waiting = json_writer_pending(job->exec->out) > SEND_QUEUE;
	sender->reading = !sender->waiting;
	if (sender->reading)
		work_start(&sender->work, job->exec->loop, read_piece, piece_read, job);
}

/* Bytes of the events that a reader must still take of the job, about. */
static uint64_t
bytes_left(const struct job *job)
{
	uint64_t files = 0, events = 0;
	for (size_t i = 0; i < job->count; i++) {
		files += manifest_bytes(&job->steps[i].artifacts);
		events += SEND_HEAD * job->steps[i].artifacts.count;
		if (job->steps[i].outcome)
			events += json_dumpb(job->steps[i].outcome, NULL, 0, JSON_COMPACT);
	}
	return events + (files < SEND_MAX_BYTES ? files : SEND_MAX_BYTES) / 3 * 4;
}

void
send_begin(struct job *job, void (*done)(void *job))
{
	uint64_t bytes = bytes_left(job);
	if (bytes > SEND_SAID)
		exec_context_emit(job->exec,
			json_pack("{s:s, s:s, s:I}", "event", "sending", "job", job->line.job, "bytes", (json_int_t)bytes));
	job->sender = (struct sender){.sending = true, .fd = -1, .piece = xmalloc(SEND_PIECE), .done = done};
	send_next(job);
}

void
send_wake(struct job *job)
{
	if (!job->sender.sending || !job->sender.waiting)
		return;
	job->sender.waiting = false;
	send_next(job);
}
