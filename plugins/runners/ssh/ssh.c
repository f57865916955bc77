/* SPDX-License-Identifier: MIT */
/* The runner `ssh`: jobs run on other machines, each reached by one connection of the system's ssh. */
/*
 * Theory of operation. Units with equal options are on one machine and share a session (ssh_session.c): one
 * `kettle-exec --serve`, which owns the machine's build cache, device locks and warm interpreters, as in the runner
 * local. A session is made for the first job or request of its units and stays until the runner is destroyed.
 */
#include <config.h>

#include <kettle/plugin.h>

#include "base/base.h"
#include "runners/common/options.h"
#include "runners/ssh/ssh.h"

struct ssh {
	const struct kettle_host *host;
	json_t *options;
	struct ssh_session *sessions;
	bool ended; /* stop was called: make no further connection */
	kettle_fn stopped;
	void *stopped_arg;
};

static const struct kettle_option options[] = {
	{.key = "ssh",
		.type = KETTLE_OPTION_STRING,
		.default_value = "ssh",
		.help = "The ssh to start: a path, or a name looked up in PATH."},
	EXEC_ARCHIVE_OPTION,
	INT_OPTION("connect_s", "15", 1, 600,
		"Seconds in which a host must answer, from the name to the greeting of its kettle-exec."),
	INT_OPTION("lease_s", "20", 3, 3600,
		"Seconds without a sign of life after which both sides give a connection up, and its jobs end."),
	{.key = "report",
		.type = KETTLE_OPTION_STRINGS,
		.help = "Tools whose versions and packages the hosts report, besides the well-known ones; default: the tools "
				"of the languages."},
};

static const struct kettle_option unit_options[] = {
	{.key = "host",
		.type = KETTLE_OPTION_STRING,
		.required = true,
		.help = "The host as ssh knows it: a name of its configuration, HOST, USER@HOST or ssh://USER@HOST:PORT."},
	{.key = "exec",
		.type = KETTLE_OPTION_STRING,
		.help =
			"The kettle-exec on the host, a path or a name in PATH; default: Kettle copies the archive to the host."},
	{.key = "folder",
		.type = KETTLE_OPTION_STRING,
		.help = "The folder on the host for copies of kettle-exec; default: ~/.cache/kettle."},
	{.key = "flags", .type = KETTLE_OPTION_STRINGS, .help = "Further arguments of ssh, such as [-p, \"2222\"]."},
};

static int
create(const struct kettle_host *host, void **ret_self, struct kettle_error *err)
{
	struct ssh *ssh = xcalloc(1, sizeof(*ssh));
	(void)err;
	ssh->host = host;
	ssh->options = json_object();
	*ret_self = ssh;
	return 0;
}

static void
destroy(void *self)
{
	struct ssh *ssh = self;
	if (!ssh)
		return;
	for (struct ssh_session *session = ssh->sessions, *next; session; session = next) {
		next = session->next;
		ssh_session_free(session);
	}
	json_decref(ssh->options);
	free(ssh);
}

static int
configure(void *self, const json_t *section, struct kettle_error *err)
{
	struct ssh *ssh = self;
	(void)err;
	/* Sessions refer to this object, so it is changed in place. */
	json_object_clear(ssh->options);
	AUTO_JSON json_t *copy = json_deep_copy(section);
	json_object_update(ssh->options, copy);
	return 0;
}

static void
finish_stop(void *arg)
{
	struct ssh *ssh = arg;
	if (!ssh->stopped)
		return;
	for (const struct ssh_session *session = ssh->sessions; session; session = session->next)
		if (!ssh_session_is_quiet(session))
			return;
	kettle_fn stopped = STEAL(ssh->stopped);
	stopped(ssh->stopped_arg);
}

static int
find_link(struct ssh *ssh, const json_t *unit, struct ssh_session **ret_link, struct kettle_error *err)
{
	const json_t *unit_section = json_object_get(unit, "options");
	if (ssh->ended)
		return kettle_fail(err, KETTLE_EUNAVAIL, "The runner ssh is stopping.");
	int rc = ssh_command_check(unit_section, err);
	if (rc < 0)
		return rc;
	struct ssh_session *session = ssh->sessions;
	while (session && !json_equal(session->options, unit_section))
		session = session->next;
	if (!session) {
		session = ssh_session_new(ssh->host, ssh->options, unit_section, finish_stop, ssh);
		session->next = ssh->sessions;
		ssh->sessions = session;
	}
	*ret_link = session;
	return 0;
}

