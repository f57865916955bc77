/* SPDX-License-Identifier: MIT */
/*
 * One-time links.
 *
 * Theory of operation. Anyone with the token of a link gets its bytes, once. Only the token's hash is stored: as the
 * key of the row, and as the name of the file. A token that was used, has expired or never existed gets the same
 * sentence from the same statement. The end of a link is also its file's time of modification, so files can be removed
 * without the database, those included that a crash left without a row.
 */
#include <config.h>

#include "model/download_urls.h"

#include "base/base.h"
#include "base/hash.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK 65536

char *
download_url_folder(const char *database)
{
	return xasprintf("%s.links", database);
}

/* ---- files ---- */

static int
fail_source(const char *path, struct kettle_error *err)
{
	int code = errno == ENOENT || errno == ENOTDIR ? KETTLE_ENOENT : errno == EACCES ? KETTLE_EACCES : KETTLE_EIO;
	return kettle_fail(err, code, "%s cannot be published: %s.", path, strerror(errno));
}

static int
fail_file(struct kettle_error *err)
{
	return kettle_fail(err, KETTLE_EIO, "The file of a link cannot be written: %s.", strerror(errno));
}

/* The size may grow meanwhile: the copy is bounded. */
static int
copy_file(const char *from, int to, struct kettle_error *err)
{
	struct stat status;
	char chunk[CHUNK];
	int64_t total = 0;
	ssize_t got = 0;
	AUTO_FD int fd = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &status) != 0)
		return fail_source(from, err);
	if (!S_ISREG(status.st_mode))
		return kettle_fail(err, KETTLE_EINVAL, "%s is not a regular file.", from);
	while ((got = read_all(fd, chunk, sizeof(chunk))) > 0) {
		total += got;
		if (total > DOWNLOAD_URL_FILE_MAX)
			return kettle_fail(err, KETTLE_ETOOBIG, "%s is larger than the %lld MiB that can be published.", from,
				(long long)DOWNLOAD_URL_FILE_MAX >> 20);
		if (write_all(to, chunk, (size_t)got) != 0)
			return fail_file(err);
	}
	return got < 0 ? fail_source(from, err) : 0;
}

int
download_url_write(const char *folder, const char hash[65], const void *data, size_t size, const char *from,
	int64_t expires_at, struct kettle_error *err)
{
	AUTO_FREE char *path = xasprintf("%s/%s", folder, hash);
	const struct timespec end = {.tv_sec = expires_at / 1000}, times[2] = {end, end};
	if (mkdir(folder, 0700) != 0 && errno != EEXIST)
		return fail_file(err);
	AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail_file(err);
	int rc = from ? copy_file(from, fd, err) : write_all(fd, data, size) != 0 ? fail_file(err) : 0;
	if (rc == 0 && futimens(fd, times) != 0)
		rc = fail_file(err);
	if (rc < 0)
		(void)unlink(path);
	return rc;
}

int
download_url_lend(
	const char *folder, const char name[65], const char *from, int64_t expires_at, struct kettle_error *err)
{
	AUTO_FREE char *path = xasprintf("%s/%s", folder, name);
	const struct timespec end = {.tv_sec = expires_at / 1000}, times[2] = {end, end};
	if (mkdir(folder, 0700) != 0 && errno != EEXIST)
		return fail_file(err);
	/* Another file system, or one without links. */
	if (link(from, path) != 0 || utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) != 0) {
		(void)unlink(path);
		return download_url_write(folder, name, NULL, 0, from, expires_at, err);
	}
	return 0;
}

void
download_url_sweep(const char *folder, int64_t now_ms)
{
	struct dirent *entry;
	struct stat status;
	AUTO_DIR DIR *dir = opendir(folder);
	while (dir && (entry = readdir(dir)))
		if (fstatat(dirfd(dir), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
			(int64_t)status.st_mtime * 1000 < now_ms - DOWNLOAD_URL_SENDING_MS)
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
}

/* ---- rows ---- */

int
download_url_add(struct db *db, const char *hash, int64_t expires_at, struct kettle_error *err)
{
	int64_t open = 0;
	int rc = db_exec(db, err, "DELETE FROM links WHERE expires_at <= ?", "i", db->now_ms);
	if (rc == 0)
		rc = db_int(db, &open, err, "SELECT count(*) FROM links", NULL);
	if (rc == 0 && open >= DOWNLOAD_URLS_MAX)
		return kettle_fail(err, KETTLE_ETOOBIG,
			"%d links are open, which is the limit: try again when some have ended.", DOWNLOAD_URLS_MAX);
	return rc < 0 ? rc : db_exec(db, err, "INSERT INTO links (hash, expires_at) VALUES (?, ?)", "si", hash, expires_at);
}

int
download_url_take(struct db *db, const char *token, char ret_hash[65], struct kettle_error *err)
{
	char hash[65];
	sha256_hex(token, strlen(token), hash);
	int rc = db_exec(db, err, "DELETE FROM links WHERE hash = ? AND expires_at > ?", "si", hash, db->now_ms);
	if (rc == 0 && db_changes(db) == 0)
		return kettle_fail(err, KETTLE_ENOENT, "There is no such link: a link works once and expires.");
	if (rc == 0)
		memcpy(ret_hash, hash, sizeof(hash));
	return rc;
}
