/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for libcuda.so.1 and libamdhip64.so for processes that open a device before their run is known. It lists
 * its calls in /tmp/driver.log and starts a thread, as drivers do. FAKE_DRIVER: fail, hang, end (the process).
 */
#include <config.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

API int cuInit(unsigned flags);
API int cuDevicePrimaryCtxRetain(void **ret_context, int device);
API int hipInit(unsigned flags);
API int hipFree(void *memory);

static void
note(const char *line)
{
	int fd = open("/tmp/driver.log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd >= 0 && write(fd, line, strlen(line)) > 0)
		close(fd);
}

static void *
drive(void *arg)
{
	for (;;)
		(void)pause();
	return arg;
}

static int
begin(const char *name)
{
	const char *mode = getenv("FAKE_DRIVER");
	pthread_t thread;
	note(name);
	if (pthread_create(&thread, NULL, drive, NULL) != 0)
		return 2;
	if (mode && strcmp(mode, "hang") == 0)
		(void)drive(NULL);
	if (mode && strcmp(mode, "end") == 0)
		(void)raise(SIGKILL);
	/* As a driver's node, it stays open. */
	(void)open("/dev/null", O_RDWR | O_CLOEXEC);
	return mode && strcmp(mode, "fail") == 0 ? 999 : 0;
}

int
cuInit(unsigned flags)
{
	(void)flags;
	return begin("cuInit\n");
}

int
cuDevicePrimaryCtxRetain(void **ret_context, int device)
{
	static int context;
	note(device == 0 ? "cuDevicePrimaryCtxRetain 0\n" : "cuDevicePrimaryCtxRetain\n");
	*ret_context = &context;
	return 0;
}

int
hipInit(unsigned flags)
{
	(void)flags;
	return begin("hipInit\n");
}

int
hipFree(void *memory)
{
	note(memory ? "hipFree\n" : "hipFree NULL\n");
	return 0;
}
