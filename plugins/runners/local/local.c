/* SPDX-License-Identifier: MIT */
/*
 * The runner `local`: jobs run on this machine.
 *
 * Theory of operation. The first job starts one child `kettle-exec --serve`, which gets every job as a line and owns the
 * build cache, the device locks and the sandboxes. When it ends, for any reason, each of its jobs completes as lost and
 * the next job starts another one. kettle-exec kills what runs when its input ends, so an engine that died leaves nothing
 * to recover.
 */
#include <config.h>

#include <kettle/plugin.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_access.h"
#include "base/xalloc.h"

#define MAX_LINE (64u << 20)
#define MAX_REPORT (4u << 20) /* of kettle-exec --doctor */
#define DOCTOR_LIMIT_MS 120000
#define STOP_LIMIT_MS 15000
#define COMPLAINT_MAX 400 /* bytes kept of the last line of kettle-exec's standard error */

struct job {
	struct job *next;
	char ref[];
};

struct describe_request {
	void (*done)(void *arg, const struct kettle_error *err, json_t *facts);
	void *arg;
	bool brief; /* without tools */
	struct describe_request *next;
};

/* A kettle-exec --doctor that runs. */
struct doctor_request {
	struct local *local;
	void (*done)(void *arg, const struct kettle_error *err, json_t *report);
	void *arg;
	struct kettle_process *process;
	struct kettle_timer *limit;
	struct buf text;
	bool too_long;
	struct doctor_request *next;
};

struct heartbeat_request {
	void (*done)(void *arg, const struct kettle_error *err);
	void *arg;
	struct heartbeat_request *next;
};

struct local {
	const struct kettle_host *host;
	json_t *options;
	struct kettle_process *process;
	char complaint[COMPLAINT_MAX]; /* the last line of its standard error; plain ASCII */
	json_t *facts;                 /* the newest greeting of the running kettle-exec */
	struct job *jobs;
	struct describe_request *requests;
	struct heartbeat_request *heartbeats; /* of all units: one message serves them all */
	struct doctor_request *doctors;
	struct kettle_timer *stop_timer;
	bool ended; /* stop was called: no further kettle-exec is started */
	kettle_fn stopped;
	void *stopped_arg;
};

static const struct kettle_option options[] = {
	{.key = "exec",
		.type = KETTLE_OPTION_PATH,
		.help = "The kettle-exec to start; default: the one beside the program."},
	{.key = "config", .type = KETTLE_OPTION_PATH, .help = "The exec.yml that it reads; default: its own."},
	{.key = "state", .type = KETTLE_OPTION_PATH, .help = "The folder for its build cache and spool."},
	{.key = "build",
		.type = KETTLE_OPTION_ANY,
		.help = "Cores and number of parallel build steps, {cores, jobs}; default: the section `build` of the "
				"configuration."},
	{.key = "sandbox",
		.type = KETTLE_OPTION_ANY,
		.help = "What the sandbox may read besides the system, {read, level}; default: the section `sandbox`."},
	{.key = "report",
		.type = KETTLE_OPTION_STRINGS,
		.help = "Tools whose versions and packages this machine reports, besides the well-known ones; default: those "
				"of the languages."},
};

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	struct local *local = xcalloc(1, sizeof(*local));
	(void)err;
	local->host = host;
	*ret_self = local;
	return 0;
}

static void
destroy(void *self)
{
	struct local *local = self;
	if (!local)
		return;
	json_decref(local->options);
	json_decref(local->facts);
	free(local);
}

static int
configure(void *self, const json_t *section, struct kettle_error *err)
{
	struct local *local = self;
	(void)err;
	json_decref(local->options);
	local->options = json_deep_copy(section);
	return 0;
}

