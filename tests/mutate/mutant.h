/* SPDX-License-Identifier: MIT */
/*
 * The switches of the faults that rewrite.py puts into sources. MUTANT(N) says whether fault N is on, and notes that a
 * process came to its place. Both are in the file MUTANTS_FILE: the number of the one that is on (0: none), then a byte
 * for each place. Each program and each library maps it before main, so its forks have it wherever they go. A process
 * that is started where the file cannot be opened, such as a program in a sandbox, has no faults, and notes nothing.
 */
#pragma once

#include <config.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct mutants {
	unsigned on;
	unsigned char reached[];
};

/* One for each program and each library. */
__attribute__((weak, visibility("hidden"))) volatile struct mutants *mutants_state;

__attribute__((constructor, unused)) static void
mutants_map(void)
{
	struct stat info;
	int fd = mutants_state ? -1 : open(MUTANTS_FILE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	void *map = fstat(fd, &info) == 0 ? mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
									  : MAP_FAILED;
	if (map != MAP_FAILED)
		mutants_state = map;
	(void)close(fd);
}

__attribute__((unused)) static inline bool
mutant_is_on(unsigned number)
{
	if (!mutants_state)
		return false;
	mutants_state->reached[number] = 1;
	return mutants_state->on == number;
}

#define MUTANT(number) mutant_is_on(number)
/* a IS b, with the fault a OTHER b. The 0 lets an operand be a bit-field. */
#define MUTANT_LIMIT(number, is, other, a, b) \
	({ \
		__auto_type a_##number = (a) + 0; \
		__auto_type b_##number = (b) + 0; \
		MUTANT(number) ? a_##number other b_##number : a_##number is b_##number; \
	})
/* copy(from), with the fault that both are the same memory. */
#define MUTANT_ALIAS(number, copy, from) \
	({ \
		__auto_type from_##number = (from); \
		MUTANT(number) ? (void *)from_##number : (void *)copy(from_##number); \
	})
