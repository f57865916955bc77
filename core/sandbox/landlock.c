/* SPDX-License-Identifier: MIT */
/*
 * Landlock by raw system calls. The payload may read and execute everything, and write to the writable folders only;
 * the mounts enforce the same. The domain adds: no access to /proc/PID of init, no signals to it, no sockets of the
 * abstract namespace outside.
 */
#include <config.h>

#include "sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/root.h"

/* Defined here, since the headers of distributions are often older than their kernels. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#define LANDLOCK_VERSION_FLAG 1u
#define LANDLOCK_PATH_BENEATH 1
#define LANDLOCK_FS_EXECUTE (1ull << 0)
#define LANDLOCK_FS_WRITE_FILE (1ull << 1)
#define LANDLOCK_FS_READ_FILE (1ull << 2)
#define LANDLOCK_FS_READ_DIR (1ull << 3)
#define LANDLOCK_FS_MAKE_CHAR (1ull << 6)
#define LANDLOCK_FS_MAKE_BLOCK (1ull << 11)
#define LANDLOCK_FS_ABI1 ((1ull << 13) - 1)
#define LANDLOCK_FS_REFER (1ull << 13)           /* ABI 2 */
#define LANDLOCK_FS_TRUNCATE (1ull << 14)        /* ABI 3 */
#define LANDLOCK_FS_IOCTL_DEV (1ull << 15)       /* ABI 5 */
#define LANDLOCK_SCOPE_ABSTRACT_UNIX (1ull << 0) /* ABI 6 */
#define LANDLOCK_SCOPE_SIGNALS (1ull << 1)

struct landlock_ruleset {
	uint64_t fs, net, scoped;
};
struct landlock_path {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

int
sandbox_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION_FLAG);
	return abi > 0 ? (int)abi : 0;
}

static uint64_t
handled(int abi)
{
	uint64_t rights = LANDLOCK_FS_ABI1;
	rights |= abi >= 2 ? LANDLOCK_FS_REFER : 0;
	rights |= abi >= 3 ? LANDLOCK_FS_TRUNCATE : 0;
	rights |= abi >= 5 ? LANDLOCK_FS_IOCTL_DEV : 0;
	return rights;
}

static int
allow(int ruleset, const char *path, uint64_t rights)
{
	AUTO_FD int fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	struct landlock_path rule = {.allowed = rights, .parent_fd = fd};
	return (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_PATH_BENEATH, &rule, 0);
}

int
sandbox_landlock_ruleset(const struct sandbox_plan *plan, bool copied)
{
	int abi = sandbox_landlock_abi();
	uint64_t all = handled(abi), no_nodes = all & ~(LANDLOCK_FS_MAKE_CHAR | LANDLOCK_FS_MAKE_BLOCK);
	struct landlock_ruleset attr = {
		.fs = all, .scoped = abi >= 6 ? LANDLOCK_SCOPE_ABSTRACT_UNIX | LANDLOCK_SCOPE_SIGNALS : 0};
	size_t size = abi >= 6 ? sizeof(attr) : sizeof(attr.fs);
	AUTO_FD int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	if (ruleset < 0)
		return -1;
	uint64_t read = LANDLOCK_FS_EXECUTE | LANDLOCK_FS_READ_FILE | LANDLOCK_FS_READ_DIR;
	/* Device nodes are bound below /dev; programs write to them and use their ioctls. */
	uint64_t device = all & ~LANDLOCK_FS_ABI1 & ~LANDLOCK_FS_REFER;
	uint64_t node = LANDLOCK_FS_EXECUTE | LANDLOCK_FS_READ_FILE | LANDLOCK_FS_WRITE_FILE | device;
	bool polled = !(plan->protections & SANDBOX_MEMORY_CGROUP);
	int rc = allow(ruleset, "/", read);
	if (!rc)
		rc = allow(ruleset, "/dev", read | device);
	/* Its file lies outside of the root. */
	if (!rc && copied)
		rc = allow(ruleset, "/proc/self/exe", LANDLOCK_FS_EXECUTE | LANDLOCK_FS_READ_FILE);
	static const char *const writable[] = {SANDBOX_JOB "/out", ROOT_OUT, "/tmp", "/dev/shm", NULL};
	for (const char *const *path = writable; !rc && *path; path++)
		rc = allow(ruleset, *path, no_nodes);
	for (size_t i = 0; !rc && i < plan->ops_count; i++) {
		const struct sandbox_op *op = &plan->ops[i];
		if (op->kind == SANDBOX_OP_COPY || (op->kind == SANDBOX_OP_BIND && op->writable && !op->device))
			rc = allow(ruleset, op->target, no_nodes);
		else if (op->kind == SANDBOX_OP_BIND && op->device && !(polled && !strcmp(op->target, SANDBOX_ZERO)))
			rc = allow(ruleset, op->target, node);
		else if (op->kind == SANDBOX_OP_PROC_OWN)
			rc = allow(ruleset, op->target, read | (all & (LANDLOCK_FS_WRITE_FILE | LANDLOCK_FS_TRUNCATE)));
	}
	return rc ? -1 : STEAL_FD(ruleset);
}

int
sandbox_landlock_enter(int ruleset)
{
	return (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
}
