/* SPDX-License-Identifier: MIT */
/*
 * Tries the tasks of leaderboards before they are created or changed.
 *
 * Theory of operation. One board after the other, on the loop of the database's owner, between the plan of a write and the
 * write. The caller sees the progress of the runs, before each board an event {"event": "trying", "name", "index", "count"}
 * on its first device, and for a task whose own files fail {"event": "failed", "log"} with the output of that.
 */
#include <config.h>

#include "commands/board_trial.h"

#include "base/base.h"
#include "commands/local_job.h"
#include "commands/task_try.h"

/* The boards of one command. */
struct board_trials {
	struct core *core;
	struct waiter waiter;
	json_t *boards; /* as planned */
	size_t index;   /* of the present one */
	json_t *results;
	kettle_answer answer;
	void *arg;
};

static void next_board(struct board_trials *trials);

static void
end_trials(struct board_trials *trials, const struct kettle_error *err)
{
	trials->answer(trials->arg, err, err->code < 0 ? NULL : trials->results);
	json_decref_all(trials->boards, trials->results);
	free(trials);
}

static const json_t *
present(const struct board_trials *trials)
{
	return json_array_get(trials->boards, trials->index);
}

/* Why no submission could pass on the device. New reference. */
static json_t *
reason_of(const json_t *obstacle)
{
	return json_sprintf("No submission could pass on %s: %s", json_text_or_empty(obstacle, "device"),
		json_text_or_empty(obstacle, "error"));
}

static void
board_tried(void *arg, const struct kettle_error *err, json_t *tried)
{
	struct board_trials *trials = arg;
	const json_t *obstacle = task_try_obstacle(tried);
	if (err->code == KETTLE_ECANCELED) {
		end_trials(trials, err);
		return;
	}
	AUTO_JSON json_t *imported = task_try_imports(tried);
	if (json_object_get(obstacle, "log"))
		local_job_progress(trials->core, trials->waiter.caller, json_text_or_empty(obstacle, "device"),
			json_pack("{s:s, s:O}", "event", "failed", "log", json_object_get(obstacle, "log")));
	(void)json_object_set_new(trials->results, json_text_or_empty(present(trials), "name"),
		json_pack("{s:o*, s:O*, s:O*}", "error",
			err->code < 0 ? json_string(err->message)
			: obstacle    ? reason_of(obstacle)
						  : NULL,
			"tried", tried, "imported", json_array_size(imported) > 0 ? imported : NULL));
	trials->index++;
	next_board(trials);
}

static void
next_board(struct board_trials *trials)
{
	const struct kettle_error none = {0};
	const json_t *board = present(trials), *devices = json_object_get(board, "devices");
	if (!board) {
		end_trials(trials, &none);
		return;
	}
	local_job_progress(trials->core, trials->waiter.caller, json_string_value(json_array_get(devices, 0)),
		json_pack("{s:s, s:O, s:I, s:I}", "event", "trying", "name", json_object_get(board, "name"), "index",
			(json_int_t)trials->index + 1, "count", (json_int_t)json_array_size(trials->boards)));
	task_try(trials->core, &trials->waiter, json_object_get(board, "bundle"), devices, true, board_tried, trials);
}

void
board_trial(struct core *core, const struct waiter *waiter, const json_t *plan, kettle_answer answer, void *arg)
{
	struct board_trials *trials = xnew(struct board_trials, .core = core, .waiter = *waiter,
		.boards = json_incref((json_t *)plan), .results = json_object(), .answer = answer, .arg = arg);
	next_board(trials);
}

/* ---- what a command makes of it ---- */

json_t *
board_trial_plan(const char *name, json_t *bundle, json_t *devices)
{
	return json_pack("{s:s, s:O, s:O}", "name", name, "bundle", bundle, "devices", devices);
}

int
board_trial_check(const json_t *trial, const char *name, const char *member, const char *verb, struct kettle_error *err)
{
	const char *reason = json_text_or_null(json_object_get(trial, name), "error");
	if (!reason)
		return 0;
	return kettle_blame(err, KETTLE_CAUSE_NONE, member,
		kettle_fail(err, KETTLE_ECONFLICT, "%s Use `%s` to %s the leaderboard anyway.", reason, member, verb));
}

void
board_trial_imports(const json_t *trial, const char *name, json_t *bundle)
{
	json_t *imported = json_object_get(json_object_get(trial, name), "imported");
	if (imported)
		(void)json_object_set(bundle, "imported", imported);
}

void
board_trial_tell(const json_t *trial, const char *name, json_t *answer)
{
	json_t *tried = json_object_get(json_object_get(trial, name), "tried");
	if (tried)
		(void)json_object_set(answer, "tried", tried);
}
