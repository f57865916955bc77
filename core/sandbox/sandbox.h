/* SPDX-License-Identifier: MIT */
/*
 * Runs one untrusted program with no privileges in namespaces of its own. No libuv, no globals.
 *
 * Theory of operation. sandbox_start makes one clone into fresh user, mount, pid, network, IPC, UTS and
 * cgroup namespaces. The child is PID 1 there ("init"): it builds the root, passes the descriptor of the
 * output folder back, drops what it can, starts the payload as PID 2 and reaps. When the payload ends,
 * init kills everything else, reaps it, writes the report to its control socket and exits; when the control
 * socket closes, because the owner died, init exits and the kernel kills the rest. Whatever happens, the end
 * of init (its pidfd becomes readable) means that nothing of it runs any more.
 *
 * The owner waits for `pidfd` and `control` in its own loop, keeps the wall clock, and calls sandbox_kill
 * when a limit it watches is reached. Nothing is allocated between clone and exec.
 */
#ifndef KETTLE_SANDBOX_H
#define KETTLE_SANDBOX_H

#include <jansson.h>
#include <kettle/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Protections, from one list: bit, name on the wire, meaning, how to get it. */
#define SANDBOX_PROTECTIONS(X) \
	X(USER, "user", "a user namespace: no privileges outside", \
		"sysctl kernel.unprivileged_userns_clone=1, or the AppArmor profile that is installed with Kettle, or run as " \
		"root") \
	X(MOUNT, "mount", "a root of its own", "user namespaces, or CAP_SYS_ADMIN") \
	X(PID, "pid", "a process tree of its own", "user namespaces, or CAP_SYS_ADMIN") \
	X(NET, "net", "no network but its own loopback", "user namespaces, or CAP_SYS_ADMIN") \
	X(IPC, "ipc", "System V IPC and message queues of its own", "user namespaces, or CAP_SYS_ADMIN") \
	X(UTS, "uts", "a host name of its own", "user namespaces, or CAP_SYS_ADMIN") \
	X(CGROUPNS, "cgroupns", "a view of cgroups of its own", "a kernel from 4.6 on") \
	X(NNP, "no_new_privs", "no setuid programs", "a kernel from 3.5 on") \
	X(SECCOMP, "seccomp", "an allow-list of system calls", "a kernel with CONFIG_SECCOMP_FILTER") \
	X(LANDLOCK, "landlock", "a second lock on files and /proc", \
		"a kernel from 5.13 on with landlock in its lsm= list") \
	X(MEMORY_CGROUP, "memory_cgroup", "memory limited by a cgroup (else by polling)", \
		"run as root or under the systemd unit with Delegate=yes") \
	X(PIDS_CGROUP, "pids_cgroup", "processes limited by a cgroup (else by RLIMIT_NPROC)", \
		"run as root or under the systemd unit with Delegate=yes") \
	X(CPU_CGROUP, "cpu_cgroup", "CPU time counted by a cgroup (else by polling)", \
		"run as root or under the systemd unit with Delegate=yes") \
	X(OWN_UID, "own_uid", "a user id that owns nothing on this machine", "run as root")

enum sandbox_protection_index {
#define X(name, wire, meaning, how) SANDBOX_INDEX_##name,
	SANDBOX_PROTECTIONS(X)
#undef X
		SANDBOX_PROTECTION_COUNT
};
enum sandbox_protection {
#define X(name, wire, meaning, how) SANDBOX_##name = 1 << SANDBOX_INDEX_##name,
	SANDBOX_PROTECTIONS(X)
#undef X
};

/* What a device may demand. FULL: all of user … seccomp above; Landlock, cgroups and own_uid are reported, not
 * demanded. */
enum sandbox_level { SANDBOX_LEVEL_OFF, SANDBOX_LEVEL_REDUCED, SANDBOX_LEVEL_FULL };

/* Why a payload was killed. NONE: it ended by itself. */
enum sandbox_limit {
	SANDBOX_LIMIT_NONE = 0,
	SANDBOX_LIMIT_WALL,
	SANDBOX_LIMIT_CPU,
	SANDBOX_LIMIT_MEMORY,
	SANDBOX_LIMIT_PROCESSES,
	SANDBOX_LIMIT_DISK,
	SANDBOX_LIMIT_OUTPUT, /* stdout, stderr or result channel: the owner's decision */
	SANDBOX_LIMIT_CANCEL, /* the owner's decision */
};
const char *sandbox_limit_name(enum sandbox_limit limit);

/* 0 in a limit: the default given here. */
struct sandbox_limits {
	uint64_t cpu_ns;     /* CPU time of the whole tree; 0: unlimited */
	uint64_t memory;     /* bytes, of the whole tree; 0: 4 GiB */
	uint64_t processes;  /* processes and threads; 0: 512 */
	uint64_t disk;       /* bytes writable in out/, and again in /tmp; 0: 1 GiB */
	uint64_t inodes;     /* 0: 65536 */
	uint64_t shm;        /* bytes of /dev/shm; 0: 256 MiB */
	uint64_t file_size;  /* RLIMIT_FSIZE; 0: as disk */
	uint64_t open_files; /* RLIMIT_NOFILE; 0: 1024 */
	uint64_t stack;      /* RLIMIT_STACK; 0: 64 MiB */
	bool core_dumps;     /* never set by kettle-exec: RLIMIT_CORE is 0 */
};

