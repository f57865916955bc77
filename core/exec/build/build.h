/* SPDX-License-Identifier: MIT */
/* Builds: which steps may build now, what they read, and what earlier builds left. */
#pragma once

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "exec/util/collect_outputs.h"
#include "exec/util/sha256.h"
#include "exec/util/strings.h"

/* ---- build_slots.c: at most N builds at once, and never two of the same ---- */

/* Limits how many builds run at once on this machine. Slots go to the oldest request. Loop thread only. */
struct build_slots {
	unsigned max, running;
	struct build_waiter *queue;
	struct build_inflight *flights;
};

/* One request for a slot. Zero-initialise; it must stay where it is while it waits or holds. */
struct build_waiter {
	bool held;
	void (*granted)(void *arg);
	void *arg;
	struct build_waiter *next;
};
/* Requests a slot, of which it has none. True: it is held at once; false: granted is called later. */
bool build_slots_acquire(struct build_slots *builds, struct build_waiter *slot, void (*granted)(void *arg), void *arg);
/* Gives the slot back, or stops waiting. */
void build_slots_release(struct build_slots *builds, struct build_waiter *slot);

/* A build under way, by its key. Zero-initialise; it must stay where it is. */
struct build_inflight {
	char key[DIGEST_HEX_SIZE];
	bool listed, building;
	void (*granted)(void *arg);
	void *arg;
	struct build_inflight *next;
};
/* True: no other job builds this key; false: granted is called when the builds before have ended. */
bool build_slots_begin(
	struct build_slots *builds, struct build_inflight *flight, const char *key, void (*granted)(void *arg), void *arg);
/* Ends the build, or stops waiting. */
void build_slots_end(struct build_slots *builds, struct build_inflight *flight);

/* ---- reads.c: the paths of the machine that a build looked at, and the state of each ---- */

#define READS_MAX_BYTES (4u << 20) /* of the records of one build; with more its result is not kept */

enum reads_how {
	READS_AT,      /* the target of a path; of a folder only that it is one */
	READS_LINK,    /* a link itself */
	READS_ENTRIES, /* as READS_AT, and the entries of a folder */
};

/* Zero-initialise; call reads_free at the end. One thread at a time. */
struct reads {
	struct buf records;
	bool unsure; /* something changes at the moment, or there are too many records */
	uint64_t salt;
	size_t count, slots_count;
	uint32_t *slots;
};

/*
 * Records the state of a path, also that nothing is there, before the build looks at it; once for each path. May wait
 * for some ms. [any, blocks]
 */
void reads_add(struct reads *reads, enum reads_how how, const char *path);
/* Whether every path is in the recorded state. False: one is not, or the records are damaged. [any, blocks] */
bool reads_hold(const char *records, size_t size);
void reads_free(struct reads *reads);

/* ---- recorder.c: follows the processes of a build and records their reads ---- */

struct recorder; /* opaque; has a thread of its own */

/* The result of a recording. */
enum recorder_end {
	RECORDER_WHOLE,  /* the reads are complete */
	RECORDER_UNSURE, /* they are not complete: the build did not start, or reads.unsure is set */
	RECORDER_UNABLE, /* this machine does not allow to follow the processes */
};

/*
 * Begins to wait for a payload whose sandbox_config.record is *ret_socket; the caller closes that after sandbox_start.
 * Records reads of the system's files and of the folders `seen`; with `all` (no root of its own) of everything except
 * `private_dir` and the folders that processes fill themselves: /tmp, /dev, /proc, /run, /sys. NULL: there is no thread
 * or no socket.
 */
struct recorder *recorder_new(const struct strings *seen, const char *private_dir, bool all, int *ret_socket);
/*
 * Call it after the payload's sandbox has ended. *ret_reads: the reads of the build. Frees the recorder. [any, blocks
 * for some ms]
 */
enum recorder_end recorder_end(struct recorder *recorder, struct reads *ret_reads);

/* ---- cache.c: the results of builds, by the digest of everything that they depend on ---- */

#define CACHE_MAX_MANIFEST (8u << 20)
/* Stores between two checks of the size. An entry larger than this part of its owner's share causes one, too. */
#define CACHE_TRIM_EVERY 32

/*
 * STATE/cache/KEY/ holds manifest.json, the files below files/, `reads` (the records of what the build read) and
 * `owner` (the name of the user whose submission left the entry; empty for a board's own, in which no submission has a
 * part). An entry is made elsewhere and renamed into its place, so it is there whole or not at all. Its reads and the
 * digests of its files are checked when it is used. The manifest's time is that of the last use. Any number of
 * processes may share a cache.
 */
struct cache {
	char *dir;
	uint64_t max_bytes, max_user_bytes;
	int64_t max_age_s;
	bool large; /* entries are linked, not copied, and checked by size; set before the first use */
};

int cache_open(struct cache *cache, const char *state, uint64_t max_bytes, uint64_t max_user_bytes,
	unsigned max_age_days, struct kettle_error *err);
