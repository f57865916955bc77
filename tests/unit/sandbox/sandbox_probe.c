/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the sandbox run inside it: one subcommand an experiment, its finding on stdout. Linked with nothing
 * of Kettle, and without sanitizers, which need what the sandbox forbids.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unit/sandbox/sandbox_ahead.h"
#include "unit/sandbox/sandbox_hide.h"
#include "unit/sandbox/sandbox_lock.h"

#define CHUNK (1u << 20)

static void
say(const char *what, long rc)
{
	printf("%s=%s\n", what, rc < 0 ? strerrorname_np(errno) : "ok");
}

static int
wait_forever(void)
{
	while (pause() < 0)
		;
	return 0;
}

/* Subcommands: int (*)(char **args) */

static int
do_exit(char **args)
{
	return atoi(args[0]);
}

static int
do_abort(char **args)
{
	(void)args;
	abort();
}

static int
do_fds(char **args)
{
	(void)args;
	for (int fd = 0; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("%d ", fd);
	return 0;
}

/* Copies a line from descriptor 0 to each named one, with its number. */
static int
do_echo(char **args)
{
	char line[256];
	ssize_t size = read(0, line, sizeof(line));
	for (; *args; args++)
		dprintf(atoi(*args), "%s:%.*s", *args, (int)size, line);
	return 0;
}

static int
do_env(char **args)
{
	extern char **environ;
	(void)args;
	for (char **at = environ; *at; at++)
		printf("%s\n", *at);
	return 0;
}

static int
do_try_write(char **args)
{
	for (; *args; args++) {
		int fd = open(*args, O_WRONLY | O_CREAT | O_TRUNC, 0644);
		say(*args, fd < 0 ? -1 : write(fd, "text\n", 5));
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

static int
do_try_read(char **args)
{
	for (; *args; args++) {
		char byte;
		int fd = open(*args, O_RDONLY);
		say(*args, fd < 0 ? -1 : read(fd, &byte, 1));
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

/* Fills a file until nothing more goes in. */
static int
do_fill(char **args)
{
	static char zeros[65536];
	long total = 0;
	ssize_t size;
	int fd = open(args[0], O_WRONLY | O_CREAT, 0644);
	signal(SIGXFSZ, SIG_IGN);
	while (fd >= 0 && (size = write(fd, zeros, sizeof(zeros))) > 0)
		total += size;
	say("fill", -1);
	printf("bytes=%ld\n", total);
	return 0;
}

static int
do_inodes(char **args)
{
	char path[256];
	int count = 0;
	for (;; count++) {
		(void)snprintf(path, sizeof(path), "%s/%d", args[0], count);
		int fd = open(path, O_WRONLY | O_CREAT, 0644);
		if (fd < 0)
			break;
		close(fd);
	}
	say("inodes", -1);
	printf("count=%d\n", count);
	return 0;
}

static int
do_spin(char **args)
{
	int count = args[0] ? atoi(args[0]) : 1;
	while (--count > 0 && fork())
		;
	for (volatile unsigned long i = 0; i < UINT64_MAX; i++)
		;
	return 0;
}

/* CPU time spread over children that live for a moment each. */
static int
do_spin_short(char **args)
{
	(void)args;
	for (;;) {
		pid_t pid = fork();
		if (pid == 0) {
			for (volatile unsigned long i = 0; i < 20000000; i++)
				;
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

static int
do_sleep(char **args)
{
	signal(SIGTERM, SIG_IGN);
	printf("asleep\n");
	fflush(stdout);
	(void)args;
	return wait_forever();
}

static void
eat_memory(void)
{
	for (;;) {
		char *memory = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (memory == MAP_FAILED)
			_exit(3);
		memset(memory, 1, CHUNK);
	}
}

static int
do_memory(char **args)
{
	(void)args;
	eat_memory();
	return 0;
}

/* A child runs out of memory, and its parent goes on as if nothing were. */
static int
do_memory_child(char **args)
{
	(void)args;
	pid_t pid = fork();
	if (pid == 0)
		eat_memory();
	waitpid(pid, NULL, 0);
	return wait_forever();
}

/* Several children share what their parent touched: no reason to be killed. */
static int
do_memory_shared(char **args)
{
	size_t size = strtoul(args[0], NULL, 10);
	char *memory = malloc(size);
	memset(memory, 1, size);
	for (int i = 0; i < 8; i++)
		if (fork() == 0) {
			usleep(200000);
			_exit(memory[i] - 1);
		}
	while (wait(NULL) > 0)
		;
	printf("shared\n");
	return 0;
}

/* Holds more memory than the limit where no process shows it, and waits to be killed; or says that it may not. */
static int
do_hide(char **args)
{
	int rc = hide_memory(args[0]);
	printf("%s\n", rc < 0 ? "refused" : "held");
	fflush(stdout);
	return rc < 0 ? 0 : wait_forever();
}

/* A file in memory that several processes have mapped: no reason to be killed. */
static int
do_map_file(char **args)
{
	size_t size = strtoul(args[1], NULL, 10);
	int fd = open(args[0], O_RDWR | O_CREAT, 0600);
	char *memory =
		ftruncate(fd, (off_t)size) ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return 1;
	memset(memory, 1, size);
	for (int i = 0; i < 4; i++)
		if (fork() == 0) {
			long sum = 0;
			for (size_t at = 0; at < size; at += 4096)
				sum += ((volatile char *)memory)[at];
			usleep(200000);
			_exit(sum == 0);
		}
	while (wait(NULL) > 0)
		;
	printf("mapped\n");
	return 0;
}

static int
do_fork_bomb(char **args)
{
	int refused = 0;
	(void)args;
	for (int i = 0; i < 20000 && refused < 100; i++) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(wait_forever());
		refused += pid < 0;
	}
	printf("refused=%d\n", refused);
	return 0;
}

/* A bomb whose children bomb too, and that ends at once itself. */
static int
do_fork_storm(char **args)
{
	(void)args;
	for (int i = 0; i < 1000; i++)
		(void)fork();
	return 0;
}

/* args: "setsid" leaves the session, "stop" stops the daemon, "ignore" makes it ignore what can be ignored. */
static int
do_daemon(char **args)
{
	if (fork())
		return 0;
	if (args[0] && !strcmp(args[0], "setsid")) {
		setsid();
		if (fork())
			_exit(0);
	}
	for (int number = 1; args[0] && !strcmp(args[0], "ignore") && number < NSIG; number++)
		signal(number, SIG_IGN);
	if (args[0] && !strcmp(args[0], "stop"))
		raise(SIGSTOP);
	return wait_forever();
}

/* Waits until its daemons are there, so that what is left behind can be counted. */
static int
do_daemons(char **args)
{
	int ready[2], count = atoi(args[0]);
	char byte;
	if (pipe(ready))
		return 1;
	for (int i = 0; i < count; i++)
		if (fork() == 0) {
			setsid();
			if (fork())
				_exit(0);
			if (write(ready[1], "x", 1) != 1)
				_exit(1);
			_exit(wait_forever());
		}
	for (int i = 0; i < count; i++)
		if (read(ready[0], &byte, 1) != 1)
			return 1;
	/* Their parents must not be left behind as well. */
	while (wait(NULL) > 0)
		;
	return 0;
}

static int
do_kill_all(char **args)
{
	(void)args;
	say("all", kill(-1, SIGKILL));
	say("init", kill(1, SIGKILL));
	say("init stop", kill(1, SIGSTOP));
	return 7;
}

static int
do_processes(char **args)
{
	DIR *dir = opendir("/proc");
	(void)args;
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			printf("%s ", entry->d_name);
	return 0;
}

static int
do_list(char **args)
{
	DIR *dir = opendir(args[0]);
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		if (entry->d_name[0] != '.')
			printf("%s ", entry->d_name);
	return dir ? 0 : 1;
}

static int
do_net(char **args)
{
	struct sockaddr_in far = {.sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(0x01010101)};
	struct sockaddr_in near = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(near);
	struct if_nameindex *list = if_nameindex();
	(void)args;
	for (struct if_nameindex *at = list; at && at->if_name; at++)
		printf("if=%s\n", at->if_name);
	int listener = socket(AF_INET, SOCK_STREAM, 0), caller = socket(AF_INET, SOCK_STREAM, 0);
	say("far", connect(caller, (struct sockaddr *)&far, sizeof(far)));
	if (bind(listener, (struct sockaddr *)&near, sizeof(near)) || listen(listener, 1) ||
		getsockname(listener, (struct sockaddr *)&near, &size))
		say("listen", -1);
	caller = socket(AF_INET, SOCK_STREAM, 0);
	say("near", connect(caller, (struct sockaddr *)&near, sizeof(near)));
	return 0;
}

static int
do_sockets(char **args)
{
	(void)args;
	say("unix", socket(AF_UNIX, SOCK_STREAM, 0));
	say("inet6", socket(AF_INET6, SOCK_STREAM, 0));
	say("route", socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
	say("netfilter", socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER));
	say("packet", socket(AF_PACKET, SOCK_RAW, 0));
	say("vsock", socket(AF_VSOCK, SOCK_STREAM, 0));
	say("alg", socket(AF_ALG, SOCK_SEQPACKET, 0));
	say("pair", socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){0}));
	say("inet_pair", socketpair(AF_INET, SOCK_STREAM, 0, (int[2]){0}));
	say("tipc_pair", socketpair(AF_TIPC, SOCK_SEQPACKET, 0, (int[2]){0}));
	say("tcp", socket(AF_INET, SOCK_STREAM, IPPROTO_TCP));
	say("udp", socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP));
	say("mptcp", socket(AF_INET, SOCK_STREAM, 262 /* IPPROTO_MPTCP */));
	say("udp_lite", socket(AF_INET6, SOCK_DGRAM, 136 /* IPPROTO_UDPLITE */));
	say("sctp", socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP));
	return 0;
}

/* System calls that must not work, whatever their arguments. */
static int
do_calls(char **args)
{
	char byte = 0;
	struct {
		void *base;
		size_t size;
	} vector = {&byte, 1};
	uint64_t clone3_args[8] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
	(void)args;
	say("ptrace", syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0));
	say("process_vm_readv", syscall(SYS_process_vm_readv, getpid(), &vector, 1, &vector, 1, 0));
	say("process_vm_writev", syscall(SYS_process_vm_writev, getpid(), &vector, 1, &vector, 1, 0));
	say("io_uring_setup", syscall(SYS_io_uring_setup, 1, NULL));
	say("unshare", syscall(SYS_unshare, CLONE_NEWUSER));
	say("setns", syscall(SYS_setns, 0, 0));
	say("clone_newuser", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
	say("clone_newnet", syscall(SYS_clone, CLONE_NEWNET | SIGCHLD, 0, 0, 0, 0));
	say("clone3", syscall(SYS_clone3, clone3_args, sizeof(clone3_args)));
	say("mount", syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, NULL));
	say("umount2", syscall(SYS_umount2, "/job/out", 2));
	say("pivot_root", syscall(SYS_pivot_root, "/tmp", "/tmp"));
	say("chroot", syscall(SYS_chroot, "/tmp"));
	say("keyctl", syscall(SYS_keyctl, 0, -3, 0, 0, 0));
	say("add_key", syscall(SYS_add_key, "user", "x", "y", 1, -3));
	say("request_key", syscall(SYS_request_key, "user", "x", NULL, -3));
	say("bpf", syscall(SYS_bpf, 0, NULL, 0));
	say("perf_event_open", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
	say("userfaultfd", syscall(SYS_userfaultfd, 0));
	say("open_by_handle_at", syscall(SYS_open_by_handle_at, 0, NULL, 0));
	say("pidfd_getfd", syscall(438, 0, 0, 0));
	say("fsopen", syscall(430, "tmpfs", 0));
	say("kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, 0));
	say("init_module", syscall(SYS_init_module, NULL, 0, ""));
	say("swapon", syscall(SYS_swapon, "/tmp/x", 0));
	say("reboot", syscall(SYS_reboot, 0, 0, 0, NULL));
	say("syslog", syscall(SYS_syslog, 3, NULL, 0));
	say("acct", syscall(SYS_acct, "/tmp/x"));
	say("sethostname", syscall(SYS_sethostname, "x", 1));
	say("personality", personality(PER_LINUX32));
	say("unknown", syscall(900));
	say("sendto_urgent", syscall(SYS_sendto, -1, &byte, 1, MSG_OOB | MSG_NOSIGNAL, NULL, 0));
	say("sendmsg_urgent", syscall(SYS_sendmsg, -1, NULL, MSG_OOB));
	say("sendmmsg_urgent", syscall(SYS_sendmmsg, -1, NULL, 1, MSG_OOB));
	say("tiocsti", ioctl(0, TIOCSTI, &byte));
	say("tioclinux", ioctl(0, TIOCLINUX, &byte));
	say("tiocsti_high", syscall(SYS_ioctl, 0L, (1L << 32) | TIOCSTI, &byte));
	return 0;
}

/* What the kernel has once for the whole machine, or counts for the user who runs the sandbox. */
static int
do_machine_wide(char **args)
{
	void *context = NULL;
	const size_t huge = 2u << 20;
	int count = 0;
	(void)args;
	while (count < 1000 && syscall(SYS_inotify_init1, 0) >= 0)
		count++;
	printf("inotify=%d\n", count);
	say("inotify_errno", -1);
	int folder = open("/usr/bin", O_RDONLY);
	say("notify", fcntl(folder, F_NOTIFY, DN_ACCESS));
	say("lease", fcntl(memfd_create("x", 0), F_SETLEASE, F_WRLCK));
	say("io_setup", syscall(SYS_io_setup, 1, &context));
	errno = 0;
	say("huge", mmap(NULL, huge, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0) == MAP_FAILED ? -1 : 0);
	say("huge_file", memfd_create("x", 4 /* MFD_HUGETLB */));
	say("huge_segment", syscall(SYS_shmget, 0, huge, 04000 /* SHM_HUGETLB */ | 0600));
	/* Of no file at all, so that it can only be the sandbox that says yes. */
	say("fsync", syscall(SYS_fsync, -1));
	say("fdatasync", syscall(SYS_fdatasync, -1));
	say("syncfs", syscall(SYS_syncfs, -1));
	say("sync_file_range", syscall(SYS_sync_file_range, -1, 0L, 0L, 0));
	say("msync", syscall(SYS_msync, 4096L, 4096L, MS_SYNC));
	/* Libraries ask in this way what is mapped. */
	say("msync_async", syscall(SYS_msync, 4096L, 4096L, MS_ASYNC));
	int file = open("/proc/self/exe", O_RDONLY);
	say("drop_cache", syscall(SYS_fadvise64, file, 0L, 0L, POSIX_FADV_DONTNEED));
	say("read_ahead", syscall(SYS_fadvise64, file, 0L, 0L, POSIX_FADV_WILLNEED));
	char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0);
	say("cold", madvise(page, 4096, 20 /* MADV_COLD */));
	say("page_out", madvise(page, 4096, 21 /* MADV_PAGEOUT */));
	say("free", madvise(page, 4096, MADV_DONTNEED));
	say("core_cookie", prctl(62 /* PR_SCHED_CORE */, 1 /* CREATE */, 0, 0 /* this thread */, 0));
	say("clock_trap", prctl(26 /* PR_SET_TSC */, 1 /* ENABLE */, 0, 0, 0));
	say("call_trap", prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 0 /* OFF */, 0, 0, 0));
	return 0;
}

static int
do_show(char **args)
{
	char text[4096];
	int fd = open(args[0], O_RDONLY);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text));
	return size >= 0 && fwrite(text, 1, (size_t)size, stdout) == (size_t)size ? 0 : 1;
}

