/* SPDX-License-Identifier: MIT */
/*
 * The runner `local`: jobs run on this machine.
 *
 * Theory of operation. The first job starts one child `kettle-exec --serve`, which gets every job as a line and owns
 * the build cache, the device locks and the sandboxes. When it ends, for any reason, each of its jobs completes as
 * lost, and the next job starts another one. kettle-exec kills its processes when its input ends, so after the engine
 * dies there is nothing to recover.
 */
#include <config.h>

#include <kettle/plugin.h>
#include <signal.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "runners/common/exec_client.h"

#define STOP_LIMIT_MS 15000

struct local {
	const struct kettle_host *host;
	json_t *options;
	struct exec_client lines;
	struct kettle_timer *stop_timer;
	bool ended; /* stop was called: start no further kettle-exec */
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
		.help = "Paths that the sandbox may read besides the system, and its level, {extra_paths, level}; default: the "
				"section `sandbox`."},
	{.key = "report",
		.type = KETTLE_OPTION_STRINGS,
		.help = "Tools whose versions and packages this machine reports, besides the well-known ones; default: the "
				"tools of the languages."},
};

static void finish_stop(void *arg);
static void on_ended(void *arg, int status, int signal_number);

static const struct exec_client_ops lines_ops = {.ended = on_ended};

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	struct local *local = xcalloc(1, sizeof(*local));
	(void)err;
	local->host = host;
	local->lines = (struct exec_client){.host = host, .ops = &lines_ops, .arg = local, .name = "kettle-exec"};
	local->lines.commands = (struct commands){.host = host, .idle = finish_stop, .arg = local};
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
	exec_client_reset(&local->lines);
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

static int ensure_process(struct local *local, struct kettle_error *err);

static void
finish_stop(void *arg)
{
	struct local *local = arg;
	if (!local->stopped || local->lines.process || exec_client_has_commands(&local->lines))
		return;
	kettle_fn stopped = STEAL(local->stopped);
	local->host->timer_stop(local->host, STEAL(local->stop_timer));
	stopped(local->stopped_arg);
}

static void
on_ended(void *arg, int status, int signal_number)
{
	struct local *local = arg;
	struct exec_client *lines = &local->lines;
	struct kettle_error err = {0};
	bool worked = lines->facts && lines->jobs;
	exec_client_explain(lines->name, status, signal_number, lines->last_stderr, &err);
	exec_client_reset(lines);
	if (!local->stopped)
		local->host->log(local->host, KETTLE_LOG_WARNING, "%s", err.message);
	/* Jobs first: a lost job may be submitted again, to the next kettle-exec. */
	exec_client_lose(lines, false, KETTLE_LOSS_NODE_FAULT, err.message);
	exec_client_fail_requests(lines, &err);
	if (local->stopped) {
		finish_stop(local);
	} else if (worked && ensure_process(local, &err) < 0) {
		/* The next kettle-exec removes what this one left behind. */
		local->host->log(local->host, KETTLE_LOG_ERROR, "%s", err.message);
	}
}

/* The kettle-exec to start: the option's, else the one beside the program, else the one in PATH. New. */
static char *
exec_of(const struct local *local)
{
	const char *named = json_text_or_null(local->options, "exec");
	AUTO_FREE char *folder = path_program_dir(), *file = folder ? path_join(folder, "kettle-exec") : NULL;
	return named ? xstrdup(named) : file && access(file, X_OK) == 0 ? STEAL(file) : xstrdup("kettle-exec");
}

/* Appends a command line of kettle-exec, with this machine's settings by the keys of exec.yml. */
static void
make_command(const struct local *local, bool doctor, struct arguments *ret_argv)
{
	const json_t *sandbox = json_object_get(local->options, "sandbox");
	const char *config = json_text_or_null(local->options, "config");
	AUTO_FREE char *file = exec_of(local);
	AUTO_JSON json_t *settings =
		json_pack("{s:O*, s:O*, s:O*, s:O*, s:O*}", "build", json_object_get(local->options, "build"), "extra_paths",
			json_object_get(sandbox, "extra_paths"), "level", json_object_get(sandbox, "level"), "state",
			json_object_get(local->options, "state"), "report", json_object_get(local->options, "report"));
	AUTO_FREE char *text = json_dumps(settings, JSON_COMPACT);
	const char *const words[] = {"--settings", text, config ? "--config" : NULL, config};
	arguments_add(ret_argv, "%s", file);
	arguments_add(ret_argv, doctor ? "--doctor" : "--serve");
	if (doctor)
		arguments_add(ret_argv, "--json");
	for (size_t i = 0; i < ARRAY_SIZE(words) && words[i]; i++)
		arguments_add(ret_argv, "%s", words[i]);
}

