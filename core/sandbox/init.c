/* SPDX-License-Identifier: MIT */
/*
 * PID 1 of a sandbox.
 *
 * Theory of operation. First init does the part that is the same for all runs: it closes inherited descriptors, enters
 * the cgroup, brings up the loopback, builds the base of the root and, as a copy of a warm process (zygote.h), parks
 * the payload. A spare may now wait for a long time. The owner's message SANDBOX_GO brings the descriptors; the plan is
 * in shared memory. (For a prepared run SANDBOX_OPEN comes before: init builds what does not depend on the job and
 * makes the payload open its device.) Then init builds the rest of the root, starts the payload and loops over the control socket
 * (hang-up: the owner died), a signalfd for SIGCHLD, the cgroup's out-of-memory file, the count of epoll watches
 * (epoll.h) and a timer for the polled limits. At the end it kills and reaps everything, completes the result and
 * exits; if it dies earlier, the kernel kills everything left in its pid namespace. All signals stay blocked and
 * nothing is allocated.
 */
#include <config.h>

#include "sandbox/init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "sandbox/epoll.h"
#include "sandbox/landlock.h"
#include "sandbox/message.h"
#include "sandbox/prepared_wire.h"
#include "sandbox/root.h"
#include "sandbox/watch.h"

#define INIT_AUTOGROUP_TRIES 200
#define INIT_AUTOGROUP_PAUSE_NS 20000000
#define INIT_KILL_PAUSE_NS 1000000 /* without a pid namespace: between two rounds of killing */
#define INIT_NS_PER_MS UINT64_C(1000000)
#define INIT_OOM_SCORE "500"

#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x00001000
#endif
#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ull
#endif

struct init {
	struct sandbox_plan *plan;
	int control, signals, proc;
	int autogroup; /* its own file; -1: this kernel has none */
	int fds[SANDBOX_MESSAGE_FDS];
	size_t fds_count;
	const struct sandbox_zygote *zygote;
	struct sandbox_parked_payload parked;
	struct sandbox_epoll epoll;
	pid_t payload;
	bool payload_ended;
};

/* Ignores failures: its settings are optional. */
static void
write_text(int dir, const char *path, const char *text)
{
	AUTO_FD int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, text, strlen(text)) < 0)
		return;
}

static int
enter_cgroups(struct sandbox_plan *plan, const int *procs)
{
	for (size_t i = 0; i < SANDBOX_CG_COUNT; i++)
		if (procs[i] >= 0 && (write(procs[i], "0", 1) != 1 || close(procs[i])))
			return sandbox_plan_failed(plan, "enter the cgroup", NULL);
	return 0;
}

static int
block_signals(struct init *self)
{
	sigset_t all, child;
	sigfillset(&all);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	struct sigaction action = {.sa_handler = SIG_DFL};
	for (int signal = 1; signal < NSIG; signal++)
		(void)sigaction(signal, &action, NULL); /* fails for KILL, STOP and the C library's own */
	if (sigprocmask(SIG_SETMASK, &all, NULL))
		return -1;
	self->signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	return self->signals < 0 ? -1 : 0;
}

static int
init_prepare(struct init *self, const int *procs)
{
	struct sandbox_plan *plan = self->plan;
	int kept[4 + SANDBOX_CG_COUNT] = {self->control, plan->cgroup_cpu, plan->cgroup_oom, plan->alive};
	for (size_t i = 0; i < SANDBOX_CG_COUNT; i++)
		kept[4 + i] = procs[i];
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)prctl(PR_SET_NAME, "kettle-init", 0, 0, 0);
	(void)syscall(SYS_setsid);
	sandbox_payload_close_others(kept, ARRAY_SIZE(kept));
	if (block_signals(self))
		return sandbox_plan_failed(plan, "block signals", NULL);
	/* gVisor had none in 2022: processes that a run leaves behind there end with the container. */
	if (!(plan->protections & SANDBOX_PID) && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) && errno != EINVAL)
		return sandbox_plan_failed(plan, "become a subreaper", NULL);
	write_text(AT_FDCWD, "/proc/self/oom_score_adj", INIT_OOM_SCORE);
	if (plan->protections & SANDBOX_NET) {
		struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
		AUTO_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (fd >= 0)
			(void)ioctl(fd, SIOCSIFFLAGS, &request);
	}
	if (plan->protections & SANDBOX_UTS && sethostname("kettle", 6))
		return sandbox_plan_failed(plan, "set the host name", NULL);
	if (plan->protections & SANDBOX_MOUNT && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return sandbox_plan_failed(plan, "keep mounts private below", "/");
	return 0;
}

