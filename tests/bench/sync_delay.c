/* SPDX-License-Identifier: MIT */
/* For LD_PRELOAD: every fsync and fdatasync takes KETTLE_SYNC_MS, as on a disk that really writes. */
#include <config.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

/* The real one, and then the rest of the time. */
static int
slowly(const char *name, int fd)
{
	int (*real)(int) = (int (*)(int))(intptr_t)dlsym(RTLD_NEXT, name);
	const char *ms = getenv("KETTLE_SYNC_MS");
	struct timespec end;
	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += (ms ? atol(ms) : 0) * 1000000;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	int status = real(fd), error = errno;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
		continue;
	errno = error;
	return status;
}

PUBLIC int
fsync(int fd)
{
	return slowly("fsync", fd);
}

PUBLIC int
fdatasync(int fd)
{
	return slowly("fdatasync", fd);
}
