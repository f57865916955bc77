/* SPDX-License-Identifier: MIT */
/* The zip of the artifact that a run leaves: unpacked within limits. All [any, blocks]. */
#ifndef KETTLE_GITHUB_RESULT_ZIP_H
#define KETTLE_GITHUB_RESULT_ZIP_H

#include <kettle/error.h>
#include <stddef.h>

#define RESULT_ZIP_ENTRIES 16
#define RESULT_ZIP_SMALL 1048576 /* bytes of a file but the result's */
#define RESULT_ZIP_MAX 402653184 /* bytes of the zip and of the sealed result: 256 MiB in base64 and a little */

/* The files of the workflow; each NULL, or -1, where it is not there. Those in memory have a NUL behind them. */
struct result_files {
	int result;   /* result.kettle: sealed, and perhaps too large for the memory; a file without a name */
	char *report; /* doctor.json */
	size_t report_size;
	char *error; /* error.txt */
	size_t error_size;
};

#define RESULT_FILES_NONE ((struct result_files){.result = -1})

void result_files_free(struct result_files *files);
/*
 * Reads a zip from memory, or with data NULL from a file, after a look at its size and at its SHA-256 (64 digits; "": not
 * known). ECONFLICT: it is another one; EINVAL: it is damaged, or no zip; ETOOBIG: it has too many or too large files; EIO. Other files of it are
 * passed over.
 */
int result_zip_read(const void *data, size_t size, const char *path, const char *sha256, struct result_files *ret_files,
	struct kettle_error *err);

#endif
