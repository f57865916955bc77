/* SPDX-License-Identifier: MIT */
/* The paths that a payload looks up: the filter that announces calls, and the owner's side of it. See record.h. */
#include <config.h>

#include "sandbox/record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "sandbox/message.h"
#include "sandbox/notify.h"

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif
#if defined(__x86_64__)
#define RECORD_NATIVE AUDIT_ARCH_X86_64
#else
#define RECORD_NATIVE AUDIT_ARCH_AARCH64
#endif
#define RECORD_CODE_MAX 128
#define RECORD_PAGE 4096u /* a string may end right before memory that is not there */
#define RECORD_NONE (-1)
#define RECORD_SET_FLAGS _IOW('!', 4, uint64_t) /* SECCOMP_IOCTL_NOTIF_SET_FLAGS */
#define RECORD_SYNC_WAKE_UP 1ul                 /* SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP */

/* The calls that look up a path, and where their arguments are. */
struct recorded_call {
	int nr;
	signed char folder, path, flags; /* RECORD_NONE: it has none */
	enum sandbox_look how;
};
static const struct recorded_call calls[] = {
	{SYS_openat, 0, 1, RECORD_NONE, SANDBOX_LOOK_OPEN},
	{SYS_openat2, 0, 1, RECORD_NONE, SANDBOX_LOOK_OPEN},
	{SYS_newfstatat, 0, 1, 3, SANDBOX_LOOK_AT},
	{SYS_statx, 0, 1, 2, SANDBOX_LOOK_AT},
	{SYS_faccessat, 0, 1, RECORD_NONE, SANDBOX_LOOK_AT},
	{SYS_faccessat2, 0, 1, 3, SANDBOX_LOOK_AT},
	{SYS_readlinkat, 0, 1, RECORD_NONE, SANDBOX_LOOK_LINK},
	{SYS_execve, RECORD_NONE, 0, RECORD_NONE, SANDBOX_LOOK_RUN},
	{SYS_execveat, 0, 1, 4, SANDBOX_LOOK_RUN},
	{SYS_chdir, RECORD_NONE, 0, RECORD_NONE, SANDBOX_LOOK_AT},
#ifdef SYS_open
	{SYS_open, RECORD_NONE, 0, RECORD_NONE, SANDBOX_LOOK_OPEN},
	{SYS_stat, RECORD_NONE, 0, RECORD_NONE, SANDBOX_LOOK_AT},
	{SYS_lstat, RECORD_NONE, 0, RECORD_NONE, SANDBOX_LOOK_LINK},
	{SYS_access, RECORD_NONE, 0, RECORD_NONE, SANDBOX_LOOK_AT},
	{SYS_readlink, RECORD_NONE, 0, RECORD_NONE, SANDBOX_LOOK_LINK},
#endif
};

/* Allocates nothing, as the payload may not. Little-endian: the low half of an argument comes first. */
static unsigned short
make_program(struct sock_filter *code)
{
	unsigned short len = 0;
#define EMIT(...) code[len++] = (struct sock_filter)__VA_ARGS__
	EMIT(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
	EMIT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RECORD_NATIVE, 1, 0));
	EMIT(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	EMIT(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		bool flags = calls[i].flags != RECORD_NONE;
		EMIT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i].nr, 0, flags ? 4 : 1));
		/* fstat comes as a call with an empty path. */
		if (flags) {
			size_t at = offsetof(struct seccomp_data, args) + (size_t)calls[i].flags * sizeof(uint64_t);
			EMIT(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)at));
			EMIT(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, AT_EMPTY_PATH, 0, 1));
			EMIT(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
		}
		EMIT(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
	}
	EMIT(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
#undef EMIT
	return len;
}

/* The listener, or -1 with errno. */
static int
install(void)
{
	struct sock_filter code[RECORD_CODE_MAX];
	const struct sock_fprog program = {.len = make_program(code), .filter = code};
	return sandbox_notify_install(&program);
}

bool
sandbox_record_works(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || install() < 0);
	int status = 1;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && status == 0;
}

int
sandbox_record_enter(int socket)
{
	char byte = 0;
	int listener = install();
	/* Without a listener the message tells the owner that the payload is not followed. */
	int rc = sandbox_message_send(socket, &byte, 1, &listener, listener >= 0);
	if (listener >= 0)
		close(listener);
	close(socket);
	return rc;
}

