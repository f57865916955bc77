/* SPDX-License-Identifier: MIT */
/* Images of warm processes: files with their memory, and the places where sandboxes show them. */
#pragma once

#include <stdbool.h>

struct strings;

/* Paths in the sandbox of a run that began as a copy of a warm process. */
#define IMAGE_FOLDER "/run/kettle-warm"
#define IMAGE_SHOWN IMAGE_FOLDER "/image" /* the memory */
#define IMAGE_HOME IMAGE_FOLDER "/home"   /* the interpreter's installation, with the interpreter itself */

/* A file for an image, open for reading and writing. Zero fd and NULL path: none. */
struct image {
	int fd;
	char *path;
	bool memory; /* it is in memory, not on a disk */
};

/*
 * Makes an empty image in `folder`, or in memory if only that has room for several. 0, or -1: it could not be made. If
 * this process ends without image_remove, image_remove_stale of a later one removes the image. [any, blocks]
 */
int image_make(const char *folder, struct image *ret_image);
/* Removes an image. Sandboxes that show it keep it. A zeroed one is allowed. [any, blocks] */
void image_remove(struct image *image);
/* Whether the image was removed by others, as happens when a user logs out. */
bool image_is_lost(const struct image *image);
/* Whether a sandbox that shows `folders` also shows `folder`: it is the system's, one of them, or below one. [any] */
bool image_is_visible(const char *folder, const struct strings *folders);
/* Removes images that ended processes of this user have left. [any, blocks] */
void image_remove_stale(void);
