/* SPDX-License-Identifier: MIT */
/* A runner: passes plans to a kettle-exec. */
#ifndef KETTLE_RUNNER_H
#define KETTLE_RUNNER_H

#include <jansson.h>
#include <kettle/abi.h>
#include <kettle/error.h>
#include <kettle/option.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if KETTLE_PLUGIN_ABI_MINOR >= 2
/*
 * How an attempt ended without a verdict: name, word (the `loss` of a completion with status "lost", of events and of
 * the database), meaning. "counts": it is one of the job's three; "is uncounted": one of ten. Those that a runner may
 * report come first.
 */
#define KETTLE_LOSSES(X) \
	X(NODE_FAULT, "failed", "the machine or its remote side is at fault: the attempt counts, and the unit pauses") \
	X(UNKNOWN_JOB, "gone", \
		"the remote side does not have the job: the attempt counts, and the unit pauses from the fourth such loss in " \
		"a row") \
	X(UNREACHED, "unreached", \
		"a connection broke, or the remote side did not answer: the attempt does not count, and the unit pauses") \
	X(NOT_STARTED, "unstarted", \
		"the job never reached a machine that may run it: the attempt does not count, and the unit does not pause") \
	X(AWAY, "away", \
		"the machine does not answer and has nothing of the job: Kettle tries again without limit, and the unit " \
		"pauses") \
	X(PERMANENT, "final", "no attempt can succeed: the job ends at once") \
	X(MISCONFIGURED, "unusable", "no job can run there until the operator corrects a fault: the job waits") \
	X(CLAIMED, "claimed", "only the engine: the run alone reported that the machine failed; the attempt counts") \
	X(SPARED, "spared", \
		"only the engine: `failed` on a unit that has lost all recent jobs; the attempt does not count") \
	X(ENGINE, "engine", "only the engine: the engine's process ended; the attempt does not count") \
	X(HANDED_BACK, "handed-back", \
		"only the engine: the engine stops, or the job has to wait; Kettle tries again without limit") \
	X(UNFIT, "unfit", "only the engine: the GPU was unfit to score a ranked job; the attempt does not count")

enum kettle_loss {
#define X(name, word, text) KETTLE_LOSS_##name,
	KETTLE_LOSSES(X)
#undef X
};

/* The word of a loss; "failed" for an unknown one. [any] */
__attribute__((unused)) static const char *
kettle_loss_name(enum kettle_loss loss)
{
	switch (loss) {
#define X(name, word, text) \
	case KETTLE_LOSS_##name: \
		return word;
		KETTLE_LOSSES(X)
#undef X
	}
	return "failed";
}
#endif

/* One attempt at a job. Strings and JSON are borrowed for the call. */
struct kettle_job {
	uint32_t size;
	const char *ref;    /* names job and attempt, unique in a database: "12.1" */
	const char *device; /* the device's name, for messages */
	const json_t *unit; /* the unit's section of the configuration: {"runner": "local", "name", "gpu": 0, "cores": "1",
						   "slots": 1, "sandbox": "full", …} */
	uint64_t deadline_ms; /* the scheduler's limit for build and run together; the scheduler enforces it */
	const char *spool;    /* a folder of this machine, which the runner makes if needed and in which it stores the
						   artifacts of steps as STEP/NAME before it completes the job; NULL: none are kept */
	const char
		*name; /* for what the job is called on a remote side: "kettle-1f0c9a3e-12.1", another one in each database */
	/* SHA-256 of the plan's JSON (compact, keys sorted), 64 digits: for a runner that must know later which plan an outcome
	 * belongs to. recover gets the one that was stored with the handle. NULL: the runner has no recover, or the
	 * job is not found again after a restart, such as that of `task run`. */
	const char *plan_hash;
};

/*
 * All asynchronous, on the loop thread.
 *
 * For every job that submit or recover accepted (returned 0) the runner calls host->job_done exactly once, also after
 * cancel and also when it stops, with a completion. "lost" means that there is no result and the job may be tried again; its
 * `loss` says how that came about (enum kettle_loss). In between the runner passes
 * the reports of kettle-exec to host->job_event. Reports and completions are in event.schema.json. Either call may lead to
 * others of this table before it returns: a job that says "waiting" may be cancelled, and the end of one job may begin the next.
 *
 * Time. The engine gives a job until its plan's limits have passed, first those of building, then those of running. A runner
 * whose jobs queue on a remote side says {"event": "waiting"} at once, in recover too: then no clock runs until {"event":
 * "started"}, which begins that of building. A runner with `recover` need not say when a job's runs begin ({"event": "device"}):
 * until it does, its jobs have both limits together.
 */