/* 1 where a file has text, 0 where it is empty or missing. */
static int
do_sizes(char **args)
{
	for (; *args; args++) {
		char byte;
		int fd = open(*args, O_RDONLY);
		printf("%s=%d\n", *args, fd >= 0 && read(fd, &byte, 1) == 1);
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

static int
do_requests(char **args)
{
	int pair[2], count = 0, one = 1, file = open("/opt/probe", O_RDONLY);
	long long size;
	struct ifreq request = {.ifr_ifindex = 1};
	(void)args;
	say("readable", pipe(pair) ? -1 : ioctl(pair[0], FIONREAD, &count));
	say("block", ioctl(pair[0], FIONBIO, &one));
	say("close", ioctl(pair[0], FIOCLEX));
	say("keep", ioctl(pair[0], FIONCLEX));
	say("name", ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCGIFNAME, &request));
	say("size", ioctl(file, FIOQSIZE, &size));
	say("shared", mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
	return 0;
}

/* The limit that keeps the machine from taking dumps can be read and not be changed, not even to less. */
static int
do_core(char **args)
{
	struct rlimit limit = {0, 0};
	/* Its address is such that the lower half is zero. */
	struct rlimit *low = mmap(
		(void *)(1ul << 32), 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	(void)args;
	say("lower", prlimit(0, RLIMIT_CORE, &limit, NULL));
	say("lower_old", syscall(SYS_setrlimit, RLIMIT_CORE, &limit));
	say("lower_low", low == MAP_FAILED ? -1 : prlimit(0, RLIMIT_CORE, low, NULL));
	say("read", prlimit(0, RLIMIT_CORE, NULL, &limit));
	printf("limit=%lld\n", (long long)limit.rlim_max);
	say("other", prlimit(0, RLIMIT_FSIZE, NULL, &limit) || prlimit(0, RLIMIT_FSIZE, &limit, NULL) ? -1 : 0);
	return 0;
}

/* What programs need, and must have. */
static int
do_allowed(char **args)
{
	cpu_set_t set;
	(void)args;
	say("affinity", sched_getaffinity(0, sizeof(set), &set));
	say("set_affinity", sched_setaffinity(0, sizeof(set), &set));
	say("memfd", memfd_create("x", 0));
	say("mlock", mlock(&set, sizeof(set)));
	say("no_randomize", personality(0xffffffff));
	say("dev_null", open("/dev/null", O_RDWR));
	say("dev_urandom", open("/dev/urandom", O_RDONLY));
	say("shm_open", shm_open("/kettle", O_RDWR | O_CREAT, 0600));
	say("tmp_exec", mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
	say("cpuinfo", open("/proc/cpuinfo", O_RDONLY));
	say("self_maps", open("/proc/self/maps", O_RDONLY));
	say("self_exe", open("/proc/self/exe", O_RDONLY));
	say("topology", access("/sys/devices/system/cpu/online", R_OK));
	say("rename", open("/job/out/a", O_CREAT | O_WRONLY, 0644) < 0 ? -1 : rename("/job/out/a", "/job/out/b"));
	say("subfolder", mkdir("/tmp/a", 0755) || mkdir("/tmp/b", 0755) || mkdir("/tmp/a/x", 0755)
						 ? -1
						 : rename("/tmp/a/x", "/tmp/b/x"));
	say("fifo", mkfifo("/tmp/fifo", 0600));
	return 0;
}

/* A 32-bit system call from a 64-bit program. */
static int
do_i386(char **args)
{
	(void)args;
#if defined(__x86_64__)
	long rc;
	__asm__ volatile("int $0x80" : "=a"(rc) : "a"(20 /* getpid */) : "memory");
	printf("i386=%ld\n", rc);
#endif
	return 0;
}

/* Attempts to starve init, which may have the same user id. */
static int
do_starve(char **args)
{
	struct rlimit none = {0, 0};
	struct sched_param param = {0};
	cpu_set_t set;
	(void)args;
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	say("prlimit", prlimit(1, RLIMIT_NOFILE, &none, NULL));
	say("affinity", sched_setaffinity(1, sizeof(set), &set));
	say("scheduler", sched_setscheduler(1, SCHED_IDLE, &param));
	say("priority", setpriority(PRIO_PROCESS, 1, 19));
	say("priority user", setpriority(PRIO_USER, 0, 19));
	say("priority group", setpriority(PRIO_PGRP, 1, 19));
	say("oom", open("/proc/1/oom_score_adj", O_WRONLY));
	return 0;
}

static int
do_real_time(char **args)
{
	struct sched_param param = {.sched_priority = 1};
	(void)args;
	say("real_time", sched_setscheduler(0, SCHED_FIFO, &param));
	say("higher", setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) - 1));
	return 0;
}

static int
do_cores(char **args)
{
	cpu_set_t set;
	(void)args;
	memset(&set, 0xff, sizeof(set));
	(void)sched_setaffinity(0, sizeof(set), &set);
	sched_getaffinity(0, sizeof(set), &set);
	printf("cores=%d first=%d nice=%d\n", CPU_COUNT(&set), CPU_ISSET(0, &set), getpriority(PRIO_PROCESS, 0));
	return 0;
}

/* The autogroup of this process, and of one that has made a session of its own. */
static int
do_sessions(char **args)
{
	char line[128];
	(void)args;
	for (int i = 0; i < 2; i++) {
		FILE *file = fopen("/proc/self/autogroup", "r");
		printf("%s=%s", i ? "new" : "own", file && fgets(line, sizeof(line), file) ? line : "none\n");
		fflush(stdout);
		if (i == 0 && fork()) {
			wait(NULL);
			return 0;
		}
		if (setsid() < 0)
			printf("refused\n");
	}
	return 0;
}

static int
do_x32(char **args)
{
	(void)args;
	say("x32", syscall(0x40000000 | 39));
	return 0;
}

static int
do_status(char **args)
{
	char line[256];
	FILE *file = fopen("/proc/self/status", "r");
	(void)args;
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "Cap", 3) || !strncmp(line, "NoNewPrivs", 10) || !strncmp(line, "Seccomp:", 8) ||
			!strncmp(line, "Uid", 3) || !strncmp(line, "Groups", 6))
			fputs(line, stdout);
	printf("umask=%o sid=%d pid=%d\n", umask(022), getsid(0) == getpid(), getpid());
	return 0;
}

