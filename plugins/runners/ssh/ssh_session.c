/* SPDX-License-Identifier: MIT */
/* A host: the connection to its kettle-exec, which all units of that host share. */
/*
 * Theory of operation. The first job or request begins a connection: the archive is read (unless the unit names an
 * installed kettle-exec), ssh is started, and its kettle-exec greets. If kettle-exec is missing there, another ssh
 * copies the archive, and the connection begins again. A timer ends each phase that takes too long, whatever hangs: a
 * name server, a firewall, authentication, a login script.
 *
 * While the connection is up, a beat three times in a lease writes a heartbeat, which renews the lease on the other
 * side, and checks whether anything has come since the last beat. After a lease without any input the connection
 * counts as broken; by then the other side has ended everything, too. Jobs that a broken connection loses spend no
 * attempt; jobs that a kettle-exec loses by ending itself do.
 *
 * After a break, or if the connection was up before, the next one begins after a pause, which grows with each failure.
 * Jobs that come during that time wait for it ("waiting": no clock runs) and are lost if it fails, so that another
 * unit may take them. They spend no attempt, since the name or key of a host that was never reached may be wrong; the
 * operator is told. A doctor ends the pause.
 */
#include <config.h>

#include "runners/ssh/ssh.h"

#include <signal.h>

#include "base/base.h"
#include "base/failpoint.h"
#include "runners/common/exec_archive.h"
#include "runners/common/remote.h"

#define PROTOCOL 1
#define BEATS 3 /* per lease */
#define SSH_FAILED 255

struct pending_doctor {
	kettle_answer done;
	void *arg;
	struct pending_doctor *next;
};

static void ssh_session_begin(void *arg);
static void ssh_session_failed(struct ssh_session *session, const struct kettle_error *why);

/* ---- names and options ---- */

static const char *
host_name(const struct ssh_session *session)
{
	return json_text_or_empty(session->options, "host");
}

static long long
option_seconds(const struct ssh_session *session, const char *key)
{
	return member_int(session->section, key);
}

static bool
has_archive(const struct ssh_session *session)
{
	return !json_text_or_null(session->options, "exec");
}

static void
make_command(const struct ssh_session *session, enum ssh_command command, struct arguments *ret_argv)
{
	AUTO_JSON json_t *settings = json_pack("{s:O*}", "report", json_object_get(session->section, "report"));
	AUTO_FREE char *text = json_dumps(settings, JSON_COMPACT);
	const struct ssh_setup setup = {
		.program = json_text_or_empty(session->section, "ssh"),
		.connect_s = option_seconds(session, "connect_s"),
		.lease_s = option_seconds(session, "lease_s"),
		.options = session->options,
		.digest = has_archive(session) ? session->digest : NULL,
		.settings = text,
	};
	ssh_command(&setup, command, ret_argv);
}

static void
set_timer(struct ssh_session *session, uint64_t delay_ms, void (*fn)(void *arg))
{
	struct kettle_error err = {0};
	session->host->timer_stop(session->host, STEAL(session->timer));
	if (fn && session->host->timer_start(session->host, delay_ms, 0, fn, session, &session->timer, &err) < 0)
		session->host->log(session->host, KETTLE_LOG_ERROR, "%s: %s", session->name, err.message);
}

bool
ssh_session_is_quiet(const struct ssh_session *session)
{
	return !session->lines.process && !exec_client_has_commands(&session->lines) &&
		   session->state != SSH_SESSION_READING && session->receivers == 0;
}

static void
check_quiet(void *arg)
{
	struct ssh_session *session = arg;
	if (session->stopping && ssh_session_is_quiet(session))
		session->quiet(session->arg);
}

static bool
is_needed(const struct ssh_session *session)
{
	return session->lines.jobs || exec_client_is_waited_for(&session->lines) || session->pending;
}

/* In the loop's next turn, since no answer may come before its request returns. */
void
ssh_session_need(struct ssh_session *session)
{
	session->idle = 0;
	if (session->state != SSH_SESSION_IDLE)
		return;
	session->state = SSH_SESSION_PAUSED;
	set_timer(session, 0, ssh_session_begin);
}

/* ---- doctors, which need a kettle-exec on the host ---- */

static int
start_doctor(struct ssh_session *session, kettle_answer done, void *arg, struct kettle_error *err)
{
	AUTO_ARGUMENTS struct arguments argv = {0};
	make_command(session, SSH_DOCTOR, &argv);
	return exec_client_doctor(&session->lines, &argv, done, arg, err);
}

