/* SPDX-License-Identifier: MIT */
/* The memory of a warm process as a file, from which python_shim.c continues. */
#pragma once

#include <stdint.h>

#define DUMP_MAGIC "kettle-dump-01\n"
#define DUMP_REGIONS_MAX 32768
#define DUMP_FILES_MAX 2048
#define DUMP_TEXT_MAX 524288
#define DUMP_MOVED_MAX 6 /* mappings of the kernel's own */
#define DUMP_LETTERS_MAX 16
#define DUMP_CORES_MAX 1024 /* bytes of a CPU set */

enum dump_kind {
	DUMP_ZERO,  /* zero pages */
	DUMP_FILE,  /* a file of the machine */
	DUMP_KEPT,  /* a private mapping of this file */
	DUMP_STACK, /* zero pages that grow down */
	DUMP_FILL,  /* read from this file into an earlier mapping */
	DUMP_GUARD, /* changes the protection of an earlier mapping */
};

/* In the order in which they are mapped. Those with `over` replace parts of earlier ones. */
struct dump_region {
	uint64_t start, size, offset;
	uint32_t file; /* DUMP_FILE: index of the file */
	uint8_t kind, protection, over, shared;
};
struct dump_file {
	uint64_t inode, size, changed_ns;
	uint32_t path; /* offset in the text */
};
/* [vvar], [vdso] and other mappings of the kernel's own, to move to the dumped addresses. */
struct dump_kernel_region {
	uint64_t start, size;
	int64_t from_vdso; /* bytes from the start of [vdso] */
};

/* The start of the file, followed by regions, files and text. Offsets of text count from the text's start. */
struct dump_header {
	char magic[16];
	uint64_t size; /* of header, regions, files and text */
	uint64_t regions, files, text;
	uint32_t regions_count, files_count, moved_count, environment_count;
	struct dump_kernel_region moved[DUMP_MOVED_MAX];
	/* Where to continue: resume(start) with this thread pointer and stack pointer. */
	uint64_t resume, thread_pointer, stack_pointer;
	uint64_t start_code, end_code, start_data, end_data, start_brk, brk;
	uint64_t stack_low, stack_high; /* the range that the stack may grow into */
	/* Properties that a continuing process must have in common with the dumped one. */
	uint64_t stack_limit;
	uint32_t personality;
	uint32_t executable;  /* text: argv[0] */
	uint32_t environment; /* text: NAME=VALUE one after the other */
	uint32_t cores_size;
	char letters[DUMP_LETTERS_MAX]; /* options without effect */
	uint8_t cores[DUMP_CORES_MAX];
};

/* The argument of `resume`, in static memory of python_shim.c. */
struct dump_start {
	char **argv, **envp;
	const char *real; /* path of the interpreter, for a cold start */
};

/* Facts about the process for dump_write. */
struct dump_process {
	const char *executable, *real, *shown; /* argv[0]; the interpreter's path; its path in sandboxes */
	const char *letters;
	void (*resume)(const struct dump_start *start) __attribute__((noreturn));
};

/*
 * Writes the memory of this process, which must have one thread, to a file. Returns 0, or -1 if that is not possible.
 * Call it in a fork that ends afterwards. A process that continues from the file starts in `resume`.
 */
int dump_write(int fd, const struct dump_process *process);
/* Registers the thread's data with the kernel again. `resume` calls it first. */
void dump_restore_kernel_state(void);
