/* SPDX-License-Identifier: MIT */
/* Runs `kettle-exec --doctor --json`, beside this program or at the other end of a connection. */
/*
 * Theory of operation. Each request has a child of its own, whose whole output is the report, limited in size and
 * time. A child that takes too long is killed; when the runner stops, all are. A request is answered when its child
 * has ended, in whatever way. A long report is parsed on a thread of the pool.
 */
#include <config.h>

#include "runners/common/exec_doctor.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounded_json.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/xalloc.h"

struct exec_doctor {
	struct exec_doctors *doctors;
	void (*done)(void *arg, const struct kettle_error *err, json_t *report);
	void *arg;
	struct kettle_process *process; /* NULL: it has ended */
	struct kettle_timer *limit;
	struct buf text;
	bool too_long;
	int status, signal; /* of the child that has ended */
	json_t *report;
	struct exec_doctor *next;
};

static void
on_doctor_line(void *arg, const char *line, size_t len)
{
	struct exec_doctor *doctor = arg;
	doctor->too_long = doctor->too_long || len >= EXEC_DOCTOR_MAX - doctor->text.len;
	if (!doctor->too_long)
		buf_printf(&doctor->text, "%s\n", line);
}

static void
on_doctor_stderr(void *arg, const char *line, size_t len)
{
	const struct exec_doctor *doctor = arg;
	exec_client_complain(doctor->doctors->lines, line, len);
}

/* Runs on the loop or on a thread: touches only the doctor's own text. */
static void
read_doctor(void *arg)
{
	struct exec_doctor *doctor = arg;
	doctor->report = bounded_json_parse(doctor->text.data, doctor->text.len, BOUNDED_JSON_VALUES, 0, NULL);
}

static void
answer_doctor(void *arg)
{
	struct exec_doctor *doctor = arg, **link = &doctor->doctors->list;
	struct exec_doctors *doctors = doctor->doctors;
	const struct exec_client *lines = doctors->lines;
	struct kettle_error err = {0};
	AUTO_JSON json_t *report = STEAL(doctor->report);
	while (*link != doctor)
		link = &(*link)->next;
	*link = doctor->next;
	if (doctor->signal)
		(void)kettle_fail(&err, KETTLE_EUNAVAIL, "%s --doctor was terminated by signal %d%s.", lines->name,
			doctor->signal,
			doctors->stopping ? ", since the runner stops"
			: !doctor->limit  ? ", since it took longer than two minutes"
							  : "");
	else if (!report)
		(void)kettle_fail(&err, KETTLE_EUNAVAIL, "%s --doctor exited with status %d and without a report%s%s",
			lines->name, doctor->status, lines->last_stderr[0] ? ": " : ".", lines->last_stderr);
	lines->host->timer_stop(lines->host, doctor->limit);
	doctor->done(doctor->arg, &err, err.code ? NULL : report);
	buf_free(&doctor->text);
	free(doctor);
	if (!doctors->list && doctors->idle)
		doctors->idle(doctors->arg);
}

static void
on_doctor_ended(void *arg, int status, int signal_number)
{
	struct exec_doctor *doctor = arg;
	const struct kettle_host *host = doctor->doctors->lines->host;
	doctor->process = NULL;
	doctor->status = status;
	doctor->signal = signal_number;
	if (!doctor->too_long && doctor->text.len >= KETTLE_LINE_LONG &&
		host->work(host, read_doctor, answer_doctor, doctor, NULL) == 0)
		return;
	if (!doctor->too_long)
		read_doctor(doctor);
	answer_doctor(doctor);
}

static void
on_doctor_late(void *arg)
{
	struct exec_doctor *doctor = arg;
	const struct kettle_host *host = doctor->doctors->lines->host;
	doctor->limit = NULL;
	if (doctor->process)
		host->process_kill(host, doctor->process, SIGKILL);
}

int
exec_doctor_start(struct exec_doctors *doctors, const char *const *argv,
	void (*done)(void *arg, const struct kettle_error *err, json_t *report), void *arg, struct kettle_error *err)
{
	const struct kettle_host *host = doctors->lines->host;
	struct exec_doctor *doctor = xcalloc(1, sizeof(*doctor));
	*doctor = (struct exec_doctor){.doctors = doctors, .done = done, .arg = arg};
	struct kettle_spawn spawn = {
		.size = sizeof(spawn),
		.file = argv[0],
		.argv = argv,
		.max_line = EXEC_DOCTOR_MAX,
		.on_stdout = on_doctor_line,
		.on_stderr = on_doctor_stderr,
		.on_exit = on_doctor_ended,
		.arg = doctor,
	};
	int rc = host->timer_start(host, EXEC_DOCTOR_LIMIT_MS, 0, on_doctor_late, doctor, &doctor->limit, err);
	if (rc == 0)
		rc = host->spawn(host, &spawn, &doctor->process, err);
	if (rc < 0) {
		host->timer_stop(host, doctor->limit);
		free(doctor);
		return rc;
	}
	host->process_close_stdin(host, doctor->process);
	doctor->next = doctors->list;
	doctors->list = doctor;
	return 0;
}

void
exec_doctors_stop(struct exec_doctors *doctors)
{
	const struct kettle_host *host = doctors->lines->host;
	doctors->stopping = true;
	for (struct exec_doctor *doctor = doctors->list; doctor; doctor = doctor->next)
		if (doctor->process)
			host->process_kill(host, doctor->process, SIGKILL);
}