/* Starts the doctors that wait, or answers them that there is no kettle-exec. */
static void
end_waiting(struct ssh_session *session, const struct kettle_error *why)
{
	struct pending_doctor *doctors = STEAL(session->pending);
	session->host->timer_stop(session->host, STEAL(session->patience));
	while (doctors) {
		struct pending_doctor *doctor = doctors;
		struct kettle_error err = why ? *why : (struct kettle_error){0};
		doctors = doctor->next;
		if (why || start_doctor(session, doctor->done, doctor->arg, &err) < 0)
			doctor->done(doctor->arg, &err, NULL);
		free(doctor);
	}
}

static void on_late_doctors(void *arg);

static void
bound_doctors(struct ssh_session *session)
{
	struct kettle_error err = {0};
	if (!session->patience && session->host->timer_start(session->host, SSH_SESSION_DOCTOR_MS, 0, on_late_doctors,
								  session, &session->patience, &err) < 0)
		end_waiting(session, &err);
}

/*
 * Ends doctors that wait too long. A connection may take longer: jobs wait for it, people do not. A host to which the
 * archive is being copied has answered, so its doctors wait on.
 */
static void
on_late_doctors(void *arg)
{
	struct ssh_session *session = arg;
	struct kettle_error err = {0};
	session->patience = NULL;
	if (session->state == SSH_SESSION_INSTALLING) {
		bound_doctors(session);
		return;
	}
	(void)kettle_fail(&err, KETTLE_EUNAVAIL, "%s has not answered for %d s; Kettle waits up to %lld s for it%s%s",
		session->name, SSH_SESSION_DOCTOR_MS / 1000, option_seconds(session, "connect_s"),
		session->lines.last_stderr[0] ? ": " : ".", session->lines.last_stderr);
	end_waiting(session, &err);
}

/* ---- artifacts ---- */

static void
on_receiver_gone(void *arg)
{
	struct ssh_session *session = arg;
	session->receivers--;
	check_quiet(session);
}

static void
on_file(void *arg, struct exec_job *job, const json_t *event)
{
	(void)arg;
	if (job->own)
		receiver_take(job->own, (json_t *)event);
}

static void
on_done(void *arg, struct exec_job *job, json_t *event)
{
	struct ssh_session *session = arg;
	struct receiver *receiver = STEAL(job->own);
	failpoint("ssh.done");
	if (!receiver) {
		exec_client_complete(&session->lines, job, json_incref(event));
		return;
	}
	exec_client_forget(&session->lines, job);
	receiver_finish(receiver, event);
}

static void
on_release(void *arg, struct exec_job *job)
{
	(void)arg;
	receiver_drop(job->own);
}

/* ---- an open connection ---- */

static void
break_off(struct ssh_session *session, const char *why)
{
	(void)snprintf(session->why, sizeof(session->why), "%s", why);
	session->host->process_kill(session->host, session->lines.process, SIGKILL);
}

static void
on_late_stop(void *arg)
{
	struct ssh_session *session = arg;
	session->timer = NULL;
	/* The other side ends everything when the connection closes. */
	if (session->lines.process)
		session->host->process_kill(session->host, session->lines.process, SIGKILL);
}

static void
on_beat(void *arg)
{
	struct ssh_session *session = arg;
	struct exec_client *lines = &session->lines;
	struct kettle_error err = {0};
	long long lease_s = option_seconds(session, "lease_s");
	uint64_t beat_ms = (uint64_t)lease_s * 1000 / BEATS;
	/*
	 * Lines written later, heartbeats too, wait behind a long line. An event that comes meanwhile does not show that
	 * the line has arrived.
	 */
	uint64_t carried = beat_ms * SSH_SESSION_BYTES_A_SECOND / 1000;
	session->unsent += lines->written;
	session->unsent -= session->unsent < carried ? session->unsent : carried;
	lines->written = 0;
	session->silent = lines->heard || lines->reading || session->unsent > 0 ? 0 : session->silent + 1;
	if (lines->heard)
		session->failures = 0;
	lines->heard = false;
	session->idle = is_needed(session) || exec_client_has_commands(&session->lines) ? 0 : session->idle + 1;
	if (session->silent >= BEATS) {
		AUTO_FREE char *why = xasprintf("%s has not answered for %lld s.", session->name, lease_s);
		break_off(session, why);
	} else if (session->closing || session->stopping) {
		return; /* its input is closed */
	} else if (session->idle * beat_ms >= SSH_SESSION_IDLE_MS) {
		/* Jobs that come from here on belong to the next connection. */
		session->closing = true;
		lines->ready = false;
		session->host->process_close_stdin(session->host, lines->process);
		set_timer(session, SSH_SESSION_STOP_MS, on_late_stop);
	} else {
		(void)exec_client_write(lines, json_pack("{s:s}", "op", "heartbeat"), &err);
	}
}

