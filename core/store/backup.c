/* SPDX-License-Identifier: MIT */
/* Copies of a database that is in use. */
#include <config.h>

#include "store/backup.h"

#include "base/base.h"
#include "base/file.h"
#include "store/db.h"
#include "store/db_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define BACKUP_STEP_PAGES 256 /* between two checks whether to stop */

static int
fail_backup_path(const char *path, int number, struct kettle_error *err)
{
	if (number == EEXIST || number == ENOTEMPTY)
		return kettle_fail(
			err, KETTLE_ECONFLICT, "`%s` already exists and is not overwritten: name another file.", path);
	return kettle_fail(err, number == EACCES || number == EPERM ? KETTLE_EACCES : KETTLE_EIO,
		"`%s` cannot be written: %s.", path, strerror(number));
}

/* ---- the name ---- */

static int
flush_folder(const char *path, struct kettle_error *err)
{
	AUTO_FREE char *copy = xstrdup(path);
	AUTO_FD int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Some file systems flush no folders; the file itself is safe. */
	if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL))
		return fail_backup_path(path, errno, err);
	return 0;
}

/* The process in NAME.PID.part; 0: it is not such a name. */
static pid_t
writer_of(const char *entry, const char *name)
{
	size_t len = strlen(name);
	char *end = NULL;
	if (strncmp(entry, name, len) != 0 || entry[len] != '.' || !isdigit((unsigned char)entry[len + 1]))
		return 0;
	long pid = strtol(entry + len + 1, &end, 10);
	return strcmp(end, ".part") == 0 && pid > 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

/* Whether its process is gone, here and, as far as a lock tells, elsewhere. */
static bool
is_left(int dir, const char *entry, pid_t writer)
{
	struct stat status;
	AUTO_FD int fd = openat(dir, entry, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return fd >= 0 && fstat(fd, &status) == 0 && status.st_uid == geteuid() && kill(writer, 0) != 0 && errno == ESRCH &&
		   flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void
remove_left_parts(const char *path)
{
	AUTO_FREE char *above = xstrdup(path), *last = xstrdup(path);
	const char *folder = dirname(above), *name = basename(last);
	AUTO_DIR DIR *dir = opendir(folder);
	struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		pid_t writer = writer_of(entry->d_name, name);
		AUTO_FREE char *part = path_join(folder, entry->d_name);
		if (writer && is_left(dirfd(dir), entry->d_name, writer))
			(void)file_remove_tree(part, NULL);
	}
}

int
backup_part(const char *path, bool folder, char **ret_part, int *ret_fd, struct kettle_error *err)
{
	remove_left_parts(path);
	AUTO_FREE char *part = xasprintf("%s.%ld.part", path, (long)getpid());
	if (folder && mkdir(part, 0700) != 0)
		return fail_backup_path(path, errno, err);
	AUTO_FD int fd = folder ? open(part, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
							: open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail_backup_path(path, errno, err);
	/* A file is left to SQLite's locks: over NFS, flock would be one of those. */
	if (folder && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return kettle_fail(err, KETTLE_ECONFLICT, "Another process writes `%s` at the moment.", path);
	*ret_part = STEAL(part);
	*ret_fd = STEAL_FD(fd);
	return 0;
}

int
backup_name(const char *written, const char *path, struct kettle_error *err)
{
	struct stat status;
	int rc = renameat2(AT_FDCWD, written, AT_FDCWD, path, RENAME_NOREPLACE);
	if (rc != 0 && errno == EEXIST && lstat(written, &status) == 0 && S_ISDIR(status.st_mode))
		rc = rename(written, path); /* which replaces no folder that holds something */
	/*
	 * The file system may not support RENAME_NOREPLACE: link then does the same for a file, and rename never replaces a
	 * folder that holds something.
	 */
	if (rc != 0 && errno == EINVAL) {
		rc = link(written, path);
		rc = rc == 0 ? unlink(written) : errno == EPERM ? rename(written, path) : rc;
	}
	return rc != 0 ? fail_backup_path(path, errno, err) : flush_folder(path, err);
}

/* ---- the copy ---- */

/* Opens the file that is written. The copy is checked and flushed at the end, so nothing is flushed before. */
static int
open_copy(const char *written, sqlite3 **ret_copy, struct kettle_error *err)
{
	sqlite3 *copy = NULL;
	int rc = sqlite3_open_v2(written, &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(copy, "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF", NULL, NULL, NULL);
	if (rc != SQLITE_OK) {
		(void)db_error_fail(copy, rc, "making a backup", err);
		sqlite3_close(copy);
		return err ? err->code : KETTLE_EIO;
	}
	*ret_copy = copy;
	return 0;
}

static int
copy_pages(sqlite3 *from, sqlite3 *copy, backup_progress progress, void *arg, struct kettle_error *err)
{
	sqlite3_backup *backup = sqlite3_backup_init(copy, "main", from, "main");
	if (!backup)
		return db_error_fail(copy, sqlite3_errcode(copy), "beginning a backup", err);
	int rc = SQLITE_OK;
	bool stopped = false;
	while (rc == SQLITE_OK && !stopped) {
		rc = sqlite3_backup_step(backup, BACKUP_STEP_PAGES);
		int64_t total = sqlite3_backup_pagecount(backup);
		stopped = rc == SQLITE_OK && progress && !progress(arg, total - sqlite3_backup_remaining(backup), total);
	}
	int end = sqlite3_backup_finish(backup);
	if (stopped)
		return kettle_fail(err, KETTLE_ECANCELED, "The backup was stopped; its file was removed.");
	return end == SQLITE_OK ? 0 : db_error_fail(copy, end, "copying it", err);
}

static int
exec(sqlite3 *handle, const char *sql, const char *doing, struct kettle_error *err)
{
	int rc = sqlite3_exec(handle, sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? 0 : db_error_fail(handle, rc, doing, err);
}

/* While its reading transaction is open the source looks the same, and the copy never begins anew. */
static int
copy_snapshot(sqlite3 *from, sqlite3 *copy, backup_progress progress, void *arg, struct kettle_error *err)
{
	int rc = exec(from, "BEGIN; SELECT count(*) FROM sqlite_schema", "reading it", err);
	if (rc == 0)
		rc = copy_pages(from, copy, progress, arg, err);
	if (!sqlite3_get_autocommit(from))
		(void)sqlite3_exec(from, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

static int
first_text(void *arg, int count, char **values, char **names)
{
	char **text = arg;
	(void)names;
	if (count > 0 && values[0] && !*text)
		*text = xstrdup(values[0]);
	return 0;
}

/* One file without a log, in which every page is where it belongs. */
static int
check_copy(sqlite3 *copy, const char *path, struct kettle_error *err)
{
	AUTO_FREE char *report = NULL, *application = NULL;
	int rc = exec(copy, "PRAGMA journal_mode = DELETE", "finishing a backup", err);
	int result = rc == 0 ? sqlite3_exec(copy, "PRAGMA quick_check(1)", first_text, &report, NULL) : SQLITE_OK;
	if (result == SQLITE_OK)
		result = sqlite3_exec(copy, "PRAGMA application_id", first_text, &application, NULL);
	if (rc == 0 && result != SQLITE_OK)
		rc = db_error_fail(copy, result, "checking a backup", err);
	bool sound = report && strcmp(report, "ok") == 0 && application &&
				 strtoll(application, NULL, 10) == MIGRATIONS_APPLICATION_ID;
	if (rc == 0 && !sound)
		rc = kettle_fail(err, KETTLE_EIO,
			"The backup `%s` would be damaged (%s): check the disk, and the database with `PRAGMA "
			"integrity_check`.",
			path, report ? report : "no result");
	return rc;
}

static int
flush_file(const char *written, int64_t *ret_bytes, struct kettle_error *err)
{
	struct stat status;
	AUTO_FD int fd = open(written, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fsync(fd) != 0 || fstat(fd, &status) != 0)
		return fail_backup_path(written, errno, err);
	*ret_bytes = status.st_size;
	return 0;
}

int
backup_make(
	sqlite3 *from, const char *path, backup_progress progress, void *arg, int64_t *ret_bytes, struct kettle_error *err)
{
	AUTO_FREE char *written = NULL;
	AUTO_FD int lock = -1;
	sqlite3 *copy = NULL;
	int64_t bytes = 0;
	/* Refused before anything is copied; a file that appears meanwhile is refused at the end. */
	if (access(path, F_OK) == 0)
		return fail_backup_path(path, EEXIST, err);
	int rc = backup_part(path, false, &written, &lock, err);
	if (rc < 0)
		return rc;
	rc = open_copy(written, &copy, err);
	if (rc == 0)
		rc = copy_snapshot(from, copy, progress, arg, err);
	if (rc == 0)
		/* The names on remote sides (model/remote_names.h) stay the original's. */
		rc = exec(copy, "DELETE FROM settings WHERE key IN ('remote_prefix', 'remote_place')", "making a backup", err);
	if (rc == 0)
		rc = check_copy(copy, path, err);
	sqlite3_close(copy);
	if (rc == 0)
		rc = flush_file(written, &bytes, err);
	if (rc == 0)
		rc = backup_name(written, path, err);
	if (rc < 0)
		(void)unlink(written);
	else
		*ret_bytes = bytes;
	return rc;
}
