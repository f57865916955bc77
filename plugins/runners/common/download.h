/* SPDX-License-Identifier: MIT */
/* Files for data from a remote side that is too large for memory, in folders of their own below TMPDIR. All [any]. */
#pragma once

#include <kettle/error.h>

/* The place of a file, such as an `answer_file` of kettle_http_request. Zero-initialise. */
struct download {
	char *folder, *path; /* path: the file's, which does not exist yet */
};

/* Makes the folder. EIO. */
int download_make(struct download *ret_download, struct kettle_error *err);
/* Opens the file, which exists by now, and removes its name and its folder: it exists until ret_fd is closed. EIO. */
int download_open(struct download *download, int *ret_fd, struct kettle_error *err);
/* Removes the file and the folder, if they exist. */
void download_remove(struct download *download);
/* A new file without a name, to be written and read. EIO. */
int download_file(int *ret_fd, struct kettle_error *err);
