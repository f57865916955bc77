/* SPDX-License-Identifier: MIT */
/* Collects files that a step has left: regular files and folders, limited, never through a link. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stdint.h>

#include "exec/util/sha256.h"
#include "exec/util/strings.h"

#define OUTPUT_MAX_FILES 10000    /* of a step, folders included */
#define OUTPUT_MAX_ARTIFACTS 1000 /* of a step, folders included */
#define OUTPUT_MAX_DEPTH 32
#define OUTPUT_MAX_LOCK 1024 /* bytes of a lock that names its owner */

enum outputs_kind { OUTPUTS_PLAIN, OUTPUTS_CACHE, OUTPUTS_ARTIFACTS };

/* A file or folder that a step left. A folder has only a path. */
struct output_file {
	char *path; /* relative to the folder of all outputs */
	bool folder;
	int mode;
	uint64_t size;
	char sha256[DIGEST_HEX_SIZE];
};
/* The files that a step left; a folder comes before its contents. Zero-initialise; call manifest_free at the end. */
struct manifest {
	struct output_file *files;
	size_t count;
};
/* Appends a copy of the file. */
void manifest_add(struct manifest *manifest, const struct output_file *file);
/* Removes the folder at an index, which lies at `path`, if no entry was added after it. [any, blocks] */
void manifest_drop_empty(struct manifest *manifest, size_t folder, const char *path);
uint64_t manifest_bytes(const struct manifest *manifest);
void manifest_free(struct manifest *manifest);
/* [{"path", "mode", "size", "sha256"} or {"path", "folder": true}]; new reference. */
json_t *manifest_json(const struct manifest *manifest);
/* Reads a manifest from untrusted JSON. False: it is no manifest, or a path leads out of its folder. */
bool manifest_read(const json_t *list, struct manifest *ret_manifest);

/*
 * Whether a file in a cache of compilers is the lock of a process that has ended, or useless. [any]
 *
 * A lock outlives its owner only if its existence is the lock. It must be made by one call that fails if it exists: as
 * a file (O_EXCL), a folder (mkdir) or a link. Links, folders without files, and empty files are never kept, whatever
 * their names. That covers torch's `lock` (file_baton.py), folders, and the empty files that filelock (of torch,
 * Triton, JAX), LLVM, ninja and CUDA open to flock them. Only a lock that names its owner is not empty (filelock's
 * SoftFileLock, pid files); then its name, or that of its folder, says that it is a lock. Such a text is short: longer
 * files, such as kernels with the name of a lock, are kept.
 */
bool output_is_lock(const char *path, uint64_t size);

/*
 * Copies the named files and folders from the folder `from`, in which no process runs any more, into the folder `to`,
 * with modes 0755 and 0644 and their times, and appends each to the manifest. OUTPUTS_ARTIFACTS: a missing name is
 * skipped, and at most OUTPUT_MAX_ARTIFACTS are allowed. OUTPUTS_CACHE: a named folder is a cache of compilers, whose
 * locks and folders without files are left out. KETTLE_EINVAL, KETTLE_ENOENT and KETTLE_ETOOBIG are the step's fault,
 * all other codes the machine's. [any, blocks]
 */
int collect_outputs_collect(int from, const struct strings *names, const char *to, uint64_t max_bytes,
	enum outputs_kind kind, struct manifest *manifest, struct kettle_error *err);

/*
 * Copies `name` of the folder `from` (a file of the manifest, or a folder with everything below) to `as` in the folder
 * `to`. link: by hard links where the file system can. KETTLE_ENOENT: the manifest has no such name. [any, blocks]
 */
int collect_outputs_link(const struct manifest *manifest, const char *from, const char *name, const char *to,
	const char *as, bool link, struct kettle_error *err);
/* Transfers a file or folder of a manifest from folder to folder, by hard link or by a copy. [any, blocks] */
int collect_outputs_transfer(
	const struct output_file *file, const char *from, const char *to, bool link, struct kettle_error *err);

/* Makes the missing folders above a path (0755). [any, blocks] */
int collect_outputs_make_parents(const char *path, struct kettle_error *err);
