/* SPDX-License-Identifier: MIT */
/* What others may see of a submission, where its leaderboard opens the code. Store's threads. */
#ifndef KETTLE_MODEL_CODE_VISIBILITY_H
#define KETTLE_MODEL_CODE_VISIBILITY_H

#include "model/access.h"
#include "store/db.h"

/*
 * A submission that counts in a ranking, for somebody with access to its board while the board's `code` opens it:
 * submission.show's answer with the code, and of each device on which it passed state, score and rank; nothing of its
 * runs. EACCES: not for this actor, with a sentence that says when, if ever; ENOENT.
 */
int code_visibility_of(
	struct db *db, const struct actor *actor, int64_t id, json_t **ret_object, struct kettle_error *err);

#endif
