/* SPDX-License-Identifier: MIT */
/* Takes over what a step has left: regular files and folders, bounded, never through a link. */
#ifndef KETTLE_EXEC_OUTPUT_H
#define KETTLE_EXEC_OUTPUT_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stdint.h>

#define OUTPUT_MAX_FILES 10000
#define OUTPUT_MAX_DEPTH 32

/*
 * Copies the named files and folders from the folder `from` (nothing runs in it any more) into the folder `to`, with
 * modes 0755 and 0644 and the times they have, and appends an entry for each to manifest: {"path", "mode", "size", "sha256"}, and {"path",
 * "folder": true} for folders; paths are relative to both. `missing_ok`: a name that is not there is passed over.
 * KETTLE_EINVAL, KETTLE_ENOENT and KETTLE_ETOOBIG are the step's doing, everything else the machine's. [any, blocks]
 */
int collect_outputs_collect(int from, const json_t *names, const char *to, uint64_t max_bytes, bool missing_ok,
	json_t *manifest, struct kettle_error *err);

/*
 * Brings files of a manifest into another folder: `name` of folder `from` (a file, or a folder with all that is below)
 * becomes `as` of folder `to`. `link`: by hard links where the file system can. KETTLE_ENOENT: the manifest has no
 * such name. [any, blocks]
 */
int collect_outputs_link(const json_t *manifest, const char *from, const char *name, const char *to, const char *as,
	bool link, struct kettle_error *err);

/* One file, from path to path, by hard link or with its bytes copied; the parents of `to` are made. [any, blocks] */
int collect_outputs_transfer(const char *from, const char *to, int mode, bool link, struct kettle_error *err);

/* Makes the folders above a path that do not exist yet (0755), below `base`, which exists. [any, blocks] */
int collect_outputs_make_parents(const char *path, struct kettle_error *err);

#endif
