/* SPDX-License-Identifier: MIT */
/* Stretches of time that may overlap, and how long they are together. */
#include <config.h>

#include <stdlib.h>

#include "base/xalloc.h"
#include "exec/build/build.h"

void
interval_sum_add(struct interval_sum *spans, int64_t from, int64_t to)
{
	/* As many again whenever it is full. */
	if ((spans->count & (spans->count - 1)) == 0)
		spans->list = xreallocarray(spans->list, spans->count ? 2 * spans->count : 1, sizeof(*spans->list));
	spans->list[spans->count++] = (struct interval){from, to < from ? from : to};
}

/* By their begins, then by their ends: what is made within one tick of the file system's clock begins at once. */
static int
by_begin(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;
	int begins = (x->from > y->from) - (x->from < y->from);
	return begins ? begins : (x->to > y->to) - (x->to < y->to);
}

int64_t
interval_sum_union(const struct interval_sum *spans, struct interval *ret_whole)
{
	int64_t total = 0;
	if (spans->count == 0)
		return 0;
	qsort(spans->list, spans->count, sizeof(*spans->list), by_begin);
	struct interval whole = {spans->list[0].from, spans->list[0].from};
	for (size_t i = 0; i < spans->count; i++) {
		const struct interval *span = &spans->list[i];
		if (span->to <= whole.to)
			continue;
		total += span->to - (span->from > whole.to ? span->from : whole.to);
		whole.to = span->to;
	}
	*ret_whole = whole;
	return total;
}

void
interval_sum_free(struct interval_sum *spans)
{
	free(spans->list);
	*spans = (struct interval_sum){0};
}
