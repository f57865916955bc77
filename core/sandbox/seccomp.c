/* SPDX-License-Identifier: MIT */
/*
 * The allow-list of system calls.
 *
 * libseccomp resolves the names only. Its rules cannot say "this number of an ioctl is neither of two" without comparing
 * the argument's upper half, which the kernel ignores, and building the program here takes 0.1 ms instead of 3. Calls that
 * are not listed return ENOSYS, as from an older kernel, so that libraries fall back; refused calls return EPERM. Names
 * that this libseccomp or architecture lacks are skipped. A call of another architecture (32-bit, x32) kills the process.
 */
#include <config.h>

#include "sandbox/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"

#define SECCOMP_ADDR_NO_RANDOMIZE 0x0040000u
#define SECCOMP_PERSONALITY_QUERY 0xffffffffu
#define SECCOMP_NETLINK_ROUTE 0
#define SECCOMP_CLONE_SPACES \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)
#define SECCOMP_INIT 1 /* pid of init */
#define SECCOMP_HIGH 0x100u
#define SECCOMP_X32_BIT 0x40000000u
#define SECCOMP_CALLS_MAX 1024 /* above the highest number of any call */
#define SECCOMP_CHECKS_MAX 28
/* The bits of IPPROTO_IP (any), TCP and UDP: not those of MPTCP, UDP-Lite, SCTP, DCCP and L2TP. */
#define SECCOMP_PROTOCOLS (IPPROTO_TCP | IPPROTO_UDP)
#define SECCOMP_IOCTL_TYPE 0xff00u
#define SECCOMP_IOCTL_PERF 0x2400u /* of descriptors from perf_event_open, which only profilers get */
#define SECCOMP_TCGETS2 0x802c542au
#define SECCOMP_USER_DISPATCH 59 /* PR_SET_SYSCALL_USER_DISPATCH, not in all headers */
#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE 62
#endif
#ifndef MADV_COLD
#define MADV_COLD 20
#define MADV_PAGEOUT 21
#endif
#if defined(__x86_64__)
#define SECCOMP_NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define SECCOMP_NATIVE AUDIT_ARCH_AARCH64
#else
#error "The sandbox supports only x86_64 and aarch64."
#endif

static const char *const allowed[] = {
	/* files */
	"access", "chdir", "chmod", "chown", "close", "close_range", "copy_file_range", "creat", "dup", "dup2", "dup3",
	"faccessat", "faccessat2", "fadvise64", "fallocate", "fchdir", "fchmod", "fchmodat", "fchown", "fchownat", "fcntl",
	"fgetxattr", "flistxattr", "flock", "fstat", "fstatfs", "ftruncate", "futimesat", "getcwd", "getdents",
	"getdents64", "getxattr", "lchown", "lgetxattr", "link", "linkat", "listxattr", "llistxattr", "lseek", "lstat",
	"mkdir", "mkdirat", "mknod", "mknodat", "newfstatat", "open", "openat", "openat2", "pipe", "pipe2", "pread64",
	"preadv", "preadv2", "pwrite64", "pwritev", "pwritev2", "read", "readahead", "readlink", "readlinkat", "readv",
	"rename", "renameat", "renameat2", "rmdir", "sendfile", "splice", "stat", "statfs", "statx", "symlink", "symlinkat",
	"tee", "truncate", "umask", "unlink", "unlinkat", "utime", "utimensat", "utimes", "vmsplice", "write", "writev",
	/* waiting */
	"epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd", "eventfd2",
	"poll", "ppoll", "pselect6", "select", "signalfd", "signalfd4", "timerfd_create", "timerfd_gettime",
	"timerfd_settime",
	/* memory */
	"brk", "get_mempolicy", "madvise", "mbind", "membarrier", "memfd_create", "mincore", "mlock", "mlock2", "mlockall",
	"mmap", "move_pages", "mprotect", "mremap", "msync", "munlock", "munlockall", "munmap", "pkey_alloc", "pkey_free",
	"pkey_mprotect", "remap_file_pages", "set_mempolicy", "set_mempolicy_home_node", "map_shadow_stack",
	/* processes and threads */
	"arch_prctl", "capget", "execve", "execveat", "exit", "exit_group", "fork", "futex", "futex_waitv", "futex_wait",
	"futex_wake", "futex_requeue", "get_robust_list", "get_thread_area", "getcpu", "getegid", "geteuid", "getgid",
	"getgroups", "getpgid", "getpgrp", "getpid", "getppid", "getpriority", "getresgid", "getresuid", "getrlimit",
	"getrusage", "getsid", "gettid", "getuid", "ioprio_get", "kill", "pause", "pidfd_open", "pidfd_send_signal",
	"prctl", "restart_syscall", "rseq", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo",
	"rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait", "rt_tgsigqueueinfo", "sched_get_priority_max",
	"sched_get_priority_min", "sched_getaffinity", "sched_getattr", "sched_getparam", "sched_getscheduler",
	"sched_rr_get_interval", "sched_yield", "set_robust_list", "set_thread_area", "set_tid_address", "setpgid",
	"setrlimit", "setsid", "sigaltstack", "tgkill", "time", "times", "tkill", "vfork", "wait4", "waitid", "waitpid",
	"landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self", "seccomp",
	/* ids: no effect without capabilities, but programs call them */
	"setfsgid", "setfsuid", "setgid", "setgroups", "setregid", "setresgid", "setresuid", "setreuid", "setuid",
	/* time */
	"alarm", "clock_getres", "clock_gettime", "clock_nanosleep", "getitimer", "gettimeofday", "nanosleep", "setitimer",
	"timer_create", "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime",
	/* the system */
	"getrandom", "sysinfo", "uname",
	/* sockets (which families: below) and System V IPC, both in name spaces of their own */
	"accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen", "recv", "recvfrom",
	"recvmmsg", "recvmsg", "send", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown", "socketpair", "msgctl",
	"msgget", "msgrcv", "msgsnd", "semctl", "semget", "semop", "semtimedop", "shmat", "shmctl", "shmdt", "shmget",
	"mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink"};

