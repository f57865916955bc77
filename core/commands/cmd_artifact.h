/* SPDX-License-Identifier: MIT */
/* Commands on the files that jobs left. Store's reader; see command.h for their form. */
#ifndef KETTLE_CMD_ARTIFACT_H
#define KETTLE_CMD_ARTIFACT_H

#include "commands/command.h"

/*
 * submission.artifacts {id}, for its owner, the board's creator and admins: [{"artifact": id, "job", "device", "step",
 * "name", "size", "sha256", "created", "expired": time or null}], of superseded jobs too, in their order.
 */
int cmd_submission_artifacts(struct db *db, const struct command_env *env, const struct actor *actor,
	const json_t *args, json_t **ret_result, struct kettle_error *err);
/*
 * submission.artifact {artifact, offset}, for the same: a part of one, {"artifact", "name", "size", "sha256", "offset",
 * "base64": at most ARTIFACT_CHUNK_MAX bytes}. ENOENT: there is none, or it is not kept any more.
 */
int cmd_submission_artifact(struct db *db, const struct command_env *env, const struct actor *actor, const json_t *args,
	json_t **ret_result, struct kettle_error *err);

#endif
