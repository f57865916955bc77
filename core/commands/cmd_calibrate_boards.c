/* SPDX-License-Identifier: MIT */
/*
 * device.calibrate: the tasks of a unit's boards, as far as they have calibrators of their own.
 *
 * Theory of operation. Takes the open boards with the unit's device one after the other. Runs the board's task from the
 * database, read when its turn comes, with its first template; the medians of CALIBRATE_ROUNDS runs are stored with it,
 * under the task's hash, which boards with the same task share. Only the times of tasks' own calibrators are taken, not
 * their ratios: a template may differ from submissions. If the first round has no such name, the task is stored as one
 * without calibrators. Stored tasks are not measured again. Each board is stored by itself, so that its times stay when
 * the engine stops.
 *
 *   boards ──▶ next board ──▶ its task ──▶ run … run ──▶ store ──▶ next board … ──▶ next unit
 */
#include <config.h>

#include "commands/cmd_calibrate_internal.h"

#include "base/base.h"
#include "judge/calibration.h"
#include "model/blobs.h"
#include "model/board.h"
#include "model/settings.h"
#include "session/core.h"
#include "task/task.h"

static void next_board(struct calibration_run *c);
static void next_run(struct calibration_run *c);

void
calibrate_boards_free(struct calibration_boards *boards)
{
	json_decref_all(boards->list, boards->calibration, boards->measured, boards->results, boards->bundle,
		boards->samples, boards->names);
	*boards = (struct calibration_boards){0};
}

static const json_t *
board_of(const struct calibration_run *c)
{
	return json_array_get(c->boards.list, c->boards.index);
}

static const char *
board_text(const struct calibration_run *c, const char *key)
{
	return json_text_or_empty(board_of(c), key);
}

/* True: nothing more begins, and c is freed. */
static bool
end_stopped(struct calibration_run *c)
{
	bool stops = calibrate_stopped(c);
	if (stops)
		c->boards_ended(c, NULL);
	return stops;
}

/* Leaves the board as it is and goes on with the next one. */
static void
skip_board(struct calibration_run *c, const char *why)
{
	calibrate_remark(c, board_text(c, "leaderboard"), why);
	c->boards.index++;
	next_board(c);
}

/* Boards whose task has no calibrator of its own are not named. */
static void
add_result(struct calibration_run *c, json_t *names)
{
	if (json_object_size(names) > 0)
		(void)json_array_append_new(
			c->boards.results, json_pack("{s:s, s:O}", "leaderboard", board_text(c, "leaderboard"), "names", names));
}

/* ---- storing ---- */

int
calibrate_boards_prune(struct db *db, json_t *calibration, struct kettle_error *err)
{
	AUTO_JSON json_t *hashes = NULL;
	if (json_object_size(json_object_get(calibration, "tasks")) == 0)
		return 0;
	int rc = board_task_hashes(db, &hashes, err);
	if (rc == 0)
		calibration_keep_tasks(calibration, hashes);
	return rc;
}

/* Adds it to the unit's present calibration. */
static int
store_op_board(struct db *db, void *arg, struct kettle_error *err)
{
	struct calibration_run *c = arg;
	const char *device = json_text_or_empty(calibrate_unit(c), "device"),
			   *key = json_text_or_empty(calibrate_unit(c), "key");
	AUTO_JSON json_t *calibration = NULL, *data = json_pack("{s:s, s:s, s:s, s:O}", "device", device, "unit",
											  json_text_or_empty(calibrate_unit(c), "unit"), "leaderboard",
											  board_text(c, "leaderboard"), "names", c->boards.names);
	int rc = settings_unit_calibration(db, device, key, &calibration, err);
	if (rc == 0 && !json_is_object(calibration))
		rc = kettle_fail(err, KETTLE_ENOENT, "The unit's calibration is gone.");
	if (rc == 0)
		rc = calibrate_boards_prune(db, calibration, err);
	if (rc == 0)
		rc = calibration_set_task(calibration, board_text(c, "hash"), c->boards.names, err);
	if (rc == 0)
		rc = settings_unit_calibrate(db, device, key, calibration, err);
	return rc < 0 ? rc : db_event(db, "device.calibrated", 'a', 0, 0, 0, data, err);
}

