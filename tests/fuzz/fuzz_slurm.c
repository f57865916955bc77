/* SPDX-License-Identifier: MIT */
/* Fuzzes what Slurm's commands print: rows of squeue, answers and complaints of sbatch. */
#include <config.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "runners/slurm/slurm_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A number as Slurm's commands take it back. */
static bool
is_id(const char *text)
{
	size_t digits = strspn(text, "0123456789");
	return digits > 0 && digits < SLURM_ID_SIZE && !text[digits];
}

static void
read_row(const char *given, size_t size)
{
	AUTO_FREE char *text = xstrndup(given, size);
	struct squeue_row row = {0};
	bool is_whole = squeue_row_is_whole(text);
	if (!squeue_row_parse(text, &row))
		return;
	/* All that a row borrows is in its text, and what may become an argument is harmless. */
	const char *const parts[] = {row.id, row.state, row.reason, row.name};
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i] < text || parts[i] + strlen(parts[i]) > text + size)
			abort();
	if (!is_whole || !is_id(row.id) || row.task < -1 || !*row.state || !*row.name || strchr(row.state, '|') ||
		strchr(row.reason, '|'))
		abort();
	(void)slurm_standing(row.state);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *text = xstrndup((const char *)data, size);
	char id[SLURM_ID_SIZE] = "none";
	const char *reason = NULL;
	read_row((const char *)data, size);
	if (sbatch_answer_parse(text, id) ? !is_id(id) : strcmp(id, "none") != 0)
		abort();
	(void)sbatch_is_refusal(text, &reason);
	if (!reason || reason < text || reason > text + size)
		abort();
	(void)slurm_standing(text);
	return 0;
}
