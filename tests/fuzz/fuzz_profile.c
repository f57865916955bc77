/* SPDX-License-Identifier: MIT */
/* Reports of profilers, which a submission may have written: the first byte says of which. */
#include <config.h>

#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/line.h"
#include "base/utf8.h"
#include "profile/profile.h"

static void
read_kernels(char *text, size_t size, struct buf *out)
{
	struct kernels *kernels = calloc(1, sizeof(*kernels));
	struct kernel_match match = {.name = "kernel", .function = true, .skip = 1, .launches = 100};
	struct kernel_names names = {0};
	if (kernels && kernels_add(kernels, &match, &names, text, size, NULL) == 0)
		kernels_text(kernels, out);
	kernel_names_text(&names, out);
	kernel_names_free(&names);
	if (kernels)
		kernels_free(kernels);
	free(kernels);
}

static void
read_stacks(const char *text, size_t size, struct buf *out)
{
	struct stacks stacks = {0};
	struct line_reader lines = {.max = STACKS_MAX_LINE};
	AUTO_BUF struct buf picture = {0};
	if (line_add(&lines, text, size, stacks_line, &stacks) == 0 && line_end(&lines, stacks_line, &stacks) == 0)
		stacks_end(&stacks);
	stacks_hottest(&stacks, 20, out);
	flame_svg(&stacks, text, &picture);
	if (!utf8_valid(picture.data, picture.len) || memchr(picture.data, '\x1b', picture.len))
		abort();
	line_free(&lines);
	stacks_free(&stacks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUF struct buf out = {0};
	AUTO_FREE char *text = malloc(size + 1);
	if (size < 1 || !text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	switch (data[0] % 4) {
	case 0:
		(void)counters_text(text, size - 1, &out, NULL);
		break;
	case 1:
		(void)details_text(text, size - 1, &out, NULL);
		break;
	case 2:
		read_kernels(text, size - 1, &out);
		break;
	default:
		read_stacks(text, size - 1, &out);
	}
	if (out.len >= REPORT_MAX_BYTES || (out.len && !utf8_valid(out.data, out.len)))
		abort();
	return 0;
}