/* The kettle-exec in the running program's folder, else the one in PATH. New. */
static char *
find_exec(void)
{
	char path[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
	const char *slash = size > 0 ? memrchr(path, '/', (size_t)size) : NULL;
	AUTO_FREE char *file = xasprintf("%.*s/kettle-exec", slash ? (int)(slash - path) : 0, path);
	return slash && access(file, X_OK) == 0 ? STEAL(file) : xstrdup("kettle-exec");
}

/* The one that the option names, else find_exec's. New. */
static char *
exec_file(const struct local *local)
{
	const char *named = member_string(local->options, "exec");
	return named ? xstrdup(named) : find_exec();
}

static void
complete(struct local *local, struct job *job, json_t *completion_take)
{
	struct job **link = &local->jobs;
	while (*link != job)
		link = &(*link)->next;
	*link = job->next;
	local->host->job_done(local->host, job->ref, completion_take);
	free(job);
}

static struct job *
find(const struct local *local, const char *ref)
{
	for (struct job *job = local->jobs; job; job = job->next)
		if (strcmp(job->ref, ref) == 0)
			return job;
	return NULL;
}

/* Answers the requests that the newest greeting satisfies: full ones wait for one with tools. An error answers all. */
static void
answer_requests(struct local *local, const struct kettle_error *err)
{
	struct kettle_error none = {0};
	struct describe_request **link = &local->requests;
	while (*link) {
		struct describe_request *request = *link;
		if (!err && !request->brief && !json_object_get(local->facts, "tools")) {
			link = &request->next;
			continue;
		}
		*link = request->next;
		request->done(request->arg, err ? err : &none, err ? NULL : local->facts);
		free(request);
	}
}

/* All of them; those that a callback adds are of the next turn. */
static void
answer_heartbeats(struct local *local, const struct kettle_error *err)
{
	struct heartbeat_request *requests = STEAL(local->heartbeats);
	while (requests) {
		struct heartbeat_request *request = requests;
		requests = request->next;
		request->done(request->arg, err);
		free(request);
	}
}

static void
on_local_line(void *arg, const char *line, size_t len)
{
	struct local *local = arg;
	AUTO_JSON json_t *event = json_loadb(line, len, 0, NULL);
	const char *name = member_string(event, "event");
	struct job *job = find(local, member_text(event, "job"));
	if (!name) {
		local->host->log(local->host, KETTLE_LOG_WARNING, "kettle-exec wrote a line that is not an event");
	} else if (strcmp(name, "hello") == 0) {
		json_decref(local->facts);
		local->facts = json_incref(event);
		answer_requests(local, NULL);
	} else if (strcmp(name, "heartbeat") == 0) {
		answer_heartbeats(local, &(struct kettle_error){0});
	} else if (strcmp(name, "error") == 0) {
		local->host->log(local->host, KETTLE_LOG_WARNING, "kettle-exec: %s", member_text(event, "error"));
	} else if (job && strcmp(name, "done") == 0) {
		complete(local, job, json_incref(event));
	} else if (job) {
		local->host->job_event(local->host, job->ref, event);
	}
}

static void
on_complaint(void *arg, const char *line, size_t len)
{
	static const char prefix[] = "kettle-exec: ";
	struct local *local = arg;
	if (len > strlen(prefix) && memcmp(line, prefix, strlen(prefix)) == 0) {
		line += strlen(prefix);
		len -= strlen(prefix);
	}
	local->host->log(local->host, KETTLE_LOG_INFO, "kettle-exec: %.*s", (int)len, line);
	size_t kept = len < COMPLAINT_MAX ? len : COMPLAINT_MAX - 1;
	for (size_t i = 0; i < kept; i++)
		local->complaint[i] = line[i] < ' ' || line[i] > '~' ? '?' : line[i];
	local->complaint[kept] = '\0';
}

static int ensure_process(struct local *local, struct kettle_error *err);

/* The stop is complete when no child is left. */
static void
finish_stop(struct local *local)
{
	if (!local->stopped || local->process || local->doctors)
		return;
	kettle_fn stopped = STEAL(local->stopped);
	local->host->timer_stop(local->host, STEAL(local->stop_timer));
	stopped(local->stopped_arg);
}

static void
on_ended(void *arg, int status, int signal_number)
{
	struct local *local = arg;
	struct kettle_error err = {0};
	bool worked = local->facts && local->jobs;
	if (signal_number)
		(void)kettle_fail(&err, KETTLE_EUNAVAIL, "kettle-exec was terminated by signal %d.", signal_number);
	else
		(void)kettle_fail(&err, KETTLE_EUNAVAIL, "kettle-exec exited with status %d%s%s", status,
			local->complaint[0] ? ": " : ".", local->complaint);
	local->process = NULL;
	json_decref(local->facts);
	local->facts = NULL;
	if (!local->stopped)
		local->host->log(local->host, KETTLE_LOG_WARNING, "%s", err.message);
	answer_requests(local, &err);
	answer_heartbeats(local, &err);
	while (local->jobs)
		complete(local, local->jobs, json_pack("{s:s, s:s}", "status", "lost", "error", err.message));
	if (local->stopped) {
		finish_stop(local);
	} else if (worked && ensure_process(local, &err) < 0) {
		/* The successor removes what the dead one left behind. */
		local->host->log(local->host, KETTLE_LOG_ERROR, "%s", err.message);
	}
}

/* This machine's settings with the keys of exec.yml. */
static char *
settings(const struct local *local)
{
	const json_t *sandbox = json_object_get(local->options, "sandbox");
	AUTO_JSON json_t *object =
		json_pack("{s:O*, s:O*, s:O*, s:O*, s:O*}", "build", json_object_get(local->options, "build"), "read",
			json_object_get(sandbox, "read"), "level", json_object_get(sandbox, "level"), "state",
			json_object_get(local->options, "state"), "report", json_object_get(local->options, "report"));
	return json_dumps(object, JSON_COMPACT);
}

static int
ensure_process(struct local *local, struct kettle_error *err)
{
	if (local->ended)
		return kettle_fail(err, KETTLE_EUNAVAIL, "The runner local is stopping.");
	if (local->process)
		return 0;
	const char *config = member_string(local->options, "config");
	AUTO_FREE char *file = exec_file(local);
	AUTO_FREE char *text = settings(local);
	const char *argv[] = {file, "--serve", "--settings", text, config ? "--config" : NULL, config, NULL};
	local->complaint[0] = '\0';
	struct kettle_spawn spawn = {
		.size = sizeof(spawn),
		.file = file,
		.argv = argv,
		.max_line = MAX_LINE,
		.on_stdout = on_local_line,
		.on_stderr = on_complaint,
		.on_exit = on_ended,
		.arg = local,
	};
	return local->host->spawn(local->host, &spawn, &local->process, err);
}

static int
send_line(struct local *local, json_t *message_take, struct kettle_error *err)
{
	AUTO_FREE char *text = json_dumps(message_take, JSON_COMPACT);
	json_decref(message_take);
	if (!text)
		return kettle_fail(err, KETTLE_EINVAL, "The spool's path is not UTF-8, so it cannot be passed to kettle-exec.");
	size_t size = strlen(text);
	text[size] = '\n'; /* in place of the NUL: the size says where it ends */
	return local->host->process_write(local->host, local->process, text, size + 1, err);
}

static int
capacity(void *self, const json_t *unit, unsigned *ret_slots, unsigned *ret_prefetch, struct kettle_error *err)
{
	(void)self;
	json_int_t slots = json_object_get(unit, "slots") ? member_int(unit, "slots") : 1;
	json_int_t prefetch = json_object_get(unit, "prefetch") ? member_int(unit, "prefetch") : 1;
	if (slots < 1 || slots > 1024 || prefetch < 0 || prefetch > 1024)
		return kettle_fail(err, KETTLE_EINVAL, "A unit must have 1 to 1024 slots and prefetch 0 to 1024 jobs.");
	*ret_slots = (unsigned)slots;
	*ret_prefetch = (unsigned)prefetch;
	return 0;
}

static int
submit(void *self, const struct kettle_job *description, const json_t *plan, struct kettle_error *err)
{
	struct local *local = self;
	int rc = ensure_process(local, err);
	if (rc < 0)
		return rc;
	rc = send_line(local,
		json_pack("{s:s, s:s, s:O, s:O, s:O*, s:s*}", "op", "run", "job", description->ref, "unit", description->unit,
			"plan", plan, "keep", json_object_get(description->unit, "keep"), "spool", description->spool),
		err);
	if (rc < 0)
		return rc;
	size_t size = strlen(description->ref) + 1;
	struct job *job = xmalloc(sizeof(*job) + size);
	memcpy(job->ref, description->ref, size);
	job->next = local->jobs;
	local->jobs = job;
	return 0;
}

static void
cancel(void *self, const char *ref)
{
	struct local *local = self;
	struct kettle_error err = {0};
	if (find(local, ref) && send_line(local, json_pack("{s:s, s:s}", "op", "cancel", "job", ref), &err) < 0)
		local->host->log(local->host, KETTLE_LOG_WARNING, "job %s could not be cancelled: %s", ref, err.message);
}

static int
describe(void *self, const json_t *unit, void (*done)(void *arg, const struct kettle_error *err, json_t *facts),
	void *arg, struct kettle_error *err)
{
	struct local *local = self;
	int rc = ensure_process(local, err);
	if (rc < 0)
		return rc;
	struct describe_request *request = xmalloc(sizeof(*request));
	*request = (struct describe_request){done, arg, member_true(unit, "brief"), local->requests};
	local->requests = request;
	if (!local->facts)
		return 0;
	/* A GPU may have failed since the last greeting, and other interpreters are warm, so a new one is requested. */
	if ((json_object_get(unit, "gpu") || !request->brief) &&
		send_line(local, json_pack("{s:s}", "op", "hello"), err) == 0)
		return 0;
	answer_requests(local, NULL);
	return 0;
}

static int
heartbeat(void *self, const json_t *unit, void (*done)(void *arg, const struct kettle_error *err), void *arg,
	struct kettle_error *err)
{
	struct local *local = self;
	(void)unit;
	int rc = ensure_process(local, err);
	if (rc == 0 && !local->heartbeats)
		rc = send_line(local, json_pack("{s:s}", "op", "heartbeat"), err);
	if (rc < 0)
		return rc;
	struct heartbeat_request *request = xmalloc(sizeof(*request));
	*request = (struct heartbeat_request){done, arg, local->heartbeats};
	local->heartbeats = request;
	return 0;
}

static int
tools(void *self, const json_t *tools, struct kettle_error *err)
{
	struct local *local = self;
	json_object_set_new(local->options, "report", json_deep_copy(tools));
	/* Else the next one is started with them. */
	if (!local->process || local->ended)
		return 0;
	return send_line(local, json_pack("{s:s, s:O}", "op", "tools", "report", tools), err);
}

/* ---- kettle-exec --doctor ---- */

static void
on_doctor_line(void *arg, const char *line, size_t len)
{
	struct doctor_request *doctor = arg;
	doctor->too_long = doctor->too_long || len >= MAX_REPORT - doctor->text.len;
	if (!doctor->too_long)
		buf_printf(&doctor->text, "%s\n", line);
}

static void
on_doctor_complaint(void *arg, const char *line, size_t len)
{
	const struct doctor_request *doctor = arg;
	on_complaint(doctor->local, line, len);
}

static void
on_doctor_ended(void *arg, int status, int signal_number)
{
	struct doctor_request *doctor = arg, **link = &doctor->local->doctors;
	struct local *local = doctor->local;
	struct kettle_error err = {0};
	AUTO_JSON json_t *report =
		doctor->too_long ? NULL : json_loadb(doctor->text.len ? doctor->text.data : "", doctor->text.len, 0, NULL);
	while (*link != doctor)
		link = &(*link)->next;
	*link = doctor->next;
	if (signal_number)
		(void)kettle_fail(&err, KETTLE_EUNAVAIL, "kettle-exec --doctor was terminated by signal %d%s.", signal_number,
			local->ended     ? ", since the runner stops"
			: !doctor->limit ? ", since it took longer than two minutes"
							 : "");
	else if (!json_is_object(report))
		(void)kettle_fail(&err, KETTLE_EUNAVAIL, "kettle-exec --doctor exited with status %d and without a report%s%s",
			status, local->complaint[0] ? ": " : ".", local->complaint);
	local->host->timer_stop(local->host, doctor->limit);
	doctor->done(doctor->arg, &err, err.code ? NULL : report);
	buf_free(&doctor->text);
	free(doctor);
	finish_stop(local);
}

static void
on_doctor_late(void *arg)
{
	struct doctor_request *doctor = arg;
	doctor->limit = NULL;
	doctor->local->host->process_kill(doctor->local->host, doctor->process, SIGKILL);
}

static int
doctor(void *self, const json_t *unit, void (*done)(void *arg, const struct kettle_error *err, json_t *report),
	void *arg, struct kettle_error *err)
{
	struct local *local = self;
	(void)unit;
	if (local->ended)
		return kettle_fail(err, KETTLE_EUNAVAIL, "The runner local is stopping.");
	const char *config = member_string(local->options, "config");
	AUTO_FREE char *file = exec_file(local), *text = settings(local);
	const char *argv[] = {file, "--doctor", "--json", "--settings", text, config ? "--config" : NULL, config, NULL};
	struct doctor_request *request = xcalloc(1, sizeof(*request));
	*request = (struct doctor_request){.local = local, .done = done, .arg = arg};
	struct kettle_spawn spawn = {
		.size = sizeof(spawn),
		.file = file,
		.argv = argv,
		.max_line = MAX_REPORT,
		.on_stdout = on_doctor_line,
		.on_stderr = on_doctor_complaint,
		.on_exit = on_doctor_ended,
		.arg = request,
	};
	int rc = local->host->timer_start(local->host, DOCTOR_LIMIT_MS, 0, on_doctor_late, request, &request->limit, err);
	if (rc == 0)
		rc = local->host->spawn(local->host, &spawn, &request->process, err);
	if (rc < 0) {
		local->host->timer_stop(local->host, request->limit);
		free(request);
		return rc;
	}
	local->host->process_close_stdin(local->host, request->process);
	request->next = local->doctors;
	local->doctors = request;
	return 0;
}

static int
same_machine(void *self, const json_t *unit, const json_t *other)
{
	(void)self, (void)unit, (void)other;
	return 1;
}

static int
start(void *self, struct kettle_error *err)
{
	struct local *local = self;
	(void)err;
	local->stopped = NULL; /* after an earlier stop */
	local->ended = false;
	return 0;
}

static void
kill_process(void *arg)
{
	struct local *local = arg;
	local->stop_timer = NULL;
	if (local->process)
		local->host->process_kill(local->host, local->process, SIGKILL);
}

static void
stop(void *self, kettle_fn done, void *arg)
{
	struct local *local = self;
	struct kettle_error err = {0};
	local->ended = true;
	if (!local->process && !local->doctors) {
		done(arg);
		return;
	}
	local->stopped = done;
	local->stopped_arg = arg;
	for (struct doctor_request *doctor = local->doctors; doctor; doctor = doctor->next)
		local->host->process_kill(local->host, doctor->process, SIGKILL);
	if (!local->process)
		return;
	local->host->process_close_stdin(local->host, local->process);
	if (local->host->timer_start(local->host, STOP_LIMIT_MS, 0, kill_process, local, &local->stop_timer, &err) < 0)
		kill_process(local);
}

static const struct kettle_runner runner = {
	.size = sizeof(runner),
	.capacity = capacity,
	.submit = submit,
	.cancel = cancel,
	.describe = describe,
	.same_machine = same_machine,
	.heartbeat = heartbeat,
	.tools = tools,
	.doctor = doctor,
};

KETTLE_EXPORT const struct kettle_plugin kettle_plugin = {
	KETTLE_PLUGIN_HEAD(KETTLE_RUNNER),
	.name = "local",
	.version = PACKAGE_VERSION,
	.summary = "runs jobs on this machine with kettle-exec",
	KETTLE_PLUGIN_OPTIONS(options),
	.create = create,
	.configure = configure,
	.start = start,
	.stop = stop,
	.destroy = destroy,
	.runner = &runner,
};
