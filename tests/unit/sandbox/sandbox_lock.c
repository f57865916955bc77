/* SPDX-License-Identifier: MIT */
/* Locks on files. */
#define _GNU_SOURCE
#include "unit/sandbox/sandbox_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static void
say_lock(const char *path, const char *way, int rc)
{
	printf("%s %s=%s\n", path, way, rc < 0 ? strerrorname_np(errno) : "ok");
}

int
do_lock(char **args)
{
	for (; *args && strcmp(*args, "hold") != 0; args++) {
		struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
		int fd = open(*args, O_RDONLY), second = open(*args, O_RDONLY);
		say_lock(*args, "flock", flock(fd, LOCK_EX | LOCK_NB));
		say_lock(*args, "again", flock(second, LOCK_EX | LOCK_NB));
		say_lock(*args, "posix", fcntl(fd, F_SETLK, &lock));
		say_lock(*args, "ofd", fcntl(fd, F_OFD_SETLK, &lock));
	}
	printf("held\n");
	(void)fflush(stdout);
	while (*args)
		pause();
	return 0;
}
