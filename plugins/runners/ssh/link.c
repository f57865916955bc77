/* SPDX-License-Identifier: MIT */
/* A host: the connection to its kettle-exec, which all units of that host share. */
/*
 * Theory of operation. The first job, or the first request, begins a connection: the archive is read (unless the unit
 * names an installed kettle-exec), ssh is started, and its kettle-exec greets. Where that is missing, another ssh copies the
 * archive, and the connection begins again. A timer ends each phase that takes too long, whatever hangs: a name server, a
 * firewall, authentication, a login script.
 *
 * While it is up, a beat three times in a lease writes a heartbeat, which renews the lease there, and looks for what came
 * since the last one. After a lease without any the connection counts as broken, and by then the other side has ended
 * everything, too. What broke the connection costs its jobs no attempt; a kettle-exec that ends by itself does.
 *
 * A connection that broke, or that was up before, is begun again after a pause, which grows with each failure. Jobs that come
 * during that wait for it ("waiting": no clock runs) and are lost if it fails, so that another unit may have them. None loses an
 * attempt by that: the name or key of a host that was never reached may be wrong, which its operator is told. A doctor ends
 * the pause.
 */
#include <config.h>

#include "runners/ssh/link.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/failpoint.h"
#include "base/json_access.h"
#include "base/xalloc.h"
#include "runners/common/exec_archive.h"
#include "runners/ssh/receive.h"

#define PROTOCOL 1
#define BEATS 3 /* in a lease */
#define SSH_FAILED 255

struct pending_doctor {
	void (*done)(void *arg, const struct kettle_error *err, json_t *report);
	void *arg;
	struct pending_doctor *next;
};

static void link_begin(void *arg);
static void link_failed(struct link *link, const struct kettle_error *why);

/* ---- what it is made of ---- */

static const char *
host_name(const struct link *link)
{
	return member_text(link->options, "host");
}

static long long
option_seconds(const struct link *link, const char *key)
{
	return member_int(link->section, key);
}

static bool
has_archive(const struct link *link)
{
	return !member_string(link->options, "exec");
}

/* settings: new text, which the caller frees after the command line was made. */
static struct ssh_setup
make_setup(const struct link *link, char **ret_settings)
{
	AUTO_JSON json_t *settings = json_pack("{s:O*}", "report", json_object_get(link->section, "report"));
	*ret_settings = json_dumps(settings, JSON_COMPACT);
	return (struct ssh_setup){
		.program = member_text(link->section, "ssh"),
		.connect_s = option_seconds(link, "connect_s"),
		.lease_s = option_seconds(link, "lease_s"),
		.options = link->options,
		.digest = has_archive(link) ? link->digest : NULL,
		.settings = *ret_settings,
	};
}

static void
set_timer(struct link *link, uint64_t delay_ms, void (*fn)(void *arg))
{
	struct kettle_error err = {0};
	link->host->timer_stop(link->host, STEAL(link->timer));
	if (fn && link->host->timer_start(link->host, delay_ms, 0, fn, link, &link->timer, &err) < 0)
		link->host->log(link->host, KETTLE_LOG_ERROR, "%s: %s", link->name, err.message);
}

bool
link_is_quiet(const struct link *link)
{
	return !link->lines.process && !link->installer && !link->doctors.list && !link->reading && link->receivers == 0;
}

static void
check_quiet(void *arg)
{
	struct link *link = arg;
	if (link->stopping && link_is_quiet(link))
		link->quiet(link->arg);
}

static bool
is_needed(const struct link *link)
{
	return link->lines.jobs || exec_lines_is_waited_for(&link->lines) || link->pending;
}

/* Begins a connection where there is none, when the loop turns: no answer may come before its request returns. A pause goes on. */
static void
need(struct link *link)
{
	link->idle = 0;
	if (link->state != LINK_IDLE)
		return;
	link->state = LINK_PAUSED;
	set_timer(link, 0, link_begin);
}

