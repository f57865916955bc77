/* SPDX-License-Identifier: MIT */
/*
 * Starts the payload.
 *
 * Theory of operation. The payload is made with CLONE_VM | CLONE_VFORK: init is suspended until the exec, so no page
 * table is copied and a failure is written to the shared result. Nothing is allocated, and ids are changed by raw
 * system calls, since the C library would look for threads that the clone does not have. The payload of a warm process
 * is forked instead, as soon as init runs, and does in advance the part that needs no run (it is "parked"): copying the
 * page tables of a large process, and the pages that every start writes to, takes most of the time of a start. Its run
 * comes as one message with the descriptors. It then takes the same steps as any other, copies its strings, unmaps the
 * plan and goes on without an exec; init waits on a futex in the plan for that.
 *
 * A prepared payload takes the steps that concern its rights before its run is known, and then opens its device. A
 * driver starts threads, and ids, filters and Landlock domains belong to a thread: later steps would leave the driver's
 * threads with rights that a submission could take over. What is left for the run concerns all threads at once:
 * descriptors, folder, the limit on CPU time. The driver's descriptors stay, so the numbers that a run may use are taken
 * while the device is opened.
 */
#include <config.h>

#include "sandbox/payload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/io.h"
#include "sandbox/landlock.h"
#include "sandbox/message.h"
#include "sandbox/prepared_wire.h"
#include "sandbox/record.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#define PAYLOAD_CAPS_MAX 64
#define PAYLOAD_CPU_GRACE_S 2 /* RLIMIT_CPU applies only if the count of the whole tree fails */
#define PAYLOAD_FAILED 127
#define PAYLOAD_FDS_MAX (SANDBOX_FDS_MAX + 1) /* and the ruleset */
#define PAYLOAD_USER_PART 4                   /* without a user id of its own: its part of the user's limit */
/* Messages to a parked payload. */
#define PAYLOAD_RUN 0
#define PAYLOAD_OPEN 1
#define PAYLOAD_LOOK_NS 10000000 /* how often init checks whether a forked payload still lives */

struct payload {
	struct sandbox_plan *plan;
	const int *fds;
	int ruleset;
};

static void
close_between(unsigned first, unsigned last)
{
	if (first > last || !syscall(SYS_close_range, first, last, 0))
		return;
	struct rlimit limit; /* before 5.9 */
	unsigned end = getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > 65536 ? 65536 : (unsigned)limit.rlim_cur;
	for (unsigned fd = first; fd <= last && fd < end; fd++)
		close((int)fd);
}

void
sandbox_payload_close_others(int *keep, size_t count)
{
	for (size_t i = 1; i < count; i++)
		for (size_t j = i; j > 0 && keep[j - 1] > keep[j]; j--) {
			int swap = keep[j];
			keep[j] = keep[j - 1];
			keep[j - 1] = swap;
		}
	unsigned next = 0;
	for (size_t i = 0; i < count; i++) {
		if (keep[i] < 0)
			continue;
		if ((unsigned)keep[i] > next)
			close_between(next, (unsigned)keep[i] - 1);
		next = (unsigned)keep[i] + 1;
	}
	close_between(next, UINT_MAX);
}

/* Moves the descriptors to their targets, by way of free numbers, since a source may be another's target. */
static int
place_fds(struct payload *payload)
{
	struct sandbox_plan *plan = payload->plan;
	int waiting[SANDBOX_FDS_MAX], kept[SANDBOX_FDS_MAX], above = 0;
	/* The owner's limit may be too low for the duplicates. */
	open_files_raise();
	for (size_t i = 0; i < plan->fds_count; i++)
		above = plan->fd_targets[i] >= above ? plan->fd_targets[i] + 1 : above;
	if (payload->ruleset >= 0) {
		payload->ruleset = fcntl(payload->ruleset, F_DUPFD_CLOEXEC, above);
		if (payload->ruleset < 0)
			return -1;
	}
	for (size_t i = 0; i < plan->fds_count; i++) {
		waiting[i] = fcntl(payload->fds[i], F_DUPFD_CLOEXEC, above);
		if (waiting[i] < 0)
			return -1;
	}
	for (size_t i = 0; i < plan->fds_count; i++) {
		kept[i] = plan->fd_targets[i];
		if (dup2(waiting[i], kept[i]) < 0)
			return -1;
	}
	int all[SANDBOX_FDS_MAX + 1];
	memcpy(all, kept, plan->fds_count * sizeof(*all));
	all[plan->fds_count] = payload->ruleset;
	sandbox_payload_close_others(all, plan->fds_count + 1);
	return 0;
}

