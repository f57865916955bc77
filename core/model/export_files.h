/* SPDX-License-Identifier: MIT */
/* The contents of a database as files for other programs. */
#pragma once

#include "store/backup.h"
#include "store/db.h"

/*
 * Writes a new folder `path` (0700; an empty one that is there is taken), whole or not at all, of one snapshot:
 * leaderboards, users, submissions, jobs and runs as FILE.jsonl (an object a line) or FILE.csv (RFC 4180, with a line of
 * names; lists and objects in it are JSON), and code/SHA256 for every submitted file. No seed, token, invite code,
 * identity or file of a task is in it, and of a secret run only mode, passed and score. *ret_files: file → how many
 * rows; new reference. ECONFLICT: something is there; EIO, ECANCELED. [any, blocks]
 */
int export_make(struct db *db, const char *path, bool csv, backup_progress progress, void *arg, json_t **ret_files,
	struct kettle_error *err);
