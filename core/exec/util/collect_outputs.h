/* SPDX-License-Identifier: MIT */
/* Takes over what a step has left: regular files and folders, bounded, never through a link. */
#ifndef KETTLE_EXEC_UTIL_COLLECT_OUTPUTS_H
#define KETTLE_EXEC_UTIL_COLLECT_OUTPUTS_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stdint.h>

#include "exec/util/sha256.h"
#include "exec/util/strings.h"

#define OUTPUT_MAX_FILES 10000    /* of a step, folders included */
#define OUTPUT_MAX_ARTIFACTS 1000 /* likewise */
#define OUTPUT_MAX_DEPTH 32
#define OUTPUT_MAX_LOCK 1024 /* bytes of a lock that says who holds it */

enum outputs_kind { OUTPUTS_PLAIN, OUTPUTS_CACHE, OUTPUTS_ARTIFACTS };

/* A file or folder that a step left. Of a folder the path is all there is. */
struct output_file {
	char *path; /* relative to the folder of all outputs */
	bool folder;
	int mode;
	uint64_t size;
	char sha256[DIGEST_HEX_SIZE];
};
/* What a step left; a folder comes before what is in it. Zero-initialise, manifest_free at the end. */
struct manifest {
	struct output_file *files;
	size_t count;
};
/* Appends a copy. */
void manifest_add(struct manifest *manifest, const struct output_file *file);
/* Takes the folder at an index, which lies at `path`, back if nothing in it was added after it. [any, blocks] */
void manifest_drop_empty(struct manifest *manifest, size_t folder, const char *path);
uint64_t manifest_bytes(const struct manifest *manifest);
void manifest_free(struct manifest *manifest);
/* [{"path", "mode", "size", "sha256"} or {"path", "folder": true}]; new reference. */
json_t *manifest_json(const struct manifest *manifest);
/* The same from JSON that anything may have written. False: it is no manifest, or a path leads out of its folder. */
bool manifest_read(const json_t *list, struct manifest *ret_manifest);

/*
 * Whether a file that compilers left in their cache is the lock of a process that has ended, or of no use. [any]
 *
 * A lock outlives its owner only if it is one by being there. To be acquired it must be made in one call that fails if it
 * is there already: as a file (O_EXCL), a folder (mkdir) or a link. A link is never kept, nor is a folder without a file
 * that is, nor an empty file, whatever their names: that covers torch's `lock` (file_baton.py), the files that filelock
 * (of torch, Triton, JAX), LLVM, ninja and CUDA open to flock them, which hold nothing either, and folders. Only a lock that
 * says who holds it is not empty (filelock's SoftFileLock, pid files); its name says that it is one, or that of its folder.
 * Such a text is short: longer files, such as kernels that are called like locks, are kept.
 */
bool output_is_lock(const char *path, uint64_t size);

/*
 * Copies the named files and folders from the folder `from` (nothing runs in it any more) into the folder `to`, with
 * modes 0755 and 0644 and the times they have, and appends an entry for each to the manifest. OUTPUTS_ARTIFACTS: a name that
 * is not there is passed over, and there may be OUTPUT_MAX_ARTIFACTS of them. OUTPUTS_CACHE: what a named folder holds is
 * a cache of compilers, from which locks and folders without files are left out. KETTLE_EINVAL, KETTLE_ENOENT and
 * KETTLE_ETOOBIG are the step's fault, all other codes the machine's. [any, blocks]
 */
int collect_outputs_collect(int from, const struct strings *names, const char *to, uint64_t max_bytes,
	enum outputs_kind kind, struct manifest *manifest, struct kettle_error *err);

/*
 * Copies files of a manifest into another folder: `name` of folder `from` (a file, or a folder with all that is below)
 * becomes `as` of folder `to`. `link`: by hard links where the file system can. KETTLE_ENOENT: the manifest has no
 * such name. [any, blocks]
 */
int collect_outputs_link(const struct manifest *manifest, const char *from, const char *name, const char *to,
	const char *as, bool link, struct kettle_error *err);
/* A file or folder of a manifest, from folder to folder, by hard link or with its bytes copied. [any, blocks] */
int collect_outputs_transfer(
	const struct output_file *file, const char *from, const char *to, bool link, struct kettle_error *err);

/* Makes the folders above a path that do not exist yet (0755). [any, blocks] */
int collect_outputs_make_parents(const char *path, struct kettle_error *err);

#endif
