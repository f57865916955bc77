/* SPDX-License-Identifier: MIT */
/*
 * Sealed envelopes: how a plan travels to kettle-exec, and its result back, over channels that strangers can read.
 *
 * An envelope: the magic "KTLE1\n", a byte for the kind, a length of two bytes (big-endian) and the job's name, the 32
 * bytes of the plan's hash, a nonce of 12 random bytes, then by AES-256-GCM what zlib made of the content, and a tag of
 * 16 bytes. The tag also covers all that comes before the ciphertext. The key is the attempt's, derived from the unit's
 * by HKDF-SHA256 without a salt, with the job's name as its info. The text form is standard base64 of all that. All
 * [any].
 */
#pragma once

#include <kettle/error.h>
#include <stddef.h>
#include <stdint.h>

#define SEALED_KEY_SIZE 32
#define SEALED_MAX_JOB 128            /* bytes of a job's name: letters, digits, ".", "_", "-" */
#define SEALED_MAX_CONTENT (1u << 30) /* bytes of an envelope's content */
#define SEALED_PIECE 49152            /* bytes of a large one that are held at a time: 65,536 characters of base64 */

/* The direction; a plan's envelope cannot come back as a result. */
enum sealed_kind {
	SEALED_PLAN = 1,   /* to kettle-exec: {"unit", "plan"} as JSON */
	SEALED_RESULT = 2, /* from it: see result_package.h */
};

/* The identity that an envelope is bound to. */
struct sealed_scope {
	const char *job;       /* database, job and attempt: "kettle-1f0c9a3e-12.1" */
	const char *plan_hash; /* 64 lower-case hexadecimal digits */
};

/*
 * The unit's key from its text: 44 characters of base64, white space around them allowed. EINVAL; the sentence repeats
 * nothing of the text. Wipe the key with explicit_bzero after use.
 */
int sealed_key_parse(const char *text, unsigned char ret_key[SEALED_KEY_SIZE], struct kettle_error *err);
/* The key of one attempt. */
void sealed_key_derive(
	const unsigned char key[SEALED_KEY_SIZE], const char *job, unsigned char ret_attempt_key[SEALED_KEY_SIZE]);
/* Seals bytes under a nonce of its own; new bytes. EINVAL (no such job or hash), ETOOBIG. */
int sealed_seal(const unsigned char attempt_key[SEALED_KEY_SIZE], enum sealed_kind kind,
	const struct sealed_scope *scope, const void *data, size_t size, char **ret_data, size_t *ret_size,
	struct kettle_error *err);
/*
 * The identity that an envelope in either form claims, before anything proves it. The job's name is a new string.
 * EINVAL: it is no envelope; EVERSION: it is of another version.
 */
int sealed_read_scope(const void *data, size_t size, enum sealed_kind *ret_kind, char **ret_job, char ret_plan_hash[65],
	struct kettle_error *err);
/*
 * The content of an envelope in either form; new bytes with a NUL behind them, at most max_size of them. EINVAL: it is
 * no envelope; EVERSION; ECONFLICT: it is of another kind, job, attempt or plan; EACCES: it was not sealed with this
 * key, or was changed; ETOOBIG.
 */
int sealed_open(const unsigned char attempt_key[SEALED_KEY_SIZE], enum sealed_kind kind,
	const struct sealed_scope *scope, const void *data, size_t size, size_t max_size, char **ret_data, size_t *ret_size,
	struct kettle_error *err);

/* An envelope in either form that is read in pieces, from the first byte to the last and twice. */
struct sealed_source {
	uint64_t size;
	/* Reads exactly these bytes, at most SEALED_PIECE of them, or a third more of the text form. 0 or a negative code. */
	int (*read)(void *arg, uint64_t offset, void *data, size_t size, struct kettle_error *err);
	void *arg;
};
/* Takes the next piece of a content, at most SEALED_PIECE bytes. 0, or a negative code, which ends the opening. */
typedef int (*sealed_sink)(void *arg, const void *data, size_t size, struct kettle_error *err);

/*
 * Opens an envelope that may be too large for memory; two pieces of it are held at a time. Its header and size are
 * checked before more of it is read. It is read once to prove it. Only then the content goes to the sink, while it is
 * proven again, since a file that others may write to can change in between: the sink must publish nothing until this
 * has returned 0. Errors: as sealed_open, and those of the source and the sink. [blocks]
 */
int sealed_open_stream(const unsigned char attempt_key[SEALED_KEY_SIZE], enum sealed_kind kind,
	const struct sealed_scope *scope, const struct sealed_source *source, uint64_t max_size, sealed_sink sink,
	void *arg, struct kettle_error *err);
/* The text form of an envelope; new string. */
char *sealed_to_text(const void *data, size_t size);
