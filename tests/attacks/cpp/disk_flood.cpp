// SPDX-License-Identifier: MIT
// class: Host: disk floods
// tries: to fill every place where it may write.
// expect: passed failed timed_out
// memory: 3500
#include "attack.h"

static void fill(const char *path)
{
	static char block[1 << 20];
	signal(SIGXFSZ, SIG_IGN);
	size_t written = 0;
	for (int i = 0; i < 100; i++) {
		char name[100];
		snprintf(name, sizeof(name), "%s/flood%d", path, i);
		int fd = open(name, O_CREAT | O_WRONLY, 0600);
		ssize_t n = 0;
		while (fd >= 0 && (n = write(fd, block, sizeof(block))) > 0)
			written += static_cast<size_t>(n);
		if (fd >= 0)
			close(fd);
		if (written > size_t{5} << 30) {
			escaped("more than 5 GiB in %s", path);
			return;
		}
	}
}

static void attack()
{
	for (const char *path : {"/tmp", "/dev/shm", "out", "/job/out"})
		fill(path);
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (tried(), attack(), 0);
	(void)once;
	honest(input, output);
}
