/* SPDX-License-Identifier: MIT */
/* A warm process: one that has loaded what payloads begin with, and that inits are cloned from on request. */
#ifndef KETTLE_SANDBOX_ZYGOTE_H
#define KETTLE_SANDBOX_ZYGOTE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What the program of a warm process does. */
struct sandbox_zygote {
	void (*before)(void *arg); /* in the warm process: right before it is copied, */
	void (*after)(void *arg);  /* and right after */
	/*
	 * In the payload, as soon as it is there: nothing is known of its run, signals are blocked, privileges are init's.
	 * What every run begins with can be done ahead here, in small pieces while `wanted` is false; it may be for long.
	 */
	void (*park)(void *arg, const atomic_bool *wanted);
	/*
	 * In the payload, in place of executing `file`: all is given up and set as it would be for that. The strings are the
	 * payload's own. Must not return; may execute `file` after all.
	 */
	void (*become)(void *arg, const char *file, char **argv, char **envp) __attribute__((noreturn));
	void *arg;
	int dumpable; /* as the payload is to be; sandbox_zygote_serve sets it */
};

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
