/* SPDX-License-Identifier: MIT */
/* The conversation with a `kettle-exec --serve`: run lines out, events in. */
/*
 * Theory of operation. The owner starts a process, which is a kettle-exec or leads to one, and decides what happens to
 * the jobs when it ends. A job keeps its run line until kettle-exec is ready and the line is written. Requests for a
 * greeting or a heartbeat stay until they are answered or the owner fails them, even if the process ends and another
 * one starts.
 */
#include <config.h>

#include "runners/common/exec_client.h"

#include <signal.h>

#include "base/base.h"
#include "base/bounded_json.h"
#include "base/buf.h"
#include "base/list.h"
#include "runners/common/remote.h"

#define MAX_SLOTS 1024

struct describe_request {
	kettle_answer done;
	void *arg;
	bool brief; /* without tools */
	struct describe_request *next;
};

struct heartbeat_request {
	void (*done)(void *arg, const struct kettle_error *err);
	void *arg;
	struct heartbeat_request *next;
};

/* ---- jobs ---- */

static void
free_job(struct exec_client *lines, struct exec_job *job)
{
	if (job->own)
		lines->ops->release(lines->arg, job);
	free_all(job->line, job);
}

void
exec_client_forget(struct exec_client *lines, struct exec_job *job)
{
	LIST_REMOVE(lines->jobs, job);
	free_job(lines, job);
}

void
exec_client_complete(struct exec_client *lines, struct exec_job *job, json_t *completion_take)
{
	AUTO_FREE char *ref = xstrdup(job->ref);
	exec_client_forget(lines, job);
	lines->host->job_done(lines->host, ref, completion_take);
}

json_t *
exec_client_lost(enum kettle_loss loss, const char *why)
{
	return json_pack("{s:s, s:s, s:s}", "status", "lost", "loss", kettle_loss_name(loss), "error", why);
}

void
exec_client_lose(struct exec_client *lines, bool written, enum kettle_loss loss, const char *reason)
{
	/* Takes the jobs out first: completing one may submit another, which is not lost. */
	struct exec_job *lost = NULL, **link = &lines->jobs;
	while (*link) {
		struct exec_job *job = *link;
		if (written && job->line) {
			link = &job->next;
			continue;
		}
		*link = job->next;
		job->next = lost;
		lost = job;
	}
	while (lost) {
		struct exec_job *job = lost;
		lost = job->next;
		/* A job whose run line was not written has not reached the machine. */
		enum kettle_loss of_job = loss == KETTLE_LOSS_UNREACHED && job->line ? KETTLE_LOSS_AWAY : loss;
		lines->host->job_done(lines->host, job->ref, exec_client_lost(of_job, reason));
		free_job(lines, job);
	}
}

struct exec_job *
exec_client_find(const struct exec_client *lines, const char *ref)
{
	for (struct exec_job *job = lines->jobs; job; job = job->next)
		if (strcmp(job->ref, ref) == 0)
			return job;
	return NULL;
}

/* ---- requests ---- */

/*
 * Answers the requests that the newest greeting satisfies: full requests wait for a greeting with tools. An error
 * answers all.
 */
static void
answer_requests(struct exec_client *lines, const struct kettle_error *err)
{
	struct kettle_error none = {0};
	struct describe_request **link = &lines->requests;
	AUTO_JSON json_t *facts = json_incref(lines->facts);
	while (*link) {
		struct describe_request *request = *link;
		if (!err && !request->brief && !json_object_get(facts, "tools")) {
			link = &request->next;
			continue;
		}
		*link = request->next;
		request->done(request->arg, err ? err : &none, err ? NULL : facts);
		free(request);
	}
}

/* Answers all requests. Those that a callback adds wait for the next answer. */
static void
answer_heartbeats(struct exec_client *lines, const struct kettle_error *err)
{
	struct heartbeat_request *requests = STEAL(lines->heartbeats);
	while (requests) {
		struct heartbeat_request *request = requests;
		requests = request->next;
		request->done(request->arg, err);
		free(request);
	}
}

bool
exec_client_is_waited_for(const struct exec_client *lines)
{
	return lines->requests || lines->heartbeats;
}

void
exec_client_fail_requests(struct exec_client *lines, const struct kettle_error *err)
{
	answer_requests(lines, err);
	answer_heartbeats(lines, err);
}

/* ---- lines from kettle-exec ---- */

