/* SPDX-License-Identifier: MIT */
/* Unpacks the zip of a run's artifact. */
#include <config.h>

#include "runners/github/github.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "base/base.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/zip_cleanup.h"
#include "runners/common/download.h"

#define PIECE 65536

void
result_files_free(struct result_files *files)
{
	if (files->result >= 0)
		close(files->result);
	free_all(files->report, files->error);
	*files = RESULT_FILES_NONE;
}

static int
check_file(int fd, uint64_t size, const char *sha256, struct kettle_error *err)
{
	char found[65];
	struct stat stat;
	if (fstat(fd, &stat) != 0 || sha256_fd(fd, found) != 0)
		return kettle_fail(err, KETTLE_EIO, "The artifact cannot be read: %s.", strerror(errno));
	if ((uint64_t)stat.st_size != size)
		return kettle_fail(err, KETTLE_ECONFLICT,
			"The artifact arrived with %llu bytes, but GitHub says that it has %llu.", (unsigned long long)stat.st_size,
			(unsigned long long)size);
	if (sha256[0] && strcmp(found, sha256) != 0)
		return kettle_fail(err, KETTLE_ECONFLICT,
			"The artifact arrived with the SHA-256 %.12s…, but GitHub says that it is %.12s….", found, sha256);
	return 0;
}

static int
open_archive(int fd, zip_t **ret_zip, struct kettle_error *err)
{
	zip_error_t error;
	zip_error_init(&error);
	AUTO_FD int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	FILE *file = copy < 0 ? NULL : fdopen(copy, "rb");
	if (file)
		(void)STEAL_FD(copy);
	zip_source_t *source = file ? zip_source_filep_create(file, 0, -1, &error) : NULL;
	if (file && !source)
		(void)fclose(file);
	*ret_zip = source ? zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error) : NULL;
	if (source && !*ret_zip)
		zip_source_free(source);
	int rc = *ret_zip ? 0
					  : kettle_fail(err, KETTLE_EINVAL, "The artifact is not a zip, or is damaged: %s.",
							file ? zip_error_strerror(&error) : strerror(errno));
	zip_error_fini(&error);
	return rc;
}

/* Checks the size that the zip claims for a file, at most max bytes, and the method of packing. */
static int
check_entry(const zip_stat_t *stat, size_t max, struct kettle_error *err)
{
	const zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD;
	if ((stat->valid & needed) != needed || stat->size > max)
		return kettle_fail(
			err, KETTLE_ETOOBIG, "The file `%s` of the artifact is larger than %zu bytes.", stat->name, max);
	if (stat->comp_method != ZIP_CM_STORE && stat->comp_method != ZIP_CM_DEFLATE)
		return kettle_fail(
			err, KETTLE_EINVAL, "The file `%s` of the artifact is packed in an unusual way.", stat->name);
	return 0;
}

static int
fail_entry(const zip_stat_t *stat, struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_EINVAL, "The file `%s` of the artifact is damaged.", stat->name);
}

/* Whether the file ends here. Reading the end also checks the checksum. */
static bool
is_at_end(zip_file_t *file)
{
	char more;
	return zip_fread(file, &more, 1) == 0;
}

static int
hold_entry(zip_file_t *file, const zip_stat_t *stat, char **ret_data, size_t *ret_size, struct kettle_error *err)
{
	AUTO_FREE char *data = xmalloc((size_t)stat->size + 1);
	zip_int64_t got = zip_fread(file, data, stat->size);
	if (got < 0 || (zip_uint64_t)got != stat->size || !is_at_end(file))
		return fail_entry(stat, err);
	data[got] = '\0';
	*ret_size = (size_t)got;
	*ret_data = STEAL(data);
	return 0;
}