static int
do_signals(char **args)
{
	sigset_t blocked;
	(void)args;
	sigprocmask(SIG_SETMASK, NULL, &blocked);
	for (int number = 1; number < 32; number++) {
		struct sigaction action;
		sigaction(number, NULL, &action);
		if (sigismember(&blocked, number) || action.sa_handler != SIG_DFL)
			printf("%d ", number);
	}
	printf("checked");
	return 0;
}

static int
do_limits(char **args)
{
	static const struct {
		const char *name;
		int resource;
	} list[] = {{"core", RLIMIT_CORE}, {"fsize", RLIMIT_FSIZE}, {"nofile", RLIMIT_NOFILE}, {"stack", RLIMIT_STACK},
		{"as", RLIMIT_AS}, {"sigpending", RLIMIT_SIGPENDING}, {"msgqueue", RLIMIT_MSGQUEUE}};
	(void)args;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		struct rlimit limit;
		getrlimit((__rlimit_resource_t)list[i].resource, &limit);
		printf("%s=%lld\n", list[i].name, (long long)limit.rlim_cur);
	}
	return 0;
}

static int
do_connect_abstract(char **args)
{
	struct sockaddr_un_like {
		sa_family_t family;
		char path[108];
	} address = {.family = AF_UNIX};
	size_t len = strlen(args[0]);
	memcpy(address.path + 1, args[0], len);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	say("abstract", connect(fd, (struct sockaddr *)&address, (socklen_t)(sizeof(sa_family_t) + 1 + len)));
	return 0;
}

