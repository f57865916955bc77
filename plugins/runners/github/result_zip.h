/* SPDX-License-Identifier: MIT */
/* Unpacks the zip of a run's artifact, within limits. All [any, blocks]. */
#ifndef KETTLE_GITHUB_RESULT_ZIP_H
#define KETTLE_GITHUB_RESULT_ZIP_H

#include <kettle/error.h>
#include <stddef.h>
#include <stdint.h>

#define RESULT_ZIP_ENTRIES 16
#define RESULT_ZIP_SMALL 1048576 /* bytes of every file except the result */
#define RESULT_ZIP_MAX 402653184 /* bytes of the zip and of the sealed result: 256 MiB in base64 and a little */

/* The files of the workflow; NULL or -1: not in the zip. Those in memory have a NUL after them. */
struct result_files {
	int result;   /* result.kettle: sealed, perhaps too large for memory; a file without a name */
	char *report; /* doctor.json */
	size_t report_size;
	char *error; /* error.txt */
	size_t error_size;
};

#define RESULT_FILES_NONE ((struct result_files){.result = -1})

void result_files_free(struct result_files *files);
/*
 * Reads a zip from a file, after checking its size and SHA-256 (64 digits; "": unknown). Ignores other files in it.
 * ECONFLICT: another size or digest; EINVAL: damaged, or no zip; ETOOBIG: too many or too large files; EIO.
 */
int result_zip_read(
	int fd, uint64_t size, const char *sha256, struct result_files *ret_files, struct kettle_error *err);

#endif