static int
spool_entry(zip_file_t *file, const zip_stat_t *stat, int *ret_fd, struct kettle_error *err)
{
	AUTO_FD int fd = -1;
	char piece[PIECE];
	zip_uint64_t left = stat->size;
	int rc = download_file(&fd, err);
	while (rc == 0 && left) {
		zip_int64_t got = zip_fread(file, piece, left < PIECE ? left : PIECE);
		if (got <= 0)
			return fail_entry(stat, err);
		if (write_all(fd, piece, (size_t)got) != 0)
			return kettle_fail(err, KETTLE_EIO, "The file `%s` of the artifact cannot be stored: %s (set TMPDIR).",
				stat->name, strerror(errno));
		left -= (zip_uint64_t)got;
	}
	if (rc == 0 && !is_at_end(file))
		rc = fail_entry(stat, err);
	if (rc == 0)
		*ret_fd = STEAL_FD(fd);
	return rc;
}

/* Reads the entry into the one of ret_fd and ret_data that is not NULL. */
static int
read_entry(zip_t *zip, zip_uint64_t index, const zip_stat_t *stat, int *ret_fd, char **ret_data, size_t *ret_size,
	struct kettle_error *err)
{
	zip_file_t *file = zip_fopen_index(zip, index, 0);
	int rc;
	if (!file)
		return fail_entry(stat, err);
	rc = ret_fd ? spool_entry(file, stat, ret_fd, err) : hold_entry(file, stat, ret_data, ret_size, err);
	(void)zip_fclose(file);
	return rc;
}

/* Reads an entry that the runner knows. zip_size: bytes of the whole zip. */
static int
read_known(zip_t *zip, zip_uint64_t index, size_t zip_size, struct result_files *files, struct kettle_error *err)
{
	/* A sealed result shrinks at most by what base64 added, so a zip that claims more is a bomb. */
	size_t most = zip_size < RESULT_ZIP_MAX / 2 ? 2 * zip_size : RESULT_ZIP_MAX;
	const struct {
		const char *name;
		size_t max;
		int *fd;
		char **data;
		size_t *size;
	} known[] = {{"result.kettle", most, &files->result, NULL, NULL},
		{"doctor.json", RESULT_ZIP_SMALL, NULL, &files->report, &files->report_size},
		{"error.txt", RESULT_ZIP_SMALL, NULL, &files->error, &files->error_size}};
	zip_stat_t stat;
	if (zip_stat_index(zip, index, 0, &stat) != 0 || !(stat.valid & ZIP_STAT_NAME))
		return kettle_fail(err, KETTLE_EINVAL, "The artifact is damaged: an entry has no name.");
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(stat.name, known[i].name) != 0)
			continue;
		if (known[i].fd ? *known[i].fd >= 0 : *known[i].data != NULL)
			return kettle_fail(err, KETTLE_EINVAL, "The artifact has the file `%s` twice.", stat.name);
		int rc = check_entry(&stat, known[i].max, err);
		return rc ? rc : read_entry(zip, index, &stat, known[i].fd, known[i].data, known[i].size, err);
	}
	return 0;
}

int
result_zip_read(int fd, uint64_t size, const char *sha256, struct result_files *ret_files, struct kettle_error *err)
{
	AUTO_ZIP zip_t *zip = NULL;
	struct result_files files = RESULT_FILES_NONE;
	int rc = check_file(fd, size, sha256, err);
	if (rc == 0)
		rc = open_archive(fd, &zip, err);
	zip_int64_t count = rc == 0 ? zip_get_num_entries(zip, 0) : 0;
	if (rc == 0 && count > RESULT_ZIP_ENTRIES)
		rc = kettle_fail(err, KETTLE_ETOOBIG, "The artifact has more than %d files.", RESULT_ZIP_ENTRIES);
	for (zip_int64_t i = 0; i < count && rc == 0; i++)
		rc = read_known(zip, (zip_uint64_t)i, size, &files, err);
	if (rc < 0) {
		result_files_free(&files);
		return rc;
	}
	*ret_files = files;
	return 0;
}