/* ---- doctors, which need a kettle-exec there ---- */

static int
start_doctor(struct link *link, void (*done)(void *arg, const struct kettle_error *err, json_t *report), void *arg,
	struct kettle_error *err)
{
	AUTO_FREE char *settings = NULL;
	AUTO_ARGV struct ssh_argv argv = {0};
	struct ssh_setup setup = make_setup(link, &settings);
	ssh_command_doctor(&setup, &argv);
	return exec_doctor_start(&link->doctors, (const char *const *)argv.list, done, arg, err);
}

static void
start_doctors(struct link *link)
{
	struct pending_doctor *doctors = STEAL(link->pending);
	link->host->timer_stop(link->host, STEAL(link->patience));
	while (doctors) {
		struct pending_doctor *doctor = doctors;
		struct kettle_error err = {0};
		doctors = doctor->next;
		if (start_doctor(link, doctor->done, doctor->arg, &err) < 0)
			doctor->done(doctor->arg, &err, NULL);
		free(doctor);
	}
}

static void
fail_doctors(struct link *link, const struct kettle_error *err)
{
	struct pending_doctor *doctors = STEAL(link->pending);
	link->host->timer_stop(link->host, STEAL(link->patience));
	while (doctors) {
		struct pending_doctor *doctor = doctors;
		doctors = doctor->next;
		doctor->done(doctor->arg, err, NULL);
		free(doctor);
	}
}

static void on_late_doctors(void *arg);

static void
bound_doctors(struct link *link)
{
	struct kettle_error err = {0};
	if (!link->patience &&
		link->host->timer_start(link->host, LINK_DOCTOR_MS, 0, on_late_doctors, link, &link->patience, &err) < 0)
		fail_doctors(link, &err);
}

/* A connection may take longer, for which jobs wait and people do not. A host that the archive is being copied to has answered. */
static void
on_late_doctors(void *arg)
{
	struct link *link = arg;
	struct kettle_error err = {0};
	link->patience = NULL;
	if (link->state == LINK_INSTALLING) {
		bound_doctors(link);
		return;
	}
	(void)kettle_fail(&err, KETTLE_EUNAVAIL, "%s has not answered for %d s, and may do so in %lld s%s%s", link->name,
		LINK_DOCTOR_MS / 1000, option_seconds(link, "connect_s"), link->lines.complaint[0] ? ": " : ".",
		link->lines.complaint);
	fail_doctors(link, &err);
}

/* ---- artifacts ---- */

static void
on_receiver_gone(void *arg)
{
	struct link *link = arg;
	link->receivers--;
	check_quiet(link);
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
	struct link *link = arg;
	struct receiver *receiver = STEAL(job->own);
	failpoint("ssh.done");
	if (!receiver) {
		exec_lines_complete(&link->lines, job, json_incref(event));
		return;
	}
	exec_lines_forget(&link->lines, job);
	receiver_finish(receiver, event);
}

static void
on_release(void *arg, struct exec_job *job)
{
	(void)arg;
	receiver_drop(job->own);
}

/* ---- up ---- */

/* Ends the connection from this side. */
static void
break_off(struct link *link, const char *why)
{
	(void)snprintf(link->why, sizeof(link->why), "%s", why);
	link->host->process_kill(link->host, link->lines.process, SIGKILL);
}

static void
on_late_stop(void *arg)
{
	struct link *link = arg;
	link->timer = NULL;
	/* The other side ends everything when the connection is gone. */
	if (link->lines.process)
		link->host->process_kill(link->host, link->lines.process, SIGKILL);
}

