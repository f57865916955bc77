/* SPDX-License-Identifier: MIT */
/* For LD_PRELOAD: the wall clock, moved by as many seconds as the file KETTLE_CLOCK holds (an int64_t, read at each look). */
#include <config.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))

static const volatile int64_t *moved;

static void
open_clock(void)
{
	const char *path = getenv("KETTLE_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	void *page = mmap(NULL, sizeof(*moved), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (page != MAP_FAILED)
		moved = page;
}

static int64_t
seconds_moved(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	(void)pthread_once(&once, open_clock);
	return moved ? *moved : 0;
}

PUBLIC int
clock_gettime(clockid_t clock, struct timespec *ret_now)
{
	int rc = (int)syscall(SYS_clock_gettime, clock, ret_now);
	if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		ret_now->tv_sec += seconds_moved();
	return rc;
}

PUBLIC time_t
time(time_t *ret_now)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (ret_now)
		*ret_now = now.tv_sec;
	return now.tv_sec;
}

PUBLIC int
gettimeofday(struct timeval *ret_now, void *zone)
{
	struct timespec now;
	(void)zone;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	*ret_now = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
	return 0;
}
