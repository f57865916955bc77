/* SPDX-License-Identifier: MIT */
/* Copies folders within init. Private to the library. */
#pragma once

/*
 * Copies folders, regular files and links below `source` into the existing folder `target`; never follows links.
 * Existing files of any kind stay, and folders are joined. The target file system's size limits the copy; a file that
 * does not fit is not left in part. `owner` (-1: unchanged) is the user and group of the copies. 0, or -1 with errno:
 * ENOSPC, ELOOP for more than 64 nested folders, EINVAL for any other kind of file.
 */
int copy_tree(const char *source, const char *target, int owner);