/* A path of the machine that the payload sees, read-only, at the same path (or at `target`). Missing ones are skipped
 * if optional. */
struct sandbox_bind {
	const char *source;
	const char *target; /* NULL: the same */
	bool writable;
	bool optional;
	bool device; /* a device node: kept usable (no nodev) */
};

/* A descriptor of the owner that the payload gets under a given number. All others are closed. */
struct sandbox_fd {
	int fd;
	int target;
};

struct sandbox_config {
	enum sandbox_level level; /* the least that is accepted; OFF: no sandbox at all, cwd is job_dir itself */
	const char *file; /* absolute path of the program as the payload sees it; "./x" is relative to the job's folder */
	const char *const *argv; /* NULL-terminated */
	const char *const *envp; /* NULL-terminated, the whole environment; HOME, TMPDIR are added where absent */
	const char *job_dir;     /* a folder of the owner, seen read-only as /job, the working directory; must hold an empty
								folder `out` */
	bool job_writable;       /* prepare steps: /job is a discarded copy of job_dir (tmpfs), written to freely */
	const struct sandbox_bind *binds;
	size_t binds_count;
	const struct sandbox_fd *fds; /* at least 0, 1, 2 */
	size_t fds_count;
	const int *keep; /* descriptors that init holds until it ends (device locks), close-on-exec for the payload */
	size_t keep_count;
	struct sandbox_limits limits;
	const int *cores; /* CPU affinity of the payload; NULL: the owner's */
	size_t cores_count;
	const int *init_cores; /* CPU affinity of init, off the device; NULL: the owner's */
	size_t init_cores_count;
	const char *cgroup; /* from sandbox_cgroup_root, or NULL: none to be had */
	uid_t uid;          /* with root: the user id outside; 0: 700000 plus the pid modulo 65536 */
};

/* What init reports. Valid after sandbox_wait. */
struct sandbox_report {
	bool started;              /* the payload was executed; else message says what failed (the machine's trouble) */
	int exit_status;           /* -1 when a signal ended it */
	int signal;                /* 0 when none */
	enum sandbox_limit limit;  /* what init or the cgroup enforced, or what sandbox_kill was told */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC of exec and of the payload's end */
	uint64_t cpu_ns;           /* user and system, whole tree */
	uint64_t memory_peak;      /* bytes; of the tree where a cgroup counts, else of the largest process */
	uint32_t left_behind;      /* processes that were still there when the payload ended, and were killed */
	char message[256];
};

struct sandbox; /* one run; opaque */

/* What this machine offers, found by trying once (a clone or two, about 5 ms). Bit set of enum sandbox_protection. */
unsigned sandbox_probe(void);
/* [{"name", "meaning", "present", "how"}] for people and for the greeting. New reference. */
json_t *sandbox_describe(unsigned protections);
/* The level that these protections amount to. */
enum sandbox_level sandbox_level_of(unsigned protections);
int sandbox_level_parse(const char *text, enum sandbox_level *ret_level, struct kettle_error *err);
const char *sandbox_level_name(enum sandbox_level level);

/*
 * Finds, and where allowed makes, the cgroup below which every run gets one of its own (v2 with delegation, or v1
 * memory, pids, cpuacct), and removes what dead owners left there. Returns a new string for sandbox_config.cgroup,
 * or NULL: none to be had, and limits are polled. `reason` (may be NULL) gets why.
 */
char *sandbox_cgroup_root(struct kettle_error *reason);
/* Removes the owner's own level when it ends. */
void sandbox_cgroup_leave(const char *root);

/*
 * Starts. On success the owner must call sandbox_free after the end. The fds in config stay the owner's.
 * KETTLE_EUNAVAIL: this machine does not offer the level (the sentence names what is missing).
 * [one thread: the owner's; init dies when that thread dies]
 */
int sandbox_start(const struct sandbox_config *config, struct sandbox **ret_sandbox, struct kettle_error *err);

/* Readable when init has ended and nothing runs any more. Owned by the sandbox. */
int sandbox_pidfd(const struct sandbox *sandbox);
/* Of init, as the owner sees it; for messages and tests. */
pid_t sandbox_pid(const struct sandbox *sandbox);
/* The output folder (O_DIRECTORY, readable also after the end), or -1 when it never came. Owned by the sandbox. */
int sandbox_out_fd(const struct sandbox *sandbox);
/* Kills everything; the first limit given counts. Returns at once; the end shows on the pidfd. */
void sandbox_kill(struct sandbox *sandbox, enum sandbox_limit limit);
/*
 * Looks at the cgroup's counters (CPU time, out-of-memory kills) and kills where a limit is reached; call it every
 * 20 to 100 ms while it runs. Does nothing where init polls by itself. Returns CPU time so far in ns.
 */
uint64_t sandbox_watch(struct sandbox *sandbox);
/* After the pidfd is readable: reaps init and fills the report. Removes the run's cgroup. */
int sandbox_wait(struct sandbox *sandbox, struct sandbox_report *ret_report, struct kettle_error *err);
/* Kills (and waits, at most 10 s) if it still runs, closes everything. NULL is allowed. */
void sandbox_free(struct sandbox *sandbox);

#endif