static void
on_beat(void *arg)
{
	struct link *link = arg;
	struct exec_lines *lines = &link->lines;
	struct kettle_error err = {0};
	long long lease_s = option_seconds(link, "lease_s");
	uint64_t beat_ms = (uint64_t)lease_s * 1000 / BEATS;
	/* What is written later waits behind a long line, heartbeats too; an event meanwhile does not say that it has arrived. */
	uint64_t carried = beat_ms * LINK_BYTES_A_SECOND / 1000;
	link->unsent += lines->written;
	link->unsent -= link->unsent < carried ? link->unsent : carried;
	lines->written = 0;
	link->silent = lines->heard || lines->reading || link->unsent > 0 ? 0 : link->silent + 1;
	if (lines->heard)
		link->failures = 0;
	lines->heard = false;
	link->idle = is_needed(link) || link->doctors.list ? 0 : link->idle + 1;
	if (link->silent >= BEATS) {
		AUTO_FREE char *why = xasprintf("%s has not answered for %lld s.", link->name, lease_s);
		break_off(link, why);
	} else if (link->closing || link->stopping) {
		return; /* its input is closed */
	} else if (link->idle * beat_ms >= LINK_IDLE_MS) {
		/* What comes from here on is of the next connection. */
		link->closing = true;
		lines->ready = false;
		link->host->process_close_stdin(link->host, lines->process);
		set_timer(link, LINK_STOP_MS, on_late_stop);
	} else {
		(void)exec_lines_write(lines, json_pack("{s:s}", "op", "heartbeat"), &err);
	}
}

static bool
on_greeted(void *arg, const json_t *hello)
{
	struct link *link = arg;
	struct kettle_error err = {0};
	const json_t *protocol = json_object_get(hello, "protocol");
	if (link->why[0] || link->closing)
		return false;
	if (!json_is_integer(protocol) || json_integer_value(protocol) != PROTOCOL) {
		AUTO_FREE char *text = json_dumps(protocol, JSON_ENCODE_ANY | JSON_COMPACT);
		AUTO_FREE char *why = xasprintf("%s is version %.40s with protocol %.20s, and this is Kettle %s with protocol "
										"%d: install this version there.",
			link->name, member_text(hello, "version"), text ? text : "unknown", link->host->version, PROTOCOL);
		break_off(link, why);
		return false;
	}
	if (link->state != LINK_CONNECTING)
		return true;
	failpoint("ssh.up");
	link->state = LINK_UP;
	link->reached = true;
	link->host->reached(link->host, link->options, NULL);
	link->installed = false;
	link->silent = link->idle = 0;
	link->unsent = 0;
	free(STEAL(link->archive));
	set_timer(link, 0, NULL);
	uint64_t beat_ms = (uint64_t)option_seconds(link, "lease_s") * 1000 / BEATS;
	if (link->host->timer_start(link->host, beat_ms, beat_ms, on_beat, link, &link->beat, &err) < 0) {
		break_off(link, err.message);
		return false;
	}
	start_doctors(link);
	return true;
}

/* ---- the end of a connection ---- */

/* The next one begins after a pause, if it is needed then, or was up before. */
static void
pause_link(struct link *link)
{
	unsigned shift = link->failures < 16 ? link->failures : 16;
	uint64_t delay_ms = link->failures == 0 ? 0 : (uint64_t)LINK_BACKOFF_MS << (shift - 1);
	link->failures++;
	link->state = LINK_PAUSED;
	set_timer(link, delay_ms < LINK_BACKOFF_MAX_MS ? delay_ms : LINK_BACKOFF_MAX_MS, link_begin);
}

/* No kettle-exec could be reached. */
static void
link_failed(struct link *link, const struct kettle_error *why)
{
	free(STEAL(link->archive));
	link->installed = false;
	if (link->stopping) {
		link->state = LINK_IDLE;
		set_timer(link, 0, NULL);
	} else {
		link->host->log(link->host, KETTLE_LOG_WARNING, "%s", why->message);
		/* A first one has begun at once; all that follow it pause. */
		link->failures += link->failures == 0;
		pause_link(link);
	}
	/* A job that comes of this is of the next connection, so jobs are first. */
	if (link->archive_error.code < 0 && !link->stopping) {
		exec_lines_lose(&link->lines, false, KETTLE_LOSS_UNUSABLE, why->message);
	} else {
		if (!link->stopping)
			link->host->reached(link->host, link->options, why->message);
		exec_lines_lose(&link->lines, false, KETTLE_LOSS_UNREACHED, why->message);
	}
	fail_doctors(link, why);
	exec_lines_fail_requests(&link->lines, why);
	check_quiet(link);
}

