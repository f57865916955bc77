/* SPDX-License-Identifier: MIT */
/* The archive of kettle-exec: where it is and what its digest is. */
#include <config.h>

#include "runners/common/exec_archive.h"

#include "base/base.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/installed.h"

char *
exec_archive_path(const json_t *section)
{
	const char *named = json_text_or_null(section, "exec_archive");
	return named ? xstrdup(named) : installed_path(EXEC_ARCHIVE_NAME, KETTLE_DATA_DIR "/" EXEC_ARCHIVE_NAME);
}

int
exec_archive_read(const char *path, char **ret_data, size_t *ret_size, char ret_digest[65], struct kettle_error *err)
{
	static const char magic[] = {'\xfd', '7', 'z', 'X', 'Z', '\0'};
	AUTO_FREE char *data = NULL;
	size_t size;
	int rc = file_read(path, EXEC_ARCHIVE_MAX, &data, &size, err);
	if (rc == KETTLE_ENOENT)
		return kettle_fail(err, KETTLE_ENOENT,
			"%s, the archive of kettle-exec for other machines, is missing: make it with `make portable-exec`, or name "
			"one "
			"with `exec_archive`.",
			path);
	if (rc < 0)
		return rc;
	if (size < sizeof(magic) || memcmp(data, magic, sizeof(magic)) != 0)
		return kettle_fail(err, KETTLE_EINVAL,
			"%s is not an xz archive: name the archive that `make portable-exec` has packed.", path);
	sha256_hex(data, size, ret_digest);
	*ret_data = STEAL(data);
	*ret_size = size;
	return 0;
}
