/* SPDX-License-Identifier: MIT */
/* Images of warm processes: files that hold one's memory, and where a sandbox shows them. */
#ifndef KETTLE_EXEC_WARM_IMAGE_H
#define KETTLE_EXEC_WARM_IMAGE_H

#include <stdbool.h>

struct strings;

/* In the sandbox of a run that began as a copy of a warm process. */
#define IMAGE_FOLDER "/run/kettle-warm"
#define IMAGE_SHOWN IMAGE_FOLDER "/image" /* the memory */
#define IMAGE_HOME IMAGE_FOLDER "/home"   /* the interpreter's installation, with the interpreter itself in it */

/* A file to write an image to, open for reading and writing. Zero fd and path NULL: none. */
struct image {
	int fd;
	char *path;
	bool memory; /* it lies in memory, not on a disk */
};

/*
 * Makes an empty one, in `folder`, or in memory where only that has room for several. 0, or -1: it could not be made.
 * Whatever becomes of this process, image_remove_stale of a later one removes it. [any, blocks]
 */
int image_make(const char *folder, struct image *ret_image);
/* Removes it; sandboxes that show it keep it. Zeroed ones are allowed. [any, blocks] */
void image_remove(struct image *image);
/* Whether others have cleaned it away, as they do when a user logs out. */
bool image_is_lost(const struct image *image);
/* Whether a sandbox that is shown these folders sees this one: the system's, one of the list, or below one. [any] */
bool image_is_visible(const char *folder, const struct strings *folders);
/* Removes those that processes of this user have left behind. [any, blocks] */
void image_remove_stale(void);

#endif