static void
link_broke(struct link *link, const struct kettle_error *why, int status)
{
	failpoint("ssh.broke");
	link->host->timer_stop(link->host, STEAL(link->beat));
	if (link->stopping || link->closing) {
		link->state = LINK_IDLE;
		set_timer(link, 0, NULL);
	} else {
		link->host->log(link->host, KETTLE_LOG_WARNING, "%s", why->message);
		pause_link(link);
	}
	/* Its own ends: 0 after the lease, 3 where the machine fails. */
	bool uncounted = link->why[0] || link->stopping || status <= 0 || status == SSH_FAILED;
	/* Those that came while it was closed are of the next one, if there is one. */
	exec_lines_lose(
		&link->lines, !link->stopping, uncounted ? KETTLE_LOSS_UNREACHED : KETTLE_LOSS_FAILED, why->message);
	exec_lines_fail_requests(&link->lines, why);
	if (is_needed(link) && !link->stopping)
		need(link);
	check_quiet(link);
}

static void
explain_end(struct link *link, const char *what, int status, int signal_number, struct kettle_error *ret_why)
{
	if (link->why[0])
		(void)kettle_fail(ret_why, KETTLE_EUNAVAIL, "%s", link->why);
	else if (status == SSH_FAILED)
		(void)kettle_fail(ret_why, KETTLE_EUNAVAIL, "The connection to %s failed: %s", host_name(link),
			link->lines.complaint[0] ? link->lines.complaint : "ssh says no reason, or what it ran was killed.");
	else
		exec_lines_explain(what, status, signal_number, link->lines.complaint, ret_why);
}

/* ---- a kettle-exec that is missing ---- */

static void
on_install_line(void *arg, const char *line, size_t len)
{
	(void)arg, (void)line, (void)len;
}

static void
on_install_complaint(void *arg, const char *line, size_t len)
{
	struct link *link = arg;
	exec_lines_complain(&link->lines, line, len);
}

static void
on_installed(void *arg, int status, int signal_number)
{
	struct link *link = arg;
	struct kettle_error err = {0};
	link->installer = NULL;
	failpoint("ssh.installed");
	if (status == 0 && !link->why[0] && !link->stopping) {
		link->host->log(link->host, KETTLE_LOG_INFO, "kettle-exec was copied to %s", host_name(link));
		link->installed = true;
		link_begin(link);
		return;
	}
	AUTO_FREE char *what = xasprintf("The copy of kettle-exec to %s", host_name(link));
	explain_end(link, what, status, signal_number, &err);
	link_failed(link, &err);
}

static void
on_late_install(void *arg)
{
	struct link *link = arg;
	link->timer = NULL;
	(void)snprintf(link->why, sizeof(link->why), "The copy of kettle-exec to %s took longer than %d s.",
		host_name(link), LINK_INSTALL_MS / 1000);
	link->host->process_kill(link->host, link->installer, SIGKILL);
}

static void
install(struct link *link)
{
	struct kettle_error err = {0};
	AUTO_FREE char *settings = NULL;
	AUTO_ARGV struct ssh_argv argv = {0};
	struct ssh_setup setup = make_setup(link, &settings);
	ssh_command_install(&setup, &argv);
	struct kettle_spawn spawn = {
		.size = sizeof(spawn),
		.file = argv.list[0],
		.argv = (const char *const *)argv.list,
		.on_stdout = on_install_line,
		.on_stderr = on_install_complaint,
		.on_exit = on_installed,
		.arg = link,
	};
	exec_lines_reset(&link->lines);
	link->state = LINK_INSTALLING;
	int rc = link->host->spawn(link->host, &spawn, &link->installer, &err);
	if (rc < 0) {
		link_failed(link, &err);
		return;
	}
	set_timer(link, LINK_INSTALL_MS, on_late_install);
	if (link->host->process_write(link->host, link->installer, link->archive, link->archive_size, &err) < 0)
		(void)snprintf(link->why, sizeof(link->why), "%s", err.message);
	link->host->process_close_stdin(link->host, link->installer);
}

