// SPDX-License-Identifier: MIT
// class: Correctness: reading the secret seed in the environment, in /proc, in a static constructor that runs before main
// tries: to find the seed before main and during the call, in its own environment and in that of every process. Finding
//        it makes its output wrong, because what a secret run prints is not shown.
// expect: passed
// mode: ranked
#include "attack.h"

extern "C" char **environ;
static bool found;

static void look_at_file(const char *path)
{
	static char text[1 << 16];
	int fd = open(path, O_RDONLY);
	ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof(text) - 16);
	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i + 13 < size; i++)
		if ((memcmp(text + i, "POPCORN_SEED=", 13) == 0 && text[i + 13] >= '0' && text[i + 13] <= '9') ||
			(memcmp(text + i, "KETTLE_SECRET=", 14) == 0 && text[i + 14] != 'x'))
			found = true;
}

static void look()
{
	found = found || getenv("POPCORN_SEED") || getenv("KETTLE_SECRET");
	for (char **entry = environ; *entry; entry++)
		found = found || strstr(*entry, "POPCORN_SEED=") || strstr(*entry, "KETTLE_SECRET=");
	look_at_file("/proc/self/environ");
	look_at_file("/proc/thread-self/environ");
	for (int pid = 1; pid < 50; pid++) {
		char path[64];
		snprintf(path, sizeof(path), "/proc/%d/environ", pid);
		look_at_file(path);
		snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
		look_at_file(path);
	}
}

static int early = (look(), 0);

void custom_kernel(const input_t &input, output_t &output)
{
	look();
	tried();
	if (!found)
		honest(input, output);
}
