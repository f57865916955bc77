/* SPDX-License-Identifier: MIT */
/*
 * The runner `local`: jobs run on this machine.
 *
 * Theory of operation. The first job starts one child `kettle-exec --serve`, which gets every job as a line and owns the
 * build cache, the device locks and the sandboxes. When it ends, for whatever reason, each of its jobs completes as lost
 * and the next job starts another one. kettle-exec kills what runs when its input ends, so an engine that died leaves
 * nothing to recover.
 */
#include <config.h>

#include <kettle/plugin.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_LINE (64u << 20)
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

struct local {
	const struct kettle_host *host;
	json_t *options;
	struct kettle_process *process;
	char complaint[COMPLAINT_MAX]; /* the last line of its standard error; plain ASCII */
	json_t *facts;                 /* the newest greeting of the running kettle-exec */
	struct job *jobs;
	struct describe_request *inquiries;
	struct kettle_timer *stop_timer;
	bool ended; /* stop was called: no further kettle-exec is started */
	kettle_fn stopped;
	void *stopped_arg;
};

static const struct kettle_option options[] = {
	{.key = "exec",
		.type = KETTLE_OPTION_PATH,
		.help = "The kettle-exec to start; the one beside the program by default."},
	{.key = "config", .type = KETTLE_OPTION_PATH, .help = "Its exec.yml; its own default place by default."},
	{.key = "state", .type = KETTLE_OPTION_PATH, .help = "The folder of its build cache and spool."},
	{.key = "build",
		.type = KETTLE_OPTION_ANY,
		.help = "Cores and number of parallel build steps, {cores, jobs}; the section `build` of the configuration by "
				"default."},
	{.key = "sandbox",
		.type = KETTLE_OPTION_ANY,
		.help = "What the sandbox may read besides the system, {read, level}; the section `sandbox` by default."},
	{.key = "report",
		.type = KETTLE_OPTION_STRINGS,
		.help =
			"Tools whose versions and packages this machine says, besides the well-known; those of the languages by "
			"default."},
};

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	struct local *local = calloc(1, sizeof(*local));
	if (!local)
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for the runner local.");
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

