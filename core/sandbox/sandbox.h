/* SPDX-License-Identifier: MIT */
/*
 * Runs one untrusted program with no privileges in namespaces of its own. No libuv, no globals, no signal handlers.
 *
 * Theory of operation. The owner builds a plan of the run (strings, mounts, the seccomp filter) in memory that it
 * shares with the child, makes one clone3 into fresh user, mount, pid, network, IPC, UTS and cgroup namespaces, writes
 * the child's id maps and sends SANDBOX_GO. The child is PID 1 there ("init"): it enters its cgroup, builds the root,
 * sends the descriptor of the output folder back, starts the payload as PID 2 and reaps. When the payload ends or a
 * limit is reached, init kills and reaps everything else, writes the report to the shared memory and exits. When the
 * control socket closes or the owner's thread ends, init dies and the kernel kills the rest. In every case no process
 * of the sandbox is left once init has ended (its pidfd becomes readable). Nothing is allocated between clone and exec,
 * so the owner may have threads.
 *
 * The owner waits for the pidfd in its own loop and calls sandbox_kill at the limits that it enforces, such as wall
 * time. Init enforces CPU time and memory.
 *
 * The payload sees / read-only with /usr, /bin, /sbin, /lib*, a part of /etc, /dev with null, zero, full, random,
 * urandom, its own /proc (without init; read-only but, with a `device`, for its own processes, as CUDA needs),
 * /sys/devices/system/{cpu,node} and /job. Writable and discarded: /tmp (with /tmp/home) and /dev/shm. Writable and kept
 * in memory until sandbox_free: /job/out.
 *
 * With root, the payload's user id owns nothing outside: job_dir, its files and sandbox_bind sources must be readable by
 * others (put them in a folder that is closed to others). A `device` bind whose node only a group may open gives the
 * payload that group.
 *
 * A run may start as a copy of a warm process, an interpreter with its libraries loaded. Init is then cloned from that
 * process, is still a child of the owner, and runs the same code (zygote.h).
 *
 * Level OFF has no namespaces: init is a child subreaper, cwd is job_dir itself, out is its real folder, and a hostile
 * payload can escape.
 */
#pragma once

#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/cgroup.h"
#include "sandbox/sandbox_config.h"

const char *sandbox_limit_name(enum sandbox_limit limit);

/* Init's report. Valid after sandbox_wait. */
struct sandbox_report {
	bool started;    /* the payload was executed; else message names the step that failed: the machine's fault */
	bool lost;       /* something outside killed init: the machine's fault. With a pid namespace: no payload can */
	int exit_status; /* -1 when a signal ended it */
	int signal;      /* 0 when none */
	enum sandbox_limit limit;  /* enforced by init or the cgroup, or the argument of sandbox_kill */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC of exec and of the payload's end */
	uint64_t cpu_ns;           /* user and system, whole tree */
	uint64_t memory_peak;      /* bytes; of the tree */
	uint32_t left_behind;      /* processes that outlived the payload and were killed */
	/* 1 << limit that was reached without a kill: PROCESSES, what was full at the end, FILE_SIZE. */
	unsigned hits;
	uint64_t most[SANDBOX_LIMIT_COUNT]; /* the values of the limits that the sandbox enforces; CPU in ns; else 0 */
	unsigned protections;               /* those in force */
	bool warm;                          /* it started as a copy of a warm process */
	bool prepared;                      /* its device was open before the run was known (sandbox_prepare) */
	bool layered;                       /* sandbox_cache_fd has only the payload's own files; else all of the cache */
	char message[256];                  /* a sentence if it was not started or the sandbox ended it; else empty */
};

struct sandbox; /* one run; opaque */

/*
 * State that all runs of an owner share: the machine's protections, the seccomp filter, the cgroup root, and a spare:
 * an init with namespaces and cgroup, prepared for the next run. No two runs share a namespace. [one thread: the
 * owner's]
 */
struct sandbox_machine;
/* Probes the machine. Uses `cgroup` (from sandbox_cgroup_root; may be NULL) until sandbox_machine_free. */
int sandbox_machine_new(
	const struct sandbox_cgroup_root *cgroup, struct sandbox_machine **ret_machine, struct kettle_error *err);
/* The available protections, cgroups included: bit set of enum sandbox_protection. */
unsigned sandbox_machine_protections(const struct sandbox_machine *machine);
/* Uses none of these from now on: for tests, and for machines that one of them disturbs. */
void sandbox_machine_disable(struct sandbox_machine *machine, unsigned protections);
/*
 * Prepares a spare if there is none, so that the next sandbox_start is short (about 1 ms in the caller; up to 15 ms more
 * in the spare itself with cgroups v1). Call it right after a start, or when nothing is being measured. If it fails, the
 * next start is slower. A spare is discarded after ten minutes, or when the machine's mounts have changed.
 */
void sandbox_machine_prepare(struct sandbox_machine *machine);
/* Whether a spare has completed its preparations. */
bool sandbox_machine_ready(const struct sandbox_machine *machine);
/* NULL is allowed. The sandboxes started with it must have been freed. */
void sandbox_machine_free(struct sandbox_machine *machine);

/*
 * Runs that share one limit of memory, beside the limits of each: by a cgroup above theirs, else by the sum of what their
 * inits count. At the limit each of them ends with SANDBOX_LIMIT_MEMORY (by the sum, the first that notices).
 */
