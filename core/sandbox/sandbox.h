/* SPDX-License-Identifier: MIT */
/*
 * Runs one untrusted program with no privileges in namespaces of its own. No libuv, no globals, no signal handlers.
 *
 * Theory of operation. The owner builds a plan of the run (strings, mounts, the seccomp filter) in memory that it
 * shares with the child, makes one clone3 into fresh user, mount, pid, network, IPC, UTS and cgroup namespaces, writes
 * the child's id maps and tells it to go on. The child is PID 1 there ("init"): it enters its cgroup, builds the root,
 * passes the descriptor of the output folder back, starts the payload as PID 2 and reaps. When the payload ends or a
 * limit is reached, init kills everything else, reaps it, leaves the report in the shared memory and exits; when the
 * control socket closes or the owner's thread ends, init dies and the kernel kills the rest. Whatever happens, the end
 * of init (its pidfd becomes readable) means that nothing of it runs any more. Nothing is allocated between clone and
 * exec, so the owner may have threads.
 *
 * The owner waits for the pidfd in its own loop, keeps the wall clock, and calls sandbox_kill when a limit that it
 * watches is reached. CPU time and memory are init's business.
 *
 * What the payload sees: / read-only with /usr, /bin, /sbin, /lib*, a little of /etc, /dev with null, zero, full,
 * random, urandom, /proc of its own (without init, and read-only; with a `device`, what is of its own processes there can
 * be written, as CUDA does), /sys/devices/system/{cpu,node}; writable and gone afterwards: /tmp (with /tmp/home),
 * /dev/shm; /job read-only; /job/out, kept in memory until sandbox_free.
 *
 * With root, the payload's user id owns nothing outside: job_dir and all in it must be readable by others (put it in a
 * folder that is closed to them), and so must sandbox_bind sources. A `device` bind whose node only a group may open
 * gives the payload that group.
 *
 * A run may begin as a copy of a warm process, an interpreter with its libraries loaded: init is cloned from that one
 * instead of the owner and is the owner's child all the same; all else is as said above, in the same code (zygote.h).
 *
 * Level OFF has no namespaces: init is a child subreaper, cwd is job_dir itself, out is its real folder, and a
 * payload that is determined can get away.
 */
#ifndef KETTLE_SANDBOX_H
#define KETTLE_SANDBOX_H

#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/cgroup.h"
#include "sandbox/sandbox_config.h"

const char *sandbox_limit_name(enum sandbox_limit limit);

/* What init reports. Valid after sandbox_wait. */
struct sandbox_report {
	bool started;              /* the payload was executed; else message says what failed (the machine's trouble) */
	int exit_status;           /* -1 when a signal ended it */
	int signal;                /* 0 when none */
	enum sandbox_limit limit;  /* what init or the cgroup enforced, or what sandbox_kill was told */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC of exec and of the payload's end */
	uint64_t cpu_ns;           /* user and system, whole tree */
	uint64_t memory_peak;      /* bytes; of the tree */
	uint32_t left_behind;      /* processes that were still there when the payload ended, and were killed */
	unsigned hits; /* 1 << limit of what it ran into without being killed: PROCESSES (where a cgroup counts), DISK */
	unsigned protections; /* those in force */
	bool warm;            /* it began as a copy of a warm process */
	char message[256];    /* a sentence where started is false or the end is not the payload's own; else empty */
};

struct sandbox; /* one run; opaque */

/*
 * What an owner makes once and uses for all its runs: what the machine offers, the seccomp filter, the cgroup root, and
 * a spare: namespaces and cgroup prepared for one run ahead. A namespace is never used by two runs. [one thread: the
 * owner's]
 */
struct sandbox_machine;
/* `cgroup` (from sandbox_cgroup_root, may be NULL) is copied. Probes. */
int sandbox_machine_new(const char *cgroup, struct sandbox_machine **ret_machine, struct kettle_error *err);
/* What it offers, cgroups included: bit set of enum sandbox_protection. */
unsigned sandbox_machine_protections(const struct sandbox_machine *machine);
/* Does without some of them from now on: for tests, and for a machine where one that works does harm. */
void sandbox_machine_disable(struct sandbox_machine *machine, unsigned protections);
/*
 * Prepares a spare if there is none, so that the next sandbox_start is short (about 1 ms here; the rest, up to 15 ms
 * where cgroups are v1, goes on in the spare itself). A good moment is right after a start, or when nothing is being
 * measured. A failure means only that the next start is slower. A spare is thrown away when it is ten minutes old or
 * the machine's mounts have changed.
 */
void sandbox_machine_prepare(struct sandbox_machine *machine);
/* Whether a spare stands ready, with all its preparations over. */
bool sandbox_machine_ready(const struct sandbox_machine *machine);
/* NULL is allowed. The sandboxes started with it must have been freed. */
void sandbox_machine_free(struct sandbox_machine *machine);

/*
 * A warm process (see zygote.h): a child of the owner's thread that serves clones on the other end of `socket`
 * (SOCK_SEQPACKET; borrowed, open until the end). It must run what the owner trusts and nothing else. A sandbox made
 * from it is protected and limited as any other. It needs a pid namespace, so level OFF never uses it.
 */
struct sandbox_warm;
struct sandbox_warm *sandbox_warm_new(int socket);
/* Prepares a spare of it, as sandbox_machine_prepare does. */
void sandbox_warm_prepare(struct sandbox_warm *warm, struct sandbox_machine *machine);
/* Whether the last try to make a copy worked; if not, the process is of no use any more. */
bool sandbox_warm_works(const struct sandbox_warm *warm);
/* NULL is allowed. Sandboxes that were started with it go on. */
void sandbox_warm_free(struct sandbox_warm *warm);

/*
 * Starts, in 1 to 3 ms. On success the owner must call sandbox_free after the end. Everything in config stays the
 * owner's and need not outlive the call. Whether the program could be executed is in the report.
 * KETTLE_EUNAVAIL: this machine does not offer the level (the sentence names what is missing), or the warm process does
 * not answer (without it the start may work).
 * [one thread: the owner's; init dies when that thread dies]
 */
int sandbox_start(const struct sandbox_config *config, struct sandbox **ret_sandbox, struct kettle_error *err);

/* Readable when init has ended and nothing runs any more. Owned by the sandbox. */
int sandbox_pidfd(const struct sandbox *sandbox);
/* Of init, as the owner sees it; for messages and tests. */
pid_t sandbox_pid(const struct sandbox *sandbox);
/*
 * The output folder (O_DIRECTORY; stays readable with openat until sandbox_free), or -1 when it has not come (yet).
 * What is in it is the payload's: open with O_NOFOLLOW | O_NONBLOCK and check for regular files. Owned by the sandbox.
 */
int sandbox_out_fd(struct sandbox *sandbox);
/* Kills everything; the first limit given counts. Returns at once; the end shows on the pidfd. */
void sandbox_kill(struct sandbox *sandbox, enum sandbox_limit limit);
/* CPU time so far in ns, for a display: at most 20 ms old, or a count by the cgroup. Limits need no call of this. */
uint64_t sandbox_cpu(struct sandbox *sandbox);
/* Once, after the pidfd is readable (else it blocks): reaps init and fills the report. Removes the run's cgroup. */
int sandbox_wait(struct sandbox *sandbox, struct sandbox_report *ret_report, struct kettle_error *err);
/* Kills (and waits, at most 10 s) if it still runs, closes everything. NULL is allowed. */
void sandbox_free(struct sandbox *sandbox);

#endif