static int
do_connection(char **args)
{
	(void)args;
	printf("bytes=%ld\n", hide_in_connection());
	return 0;
}

/* As many epoll watches as it gets: of each descriptor under many numbers in many sets. The sets are kept. */
static int
do_watches(char **args)
{
	int pair[2], sets[100], count = 0;
	struct epoll_event event = {.events = EPOLLIN};
	long taken = 0, rc = socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	(void)args;
	for (; count < 100 && rc == 0 && (sets[count] = epoll_create1(0)) >= 0; count++)
		;
	say("sets", count - 1);
	/* A file that stays open somewhere keeps its watches under numbers that have become another's. */
	for (int file = pair[0]; file >= 0 && rc == 0; file = eventfd(0, 0))
		for (int number = 600; number < 1000 && rc == 0; number++) {
			rc = dup2(file, number) < 0 ? -1 : 0;
			for (int set = 0; set < count && rc == 0; set++, taken += rc == 0)
				rc = epoll_ctl(sets[set], EPOLL_CTL_ADD, number, &event);
		}
	say("add", rc);
	printf("watches=%ld\n", taken);
	bool works = write(pair[1], "x", 1) == 1 && epoll_wait(sets[0], &event, 1, 10000) == 1;
	printf("event=%s\n", works ? "ok" : "none");
	return 0;
}

