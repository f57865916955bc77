/* SPDX-License-Identifier: MIT */
/*
 * Replays a corpus: every file of tests/fuzz/corpus/NAME, and beginnings of it, goes through the libFuzzer entry of
 * fuzz_NAME.c, as one TAP line each. A fault aborts. With file names as arguments it replays those. To look for new inputs, link an entry by
 * clang -fsanitize=fuzzer,address instead of with this file, and let it run on a copy of the corpus.
 */
#include <config.h>

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"

#define REPLAY_MAX_BYTES (8u << 20)
#define REPLAY_BEGINNINGS 64 /* of each file */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
by_name(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* The entry gets a copy of the exact size, so that a sanitizer sees a read beyond the end. */
static void
feed(const char *data, size_t size)
{
	AUTO_FREE uint8_t *copy = malloc(size ? size : 1);
	if (!copy)
		abort();
	memcpy(copy, data, size);
	(void)LLVMFuzzerTestOneInput(copy, size);
}

static void
replay(const char *path, int number)
{
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	struct kettle_error err = {0};
	int rc = file_read(path, REPLAY_MAX_BYTES, &data, &size, &err);
	for (size_t at = 0; rc == 0 && at < size; at += size / REPLAY_BEGINNINGS + 1)
		feed(data, at);
	if (rc == 0)
		feed(data, size);
	printf("%sok %d - %s\n", rc ? "not " : "", number, path);
	if (rc)
		printf("# %s\n", err.message);
	(void)fflush(stdout); /* so that the last line names the input before the one that aborts */
}

/* The corpus that belongs to a program named .../fuzz_NAME; new string. */
static char *
corpus_of(const char *program)
{
	const char *source = getenv("top_srcdir"), *slash = strrchr(program, '/');
	const char *name = strstr(slash ? slash : program, "fuzz_");
	return name ? xasprintf("%s/tests/fuzz/corpus/%s", source ? source : ".", name + strlen("fuzz_")) : NULL;
}

int
main(int argc, char **argv)
{
	struct dirent **entries = NULL;
	for (int i = 1; i < argc; i++)
		replay(argv[i], i);
	if (argc > 1)
		return printf("1..%d\n", argc - 1) < 0;
	AUTO_FREE char *corpus = corpus_of(argv[0]);
	int count = corpus ? scandir(corpus, &entries, by_name, alphasort) : -1;
	if (count <= 0) {
		printf("Bail out! There is no corpus for %s.\n", argv[0]);
		return 1;
	}
	for (int i = 0; i < count; i++) {
		AUTO_FREE char *path = path_join(corpus, entries[i]->d_name);
		replay(path, i + 1);
		free(entries[i]);
	}
	free(entries);
	printf("1..%d\n", count);
	return 0;
}