/*
 * Return success without effect. All writable files are in memory; but with a file of the machine, opened for reading, a
 * payload could flush the machine's disks while other runs are timed.
 */
static const char *const needless[] = {"fdatasync", "fsync", "sync", "sync_file_range", "syncfs"};

/* Refused with EPERM. */
static const char *const refused[] = {"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
	"process_mrelease", "pidfd_getfd", "kcmp", "io_uring_setup", "io_uring_enter", "io_uring_register", "unshare",
	"setns", "mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig",
	"fsmount", "fspick", "mount_setattr", "keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd",
	"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module", "query_module",
	"swapon", "swapoff", "reboot", "open_by_handle_at", "name_to_handle_at", "quotactl", "quotactl_fd", "acct",
	"sethostname", "setdomainname", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "stime", "iopl",
	"ioperm", "syslog", "vhangup", "nfsservctl", "lookup_dcookie", "fanotify_init", "fanotify_mark", "migrate_pages",
	"modify_ldt", "vm86", "vm86old", "capset", "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr",
	"fremovexattr", "uselib", "ustat", "sysfs", "_sysctl", "ioprio_set"};

struct program {
	struct sock_filter code[BPF_MAXINSNS];
	unsigned short len;
};

/* The first check that holds decides, else `otherwise`. */
struct check {
	unsigned arg;         /* | SECCOMP_HIGH: its high half */
	uint32_t mask, value; /* of the argument's low half: the kernel ignores the rest, except in pointers */
	uint32_t action;
	bool differs; /* holds when the masked argument is not the value */
};
struct special {
	const char *name;
	struct check checks[SECCOMP_CHECKS_MAX]; /* until one with mask 0 */
	uint32_t otherwise;
};

#define SECCOMP_ERRNO(number) (SECCOMP_RET_ERRNO | (number))
#define SECCOMP_ALL UINT32_MAX

