// SPDX-License-Identifier: MIT
// class: Host: disk floods; huge and sparse files
// tries: files that are larger than any disk without holding anything.
// expect: passed failed
#include "attack.h"

static void attack()
{
	signal(SIGXFSZ, SIG_IGN);
	for (const char *path : {"/tmp/sparse", "/dev/shm/sparse", "/job/out/sparse"}) {
		int fd = open(path, O_CREAT | O_RDWR, 0600);
		if (fd < 0)
			continue;
		MUST_FAIL(ftruncate(fd, off_t{1} << 50));
		MUST_FAIL(fallocate(fd, 0, 0, off_t{1} << 40));
		MUST_FAIL(pwrite(fd, "x", 1, off_t{1} << 45));
		close(fd);
	}
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (tried(), attack(), 0);
	(void)once;
	honest(input, output);
}
