/* SPDX-License-Identifier: MIT */
/*
 * Gives up an interpreter's rights before it imports anything.
 *
 * Theory of operation. The interpreter keeps the machine's mounts, since the sandboxes of its copies show parts of
 * them, but read-only; later mounts of the machine reach it too. HOME and the other folders that it may write to are
 * in a tmpfs, which covers a folder that no import needs and no sandbox shows, so they leave nothing behind. The
 * namespaces belong to the machine's first user namespace, so no user id can regain the rights. Copies are made by
 * clone into a user namespace. Any user may make one where sandboxes work for ordinary users, but some security
 * modules decide by user and program, so `may_be_copied` tries it.
 */
#include <config.h>

#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#define CONFINE_PLACE "/dev/pts"
#define CONFINE_HOME CONFINE_PLACE "/home"
#define CONFINE_TMP CONFINE_PLACE "/tmp"
#define CONFINE_CACHE CONFINE_PLACE "/cache"
#define CONFINE_OPTIONS "mode=0755,size=1g,nr_inodes=65536" /* compilers' headers take 160 MB */
#define CONFINE_RECURSIVE 0x8000
#define CONFINE_RDONLY 0x1u
#define CONFINE_UID_BASE 700065536 /* above the ids of runs */
#define CONFINE_UID_COUNT 65536

struct confine_attr {
	uint64_t attr_set, attr_clr, propagation, userns_fd;
};

static int
make_folder(const char *path, uid_t uid)
{
	return mkdir(path, 0700) || chown(path, uid, uid);
}

/* Makes a mount writable again if it was writable before. */
static int
reopen(const char *path, const struct statvfs *before)
{
	struct confine_attr open = {.attr_clr = CONFINE_RDONLY};
	return before->f_flag & ST_RDONLY ? 0 : (int)syscall(SYS_mount_setattr, AT_FDCWD, path, 0, &open, sizeof(open));
}

static int
make_mounts(uid_t uid)
{
	struct confine_attr closed = {.attr_set = CONFINE_RDONLY};
	struct statvfs proc, dev;
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) || statvfs("/proc", &proc) || statvfs("/dev", &dev) ||
		syscall(SYS_mount_setattr, AT_FDCWD, "/", CONFINE_RECURSIVE, &closed, sizeof(closed)))
		return -1;
	/* A sandbox may mount a writable /proc only where one is visible, and shows /dev as it is mounted here. */
	if (reopen("/proc", &proc))
		return -1;
	(void)reopen("/dev", &dev); /* /dev may be a plain folder */
	return mount("tmpfs", CONFINE_PLACE, "tmpfs", MS_NOSUID | MS_NODEV, CONFINE_OPTIONS) ||
		   make_folder(CONFINE_HOME, uid) || make_folder(CONFINE_TMP, uid) || make_folder(CONFINE_CACHE, uid);
}

static int
drop_rights(uid_t uid)
{
	return setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid) ||
		   prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* Whether this process may make the namespaces and mounts with which a sandbox begins. */
static int
may_be_copied(void)
{
	int status = -1;
	pid_t pid = fork();
	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Whether this user can read the folders of PYTHONPATH: a folder above one may be closed to other users. */
static int
sees_path(void)
{
	char *path = getenv("PYTHONPATH"), *rest = path ? strdup(path) : NULL, *copy = rest;
	int sees = 1;
	for (const char *entry; rest && (entry = strsep(&rest, ":"));)
		sees = sees && (!*entry || access(entry, R_OK) == 0 || errno == ENOENT);
	free(copy);
	return sees;
}

void
confine_execute(char *const *argv)
{
	uid_t uid = CONFINE_UID_BASE + (uid_t)getpid() % CONFINE_UID_COUNT;
	if (unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) || make_mounts(uid) || drop_rights(uid) ||
		!may_be_copied() || !sees_path())
		return;
	if (setenv("HOME", CONFINE_HOME, 1) || setenv("TMPDIR", CONFINE_TMP, 1) ||
		setenv("KETTLE_WARM_CACHE", CONFINE_CACHE, 1))
		return;
	/* Interpreters ignore these signals; the executed one would inherit that. */
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGXFSZ, SIG_DFL);
	execv(argv[0], argv);
}