static void
board_stored(void *arg, const struct kettle_error *err)
{
	struct calibration_run *c = arg;
	if (end_stopped(c))
		return;
	if (err) {
		skip_board(c, err->message);
		return;
	}
	(void)json_object_set(c->boards.measured, board_text(c, "hash"), c->boards.names);
	add_result(c, c->boards.names);
	c->boards.index++;
	next_board(c);
}

/* ---- one board ---- */

/* Returns how many valid names of its own were reported. */
static size_t
take_run(struct calibration_run *c, const struct verdict *verdict)
{
	const json_t *task = json_object_get(c->boards.bundle, "task");
	size_t taken = 0, count = json_array_size(json_object_get(task, "benchmarks"));
	for (size_t i = 0; i < verdict->count; i++)
		taken += calibration_collect(verdict->entries[i].result, count, true, c->boards.samples);
	return taken;
}

static void
board_ran(struct calibration_run *c, const struct verdict *verdict, const char *error)
{
	if (end_stopped(c))
		return;
	if (!verdict) {
		skip_board(c, error);
		return;
	}
	size_t taken = take_run(c, verdict);
	c->boards.round++;
	if (taken > 0 && c->boards.round < CALIBRATE_ROUNDS) {
		next_run(c);
		return;
	}
	json_decref(c->boards.names);
	c->boards.names = calibration_medians(c->boards.samples);
	store_write(c->core->store, store_op_board, board_stored, c);
}

static void
next_run(struct calibration_run *c)
{
	struct kettle_error err = {0};
	if (calibrate_run(c, c->boards.bundle, board_ran, &err) < 0)
		skip_board(c, err.message);
}

static int
read_bundle(struct db *db, void *arg, struct kettle_error *err)
{
	struct calibration_run *c = arg;
	return blobs_get_task(db, member_int(board_of(c), "task"), &c->boards.bundle, err);
}

static void
bundle_read(void *arg, const struct kettle_error *err)
{
	struct calibration_run *c = arg;
	if (end_stopped(c))
		return;
	if (err) {
		skip_board(c, err->message);
	} else if (!task_template(c->boards.bundle)) {
		skip_board(c, "Its task has no template to run.");
	} else {
		json_decref(c->boards.samples);
		c->boards.samples = json_object();
		c->boards.round = 0;
		next_run(c);
	}
}

/* ---- all boards ---- */

static bool
is_board_known(struct calibration_run *c)
{
	const char *hash = board_text(c, "hash");
	json_t *names = json_object_get(c->boards.measured, hash);
	if (names)
		add_result(c, names); /* another board has the same task */
	return names || (!member_true(c->args, "force") && calibration_has_task(c->boards.calibration, hash));
}

static void
next_board(struct calibration_run *c)
{
	calibrate_tell_kept(c);
	json_decref(STEAL(c->boards.bundle));
	while (c->boards.index < json_array_size(c->boards.list) && is_board_known(c))
		c->boards.index++;
	bool more = c->boards.index < json_array_size(c->boards.list);
	AUTO_FREE char *busy = more ? calibrate_busy(c) : NULL;
	if (more && !busy)
		store_read(c->core->store, read_bundle, bundle_read, c);
	else
		c->boards_ended(c, busy);
}

/* Newer boards first: if there are more than can be kept, the older ones are dropped. */
static int
read_boards(struct db *db, void *arg, struct kettle_error *err)
{
	struct calibration_run *c = arg;
	const char *device = json_text_or_empty(calibrate_unit(c), "device"),
			   *key = json_text_or_empty(calibrate_unit(c), "key");
	int rc = settings_unit_calibration(db, device, key, &c->boards.calibration, err);
	return rc < 0 ? rc : board_tasks(db, device, CALIBRATION_TASKS_MAX, &c->boards.list, err);
}

static void
boards_read(void *arg, const struct kettle_error *err)
{
	struct calibration_run *c = arg;
	if (end_stopped(c))
		return;
	if (err)
		c->boards_ended(c, err->message);
	else
		next_board(c);
}

void
calibrate_boards(struct calibration_run *c)
{
	if (end_stopped(c))
		return;
	calibrate_boards_free(&c->boards);
	c->boards.measured = json_object();
	c->boards.results = json_array();
	store_read(c->core->store, read_boards, boards_read, c);
}
