/* SPDX-License-Identifier: MIT */
/* A solver for a test: reports what it can see of the referee's files, then adds up, or misbehaves as its arguments say. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int n = 0, peer = atoi(getenv("KETTLE_PEER_FD"));
	printf("cases %s\n", access("cases.txt", F_OK) == 0 ? "yes" : "no");
	printf("secret %s\n", getenv("SEED") ? "yes" : "no");
	printf("result %s\n", getenv("RESULT_FD") || fcntl(3, F_GETFD) >= 0 ? "yes" : "no");
	fflush(stdout);
	if (strcmp(how, "early") == 0)
		return 7;
	if (strcmp(how, "hang") == 0)
		for (;;)
			pause();
	if (read(peer, &n, sizeof(n)) != sizeof(n))
		return 1;
	long *memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(getenv("KETTLE_SHM_FD")), 0);
	for (int i = 1; i <= n; i++)
		memory[0] += i;
	if (strcmp(how, "wrong") == 0)
		memory[0]++;
	if (write(peer, &n, sizeof(n)) != sizeof(n))
		return 1;
	for (;;)
		pause();
}
