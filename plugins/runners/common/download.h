/* SPDX-License-Identifier: MIT */
/* Files for what a remote side sends and is too large for the memory, in folders of their own below TMPDIR. All [any]. */
#ifndef KETTLE_RUNNERS_COMMON_DOWNLOAD_H
#define KETTLE_RUNNERS_COMMON_DOWNLOAD_H

#include <kettle/error.h>

/* The place of a file, such as an `answer_file` of kettle_http_request. Zero-initialise. */
struct download {
	char *folder, *path; /* path: of the file, which is not there yet */
};

/* Makes the folder. EIO. */
int download_make(struct download *ret_download, struct kettle_error *err);
/* Opens the file that is there now, and removes its name and the folder: it goes with the descriptor. EIO. */
int download_open(struct download *download, int *ret_fd, struct kettle_error *err);
/* Removes what there is of it, if anything. */
void download_remove(struct download *download);
/* A new file without a name, to be written and read. EIO. */
int download_file(int *ret_fd, struct kettle_error *err);

#endif
