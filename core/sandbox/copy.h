/* SPDX-License-Identifier: MIT */
/* Copies a folder without allocating: for init, which builds a writable job folder. The library's own. */
#ifndef KETTLE_SANDBOX_COPY_H
#define KETTLE_SANDBOX_COPY_H

/*
 * Copies folders, regular files and links below `source` into the existing folder `target`; links are copied, never
 * followed. `owner` (-1: none) becomes user and group of what is made. 0, or -1 with errno: ELOOP for folders nested
 * over 64, EINVAL for anything else than those three.
 */
int sandbox_copy_tree(const char *source, const char *target, int owner);

#endif