static const struct special specials[] = {
	/* CLONE_NEWTIME shares bits with the exit signal and cannot be passed here. */
	{"clone", {{0, SECCOMP_CLONE_SPACES, 0, SECCOMP_RET_ALLOW, false}}, SECCOMP_ERRNO(EPERM)},
	/* Its flags are behind a pointer. glibc falls back to clone. */
	{"clone3", {{0, 0, 0, 0, false}}, SECCOMP_ERRNO(ENOSYS)},
	{"socket",
		{{0, SECCOMP_ALL, AF_UNIX, SECCOMP_RET_ALLOW, false},
			{2, ~(uint32_t)SECCOMP_PROTOCOLS, 0, SECCOMP_ERRNO(EPROTONOSUPPORT), true},
			{0, SECCOMP_ALL, AF_INET, SECCOMP_RET_ALLOW, false}, {0, SECCOMP_ALL, AF_INET6, SECCOMP_RET_ALLOW, false},
			{0, SECCOMP_ALL, AF_NETLINK, SECCOMP_ERRNO(EAFNOSUPPORT), true},
			{2, SECCOMP_ALL, SECCOMP_NETLINK_ROUTE, SECCOMP_RET_ALLOW, false}},
		SECCOMP_ERRNO(EAFNOSUPPORT)},
	/*
	 * Closing such a socket sleeps in the process that closes it last: one outside, if it was passed there. Buffers keep the
	 * size that they are counted with.
	 */
	{"setsockopt",
		{{1, SECCOMP_ALL, SOL_SOCKET, SECCOMP_RET_ALLOW, true},
			{2, SECCOMP_ALL, SO_LINGER, SECCOMP_ERRNO(EPERM), false},
			{2, SECCOMP_ALL, SO_SNDBUF, SECCOMP_ERRNO(0), false}, {2, SECCOMP_ALL, SO_RCVBUF, SECCOMP_ERRNO(0), false}},
		SECCOMP_RET_ALLOW},
	/*
	 * An urgent byte is taken out of the order of its stream: a reader outside, as of the result channel, would lose it, and
	 * the kernel's code for it in Unix sockets has had faults. As from a kernel without it.
	 */
	{"sendto", {{3, MSG_OOB, MSG_OOB, SECCOMP_ERRNO(EOPNOTSUPP), false}}, SECCOMP_RET_ALLOW},
	{"sendmsg", {{2, MSG_OOB, MSG_OOB, SECCOMP_ERRNO(EOPNOTSUPP), false}}, SECCOMP_RET_ALLOW},
	{"sendmmsg", {{3, MSG_OOB, MSG_OOB, SECCOMP_ERRNO(EOPNOTSUPP), false}}, SECCOMP_RET_ALLOW},
	{"socketpair", {{0, SECCOMP_ALL, AF_UNIX, SECCOMP_RET_ALLOW, false}}, SECCOMP_ERRNO(EAFNOSUPPORT)},
	/* The page cache belongs to the whole machine: a payload could drop files that others read while timed. */
	{"fadvise64", {{3, SECCOMP_ALL, POSIX_FADV_DONTNEED, SECCOMP_ERRNO(EPERM), false}}, SECCOMP_RET_ALLOW},
	{"madvise",
		{{2, SECCOMP_ALL, MADV_COLD, SECCOMP_ERRNO(EPERM), false},
			{2, SECCOMP_ALL, MADV_PAGEOUT, SECCOMP_ERRNO(EPERM), false}},
		SECCOMP_RET_ALLOW},
	/* Both watch, as inotify does, which files others open. */
	{"fcntl",
		{{1, SECCOMP_ALL, F_NOTIFY, SECCOMP_ERRNO(EPERM), false},
			{1, SECCOMP_ALL, F_SETLEASE, SECCOMP_ERRNO(EPERM), false}},
		SECCOMP_RET_ALLOW},
	/* With a cookie of its own a payload keeps all others off the second thread of its core. */
	/* The others let a payload answer the harness's readings of the clock, or its system calls, in a signal handler. */
	{"prctl",
		{{0, SECCOMP_ALL, PR_SCHED_CORE, SECCOMP_ERRNO(EPERM), false},
			{0, SECCOMP_ALL, PR_SET_TSC, SECCOMP_ERRNO(EPERM), false},
			{0, SECCOMP_ALL, SECCOMP_USER_DISPATCH, SECCOMP_ERRNO(EPERM), false}},
		SECCOMP_RET_ALLOW},
	{"personality",
		{{0, SECCOMP_ALL, 0, SECCOMP_RET_ALLOW, false},
			{0, SECCOMP_ALL, SECCOMP_ADDR_NO_RANDOMIZE, SECCOMP_RET_ALLOW, false},
			{0, SECCOMP_ALL, SECCOMP_PERSONALITY_QUERY, SECCOMP_RET_ALLOW, false}},
		SECCOMP_ERRNO(EPERM)},
	/* Limits of other processes: a harness's are inherited by the witness that it starts against a submission, and Landlock
	 * does not cover them. With an ordinary owner, init has the payload's user id, so the payload could kill it with a limit
	 * on its CPU time or slow it down. RLIMIT_CORE stays as payload.c sets it. */
	{"prlimit64",
		{{0, SECCOMP_ALL, 0, SECCOMP_ERRNO(EPERM), true}, {1, SECCOMP_ALL, RLIMIT_CORE, SECCOMP_RET_ALLOW, true},
			{2, SECCOMP_ALL, 0, SECCOMP_ERRNO(EPERM), true},
			{2 | SECCOMP_HIGH, SECCOMP_ALL, 0, SECCOMP_ERRNO(EPERM), true}},
		SECCOMP_RET_ALLOW},
	{"setrlimit", {{0, SECCOMP_ALL, RLIMIT_CORE, SECCOMP_ERRNO(EPERM), false}}, SECCOMP_RET_ALLOW},
	{"sched_setaffinity", {{0, SECCOMP_ALL, SECCOMP_INIT, SECCOMP_ERRNO(EPERM), false}}, SECCOMP_RET_ALLOW},
	{"sched_setattr", {{0, SECCOMP_ALL, SECCOMP_INIT, SECCOMP_ERRNO(EPERM), false}}, SECCOMP_RET_ALLOW},
	{"sched_setparam", {{0, SECCOMP_ALL, SECCOMP_INIT, SECCOMP_ERRNO(EPERM), false}}, SECCOMP_RET_ALLOW},
	{"sched_setscheduler", {{0, SECCOMP_ALL, SECCOMP_INIT, SECCOMP_ERRNO(EPERM), false}}, SECCOMP_RET_ALLOW},
	{"setpriority",
		{{1, SECCOMP_ALL, SECCOMP_INIT, SECCOMP_ERRNO(EPERM), false},
			{0, SECCOMP_ALL, PRIO_USER, SECCOMP_ERRNO(EPERM), false}},
		SECCOMP_RET_ALLOW},
	/* Huge pages are reserved for the whole machine, and no limit on memory counts them. */
	{"mmap", {{3, MAP_HUGETLB, MAP_HUGETLB, SECCOMP_ERRNO(EPERM), false}}, SECCOMP_RET_ALLOW},
	{"memfd_create", {{1, MFD_HUGETLB, MFD_HUGETLB, SECCOMP_ERRNO(EPERM), false}}, SECCOMP_RET_ALLOW},
	{"shmget", {{2, SHM_HUGETLB, SHM_HUGETLB, SECCOMP_ERRNO(EPERM), false}}, SECCOMP_RET_ALLOW},
	/* As fsync: see `needless`. */
	{"msync", {{2, MS_SYNC, MS_SYNC, SECCOMP_ERRNO(0), false}}, SECCOMP_RET_ALLOW},
};