/* ---- connecting ---- */

static void
on_ended(void *arg, int status, int signal_number)
{
	struct link *link = arg;
	struct kettle_error err = {0};
	if (link->state == LINK_CONNECTING && status == SSH_MISSING && has_archive(link) && !link->installed &&
		!link->why[0] && !link->stopping) {
		install(link);
		return;
	}
	if (link->state == LINK_CONNECTING && status == SSH_MISSING && has_archive(link))
		(void)kettle_fail(&err, KETTLE_EUNAVAIL, "kettle-exec was copied to %s and is not there.", host_name(link));
	else
		explain_end(link, link->name, status, signal_number, &err);
	exec_lines_reset(&link->lines);
	if (link->state == LINK_UP)
		link_broke(link, &err, status);
	else
		link_failed(link, &err);
}

static void
on_late(void *arg)
{
	struct link *link = arg;
	link->timer = NULL;
	AUTO_FREE char *why = xasprintf("%s did not answer within %lld s%s%s", link->name,
		option_seconds(link, "connect_s"), link->lines.complaint[0] ? ": " : ".", link->lines.complaint);
	break_off(link, why);
}

static void
start_ssh(struct link *link)
{
	struct kettle_error err = {0};
	AUTO_FREE char *settings = NULL;
	AUTO_ARGV struct ssh_argv argv = {0};
	struct ssh_setup setup = make_setup(link, &settings);
	ssh_command_serve(&setup, &argv);
	link->state = LINK_CONNECTING;
	link->why[0] = '\0';
	link->closing = false;
	if (exec_lines_start(&link->lines, (const char *const *)argv.list, &err) < 0) {
		link_failed(link, &err);
		return;
	}
	failpoint("ssh.connecting");
	set_timer(link, (uint64_t)option_seconds(link, "connect_s") * 1000, on_late);
}

static void
read_archive(void *arg)
{
	struct link *link = arg;
	AUTO_FREE char *path = exec_archive_path(link->section);
	link->archive_error = (struct kettle_error){0};
	link->archive_error.code =
		exec_archive_read(path, &link->archive, &link->archive_size, link->digest, &link->archive_error);
}

static void
on_archive_read(void *arg)
{
	struct link *link = arg;
	link->reading = false;
	if (link->stopping && link->archive_error.code == 0)
		(void)kettle_fail(&link->archive_error, KETTLE_ECANCELED, "The runner ssh is stopping.");
	if (link->archive_error.code < 0)
		link_failed(link, &link->archive_error);
	else
		start_ssh(link);
}

static void
link_begin(void *arg)
{
	struct link *link = arg;
	struct kettle_error err = {0};
	if (link->state == LINK_PAUSED)
		link->timer = NULL; /* it has fired */
	if (link->state == LINK_PAUSED && !is_needed(link) && (!link->reached || link->failures > LINK_RETRIES)) {
		link->state = LINK_IDLE;
		return;
	}
	if (!has_archive(link) || link->archive) {
		start_ssh(link);
		return;
	}
	link->state = LINK_READING;
	link->reading = true;
	if (link->host->work(link->host, read_archive, on_archive_read, link, &err) < 0) {
		link->reading = false;
		link_failed(link, &err);
	}
}

/* ---- operations ---- */

static const struct exec_lines_ops lines_ops = {
	.greeted = on_greeted,
	.file = on_file,
	.done = on_done,
	.release = on_release,
	.ended = on_ended,
};

