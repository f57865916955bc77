/* SPDX-License-Identifier: MIT */
/* Commands on submissions. Store's threads; see command.h for their form, its table for arguments and rights. */
#ifndef KETTLE_CMD_SUBMISSION_H
#define KETTLE_CMD_SUBMISSION_H

#include "commands/command.h"

/*
 * submission.list {leaderboard?, limit, offset}: the actor's own, newest first: [{"id", "leaderboard_name",
 * "file_name", "submission_time", "done", "mode", "state", "flagged", "runs": [{"gpu_type", "score", "state"}]}].
 */
int cmd_submission_list(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);
/*
 * submission.show {id}, for its owner, the board's creator and admins; for others as submission_open says: {"id", "leaderboard_id", "leaderboard_name", "file_name", "user_id"
 * (text), "user_name", "submission_time", "done", "mode", "state", "code", "flagged": reason or null,
 *  "runs": [{"start_time", "end_time", "mode", "secret", "runner": device, "score", "passed", "result"}],
 *  "job": {"status", "error", "last_heartbeat"}, "runner_queue": null, "rank": {device: rank or null},
 *  "jobs": [{"job", "device", "state", "error", "score", "low", "high", "rank": {"rank", "of"} or null, "unit",
 *            "attempt", "queued", "started", "ended", "compilation", "system", "timing", "artifacts": [{"name", "size",
 *            "sha256"}], "rerun": whether it will take the place of one that counts until then, "rerun_failed" (where
 *            there is one): {"job", "state", "error", "ended"} of a rerun that came to nothing,
 *            "runs": [{"mode", "secret", "index", "passed", "state", "score", …}]}]}.
 * `timing` is the verdict's (verdict.h); its parts get "record_ns", the time until the verdict was stored, a moment later.
 * Of a secret run: mode, secret, passed and score. `status` is a word of the field's API and says running until all
 * jobs have ended; then the worst counts.
 */
int cmd_submission_show(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);
/* submission.cancel {id}, by its owner and admins (a rerun: by admins): {"id", "jobs"}. ECONFLICT: it has ended. */
int cmd_submission_cancel(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);
/* submission.delete {id}, by its owner and admins (one that is marked as a cheat: by admins): {"id", "status": "ok"}.
 */
int cmd_submission_delete(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);

#endif