/*
 * Requests that libraries make of files, pipes and sockets: whether it is a terminal and its size, how much there is to
 * read, close-on-exec, the list of interfaces. All others fail as for a file that does not know them, so that programs
 * fall back (cp without a reflink).
 */
static const struct special requests = {"ioctl",
	{{1, SECCOMP_ALL, TCGETS, SECCOMP_RET_ALLOW, false}, {1, SECCOMP_ALL, SECCOMP_TCGETS2, SECCOMP_RET_ALLOW, false},
		{1, SECCOMP_ALL, TIOCGWINSZ, SECCOMP_RET_ALLOW, false}, {1, SECCOMP_ALL, TIOCGPGRP, SECCOMP_RET_ALLOW, false},
		{1, SECCOMP_ALL, TIOCOUTQ, SECCOMP_RET_ALLOW, false}, {1, SECCOMP_ALL, FIONREAD, SECCOMP_RET_ALLOW, false},
		{1, SECCOMP_ALL, FIONBIO, SECCOMP_RET_ALLOW, false}, {1, SECCOMP_ALL, FIOASYNC, SECCOMP_RET_ALLOW, false},
		{1, SECCOMP_ALL, FIOCLEX, SECCOMP_RET_ALLOW, false}, {1, SECCOMP_ALL, FIONCLEX, SECCOMP_RET_ALLOW, false},
		{1, SECCOMP_ALL, SIOCATMARK, SECCOMP_RET_ALLOW, false}, {1, SECCOMP_ALL, SIOCGIFNAME, SECCOMP_RET_ALLOW, false},
		{1, SECCOMP_ALL, SIOCGIFCONF, SECCOMP_RET_ALLOW, false},
		{1, SECCOMP_ALL, SIOCGIFFLAGS, SECCOMP_RET_ALLOW, false},
		{1, SECCOMP_ALL, SIOCGIFADDR, SECCOMP_RET_ALLOW, false},
		{1, SECCOMP_ALL, SIOCGIFINDEX, SECCOMP_RET_ALLOW, false},
		{1, SECCOMP_IOCTL_TYPE, SECCOMP_IOCTL_PERF, SECCOMP_RET_ALLOW, false}},
	SECCOMP_ERRNO(ENOTTY)};

