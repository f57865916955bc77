/* SPDX-License-Identifier: MIT */
/*
 * How a program that is prepared ahead of its run is started, and how it gets the run. Compiles alone.
 *
 * The sandbox executes the program before the run is known, with its privileges given up, in the folder /, where /job
 * does not exist yet. Descriptors 0 to SANDBOX_PREPARED_FD - 1 are /dev/null, SANDBOX_PREPARED_FD is a socket
 * (SOCK_SEQPACKET), which the variable SANDBOX_PREPARED_VARIABLE names as well. The program
 *
 * 1. opens its device and sends SANDBOX_PREPARED_READY, one byte. If it cannot, it ends;
 * 2. receives one message: a byte, and descriptors, close-on-exec, all of them above SANDBOX_PREPARED_FD. The first one
 *    is a sealed memfd: a struct sandbox_prepared_run, then `argc` and `envc` texts, each with its NUL. The others are
 *    for the numbers in `targets`, in order. Without a message (the socket ends) it ends;
 * 3. puts the descriptors in their places with dup2, closes those below SANDBOX_PREPARED_FD that are in no list, and
 *    the received ones, takes the environment, enters `directory`, sends SANDBOX_PREPARED_BEGINS, closes the socket,
 *    and starts. From here on it may run code of a submission.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#define SANDBOX_PREPARED_VARIABLE "KETTLE_PREPARED_FD"
#define SANDBOX_PREPARED_FD 32 /* all descriptors of a run have lower numbers */
#define SANDBOX_PREPARED_READY 'r'
#define SANDBOX_PREPARED_BEGINS 'b'

struct sandbox_prepared_run {
	uint32_t argc, envc, fds; /* texts; descriptors behind the memfd */
	int32_t targets[SANDBOX_PREPARED_FD];
	char directory[64];
	uint64_t cpu_seconds; /* of a run that the program passes on to another process: its limit there, 0: none */
};

/* Puts descriptors of a run in their places, and closes them and the other places. -1: one has no place. */
static inline int
sandbox_prepared_take_places(const int32_t *targets, uint32_t count, const int *fds)
{
	bool used[SANDBOX_PREPARED_FD] = {false};
	for (uint32_t i = 0; i < count; i++) {
		int target = targets[i];
		if (target < 0 || target >= SANDBOX_PREPARED_FD || dup2(fds[i], target) < 0)
			return -1;
		used[target] = true;
		(void)close(fds[i]);
	}
	for (int fd = 0; fd < SANDBOX_PREPARED_FD; fd++)
		if (!used[fd])
			(void)close(fd);
	return 0;
}
