/* SPDX-License-Identifier: MIT */
/* The command that accepts a submission. */
#ifndef KETTLE_CMD_SUBMIT_H
#define KETTLE_CMD_SUBMIT_H

#include "commands/command.h"

/*
 * submit {file, leaderboard?, device?, mode}: {"id", "leaderboard", "mode", "devices": [name], "jobs": [{"job",
 * "device"}], "seq": number of its event}. The checks come in the order of the field's API, each with its own sentence:
 * mode; board (ENOENT), device (EINVAL, lists them); file not empty, at most env->submission_bytes (ETOOBIG), UTF-8
 * without NUL, extension; accepting (EUNAVAIL); banned (EACCES); header directives; access to a closed board (EACCES);
 * rate limit (ERATE, retry_s); deadline (EINVAL). Stores submission and jobs with a fresh secret seed; event
 * submission.accepted. Store's thread.
 */
int cmd_submit(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);

#endif
