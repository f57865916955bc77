/* SPDX-License-Identifier: MIT */
#include <config.h>

#include "sandbox/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "sandbox/root.h"

#define PROC_FLAGS (MS_NOSUID | MS_NODEV | MS_NOEXEC)
#define PROC_NEUTRAL "/.neutral" /* a file that is shown below /proc */
#define PROC_CHUNK 4096

/* A second /proc, for init alone, since the payload's hides processes (hidepid). */
static int
open_proc(void)
{
#if defined(SYS_fsopen) && defined(SYS_fsmount)
	AUTO_FD int context = (int)syscall(SYS_fsopen, "proc", 1 /* FSOPEN_CLOEXEC */);
	if (context < 0 || syscall(SYS_fsconfig, context, 6 /* FSCONFIG_CMD_CREATE */, NULL, NULL, 0))
		return -1;
	AUTO_FD int mounted =
		(int)syscall(SYS_fsmount, context, 1 /* FSMOUNT_CLOEXEC */, ROOT_ATTR_NOSUID | ROOT_ATTR_NODEV);
	return mounted < 0 ? -1 : openat(mounted, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
#else
	errno = ENOSYS;
	return -1;
#endif
}

/* Writes /proc/stat with all counts but the time of the start (btime) as zeros. */
static int
write_idle_stat(int in, int out)
{
	char text[PROC_CHUNK], zeros[PROC_CHUNK];
	bool first = true, named = true;  /* at the first character of a line, in its first word */
	bool kept = false, digit = false; /* in the line of `btime`, behind a digit */
	ssize_t size;
	while ((size = read(in, text, sizeof(text))) > 0) {
		size_t len = 0;
		for (ssize_t i = 0; i < size; i++) {
			bool end = text[i] == '\n';
			kept = !end && (kept || (first && text[i] == 'b'));
			named = end || (named && text[i] != ' ');
			first = end;
			bool number = !named && !kept && text[i] >= '0' && text[i] <= '9';
			if (!number || !digit)
				zeros[len++] = number ? '0' : text[i];
			digit = number;
		}
		if (write(out, zeros, len) != (ssize_t)len)
			return -1;
	}
	return size < 0 ? -1 : 0;
}

/* Writes /proc/uptime as of now, without the time for which cores were idle. */
static int
write_uptime(int in, int out)
{
	char text[64];
	ssize_t size = read(in, text, sizeof(text));
	const char *blank = size > 0 ? memchr(text, ' ', (size_t)size) : NULL;
	if (!blank || write(out, text, (size_t)(blank - text)) != blank - text)
		return -1;
	return write(out, " 0.00\n", 6) == 6 ? 0 : -1;
}

/* Files that programs read and need: those of a machine on which nothing runs. */
static void
neutralize_proc(void)
{
	static const char load[] = "0.00 0.00 0.00 1/1 1\n";
	static const char pressure[] = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
								   "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
	static const struct {
		const char *path, *text;
		int (*write)(int in, int out); /* without a text */
	} files[] = {{"/proc/loadavg", load, NULL}, {"/proc/pressure/cpu", pressure, NULL},
		{"/proc/pressure/io", pressure, NULL}, {"/proc/pressure/irq", pressure, NULL},
		{"/proc/pressure/memory", pressure, NULL}, {"/proc/stat", NULL, write_idle_stat},
		{"/proc/uptime", NULL, write_uptime}};
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *text = files[i].text;
		AUTO_FD int in = open(files[i].path, O_RDONLY | O_CLOEXEC);
		if (in < 0)
			continue;
		AUTO_FD int out = open(PROC_NEUTRAL, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
		bool written = text ? write(out, text, strlen(text)) > 0 : files[i].write(in, out) == 0;
		if (written && mount(PROC_NEUTRAL, files[i].path, NULL, MS_BIND, NULL) == 0)
			(void)mount(NULL, files[i].path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | PROC_FLAGS, NULL);
		(void)unlink(PROC_NEUTRAL);
	}
}

/*
 * Hides the files about how the machine was started, where its kernel lies, and what others do on it from moment to
 * moment, behind empty ones. A file that cannot be covered stays: a kernel lacks some, a container may have covered or
 * closed others, and their contents are no reason to refuse every run.
 */
static void
mask_proc(void)
{
	static const char *const masked[] = {"/proc/buddyinfo", "/proc/cmdline", "/proc/config.gz", "/proc/diskstats",
		"/proc/interrupts", "/proc/kallsyms", "/proc/key-users", "/proc/keys", "/proc/locks", "/proc/sched_debug",
		"/proc/schedstat", "/proc/softirqs", "/proc/sys/fs/aio-nr", "/proc/sys/fs/dentry-state", "/proc/sys/fs/file-nr",
		"/proc/sys/fs/inode-nr", "/proc/sys/fs/inode-state", "/proc/vmstat", "/proc/zoneinfo"};
	for (size_t i = 0; i < ARRAY_SIZE(masked); i++)
		(void)mount(ROOT_OLD "/dev/null", masked[i], NULL, MS_BIND, NULL);
	neutralize_proc();
}

/* The mount is read-only, not the file system, so that sandbox_proc_open_own can undo it. */
int
sandbox_proc_mount(const char *target, int *ret_proc)
{
	int proc = open_proc();
	if (((proc < 0 || mount("proc", target, "proc", PROC_FLAGS, "hidepid=ptraceable")) &&
			mount("proc", target, "proc", PROC_FLAGS, NULL)) ||
		mount(NULL, target, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | PROC_FLAGS, NULL)) {
		if (proc >= 0)
			close(proc);
		return -1;
	}
	mask_proc();
	*ret_proc = proc >= 0 ? proc : open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return 0;
}

/*
 * CUDA opens /proc/self/task/TID/comm with O_TRUNC to name its threads; if that fails, it does not initialise (error
 * 304). The files about the machine stay read-only. The others belong to the payload's processes, and the kernel checks
 * access to them as in system calls.
 */
int
sandbox_proc_open_own(const char *target)
{
	static const char *const machine[] = {
		"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/driver", "/proc/acpi"};
	for (size_t i = 0; i < ARRAY_SIZE(machine); i++) {
		if (mount(machine[i], machine[i], NULL, MS_BIND | MS_REC, NULL)) {
			if (errno == ENOENT)
				continue;
			return -1;
		}
		if (mount(NULL, machine[i], NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | PROC_FLAGS, NULL))
			return -1;
	}
	return mount(NULL, target, NULL, MS_REMOUNT | MS_BIND | PROC_FLAGS, NULL);
}