/* Whether one more of its lines may be logged: a kettle-exec that repeats itself without end must not fill a disk. */
static bool
may_log(struct exec_client *lines)
{
	const uint64_t minute = lines->host->monotonic_ms(lines->host) / 60000;
	if (minute != lines->minute) {
		lines->minute = minute;
		lines->logged = 0;
	}
	if (lines->logged++ == EXEC_CLIENT_LOGGED_MAX)
		lines->host->log(lines->host, KETTLE_LOG_WARNING,
			"%s writes too much: Kettle logs only %d of its lines a minute", lines->name, EXEC_CLIENT_LOGGED_MAX);
	return lines->logged <= EXEC_CLIENT_LOGGED_MAX;
}

/* Counts invalid lines and ends the process after too many. count: more than 1 for a very long line. */
static void
take_invalid_lines(struct exec_client *lines, size_t count)
{
	if (lines->invalid_lines == 0 && count > 0)
		lines->host->log(
			lines->host, KETTLE_LOG_WARNING, "%s wrote a line that is not an event of its jobs", lines->name);
	lines->invalid_lines += count;
	if (lines->invalid_lines < EXEC_CLIENT_INVALID_LINES_MAX)
		return;
	(void)snprintf(
		lines->last_stderr, sizeof(lines->last_stderr), "it wrote too many lines that are not events of its jobs");
	lines->host->process_kill(lines->host, lines->process, SIGKILL);
}

static int
write_run(struct exec_client *lines, struct exec_job *job, struct kettle_error *err)
{
	AUTO_FREE char *line = STEAL(job->line);
	lines->written += strlen(line);
	return lines->host->process_write(lines->host, lines->process, line, strlen(line), err);
}

/* Makes kettle-exec ready: writes the run lines that wait. */
static void
begin(struct exec_client *lines)
{
	struct kettle_error err = {0};
	lines->ready = true;
	if (lines->heartbeats)
		(void)exec_client_write(lines, json_pack("{s:s}", "op", "heartbeat"), &err);
	for (struct exec_job *job = lines->jobs, *next; job; job = next) {
		next = job->next;
		if (job->line && write_run(lines, job, &err) < 0)
			exec_client_complete(lines, job, exec_client_lost(KETTLE_LOSS_NODE_FAULT, err.message));
	}
}

static void
take_greeting(struct exec_client *lines, json_t *event)
{
	if (lines->ops->greeted && !lines->ops->greeted(lines->arg, event))
		return;
	json_decref(lines->facts);
	lines->facts = json_incref(event);
	if (!lines->ready)
		begin(lines);
	answer_requests(lines, NULL);
}

static void
take_done(struct exec_client *lines, struct exec_job *job, json_t *event)
{
	if (lines->ops->done)
		lines->ops->done(lines->arg, job, event);
	else
		exec_client_complete(lines, job, json_incref(event));
}

static void
take_error(struct exec_client *lines, const json_t *event)
{
	if (may_log(lines))
		lines->host->log(lines->host, KETTLE_LOG_WARNING, "%s: %s", lines->name, json_text_or_empty(event, "error"));
}

/*
 * Completes the job of an event that is too large to read. kettle-exec writes event and job first. The event is no
 * reason to end other jobs. False: this kettle-exec has no such job.
 */
static bool
refuse_event(struct exec_client *lines, const char *line, const char *why)
{
	char name[32], ref[EXEC_CLIENT_REF_MAX + 1];
	if (sscanf(line, "{\"event\":\"%31[a-z]\",\"job\":\"%128[^\"]\"", name, ref) != 2)
		return false;
	struct exec_job *job = exec_client_find(lines, ref);
	if (!job || job->line)
		return false;
	if (may_log(lines))
		lines->host->log(
			lines->host, KETTLE_LOG_WARNING, "%s: its report on job %s is not read: %s", lines->name, ref, why);
	if (strcmp(name, "done") != 0)
		return true;
	AUTO_FREE char *sentence = xasprintf("The report on the job is not read: %s.", why);
	AUTO_JSON json_t *lost = exec_client_lost(KETTLE_LOSS_PERMANENT, sentence);
	take_done(lines, job, lost);
	return true;
}

struct line_read {
	json_t *event;
	struct kettle_error error;
};

static struct line_read
read_line(const char *line, size_t len)
{
	struct line_read read = {0};
	read.event = bounded_json_parse(line, len, BOUNDED_JSON_RESULT, 0, &read.error);
	return read;
}

