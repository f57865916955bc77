/* SPDX-License-Identifier: MIT */
/* Commands of whoever runs the engine. See command.h for their form, its table for arguments and rights. */
#ifndef KETTLE_CMD_ADMIN_H
#define KETTLE_CMD_ADMIN_H

#include "commands/command.h"

/* admin.start {}, admin.stop {}: whether submissions are accepted, kept over restarts; what runs goes on. Event
 * admin.accepting where it changed. {"status": "ok", "accepts_jobs"}. */
int cmd_admin_start(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);
int cmd_admin_stop(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);
/*
 * admin.stats {last_day, leaderboard?}: {"status": "ok", "accepts_jobs", "stats": {"num_submissions", "sub_waiting",
 * "num_users", "num_unique_codes", and for each device "num_run.D", "runs_passed.D", "runs_scored.D", "runs_secret.D",
 * "max_delay.D", "avg_delay.D", "total_runtime.D"}}. Of submissions that are there and the runs of each job's last
 * attempt; times in seconds; a delay is from queued to the beginning of a run.
 */
int cmd_admin_stats(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);

#endif
