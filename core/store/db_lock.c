/* SPDX-License-Identifier: MIT */
/* DB.lock: who runs jobs on a database. The lock is the flock, never the file's existence. */
#include <config.h>

#include "store/db_lock.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>

#define SERVES "serve" /* the second word of the file where the process stays; the first is its id */

static int
make_lock_file_folder(const char *path, struct kettle_error *err)
{
	const char *slash = strrchr(path, '/');
	if (!slash || slash == path)
		return 0;
	AUTO_FREE char *folder = xstrndup(path, (size_t)(slash - path));
	struct kettle_error why = {0};
	int rc = file_mkdirs(folder, 0700, &why);
	if (rc < 0)
		return kettle_fail(
			err, rc, "The folder of the database cannot be created: %s Use --db FILE, or set HOME.", why.message);
	return 0;
}

/* The file may still name an earlier holder: only a live process counts. */
static struct lock_holder
read_holder(int fd)
{
	char text[64] = "", word[sizeof(text)] = "";
	long pid = 0;
	(void)!pread(fd, text, sizeof(text) - 1, 0);
	(void)sscanf(text, "%ld %63s", &pid, word);
	struct lock_holder holder = {.pid = (pid_t)pid, .is_server = strcmp(word, SERVES) == 0};
	if (holder.pid <= 0 || (kill(holder.pid, 0) < 0 && errno == ESRCH))
		return (struct lock_holder){0};
	return holder;
}

int
db_lock_share(const char *database, int *ret_fd, struct kettle_error *err)
{
	AUTO_FREE char *path = xasprintf("%s.lock", database);
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && errno != ENOENT)
		return kettle_fail(
			err, KETTLE_EUNAVAIL, "The lock %s of the database cannot be opened: %s.", path, strerror(errno));
	if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0)
		return kettle_fail(err, KETTLE_ECONFLICT, "The database %s is in use by another process.", database);
	*ret_fd = STEAL_FD(fd);
	return 0;
}

struct lock_holder
db_lock_holder(const char *database)
{
	AUTO_FREE char *path = xasprintf("%s.lock", database);
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return fd < 0 ? (struct lock_holder){0} : read_holder(fd);
}

int
db_lock_take(
	const char *database, bool is_server, int *ret_fd, struct lock_holder *ret_holder, struct kettle_error *err)
{
	AUTO_FREE char *path = xasprintf("%s.lock", database);
	int rc = make_lock_file_folder(path, err);
	if (rc < 0)
		return rc;
	AUTO_FD int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return kettle_fail(err, KETTLE_EIO,
			"The lock %s of the database cannot be opened: %s. The database and its folder must be writable.", path,
			strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return kettle_fail(
				err, KETTLE_EIO, "The lock %s of the database cannot be taken: %s.", path, strerror(errno));
		struct lock_holder holder = read_holder(fd);
		if (ret_holder)
			*ret_holder = holder;
		return kettle_fail(
			err, KETTLE_ECONFLICT, "The database %s is in use by process %ld.", database, (long)holder.pid);
	}
	char text[64];
	int size = snprintf(text, sizeof(text), "%ld %s\n", (long)getpid(), is_server ? SERVES : "");
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)size, 0) != size)
		return kettle_fail(
			err, KETTLE_EIO, "The lock %s of the database cannot be written: %s.", path, strerror(errno));
	*ret_fd = STEAL_FD(fd);
	return 0;
}