static void
take_line(struct exec_client *lines, const char *line, size_t len, const struct line_read *read)
{
	json_t *event = read->event;
	lines->part = 0;
	lines->reading = false;
	if (read->error.code == KETTLE_ETOOBIG && refuse_event(lines, line, read->error.message))
		return;
	const char *name = json_text_or_null(event, "event");
	struct exec_job *job = exec_client_find(lines, json_text_or_empty(event, "job"));
	/* A kettle-exec that was not told of a job, or has ended it, cannot send events of it. */
	if (!name || (json_object_get(event, "job") && (!job || job->line))) {
		take_invalid_lines(lines, (name ? 0 : 1) + len / EXEC_CLIENT_INVALID_LINES_BYTES);
		return;
	}
	if (strcmp(name, "hello") == 0)
		take_greeting(lines, event);
	else if (strcmp(name, "heartbeat") == 0)
		answer_heartbeats(lines, &(struct kettle_error){0});
	else if (strcmp(name, "error") == 0)
		take_error(lines, event);
	else if (job && strcmp(name, "done") == 0)
		take_done(lines, job, event);
	else if (job && strcmp(name, "file") == 0 && lines->ops->file)
		lines->ops->file(lines->arg, job, event);
	else if (job)
		lines->host->job_event(lines->host, job->ref, event);
}

static void
on_line(void *arg, const char *line, size_t len)
{
	const struct line_read read = read_line(line, len);
	take_line(arg, line, len, &read);
	json_decref(read.event);
}

static void *
read_long_line(const char *line, size_t len)
{
	struct line_read *read = xmalloc(sizeof(*read));
	*read = read_line(line, len);
	return read;
}

static void
on_long_line(void *arg, const char *line, size_t len, void *made)
{
	struct line_read *read = made;
	take_line(arg, line, len, read);
	json_decref(read->event);
	free(read);
	xalloc_trim(len);
}

static void
on_cut(void *arg, const char *head, size_t len)
{
	AUTO_FREE char *line = xstrndup(head, len);
	AUTO_FREE char *why = xasprintf("it has more than %u MiB", EXEC_CLIENT_MAX >> 20);
	if (!refuse_event(arg, line, why))
		take_invalid_lines(arg, EXEC_CLIENT_INVALID_LINES_MAX);
}

void
exec_client_complain(void *arg, const char *line, size_t len)
{
	struct exec_client *lines = arg;
	static const char prefix[] = "kettle-exec: ";
	if (len > strlen(prefix) && memcmp(line, prefix, strlen(prefix)) == 0) {
		line += strlen(prefix);
		len -= strlen(prefix);
	}
	/* ssh ends its lines as a terminal does. */
	if (len > 0 && line[len - 1] == '\r')
		len--;
	if (may_log(lines))
		lines->host->log(lines->host, KETTLE_LOG_INFO, "%s: %.*s", lines->name, (int)len, line);
	size_t kept = len < EXEC_CLIENT_LAST_STDERR_MAX ? len : EXEC_CLIENT_LAST_STDERR_MAX - 1;
	for (size_t i = 0; i < kept; i++)
		lines->last_stderr[i] = line[i] < ' ' || line[i] > '~' ? '?' : line[i];
	lines->last_stderr[kept] = '\0';
}

/*
 * A line of megabytes may take minutes on a slow connection, with the answer to a heartbeat behind it, so its bytes
 * answer.
 */
static void
on_bytes(void *arg, size_t count)
{
	struct exec_client *lines = arg;
	lines->heard = true;
	lines->reading = count == 0;
	lines->part += count;
	if (lines->part > EXEC_CLIENT_LONG)
		answer_heartbeats(lines, &(struct kettle_error){0});
}

/* ---- the process ---- */

void
exec_client_explain(const char *what, int status, int signal, const char *last_stderr, struct kettle_error *ret_why)
{
	(void)kettle_fail(ret_why, KETTLE_EUNAVAIL, "%s %s %d%s%s", what,
		signal ? "was terminated by signal" : "exited with status", signal ? signal : status,
		last_stderr[0] ? ": " : ".", last_stderr);
}

static void
on_exit_of_process(void *arg, int status, int signal)
{
	struct exec_client *lines = arg;
	lines->process = NULL;
	lines->ready = false;
	lines->ops->ended(lines->arg, status, signal);
}