static const struct {
	const char *name;
	int (*run)(char **args);
} commands[] = {{"exit", do_exit}, {"abort", do_abort}, {"fds", do_fds}, {"echo", do_echo}, {"env", do_env},
	{"try-write", do_try_write}, {"try-read", do_try_read}, {"fill", do_fill}, {"inodes", do_inodes}, {"spin", do_spin},
	{"spin-short", do_spin_short}, {"sleep", do_sleep}, {"memory", do_memory}, {"memory-child", do_memory_child},
	{"memory-shared", do_memory_shared}, {"hide", do_hide}, {"map-file", do_map_file}, {"fork-bomb", do_fork_bomb},
	{"fork-storm", do_fork_storm}, {"daemon", do_daemon}, {"daemons", do_daemons}, {"kill-all", do_kill_all},
	{"processes", do_processes}, {"list", do_list}, {"net", do_net}, {"sockets", do_sockets}, {"calls", do_calls},
	{"allowed", do_allowed}, {"machine-wide", do_machine_wide}, {"core", do_core}, {"show", do_show},
	{"sizes", do_sizes}, {"requests", do_requests}, {"real-time", do_real_time}, {"i386", do_i386},
	{"starve", do_starve}, {"cores", do_cores}, {"x32", do_x32}, {"sessions", do_sessions}, {"status", do_status},
	{"signals", do_signals}, {"limits", do_limits}, {"connect-abstract", do_connect_abstract}, {"watches", do_watches},
	{"connection", do_connection}, {"lock", do_lock}, {"ahead", ahead_run}};

int
main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argv + 2);
	fprintf(stderr, "sandbox_probe: no such experiment\n");
	return 99;
}