static int
submit(void *self, const struct kettle_job *job, const json_t *plan, struct kettle_error *err)
{
	struct ssh_session *session;
	int rc = find_link(self, job->unit, &session, err);
	return rc < 0 ? rc : ssh_session_submit(session, job, plan, err);
}

static void
cancel(void *self, const char *ref)
{
	struct ssh *ssh = self;
	for (struct ssh_session *session = ssh->sessions; session; session = session->next)
		if (exec_client_find(&session->lines, ref)) {
			exec_client_cancel(&session->lines, ref);
			return;
		}
}

static int
describe(void *self, const json_t *unit, kettle_answer done, void *arg, struct kettle_error *err)
{
	struct ssh_session *session;
	int rc = find_link(self, unit, &session, err);
	if (rc < 0)
		return rc;
	rc = exec_client_describe(&session->lines, unit, done, arg, err);
	ssh_session_need(session);
	return rc;
}

static int
heartbeat(void *self, const json_t *unit, void (*done)(void *arg, const struct kettle_error *err), void *arg,
	struct kettle_error *err)
{
	struct ssh_session *session;
	int rc = find_link(self, unit, &session, err);
	/* Connecting has its own time limit, and is no sign of a kettle-exec that hangs. */
	if (rc == 0 && session->state != SSH_SESSION_UP)
		return kettle_fail(
			err, KETTLE_EUNAVAIL, "There is no connection to %s.", json_text_or_empty(session->options, "host"));
	/* Nor is the time that a plan takes to get there. */
	if (rc == 0 && session->unsent + session->lines.written > SSH_SESSION_BYTES_A_SECOND)
		return kettle_fail(
			err, KETTLE_EUNAVAIL, "A plan is on its way to %s.", json_text_or_empty(session->options, "host"));
	return rc < 0 ? rc : exec_client_heartbeat(&session->lines, done, arg, err);
}

static int
doctor(void *self, const json_t *unit, kettle_answer done, void *arg, struct kettle_error *err)
{
	struct ssh_session *session;
	int rc = find_link(self, unit, &session, err);
	return rc < 0 ? rc : ssh_session_doctor(session, done, arg, err);
}

static int
tools(void *self, const json_t *tools, struct kettle_error *err)
{
	struct ssh *ssh = self;
	int rc = 0;
	json_object_set_new(ssh->options, "report", json_deep_copy(tools));
	/* Other sessions start with the new tools. */
	for (struct ssh_session *session = ssh->sessions; session && rc == 0 && !ssh->ended; session = session->next)
		if (session->lines.ready)
			rc = exec_client_write(&session->lines, json_pack("{s:s, s:O}", "op", "tools", "report", tools), err);
	return rc;
}

static int
same_machine(void *self, const json_t *unit, const json_t *other)
{
	(void)self;
	return json_equal(json_object_get(unit, "options"), json_object_get(other, "options"));
}

static int
start(void *self, struct kettle_error *err)
{
	struct ssh *ssh = self;
	(void)err;
	ssh->stopped = NULL; /* after an earlier stop */
	ssh->ended = false;
	for (struct ssh_session *session = ssh->sessions; session; session = session->next)
		session->stopping = session->lines.stopping = false;
	return 0;
}

static void
stop(void *self, kettle_fn done, void *arg)
{
	struct ssh *ssh = self;
	ssh->ended = true;
	for (struct ssh_session *session = ssh->sessions; session; session = session->next)
		ssh_session_stop(session);
	ssh->stopped = done;
	ssh->stopped_arg = arg;
	finish_stop(ssh);
}

static int
check(void *self, struct kettle_error *err)
{
	const struct ssh *ssh = self;
	const char *program = json_text_or_empty(ssh->options, "ssh");
	if (command_exists(program))
		return 0;
	return kettle_fail(err, KETTLE_EUNAVAIL,
		"The runner ssh cannot start `%s`: install ssh on this machine, or give its path as `ssh`.", program);
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
	KETTLE_UNIT_OPTIONS(unit_options),
	.doctor = doctor,
	.check = check,
};

KETTLE_EXPORT const struct kettle_plugin kettle_plugin = {
	KETTLE_PLUGIN_HEAD(KETTLE_RUNNER),
	.name = "ssh",
	.version = PACKAGE_VERSION,
	.summary = "runs jobs on other machines, by ssh",
	KETTLE_PLUGIN_OPTIONS(options),
	.create = create,
	.configure = configure,
	.start = start,
	.stop = stop,
	.destroy = destroy,
	.runner = &runner,
};
