/* SPDX-License-Identifier: MIT */
/*
 * Unpacks a zip that the engine sent.
 *
 * A submission may have chosen the names and the bytes. So all entries are checked before the first file is written,
 * files are written only below the zip's folder, and no link is followed.
 */
#include <config.h>

#include "cli/actions/actions.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <zip.h>

#include "base/base.h"
#include "base/file.h"
#include "base/io.h"
#include "base/zip_cleanup.h"

#define CHUNK 65536
#define UNIX_MODE_SHIFT 16 /* position of the mode in the external attributes */

static void
end_entry(zip_file_t **entry)
{
	if (*entry)
		(void)zip_fclose(*entry);
}
#define AUTO_ENTRY __attribute__((cleanup(end_entry)))

static int
open_zip(const char *path, zip_t **ret_zip, struct kettle_error *err)
{
	int number = 0;
	zip_error_t why;
	*ret_zip = zip_open(path, ZIP_RDONLY | ZIP_CHECKCONS, &number);
	if (*ret_zip)
		return 0;
	zip_error_init_with_code(&why, number);
	int rc = kettle_fail(err, KETTLE_EINVAL, "`%s` is not a zip: %s.", path, zip_error_strerror(&why));
	zip_error_fini(&why);
	return rc;
}

/* Whether an entry is a regular file, according to the archive. */
static bool
is_regular(zip_t *zip, zip_uint64_t index)
{
	zip_uint8_t system = 0;
	zip_uint32_t attributes = 0;
	if (zip_file_get_external_attributes(zip, index, 0, &system, &attributes) != 0)
		return false;
	mode_t mode = system == ZIP_OPSYS_UNIX ? attributes >> UNIX_MODE_SHIFT : 0;
	return (mode & S_IFMT) == 0 || S_ISREG(mode);
}

static int
check_entry(zip_t *zip, zip_uint64_t index, int64_t *left, struct kettle_error *err)
{
	zip_stat_t stat;
	const zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE;
	if (zip_stat_index(zip, index, 0, &stat) != 0 || (stat.valid & needed) != needed)
		return kettle_fail(err, KETTLE_EINVAL, "The zip is damaged: an entry has no name or no size.");
	int rc = path_check_inside(stat.name, err);
	if (rc < 0)
		return rc;
	bool encrypted = (stat.valid & ZIP_STAT_ENCRYPTION_METHOD) && stat.encryption_method != ZIP_EM_NONE;
	if (encrypted || !is_regular(zip, index))
		return kettle_fail(err, KETTLE_EINVAL, "`%.100s` in the zip is encrypted, or no regular file.", stat.name);
	if (stat.size > (zip_uint64_t)*left)
		return kettle_fail(
			err, KETTLE_ETOOBIG, "The files in the zip are larger than %lld MiB.", (long long)(UNPACK_MAX_BYTES >> 20));
	*left -= (int64_t)stat.size;
	return 0;
}

static int
check_zip(zip_t *zip, struct kettle_error *err)
{
	zip_int64_t count = zip_get_num_entries(zip, 0);
	int64_t left = UNPACK_MAX_BYTES;
	int rc = 0;
	if (count > UNPACK_MAX_ENTRIES)
		return kettle_fail(err, KETTLE_ETOOBIG, "The zip has more than %d files.", UNPACK_MAX_ENTRIES);
	for (zip_int64_t i = 0; i < count && rc == 0; i++)
		rc = check_entry(zip, (zip_uint64_t)i, &left, err);
	return rc;
}

/* Copies an entry of `size` bytes. */
static int
copy_entry(zip_t *zip, zip_uint64_t index, zip_uint64_t size, int to, const char *path, struct kettle_error *err)
{
	char chunk[CHUNK];
	AUTO_ENTRY zip_file_t *entry = zip_fopen_index(zip, index, 0);
	zip_int64_t got = entry ? 1 : -1;
	while (got > 0) {
		got = zip_fread(entry, chunk, sizeof(chunk));
		if (got > 0 && (zip_uint64_t)got > size)
			got = -1;
		if (got > 0 && write_all(to, chunk, (size_t)got) != 0)
			return kettle_fail(err, KETTLE_EIO, "`%s` cannot be written: %s.", path, strerror(errno));
		size -= got > 0 ? (zip_uint64_t)got : 0;
	}
	if (got < 0 || size > 0)
		return kettle_fail(err, KETTLE_EINVAL, "The zip is damaged: `%s` cannot be unpacked.", path);
	return 0;
}

/* folder: the zip's, below dir. */
static int
unpack_entry(
	zip_t *zip, zip_uint64_t index, const char *dir, const char *folder, json_t *files, struct kettle_error *err)
{
	zip_stat_t stat;
	if (zip_stat_index(zip, index, 0, &stat) != 0)
		return kettle_fail(err, KETTLE_EINVAL, "The zip is damaged.");
	AUTO_FREE char *below = path_join(folder, stat.name), *path = path_join(dir, below);
	AUTO_FD int fd = save_open_below(dir, below, O_CREAT | O_EXCL);
	if (fd < 0 && errno == EEXIST)
		return save_fail(path, errno, err);
	if (fd < 0)
		return kettle_fail(err, errno == ENOTDIR || errno == ELOOP ? KETTLE_ECONFLICT : KETTLE_EIO,
			"`%s` cannot be written: %s.", path, strerror(errno));
	int rc = copy_entry(zip, index, stat.size, fd, path, err);
	if (rc < 0)
		save_remove_below(dir, below);
	else
		json_array_append_new(
			files, json_pack("{s:s, s:I, s:s}", "name", stat.name, "size", (json_int_t)stat.size, "path", path));
	return rc;
}

int
unpack_zip(const char *dir, const char *below, json_t **ret_files, struct kettle_error *err)
{
	AUTO_FREE char *path = path_join(dir, below), *folder = xstrdup(below);
	AUTO_JSON json_t *files = json_array();
	AUTO_ZIP zip_t *zip = NULL;
	char *slash = strrchr(folder, '/');
	*(slash ? slash : folder) = '\0';
	int rc = open_zip(path, &zip, err);
	if (rc == 0)
		rc = check_zip(zip, err);
	for (zip_int64_t i = 0; rc == 0 && i < zip_get_num_entries(zip, 0); i++)
		rc = unpack_entry(zip, (zip_uint64_t)i, dir, folder, files, err);
	save_remove_below(dir, below);
	if (rc == 0)
		*ret_files = STEAL(files);
	return rc;
}