/* A warm process may be of another user than the owner: its copy becomes the owner's. Clears the death signal. */
static int
become_root(struct sandbox_plan *plan)
{
	if (!plan->root_owner || geteuid() == 0)
		return 0;
	if (syscall(SYS_setresgid, 0, 0, 0) || syscall(SYS_setresuid, 0, 0, 0))
		return sandbox_plan_failed(plan, "switch to the owner's user", NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	return 0;
}

/* Waits for the owner's message. SANDBOX_KILL: the owner is gone, too. */
static enum sandbox_message
receive(struct init *self)
{
	char message = SANDBOX_KILL;
	self->fds_count = ARRAY_SIZE(self->fds);
	int rc = sandbox_message_receive(self->control, &message, 1, 0, self->fds, &self->fds_count);
	return rc == 1 ? (enum sandbox_message)message : SANDBOX_KILL;
}

static int
send_out(void *arg, const int *fds, size_t count)
{
	struct init *self = arg;
	char byte = 0;
	return sandbox_message_send(self->control, &byte, 1, fds, count);
}

/* Init keeps only the rights to signal processes of other user ids and read their /proc entries. */
static int
drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	uint32_t kept = 1u << CAP_KILL | 1u << CAP_SYS_PTRACE;
	struct __user_cap_data_struct data[2] = {{.effective = kept, .permitted = kept}};
	return (int)syscall(SYS_capset, &header, data);
}

static int
limit_epoll(struct init *self)
{
	if (sandbox_epoll_limit(self->plan, self->proc, &self->epoll))
		return sandbox_plan_failed(self->plan, "limit the epoll watches", NULL);
	return 0;
}

/* Makes a warm payload before its run is known. */
static int
park_payload(struct init *self)
{
	return limit_epoll(self) || sandbox_payload_park(self->plan, self->zygote, &self->parked) ? -1 : 0;
}

/* The number of the payload's descriptors: a prepared program gets one more. */
static size_t
payload_fds(const struct init *self)
{
	return self->plan->fds_count + (self->plan->result.opened && !self->zygote);
}

/* Limits what the payload must be limited in before it is made, and makes its ruleset; -1 in *ret_ruleset: none. */
static int
prepare_payload(struct init *self, int *ret_ruleset)
{
	struct sandbox_plan *plan = self->plan;
	if (!self->zygote && limit_epoll(self))
		return -1;
	if (!(plan->protections & SANDBOX_LANDLOCK))
		return 0;
	*ret_ruleset = sandbox_landlock_ruleset(plan, self->zygote != NULL);
	return *ret_ruleset < 0 ? sandbox_plan_failed(plan, "create the Landlock rules", NULL) : 0;
}