/* pid: 0 for this process. used_ns: time that does not count. */
static int
limit_cpu(pid_t pid, const struct sandbox_limits *limits, uint64_t used_ns)
{
	rlim_t seconds = (limits->cpu_ns + used_ns) / 1000000000 + PAYLOAD_CPU_GRACE_S;
	struct rlimit present;
	if (limits->cpu_ns == 0 || prlimit(pid, RLIMIT_CPU, NULL, &present))
		return 0;
	seconds = seconds < present.rlim_max ? seconds : present.rlim_max;
	return prlimit(pid, RLIMIT_CPU, &(struct rlimit){.rlim_cur = seconds, .rlim_max = seconds}, NULL);
}

/* All but that on CPU time. */
static int
set_limits(struct sandbox_plan *plan)
{
	struct sandbox_limits *limits = &plan->limits;
	/* RLIMIT_NPROC includes init where it has the same user id. */
	rlim_t processes = limits->processes + (plan->root_owner ? 0 : 1);
	bool count_processes = plan->protections & SANDBOX_USER && !(plan->protections & SANDBOX_PIDS_CGROUP);
	const rlim_t part = plan->root_owner ? 1 : PAYLOAD_USER_PART;
	const struct {
		__typeof__(RLIMIT_CORE) resource;
		rlim_t value, part; /* at most value, and this part of the owner's limit */
		bool set, optional; /* optional: gVisor lacks it, and the thing that it limits */
	} list[] = {
		/* With 0 the kernel still runs the machine's core dump program; with 1 it does not. */
		{RLIMIT_CORE, 1, 1, true, false},
		{RLIMIT_RTPRIO, 0, 1, true, true},
		{RLIMIT_NICE, 0, 1, true, true},
		{RLIMIT_FSIZE, limits->file_size, 1, true, false},
		{RLIMIT_STACK, limits->stack, 1, true, false},
		/* The kernel compares these with the total of all processes of the user; for descriptors, of those in sockets. */
		{RLIMIT_NOFILE, limits->open_files, part, true, false},
		{RLIMIT_NPROC, processes, part, count_processes, false},
		{RLIMIT_SIGPENDING, RLIM_INFINITY, part, true, true},
		{RLIMIT_MSGQUEUE, RLIM_INFINITY, part, true, true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		struct rlimit present;
		if (!list[i].set || getrlimit(list[i].resource, &present))
			continue;
		rlim_t most = present.rlim_max / list[i].part;
		rlim_t value = list[i].value < most ? list[i].value : most;
		struct rlimit limit = {.rlim_cur = value, .rlim_max = value};
		/* On Linux every user may lower a limit: EPERM comes only from a kernel without that limit. */
		if (setrlimit(list[i].resource, &limit) && !(list[i].optional && errno == EPERM))
			return -1;
		/* Stores the actual value for the report, and by which init sees that the limit is reached. */
		if (list[i].resource == RLIMIT_NOFILE)
			limits->open_files = value;
		if (list[i].resource == RLIMIT_NPROC)
			limits->processes = sandbox_plan_since(value, processes - limits->processes);
	}
	return 0;
}

static int
drop_ids(const struct sandbox_plan *plan)
{
	for (int cap = 0; cap < PAYLOAD_CAPS_MAX; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) && errno == EINVAL)
			break;
	if (!plan->root_owner)
		return 0;
	if (syscall(SYS_setgroups, plan->groups_count, plan->groups) ||
		syscall(SYS_setresgid, SANDBOX_ID, SANDBOX_ID, SANDBOX_ID) ||
		syscall(SYS_setresuid, SANDBOX_ID, SANDBOX_ID, SANDBOX_ID))
		return -1;
	return 0;
}

static int
drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return (int)syscall(SYS_capset, &header, none);
}

/*
 * For a payload that is bound to cores: sched_setaffinity does nothing, since a filter cannot read the set of cores. It
 * returns success, because the C library makes no thread if binding one fails.
 */
static struct sock_filter bound_code[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setaffinity, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

/* After no_new_privs: installs a filter. 0 or -1 with errno. */
static int
enter_filter(const struct sock_fprog *program)
{
	/* Without SPEC_ALLOW, kernels before 5.16 switch speculation off for a process with a filter, which slows it down. */
	if (!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, program))
		return 0;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program);
}

