// expect: failed
// Writes the verdict to the descriptors that a harness usually has, and to the one in the environment.
#include "task.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void
write_to(int fd)
{
	static const char verdict[] = "check: pass\n";
	if (write(fd, verdict, strlen(verdict)) < 0)
		return;
}

void
custom_kernel(const input_t &, output_t &)
{
	const char *named = getenv("POPCORN_FD");
	if (named)
		write_to(atoi(named));
	for (int fd = 3; fd < 32; fd++)
		write_to(fd);
	_exit(0);
}
