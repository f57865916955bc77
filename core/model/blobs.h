/* SPDX-License-Identifier: MIT */
/* Contents by their hashes, each once: code, files, versions of tasks; and the removal of unused ones. Store's thread. */
#pragma once

#include "store/db.h"

/* Stores bytes, or finds them; *ret_blob is their row. */
int blobs_put(struct db *db, const void *data, size_t size, int64_t *ret_blob, struct kettle_error *err);
/*
 * Stores a checked bundle (task.h) as a version, or finds the version. Bundles that differ only in `imported` are one
 * version, which keeps the first `imported`.
 */
int blobs_put_task(struct db *db, const json_t *bundle, int64_t *ret_task, struct kettle_error *err);
/* The hash that identifies a version of a task. */
void blobs_task_hash(const json_t *bundle, char ret_hash[65]);
/* The whole bundle again. ENOENT. */
int blobs_get_task(struct db *db, int64_t task, json_t **ret_bundle, struct kettle_error *err);

/*
 * To remove something, first note the contents that it uses (of a board's submissions up to a number, of one
 * submission, or of one version of a task), then delete its row, then collect: noted contents without another user are
 * removed. All of it in one transaction, after which nothing is noted; to note nothing is allowed.
 */
int blobs_note_submissions(struct db *db, int64_t leaderboard, int64_t last, struct kettle_error *err);
int blobs_note_submission(struct db *db, int64_t submission, struct kettle_error *err);
int blobs_note_task(struct db *db, int64_t task, struct kettle_error *err);
int blobs_collect(struct db *db, struct kettle_error *err);
