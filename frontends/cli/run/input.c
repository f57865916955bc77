/* SPDX-License-Identifier: MIT */
/*
 * Questions with options on a terminal, and reading off the loop thread: files, standard input and the answers.
 *
 * Theory of operation. host->work runs input_work on a thread of the pool. It polls its descriptor together with the
 * read end of a pipe: input_cancel, on the loop thread, closes the write end, which ends the wait. The structure
 * belongs to the pool's thread until input_after runs on the loop thread, except `cancel`, which only the loop thread
 * uses.
 */
#include <config.h>

#include "cli/run/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/base.h"
#include "base/number.h"

#define INPUT_CHUNK 65536

struct input {
	char *path;
	size_t max;
	bool line;
	struct buf data;
	int cancel, cancelled; /* write and read end of the pipe */
	input_fn fn;
	void *arg;
	struct kettle_error err;
};

static void
input_free(struct input *input)
{
	if (input->cancel >= 0)
		close(input->cancel);
	if (input->cancelled >= 0)
		close(input->cancelled);
	free(input->path);
	buf_free(&input->data);
	free(input);
}

static int
open_path(struct input *input, int *ret_fd)
{
	struct stat st;
	/* O_NONBLOCK: opening a FIFO must not wait for a writer. */
	AUTO_FD int fd = open(input->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return kettle_fail(&input->err, KETTLE_ENOENT, "There is no file `%s`.", input->path);
	if (fd < 0)
		return kettle_fail(&input->err, errno == EACCES ? KETTLE_EACCES : KETTLE_EIO, "`%s` cannot be read: %s.",
			input->path, strerror(errno));
	if (fstat(fd, &st) != 0)
		return kettle_fail(&input->err, KETTLE_EIO, "`%s` cannot be read: %s.", input->path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return kettle_fail(&input->err, KETTLE_EINVAL, "`%s` is %s, not a regular file.", input->path,
			S_ISDIR(st.st_mode) ? "a folder" : "a device or a pipe");
	*ret_fd = STEAL_FD(fd);
	return 0;
}

/* Waits until standard input has data or the reading is cancelled. */
static int
wait_readable(struct input *input, int fd)
{
	struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = input->cancelled, .events = POLLIN}};
	while (poll(fds, 2, -1) < 0)
		if (errno != EINTR)
			return kettle_fail(&input->err, KETTLE_EIO, "Standard input cannot be read: %s.", strerror(errno));
	if (fds[1].revents)
		return kettle_fail(&input->err, KETTLE_ECANCELED, "Reading was cancelled.");
	return 0;
}

static int
read_input_all(struct input *input, int fd)
{
	char chunk[INPUT_CHUNK];
	for (;;) {
		int rc = wait_readable(input, fd);
		if (rc)
			return rc;
		/* A terminal gives one line at a time. From a pipe a line is read byte by byte, to leave the rest unread. */
		ssize_t n = read(fd, chunk, input->line ? 1 : sizeof(chunk));
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return kettle_fail(&input->err, KETTLE_EIO, "`%s` cannot be read: %s.", input->path, strerror(errno));
		if (n == 0 && input->line && input->data.len == 0)
			return kettle_fail(&input->err, KETTLE_ECANCELED, "Standard input ended without an answer.");
		if (n == 0 || (input->line && *chunk == '\n'))
			break;
		buf_add(&input->data, chunk, (size_t)n);
		if (input->data.len > input->max)
			return kettle_fail(&input->err, KETTLE_ETOOBIG, "`%s` is larger than %zu bytes.", input->path, input->max);
	}
	buf_adds(&input->data, ""); /* ends an empty line too */
	return 0;
}

static void
input_work(void *arg)
{
	struct input *input = arg;
	if (strcmp(input->path, "-") == 0) {
		read_input_all(input, STDIN_FILENO);
		return;
	}
	AUTO_FD int fd = -1;
	if (open_path(input, &fd) == 0)
		read_input_all(input, fd);
}

static void
input_after(void *arg)
{
	struct input *input = arg;
	bool ok = input->err.code == 0;
	input->fn(input->arg, &input->err, ok ? input->data.data : NULL, ok ? input->data.len : 0);
	input_free(input);
}

int
input_start(const struct kettle_host *host, const char *path, size_t max, bool line, input_fn fn, void *arg,
	struct input **ret_input, struct kettle_error *err)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) != 0)
		return kettle_fail(err, KETTLE_EIO, "`%s` cannot be read: %s.", path, strerror(errno));
	struct input *input = xnew(struct input, .path = xstrdup(path), .max = max, .line = line, .fn = fn, .arg = arg,
		.cancel = fds[1], .cancelled = fds[0]);
	int rc = host->work(host, input_work, input_after, input, err);
	if (rc) {
		input_free(input);
		return rc;
	}
	*ret_input = input;
	return 0;
}

void
input_cancel(struct input *input)
{
	if (input->cancel >= 0)
		close(input->cancel);
	input->cancel = -1;
}

/* ---- questions ---- */

const char *
input_option(const char *word, const json_t *options)
{
	long long number = 0;
	const char *named = list_find_text(options, word);
	if (named)
		return named;
	if (!number_parse_integer(word, &number) || number < 1)
		return NULL;
	return json_string_value(json_array_get(options, (size_t)number - 1));
}

void
input_menu(FILE *out, const json_t *options, const char *question)
{
	json_array_each_at(options, i, option) {
		fprintf(out, "  %zu  ", i + 1);
		term_sanitize(out, json_string_value(option), 0);
		fputc('\n', out);
	}
	fprintf(out, "%s: ", question);
	fflush(out);
}

void
input_unknown(FILE *out, const char *line)
{
	AUTO_FREE char *typed = term_sanitized(line);
	fprintf(out, "`%s` is none of them.\n", typed);
}

const char *
input_chosen(const char *line, const json_t *options)
{
	AUTO_FREE char *copy = xstrdup(line);
	char *rest = NULL, *word = strtok_r(copy, " \t", &rest);
	return word && !strtok_r(NULL, " \t", &rest) ? input_option(word, options) : NULL;
}
