/* SPDX-License-Identifier: MIT */
/* Builds: which steps may build now, what they read, and what earlier builds left. */
#ifndef KETTLE_EXEC_BUILD_BUILD_H
#define KETTLE_EXEC_BUILD_BUILD_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "exec/util/collect_outputs.h"
#include "exec/util/sha256.h"
#include "exec/util/strings.h"

/* ---- build_slots.c: show at most N builds at once, and never two of the same ---- */

/* The build slots of this machine, first come first served. Loop thread. */
struct build_slots {
	unsigned max, running;
	struct build_waiter *queue;
	struct build_inflight *flights;
};

/* One request for a slot; zero-initialise, stays where it is. */
struct build_waiter {
	bool waits, held;
	void (*granted)(void *arg);
	void *arg;
	struct build_waiter *next;
};
/* Takes a slot. True: it is held now; false: granted comes later. */
bool build_slots_acquire(struct build_slots *builds, struct build_waiter *slot, void (*granted)(void *arg), void *arg);
/* Gives it back, or stops waiting. */
void build_slots_release(struct build_slots *builds, struct build_waiter *slot);

/* A build under way, by its key; zero-initialise, stays where it is. */
struct build_inflight {
	char key[DIGEST_HEX_SIZE];
	bool listed, building;
	void (*granted)(void *arg);
	void *arg;
	struct build_inflight *next;
};
/* True: no other job builds this key; false: granted comes when those before have ended. */
bool build_slots_begin(
	struct build_slots *builds, struct build_inflight *flight, const char *key, void (*granted)(void *arg), void *arg);
/* Ends it, or stops waiting. */
void build_slots_end(struct build_slots *builds, struct build_inflight *flight);

/* ---- reads.c: which paths of the machine a build looked at, and what each of them was ---- */

#define READS_MAX_BYTES (4u << 20) /* of the records of one build; one that looks at more is not kept */

enum reads_how {
	READS_AT,      /* what a path leads to; of a folder only that it is one */
	READS_LINK,    /* a link itself */
	READS_ENTRIES, /* as READS_AT, and which entries a folder has */
};

/* Zero-initialise; reads_free at the end. One thread at a time. */
struct reads {
	struct buf records;
	bool unsure; /* something changes right now, or there is too much of it */
	uint64_t salt;
	size_t count, slots_count;
	uint32_t *slots;
};

/*
 * Notes what a path is now, before the build looks at it, once for each path; where nothing is, that. May wait for some ms.
 * [any, blocks]
 */
void reads_add(struct reads *reads, enum reads_how how, const char *path);
/* Whether all of the records hold still: what is at each path is as it was. False: they are damaged, too. [any, blocks] */
bool reads_hold(const char *records, size_t size);
void reads_free(struct reads *reads);

/* ---- recorder.c: follows the processes of a build and notes what they read ---- */

struct recorder; /* opaque; has a thread of its own */

/* How a recording ended. */
enum recorder_end {
	RECORDER_WHOLE,  /* the reads are all that there were */
	RECORDER_UNSURE, /* they are not: the build was not started, or reads.unsure */
	RECORDER_UNABLE, /* this machine does not let the processes be followed */
};

/*
 * Begins to wait for a payload whose sandbox_config.record is *ret_socket, which the caller closes after sandbox_start. Of
 * what it reads the system's files count, and what lies in the folders `seen`; with `all` (no root of its own) everything
 * but `private_dir` and what processes make for themselves: /tmp, /dev, /proc, /run, /sys. NULL: no thread or no socket.
 */
struct recorder *recorder_new(const struct strings *seen, const char *private_dir, bool all, int *ret_socket);
/* After the payload's sandbox has ended. *ret_reads are those of the build. Frees the recorder. [any, blocks for some ms] */
enum recorder_end recorder_end(struct recorder *recorder, struct reads *ret_reads);

/* ---- cache.c: what a build left, by the digest of all that it depends on ---- */

#define CACHE_MAX_MANIFEST (8u << 20)
/* Stores between two checks of the size; an entry larger than its owner's share divided by this causes one, too. */
#define CACHE_TRIM_EVERY 32

/*
 * STATE/cache/KEY/ holds manifest.json, the files below files/, `reads`, the records of what the build read, and `owner`: the name of the user whose submission left
 * it, empty where no submission has a part in it (a board's own). An entry is made elsewhere and renamed into its
 * place, so that it is there whole or not at all; its reads and its files' digests are checked when it is used. The manifest's time is that of the last use. Any number of processes may share a cache.
 */
struct cache {
	char *dir;
	uint64_t max_bytes, max_user_bytes;
	int64_t max_age_s;
	bool large; /* what lies in it is linked, not copied, and known by its size; set before it is used */
};

int cache_open(struct cache *cache, const char *state, uint64_t max_bytes, uint64_t max_user_bytes,
	unsigned max_age_days, struct kettle_error *err);
