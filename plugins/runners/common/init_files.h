/* SPDX-License-Identifier: MIT */
/* The files that `kettle runner init` writes. All on the operator's process, which may block. */
#ifndef KETTLE_RUNNERS_COMMON_INIT_FILES_H
#define KETTLE_RUNNERS_COMMON_INIT_FILES_H

#include <jansson.h>
#include <kettle/error.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Writes FOLDER/NAME of the args of `init` (name may have folders in it, which are made) and adds it to the list `files` of its
 * result as created, replaced or unchanged. ECONFLICT: there is another one, and args do not say `force`; EACCES, EIO.
 */
int init_file_write(json_t *files, const json_t *args, const char *name, const void *data, size_t size, mode_t mode,
	struct kettle_error *err);
/*
 * Makes a key that seals, in a file that only its owner can read, and adds it to `files` likewise; one that is there is only checked.
 * EINVAL: it is no key; EIO, and those of reading it.
 */
int init_key_write(json_t *files, const char *path, struct kettle_error *err);
/* The text of an option of args; NULL: not given. Borrowed. */
const char *init_option(const json_t *args, const char *name);
/*
 * EINVAL: args have an option that is not in the NULL-terminated list; the sentence names those that are.
 */
int init_options_check(const json_t *args, const char *const *names, struct kettle_error *err);

#endif
