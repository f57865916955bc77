/* SPDX-License-Identifier: MIT */
/* The paths of the machine that a build looked at, and the state of each. */
/*
 * Theory of operation. A record is a struct seen with the path behind it, ended by a NUL. The cache keeps records as
 * they are in memory, for this machine alone. A file's state is its size, inode and times: every change, also in place,
 * moves its ctime, which no program can set. A file system's clock ticks slowly, so a path that changed a moment ago is
 * looked at again after a tick: another change might have the same time.
 */
#include <config.h>

#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/hash.h"
#include "base/xalloc.h"
#include "exec/build/build.h"

#define READS_TICK_NS INT64_C(20000000) /* longer than a tick of any kernel's clock */
#define READS_AHEAD_NS \
	INT64_C(2000000000) /* a time further ahead is from another clock: that of a server, or before a jump */
#define READS_SLOTS 1024
#define NS_PER_S INT64_C(1000000000)

/* The state of a path. */
enum seen_kind { SEEN_NOTHING, SEEN_FILE, SEEN_FOLDER, SEEN_ENTRIES, SEEN_LINK, SEEN_OTHER };
struct seen {
	uint64_t how, kind; /* enum reads_how, enum seen_kind */
	uint64_t size, inode;
	int64_t mtime_ns, ctime_ns;
};

static int64_t
ns_of(struct timespec time)
{
	return time.tv_sec * NS_PER_S + time.tv_nsec;
}

static struct seen
look(enum reads_how how, const char *path)
{
	struct seen seen = {.how = how, .kind = SEEN_NOTHING};
	struct stat st;
	if ((how == READS_LINK ? lstat(path, &st) : stat(path, &st)) != 0)
		return seen;
	seen.kind = S_ISREG(st.st_mode) ? SEEN_FILE : S_ISLNK(st.st_mode) ? SEEN_LINK : SEEN_OTHER;
	if (S_ISDIR(st.st_mode))
		seen.kind = how == READS_ENTRIES ? SEEN_ENTRIES : SEEN_FOLDER;
	if (seen.kind == SEEN_FOLDER || seen.kind == SEEN_OTHER)
		return seen;
	seen.size = (uint64_t)st.st_size;
	seen.inode = st.st_ino;
	seen.mtime_ns = ns_of(st.st_mtim);
	seen.ctime_ns = ns_of(st.st_ctim);
	return seen;
}

static bool
is_recent(const struct seen *seen)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	int64_t age = ns_of(now) - seen->ctime_ns;
	return seen->kind != SEEN_NOTHING && seen->ctime_ns != 0 && age < READS_TICK_NS && age > -READS_AHEAD_NS;
}

/* Looks at a path again after a tick, since a later change then has another time. */
static struct seen
look_again(struct reads *reads, enum reads_how how, const char *path)
{
	const struct timespec tick = {.tv_nsec = READS_TICK_NS};
	if (!reads->unsure)
		(void)nanosleep(&tick, NULL);
	struct seen seen = look(how, path);
	reads->unsure = reads->unsure || is_recent(&seen);
	return seen;
}

static struct seen
seen_at(const struct reads *reads, uint32_t slot)
{
	struct seen seen;
	memcpy(&seen, reads->records.data + slot - 1, sizeof(seen));
	return seen;
}

/* FNV-1a, from a start value that no payload knows. */
static size_t
hash_path(const struct reads *reads, bool link, const char *path)
{
	uint64_t hash = reads->salt + link;
	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * UINT64_C(0x100000001b3);
	return (size_t)(hash ^ hash >> 32);
}

/* The slot of a path, or the empty slot for it. A link and its target are different entries. */
static uint32_t *
find_slot(const struct reads *reads, enum reads_how how, const char *path)
{
	bool link = how == READS_LINK;
	for (size_t at = hash_path(reads, link, path) % reads->slots_count;; at = (at + 1) % reads->slots_count) {
		uint32_t slot = reads->slots[at];
		if (slot == 0 || ((seen_at(reads, slot).how == READS_LINK) == link &&
							 strcmp(reads->records.data + slot - 1 + sizeof(struct seen), path) == 0))
			return &reads->slots[at];
	}
}

static void
grow(struct reads *reads)
{
	struct seen seen;
	if (reads->count * 2 < reads->slots_count)
		return;
	if (reads->slots_count == 0)
		random_bytes(&reads->salt, sizeof(reads->salt));
	free(reads->slots);
	reads->slots_count = reads->slots_count ? reads->slots_count * 2 : READS_SLOTS;
	reads->slots = xcalloc(reads->slots_count, sizeof(*reads->slots));
	for (size_t at = 0; at < reads->records.len;) {
		const char *path = reads->records.data + at + sizeof(seen);
		memcpy(&seen, reads->records.data + at, sizeof(seen));
		*find_slot(reads, (enum reads_how)seen.how, path) = (uint32_t)at + 1;
		at += sizeof(seen) + strlen(path) + 1;
	}
}

static struct seen
look_carefully(struct reads *reads, enum reads_how how, const char *path)
{
	struct seen seen = look(how, path);
	return is_recent(&seen) ? look_again(reads, how, path) : seen;
}

/* Records the entries of a folder of which only the presence was recorded. */
static void
add_entries(struct reads *reads, uint32_t slot, const char *path)
{
	if (seen_at(reads, slot).kind != SEEN_FOLDER)
		return;
	struct seen seen = look_carefully(reads, READS_ENTRIES, path);
	reads->unsure = reads->unsure || seen.kind != SEEN_ENTRIES;
	memcpy(reads->records.data + slot - 1, &seen, sizeof(seen));
}

void
reads_add(struct reads *reads, enum reads_how how, const char *path)
{
	size_t size = strlen(path) + 1;
	if (reads->unsure)
		return;
	/* Compilers ask of each file whether it is a link. If it is none, one record serves both questions. */
	if (how == READS_LINK && look(how, path).kind != SEEN_LINK)
		how = READS_AT;
	grow(reads);
	uint32_t *slot = find_slot(reads, how, path);
	if (*slot != 0) {
		if (how == READS_ENTRIES)
			add_entries(reads, *slot, path);
		return;
	}
	if (reads->records.len + sizeof(struct seen) + size > READS_MAX_BYTES) {
		reads->unsure = true;
		return;
	}
	struct seen seen = look_carefully(reads, how, path);
	*slot = (uint32_t)reads->records.len + 1;
	buf_add(&reads->records, &seen, sizeof(seen));
	buf_add(&reads->records, path, size);
	reads->count++;
}

bool
reads_hold(const char *records, size_t size)
{
	for (size_t at = 0; at < size;) {
		struct seen then, now;
		if (size - at <= sizeof(then))
			return false;
		memcpy(&then, records + at, sizeof(then));
		const char *path = records + at + sizeof(then), *end = memchr(path, '\0', size - at - sizeof(then));
		if (!end)
			return false;
		now = look((enum reads_how)then.how, path);
		if (memcmp(&then, &now, sizeof(then)) != 0)
			return false;
		at = (size_t)(end - records) + 1;
	}
	return true;
}

void
reads_free(struct reads *reads)
{
	buf_free(&reads->records);
	free(reads->slots);
	*reads = (struct reads){0};
}