/* Before the filter of the plan: keeps this process on its cores from now on. 0 or -1 with errno. */
static int
bind_to_cores(void)
{
	const struct sock_fprog program = {.len = ARRAY_SIZE(bound_code), .filter = bound_code};
	return enter_filter(&program);
}

static void
leave_session(const struct sandbox_plan *plan)
{
	if (!plan->autogroup)
		(void)syscall(SYS_setsid);
	else
		(void)setpgid(0, 0);
}

/* The order matters: first the steps that need capabilities, then no_new_privs, then the steps that need that. */
static const char *
give_up_rights(struct sandbox_plan *plan, int ruleset)
{
	bool namespaces = plan->protections & SANDBOX_USER;
	sigset_t none;
	sigemptyset(&none);
	if (plan->has_cores && sched_setaffinity(0, sizeof(plan->cores), &plan->cores))
		return "use the cores";
	if (plan->nice > 0 && setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + plan->nice))
		return "lower the priority";
	if (set_limits(plan))
		return "set the limits";
	if (namespaces && drop_ids(plan))
		return "change the user";
	if (namespaces && drop_capabilities())
		return "drop capabilities";
	/* A filter that records needs it too. */
	if ((plan->protections & SANDBOX_NNP || plan->record) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return "set no_new_privs";
	if (ruleset >= 0 && sandbox_landlock_enter(ruleset))
		return "enter the Landlock domain";
	umask(022);
	if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(uint64_t)))
		return "unblock signals";
	if (plan->record && sandbox_record_enter(plan->record))
		return "tell the owner what it reads";
	if (plan->filter.len && plan->has_cores && bind_to_cores())
		return "stay on the cores";
	if (plan->filter.len && enter_filter(&plan->filter))
		return "install the seccomp filter";
	return NULL;
}

static const char *
enter(struct payload *payload)
{
	struct sandbox_plan *plan = payload->plan;
	leave_session(plan);
	if (!(plan->protections & SANDBOX_USER))
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (place_fds(payload))
		return "pass on the descriptors";
	if (chdir(plan->directory))
		return "enter the folder";
	if (limit_cpu(0, &plan->limits, 0))
		return "set the limits";
	return give_up_rights(plan, payload->ruleset);
}

static void
note_start(struct sandbox_plan *plan)
{
	plan->result.start_ns = sandbox_plan_now();
	plan->result.started = true;
}

static int
payload_main(void *arg)
{
	struct payload *payload = arg;
	struct sandbox_plan *plan = payload->plan;
	const char *failed = enter(payload);
	if (failed) {
		sandbox_plan_failed(plan, failed, NULL);
		_exit(PAYLOAD_FAILED);
	}
	note_start(plan);
	execve(plan->file, plan->argv, plan->envp);
	plan->result.started = false;
	sandbox_plan_failed(plan, "run", plan->file);
	_exit(PAYLOAD_FAILED);
}

/* A copy outside of the plan. */
static char **
copy_strings(char **strings)
{
	size_t count = 0;
	while (strings[count])
		count++;
	char **copy = xcalloc(count + 1, sizeof(*copy));
	for (size_t i = 0; i < count; i++)
		copy[i] = xstrdup(strings[i]);
	return copy;
}

