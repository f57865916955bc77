/* SPDX-License-Identifier: MIT */
/* Which kernels took how long, out of the traces of rocprofv3 (`*_kernel_trace.csv`). */
#ifndef KETTLE_PROFILE_KERNELS_H
#define KETTLE_PROFILE_KERNELS_H

#include "base/buf.h"
#include <kettle/error.h>
#include <stdint.h>

#define KERNELS_MAX 200  /* that have a line each; the others share one */
#define KERNELS_SHOWN 40 /* lines of the text */

struct kernel {
	char *name;
	uint64_t calls, total_ns, least_ns, most_ns;
};

/* Zero-initialise; kernels_free at the end. One thread. */
struct kernels {
	struct kernel list[KERNELS_MAX + 1]; /* the last one is all that found no place */
	size_t count;
	uint64_t total_ns;
};

/*
 * Adds the launches of one file; its bytes, with a NUL behind them, are written into. Rows whose times make no sense are
 * passed over. KETTLE_EINVAL with a sentence: it is no such trace.
 */
int kernels_add(struct kernels *kernels, char *data, size_t size, struct kettle_error *err);
/* Appends the table, the longest first. */
void kernels_text(struct kernels *kernels, struct buf *out);
void kernels_free(struct kernels *kernels);

#endif