static int
start_payload(struct init *self)
{
	struct sandbox_plan *plan = self->plan;
	AUTO_FD int ruleset = -1;
	if (!plan->result.opened && prepare_payload(self, &ruleset))
		return -1;
	if (plan->result.opened)
		self->payload =
			sandbox_payload_resume_prepared(plan, self->fds, payload_fds(self), self->zygote, &self->parked);
	else if (self->zygote)
		self->payload = sandbox_payload_resume(plan, self->fds, ruleset, self->zygote, &self->parked);
	else
		self->payload = sandbox_payload_start(plan, self->fds, ruleset);
	if (self->parked.socket >= 0)
		close(STEAL_FD(self->parked.socket));
	if (self->payload < 0)
		return -1;
	plan->result.payload = self->payload;
	for (size_t i = 0; i < payload_fds(self); i++)
		close(self->fds[i]);
	/* Only here, since starting the payload needs more of them. Changing them clears the death signal. */
	if (plan->protections & SANDBOX_USER && drop_capabilities())
		return sandbox_plan_failed(plan, "drop capabilities", NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	return 0;
}

/*
 * Each session has a share of CPU time of its own, within which alone nice values count (sched_autogroup_enabled). So the
 * session gets the nice value. The kernel takes one such value every 100 ms, from the whole machine.
 */
static void
lower_autogroup(const struct init *self)
{
	const struct timespec pause = {.tv_nsec = INIT_AUTOGROUP_PAUSE_NS};
	char text[4] = {(char)('0' + self->plan->nice / 10), (char)('0' + self->plan->nice % 10), '\n'};
	for (int i = 0; i < INIT_AUTOGROUP_TRIES; i++) {
		if (self->autogroup < 0 || write(self->autogroup, text, 3) == 3 || errno != EAGAIN)
			return;
		(void)nanosleep(&pause, NULL);
	}
}

/* The steps that need mapped ids but no plan. */
static int
set_up_base(struct init *self, const int *procs)
{
	struct sandbox_plan *plan = self->plan;
	if (become_root(plan) || enter_cgroups(plan, procs))
		return -1;
	/* Its root is the cgroup of this moment: made by the clone, it would show where the run is among others (v1). */
	if (plan->protections & SANDBOX_CGROUPNS && unshare(CLONE_NEWCGROUP))
		return sandbox_plan_failed(plan, "create a cgroup namespace", NULL);
	self->autogroup = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	/* Not before the ids are mapped: an ordinary owner could not open the map files. */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	umask(0);
	if (!(self->plan->protections & SANDBOX_MOUNT))
		return 0;
	if (sandbox_root_build_base(self->plan, &self->proc))
		return -1;
	/* A second barrier, after seccomp, against nested user namespaces and against watching what the machine executes. */
	write_text(self->proc, "sys/user/max_user_namespaces", "0");
	write_text(self->proc, "sys/user/max_inotify_instances", "0");
	/* The buffer sizes of connections, by which watch.c counts them. */
	if (self->plan->protections & SANDBOX_NET) {
		write_text(self->proc, "sys/net/ipv4/tcp_rmem", "4096 131072 212992");
		write_text(self->proc, "sys/net/ipv4/tcp_wmem", "4096 16384 212992");
	}
	return 0;
}

/* CPU time in ns of a process; pid 0: this one. */
static uint64_t
cpu_of(pid_t pid)
{
	struct timespec used = {0};
	clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
	if (pid > 0 && clock_getcpuclockid(pid, &clock) != 0)
		return 0;
	(void)clock_gettime(clock, &used);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* CPU time in ns of the child in which a prepared program has opened the device. */
static uint64_t
cpu_of_opener(const struct init *self)
{
	char name[64], text[32] = "";
	(void)snprintf(name, sizeof(name), "%d/task/%d/children", (int)self->parked.pid, (int)self->parked.pid);
	AUTO_FD int fd = openat(self->proc, name, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 ? cpu_of((pid_t)atoi(text)) : 0;
}

/* Sets the usage before the run, which is not charged to the run. */
static void
note_before(struct init *self)
{
	struct sandbox_plan *plan = self->plan;
	struct sandbox_result *result = &plan->result;
	result->parked_ns = self->parked.pid > 0 ? cpu_of(self->parked.pid) + result->opening_ns : 0;
	if (self->plan->ahead && !self->zygote)
		result->parked_ns += cpu_of_opener(self);
	result->before_ns = plan->cgroup_cpu >= 0 ? sandbox_cgroup_cpu_ns(plan->cgroup_cpu, plan->cgroup_unified)
											  : cpu_of(0) + result->parked_ns;
}

/* Builds what does not depend on the job, and makes the payload open its device. */
static int
open_payload(struct init *self)
{
	struct sandbox_plan *plan = self->plan;
	AUTO_FD int ruleset = -1;
	if (plan->has_init_cores && sched_setaffinity(0, sizeof(plan->init_cores), &plan->init_cores))
		return sandbox_plan_failed(plan, "use the cores of init", NULL);
	if (sandbox_root_build_device(plan) || prepare_payload(self, &ruleset))
		return -1;
	return sandbox_payload_open(plan, ruleset, self->zygote, &self->parked);
}

/* Whether the prepared payload lives. Tells the owner once it is ready. */
static bool
follow_opening(struct init *self)
{
	char byte = 0;
	ssize_t got = recv(self->parked.socket, &byte, 1, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (got != 1 || byte != SANDBOX_PREPARED_READY || self->plan->result.opened)
		return false;
	byte = SANDBOX_OPENED;
	self->plan->result.opened = true;
	return sandbox_message_send(self->control, &byte, 1, NULL, 0) == 0;
}

/* Waits for the run of a prepared payload. -1: the owner is gone, or the payload. */
static int
await_prepared_run(struct init *self)
{
	struct pollfd fds[] = {{.fd = self->control, .events = POLLIN}, {.fd = self->parked.socket, .events = POLLIN},
		{.fd = self->epoll.listener, .events = POLLIN}};
	for (;;) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			return -1;
		if (fds[1].revents && !follow_opening(self))
			return -1;
		if (fds[2].revents & POLLIN)
			sandbox_epoll_serve(&self->epoll);
		if (fds[0].revents)
			return receive(self) == SANDBOX_GO && self->plan->result.opened ? 0 : -1;
	}
}

static int
init_set_up(struct init *self)
{
	struct sandbox_plan *plan = self->plan;
	if (self->fds_count != payload_fds(self) + plan->keep_count + plan->grouped)
		return sandbox_plan_failed(plan, "receive the descriptors", NULL);
	plan->group_usage = plan->grouped ? self->fds[self->fds_count - 1] : -1;
	if (plan->has_init_cores && sched_setaffinity(0, sizeof(plan->init_cores), &plan->init_cores))
		return sandbox_plan_failed(plan, "use the cores of init", NULL);
	if (plan->protections & SANDBOX_MOUNT) {
		if (sandbox_root_build(plan, send_out, self))
			return -1;
	} else {
		self->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		AUTO_FD int out = open(plan->out_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (self->proc < 0 || out < 0 || send_out(self, &out, 1))
			return sandbox_plan_failed(plan, "open the folder", plan->out_directory);
	}
	if (plan->autogroup)
		lower_autogroup(self);
	return start_payload(self);
}

static void
note_end(struct init *self, pid_t pid, int status)
{
	struct sandbox_result *result = &self->plan->result;
	if (pid == self->payload) {
		result->status = status;
		result->end_ns = sandbox_plan_now();
		self->payload_ended = true;
	} else if (self->payload_ended && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
		result->left_behind++;
	}
}

static void
reap(struct init *self)
{
	struct signalfd_siginfo info;
	while (read(self->signals, &info, sizeof(info)) > 0)
		;
	int status;
	pid_t pid;
	while (!self->payload_ended && (pid = wait4(-1, &status, WNOHANG | __WALL, NULL)) > 0)
		note_end(self, pid, status);
}

/* The first limit counts. */
static void
set_limit(struct init *self, enum sandbox_limit limit)
{
	int none = SANDBOX_LIMIT_NONE;
	atomic_compare_exchange_strong(&self->plan->result.limit, &none, (int)limit);
}

/* Whether the owner has sent SANDBOX_KILL or died. */
static bool
owner_says_end(struct init *self)
{
	char message = SANDBOX_KILL;
	ssize_t size = recv(self->control, &message, 1, MSG_DONTWAIT);
	return !(size < 0 && (errno == EAGAIN || errno == EINTR)) && message == SANDBOX_KILL;
}

/* Milliseconds until then, rounded up. */
static int
left_ms(uint64_t then_ns)
{
	return (int)((sandbox_plan_since(then_ns, sandbox_plan_now()) + INIT_NS_PER_MS - 1) / INIT_NS_PER_MS);
}

static void
init_watch(struct init *self)
{
	struct sandbox_plan *plan = self->plan;
	struct pollfd fds[] = {{.fd = self->control, .events = POLLIN}, {.fd = self->signals, .events = POLLIN},
		{.fd = plan->cgroup_oom, .events = plan->cgroup_unified ? POLLPRI : POLLIN},
		{.fd = self->epoll.listener, .events = POLLIN}};
	int wait_ms = sandbox_watch_needed(plan) ? 1 : -1;
	uint64_t due_ns = sandbox_plan_now();
	while (!self->payload_ended) {
		int count = poll(fds, ARRAY_SIZE(fds), wait_ms < 0 ? -1 : left_ms(due_ns));
		if (count > 0 && fds[0].revents && owner_says_end(self))
			return;
		if (count > 0 && fds[1].revents)
			reap(self);
		if (count > 0 && fds[2].revents && sandbox_cgroup_oom_happened(plan->cgroup_oom, plan->cgroup_unified)) {
			set_limit(self, SANDBOX_LIMIT_MEMORY);
			return;
		}
		if (count > 0 && fds[3].revents & POLLIN)
			sandbox_epoll_serve(&self->epoll);
		if (wait_ms < 0 || self->payload_ended || sandbox_plan_now() < due_ns)
			continue;
		enum sandbox_limit limit = sandbox_watch_check(plan, self->proc, &wait_ms);
		if (limit != SANDBOX_LIMIT_NONE) {
			set_limit(self, limit);
			return;
		}
		due_ns = sandbox_plan_now() + (wait_ms > 0 ? (uint64_t)wait_ms * INIT_NS_PER_MS : 0);
	}
}

static void
end_all(struct init *self)
{
	bool namespaces = self->plan->protections & SANDBOX_PID;
	const struct timespec pause = {.tv_nsec = INIT_KILL_PAUSE_NS};
	for (;;) {
		sandbox_watch_kill(self->plan, self->proc);
		int status;
		pid_t pid;
		while ((pid = wait4(-1, &status, __WALL | (namespaces ? 0 : WNOHANG), NULL)) > 0)
			note_end(self, pid, status);
		if (pid < 0 && errno == ECHILD)
			return;
		if (pid == 0)
			(void)nanosleep(&pause, NULL);
	}
}

static void
init_complete(struct init *self)
{
	struct sandbox_result *result = &self->plan->result;
	struct rusage usage = {0};
	(void)getrusage(RUSAGE_CHILDREN, &usage);
	result->total_cpu_ns = sandbox_plan_since(sandbox_plan_used(&usage), result->parked_ns);
	uint64_t largest = (uint64_t)usage.ru_maxrss * 1024;
	if (largest > result->memory_peak)
		result->memory_peak = largest;
	sandbox_plan_note_processes(self->plan, result->left_behind + UINT64_C(1));
	if (self->plan->protections & SANDBOX_MOUNT)
		(void)sandbox_root_hits(self->plan, 0);
}

/* Runs init, from the clone to its exit. */
static void __attribute__((noreturn)) init_main(
	struct sandbox_plan *plan, int control, const int procs[SANDBOX_CG_COUNT], const struct sandbox_zygote *zygote)
{
	struct init self = {.plan = plan,
		.control = control,
		.signals = -1,
		.proc = -1,
		.autogroup = -1,
		.zygote = zygote,
		.parked = {.socket = -1},
		.epoll = {.listener = -1}};
	int failed = init_prepare(&self, procs);
	if (receive(&self) != SANDBOX_MAPPED)
		_exit(1);
	failed = failed || set_up_base(&self, procs) || (zygote && park_payload(&self));
	plan->result.prepared = !failed;
	enum sandbox_message message = receive(&self);
	if (message == SANDBOX_OPEN && !failed && !open_payload(&self) && !await_prepared_run(&self))
		message = SANDBOX_GO;
	if (message != SANDBOX_GO)
		_exit(1);
	note_before(&self);
	if (failed || (plan->file && init_set_up(&self))) {
		if (self.payload > 0)
			end_all(&self);
		_exit(1);
	}
	if (plan->file) {
		init_watch(&self);
		end_all(&self);
		init_complete(&self);
	}
	plan->result.finished = true;
	_exit(0);
}

/* ---- the clone ---- */

struct clone_arguments {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};

static uint64_t
clone_flags(unsigned protections)
{
	static const struct {
		unsigned protection;
		uint64_t flag;
	} flags[] = {{SANDBOX_USER, CLONE_NEWUSER}, {SANDBOX_MOUNT, CLONE_NEWNS}, {SANDBOX_PID, CLONE_NEWPID},
		{SANDBOX_NET, CLONE_NEWNET}, {SANDBOX_IPC, CLONE_NEWIPC}, {SANDBOX_UTS, CLONE_NEWUTS}};
	uint64_t all = 0;
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		all |= protections & flags[i].protection ? flags[i].flag : 0;
	return all;
}

/* Copies this process, like fork. The child's end raises no signal in the owner. */
static pid_t
clone_process(uint64_t flags, int cgroup, int *ret_pidfd)
{
	struct clone_arguments args = {
		.flags = flags | (ret_pidfd ? CLONE_PIDFD : 0), .pidfd = (uint64_t)(uintptr_t)ret_pidfd};
	if (cgroup >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup;
	}
	long pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0 && errno == ENOSYS && cgroup < 0) /* some containers hide clone3 */
		pid = syscall(SYS_clone, args.flags, NULL, ret_pidfd, NULL, NULL);
	return (pid_t)pid;
}

pid_t
sandbox_init_clone(struct sandbox_plan *plan, int cgroup, int control, const int procs[SANDBOX_CG_COUNT],
	const struct sandbox_zygote *zygote, int *ret_pidfd)
{
	sigset_t all, before;
	sigfillset(&all);
	/* No handler of this process may run in the child. */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid_t pid = clone_process(clone_flags(plan->protections) | (zygote ? CLONE_PARENT : 0), cgroup, ret_pidfd);
	if (pid == 0)
		init_main(plan, control, procs, zygote);
	int error = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return pid;
}
