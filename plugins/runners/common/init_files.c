/* SPDX-License-Identifier: MIT */
/* The files that `kettle runner init` writes. */
#include <config.h>

#include "runners/common/init_files.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_access.h"
#include "base/xalloc.h"

#define MAX_FILE (64u << 20) /* bytes of one that is compared */

int
init_file_write(json_t *files, const json_t *args, const char *name, const void *data, size_t size, mode_t mode,
	struct kettle_error *err)
{
	AUTO_FREE char *path = path_join(member_text(args, "folder"), name), *folder = path_above(path, 1);
	AUTO_FREE char *old = NULL;
	size_t old_size = 0;
	struct kettle_error why = {0}; /* that there is no file is no error */
	int rc = file_read(path, MAX_FILE, &old, &old_size, &why);
	bool same = rc == 0 && old_size == size && memcmp(old, data, size) == 0;
	if (rc == 0 && !same && !member_true(args, "force"))
		return kettle_fail(err, KETTLE_ECONFLICT,
			"%s exists and differs from what would be written: give `--force` to replace it.", path);
	if (rc < 0 && rc != KETTLE_ENOENT) {
		*err = why;
		return rc;
	}
	const char *state = same ? "unchanged" : rc == 0 ? "replaced" : "created";
	if (!same) {
		rc = file_mkdirs(folder, 0777, err);
		if (rc == 0)
			rc = file_write(path, data, size, mode, err);
		if (rc < 0)
			return rc;
	}
	json_array_append_new(files, json_pack("{s:s, s:s}", "path", path, "state", state));
	return 0;
}

const char *
init_option(const json_t *args, const char *name)
{
	return member_string(json_object_get(args, "options"), name);
}

int
init_options_check(const json_t *args, const char *const *names, struct kettle_error *err)
{
	AUTO_BUF struct buf known = {0};
	const char *name;
	json_t *value;
	for (size_t i = 0; names[i]; i++)
		buf_printf(&known, "%s`%s`", i ? ", " : "", names[i]);
	json_object_foreach(json_object_get(args, "options"), name, value) {
		size_t i = 0;
		while (names[i] && strcmp(names[i], name) != 0)
			i++;
		if (!names[i])
			return kettle_fail(err, KETTLE_EINVAL, "This runner has no option `%s` for `init`; it has %s.", name,
				known.data ? known.data : "none");
	}
	return 0;
}
