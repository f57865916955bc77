/* SPDX-License-Identifier: MIT */
/* A warm process: it has loaded the libraries that payloads start with, and inits are cloned from it on request. */
#pragma once

#include <stdint.h>

#include "sandbox/payload.h"

/*
 * Serves an owner's requests on a socket (SOCK_SEQPACKET) until the owner hangs up. 0 then, else -1 with errno. The
 * process must have one thread and be a child of the requesting thread. Returns in the warm process only.
 */
int sandbox_zygote_serve(int socket, struct sandbox_zygote *zygote);

/* The messages between owner and warm process, private to the library. */
enum sandbox_zygote_fd {
	SANDBOX_ZYGOTE_MEMORY,  /* of the plan */
	SANDBOX_ZYGOTE_CONTROL, /* init's end */
	SANDBOX_ZYGOTE_PROCS,   /* three files, one for each controller; with v2 the first for all */
	SANDBOX_ZYGOTE_CPU = SANDBOX_ZYGOTE_PROCS + 3,
	SANDBOX_ZYGOTE_OOM,
	SANDBOX_ZYGOTE_FDS
};
struct sandbox_zygote_request {
	uint64_t plan;    /* its address */
	uint32_t present; /* 1 << enum sandbox_zygote_fd: the descriptors that follow, in order */
};
struct sandbox_zygote_answer {
	int32_t pid, error; /* pid -1: errno */
};
