/* SPDX-License-Identifier: MIT */
/* The output of secret runs that a failed machine or a signal ended, in a file for operators. */
/*
 * Theory of operation. Of a secret run only whether it passed is stored and shown, so without this file operators could
 * not find out why a signal ended one. The end of the run's output goes to a file beside the database; no command and
 * no event shows it, and no other user of the machine can read it. A submission decides what its run prints: control
 * characters are removed, each line is indented so that none looks like a head, and the secrets of the plan are
 * replaced. The file has a maximum size, so its rate needs no limit: older parts are dropped.
 */
#include <config.h>

#include "engine/secret_output.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/text.h"
#include "judge/report.h"

/* One thread of the pool writes at a time. */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

char *
secret_output_path(const char *database)
{
	return xasprintf("%s.secret-output", database);
}

/* Whether a signal ended the run or, according to its harness, the process that had the submission. */
static bool
has_crashed(const struct verdict_entry *entry, const struct outcome *outcome)
{
	bool crashed = outcome->signal.given;
	for (size_t i = 0; i < entry->step.cases; i++)
		crashed = crashed || result_value(outcome->result, report_noun(&entry->step), i, "signal");
	return crashed && entry->judged.state != VERDICT_PASSED;
}

/* Whether operators may need the output of a secret run: it ended with the state error, or crashed below its limits. */
static bool
is_unexplained(const struct verdict_entry *entry, const struct outcome *outcome)
{
	bool crashed = has_crashed(entry, outcome) && !outcome->limit;
	return entry->step.secret && (entry->judged.state == VERDICT_ERROR || crashed);
}

/* Replaces every occurrence of a secret. Takes the text; new string. */
static char *
without(char *text_take, const char *secret)
{
	AUTO_FREE char *text = text_take;
	AUTO_BUF struct buf out = {0};
	const char *at = text;
	for (const char *found; *secret && (found = strstr(at, secret)); at = found + strlen(secret)) {
		buf_add(&out, at, (size_t)(found - at));
		buf_adds(&out, "[secret]");
	}
	buf_adds(&out, at);
	return buf_take(&out);
}

/* The end of what a run printed, without secrets and what a terminal does not show as text. New string. */
static char *
clean(const struct verdict_entry *entry, const struct outcome_output *output)
{
	size_t skip = output->len > SECRET_OUTPUT_READ ? output->len - SECRET_OUTPUT_READ : 0;
	char *text = sanitize_text(output->text + skip, SECRET_OUTPUT_READ);
	json_object_each(json_object_get(entry->step.json, "secret"), key, secret)
		text = without(text, json_string_value(secret));
	return text;
}

/* The last SECRET_OUTPUT_STREAM bytes of a text, from the start of a line if one is near. */
static const char *
end_of(const char *text)
{
	size_t len = strlen(text);
	if (len <= SECRET_OUTPUT_STREAM)
		return text;
	const char *from = text + len - SECRET_OUTPUT_STREAM, *line = memchr(from, '\n', SECRET_OUTPUT_STREAM / 2);
	while (((unsigned char)*from & 0xc0) == 0x80)
		from++;
	return line ? line + 1 : from;
}

static void
add_output(const struct verdict_entry *entry, const char *name, const struct outcome_output *output, struct buf *out)
{
	AUTO_FREE char *text = clean(entry, output);
	const char *line = end_of(text);
	buf_printf(out, " %s%s\n", name, *line ? ":" : " is empty");
	while (*line) {
		size_t len = strcspn(line, "\n");
		buf_printf(out, "  %.*s\n", (int)len, line);
		line += len + (line[len] == '\n');
	}
}

bool
secret_output_wanted(const struct verdict *verdict, const struct completion *completion)
{
	bool wanted = false;
	for (size_t i = 0; i < verdict->count && !wanted; i++) {
		const struct outcome *outcome = completion_outcome(completion, verdict->entries[i].step.id);
		wanted = outcome && is_unexplained(&verdict->entries[i], outcome);
	}
	return wanted;
}

char *
secret_output_text(const struct verdict *verdict, const struct completion *completion, const char *head)
{
	AUTO_BUF struct buf text = {0};
	for (size_t i = 0; i < verdict->count; i++) {
		const struct verdict_entry *entry = &verdict->entries[i];
		const struct outcome *outcome = completion_outcome(completion, entry->step.id);
		if (!outcome || !is_unexplained(entry, outcome))
			continue;
		buf_printf(&text, "%s, %.64s: %s\n", head, entry->step.id, entry->judged.why.message);
		add_output(entry, "stderr", &outcome->err, &text);
		add_output(entry, "stdout", &outcome->out, &text);
	}
	return text.len ? buf_take(&text) : NULL;
}

/* Renames the file to PATH.1, replacing that, if `size` more bytes would exceed its limit. */
static int
make_room(const char *path, size_t size)
{
	AUTO_FREE char *older = xasprintf("%s.1", path);
	struct stat st;
	bool fits = lstat(path, &st) || (uint64_t)st.st_size + size <= SECRET_OUTPUT_FILE;
	return fits ? 0 : rename(path, older);
}

static int
append(const char *path, const char *text, size_t size)
{
	if (make_room(path, size))
		return -1;
	AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd >= 0 && write(fd, text, size) == (ssize_t)size ? 0 : -1;
}

int
secret_output_write(const char *path, const char *text, struct kettle_error *err)
{
	pthread_mutex_lock(&writing);
	int rc = append(path, text, strlen(text)) ? errno : 0;
	pthread_mutex_unlock(&writing);
	return rc ? kettle_fail(
					err, KETTLE_EIO, "The output of a secret run cannot be kept in `%s`: %s.", path, strerror(rc))
			  : 0;
}
