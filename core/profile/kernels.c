/* SPDX-License-Identifier: MIT */
/* Which kernels took how long, out of the traces of rocprofv3. */
#include <config.h>

#include "profile/profile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define MAX_SPAN_NS (UINT64_C(1) << 62) /* a longer launch is none */

/* A number of nanoseconds, all digits. */
static bool
read_time(const char *text, uint64_t *ret_ns)
{
	char *end = NULL;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	*ret_ns = value;
	return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

/* The entry of a name: found, new, or the one for all others. */
static struct kernel *
kernels_find(struct kernels *kernels, const char *name)
{
	for (size_t i = 0; i < kernels->count && i < KERNELS_MAX; i++)
		if (strcmp(kernels->list[i].name, name) == 0)
			return &kernels->list[i];
	size_t at = kernels->count < KERNELS_MAX ? kernels->count : KERNELS_MAX;
	struct kernel *kernel = &kernels->list[at];
	if (!kernel->name) {
		kernel->name = xstrdup(at == KERNELS_MAX ? "(others)" : name);
		kernel->least_ns = UINT64_MAX;
		kernels->count++;
	}
	return kernel;
}

static void
kernels_add_one(struct kernels *kernels, const char *name, const char *start, const char *end)
{
	uint64_t from, to;
	if (!read_time(start, &from) || !read_time(end, &to) || to < from || to - from >= MAX_SPAN_NS ||
		kernels->total_ns >= MAX_SPAN_NS)
		return;
	struct kernel *kernel = kernels_find(kernels, *name ? name : "(no name)");
	uint64_t span = to - from;
	kernel->calls++;
	kernel->total_ns += span;
	kernel->least_ns = span < kernel->least_ns ? span : kernel->least_ns;
	kernel->most_ns = span > kernel->most_ns ? span : kernel->most_ns;
	kernels->total_ns += span;
}

int
kernels_add(struct kernels *kernels, struct kernel_match *match, struct kernel_names *names, char *data, size_t size,
	struct kettle_error *err)
{
	struct csv csv = {.at = data, .end = data + size, .separator = ','};
	struct csv_row row;
	bool any = csv_next(&csv, &row);
	int name = any ? csv_column(&row, "Kernel_Name") : -1, start = any ? csv_column(&row, "Start_Timestamp") : -1,
		end = any ? csv_column(&row, "End_Timestamp") : -1;
	if (name < 0 || start < 0 || end < 0)
		return kettle_fail(err, KETTLE_EINVAL,
			"The output of rocprofv3 is not a kernel trace: a kernel trace has the columns `Kernel_Name`, "
			"`Start_Timestamp` and "
			"`End_Timestamp`.");
	while (csv_next(&csv, &row)) {
		const char *kernel = csv_field(&row, name);
		kernel_names_add(names, kernel);
		if (kernel_match_takes(match, kernel))
			kernels_add_one(kernels, kernel, csv_field(&row, start), csv_field(&row, end));
	}
	return 0;
}

static int
kernels_compare(const void *a, const void *b)
{
	uint64_t left = ((const struct kernel *)a)->total_ns, right = ((const struct kernel *)b)->total_ns;
	return left < right ? 1 : left > right ? -1 : 0;
}

void
kernels_text(struct kernels *kernels, struct buf *out)
{
	double total = kernels->total_ns ? (double)kernels->total_ns : 1;
	qsort(kernels->list, kernels->count, sizeof(kernels->list[0]), kernels_compare);
	buf_printf(out, "%7s %12s %8s %12s %12s %12s  kernel\n", "share", "total", "calls", "mean", "best", "worst");
	for (size_t i = 0; i < kernels->count && i < KERNELS_SHOWN && report_has_room(out); i++) {
		const struct kernel *kernel = &kernels->list[i];
		buf_printf(out, "%5.1f %% %9.3f us %8llu %9.3f us %9.3f us %9.3f us  ", (double)kernel->total_ns * 100 / total,
			(double)kernel->total_ns / 1e3, (unsigned long long)kernel->calls,
			(double)kernel->total_ns / (double)kernel->calls / 1e3, (double)kernel->least_ns / 1e3,
			(double)kernel->most_ns / 1e3);
		report_word(out, kernel->name, REPORT_MAX_WORD);
		buf_adds(out, "\n");
	}
	if (kernels->count > KERNELS_SHOWN)
		buf_printf(out, "(%zu more kernels are in the trace)\n", kernels->count - KERNELS_SHOWN);
}

void
kernels_free(struct kernels *kernels)
{
	for (size_t i = 0; i <= KERNELS_MAX; i++)
		free(kernels->list[i].name);
	*kernels = (struct kernels){0};
}