void cache_close(struct cache *cache);
/* The most bytes that the entries of an owner may take together; NULL: those of boards. */
uint64_t cache_share(const struct cache *cache, const char *owner);

/*
 * Brings the files of an entry into the folder `to` (by hard link where `link`). Returns what cache_put was given with
 * them, a new reference, or NULL: there is no entry; one that is damaged, or whose build would read something else now, is
 * removed. [any, blocks]
 */
json_t *cache_get(const struct cache *cache, const char *key, const char *to, bool link, struct manifest *ret_files);
/*
 * Keeps an entry: `files`, lying in the folder `from`, what their build read (NULL: not known, and in the key as far
 * as it can be), and the members of `more`, an object. The new entry is built in
 * `scratch`, an empty folder on the same file system. One that is there already stays. owner: as in the plan, NULL: a
 * board's own. KETTLE_ETOOBIG: it alone exceeds its owner's share. [any, blocks]
 */
int cache_put(const struct cache *cache, const char *key, const char *owner, const struct manifest *files,
	const char *from, const struct reads *reads, const json_t *more, const char *scratch, struct kettle_error *err);
/*
 * The same in the place of one that is there, of files that no build left. The folder `from` becomes the entry's, and
 * what was there before, or is of no use, lies in `scratch` afterwards. [any, blocks]
 */
int cache_replace(const struct cache *cache, const char *key, const char *owner, const struct manifest *files,
	const char *from, const char *scratch, struct kettle_error *err);
/*
 * Removes what is too old, then of each owner the oldest beyond its share, then, where all is still too much, the oldest
 * of the user who has most: never a board's own, which only other boards displace. What goes is moved beside `scratch`
 * (a path on the same file system) first. [any, blocks]
 */
void cache_trim(const struct cache *cache, const char *scratch);

/* ---- jit_cache_layer.c: what compilers kept in one run, for later runs of the same job to begin with ---- */

/* Stretches of time. */
struct interval {
	int64_t from, to;
};
/* May overlap, in any order. Zero-initialise; interval_sum_free at the end. */
struct interval_sum {
	struct interval *list;
	size_t count;
};
void interval_sum_add(struct interval_sum *spans, int64_t from, int64_t to);
/* How long at least one of them goes on, and from the first begin to the last end; 0: there is none. Sorts them. */
int64_t interval_sum_union(const struct interval_sum *spans, struct interval *ret_whole);
void interval_sum_free(struct interval_sum *spans);

#define JIT_CACHE_LAYER_MAX_BYTES (UINT64_C(1) << 30) /* of all layers of a job together, as its files */
#define JIT_CACHE_LAYER_MAX_FILES 50000               /* files, folders and what else is there */
/* Entries that are looked at: where there is no overlay, what the run began with is there, too. */
#define JIT_CACHE_LAYER_MAX_SEEN (2 * JIT_CACHE_LAYER_MAX_FILES)
#define JIT_CACHE_LAYER_MAX_FOLDERS \
	20 /* that are counted by name; the files of others, and in none, as JIT_CACHE_LAYER_OTHERS */
#define JIT_CACHE_LAYER_OTHERS "."

/* Zero-initialise; jit_cache_layer_free at the end, which leaves its files. */
struct jit_cache_layer {
	char *path; /* its folder; NULL: there is none */
	struct manifest files;
	uint64_t bytes;
	size_t count;    /* files, without folders */
	json_t *folders; /* first folder of the path → files */
	/*
	 * When compilers were at work, in CLOCK_REALTIME's ns: for each folder below the first one of the path, from its birth
	 * to the last write in it; of other files alone. The kernel keeps these times, no program can set them.
	 */
	struct interval_sum work;
};
/* What a run began with, so that a layer has what is new. */
struct jit_cache_source {
	const char *const *below; /* folders; of files with the same path the first one counts */
	/* the first `own` of them the job's runs made and may change; a file of another is never replaced */
	size_t count, own;
	uint64_t bytes; /* of the own ones: they count in the limits */
	size_t entries;
};
/*
 * Copies what a run left in its cache, which nothing uses any more, into the new folder `to`: regular files with plain
 * names and their folders, without locks (output_is_lock) and without what it began with. KETTLE_ETOOBIG: it is over a limit, with a sentence for
 * people; KETTLE_EIO: the machine's trouble. Nothing is left then. The folder and what is in it can be written by others, so
 * it must be below one that is closed to them. [any, blocks]
 */
int jit_cache_layer_take(int from, const struct jit_cache_source *source, const char *to,
	struct jit_cache_layer *ret_layer, struct kettle_error *err);
/* Gives files that lie in a folder a layer's modes. [any, blocks] */
void jit_cache_layer_open(const char *folder, const struct manifest *files);
void jit_cache_layer_free(struct jit_cache_layer *layer);

#endif