struct kettle_runner {
	uint32_t size;
	/* The number of the unit's jobs that may be in run steps at once, and of further jobs that may build meanwhile. */
	int (*capacity)(
		void *self, const json_t *unit, unsigned *ret_slots, unsigned *ret_prefetch, struct kettle_error *err);
	int (*submit)(void *self, const struct kettle_job *job, const json_t *plan, struct kettle_error *err);
	/* Ends the job, which must complete within 30 s; else its unit is disabled. */
	void (*cancel)(void *self, const char *ref);
	/*
	 * After a restart of the engine, or after detach: the job ran with this handle, which this runner stored by
	 * host->job_handle. 0: it still runs and completes as after submit; if that turns out to be wrong, it completes as
	 * "lost". KETTLE_EUNAVAIL: its remote side cannot be asked; it keeps its handle, and the runner is asked again
	 * after a minute, and by the next engine. KETTLE_ENOENT, and any other error: it is lost; the core runs it again as
	 * the next attempt. NULL: every job is lost.
	 */
	int (*recover)(void *self, const struct kettle_job *job, const char *handle, struct kettle_error *err);
	/*
	 * Called when the engine stops, for each job whose handle is stored: the runner forgets the job, which continues on
	 * the remote side, and does not complete it. recover finds the job again. NULL: such jobs are cancelled and run
	 * again.
	 */
	void (*detach)(void *self, const char *ref);
	/*
	 * Describes the unit's machine by the greeting of its kettle-exec (versions, protections, tools), requested once.
	 * Calls done once. With `brief` (true) in the section it does not wait for the versions of tools. An error whose
	 * member is an option of the section is listed by `kettle config check` among its errors.
	 */
	int (*describe)(void *self, const json_t *unit,
		void (*done)(void *arg, const struct kettle_error *err, json_t *facts), void *arg, struct kettle_error *err);
	/* Whether two units are of one machine, so that a job can use both: submit then gets the section of the first with
	 * those of the others under `more`. NULL: never, and a job uses one unit. */
	int (*same_machine)(void *self, const json_t *unit, const json_t *other);
	/*
	 * Asks the kettle-exec of the unit's machine for a sign of life, and calls done once: when it has answered,
	 * or with an error when it has ended or the runner stops. The runner sets no limit of its own: the engine knows how
	 * long it waits, and quarantines a unit that is silent. NULL: the engine does not ask.
	 */
	int (*heartbeat)(void *self, const json_t *unit, void (*done)(void *arg, const struct kettle_error *err), void *arg,
		struct kettle_error *err);
	/*
	 * A reload has configured languages anew. From now on the machines report the versions of these tools (an array
	 * of names and paths: the languages', or the runner's own option `report` where the configuration has it), and keep no
	 * interpreter warm for an earlier configuration. Jobs that run go on. NULL: nothing depends on it.
	 */
	int (*tools)(void *self, const json_t *tools, struct kettle_error *err);
	/*
	 * The options that a unit of this runner may have under `options` in the configuration; all other keys of a unit
	 * are the core's. They are checked like the options of a plugin, so an unknown key is refused with the nearest
	 * known one. The runner gets the unit's `options` as in the file, with lists and absolute paths. Defaults are not
	 * filled in, because the unit's name in the database comes from the file; NAME_env and NAME_file do not become
	 * secrets, because units are shown. No table: a unit has no options.
	 */
	const struct kettle_option *unit_options;
	size_t unit_options_count, unit_option_size; /* element size: sizeof(struct kettle_option) */
	/*
	 * The document of `kettle-exec --doctor --json` on the unit's machine. Calls done once: with the document, or with
	 * an error, also when the runner stops. NULL: `kettle device doctor` says that the runner cannot.
	 */
	int (*doctor)(void *self, const json_t *unit,
		void (*done)(void *arg, const struct kettle_error *err, json_t *report), void *arg, struct kettle_error *err);
	/*
	 * Writes what the remote side needs (a workflow, a job script) for `kettle runner init`. args: {"folder": an
	 * absolute path that need not exist, "options": {NAME: text}, "force": whether files that exist may be replaced}.
	 * Calls done once: {"files": [{"path", "state": "created", "replaced" or "unchanged"}], "next": [sentence: a step
	 * for the operator]}. It runs in the operator's process, without the engine. NULL: the command says that the runner
	 * needs nothing.
	 */
	int (*init)(void *self, const json_t *args, void (*done)(void *arg, const struct kettle_error *err, json_t *result),
		void *arg, struct kettle_error *err);
	/*
	 * The queue of the remote side, for `kettle runner status`. Calls done once: {"jobs": [{"job": the reference,
	 * "state": "waiting" or "running", "since": time, "where": a name or URL there}], "text": more about it}; each but
	 * "jobs" and "job" may be missing. NULL: the command says that the runner cannot.
	 */
	int (*status)(void *self, void (*done)(void *arg, const struct kettle_error *err, json_t *status), void *arg,
		struct kettle_error *err);
#if KETTLE_PLUGIN_ABI_MINOR >= 2
	/*
	 * Checks whether the runner could run jobs, by its section and this machine; it does not ask the remote side.
	 * KETTLE_EUNAVAIL: the sentence says what the operator has to add. `kettle config check` calls it after configure,
	 * without start, also with a section from which faulty values were removed and that lacks required ones: so that all
	 * faults are listed together. NULL: a section that configure accepts is complete.
	 */
	int (*check)(void *self, struct kettle_error *err);
#endif
};

/* The members of struct kettle_runner that name a table of options of units, which is an array. */
#define KETTLE_UNIT_OPTIONS(table) \
	.unit_options = (table), .unit_options_count = sizeof(table) / sizeof((table)[0]), \
	.unit_option_size = sizeof((table)[0])

#ifdef __cplusplus
}
#endif
#endif