int
sandbox_record_accept(int socket)
{
	char byte;
	int listener = -1;
	size_t count = 1;
	int rc = sandbox_message_receive(socket, &byte, 1, 0, &listener, &count);
	if (rc == 1 && count == 1) {
		/* From Linux 6.6 on, two processes that wait for each other stay on one core, and a call takes a quarter of the time. */
		(void)ioctl(listener, RECORD_SET_FLAGS, RECORD_SYNC_WAKE_UP);
		return listener;
	}
	errno = rc == 1 ? EPERM : ECHILD;
	return -1;
}

static const struct recorded_call *
find_call(int nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].nr == nr)
			return &calls[i];
	return NULL;
}

/* 1: a path; 0: none, or one that is too long for the kernel too; -1 with errno. */
static int
read_path(pid_t pid, uint64_t address, char path[PATH_MAX])
{
	for (size_t have = 0; have < PATH_MAX;) {
		size_t part = RECORD_PAGE - (size_t)((address + have) % RECORD_PAGE);
		part = part < PATH_MAX - have ? part : PATH_MAX - have;
		struct iovec here = {path + have, part}, there = {(void *)(uintptr_t)(address + have), part};
		ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);
		if (got < 0)
			return errno == EFAULT || errno == ESRCH ? 0 : -1;
		if (got == 0)
			return 0;
		if (memchr(path + have, '\0', (size_t)got))
			return 1;
		have += (size_t)got;
	}
	return 0;
}

/* The folder from which a relative path begins; 0 or -1: there is none. */
static int
read_folder(pid_t pid, const struct recorded_call *call, const struct seccomp_data *data, char folder[PATH_MAX])
{
	char link[64];
	int fd = call->folder == RECORD_NONE ? AT_FDCWD : (int)data->args[call->folder];
	if (fd == AT_FDCWD)
		(void)snprintf(link, sizeof(link), "/proc/%d/cwd", (int)pid);
	else
		(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)pid, fd);
	ssize_t len = readlink(link, folder, PATH_MAX - 1);
	folder[len > 0 ? len : 0] = '\0';
	return folder[0] == '/' ? 0 : -1;
}

static enum sandbox_look
look_of(const struct recorded_call *call, const struct seccomp_data *data)
{
	bool link = call->flags != RECORD_NONE && data->args[call->flags] & AT_SYMLINK_NOFOLLOW;
	return link && call->how == SANDBOX_LOOK_AT ? SANDBOX_LOOK_LINK : call->how;
}

/* Whether the caller still waits: else its pid may be another's by now. */
static bool
is_waiting(int listener, uint64_t id)
{
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* The state of one call. */
struct recording {
	void (*look)(void *arg, enum sandbox_look how, const char *path);
	void *arg;
	int error; /* why the caller's memory cannot be read; 0: it can */
};

/* Every call continues. */
static int
look_up(void *arg, int listener, const struct seccomp_notif *notice)
{
	struct recording *recording = arg;
	char path[PATH_MAX], folder[PATH_MAX], whole[2 * PATH_MAX];
	pid_t pid = (pid_t)notice->pid;
	const struct recorded_call *call = find_call(notice->data.nr);
	if (!call)
		return 0;
	int rc = read_path(pid, notice->data.args[(int)call->path], path), error = errno;
	if (rc < 0 && is_waiting(listener, notice->id))
		recording->error = error;
	if (rc <= 0 || path[0] == '\0')
		return 0;
	bool relative = path[0] != '/';
	if (relative && read_folder(pid, call, &notice->data, folder) != 0)
		return 0;
	if (relative)
		(void)snprintf(whole, sizeof(whole), "%s/%s", folder, path);
	if (is_waiting(listener, notice->id))
		recording->look(recording->arg, look_of(call, &notice->data), relative ? whole : path);
	return 0;
}

int
sandbox_record_serve(int listener, void (*look)(void *arg, enum sandbox_look how, const char *path), void *arg)
{
	struct recording recording = {.look = look, .arg = arg};
	sandbox_notify_serve(listener, look_up, &recording);
	errno = recording.error;
	return recording.error ? -1 : 0;
}