void
exec_client_reset(struct exec_client *lines)
{
	json_decref(STEAL(lines->facts));
	lines->invalid_lines = 0;
	lines->written = lines->part = 0;
	lines->heard = lines->reading = false;
	lines->last_stderr[0] = '\0';
}

int
exec_client_start(struct exec_client *lines, const char *const *argv, struct kettle_error *err)
{
	struct kettle_spawn spawn = {
		.size = sizeof(spawn),
		.file = argv[0],
		.argv = argv,
		.max_line = EXEC_CLIENT_MAX,
		.on_stdout = on_line,
		.read_long = read_long_line,
		.on_long = on_long_line,
		.on_stderr = exec_client_complain,
		.on_exit = on_exit_of_process,
		.arg = lines,
		.on_bytes = on_bytes,
		.on_cut = on_cut,
	};
	exec_client_reset(lines);
	return lines->host->spawn(lines->host, &spawn, &lines->process, err);
}

int
exec_client_write(struct exec_client *lines, json_t *message_take, struct kettle_error *err)
{
	AUTO_FREE char *text = json_dumps(message_take, JSON_COMPACT);
	json_decref(message_take);
	if (!text)
		return kettle_fail(err, KETTLE_EINVAL, "The spool's path is not UTF-8, so it cannot be passed to kettle-exec.");
	size_t size = strlen(text);
	text[size] = '\n'; /* replaces the NUL: the size marks the end */
	lines->written += size;
	return lines->host->process_write(lines->host, lines->process, text, size + 1, err);
}

/* ---- doctors ---- */

struct doctor {
	struct exec_client *lines;
	kettle_answer done;
	void *arg;
	struct buf text;
	bool too_long, late;
	int status, signal; /* of the command that has ended */
	json_t *report;
};

static bool
on_doctor_line(void *arg, char *line)
{
	struct doctor *doctor = arg;
	doctor->too_long = doctor->too_long || strlen(line) >= EXEC_DOCTOR_MAX - doctor->text.len;
	if (!doctor->too_long)
		buf_printf(&doctor->text, "%s\n", line);
	return true;
}

static void
on_doctor_stderr(void *arg, const char *line, size_t len)
{
	const struct doctor *doctor = arg;
	exec_client_complain(doctor->lines, line, len);
}

/* Runs on the loop or on a thread: touches only the doctor's own text. */
static void
read_doctor(void *arg)
{
	struct doctor *doctor = arg;
	doctor->report = bounded_json_parse(doctor->text.data, doctor->text.len, BOUNDED_JSON_VALUES, 0, NULL);
}

static void
answer_doctor(struct doctor *doctor)
{
	const struct exec_client *lines = doctor->lines;
	struct kettle_error err = {0};
	AUTO_JSON json_t *report = STEAL(doctor->report);
	if (doctor->signal)
		(void)kettle_fail(&err, KETTLE_EUNAVAIL, "%s --doctor was terminated by signal %d%s.", lines->name,
			doctor->signal,
			lines->stopping ? ", since the runner stops"
			: doctor->late  ? ", since it took longer than two minutes"
							: "");
	else if (!report)
		(void)kettle_fail(&err, KETTLE_EUNAVAIL, "%s --doctor exited with status %d and without a report%s%s",
			lines->name, doctor->status, lines->last_stderr[0] ? ": " : ".", lines->last_stderr);
	doctor->done(doctor->arg, &err, err.code ? NULL : report);
	buf_free(&doctor->text);
	free(doctor);
}

static void
on_doctor_read(void *arg)
{
	struct doctor *doctor = arg;
	struct exec_client *lines = doctor->lines;
	answer_doctor(doctor);
	lines->reports--;
	if (lines->commands.idle)
		lines->commands.idle(lines->commands.arg);
}

static void
on_doctor_ended(void *arg, const struct command_end *end)
{
	struct doctor *doctor = arg;
	struct exec_client *lines = doctor->lines;
	doctor->status = end->status;
	doctor->signal = end->signal;
	doctor->late = end->late;
	if (!doctor->too_long && doctor->text.len >= KETTLE_LINE_LONG &&
		lines->host->work(lines->host, read_doctor, on_doctor_read, doctor, NULL) == 0) {
		lines->reports++;
		return;
	}
	if (!doctor->too_long)
		read_doctor(doctor);
	answer_doctor(doctor);
}

