/* SPDX-License-Identifier: MIT */
/* Copies a folder without allocating, for init's writable job folder. Private to the library. */
#ifndef KETTLE_SANDBOX_COPY_H
#define KETTLE_SANDBOX_COPY_H

/*
 * Copies folders, regular files and links below `source` into the existing folder `target`; never follows links.
 * `owner` (-1: unchanged) is the user and group of the copies. 0, or -1 with errno: ELOOP for more than 64 nested
 * folders, EINVAL for any other kind of file.
 */
int sandbox_copy_tree(const char *source, const char *target, int owner);

#endif