static bool
on_greeted(void *arg, const json_t *hello)
{
	struct ssh_session *session = arg;
	struct kettle_error err = {0};
	const json_t *protocol = json_object_get(hello, "protocol");
	if (session->why[0] || session->closing)
		return false;
	if (!json_is_integer(protocol) || json_integer_value(protocol) != PROTOCOL) {
		AUTO_FREE char *text = json_dumps(protocol, JSON_ENCODE_ANY | JSON_COMPACT);
		AUTO_FREE char *why = xasprintf("%s is version %.40s with protocol %.20s, and this is Kettle %s with protocol "
										"%d: install this version there.",
			session->name, json_text_or_empty(hello, "version"), text ? text : "unknown", session->host->version,
			PROTOCOL);
		break_off(session, why);
		return false;
	}
	if (session->state != SSH_SESSION_CONNECTING)
		return true;
	failpoint("ssh.up");
	session->state = SSH_SESSION_UP;
	session->reached = true;
	session->host->reached(session->host, session->options, NULL);
	session->installed = false;
	session->silent = session->idle = 0;
	session->unsent = 0;
	free(STEAL(session->archive));
	set_timer(session, 0, NULL);
	uint64_t beat_ms = (uint64_t)option_seconds(session, "lease_s") * 1000 / BEATS;
	if (session->host->timer_start(session->host, beat_ms, beat_ms, on_beat, session, &session->beat, &err) < 0) {
		break_off(session, err.message);
		return false;
	}
	end_waiting(session, NULL);
	return true;
}

/* ---- the end of a connection ---- */

/* Begins the next connection after a pause, if it is needed then, or was up before. */
static void
pause_link(struct ssh_session *session)
{
	uint64_t delay_ms = session->failures == 0
							? 0
							: remote_backoff_ms(session->failures, SSH_SESSION_BACKOFF_MS, SSH_SESSION_BACKOFF_MAX_MS);
	session->failures++;
	session->state = SSH_SESSION_PAUSED;
	set_timer(session, delay_ms, ssh_session_begin);
}

static void
ssh_session_failed(struct ssh_session *session, const struct kettle_error *why)
{
	free(STEAL(session->archive));
	session->installed = false;
	if (session->stopping) {
		session->state = SSH_SESSION_IDLE;
		set_timer(session, 0, NULL);
	} else {
		session->host->log(session->host, KETTLE_LOG_WARNING, "%s", why->message);
		/* Unlike the end of a connection that was up, a failed attempt is always followed by a pause. */
		session->failures += session->failures == 0;
		pause_link(session);
	}
	/* Jobs first: a lost job may be submitted again, to the next connection. */
	if (session->archive_error.code < 0 && !session->stopping) {
		exec_client_lose(&session->lines, false, KETTLE_LOSS_MISCONFIGURED, why->message);
	} else {
		if (!session->stopping)
			session->host->reached(session->host, session->options, why->message);
		exec_client_lose(&session->lines, false, KETTLE_LOSS_UNREACHED, why->message);
	}
	end_waiting(session, why);
	exec_client_fail_requests(&session->lines, why);
	check_quiet(session);
}

static void
ssh_session_broke(struct ssh_session *session, const struct kettle_error *why, int status)
{
	failpoint("ssh.broke");
	session->host->timer_stop(session->host, STEAL(session->beat));
	if (session->stopping || session->closing) {
		session->state = SSH_SESSION_IDLE;
		set_timer(session, 0, NULL);
	} else {
		session->host->log(session->host, KETTLE_LOG_WARNING, "%s", why->message);
		pause_link(session);
	}
	/* Exit statuses of kettle-exec itself: 0 after the lease, 3 if the machine fails. */
	bool uncounted = session->why[0] || session->stopping || status <= 0 || status == SSH_FAILED;
	/* Jobs that came while the connection was closing belong to the next one, if there is one. */
	exec_client_lose(
		&session->lines, !session->stopping, uncounted ? KETTLE_LOSS_UNREACHED : KETTLE_LOSS_NODE_FAULT, why->message);
	exec_client_fail_requests(&session->lines, why);
	if (is_needed(session) && !session->stopping)
		ssh_session_need(session);
	check_quiet(session);
}

