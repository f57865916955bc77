/* SPDX-License-Identifier: MIT */
/* The folder for files of running jobs; removed with its kettle-exec, or by the next one. */
#include <config.h>

#include "exec/machine/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/text.h"

#define LOOKS_MAX 50 /* together half a second */
#define LOOK_PAUSE_NS 10000000

/* Opens and locks a file, with or without waiting for the lock. -1: it is locked, or errno has the reason. */
static int
open_locked(const char *path, bool wait)
{
	AUTO_FD int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB)) != 0)
		return -1;
	return STEAL_FD(fd);
}

/*
 * Removes the folder if its owner has ended. A process that the owner cloned just before its end may hold the lock
 * until it has closed inherited descriptors, so if the owner is gone, the lock is tried some more times. (An owner in
 * another pid namespace seems gone, too.)
 */
static void
remove_if_stale(const char *dir, const char *name, unsigned *looks)
{
	const struct timespec pause = {.tv_nsec = LOOK_PAUSE_NS};
	AUTO_FREE char *lock = path_join(dir, "lock");
	AUTO_FD int fd = open_locked(lock, false);
	long owner = strtol(name, NULL, 10);
	while (fd < 0 && owner > 0 && kill((pid_t)owner, 0) != 0 && errno == ESRCH && *looks > 0) {
		--*looks;
		(void)nanosleep(&pause, NULL);
		fd = open_locked(lock, false);
	}
	if (fd >= 0)
		(void)file_remove_tree(dir, NULL);
}

static void
remove_stale(const char *root)
{
	AUTO_DIR DIR *folder = opendir(root);
	const struct dirent *entry;
	unsigned looks = LOOKS_MAX;
	while (folder && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.' || strcmp(entry->d_name, "lock") == 0)
			continue;
		AUTO_FREE char *dir = path_join(root, entry->d_name);
		remove_if_stale(dir, entry->d_name, &looks);
	}
}

/*
 * Asks the file system to place the folders below this one apart. Folders side by side get inodes among those that were
 * just removed, and ext4 without a journal then looks at all of these, for minutes, whenever it makes a file: half a
 * millisecond each. This helps while there are other places. Other file systems refuse or ignore it.
 */
static void
spread_folders(const char *path)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int flags = 0;
	if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0)
		return;
	flags |= FS_TOPDIR_FL;
	(void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

static int
make_own(struct spool *spool, const char *root, struct kettle_error *err)
{
	unsigned random = 0;
	random_bytes(&random, sizeof(random));
	AUTO_FREE char *name = xasprintf("%s/%ld-%08x", root, (long)getpid(), random);
	AUTO_FREE char *lock = path_join(name, "lock");
	if (mkdir(name, 0700) != 0 || (spool->lock = open_locked(lock, false)) < 0)
		return kettle_fail(err, KETTLE_EIO, "The spool `%s` could not be created: %s.", name, strerror(errno));
	spread_folders(name);
	spool->dir = STEAL(name);
	return 0;
}

int
spool_open(struct spool *spool, const char *state, struct kettle_error *err)
{
	*spool = (struct spool){.lock = -1};
	AUTO_FREE char *root = path_join(state, "spool");
	AUTO_FREE char *gate = path_join(state, "spool/lock");
	int rc = file_mkdirs(root, 0700, err);
	if (rc != 0)
		return rc;
	/* Until the folder is locked, no other process may take it for a stale one. */
	AUTO_FD int entry = open_locked(gate, true);
	if (entry < 0)
		return kettle_fail(err, KETTLE_EIO, "`%s` could not be locked: %s.", gate, strerror(errno));
	remove_stale(root);
	return make_own(spool, root, err);
}

int
spool_make(struct spool *spool, const char *prefix, char **ret_dir, struct kettle_error *err)
{
	AUTO_FREE char *name = xasprintf("%s/%s%u", spool->dir, prefix, ++spool->next);
	if (mkdir(name, 0700) != 0)
		return kettle_fail(err, KETTLE_EIO, "The folder `%s` could not be created: %s.", name, strerror(errno));
	*ret_dir = STEAL(name);
	return 0;
}

void
spool_close(struct spool *spool)
{
	if (spool->dir)
		(void)file_remove_tree(spool->dir, NULL);
	free(spool->dir);
	if (spool->lock >= 0)
		close(spool->lock);
	*spool = (struct spool){.lock = -1};
}