struct link *
link_new(
	const struct kettle_host *host, const json_t *section, const json_t *options, void (*quiet)(void *arg), void *arg)
{
	struct link *link = xcalloc(1, sizeof(*link));
	link->host = host;
	link->section = section;
	link->options = json_deep_copy(options);
	link->name = xasprintf("kettle-exec on %s", member_text(options, "host"));
	link->quiet = quiet;
	link->arg = arg;
	link->lines = (struct exec_lines){.host = host, .ops = &lines_ops, .arg = link, .name = link->name};
	link->doctors = (struct exec_doctors){.lines = &link->lines, .idle = check_quiet, .arg = link};
	return link;
}

void
link_free(struct link *link)
{
	exec_lines_reset(&link->lines);
	json_decref(link->options);
	free(link->archive);
	free(link->name);
	free(link);
}

int
link_submit(struct link *link, const struct kettle_job *description, const json_t *plan, struct kettle_error *err)
{
	struct exec_job *job;
	int rc = exec_lines_submit(&link->lines, description, plan, true, &job, err);
	if (rc < 0)
		return rc;
	if (description->spool) {
		job->own = receiver_new(link->host, description->ref, description->spool, on_receiver_gone, link);
		link->receivers++;
	}
	bool waits = job->line;
	failpoint("ssh.submitted");
	need(link);
	/* It may be cancelled by this, or have ended already. */
	if (waits && exec_lines_find(&link->lines, description->ref)) {
		AUTO_JSON json_t *event = json_pack("{s:s}", "event", "waiting");
		link->host->job_event(link->host, description->ref, event);
	}
	return 0;
}

int
link_describe(struct link *link, const json_t *unit,
	void (*done)(void *arg, const struct kettle_error *err, json_t *facts), void *arg, struct kettle_error *err)
{
	int rc = exec_lines_describe(&link->lines, unit, done, arg, err);
	need(link);
	return rc;
}

int
link_heartbeat(
	struct link *link, void (*done)(void *arg, const struct kettle_error *err), void *arg, struct kettle_error *err)
{
	/* How long it takes to connect is bounded here, and is no sign of a kettle-exec that hangs. */
	if (link->state != LINK_UP)
		return kettle_fail(err, KETTLE_EUNAVAIL, "There is no connection to %s.", host_name(link));
	/* Nor is how long a plan takes to get there. */
	if (link->unsent + link->lines.written > LINK_BYTES_A_SECOND)
		return kettle_fail(err, KETTLE_EUNAVAIL, "A plan is on its way to %s.", host_name(link));
	return exec_lines_heartbeat(&link->lines, done, arg, err);
}

int
link_doctor(struct link *link, void (*done)(void *arg, const struct kettle_error *err, json_t *report), void *arg,
	struct kettle_error *err)
{
	if (link->state == LINK_UP)
		return start_doctor(link, done, arg, err);
	struct pending_doctor *doctor = xmalloc(sizeof(*doctor));
	*doctor = (struct pending_doctor){.done = done, .arg = arg, .next = link->pending};
	link->pending = doctor;
	bound_doctors(link);
	/* The operator may have repaired the host: try it now. */
	if (link->state == LINK_PAUSED)
		set_timer(link, 0, link_begin);
	need(link);
	return 0;
}

void
link_stop(struct link *link)
{
	struct kettle_error err = {0};
	link->stopping = true;
	exec_doctors_stop(&link->doctors);
	if (link->state == LINK_UP) {
		link->host->process_close_stdin(link->host, link->lines.process);
		set_timer(link, LINK_STOP_MS, on_late_stop);
	} else if (link->lines.process) {
		link->host->process_kill(link->host, link->lines.process, SIGKILL);
	} else if (link->installer) {
		link->host->process_kill(link->host, link->installer, SIGKILL);
	} else if (!link->reading) {
		(void)kettle_fail(&err, KETTLE_ECANCELED, "The runner ssh is stopping.");
		link_failed(link, &err);
	}
}

void
link_start(struct link *link)
{
	link->stopping = link->doctors.stopping = false;
}
