// SPDX-License-Identifier: MIT
// class: Host: inode floods
// tries: to make files without end: empty ones, names of one, folders in folders.
// expect: passed failed timed_out
#include "attack.h"

static void attack()
{
	char name[64];
	int made = 0;
	for (const char *path : {"/tmp", "/dev/shm", "/job/out"})
		for (int i = 0; i < 300000; i++) {
			snprintf(name, sizeof(name), "%s/f%d", path, i);
			int fd = open(name, O_CREAT | O_WRONLY, 0600);
			if (fd < 0)
				break;
			close(fd);
			made++;
		}
	if (made > 600000)
		escaped("made %d files", made);
	unlink("/tmp/f0");
	if (chdir("/tmp") == 0)
		while (mkdir("d", 0700) == 0 && chdir("d") == 0)
			;
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (tried(), attack(), 0);
	(void)once;
	honest(input, output);
}
