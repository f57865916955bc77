/* SPDX-License-Identifier: MIT */
/* Keeps the first and the last bytes of a program's output, and counts the rest. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Zero-initialise, and set limit (bytes to keep, at least 2). */
struct capture {
	size_t limit;
	struct buf head; /* the first half of limit */
	char *tail;      /* a ring with the last half */
	uint64_t tail_bytes;
	uint64_t bytes; /* of all output */
};

void capture_add(struct capture *capture, const void *data, size_t size);
/* {"text", "bytes", "cut", "replaced"}, as in an outcome. New reference. */
json_t *capture_json(const struct capture *capture);
void capture_free(struct capture *capture);