/* With a device: drivers have hundreds of requests, which differ from release to release. */
static const struct special device_requests = {"ioctl",
	{{1, SECCOMP_ALL, TIOCSTI, SECCOMP_ERRNO(EPERM), false}, {1, SECCOMP_ALL, TIOCLINUX, SECCOMP_ERRNO(EPERM), false}},
	SECCOMP_RET_ALLOW};

/*
 * For a profiler. perf_event_paranoid decides whether users may count events of their own processes. Whole cores, whole
 * cgroups and init, which may have the payload's user id, stay closed.
 */
static const struct special counting = {"perf_event_open",
	{{1, SECCOMP_ALL, (uint32_t)-1, SECCOMP_ERRNO(EPERM), false},
		{1, SECCOMP_ALL, SECCOMP_INIT, SECCOMP_ERRNO(EPERM), false},
		{4, PERF_FLAG_PID_CGROUP, PERF_FLAG_PID_CGROUP, SECCOMP_ERRNO(EPERM), false}},
	SECCOMP_RET_ALLOW};

/*
 * Where memory is polled: calls for memory that stays when it is unmapped and that no file system counts. Programs fall
 * back to files in /dev/shm or /tmp, which are counted.
 */
static const struct special polled[] = {
	{"memfd_create", {{1, MFD_HUGETLB, MFD_HUGETLB, SECCOMP_ERRNO(EPERM), false}}, SECCOMP_ERRNO(ENOSYS)},
	{"shmget", {{2, SHM_HUGETLB, SHM_HUGETLB, SECCOMP_ERRNO(EPERM), false}}, SECCOMP_ERRNO(ENOSYS)},
	{"semget", {{0, 0, 0, 0, false}}, SECCOMP_ERRNO(ENOSYS)},
	{"msgget", {{0, 0, 0, 0, false}}, SECCOMP_ERRNO(ENOSYS)},
	{"vmsplice", {{0, 0, 0, 0, false}}, SECCOMP_ERRNO(ENOSYS)},
};

/* The same, without a device: CUDA does not initialise without such mappings. */
static const struct special no_shared_memory = {"mmap",
	{{3, MAP_HUGETLB, MAP_HUGETLB, SECCOMP_ERRNO(EPERM), false},
		{3, MAP_SHARED | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS, SECCOMP_ERRNO(EPERM), false}},
	SECCOMP_RET_ALLOW};

/* Succeeds without effect: Python, for example, gives up a process whose new session it could not make. */
static const struct special one_session = {"setsid", {{0, 0, 0, 0, false}}, SECCOMP_ERRNO(0)};

static void
emit(struct program *program, uint16_t code, uint8_t jump_true, uint8_t jump_false, uint32_t value)
{
	if (program->len < BPF_MAXINSNS)
		program->code[program->len++] = (struct sock_filter){code, jump_true, jump_false, value};
}

static void
emit_load(struct program *program, size_t offset)
{
	emit(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static void
emit_return(struct program *program, uint32_t action)
{
	emit(program, BPF_RET | BPF_K, 0, 0, action);
}

static void
emit_start(struct program *program)
{
	emit_load(program, offsetof(struct seccomp_data, arch));
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SECCOMP_NATIVE);
	emit_return(program, SECCOMP_RET_KILL_PROCESS);
	emit_load(program, offsetof(struct seccomp_data, nr));
	emit(program, BPF_JMP | BPF_JGE | BPF_K, 0, 1, SECCOMP_X32_BIT);
	emit_return(program, SECCOMP_RET_KILL_PROCESS);
}

/* The block of one call. For any other call it jumps over the block with the number still loaded. */
static void
emit_special(struct program *program, const struct special *special, uint32_t nr)
{
	unsigned short start = program->len;
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, nr);
	for (const struct check *check = special->checks; check->mask; check++) {
		/* Little-endian: the low half comes first. */
		size_t at =
			(check->arg & ~SECCOMP_HIGH) * sizeof(uint64_t) + (check->arg & SECCOMP_HIGH ? sizeof(uint32_t) : 0);
		emit_load(program, offsetof(struct seccomp_data, args) + at);
		if (check->mask != SECCOMP_ALL)
			emit(program, BPF_ALU | BPF_AND | BPF_K, 0, 0, check->mask);
		emit(program, BPF_JMP | BPF_JEQ | BPF_K, check->differs ? 1 : 0, check->differs ? 0 : 1, check->value);
		emit_return(program, check->action);
	}
	emit_return(program, special->otherwise);
	program->code[start].jf = (uint8_t)(program->len - start - 1);
}

