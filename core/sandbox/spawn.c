/* SPDX-License-Identifier: MIT */
/* Makes inits: one clone of the owner or of a warm process into all namespaces, the id maps, the messages. */
#include <config.h>

#include "sandbox/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "sandbox/init.h"
#include "sandbox/message.h"
#include "sandbox/root.h"
#include "sandbox/zygote.h"

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
/*
 * Above what useradd gives out for users' own namespaces (SUB_UID_MAX is 600100000), below what a container of LXD has
 * (1000000000). A run has one of them as long as it lasts.
 */
#define SPAWN_UID_BASE 700000000
#define SPAWN_UID_COUNT 65536
#define SPAWN_END_MS 10000
#define SPAWN_WARM_MS 5000 /* time limit of a warm process for a clone */
#define SPAWN_OFF_MS 2000  /* time limit of init to kill the tree without a pid namespace */

static int
write_proc(pid_t pid, const char *name, const char *text)
{
	char path[64];
	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

static int
map_ids(const struct sandbox_spawn *how, struct sandbox_child *child)
{
	AUTO_BUF struct buf users = {0};
	AUTO_BUF struct buf groups = {0};
	if (how->protections & SANDBOX_OWN_UID) {
		child->uid = how->uid ? how->uid : SPAWN_UID_BASE + (uid_t)(child->pid % SPAWN_UID_COUNT);
		buf_printf(&users, "0 0 1\n%d %u 1\n", SANDBOX_ID, child->uid);
		buf_printf(&groups, "0 0 1\n%d %u 1\n", SANDBOX_ID, child->uid);
		for (size_t i = 0; i < how->groups_count; i++) {
			child->plan->groups[i] = (gid_t)(SANDBOX_ID + 1 + i);
			buf_printf(&groups, "%zu %u 1\n", SANDBOX_ID + 1 + i, how->groups[i]);
		}
		child->plan->groups_count = how->groups_count;
	} else {
		child->uid = geteuid();
		buf_printf(&users, "%d %u 1\n", SANDBOX_ID, geteuid());
		buf_printf(&groups, "%d %u 1\n", SANDBOX_ID, getegid());
		/* Else an ordinary user could drop a group that denies access. Absent before 3.19. */
		if (write_proc(child->pid, "setgroups", "deny") && errno != ENOENT)
			return -1;
	}
	return write_proc(child->pid, "uid_map", users.data) || write_proc(child->pid, "gid_map", groups.data);
}

static int
send_message(struct sandbox_child *child, enum sandbox_message message, int flags)
{
	char byte = (char)message;
	return send(child->control, &byte, 1, MSG_NOSIGNAL | flags) == 1 ? 0 : -1;
}

static int
make_cgroup(const struct sandbox_spawn *how, struct sandbox_child *child, struct kettle_error *err)
{
	if (!how->cgroup)
		return 0;
	int rc = sandbox_cgroup_make(how->cgroup, how->group, &child->cgroup, err);
	if (rc)
		return rc;
	child->has_cgroup = true;
	child->plan->cgroup_cpu = child->cgroup.cpu;
	child->plan->cgroup_oom = child->cgroup.oom;
	child->plan->cgroup_unified = child->cgroup.unified;
	child->plan->cgroup_memory = how->protections & SANDBOX_MEMORY_CGROUP;
	return 0;
}

/* gVisor has none, as of 2022: there a pipe, whose other end init alone keeps open, takes the place of its pidfd. */
static bool
has_pidfds(void)
{
	AUTO_FD int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	return fd >= 0 || errno != ENOSYS;
}

/* Clones the owner. */
static int
clone_self(struct sandbox_child *child, int theirs, struct kettle_error *err)
{
	static const int no_procs[SANDBOX_CG_COUNT] = {-1, -1, -1};
	int cgroup = child->has_cgroup && child->cgroup.unified ? child->cgroup.dir[SANDBOX_CG_MEMORY] : -1;
	int alive[2] = {-1, -1};
	bool pidfds = has_pidfds();
	if (!pidfds && pipe2(alive, O_CLOEXEC))
		return kettle_fail(err, KETTLE_EIO, "The sandbox cannot be prepared: %s.", strerror(errno));
	AUTO_FD int init_end = child->plan->alive = alive[1];
	child->pidfd = alive[0];
	child->pid = sandbox_init_clone(child->plan, cgroup, theirs,
		child->has_cgroup && cgroup < 0 ? child->cgroup.procs : no_procs, NULL, pidfds ? &child->pidfd : NULL);
	if (child->pid < 0)
		return kettle_fail(err, KETTLE_EUNAVAIL,
			"The sandbox cannot be started, because namespaces cannot be created: %s.", strerror(errno));
	return 0;
}

/* Requests a clone from a warm process. 0 or -1 with errno. */
static int
send_request(const struct sandbox_spawn *how, const struct sandbox_child *child, int theirs, int memory)
{
	struct sandbox_zygote_request request = {.plan = (uint64_t)(uintptr_t)child->plan};
	const struct sandbox_cgroup *cgroup = &child->cgroup;
	int fds[SANDBOX_ZYGOTE_FDS] = {memory, theirs, -1, -1, -1, -1, -1}, list[SANDBOX_ZYGOTE_FDS];
	size_t count = 0;
	if (child->has_cgroup) {
		/* Not its folder: a warm process may be of a user who may not start anything there. */
		memcpy(&fds[SANDBOX_ZYGOTE_PROCS], cgroup->procs, sizeof(cgroup->procs));
		fds[SANDBOX_ZYGOTE_CPU] = cgroup->cpu;
		fds[SANDBOX_ZYGOTE_OOM] = cgroup->oom;
	}
	for (unsigned i = 0; i < SANDBOX_ZYGOTE_FDS; i++)
		if (fds[i] >= 0) {
			request.present |= 1u << i;
			list[count++] = fds[i];
		}
	return sandbox_message_send(*how->warm, &request, sizeof(request), list, count);
}

/* False: none within SPAWN_WARM_MS. */
static bool
receive_answer(int socket, struct sandbox_zygote_answer *answer)
{
	struct pollfd fd = {.fd = socket, .events = POLLIN};
	int count;
	do
		count = poll(&fd, 1, SPAWN_WARM_MS);
	while (count < 0 && errno == EINTR);
	return count > 0 && recv(socket, answer, sizeof(*answer), MSG_DONTWAIT) == sizeof(*answer);
}

/* Clones a warm process; the clone is a child of this process. */
static int
clone_warm(
	const struct sandbox_spawn *how, struct sandbox_child *child, int theirs, int memory, struct kettle_error *err)
{
	struct sandbox_zygote_answer answer = {-1, ECONNRESET};
	bool answers = !send_request(how, child, theirs, memory) && receive_answer(*how->warm, &answer);
	child->pid = answers ? answer.pid : -1;
	if (child->pid > 0)
		child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	if (child->pid > 0 && child->pidfd >= 0)
		return 0;
	return kettle_fail(err, KETTLE_EUNAVAIL, "The warm process could not be copied: %s.",
		strerror(answer.pid > 0 ? errno : answer.error));
}

static int
clone_init(
	const struct sandbox_spawn *how, struct sandbox_child *child, int theirs, int memory, struct kettle_error *err)
{
	int rc = how->warm ? clone_warm(how, child, theirs, memory, err) : clone_self(child, theirs, err);
	if (rc)
		return rc;
	if (how->protections & SANDBOX_USER && map_ids(how, child))
		return kettle_fail(err, KETTLE_EUNAVAIL,
			"The sandbox cannot be started, because user ids cannot be mapped: %s.", strerror(errno));
	if (send_message(child, SANDBOX_MAPPED, 0))
		return kettle_fail(err, KETTLE_EIO, "The sandbox exited before it started: %s.", strerror(errno));
	return 0;
}

int
sandbox_spawn_child(const struct sandbox_spawn *how, struct sandbox_child *ret_child, struct kettle_error *err)
{
	struct sandbox_child child = {
		.pid = -1,
		.pidfd = -1,
		.control = -1,
	};
	AUTO_FD int memory = -1;
	child.plan = sandbox_plan_map(how->warm ? &memory : NULL);
	int pair[2] = {-1, -1};
	if (!child.plan || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		sandbox_spawn_end(&child);
		return kettle_fail(err, KETTLE_EIO, "The sandbox cannot be prepared: %s.", strerror(errno));
	}
	child.control = pair[0];
	AUTO_FD int theirs = pair[1];
	child.plan->protections = how->protections;
	child.plan->root_owner = how->protections & SANDBOX_OWN_UID;
	int rc = make_cgroup(how, &child, err);
	if (!rc && how->protections & SANDBOX_MOUNT)
		rc = sandbox_root_plan_base(child.plan, err);
	if (rc) {
		sandbox_spawn_end(&child);
		return rc;
	}
	rc = clone_init(how, &child, theirs, memory, err);
	if (rc)
		sandbox_spawn_end(&child);
	else
		*ret_child = child;
	return rc;
}

int
sandbox_spawn_open(struct sandbox_child *child, struct kettle_error *err)
{
	if (send_message(child, SANDBOX_OPEN, 0) == 0)
		return 0;
	return kettle_fail(err, KETTLE_EIO, "The sandbox exited before it started: %s.", strerror(errno));
}

int
sandbox_spawn_release(struct sandbox_child *child, int run, const struct sandbox_fd *fds, const int *keep, int usage,
	struct kettle_error *err)
{
	const struct sandbox_plan *plan = child->plan;
	int list[SANDBOX_MESSAGE_FDS];
	char message = SANDBOX_GO;
	size_t count = 0;
	if (run >= 0)
		list[count++] = run;
	for (size_t i = 0; i < plan->fds_count; i++)
		list[count++] = fds[i].fd;
	for (size_t i = 0; i < plan->keep_count; i++)
		list[count++] = keep[i];
	if (plan->grouped)
		list[count++] = usage;
	if (sandbox_message_send(child->control, &message, 1, list, count) == 0)
		return 0;
	return kettle_fail(err, errno == EBADF ? KETTLE_EINVAL : KETTLE_EIO,
		"The descriptors cannot be passed to the sandbox: %s.", strerror(errno));
}

int
sandbox_spawn_reap(struct sandbox_child *child, struct rusage *ret_usage)
{
	int status = 0;
	while (wait4(child->pid, &status, __WALL, ret_usage) < 0 && errno == EINTR)
		;
	child->pid = -1;
	return status;
}

static bool
ends_within(const struct sandbox_child *child, int ms)
{
	struct pollfd fd = {.fd = child->pidfd, .events = POLLIN};
	return poll(&fd, 1, ms) > 0;
}

void
sandbox_spawn_kill(const struct sandbox_child *child)
{
	/* Without pidfds its pid is safe to use: it was not reaped. */
	if (child->pid > 0 && syscall(SYS_pidfd_send_signal, child->pidfd, SIGKILL, NULL, 0) && errno != ESRCH)
		(void)kill(child->pid, SIGKILL);
}

static void
kill_child(struct sandbox_child *child)
{
	if (!(child->plan->protections & SANDBOX_PID) && !send_message(child, SANDBOX_KILL, MSG_DONTWAIT) &&
		ends_within(child, SPAWN_OFF_MS))
		return;
	sandbox_spawn_kill(child);
}

void
sandbox_spawn_end(struct sandbox_child *child)
{
	struct rusage usage;
	if (child->pid > 0) {
		if (!ends_within(child, 0))
			kill_child(child);
		if (ends_within(child, SPAWN_END_MS))
			(void)sandbox_spawn_reap(child, &usage);
	}
	if (child->has_cgroup)
		sandbox_cgroup_remove(&child->cgroup);
	if (child->pidfd >= 0)
		close(child->pidfd);
	if (child->control >= 0)
		close(child->control);
	sandbox_plan_unmap(child->plan);
	*child = (struct sandbox_child){.pid = -1, .pidfd = -1, .control = -1};
}
