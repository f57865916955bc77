/* SPDX-License-Identifier: MIT */
/* The zip of the artifact that a run leaves: unpacked into memory within limits. All [any, blocks]. */
#ifndef KETTLE_GITHUB_RESULT_ZIP_H
#define KETTLE_GITHUB_RESULT_ZIP_H

#include <kettle/error.h>
#include <stddef.h>

#define RESULT_ZIP_ENTRIES 16
#define RESULT_ZIP_SMALL 1048576 /* bytes of a file but the result's */
#define RESULT_ZIP_MAX 402653184 /* bytes of the zip and of the sealed result: 256 MiB in base64 and a little */

/* The files of the workflow; each NULL where it is not there. All with a NUL behind them. */
struct result_files {
	char *result; /* result.kettle: sealed */
	size_t result_size;
	char *report; /* doctor.json */
	size_t report_size;
	char *error; /* error.txt */
	size_t error_size;
};

void result_files_free(struct result_files *files);
/*
 * Reads a zip from memory, or with data NULL from a file, after a look at its size and at its SHA-256 (64 digits; "": not
 * known). ECONFLICT: it is another one; EINVAL: it is damaged, or no zip; ETOOBIG: it has too many or too large files; EIO. Other files of it are
 * passed over.
 */
int result_zip_read(const void *data, size_t size, const char *path, const char *sha256, struct result_files *ret_files,
	struct kettle_error *err);

#endif