struct sandbox_group;
/* bytes: the limit. KETTLE_EUNAVAIL, KETTLE_EIO: the machine could not. [the owner's thread] */
int sandbox_group_new(
	struct sandbox_machine *machine, uint64_t bytes, struct sandbox_group **ret_group, struct kettle_error *err);
uint64_t sandbox_group_bytes(const struct sandbox_group *group); /* 0 for NULL */
/* NULL is allowed. Its runs must have ended. */
void sandbox_group_free(struct sandbox_group *group);

/*
 * A warm process (see zygote.h): a child of the owner's thread that serves clones on the other end of `socket`
 * (SOCK_SEQPACKET; borrowed, stays open until sandbox_warm_free). It must run trusted code alone. A sandbox made from it
 * has the same protections and limits as any other. It needs a pid namespace, so level OFF never uses it.
 */
struct sandbox_warm;
struct sandbox_warm *sandbox_warm_new(int socket);
/* Prepares spares of it, as sandbox_machine_prepare does: as many as runs took since this was last called, at most two. */
void sandbox_warm_prepare(struct sandbox_warm *warm, struct sandbox_machine *machine);
/* Whether the last copy succeeded; if not, the process must be replaced. */
bool sandbox_warm_works(const struct sandbox_warm *warm);
/* NULL is allowed. Sandboxes that were started with it go on. */
void sandbox_warm_free(struct sandbox_warm *warm);

/*
 * Starts a sandbox, in 1 to 3 ms. The owner calls sandbox_free after its end. Config is borrowed for the call. The
 * report says whether the program was executed. KETTLE_EUNAVAIL: this machine does not offer the level (the sentence
 * names what is missing), or the warm process does not answer (a start without it may work).
 * [one thread: the owner's; init dies when that thread ends]
 */
int sandbox_start(const struct sandbox_config *config, struct sandbox **ret_sandbox, struct kettle_error *err);

/*
 * A sandbox that is prepared for one run: its payload has given up its privileges and opened its device, runs trusted
 * code alone, and waits. Of the config, what concerns the job is not used (file, argv and envp unless there is no
 * `warm`: then the file must do as prepared_wire.h says; job_dir, cache, fds, keep; binds below /job). Until
 * sandbox_resume it is only for sandbox_look_prepared, sandbox_control_fd, sandbox_pid, sandbox_prepared_key and
 * sandbox_free. KETTLE_EUNAVAIL: this machine or this config does not allow it.
 */
int sandbox_prepare(const struct sandbox_config *config, struct sandbox **ret_sandbox, struct kettle_error *err);
/* Readable when sandbox_look_prepared may return something new. Owned by the sandbox. */
int sandbox_control_fd(const struct sandbox *sandbox);
/* 1: it is ready; 0: it opens the device; or KETTLE_EUNAVAIL: it has ended, and err has the reason. */
int sandbox_look_prepared(struct sandbox *sandbox, struct kettle_error *err);
/* All that a run must have in common with a prepared sandbox. New string. */
char *sandbox_prepared_key(const struct sandbox_config *config);
/*
 * Starts the run in a prepared sandbox, as sandbox_start does. KETTLE_EUNAVAIL: it is not ready, or was prepared for
 * another key. After a failure it is of no more use.
 */
int sandbox_resume(struct sandbox *sandbox, const struct sandbox_config *config, struct kettle_error *err);

/* Readable once init, and with it every process of the sandbox, has ended. Owned by the sandbox. */
int sandbox_pidfd(const struct sandbox *sandbox);
/* Init's pid in the owner's namespace, for messages and tests. */
pid_t sandbox_pid(const struct sandbox *sandbox);
/*
 * The output folder (O_DIRECTORY; readable with openat until sandbox_drop_out or sandbox_free), or -1 if init has not sent it (yet). The
 * payload wrote it: open its files with O_NOFOLLOW | O_NONBLOCK and accept regular files only. Owned by the sandbox.
 */
int sandbox_out_fd(struct sandbox *sandbox);
/* As sandbox_out_fd, for the payload's files in the cache (report.layered), removed ones as devices. -1: none. */
int sandbox_cache_fd(struct sandbox *sandbox);
/*
 * After the end: gives up the output folder and the cache, which frees their contents. That takes long for many files,
 * so it may run on another thread than the other functions. [any, blocks]
 */
void sandbox_drop_out(struct sandbox *sandbox);
/* Kills everything. The first limit counts. Returns at once; the pidfd becomes readable at the end. */
void sandbox_kill(struct sandbox *sandbox, enum sandbox_limit limit);
/*
 * Whether no code of the run is executed any more, although processes are still listed: all of them are in the kernel's
 * exit path, where drivers free what they had. Then the report is as sandbox_wait makes it, but that it counts no
 * processes that were left behind; the sandbox is only for sandbox_out_fd, sandbox_cache_fd, sandbox_drop_out,
 * sandbox_pidfd and, at last, sandbox_free, which waits for the end. False also where the machine does not show it: it
 * needs SANDBOX_MEMORY_CGROUP, SANDBOX_PIDS_CGROUP and SANDBOX_CPU_CGROUP. It reads files of /proc: call it when an end
 * is expected.
 */
bool sandbox_look_ended(struct sandbox *sandbox, struct sandbox_report *ret_report);
/* Reaps init, fills the report and removes the run's cgroup. Call it once; blocks until the pidfd is readable. */
int sandbox_wait(struct sandbox *sandbox, struct sandbox_report *ret_report, struct kettle_error *err);
/* Kills it if it still runs (and waits at most 10 s), and releases everything. NULL is allowed. */
void sandbox_free(struct sandbox *sandbox);
