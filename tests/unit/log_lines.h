/* SPDX-License-Identifier: MIT */
/* What a test's process writes into the log, as text. */
#pragma once

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct log_lines {
	int saved, file;
};

/* From now on stderr is kept. */
static inline struct log_lines
log_lines_begin(void)
{
	struct log_lines lines = {.saved = dup(STDERR_FILENO), .file = memfd_create("log", MFD_CLOEXEC)};
	if (lines.saved < 0 || lines.file < 0 || dup2(lines.file, STDERR_FILENO) < 0)
		abort();
	return lines;
}

/* What came so far; new string. */
static inline char *
log_lines_text(const struct log_lines *lines)
{
	struct stat st;
	if (fstat(lines->file, &st) != 0)
		abort();
	char *text = calloc(1, (size_t)st.st_size + 1);
	if (!text || pread(lines->file, text, (size_t)st.st_size, 0) != st.st_size)
		abort();
	return text;
}

/* stderr is again what it was. */
static inline void
log_lines_end(struct log_lines *lines)
{
	(void)dup2(lines->saved, STDERR_FILENO);
	close(lines->saved);
	close(lines->file);
}
