// SPDX-License-Identifier: MIT
// class: Host: shared memory and System V IPC left behind
// tries: to leave segments, semaphores and message queues, and looks whether an earlier run's or the machine's are there.
// expect: passed
// runs: 2
#include "attack.h"

#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

static void attack()
{
	MUST_FAIL(shmget(@KEY@, 4096, 0));
	MUST_FAIL(shmget(@HOSTKEY@, 4096, 0));
	MUST_FAIL(semget(@KEY@, 1, 0));
	MUST_FAIL(msgget(@KEY@, 0));
	MUST_FAIL(shm_open("/@MARK@", O_RDWR, 0600));
	shmget(@KEY@, 4096, IPC_CREAT | 0666);
	semget(@KEY@, 1, IPC_CREAT | 0666);
	msgget(@KEY@, IPC_CREAT | 0666);
	shm_open("/@MARK@", O_RDWR | O_CREAT, 0666);
	mq_open("/@MARK@", O_RDWR | O_CREAT, 0666, nullptr);
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (attack(), tried(), 0);
	(void)once;
	honest(input, output);
}
