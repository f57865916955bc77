/* SPDX-License-Identifier: MIT */
/*
 * For LD_PRELOAD: every fsync and fdatasync takes KETTLE_SYNC_MS and does nothing, so that figures are those of a disk of
 * that speed, whatever this machine's disk does meanwhile.
 */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

static int
wait_only(void)
{
	const char *ms = getenv("KETTLE_SYNC_MS");
	struct timespec left = {.tv_nsec = (ms ? atol(ms) : 0) * 1000000};
	left.tv_sec = left.tv_nsec / 1000000000;
	left.tv_nsec %= 1000000000;
	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		continue;
	return 0;
}

PUBLIC int
fsync(int fd)
{
	(void)fd;
	return wait_only();
}

PUBLIC int
fdatasync(int fd)
{
	(void)fd;
	return wait_only();
}
