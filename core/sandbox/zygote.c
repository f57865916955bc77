/* SPDX-License-Identifier: MIT */
/*
 * A warm process.
 *
 * Theory of operation. The owner starts it as an ordinary child, before any job. It runs trusted code (an interpreter
 * and its libraries) and nothing of a job. A request holds everything that init needs from its clone to SANDBOX_GO: the
 * memory of the plan, which is mapped here at the owner's address for the clone, and a few descriptors. The clone has
 * CLONE_PARENT, so init is the owner's child: the owner reaps it, it dies with the owner, and the death of the warm
 * process does not affect it. Init runs the same code in a copy of this process, and everything about the job
 * (arguments, environment, secrets) goes from the owner to init, never through here. The payload is forked from init,
 * drops privileges as before an exec, unmaps the plan, through which init reports, and continues in this process's
 * program.
 */
#include <config.h>

#include "sandbox/zygote.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/init.h"
#include "sandbox/message.h"

struct received_request {
	struct sandbox_zygote_request request;
	int fds[SANDBOX_ZYGOTE_FDS]; /* -1: not there */
};

/* 1: a request, 0: the owner hung up, -1 with errno. */
static int
receive(int socket, struct received_request *received)
{
	int came[SANDBOX_ZYGOTE_FDS];
	size_t count = ARRAY_SIZE(came), next = 0;
	int rc = sandbox_message_receive(socket, &received->request, sizeof(received->request), 0, came, &count);
	for (size_t i = 0; rc > 0 && i < SANDBOX_ZYGOTE_FDS; i++)
		received->fds[i] = received->request.present & (1u << i) && next < count ? came[next++] : -1;
	return rc;
}

static struct sandbox_zygote_answer
carry_out(const struct received_request *received, const struct sandbox_zygote *zygote)
{
	struct sandbox_plan *plan = sandbox_plan_map_at(received->request.plan, received->fds[SANDBOX_ZYGOTE_MEMORY]);
	if (!plan)
		return (struct sandbox_zygote_answer){-1, errno};
	/* The owner's numbers are not valid here. */
	plan->cgroup_cpu = received->fds[SANDBOX_ZYGOTE_CPU];
	plan->cgroup_oom = received->fds[SANDBOX_ZYGOTE_OOM];
	zygote->before(zygote->arg);
	pid_t pid = sandbox_init_clone(
		plan, -1, received->fds[SANDBOX_ZYGOTE_CONTROL], &received->fds[SANDBOX_ZYGOTE_PROCS], zygote, NULL);
	int error = errno;
	zygote->after(zygote->arg);
	sandbox_plan_unmap(plan);
	return (struct sandbox_zygote_answer){pid, pid < 0 ? error : 0};
}

int
sandbox_zygote_serve(int socket, struct sandbox_zygote *zygote)
{
	struct received_request received;
	int rc;
	zygote->dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
	while ((rc = receive(socket, &received)) > 0) {
		struct sandbox_zygote_answer answer = carry_out(&received, zygote);
		for (size_t i = 0; i < SANDBOX_ZYGOTE_FDS; i++)
			if (received.fds[i] >= 0)
				close(received.fds[i]);
		if (send(socket, &answer, sizeof(answer), MSG_NOSIGNAL) != sizeof(answer))
			return -1;
	}
	return rc;
}
