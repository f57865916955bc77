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
uint64_t manifest_bytes(const struct manifest *manifest);
void manifest_free(struct manifest *manifest);
/* [{"path", "mode", "size", "sha256"} or {"path", "folder": true}]; new reference. */
json_t *manifest_json(const struct manifest *manifest);
/* The same from JSON that anything may have written. False: it is no manifest, or a path leads out of its folder. */
bool manifest_read(const json_t *list, struct manifest *ret_manifest);

/*
 * Copies the named files and folders from the folder `from` (nothing runs in it any more) into the folder `to`, with
 * modes 0755 and 0644 and the times they have, and appends an entry for each to the manifest. `artifacts`: a name that
 * is not there is passed over, and there may be OUTPUT_MAX_ARTIFACTS of them. KETTLE_EINVAL, KETTLE_ENOENT and
 * KETTLE_ETOOBIG are the step's fault, all other codes the machine's. [any, blocks]
 */
int collect_outputs_collect(int from, const struct strings *names, const char *to, uint64_t max_bytes, bool artifacts,
	struct manifest *manifest, struct kettle_error *err);

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
