/* SPDX-License-Identifier: MIT */
/*
 * The content of a result's envelope: one line of JSON, {"protocol": 1, "version": of Kettle, "run": the text of
 * `--run` or absent, "completion": the `done` event of kettle-exec, "files": [{"path": "STEP/NAME", "size",
 * "sha256"}]}, and then the bytes of the files in this order, with nothing between or after them. All [any, blocks].
 */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bounded_json.h"

#define RESULT_PACKAGE_MAX_LINE BOUNDED_JSON_RESULT_BYTES /* bytes of the JSON */

#define RESULT_PACKAGE_PROTOCOL 1
#define RESULT_PACKAGE_MAX (256u << 20) /* bytes of a package, as kettle-exec writes it and runners should read it */
#define RESULT_PACKAGE_STAGE ".part"    /* behind the name of a folder: its files until they are proven */

/*
 * Packs a completion with the artifacts that its outcomes name, which lie in the folder spool as STEP/NAME, as long as there
 * is room for them; new bytes. `run` may be NULL. EINVAL: a name leads out of the folder; ENOENT, EIO: a file is missing or not
 * what the outcome says; ETOOBIG: it would exceed max_size without any file.
 */
int result_package_write(const json_t *completion, const char *spool, const char *run, size_t max_size, char **ret_data,
	size_t *ret_size, struct kettle_error *err);

/*
 * Reads a package in pieces, for example from sealed_open_stream, with result_reader_take as its sink. The line is read
 * first and held, and its announcements are checked before a byte of a file is taken; the files then go, piece by
 * piece, into a folder beside `spool`. `spool` itself gets nothing before result_reader_finish.
 */
struct result_reader; /* opaque */
/* spool: the folder for the files; NULL: they are only checked. max_size: bytes of the package, by its own line. */
struct result_reader *result_reader_new(const char *spool, uint64_t max_size);
/* Frees the reader and removes files that were not published. NULL is allowed. */
void result_reader_free(struct result_reader *reader);
/* Bytes of the line that was read, without the files; 0: none yet. */
size_t result_reader_line_size(const struct result_reader *reader);
/*
 * Takes the next bytes; reader: a struct result_reader. EVERSION: it is of another protocol, and the sentence names the
 * versions of both sides; EINVAL: it is damaged, has a name that leads out of the folder, or a file that differs from
 * its digest; ETOOBIG: its line is longer or has more values than is read, or announces more than max_size; ECONFLICT:
 * two of its files cannot both be there; EIO: one cannot be written.
 */
int result_reader_take(void *reader, const void *data, size_t size, struct kettle_error *err);
/*
 * Call after the last byte, once the bytes are proven: its files (0600) become the content of `spool`, in place of the
 * old; without files, `spool` is removed. *ret_completion is a new reference; *ret_run a new string, NULL where it has
 * none. EINVAL: it is not complete; EIO.
 */
int result_reader_finish(
	struct result_reader *reader, json_t **ret_completion, char **ret_run, struct kettle_error *err);