static int
ensure_process(struct local *local, struct kettle_error *err)
{
	if (local->ended)
		return kettle_fail(err, KETTLE_EUNAVAIL, "The runner local is stopping.");
	if (local->lines.process)
		return 0;
	AUTO_ARGUMENTS struct arguments argv = {0};
	make_command(local, false, &argv);
	int rc = exec_client_start(&local->lines, (const char *const *)argv.list, err);
	local->lines.ready = rc == 0;
	return rc;
}

static int
submit(void *self, const struct kettle_job *description, const json_t *plan, struct kettle_error *err)
{
	struct local *local = self;
	int rc = ensure_process(local, err);
	return rc < 0 ? rc : exec_client_submit(&local->lines, description, plan, false, NULL, err);
}

static void
cancel(void *self, const char *ref)
{
	struct local *local = self;
	exec_client_cancel(&local->lines, ref);
}

static int
describe(void *self, const json_t *unit, kettle_answer done, void *arg, struct kettle_error *err)
{
	struct local *local = self;
	int rc = ensure_process(local, err);
	return rc < 0 ? rc : exec_client_describe(&local->lines, unit, done, arg, err);
}

static int
heartbeat(void *self, const json_t *unit, void (*done)(void *arg, const struct kettle_error *err), void *arg,
	struct kettle_error *err)
{
	struct local *local = self;
	(void)unit;
	int rc = ensure_process(local, err);
	return rc < 0 ? rc : exec_client_heartbeat(&local->lines, done, arg, err);
}

static int
tools(void *self, const json_t *tools, struct kettle_error *err)
{
	struct local *local = self;
	json_object_set_new(local->options, "report", json_deep_copy(tools));
	/* The next kettle-exec starts with these tools. */
	if (!local->lines.process || local->ended)
		return 0;
	return exec_client_write(&local->lines, json_pack("{s:s, s:O}", "op", "tools", "report", tools), err);
}

static int
doctor(void *self, const json_t *unit, kettle_answer done, void *arg, struct kettle_error *err)
{
	struct local *local = self;
	AUTO_ARGUMENTS struct arguments argv = {0};
	(void)unit;
	if (local->ended)
		return kettle_fail(err, KETTLE_EUNAVAIL, "The runner local is stopping.");
	make_command(local, true, &argv);
	return exec_client_doctor(&local->lines, &argv, done, arg, err);
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
	local->ended = local->lines.stopping = false;
	return 0;
}

static void
kill_process(void *arg)
{
	struct local *local = arg;
	local->stop_timer = NULL;
	if (local->lines.process)
		local->host->process_kill(local->host, local->lines.process, SIGKILL);
}

static void
stop(void *self, kettle_fn done, void *arg)
{
	struct local *local = self;
	struct kettle_error err = {0};
	local->ended = true;
	if (!local->lines.process && !exec_client_has_commands(&local->lines)) {
		done(arg);
		return;
	}
	local->stopped = done;
	local->stopped_arg = arg;
	exec_client_stop_doctors(&local->lines);
	if (!local->lines.process)
		return;
	local->host->process_close_stdin(local->host, local->lines.process);
	if (local->host->timer_start(local->host, STOP_LIMIT_MS, 0, kill_process, local, &local->stop_timer, &err) < 0)
		kill_process(local);
}

static int
check(void *self, struct kettle_error *err)
{
	AUTO_FREE char *file = exec_of(self);
	if (command_exists(file))
		return 0;
	return kettle_fail(
		err, KETTLE_EUNAVAIL, "The runner local cannot start `%s`: give the path of kettle-exec as `exec`.", file);
}

static const struct kettle_runner runner = {
	.size = sizeof(runner),
	.capacity = exec_client_capacity,
	.submit = submit,
	.cancel = cancel,
	.describe = describe,
	.same_machine = same_machine,
	.heartbeat = heartbeat,
	.tools = tools,
	.doctor = doctor,
	.check = check,
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