static void
set_begun(struct sandbox_plan *plan)
{
	atomic_store(&plan->result.begun, 1);
	(void)syscall(SYS_futex, &plan->result.begun, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* A forked payload goes on in its program. failed: why it cannot; NULL: it can. */
static void __attribute__((noreturn))
go_on(struct sandbox_plan *plan, const struct sandbox_zygote *zygote, const char *failed)
{
	if (failed) {
		sandbox_plan_failed(plan, failed, NULL);
		set_begun(plan);
		_exit(PAYLOAD_FAILED);
	}
	char *file = xstrdup(plan->file), **argv = copy_strings(plan->argv), **envp = copy_strings(plan->envp);
	const char *slash = strrchr(file, '/');
	/* As an exec would do. */
	(void)prctl(PR_SET_NAME, slash ? slash + 1 : file, 0, 0, 0);
	(void)prctl(PR_SET_DUMPABLE, zygote->dumpable, 0, 0, 0);
	note_start(plan);
	set_begun(plan);
	sandbox_plan_unmap(plan);
	zygote->become(zygote->arg, file, argv, envp);
}

/* ---- prepared payloads ---- */

/* Takes the numbers that descriptors of a run may have, and closes all others but the socket, which gets its number. */
static int
hold_numbers(int socket, bool executes)
{
	int moved = fcntl(socket, F_DUPFD_CLOEXEC, SANDBOX_PREPARED_FD);
	int kept = moved >= 0 ? dup2(moved, SANDBOX_PREPARED_FD) : -1;
	if (kept < 0 || fcntl(kept, F_SETFD, executes ? 0 : FD_CLOEXEC))
		return -1;
	sandbox_payload_close_others(&kept, 1);
	for (int fd = 0; fd < SANDBOX_PREPARED_FD; fd++)
		if (open("/dev/null", O_RDWR) != fd)
			return -1;
	return 0;
}

static const char *
enter_ahead(struct sandbox_plan *plan, int socket, int ruleset, bool executes)
{
	leave_session(plan);
	const char *failed = give_up_rights(plan, ruleset);
	return failed || !hold_numbers(socket, executes) ? failed : "hold the numbers of descriptors";
}

static uint64_t
cpu_used(void)
{
	struct timespec used = {0};
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* Gives up its rights, opens the device, waits for the run and goes on. */
static void __attribute__((noreturn))
prepared_main(struct sandbox_plan *plan, int socket, int ruleset, const struct sandbox_zygote *zygote)
{
	int fds[PAYLOAD_FDS_MAX];
	size_t count = PAYLOAD_FDS_MAX;
	char byte = SANDBOX_PREPARED_READY;
	const char *failed = enter_ahead(plan, socket, ruleset, false);
	(void)prctl(PR_SET_DUMPABLE, zygote->dumpable, 0, 0, 0);
	if (failed)
		(void)sandbox_plan_failed(plan, failed, NULL);
	else if (!zygote->open || zygote->open(zygote->arg, plan->result.refused, sizeof(plan->result.refused)))
		failed = "open the device";
	struct rusage usage = {0};
	(void)getrusage(RUSAGE_CHILDREN, &usage);
	plan->result.opening_ns = sandbox_plan_used(&usage);
	if (failed || sandbox_message_send(SANDBOX_PREPARED_FD, &byte, 1, NULL, 0) ||
		sandbox_message_receive(SANDBOX_PREPARED_FD, &byte, 1, 0, fds, &count) != 1)
		_exit(PAYLOAD_FAILED);
	close(SANDBOX_PREPARED_FD);
	if (count != plan->fds_count || sandbox_prepared_take_places(plan->fd_targets, (uint32_t)plan->fds_count, fds))
		failed = "pass on the descriptors";
	else if (chdir(plan->directory))
		failed = "enter the folder";
	else if (limit_cpu(0, &plan->limits, cpu_used()))
		failed = "set the limits";
	go_on(plan, zygote, failed);
}

static int
prepared_program_main(void *arg)
{
	struct payload *payload = arg;
	struct sandbox_plan *plan = payload->plan;
	const char *failed = enter_ahead(plan, payload->fds[0], payload->ruleset, true);
	if (!failed) {
		execve(plan->file, plan->argv, plan->envp);
		failed = "run";
	}
	sandbox_plan_failed(plan, failed, NULL);
	_exit(PAYLOAD_FAILED);
}

int
sandbox_payload_open(
	struct sandbox_plan *plan, int ruleset, const struct sandbox_zygote *zygote, struct sandbox_parked_payload *parked)
{
	int pair[2];
	char byte = PAYLOAD_OPEN;
	if (zygote)
		return parked->pid > 0 ? sandbox_message_send(parked->socket, &byte, 1, &ruleset, ruleset >= 0) : -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return sandbox_plan_failed(plan, "create a socket", NULL);
	struct payload payload = {.plan = plan, .fds = &pair[1], .ruleset = ruleset};
	pid_t pid = clone(
		prepared_program_main, plan->payload_stack + SANDBOX_STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, &payload);
	close(pair[1]);
	*parked = (struct sandbox_parked_payload){pid, pair[0]};
	return pid < 0 || plan->result.failed[0] ? -1 : 0;
}

/* ---- parked payloads ---- */

/* Sends a parked or prepared payload its run: the descriptors, and behind them the ruleset if there is one. */
static int
send_run(int socket, const struct sandbox_plan *plan, const int *fds, int ruleset)
{
	char byte = PAYLOAD_RUN;
	int list[PAYLOAD_FDS_MAX];
	memcpy(list, fds, plan->fds_count * sizeof(*list));
	list[plan->fds_count] = ruleset;
	return sandbox_message_send(socket, &byte, 1, list, plan->fds_count + (ruleset >= 0));
}

static void __attribute__((noreturn))
parked_main(struct sandbox_plan *plan, int socket, const struct sandbox_zygote *zygote)
{
	int fds[PAYLOAD_FDS_MAX];
	struct payload payload = {.plan = plan, .fds = fds, .ruleset = -1};
	sandbox_payload_close_others(&socket, 1);
	zygote->park(zygote->arg, &plan->wanted);
	char byte;
	size_t count = PAYLOAD_FDS_MAX;
	if (sandbox_message_receive(socket, &byte, 1, 0, fds, &count) != 1)
		_exit(PAYLOAD_FAILED);
	if (byte == PAYLOAD_OPEN)
		prepared_main(plan, socket, count > 0 ? fds[0] : -1, zygote);
	if (count > plan->fds_count)
		payload.ruleset = fds[plan->fds_count];
	const char *failed = enter(&payload);
	if (payload.ruleset >= 0)
		close(payload.ruleset);
	go_on(plan, zygote, failed);
}

int
sandbox_payload_park(
	struct sandbox_plan *plan, const struct sandbox_zygote *zygote, struct sandbox_parked_payload *ret_parked)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return sandbox_plan_failed(plan, "create a socket", NULL);
	/* Not a raw clone, so that the handlers of pthread_atfork run. */
	pid_t pid = fork();
	if (pid == 0)
		parked_main(plan, pair[1], zygote);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return sandbox_plan_failed(plan, "start a process", NULL);
	}
	*ret_parked = (struct sandbox_parked_payload){pid, pair[0]};
	return 0;
}

static void
await_begun(struct sandbox_plan *plan, pid_t pid)
{
	const struct timespec look = {.tv_nsec = PAYLOAD_LOOK_NS};
	while (!atomic_load(&plan->result.begun)) {
		siginfo_t info = {0};
		(void)syscall(SYS_futex, &plan->result.begun, FUTEX_WAIT, 0, &look, NULL, 0);
		if (!waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == pid)
			return;
	}
}

pid_t
sandbox_payload_resume(struct sandbox_plan *plan, const int *fds, int ruleset, const struct sandbox_zygote *zygote,
	struct sandbox_parked_payload *parked)
{
	bool sent = parked->pid > 0 && send_run(parked->socket, plan, fds, ruleset) == 0;
	if (!sent) {
		close(parked->socket);
		*parked = (struct sandbox_parked_payload){.socket = -1};
		if (sandbox_payload_park(plan, zygote, parked))
			return -1;
		if (send_run(parked->socket, plan, fds, ruleset))
			return sandbox_plan_failed(plan, "pass on the descriptors", NULL);
	}
	await_begun(plan, parked->pid);
	return plan->result.started ? parked->pid : -1;
}

pid_t
sandbox_payload_resume_prepared(struct sandbox_plan *plan, const int *fds, size_t count,
	const struct sandbox_zygote *zygote, const struct sandbox_parked_payload *parked)
{
	char byte = PAYLOAD_RUN;
	if (zygote) {
		if (send_run(parked->socket, plan, fds, -1))
			return sandbox_plan_failed(plan, "pass on the descriptors", NULL);
		await_begun(plan, parked->pid);
	} else {
		if (limit_cpu(parked->pid, &plan->limits, plan->result.parked_ns))
			return sandbox_plan_failed(plan, "set the limits", NULL);
		if (sandbox_message_send(parked->socket, &byte, 1, fds, count))
			return sandbox_plan_failed(plan, "pass on the descriptors", NULL);
		ssize_t got;
		do
			got = recv(parked->socket, &byte, 1, 0);
		while (got < 0 && errno == EINTR);
		if (got == 1 && byte == SANDBOX_PREPARED_BEGINS)
			note_start(plan);
	}
	if (plan->result.started)
		return parked->pid;
	errno = ESRCH; /* it has ended */
	return sandbox_plan_failed(plan, "use a prepared process", NULL);
}

pid_t
sandbox_payload_start(struct sandbox_plan *plan, const int *fds, int ruleset)
{
	struct payload payload = {.plan = plan, .fds = fds, .ruleset = ruleset};
	pid_t pid =
		clone(payload_main, plan->payload_stack + SANDBOX_STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, &payload);
	if (pid < 0)
		return sandbox_plan_failed(plan, "start a process for", plan->file);
	return plan->result.started ? pid : -1;
}
