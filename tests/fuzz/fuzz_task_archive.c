/* SPDX-License-Identifier: MIT */
/* Fuzzes the reader of zips: what is taken keeps the limits and the rules for names, and can be written and read again. */
#include <config.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/contents.h"
#include "base/file.h"
#include "base/utf8.h"
#include "task/archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static json_t *
files_of(const struct task_archive *archive)
{
	json_t *files = json_object();
	size_t total = 0;
	for (size_t i = 0; i < task_archive_count(archive); i++) {
		const char *path = task_archive_path(archive, i);
		size_t size = 0;
		const char *data = task_archive_find(archive, path, &size);
		if (!data || data[size] || path_check_inside(path, NULL) || size > TASK_ARCHIVE_MAX_FILE)
			abort();
		total += size;
		json_object_set_new(files, path, contents_json(data, size));
	}
	if (total > TASK_ARCHIVE_MAX_TOTAL || json_object_size(files) != task_archive_count(archive))
		abort();
	return files;
}

static void
write_again(const json_t *files)
{
	AUTO_FREE char *data = NULL;
	size_t size = 0;
	struct task_archive *again = NULL;
	if (task_archive_write("", files, &data, &size, NULL))
		abort();
	/* What was large for the archive that it came from may be so for this one. */
	int rc = task_archive_read("again.zip", data, size, &again, NULL);
	if (rc && rc != KETTLE_ETOOBIG)
		abort();
	if (rc == 0 && task_archive_count(again) != json_object_size(files))
		abort();
	task_archive_free(again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct task_archive *archive = NULL;
	struct kettle_error err = {0};
	if (task_archive_read("fuzz.zip", data, size, &archive, &err)) {
		if (!err.message[0] || !utf8_valid(err.message, strlen(err.message)) || err.code == KETTLE_EINTERNAL)
			abort();
		return 0;
	}
	AUTO_JSON json_t *files = files_of(archive);
	write_again(files);
	task_archive_free(archive);
	return 0;
}
