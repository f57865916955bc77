/* SPDX-License-Identifier: MIT */
/* The memory of a warm process as a file, for programs that begin with it. */
#ifndef KETTLE_PY_DUMP_H
#define KETTLE_PY_DUMP_H

#include <stdint.h>

#define DUMP_MAGIC "kettle-dump-01\n"
#define DUMP_REGIONS_MAX 32768
#define DUMP_FILES_MAX 2048
#define DUMP_TEXT_MAX 524288
#define DUMP_MOVED_MAX 6 /* parts of what the kernel maps by itself */
#define DUMP_LETTERS_MAX 16
#define DUMP_CORES_MAX 1024 /* bytes of a set of cores */

enum dump_kind {
	DUMP_ZERO,  /* nothing in it */
	DUMP_FILE,  /* a file of the machine */
	DUMP_KEPT,  /* a part of this file; every process gets its own copy of what it writes to */
	DUMP_STACK, /* nothing in it, and it grows down */
	DUMP_FILL,  /* read from this file into what was mapped before */
	DUMP_GUARD, /* changes the protection of what was mapped before */
};

/* Page for page, in the order in which they are made; those with `over` take the place of parts of earlier ones. */
struct dump_region {
	uint64_t start, size, offset;
	uint32_t file; /* of DUMP_FILE: its number */
	uint8_t kind, protection, over, shared;
};
struct dump_file {
	uint64_t inode, size, changed_ns;
	uint32_t path; /* in the text */
};
/* [vvar], [vdso] and what else the kernel maps, to be moved to where the memory expects it. */
struct dump_kernel_region {
	uint64_t start, size;
	int64_t from_vdso; /* bytes from the start of [vdso] */
};

/* The start of the file. What it leads to lies behind it; offsets of text count from the text's start. */
struct dump_header {
	char magic[16];
	uint64_t size; /* of header, regions, files and text, to be mapped */
	uint64_t regions, files, text;
	uint32_t regions_count, files_count, moved_count, environment_count;
	struct dump_kernel_region moved[DUMP_MOVED_MAX];
	/* Where it goes on: resume(start) with this thread pointer and stack pointer. */
	uint64_t resume, thread_pointer, stack_pointer;
	uint64_t start_code, end_code, start_data, end_data, start_brk, brk;
	uint64_t stack_low, stack_high; /* as far as it may grow */
	/* What a process that begins with it must have, or it would have been started otherwise. */
	uint64_t stack_limit;
	uint32_t personality;
	uint32_t executable;  /* text: argv[0] */
	uint32_t environment; /* text: NAME=VALUE one after the other */
	uint32_t cores_size;
	char letters[DUMP_LETTERS_MAX]; /* options that change nothing */
	uint8_t cores[DUMP_CORES_MAX];
};

/* What the program that begins with it hands over; stays where it is. */
struct dump_start {
	char **argv, **envp;
	const char *real; /* the interpreter, to be executed */
};

/* What dump_write needs to know of the process. */
struct dump_process {
	const char *executable, *real, *shown; /* argv[0]; the path of the interpreter's file, and where it is shown */
	const char *letters;
	void (*resume)(const struct dump_start *start) __attribute__((noreturn));
};

/*
 * Writes the memory of this process, which must have one thread, to a file. 0, or -1: it cannot be. To be called in a
 * copy of the process that ends afterwards: who begins with the file finds itself in `resume`, after the call.
 */
int dump_write(int fd, const struct dump_process *process);
/* Tells the kernel what it must know again about the process that begins with the file. First thing in `resume`. */
void dump_restore_kernel_state(void);

#endif
