/* SPDX-License-Identifier: MIT */
/*
 * Files that jobs leave.
 *
 * While an attempt runs, its runner puts them into SPOOL/JOB.ATTEMPT.run/STEP/NAME. When it has ended, the files that
 * its verdict names are kept: small ones in the database, others as SPOOL/JOB.ATTEMPT/NUMBER; the rest is removed.
 * Files that nothing in the database refers to (an attempt that died, a submission that was deleted) are removed by a
 * sweep, see maintenance.h.
 */
#pragma once

#include "store/db.h"

#define ARTIFACT_SMALL_MAX 65536    /* bytes of a file that is kept in the database */
#define ARTIFACT_CHUNK_MAX 524288   /* bytes of one answer */
#define ARTIFACT_FOLDERS_MAX 100000 /* of one sweep */

/* DB.spool; new string. [any] */
char *artifact_spool(const char *database);

/*
 * Takes over the files of `artifacts` (verdict.h) that the attempt ("12.1") left: each entry gets "contents" or "path"
 * (below the spool). A file that differs from the report, or for which max_bytes leave no room, gets neither and is not
 * kept; the error describes the first such file, and the others are kept. [any, blocks]
 */
int artifact_take(
	const char *spool, const char *attempt, int64_t max_bytes, json_t *artifacts, struct kettle_error *err);

/* Stores the rows of a job's artifacts as artifact_take left them. Store's thread. EINVAL. */
int artifact_store(struct db *db, int64_t job, const json_t *artifacts, struct kettle_error *err);
/* The artifacts of all jobs of a submission, as submission.download shows them. New reference. */
int artifact_list(struct db *db, int64_t submission, json_t **ret_artifacts, struct kettle_error *err);
/* {"artifact", "name", "size", "sha256", "submission"}. ENOENT. New reference. */
int artifact_get(struct db *db, int64_t artifact, json_t **ret_row, struct kettle_error *err);
/*
 * After artifact_store: drops the oldest artifacts of the job's user beyond max_bytes (0: no limit), counting all jobs
 * of that user; those of submissions that are marked as cheats stay. *ret_paths: their paths, for artifact_remove;
 * NULL: none. New array. Store's thread.
 */
int artifact_trim(struct db *db, int64_t job, int64_t max_bytes, json_t **ret_paths, struct kettle_error *err);
/* Bytes of an artifact from offset on, at most ARTIFACT_CHUNK_MAX; new bytes. ENOENT: not kept any more. Store's thread. */
int artifact_read(struct db *db, const char *spool, int64_t artifact, int64_t offset, char **ret_data, size_t *ret_size,
	struct kettle_error *err);
/*
 * Puts an artifact into the folder of links (download_urls.h), where it is the caller's to send and remove; the sweep of
 * that folder removes it after DOWNLOAD_URL_SENDING_MS. *ret_path: new string. ENOENT: it is not kept any more; EIO. A
 * thread with a database, blocks.
 */
int artifact_lend(
	struct db *db, const char *spool, const char *folder, int64_t artifact, char **ret_path, struct kettle_error *err);

/* The folders of the spool that have a name of Kettle's; new array. [any, blocks] */
int artifact_folders(const char *spool, json_t **ret_names, struct kettle_error *err);
/* Of these, the ones that no row refers to. New array. Store's thread. */
int artifact_unknown(struct db *db, const json_t *names, json_t **ret_unknown, struct kettle_error *err);
/* Removes such folders, or files in them, and returns how many bytes they had. [any, blocks] */
int64_t artifact_remove(const char *spool, const json_t *names);