static void
explain_end(struct ssh_session *session, const char *what, int status, int signal_number, struct kettle_error *ret_why)
{
	if (session->why[0])
		(void)kettle_fail(ret_why, KETTLE_EUNAVAIL, "%s", session->why);
	else if (status == SSH_FAILED)
		(void)kettle_fail(ret_why, KETTLE_EUNAVAIL, "The connection to %s failed: %s", host_name(session),
			session->lines.last_stderr[0] ? session->lines.last_stderr
										  : "ssh gave no reason, or its command was killed.");
	else
		exec_client_explain(what, status, signal_number, session->lines.last_stderr, ret_why);
}

/* ---- a kettle-exec that is missing ---- */

static void
on_install_stderr(void *arg, const char *line, size_t len)
{
	struct ssh_session *session = arg;
	exec_client_complain(&session->lines, line, len);
}

static void
on_installed(void *arg, const struct command_end *end)
{
	struct ssh_session *session = arg;
	struct kettle_error err = {0};
	failpoint("ssh.installed");
	if (end->worked && !session->stopping) {
		session->host->log(session->host, KETTLE_LOG_INFO, "kettle-exec was copied to %s", host_name(session));
		session->installed = true;
		ssh_session_begin(session);
		return;
	}
	AUTO_FREE char *what = xasprintf("The copy of kettle-exec to %s", host_name(session));
	if (end->late)
		(void)kettle_fail(&err, KETTLE_EUNAVAIL, "%s took longer than %d s.", what, SSH_SESSION_INSTALL_MS / 1000);
	else
		explain_end(session, what, end->status, end->signal, &err);
	ssh_session_failed(session, &err);
}

static void
install(struct ssh_session *session)
{
	struct kettle_error err = {0};
	AUTO_ARGUMENTS struct arguments argv = {0};
	make_command(session, SSH_INSTALL, &argv);
	const struct command_use use = {.on_stderr = on_install_stderr,
		.on_end = on_installed,
		.arg = session,
		.max_lines = SIZE_MAX,
		.limit_ms = SSH_SESSION_INSTALL_MS,
		.input = session->archive,
		.input_size = session->archive_size};
	exec_client_reset(&session->lines);
	set_timer(session, 0, NULL);
	session->state = SSH_SESSION_INSTALLING;
	if (command_run(&session->lines.commands, &argv, &use, &err) < 0)
		ssh_session_failed(session, &err);
}

/* ---- connecting ---- */

static void
on_ended(void *arg, int status, int signal_number)
{
	struct ssh_session *session = arg;
	struct kettle_error err = {0};
	if (session->state == SSH_SESSION_CONNECTING && status == SSH_MISSING && has_archive(session) &&
		!session->installed && !session->why[0] && !session->stopping) {
		install(session);
		return;
	}
	if (session->state == SSH_SESSION_CONNECTING && status == SSH_MISSING && has_archive(session))
		(void)kettle_fail(
			&err, KETTLE_EUNAVAIL, "kettle-exec was copied to %s, but is missing there.", host_name(session));
	else
		explain_end(session, session->name, status, signal_number, &err);
	exec_client_reset(&session->lines);
	if (session->state == SSH_SESSION_UP)
		ssh_session_broke(session, &err, status);
	else
		ssh_session_failed(session, &err);
}

static void
on_late(void *arg)
{
	struct ssh_session *session = arg;
	session->timer = NULL;
	AUTO_FREE char *why = xasprintf("%s did not answer within %lld s%s%s", session->name,
		option_seconds(session, "connect_s"), session->lines.last_stderr[0] ? ": " : ".", session->lines.last_stderr);
	break_off(session, why);
}

static void
start_ssh(struct ssh_session *session)
{
	struct kettle_error err = {0};
	AUTO_ARGUMENTS struct arguments argv = {0};
	make_command(session, SSH_SERVE, &argv);
	session->state = SSH_SESSION_CONNECTING;
	session->why[0] = '\0';
	session->closing = false;
	if (exec_client_start(&session->lines, (const char *const *)argv.list, &err) < 0) {
		ssh_session_failed(session, &err);
		return;
	}
	failpoint("ssh.connecting");
	set_timer(session, (uint64_t)option_seconds(session, "connect_s") * 1000, on_late);
}

static void
read_archive(void *arg)
{
	struct ssh_session *session = arg;
	AUTO_FREE char *path = exec_archive_path(session->section);
	session->archive_error = (struct kettle_error){0};
	session->archive_error.code =
		exec_archive_read(path, &session->archive, &session->archive_size, session->digest, &session->archive_error);
	if (session->archive_error.code < 0)
		(void)kettle_blame(&session->archive_error, KETTLE_CAUSE_NONE, "exec_archive", session->archive_error.code);
}

