/* SPDX-License-Identifier: MIT */
/* Runs `kettle-exec --doctor --json`, beside this program or at the other end of a connection. Everything on the loop thread. */
#ifndef KETTLE_RUNNERS_COMMON_EXEC_DOCTOR_H
#define KETTLE_RUNNERS_COMMON_EXEC_DOCTOR_H

#include <jansson.h>
#include <kettle/host.h>
#include <stdbool.h>

#include "runners/common/exec_client.h"

#define EXEC_DOCTOR_MAX (4u << 20) /* bytes of the report */
#define EXEC_DOCTOR_LIMIT_MS 120000

struct exec_doctor;

/* The doctors that run. Zero-initialise; set the members before the list. */
struct exec_doctors {
	struct exec_client *lines; /* for its host, name and complaints */
	void (*idle)(void *arg);   /* called when the last one has ended; NULL is allowed */
	void *arg;
	struct exec_doctor *list;
	bool stopping;
};

/*
 * Starts `argv`, which is a `kettle-exec --doctor --json` or leads to one. Calls `done` once, with its report or with
 * an error: it ended without a report, or took longer than EXEC_DOCTOR_LIMIT_MS.
 */
int exec_doctor_start(struct exec_doctors *doctors, const char *const *argv,
	void (*done)(void *arg, const struct kettle_error *err, json_t *report), void *arg, struct kettle_error *err);
/* Ends the doctors that run, which then answer that the runner stops. */
void exec_doctors_stop(struct exec_doctors *doctors);

#endif
