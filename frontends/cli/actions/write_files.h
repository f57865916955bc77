/* SPDX-License-Identifier: MIT */
/* Files that an answer brought, written where somebody wants them: nothing is overwritten, no name leaves its folder. */
#ifndef KETTLE_CLI_SAVE_H
#define KETTLE_CLI_SAVE_H

#include <jansson.h>
#include <kettle/error.h>
#include <stddef.h>

#define SAVE_MAX_FILES 2000

/* Writes a file that is not there yet. ECONFLICT: it is; EACCES, EINVAL (no such folder), EIO. */
int save_file(const char *path, const void *data, size_t size, struct kettle_error *err);
/*
 * Makes a folder that is not there yet and fills it: files is an object of relative path → contents ({"text"} or
 * {"base64"}). All of them or, on an error, nothing: the folder goes again. ECONFLICT: it is there; EINVAL: a path that
 * is none inside it, two that collide, more than SAVE_MAX_FILES.
 */
int save_folder(const char *path, const json_t *files, struct kettle_error *err);

#endif