void cache_close(struct cache *cache);
/* The most bytes for all entries of an owner; NULL: of boards. */
uint64_t cache_share(const struct cache *cache, const char *owner);

/*
 * Brings the files of an entry into the folder `to` (by hard link with `link`). Returns the object `more` of cache_put,
 * a new reference; NULL: there is no entry. Removes an entry that is damaged, or whose build would read something else
 * now. [any, blocks]
 */
json_t *cache_get(const struct cache *cache, const char *key, const char *to, bool link, struct manifest *ret_files);
/*
 * Stores an entry: `files` from the folder `from`, the reads of their build (NULL: not known, and covered by the key as
 * far as possible), and the members of the object `more`. The entry is made in `scratch`, an empty folder on the same
 * file system. An entry that exists stays. owner: as in the plan, NULL: a board's own. KETTLE_ETOOBIG: the entry alone
 * exceeds its owner's share. [any, blocks]
 */
int cache_put(const struct cache *cache, const char *key, const char *owner, const struct manifest *files,
	const char *from, const struct reads *reads, const json_t *more, const char *scratch, struct kettle_error *err);
/*
 * As cache_put, but replaces an existing entry, with files that no build left. The folder `from` becomes the entry's;
 * the old entry, or one of no use, is in `scratch` afterwards. [any, blocks]
 */
int cache_replace(const struct cache *cache, const char *key, const char *owner, const struct manifest *files,
	const char *from, const char *scratch, struct kettle_error *err);
/*
 * Removes entries that are too old, then the oldest ones of each owner beyond its share. If all together are still too
 * large, removes the oldest ones of the user who has most; a board's own entries are displaced by other boards alone.
 * Moves an entry beside `scratch` (a path on the same file system) before it removes it. [any, blocks]
 */
void cache_trim(const struct cache *cache, const char *scratch);

/* ---- jit_cache_layer.c: files of compilers from one run, for later runs of the same job ---- */

/* A period of time. */
struct interval {
	int64_t from, to;
};
/* Periods that may overlap, in any order. Zero-initialise; call interval_sum_free at the end. */
struct interval_sum {
	struct interval *list;
	size_t count;
};
void interval_sum_add(struct interval_sum *spans, int64_t from, int64_t to);
/*
 * How long at least one period lasts; *ret_whole: from the first begin to the last end. 0: there are none. Sorts them.
 */
int64_t interval_sum_union(const struct interval_sum *spans, struct interval *ret_whole);
void interval_sum_free(struct interval_sum *spans);

#define JIT_CACHE_LAYER_MAX_BYTES (UINT64_C(1) << 30) /* of all layers of a job together */
#define JIT_CACHE_LAYER_MAX_FILES 50000               /* files, folders and other entries */
/* Entries that are looked at: without an overlay these include the ones that the run began with. */
#define JIT_CACHE_LAYER_MAX_SEEN (2 * JIT_CACHE_LAYER_MAX_FILES)
#define JIT_CACHE_LAYER_MAX_FOLDERS 20 /* counted by name; other files count as JIT_CACHE_LAYER_OTHERS */
#define JIT_CACHE_LAYER_OTHERS "."

/* Zero-initialise; call jit_cache_layer_free at the end, which keeps the files. */
struct jit_cache_layer {
	char *path; /* the folder; NULL: none */
	struct manifest files;
	uint64_t bytes;
	size_t count;    /* files, without folders */
	json_t *folders; /* first folder of the path → number of files */
	/*
	 * When compilers were at work, in ns of CLOCK_REALTIME: for each folder below the first one of a path, from its
	 * creation to the last write in it; for other files, each alone. The kernel keeps these times, and no program can
	 * set them.
	 */
	struct interval_sum work;
};
/* The files that a run began with, so that its layer has only new ones. */
struct jit_cache_source {
	const char *const *below; /* folders; of files with the same path, that of the first folder counts */
	/*
	 * The first `own` folders are from the job's own runs and may be changed; a file of another folder is never
	 * replaced.
	 */
	size_t count, own;
	uint64_t bytes; /* of the own folders, which count in the limits */
	size_t entries;
};
/*
 * Copies the files that a run left in its cache into the new folder `to`: regular files with plain names and their
 * folders, except for locks (output_is_lock) and files that the run began with. No process may use the cache any more.
 * KETTLE_ETOOBIG: a limit is exceeded, with a sentence for people; KETTLE_EIO: the machine failed. Then nothing is
 * left. Others can write to the folder and its files, so it must be below a folder that is closed to them. [any,
 * blocks]
 */
int jit_cache_layer_take(int from, const struct jit_cache_source *source, const char *to,
	struct jit_cache_layer *ret_layer, struct kettle_error *err);
/* Sets the modes of a layer on files in a folder. [any, blocks] */
void jit_cache_layer_open(const char *folder, const struct manifest *files);
void jit_cache_layer_free(struct jit_cache_layer *layer);
