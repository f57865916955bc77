/* SPDX-License-Identifier: MIT */
/* The native part of a step's processes that share memory: cold caches, probes of a calm machine, and a heap whose results are shared. */
/*
 * Theory of operation
 *
 * A shared heap. malloc carves a block out of the free top of its heap, the part below the program break, and a second one
 * directly above it. The pages inside of the first block are replaced by those of the memfd while this code owns it, so no
 * other thread can be there. Then all but the beginning of the block is given back, up to the first of these pages: malloc
 * has a large free part in shared memory, and takes from there what finds no smaller place. The second block stays: malloc
 * and malloc_trim lower the program break only as far as to the highest block in use, so the addresses remain those of the
 * memfd.
 *
 * Fork. A child must not share the heap with its parent, and the parent's other threads may use the heap at any time, even
 * while the handlers of pthread_atfork run: a copy made there could miss what they write. So nothing is copied. The handler
 * before the fork maps the same part of the memfd privately at the same place, in one call: every byte remains what it was,
 * what is written before the call is in the memfd, and what is written after it is this process's own. Nothing writes to the
 * memfd's part from then on. The fork itself holds malloc's locks and copies private memory as always. The costs are one
 * call and later one page fault for each page that is used again. The way back would be a copy that races with other
 * threads, so there is none.
 *
 * MADV_DONTFORK keeps a child from the shared mapping that is made without these handlers: it ends at its first access to
 * the heap, in place of overwriting its parent's.
 */
#include <config.h>

#include "shm/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

#define MMAP_MAX_DEFAULT 65536 /* M_MMAP_MAX of the GNU C library */
#define GUARD_BYTES 64         /* of the block above the shared part */

/* ---- caches ---- */

#if defined(__x86_64__)

#define CPUID_CLFLUSH (1u << 19)
#define CPUID_CLFLUSHOPT (1u << 23)

int
kettle_flush(const void *memory, size_t bytes)
{
	unsigned a, b, c, d, extended = 0;
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(d & CPUID_CLFLUSH))
		return -1;
	size_t line = (b >> 8 & 0xff) * 8;
	uintptr_t end = (uintptr_t)memory + bytes;
	if (line == 0)
		return -1;
	(void)__get_cpuid_count(7, 0, &a, &extended, &c, &d);
	for (uintptr_t at = (uintptr_t)memory / line * line; bytes > 0 && at < end; at += line) {
		if (extended & CPUID_CLFLUSHOPT)
			__asm__ volatile("clflushopt (%0)" : : "r"(at) : "memory");
		else
			__asm__ volatile("clflush (%0)" : : "r"(at) : "memory");
	}
	__asm__ volatile("mfence" : : : "memory");
	return 0;
}

#elif defined(__aarch64__)

int
kettle_flush(const void *memory, size_t bytes)
{
	uint64_t type;
	__asm__ volatile("mrs %0, ctr_el0" : "=r"(type));
	size_t line = (size_t)4 << (type >> 16 & 0xf);
	uintptr_t end = (uintptr_t)memory + bytes;
	for (uintptr_t at = (uintptr_t)memory / line * line; bytes > 0 && at < end; at += line)
		__asm__ volatile("dc civac, %0" : : "r"(at) : "memory");
	__asm__ volatile("dsb sy" : : : "memory");
	return 0;
}

#else

int
kettle_flush(const void *memory, size_t bytes)
{
	(void)memory;
	(void)bytes;
	return -1;
}

#endif

/* ---- probes ---- */

#define CHAIN_STEPS 12000 /* about 11 µs, as the tile: what clocks resolve is a small part of it */
#define TILE_SIDE 32      /* three of them are in the first cache */
#define TILE_ROUNDS 5
#define READ_BYTES ((size_t)128 << 10)
#define READ_STEP 64

typedef float lanes __attribute__((vector_size(16)));
#define TILE_LANES (TILE_SIDE * sizeof(float) / sizeof(lanes))

