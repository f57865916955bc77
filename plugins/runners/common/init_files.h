/* SPDX-License-Identifier: MIT */
/* `kettle runner init`: the files that it writes, and what the operator does next. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <kettle/host.h>
#include <stddef.h>
#include <sys/types.h>

/* One call of `init` of kettle/runner.h. */
struct init {
	json_t *section; /* the runner's */
	json_t *args;
	json_t *files, *next; /* the result */
	struct kettle_error err;
	int (*write)(struct init *init, struct kettle_error *err);
	kettle_answer done;
	void *arg;
};

/* Runs `write` on a thread of the pool, where it may block; the answer comes after this has returned. */
int init_run(const struct kettle_host *host, const json_t *section, const json_t *args,
	int (*write)(struct init *init, struct kettle_error *err), kettle_answer done, void *arg, struct kettle_error *err);

/* ---- for write; all block ---- */

/*
 * Writes FOLDER/NAME of the args, with the folders in NAME, and adds it to the files as created, replaced or
 * unchanged. ECONFLICT: a different file exists, and args do not say `force`; EACCES, EIO.
 */
int init_file_write(
	struct init *init, const char *name, const void *data, size_t size, mode_t mode, struct kettle_error *err);
/*
 * Makes a key for sealing, in a file that only its owner can read, and adds it to the files likewise. Only checks a
 * key that exists. EINVAL: it is no key; EIO, and the errors of reading it.
 */
int init_key_write(struct init *init, const char *path, struct kettle_error *err);
void init_file_add(json_t *files, const char *path, const char *state);
void init_say(struct init *init, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The text of an option of args; NULL: not given. Borrowed. */
const char *init_option(const json_t *args, const char *name);
/* EINVAL: args have an option that is not in the NULL-terminated list; the sentence lists the known ones. */
int init_options_check(const json_t *args, const char *const *names, struct kettle_error *err);
