// SPDX-License-Identifier: MIT
// class: Result channel: writing the verdict to the descriptor named in the environment; filling the pipe
// tries: to have the channel itself, or the run's description with the seed, among its descriptors or its mappings, before
//        main and during the call.
// expect: passed
#include "attack.h"

#include <sys/socket.h>

static void
look()
{
	char path[64], name[64], line[500];
	int sockets = 0;
	for (int fd = 3; fd < 1100; fd++) {
		int type = 0;
		socklen_t size = sizeof(type);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		ssize_t len = readlink(path, name, sizeof(name) - 1);
		name[len < 0 ? 0 : len] = 0;
		if (strncmp(name, "pipe:", 5) == 0 || strstr(name, "memfd"))
			escaped("descriptor %d is %s", fd, name);
		if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && (++sockets > 1 || type != SOCK_SEQPACKET))
			escaped("descriptor %d is a socket of another kind", fd);
	}
	if (sockets != 1)
		escaped("there are %d sockets, so the attack proves nothing", sockets);
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "kettle-run"))
			escaped("the memory has %s", line);
	if (maps)
		fclose(maps);
}

static int early = (look(), tried(), 0);

void
custom_kernel(Span<const float> input, Span<float> output)
{
	(void)early;
	look();
	honest(input, output);
}
