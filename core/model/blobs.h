/* SPDX-License-Identifier: MIT */
/* Contents by what they are: code and files once each, versions of tasks, and the removal of what nothing uses. Store's
 * thread. */
#ifndef KETTLE_MODEL_BLOBS_H
#define KETTLE_MODEL_BLOBS_H

#include "store/db.h"

/* Stores bytes, or finds them; *ret_blob is their row. */
int blobs_put(struct db *db, const void *data, size_t size, int64_t *ret_blob, struct kettle_error *err);
/*
 * Stores a checked bundle (task.h) as a version, or finds it: two that differ in what was `imported` are the same, which
 * remembers what the first one says of that.
 */
int blobs_put_task(struct db *db, const json_t *bundle, int64_t *ret_task, struct kettle_error *err);
/* What tells versions apart: the hash under which a bundle is stored. */
void blobs_task_hash(const json_t *bundle, char ret_hash[65]);
/* The whole bundle again. ENOENT. */
int blobs_get_task(struct db *db, int64_t task, json_t **ret_bundle, struct kettle_error *err);

/*
 * Removing something: first note what it uses (of a board's submissions up to a number, of one submission, or of one
 * version of a task), then delete its row, then collect: what was noted and has no other user goes.
 */
int blobs_note_submissions(struct db *db, int64_t leaderboard, int64_t last, struct kettle_error *err);
int blobs_note_submission(struct db *db, int64_t submission, struct kettle_error *err);
int blobs_note_task(struct db *db, int64_t task, struct kettle_error *err);
int blobs_collect(struct db *db, struct kettle_error *err);

#endif
