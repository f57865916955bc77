/* SPDX-License-Identifier: MIT */
/* Images of warm processes: files with their memory. */
/*
 * Theory of operation. An image has some hundred megabytes, which are read at random whenever an interpreter starts. It
 * is a file in the spool, which the page cache keeps: the machine can take that memory back, unlike memory of /dev/shm,
 * where an image is only if the disk has no room for several. It has a name, by which sandboxes are shown it. Its maker
 * holds a lock on it until it ends. The next kettle-exec of the same user removes images whose lock it can get.
 */
#include <config.h>

#include "exec/warm/image.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/hash.h"
#include "exec/util/strings.h"

#define SYSTEM "/usr" /* every sandbox shows it */
#define MEMORY "/dev/shm"
#define PREFIX "kettle-warm-"
#define ROOM (UINT64_C(2) << 30) /* bytes that must be free for an image */

static bool
is_roomy(const char *folder)
{
	struct statvfs st;
	return statvfs(folder, &st) == 0 && (uint64_t)st.f_bavail * st.f_frsize >= ROOM && access(folder, W_OK) == 0;
}

static const char *
image_choose(const char *folder)
{
	return !is_roomy(folder) && is_roomy(MEMORY) ? MEMORY : folder;
}

int
image_make(const char *folder, struct image *ret_image)
{
	uint64_t random = 0;
	random_bytes(&random, sizeof(random));
	const char *chosen = image_choose(folder);
	AUTO_FREE char *path = xasprintf("%s/" PREFIX "%016llx", chosen, (unsigned long long)random);
	AUTO_FD int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return -1;
	/* Sandboxes read it as another user. */
	if (flock(fd, LOCK_EX | LOCK_NB) != 0 || fchmod(fd, 0644) != 0) {
		(void)unlink(path);
		return -1;
	}
	*ret_image = (struct image){.fd = STEAL_FD(fd), .path = STEAL(path), .memory = chosen != folder};
	return 0;
}

void
image_remove(struct image *image)
{
	if (!image->path)
		return;
	(void)unlink(image->path);
	close(image->fd);
	free(image->path);
	*image = (struct image){0};
}

bool
image_is_lost(const struct image *image)
{
	struct stat st;
	return image->path && (fstat(image->fd, &st) != 0 || st.st_nlink == 0);
}

void
image_remove_stale(void)
{
	AUTO_DIR DIR *folder = opendir(MEMORY);
	const struct dirent *entry;
	while (folder && (entry = readdir(folder))) {
		struct stat st;
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		AUTO_FD int fd = openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
			flock(fd, LOCK_EX | LOCK_NB) == 0)
			(void)unlinkat(dirfd(folder), entry->d_name, 0);
	}
}

bool
image_is_visible(const char *folder, const struct strings *folders)
{
	for (size_t i = 0; i < folders->count; i++)
		if (path_below(folder, folders->list[i]))
			return true;
	return path_below(folder, SYSTEM) != NULL;
}
