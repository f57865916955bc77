/* SPDX-License-Identifier: MIT */
/* Folds the samples that `perf script` prints into a tree of functions: which calls which, how often each was seen. */
#ifndef KETTLE_PROFILE_STACKS_H
#define KETTLE_PROFILE_STACKS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACKS_MAX_LINE 65536      /* bytes; a longer line ends the reading */
#define STACKS_MAX_DEPTH 128       /* frames of a sample, the outermost ones; the rest is cut off */
#define STACKS_MAX_NAME 200        /* bytes of a function's name */
#define STACKS_MAX_MANGLED 1000    /* a longer one is not made readable */
#define STACKS_MAX_NODES 20000     /* of the tree; samples in further functions count for their callers */
#define STACKS_MAX_SAMPLES 4000000 /* further ones are not looked at */

/* A function in the place where it was called from. samples: in it and below it; own: in it alone. */
struct stack_node {
	char *name; /* clean UTF-8 without newlines */
	uint64_t samples, own;
	struct stack_node *children, *next;
};

/* Zero-initialise; stacks_free at the end. One thread. */
struct stacks {
	struct stack_node root; /* all samples; its name is NULL */
	size_t nodes;
	char *frames[STACKS_MAX_DEPTH]; /* of the sample that is being read, innermost first */
	size_t depth;
	bool inside, ignored; /* a sample is being read; one of perf itself */
	/* How the C++ library reads the names that its compiler made (__cxa_demangle); NULL: they stay as they are. */
	char *(*demangle)(const char *name, char *buffer, size_t *length, int *status);
};

/* One line of `perf script -F comm,ip,sym`, without its newline. A line_fn that returns 0. */
int stacks_line(void *stacks, char *line, size_t len);
/* At the end: takes the last sample. */
void stacks_end(struct stacks *stacks);
/* Appends "a;b;c 12" lines, at most max_bytes. */
void stacks_folded(const struct stacks *stacks, size_t max_bytes, struct buf *out);
/* Appends the functions with the most samples of their own, `most` lines. */
void stacks_hottest(const struct stacks *stacks, size_t most, struct buf *out);
void stacks_free(struct stacks *stacks);

#endif