static uint64_t
now_ns(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void
chain(void)
{
	static volatile double factor = 1.0000001; /* nothing is computed beforehand */
	double by = factor, value = 1;
	for (int i = 0; i < CHAIN_STEPS; i++)
		value *= by;
	__asm__ volatile("" : : "m"(value)); /* nothing is left out */
}

static void
tile(int rounds)
{
	static float left[TILE_SIDE][TILE_SIDE];
	static lanes right[TILE_SIDE][TILE_LANES], product[TILE_SIDE][TILE_LANES];
	for (int row = 0; row < rounds * TILE_SIDE; row++) {
		lanes sums[TILE_LANES] = {0}; /* in registers */
		for (size_t k = 0; k < TILE_SIDE; k++)
#pragma GCC unroll 8
			for (size_t j = 0; j < TILE_LANES; j++)
				sums[j] += left[row % TILE_SIDE][k] * right[k][j];
		memcpy(product[row % TILE_SIDE], sums, sizeof(sums));
		__asm__ volatile("" : : "r"(product), "r"(left), "r"(right) : "memory"); /* all of it is done, each time */
	}
}

void
kettle_probe(uint64_t ns[3])
{
	static volatile char cold[READ_BYTES];
	uint64_t start = now_ns();
	chain();
	ns[0] = now_ns() - start;
	tile(1); /* into the cache */
	start = now_ns();
	tile(TILE_ROUNDS);
	ns[1] = now_ns() - start;
	for (size_t at = 0; at < READ_BYTES; at += READ_STEP)
		cold[at] = 1; /* pages that were never written are all the same one */
	(void)kettle_flush((const void *)cold, READ_BYTES);
	start = now_ns();
	for (size_t at = 0; at < READ_BYTES; at += READ_STEP)
		(void)cold[at];
	ns[2] = now_ns() - start;
}

/* ---- the heap ---- */

enum state {
	NONE, /* no part of the heap was ever shared */
	SHARED,
	LEAVING, /* a fork makes it private */
	PRIVATE,
};

static struct {
	char *start;
	size_t bytes;
	int fd; /* of its own, closed at exec */
	off_t offset;
	dev_t device; /* what fd was when it was made, since a program may close descriptors that it did not open */
	ino_t inode;
	_Atomic(enum state) state;
	pthread_mutex_t leaving; /* of threads that fork at the same time */
} heap = {.leaving = PTHREAD_MUTEX_INITIALIZER};

static void *
map_heap(int flags)
{
	return mmap(
		heap.start, heap.bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED | MAP_NORESERVE, heap.fd, heap.offset);
}

/* Where the descriptor is gone, the heap remains shared, and the child lacks that part. */
static void
leave(void)
{
	struct stat st;
	if (fstat(heap.fd, &st) != 0 || st.st_dev != heap.device || st.st_ino != heap.inode)
		return;
	/* First, so that no thread takes for shared what it writes meanwhile. */
	heap.state = LEAVING;
	heap.state = map_heap(MAP_PRIVATE) == MAP_FAILED ? SHARED : PRIVATE;
}

/* Before a fork: makes the heap private. The first check keeps a child from a mutex that another thread held. */
static void
before_fork(void)
{
	int before = errno;
	if (heap.state == NONE || heap.state == PRIVATE)
		return;
	pthread_mutex_lock(&heap.leaving);
	if (heap.state == SHARED)
		leave();
	pthread_mutex_unlock(&heap.leaving);
	errno = before;
}

/* Two blocks of the heap, the second one directly above the first. */
struct blocks {
	char *low, *high;
};

static void
release_blocks(struct blocks *blocks)
{
	free(blocks->high);
	free(blocks->low);
	(void)mallopt(M_MMAP_MAX, MMAP_MAX_DEFAULT);
}

/*
 * Takes both blocks. If the first one comes from the free top of the heap, no other free part is as large: so the second
 * one comes from there too, directly above. Then it gives back all but its beginning.
 */
static bool
take_blocks(size_t bytes, struct blocks *ret)
{
	(void)mallopt(M_MMAP_MAX, 0);
	(void)mallopt(M_TRIM_THRESHOLD, -1);
	*ret = (struct blocks){.low = malloc(bytes)};
	ret->high = ret->low ? malloc(bytes) : NULL;
	uintptr_t top = (uintptr_t)sbrk(0), low = (uintptr_t)ret->low, high = (uintptr_t)ret->high;
	size_t most_apart = bytes + (size_t)sysconf(_SC_PAGESIZE);
	if (!ret->high || high < low + bytes || high > low + most_apart || high + bytes > top) {
		release_blocks(ret);
		return false;
	}
	char *smaller = realloc(ret->high, GUARD_BYTES);
	ret->high = smaller ? smaller : ret->high;
	return true;
}

/* Lays pages of the memfd over those inside of a block that this code owns. Returns 0 or an error of errno. */
static int
replace_pages(char *block, size_t page)
{
	static bool registered;
	int rc = registered ? 0 : pthread_atfork(before_fork, NULL, NULL);
	if (rc != 0)
		return rc;
	registered = true;
	heap.start = (char *)(((uintptr_t)block + GUARD_BYTES + page - 1) / page * page);
	if (map_heap(MAP_SHARED) == MAP_FAILED)
		return errno;
	heap.state = SHARED;
	(void)madvise(heap.start, heap.bytes, MADV_DONTFORK);
	return 0;
}

static int
share_heap(size_t page)
{
	struct blocks blocks;
	if (!take_blocks(heap.bytes + 2 * page, &blocks))
		return ENOTSUP;
	int rc = replace_pages(blocks.low, page);
	if (rc != 0) {
		release_blocks(&blocks);
		return rc;
	}
	/*
	 * A block may use the word before the next one, so what it gives back begins exactly at the first page. The pages are
	 * shared by now, whatever becomes of the block.
	 */
	char *smaller = realloc(blocks.low, (size_t)(heap.start - blocks.low) - sizeof(size_t));
	(void)smaller;
	return 0;
}

void *
kettle_share_heap(int fd, size_t offset, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size;
	struct stat st = {0};
	if (fstat(fd, &st) != 0)
		return NULL;
	size = st.st_size > 0 ? (size_t)st.st_size : 0;
	int own = -1, rc = 0;
	if (bytes == 0 || bytes % page != 0 || offset % page != 0 || offset > size || bytes > size - offset)
		rc = EINVAL;
	else if (heap.state != NONE)
		rc = EALREADY;
	else if ((own = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0)
		rc = errno;
	if (rc == 0) {
		heap.fd = own;
		heap.offset = (off_t)offset;
		heap.bytes = bytes;
		heap.device = st.st_dev;
		heap.inode = st.st_ino;
		rc = share_heap(page);
	}
	if (rc == 0)
		return heap.start;
	if (own >= 0)
		close(own);
	errno = rc;
	return NULL;
}

int
kettle_heap_is_shared(void)
{
	return heap.state == SHARED;
}
