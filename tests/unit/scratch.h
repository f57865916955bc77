/* SPDX-License-Identifier: MIT */
/* A folder of its own for a test, removed at the end. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* A new folder; free it with scratch_remove. */
__attribute__((unused)) static char *
scratch_make(void)
{
	const char *base = getenv("TMPDIR");
	char *path = path_join(base && *base ? base : "/tmp", "kettle-test-XXXXXX");
	return mkdtemp(path);
}

__attribute__((unused)) static void
scratch_remove(char *path)
{
	(void)file_remove_tree(path, NULL);
	free(path);
}

/* Writes text into a file of the folder; new string: its path. */
__attribute__((unused)) static char *
scratch_write(const char *dir, const char *name, const char *text)
{
	char *path = path_join(dir, name);
	if (file_write(path, text, strlen(text), 0600, NULL) != 0)
		abort();
	return path;
}