int
exec_client_doctor(
	struct exec_client *lines, const struct arguments *argv, kettle_answer done, void *arg, struct kettle_error *err)
{
	struct doctor *doctor = xnew(struct doctor, .lines = lines, .done = done, .arg = arg);
	const struct command_use use = {.on_line = on_doctor_line,
		.on_stderr = on_doctor_stderr,
		.on_end = on_doctor_ended,
		.arg = doctor,
		.max_lines = EXEC_DOCTOR_MAX,
		.max_line = EXEC_DOCTOR_MAX,
		.limit_ms = EXEC_DOCTOR_LIMIT_MS};
	int rc = command_run(&lines->commands, argv, &use, err);
	if (rc < 0)
		free(doctor);
	return rc;
}

void
exec_client_stop_doctors(struct exec_client *lines)
{
	lines->stopping = true;
	commands_kill(&lines->commands);
}

bool
exec_client_has_commands(const struct exec_client *lines)
{
	return lines->commands.list || lines->reports;
}

/* ---- operations of the runner's table ---- */

int
exec_client_submit(struct exec_client *lines, const struct kettle_job *description, const json_t *plan, bool send,
	struct exec_job **ret_job, struct kettle_error *err)
{
	const char *spool = send ? NULL : description->spool;
	AUTO_JSON json_t *message = json_pack("{s:s, s:s, s:O, s:O, s:O*, s:s*, s:o*}", "op", "run", "job",
		description->ref, "unit", description->unit, "plan", plan, "keep", json_object_get(description->unit, "keep"),
		"spool", spool, "send", send && description->spool ? json_true() : NULL);
	AUTO_FREE char *text = json_dumps(message, JSON_COMPACT);
	if (!text)
		return kettle_fail(err, KETTLE_EINVAL, "The spool's path is not UTF-8, so it cannot be passed to kettle-exec.");
	size_t size = strlen(description->ref) + 1;
	struct exec_job *job = xcalloc(1, sizeof(*job) + size);
	memcpy(job->ref, description->ref, size);
	job->line = xasprintf("%s\n", text);
	int rc = lines->ready ? write_run(lines, job, err) : 0;
	if (rc < 0) {
		free_all(job->line, job);
		return rc;
	}
	job->next = lines->jobs;
	lines->jobs = job;
	if (ret_job)
		*ret_job = job;
	return 0;
}

void
exec_client_cancel(struct exec_client *lines, const char *ref)
{
	struct kettle_error err = {0};
	struct exec_job *job = exec_client_find(lines, ref);
	if (job && job->line)
		exec_client_complete(lines, job, json_pack("{s:s}", "status", "cancelled"));
	else if (job && exec_client_write(lines, json_pack("{s:s, s:s}", "op", "cancel", "job", ref), &err) < 0)
		lines->host->log(lines->host, KETTLE_LOG_WARNING, "job %s could not be cancelled: %s", ref, err.message);
}

int
exec_client_describe(
	struct exec_client *lines, const json_t *unit, kettle_answer done, void *arg, struct kettle_error *err)
{
	struct describe_request *request =
		xnew(struct describe_request, done, arg, member_true(unit, "brief"), lines->requests);
	lines->requests = request;
	if (!lines->facts)
		return 0;
	/* Requests a new greeting, since a GPU may have failed and other interpreters may be warm by now. */
	if ((json_object_get(unit, "gpu") || !request->brief) &&
		exec_client_write(lines, json_pack("{s:s}", "op", "hello"), err) == 0)
		return 0;
	answer_requests(lines, NULL);
	return 0;
}

int
exec_client_heartbeat(struct exec_client *lines, void (*done)(void *arg, const struct kettle_error *err), void *arg,
	struct kettle_error *err)
{
	int rc = 0;
	if (lines->ready && !lines->heartbeats)
		rc = exec_client_write(lines, json_pack("{s:s}", "op", "heartbeat"), err);
	if (rc < 0)
		return rc;
	struct heartbeat_request *request = xnew(struct heartbeat_request, done, arg, lines->heartbeats);
	lines->heartbeats = request;
	return 0;
}

int
exec_client_capacity(
	void *self, const json_t *unit, unsigned *ret_slots, unsigned *ret_prefetch, struct kettle_error *err)
{
	(void)self;
	return unit_capacity(unit, MAX_SLOTS, 1, ret_slots, ret_prefetch, err);
}
