/* SPDX-License-Identifier: MIT */
/* Where the parts of an installation are, which may have been moved as a whole. [any] */
#ifndef KETTLE_INSTALLED_H
#define KETTLE_INSTALLED_H

/*
 * The file or folder that configure gave the absolute path `configured`. It is looked for from where the running program
 * lies (/proc/self/exe): in a build folder as `in_build` below it (NULL: it is none of a build folder's parts), else where
 * it is when everything was moved together. Where nothing is there, `configured` itself, which may not exist either.
 * Real path if it exists. New string; NULL: no memory.
 */
char *installed_path(const char *in_build, const char *configured);
/*
 * The path that leads from one absolute folder to another place (`../lib/x` from `/usr/bin` to `/usr/lib/x`), by their
 * names alone. New string; NULL: no memory.
 */
char *installed_way(const char *from, const char *to);

#endif
