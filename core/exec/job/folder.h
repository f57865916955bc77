/* SPDX-License-Identifier: MIT */
/* Makes the folder that a step works in from its declared inputs. */
#ifndef KETTLE_EXEC_FOLDER_H
#define KETTLE_EXEC_FOLDER_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>

#include "exec/util/sha256.h"

#define FOLDER_MAX_BLOB (256u << 20)
#define FOLDER_TIME 946684800 /* of all inputs that a plan brings: the year 2000 */

/* Where inputs come from. Everything is borrowed and, while it is used, changed by nobody. */
struct folder_sources {
	const json_t *files;             /* of the plan, or NULL */
	const char *const *blob_dirs;    /* folders with blobs named by their SHA-256; ended by NULL */
	const struct folder_step *steps; /* the outputs of the job's steps */
	size_t steps_count;
	bool link; /* hard links are safe: nobody can write through them */
};
struct folder_step {
	const char *id;
	const char *dir;        /* where its outputs lie */
	const json_t *manifest; /* as collect_outputs_collect gives it, NULL: none yet */
};

/*
 * Makes `dir` (0755) with an empty `out` and the inputs of `process` (a step, referee or solver) and, unless NULL, the
 * cases file. The file that argv[0] names is made executable. KETTLE_ENOENT: a blob is not on this machine.
 * [any, blocks]
 */
int folder_make(const struct folder_sources *sources, const json_t *process, const json_t *cases, const char *dir,
	struct kettle_error *err);
/*
 * Adds names and contents of the inputs to a digest (equal contents give equal digests, wherever they come from).
 * [any, blocks]
 */
int folder_digest(
	const struct folder_sources *sources, const json_t *process, struct sha256 *digest, struct kettle_error *err);

#endif
