/* SPDX-License-Identifier: MIT */
/*
 * What is in the envelope of a result: one line of JSON, {"protocol": 1, "version": of Kettle, "run": the text of `--run` or
 * absent, "completion": the `done` event of kettle-exec, "files": [{"path": "STEP/NAME", "size", "sha256"}]}, and then the
 * bytes of the files in this order, without anything between or behind them. All [any, blocks].
 */
#ifndef KETTLE_SEALED_RESULT_PACKAGE_H
#define KETTLE_SEALED_RESULT_PACKAGE_H

#include <jansson.h>
#include <kettle/error.h>
#include <stddef.h>

#define RESULT_PACKAGE_PROTOCOL 1
#define RESULT_PACKAGE_MAX (256u << 20)     /* bytes of one, as kettle-exec writes them and runners should read them */
#define RESULT_PACKAGE_MAX_LINE (64u << 20) /* bytes of the JSON */

/*
 * Packs a completion with the artifacts that its outcomes name, which lie in the folder spool as STEP/NAME, as long as there
 * is room for them; new bytes. `run` may be NULL. EINVAL: a name leads out of the folder; ENOENT, EIO: a file is missing or not
 * what the outcome says; ETOOBIG: it would exceed max_size without any file.
 */
int result_package_write(const json_t *completion, const char *spool, const char *run, size_t max_size, char **ret_data,
	size_t *ret_size, struct kettle_error *err);
/*
 * Reads one and, where spool is not NULL, writes its files into that folder, which is made if needed, as new files
 * STEP/NAME (0600). All is checked before the first file is written; an EIO may leave some of them. *ret_completion is a
 * new reference; *ret_run a new string, NULL where it has none. EVERSION: it is of another protocol, and the sentence names
 * the versions of both sides; EINVAL: it is not complete, has a name that leads out of the folder, or a file that differs from
 * its size or digest.
 */
int result_package_read(const void *data, size_t size, const char *spool, json_t **ret_completion, char **ret_run,
	struct kettle_error *err);

#endif
