/* SPDX-License-Identifier: MIT */
/* Keeps the first and the last of what a program prints, and counts the rest. */
#ifndef KETTLE_EXEC_UTIL_CAPTURE_H
#define KETTLE_EXEC_UTIL_CAPTURE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Zero-initialise and set limit (bytes that are kept, at least 2). */
struct capture {
	size_t limit;
	struct buf head; /* the first half of limit */
	char *tail;      /* a ring with the last half of it */
	uint64_t tail_bytes;
	uint64_t bytes; /* all that was added */
};

void capture_add(struct capture *capture, const void *data, size_t size);
/* {"text", "bytes", "cut", "replaced"} as in an outcome; new reference. */
json_t *capture_json(const struct capture *capture);
void capture_free(struct capture *capture);

#endif
