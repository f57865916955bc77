// SPDX-License-Identifier: MIT
// class: Host: memory floods; System V IPC
// tries: memory that belongs to no process: System V segments that are filled and then detached.
// expect: passed failed timed_out
// memory: 3500
// needs: memory_cgroup
#include "attack.h"

#include <sys/ipc.h>
#include <sys/shm.h>

static void attack()
{
	for (int i = 0; i < 80; i++) {
		int id = shmget(IPC_PRIVATE, 64 << 20, IPC_CREAT | 0600);
		void *block = id < 0 ? reinterpret_cast<void *>(-1) : shmat(id, nullptr, 0);
		if (block == reinterpret_cast<void *>(-1))
			break;
		memset(block, 1, 64 << 20);
		shmdt(block);
	}
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (tried(), attack(), 0);
	(void)once;
	honest(input, output);
}