static void
on_archive_read(void *arg)
{
	struct ssh_session *session = arg;
	if (session->stopping && session->archive_error.code == 0)
		(void)kettle_fail(&session->archive_error, KETTLE_ECANCELED, "The runner ssh is stopping.");
	if (session->archive_error.code < 0)
		ssh_session_failed(session, &session->archive_error);
	else
		start_ssh(session);
}

static void
ssh_session_begin(void *arg)
{
	struct ssh_session *session = arg;
	struct kettle_error err = {0};
	if (session->state == SSH_SESSION_PAUSED)
		session->timer = NULL; /* it has run out */
	if (session->state == SSH_SESSION_PAUSED && !is_needed(session) &&
		(!session->reached || session->failures > SSH_SESSION_RETRIES)) {
		session->state = SSH_SESSION_IDLE;
		return;
	}
	if (!has_archive(session) || session->archive) {
		start_ssh(session);
		return;
	}
	session->state = SSH_SESSION_READING;
	if (session->host->work(session->host, read_archive, on_archive_read, session, &err) < 0)
		ssh_session_failed(session, &err);
}

/* ---- operations ---- */

static const struct exec_client_ops lines_ops = {
	.greeted = on_greeted,
	.file = on_file,
	.done = on_done,
	.release = on_release,
	.ended = on_ended,
};

struct ssh_session *
ssh_session_new(
	const struct kettle_host *host, const json_t *section, const json_t *options, void (*quiet)(void *arg), void *arg)
{
	struct ssh_session *session =
		xnew(struct ssh_session, .host = host, .section = section, .options = json_deep_copy(options),
			.name = xasprintf("kettle-exec on %s", json_text_or_empty(options, "host")), .quiet = quiet, .arg = arg);
	session->lines = (struct exec_client){.host = host, .ops = &lines_ops, .arg = session, .name = session->name};
	session->lines.commands = (struct commands){.host = host, .idle = check_quiet, .arg = session};
	return session;
}

void
ssh_session_free(struct ssh_session *session)
{
	exec_client_reset(&session->lines);
	json_decref(session->options);
	free_all(session->archive, session->name, session);
}

int
ssh_session_submit(
	struct ssh_session *session, const struct kettle_job *description, const json_t *plan, struct kettle_error *err)
{
	struct exec_job *job;
	int rc = exec_client_submit(&session->lines, description, plan, true, &job, err);
	if (rc < 0)
		return rc;
	if (description->spool) {
		job->own = receiver_new(session->host, description->ref, description->spool, on_receiver_gone, session);
		session->receivers++;
	}
	bool waits = job->line;
	failpoint("ssh.submitted");
	ssh_session_need(session);
	/* The event may cancel the job, or the job may have ended already. */
	if (waits && exec_client_find(&session->lines, description->ref)) {
		AUTO_JSON json_t *event = json_pack("{s:s}", "event", "waiting");
		session->host->job_event(session->host, description->ref, event);
	}
	return 0;
}

int
ssh_session_doctor(struct ssh_session *session, kettle_answer done, void *arg, struct kettle_error *err)
{
	if (session->state == SSH_SESSION_UP)
		return start_doctor(session, done, arg, err);
	struct pending_doctor *doctor = xnew(struct pending_doctor, .done = done, .arg = arg, .next = session->pending);
	session->pending = doctor;
	bound_doctors(session);
	/* The operator may have repaired the host: try it now. */
	if (session->state == SSH_SESSION_PAUSED)
		set_timer(session, 0, ssh_session_begin);
	ssh_session_need(session);
	return 0;
}

void
ssh_session_stop(struct ssh_session *session)
{
	struct kettle_error err = {0};
	session->stopping = true;
	exec_client_stop_doctors(&session->lines);
	if (session->state == SSH_SESSION_UP) {
		session->host->process_close_stdin(session->host, session->lines.process);
		set_timer(session, SSH_SESSION_STOP_MS, on_late_stop);
	} else if (session->lines.process) {
		session->host->process_kill(session->host, session->lines.process, SIGKILL);
	} else if (session->state != SSH_SESSION_INSTALLING && session->state != SSH_SESSION_READING) {
		(void)kettle_fail(&err, KETTLE_ECANCELED, "The runner ssh is stopping.");
		ssh_session_failed(session, &err);
	}
}
