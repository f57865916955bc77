/* SPDX-License-Identifier: MIT */
/* Shared by device.calibrate and device.verify. Loop thread, except what runs on the store's or the pool's. */
#pragma once

#include "engine/inflight.h"
#include "judge/verdict.h"
#include "session/command.h"

#include <stdbool.h>

#define CALIBRATE_ROUNDS 5

struct calibration_run;
/* A run is over: its verdict (borrowed), or NULL and a sentence if it did not pass. */
typedef void (*calibrate_done)(struct calibration_run *c, const struct verdict *verdict, const char *error);

/* The boards of the present unit (cmd_calibrate_boards.c). */
struct calibration_boards {
	json_t *list;        /* [{"leaderboard", "task": its row, "hash"}] */
	json_t *calibration; /* the stored one of the unit */
	json_t *measured;    /* {hash: {NAME: ns}}: now */
	json_t *results;     /* [{"leaderboard", "names"}] */
	json_t *bundle;      /* of the present board */
	json_t *samples, *names;
	size_t index;
	unsigned round, failures; /* of the present task */
};

/* One device.calibrate under way. */
struct calibration_run {
	struct inflight_job job; /* first: the runner reports to it */
	struct core *core;
	const struct languages *languages;               /* as they were when it began */
	struct waiter waiter;                            /* sees its progress; the command ends with it */
	json_t *args, *units, *tasks, *stored, *results; /* units: of engine_devices, with "device" */
	size_t unit, task;
	unsigned round, failures;          /* of the present task */
	json_t *samples, *ratios;          /* of the present task */
	json_t *machine, *remarks, *parts; /* of the present unit; parts: see calibration.h */
	json_t *found;                     /* the unit's calibration, made now */
	struct calibration_boards boards;
	/* The unit's boards are done, or the engine stops. error: a sentence, which becomes a remark, or NULL. */
	void (*boards_ended)(struct calibration_run *c, const char *error);
	const char *mode, *kind; /* of its runs; of their references */
	uint64_t limit_ms;       /* of a run; 0: none */
	double load;             /* load average of the engine's machine before the first run; NAN: unknown */
	/* The position of the present run, for progress. New reference. */
	json_t *(*position)(const struct calibration_run *c);
	struct plan *plan; /* of the present run */
	bool planned;      /* the present run could be planned */
	struct kettle_timer *watch;
	uint64_t watched_ms;
	const json_t *bundle;
	calibrate_done ran;
	void (*begun)(struct calibration_run *c); /* of calibrate_prepare */
	struct kettle_error err;
	kettle_answer answer;
	void *arg;
};

/* cmd_calibrate.c */
/* A new one, with the modes of device.calibrate. */
struct calibration_run *calibrate_new(
	struct core *core, const struct actor *actor, const json_t *args, kettle_answer answer, void *arg);
void calibrate_free(struct calibration_run *c);
/*
 * Chooses the units of the devices that the arguments name, runs load(c), which reads the tasks, in the pool, then
 * reads the rows of units. Calls begun(c) once, perhaps at once: with an error in c->err, or with all of them.
 */
void calibrate_prepare(struct calibration_run *c, void (*load)(void *arg), void (*begun)(struct calibration_run *c));
/* Reads a task of the folder into c->tasks, unless its language is not loaded or it has no template. In the pool. */
void calibrate_load_task(struct calibration_run *c, const char *folder, const char *name);

/* cmd_calibrate_run.c */
/* The present unit: as the engine describes it, with "device". */
json_t *calibrate_unit(const struct calibration_run *c);
/* Its row of settings_units at the beginning; NULL: none. */
const json_t *calibrate_row(const struct calibration_run *c);
/* Adds a sentence to its remarks. */
void calibrate_remark(struct calibration_run *c, const char *what, const char *why);
/* The load average of this machine, from the file that KETTLE_LOADAVG names, else the kernel's; NAN: unknown. */
double calibrate_load_average(void);
/*
 * The reason why the present unit cannot be measured now: other work keeps its machine busy. NULL: it is idle, as far
 * as is known, or `force` is given. Only the engine's own machine is checked.
 */
char *calibrate_busy(const struct calibration_run *c);
/* Whether nothing more may begin: the engine stops, or the caller has gone. */
bool calibrate_stopped(const struct calibration_run *c);
/* Plans a run of the task (borrowed until it is over) for the unit and gives it to its runner, which may end it
 * before this returns: nothing of c is touched after that. A negative code: ran is not called. */
int calibrate_run(struct calibration_run *c, const json_t *bundle, calibrate_done ran, struct kettle_error *err);

/* After an error of calibrate_run: whether the plan was made, so that the runner refused it. */
bool calibrate_is_planned(const struct calibration_run *c);

/* cmd_calibrate_keep.c */
/* The unit's stored calibration at the beginning, or NULL. */
const json_t *calibrate_stored(const struct calibration_run *c);
/* Whether it was interrupted: some of its tasks are missing. */
bool calibrate_is_partial(const struct calibration_run *c);
/* Begins the unit: with those parts of the interrupted calibration whose tasks have the same files, or anew. */
void calibrate_parts_begin(struct calibration_run *c, bool resume);
/* Whether the task is among the parts. */
bool calibrate_has_part(const struct calibration_run *c, const json_t *bundle);
/* Makes a part of the samples and ratios of the task. */
void calibrate_add_part(struct calibration_run *c, const json_t *bundle);
/* The calibration of all parts. New reference; NULL: no calibrator was measured. */
json_t *calibrate_join_parts(const struct calibration_run *c);
/* Stores the parts so far as a partial calibration. On the store's thread; arg: the run. */
int calibrate_store_parts(struct db *db, void *arg, struct kettle_error *err);
/* Tells the caller what stays if the command is interrupted now. */
void calibrate_tell_kept(struct calibration_run *c);

/* cmd_calibrate_boards.c */
/* Measures the boards of the present unit whose tasks have calibrators of their own; then c->boards_ended. */
void calibrate_boards(struct calibration_run *c);
/* Removes from a calibration the tasks that no board has any more. On the store's thread. */
int calibrate_boards_prune(struct db *db, json_t *calibration, struct kettle_error *err);
void calibrate_boards_free(struct calibration_boards *boards);
