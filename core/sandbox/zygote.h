/* SPDX-License-Identifier: MIT */
/* A warm process: one that has loaded what payloads begin with, and that inits are cloned from on request. */
#ifndef KETTLE_SANDBOX_ZYGOTE_H
#define KETTLE_SANDBOX_ZYGOTE_H

#include <stdint.h>

#include "sandbox/payload.h"

/*
 * Serves an owner's requests on a socket (SOCK_SEQPACKET) until the owner hangs up; 0 then, else -1 with errno. The
 * process must have one thread, and be a child of the owner's thread that asks. Returns in the warm process alone.
 */
int sandbox_zygote_serve(int socket, struct sandbox_zygote *zygote);

/* The library's own: what owner and warm process say to each other. */
enum sandbox_zygote_fd {
	SANDBOX_ZYGOTE_MEMORY,  /* of the plan */
	SANDBOX_ZYGOTE_CONTROL, /* init's end */
	SANDBOX_ZYGOTE_CGROUP,  /* v2: the folder to begin in */
	SANDBOX_ZYGOTE_PROCS,   /* v1: three files, one for each controller */
	SANDBOX_ZYGOTE_CPU = SANDBOX_ZYGOTE_PROCS + 3,
	SANDBOX_ZYGOTE_OOM,
	SANDBOX_ZYGOTE_FDS
};
struct sandbox_zygote_request {
	uint64_t plan;    /* its address */
	uint64_t flags;   /* of the clone */
	uint32_t present; /* 1 << enum sandbox_zygote_fd: those that come with it, in order */
};
struct sandbox_zygote_answer {
	int32_t pid, error; /* pid -1: errno */
};

#endif