/* Calls from number `start` up to the next range have the same action. */
struct range {
	uint32_t start, action;
};

/* A binary search, since the kernel runs the program for every call number when it installs it. */
static int
emit_search(struct program *program, const struct range *ranges, size_t count)
{
	if (count == 1) {
		emit_return(program, ranges->action);
		return 0;
	}
	size_t half = count / 2;
	unsigned short at = program->len;
	emit(program, BPF_JMP | BPF_JGE | BPF_K, 0, 0, ranges[half].start);
	if (emit_search(program, ranges, half) || program->len - at - 1 > UINT8_MAX)
		return -1;
	program->code[at].jt = (uint8_t)(program->len - at - 1);
	return emit_search(program, ranges + half, count - half);
}

static int
emit_ranges(struct program *program, const uint32_t *actions)
{
	AUTO_FREE struct range *ranges = xcalloc(SECCOMP_CALLS_MAX, sizeof(*ranges));
	size_t count = 0;
	for (uint32_t nr = 0; nr < SECCOMP_CALLS_MAX; nr++)
		if (!nr || actions[nr] != actions[nr - 1])
			ranges[count++] = (struct range){nr, actions[nr]};
	return emit_search(program, ranges, count);
}

static void
set_actions(uint32_t *actions, const char *const *names, size_t count, uint32_t action)
{
	for (size_t i = 0; i < count; i++) {
		int nr = seccomp_syscall_resolve_name(names[i]);
		if (nr >= 0 && nr < SECCOMP_CALLS_MAX)
			actions[nr] = action;
	}
}

int
sandbox_seccomp_present(void)
{
	uint32_t action = SECCOMP_RET_KILL_PROCESS;
	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static void
emit_named(struct program *program, const struct special *special)
{
	int nr = seccomp_syscall_resolve_name(special->name);
	if (nr >= 0)
		emit_special(program, special, (uint32_t)nr);
}

int
sandbox_seccomp_build(unsigned kind, struct sock_fprog *ret_program, struct kettle_error *err)
{
	AUTO_FREE struct program *program = xcalloc(1, sizeof(*program));
	AUTO_FREE uint32_t *actions = xcalloc(SECCOMP_CALLS_MAX, sizeof(*actions));
	for (size_t i = 0; i < SECCOMP_CALLS_MAX; i++)
		actions[i] = SECCOMP_ERRNO(ENOSYS);
	set_actions(actions, allowed, ARRAY_SIZE(allowed), SECCOMP_RET_ALLOW);
	set_actions(actions, needless, ARRAY_SIZE(needless), SECCOMP_ERRNO(0));
	set_actions(actions, refused, ARRAY_SIZE(refused), SECCOMP_ERRNO(EPERM));
	emit_start(program);
	/* The first block of a call decides. */
	for (size_t i = 0; kind & SANDBOX_FILTER_POLLED && i < ARRAY_SIZE(polled); i++)
		emit_named(program, &polled[i]);
	if (kind & SANDBOX_FILTER_POLLED && !(kind & SANDBOX_FILTER_DEVICE))
		emit_named(program, &no_shared_memory);
	for (size_t i = 0; i < ARRAY_SIZE(specials); i++)
		emit_named(program, &specials[i]);
	emit_named(program, kind & SANDBOX_FILTER_DEVICE ? &device_requests : &requests);
	if (kind & SANDBOX_FILTER_SESSION)
		emit_named(program, &one_session);
	if (kind & SANDBOX_FILTER_COUNTS)
		emit_named(program, &counting);
	if (emit_ranges(program, actions) || program->len >= BPF_MAXINSNS)
		return kettle_fail(err, KETTLE_EINTERNAL, "The list of system calls cannot be compiled to a filter.");
	*ret_program = (struct sock_fprog){
		.len = program->len, .filter = xmemdup(program->code, program->len * sizeof(*program->code))};
	return 0;
}