/* The kettle-exec in the running program's folder, else the one in PATH. New; NULL: no memory. */
static char *
beside(void)
{
	char path[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash = size > 0 ? memrchr(path, '/', (size_t)size) : NULL;
	char *file = NULL;
	if (slash && asprintf(&file, "%.*s/kettle-exec", (int)(slash - path), path) >= 0 && access(file, X_OK) == 0)
		return file;
	free(file);
	return strdup("kettle-exec");
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
		if (ref && strcmp(job->ref, ref) == 0)
			return job;
	return NULL;
}

/* Answers the requests that the newest greeting satisfies: full ones wait for one with tools. An error answers all. */
static void
answer_inquiries(struct local *local, const struct kettle_error *err)
{
	struct kettle_error none = {0};
	struct describe_request **link = &local->inquiries;
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

static void
on_local_line(void *arg, const char *line, size_t len)
{
	struct local *local = arg;
	json_t *event = json_loadb(line, len, 0, NULL);
	const char *name = json_string_value(json_object_get(event, "event"));
	struct job *job = find(local, json_string_value(json_object_get(event, "job")));
	if (!name) {
		local->host->log(local->host, KETTLE_LOG_WARNING, "kettle-exec wrote a line that is no event");
	} else if (strcmp(name, "hello") == 0) {
		json_decref(local->facts);
		local->facts = json_incref(event);
		answer_inquiries(local, NULL);
	} else if (strcmp(name, "error") == 0) {
		local->host->log(
			local->host, KETTLE_LOG_WARNING, "kettle-exec: %s", json_string_value(json_object_get(event, "error")));
	} else if (job && strcmp(name, "done") == 0) {
		complete(local, job, json_incref(event));
	} else if (job) {
		local->host->job_event(local->host, job->ref, event);
	}
	json_decref(event);
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

static void
on_ended(void *arg, int status, int signal_number)
{
	struct local *local = arg;
	struct kettle_error err = {0};
	bool worked = local->facts && local->jobs;
	if (signal_number)
		(void)kettle_fail(&err, KETTLE_EUNAVAIL, "kettle-exec was ended by signal %d.", signal_number);
	else
		(void)kettle_fail(&err, KETTLE_EUNAVAIL, "kettle-exec ended with status %d%s%s", status,
			local->complaint[0] ? ": " : ".", local->complaint);
	local->process = NULL;
	json_decref(local->facts);
	local->facts = NULL;
	if (!local->stopped)
		local->host->log(local->host, KETTLE_LOG_WARNING, "%s", err.message);
	answer_inquiries(local, &err);
	while (local->jobs)
		complete(local, local->jobs, json_pack("{s:s, s:s}", "status", "lost", "error", err.message));
	if (local->stopped) {
		local->host->timer_stop(local->host, local->stop_timer);
		local->stop_timer = NULL;
		local->stopped(local->stopped_arg);
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
	json_t *object = json_pack("{s:O*, s:O*, s:O*, s:O*, s:O*}", "build", json_object_get(local->options, "build"),
		"read", json_object_get(sandbox, "read"), "level", json_object_get(sandbox, "level"), "state",
		json_object_get(local->options, "state"), "report", json_object_get(local->options, "report"));
	char *text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	return text;
}

static int
ensure_process(struct local *local, struct kettle_error *err)
{
	if (local->ended)
		return kettle_fail(err, KETTLE_EUNAVAIL, "The runner local is stopping.");
	if (local->process)
		return 0;
	const char *named = json_string_value(json_object_get(local->options, "exec"));
	const char *config = json_string_value(json_object_get(local->options, "config"));
	char *file = named ? strdup(named) : beside();
	char *text = settings(local);
	const char *argv[8] = {file, "--serve", "--settings", text};
	if (config) {
		argv[4] = "--config";
		argv[5] = config;
	}
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
	int status = file ? local->host->spawn(local->host, &spawn, &local->process, err)
					  : kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory to start kettle-exec.");
	free(file);
	free(text);
	return status;
}

static int
send_line(struct local *local, json_t *message_take, struct kettle_error *err)
{
	char *text = json_dumps(message_take, JSON_COMPACT);
	json_decref(message_take);
	size_t size = strlen(text);
	text[size] = '\n'; /* in place of the NUL: the size says where it ends */
	int status = local->host->process_write(local->host, local->process, text, size + 1, err);
	free(text);
	return status;
}

static int
capacity(void *self, const json_t *unit, unsigned *ret_slots, unsigned *ret_prefetch, struct kettle_error *err)
{
	(void)self;
	const json_t *slots = json_object_get(unit, "slots"), *prefetch = json_object_get(unit, "prefetch");
	json_int_t slot_count = slots ? json_integer_value(slots) : 1;
	json_int_t prefetch_count = prefetch ? json_integer_value(prefetch) : 1;
	if (slot_count < 1 || slot_count > 1024 || prefetch_count < 0 || prefetch_count > 1024)
		return kettle_fail(err, KETTLE_EINVAL, "A unit has 1 to 1024 slots and prefetches 0 to 1024 jobs.");
	*ret_slots = (unsigned)slot_count;
	*ret_prefetch = (unsigned)prefetch_count;
	return 0;
}

static int
submit(void *self, const struct kettle_job *description, const json_t *plan, struct kettle_error *err)
{
	struct local *local = self;
	int status = ensure_process(local, err);
	if (status < 0)
		return status;
	size_t size = strlen(description->ref) + 1;
	struct job *job = malloc(sizeof(*job) + size);
	if (!job)
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory for job %s.", description->ref);
	memcpy(job->ref, description->ref, size);
	status = send_line(local,
		json_pack("{s:s, s:s, s:O, s:O, s:O*, s:s*}", "op", "run", "job", job->ref, "unit", description->unit, "plan",
			plan, "keep", json_object_get(description->unit, "keep"), "spool", description->spool),
		err);
	if (status < 0) {
		free(job);
		return status;
	}
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
	int status = ensure_process(local, err);
	if (status < 0)
		return status;
	struct describe_request *request = calloc(1, sizeof(*request));
	if (!request)
		return kettle_fail(err, KETTLE_ENOMEM, "There is not enough memory to describe this machine.");
	*request = (struct describe_request){done, arg, json_is_true(json_object_get(unit, "brief")), local->inquiries};
	local->inquiries = request;
	if (!local->facts)
		return 0;
	/* A GPU may have failed since the last greeting, so a new one is requested. */
	if (json_object_get(unit, "gpu") && send_line(local, json_pack("{s:s}", "op", "hello"), err) == 0)
		return 0;
	answer_inquiries(local, NULL);
	return 0;
}

static int
same_machine(void *self, const json_t *unit, const json_t *other)
{
	(void)self;
	(void)unit;
	(void)other;
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
	if (!local->process) {
		done(arg);
		return;
	}
	local->stopped = done;
	local->stopped_arg = arg;
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
