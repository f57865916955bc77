/* SPDX-License-Identifier: MIT */
/* The native part of a step's processes that share memory. docs/protocol.md describes it to harnesses, which load it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHM_PUBLIC __attribute__((visibility("default")))

/*
 * Writes the cache lines that hold these bytes back to memory and removes them from all caches of the machine, and waits
 * until that is done. All pages must be readable; those that were never touched are faulted in. 0, or -1: the processor
 * has no instruction for it that a program may use. [any]
 */
SHM_PUBLIC int kettle_flush(const void *memory, size_t bytes);

/*
 * How many ns three fixed pieces of work take now, which take longer beside other work: [0] multiplications that wait for each other,
 * which only the core's frequency and what is run in its place slow down; [1] as much arithmetic as the core can do, which suffers from
 * another thread of the same core, too; [2] reading memory that is in no cache, which suffers from all that use the memory (where
 * kettle_flush has no instruction, it comes from a cache). About 50 µs together. [one thread at a time]
 */
SHM_PUBLIC void kettle_probe(uint64_t ns[3]);

/*
 * Enlarges the heap of the C library's malloc by `bytes` at the program break and lays the new free part over with the
 * bytes from `offset` on of a memfd, so that results which malloc puts there are in shared memory without a copy. Both
 * must be multiples of the page size. Of its pages only the first is touched, by malloc's own data. From now on malloc
 * serves large requests from the heap alone and never shrinks it (M_MMAP_MAX 0, M_TRIM_THRESHOLD -1); a caller may change
 * the former again.
 * That part of the memfd then belongs to malloc, which keeps its own data there too: others may only read it.
 *
 * Returns the address of the first byte, which is that of `offset`; the memory is never released. NULL, with errno:
 * EINVAL; EALREADY: there is such a part already; ENOTSUP: malloc does not use the program break, or a limit keeps it from
 * growing; or an error of dup, mmap or pthread_atfork. Nothing but the two settings has changed then. [main thread]
 *
 * A process that fork makes has a copy of the heap of its own, and the heap of this one is no longer shared: its contents
 * stay, and the memfd keeps those of before. A process that clone makes without CLONE_VM, past the handlers of
 * pthread_atfork, lacks this memory. posix_spawn, vfork and threads change nothing.
 */
SHM_PUBLIC void *kettle_share_heap(int fd, size_t offset, size_t bytes);

/* 1: the heap has a part that is in shared memory; 0: it never had, or no longer since a fork. [any] */
SHM_PUBLIC int kettle_heap_is_shared(void);
