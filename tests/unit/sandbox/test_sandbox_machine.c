/* SPDX-License-Identifier: MIT */
/* Machines that lack something, and what a sandbox makes of it. */
#include <config.h>

#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fuse.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "unit/scratch.h"
#include "unit/sandbox/sandbox_fixture.h"

/* From now on single files cannot be mounted on, as where a security module forbids it: only those of /proc are. */
static int
refuse_covering(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mount, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MS_BIND, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = ARRAY_SIZE(code), .filter = code};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

/* In a child, which no assertion may leave: 0 if a run starts and passes. */
static int
run_in_child(struct fixture *fixture)
{
	const char *const argv[] = {FIXTURE_PROBE, "exit", "0", NULL};
	struct kettle_error err = {0};
	struct sandbox_report report = {0};
	struct sandbox_machine *machine = NULL;
	struct sandbox *sandbox = NULL;
	fixture->config.argv = argv;
	int rc = refuse_covering() ? -1 : sandbox_machine_new(NULL, &machine, &err);
	fixture->config.machine = machine;
	if (!rc)
		rc = sandbox_start(&fixture->config, &sandbox, &err);
	if (!rc)
		rc = sandbox_wait(sandbox, &report, &err);
	if (rc || !report.started || report.exit_status != 0)
		(void)printf("# %s%s\n", err.message, report.message);
	return rc || !report.started || report.exit_status != 0;
}

/* A file of /proc that cannot be covered is no reason to run nothing. */
static void
test_uncovered_files(void **state)
{
	int status = -1;
	(void)fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		int failed = run_in_child(*state);
		(void)fflush(stdout);
		_exit(failed);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A nice value counts within a session only, where the kernel shares CPU time out among sessions. */
static void
test_autogroup(void **state)
{
	struct fixture *fixture = *state;
	AUTO_FREE char *enabled = NULL;
	size_t size = 0;
	struct sandbox_machine *machine = NULL;
	if (file_read("/proc/sys/kernel/sched_autogroup_enabled", 16, &enabled, &size, NULL) != 0 || enabled[0] != '1') {
		print_message("# this kernel has no autogroups\n");
		return;
	}
	/* Without cgroups, whose weights would do the same. */
	assert_int_equal(sandbox_machine_new(NULL, &machine, NULL), 0);
	fixture->config.machine = machine;
	fixture->config.nice = 10;
	for (int i = 0; i < 4; i++) {
		fixture->text[0] = '\0';
		FIXTURE_RUN(fixture, "sessions");
		const char *new = strstr(fixture->text, "new=");
		assert_non_null(new);
		assert_non_null(strstr(new, " nice 10\n"));
		assert_true(strstr(fixture->text, " nice 10\n") < new);
	}
	/* What is not a build keeps its own share. */
	fixture->config.nice = 0;
	fixture->text[0] = '\0';
	FIXTURE_RUN(fixture, "sessions");
	assert_not_said(fixture, " nice 10\n");
	sandbox_free(STEAL(fixture->sandbox));
	sandbox_machine_free(machine);
}

static const char *const cgroup_files[] = {
	"memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.max", "cpu.weight.nice", "io.max"};

/* Writes limits to a folder with the files of a cgroup, those before `count`. */
static bool
limit(const char *dir, size_t count, const struct sandbox_cgroup_limits *limits)
{
	struct sandbox_cgroup cgroup = {.unified = true, .dir = {-1, -1, -1}, .procs = {-1, -1, -1}, .oom = -1, .cpu = -1};
	struct kettle_error err = {0};
	bool weighed = false;
	for (size_t i = 0; i < count; i++)
		free(scratch_write(dir, cgroup_files[i], ""));
	cgroup.dir[SANDBOX_CG_MEMORY] = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (sandbox_cgroup_limit(&cgroup, limits, &weighed, &err))
		fail_msg("%s", err.message);
	close(cgroup.dir[SANDBOX_CG_MEMORY]);
	return weighed;
}

static void
assert_file(const char *dir, const char *name, const char *wanted)
{
	AUTO_FREE char *path = path_join(dir, name);
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	assert_int_equal(file_read(path, 4096, &text, &size, NULL), 0);
	assert_string_equal(text, wanted);
}

/* A cgroup gets what its controllers can limit, and works without those that it may lack. */
static void
test_cgroup_limits(void **state)
{
	char *dir = scratch_make(), disk[64] = "", wanted[256];
	struct stat st;
	(void)state;
	assert_int_equal(stat("/usr", &st), 0);
	dev_t disks[] = {makedev(0, 5), st.st_dev};
	struct sandbox_cgroup_limits limits = {.memory = 5000,
		.processes = 7,
		.nice = 10,
		.cores = 3,
		.io_bytes = 900,
		.io_operations = 80,
		.disks = disks,
		.disks_count = 2};
	assert_false(limit(dir, 4, &limits));
	assert_file(dir, "memory.max", "5000");
	assert_file(dir, "pids.max", "8");
	assert_true(limit(dir, ARRAY_SIZE(cgroup_files), &limits));
	assert_file(dir, "cpu.max", "300000 100000");
	assert_file(dir, "cpu.weight.nice", "10");
	AUTO_FREE char *io = path_join(dir, "io.max");
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	assert_int_equal(file_read(io, 4096, &text, &size, NULL), 0);
	if (major(st.st_dev) == 0) {
		assert_string_equal(text, "");
	} else {
		(void)sscanf(text, "%63s", disk);
		(void)snprintf(wanted, sizeof(wanted), "%s rbps=900 wbps=900 riops=80 wiops=80", disk);
		assert_string_equal(text, wanted);
		/* Of a partition it is the disk's number. */
		(void)snprintf(wanted, sizeof(wanted), "/sys/dev/block/%s/partition", disk);
		assert_int_not_equal(access(wanted, F_OK), 0);
	}
	/* What is timed has the whole of its cores. */
	assert_false(limit(dir, ARRAY_SIZE(cgroup_files), &(struct sandbox_cgroup_limits){.memory = 1}));
	assert_file(dir, "cpu.max", "");
	assert_file(dir, "cpu.weight.nice", "");
	assert_file(dir, "io.max", "");
	scratch_remove(dir);
}

/* Files that programs read show a machine on which nothing runs, as many cores as it has, and when it started. */
static void
test_idle(void **state)
{
	static const char *const paths[] = {
		"/proc/pressure/cpu", "/proc/pressure/io", "/proc/pressure/irq", "/proc/pressure/memory"};
	struct fixture *fixture = *state;
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	FIXTURE_RUN(fixture, "show", "/proc/loadavg");
	assert_string_equal(fixture->text, "0.00 0.00 0.00 1/1 1\n");
	fixture->text[0] = '\0';
	FIXTURE_RUN(fixture, "show", "/proc/uptime");
	assert_said(fixture, " 0.00\n");
	assert_true(strtod(fixture->text, NULL) > 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		fixture->text[0] = '\0';
		FIXTURE_RUN(fixture, "show", paths[i]);
		const char *total = strstr(fixture->text, "total=");
		assert_true(fixture->report.exit_status == 1 || (total && strncmp(total, "total=0\n", 8) == 0));
	}
	fixture->text[0] = '\0';
	FIXTURE_RUN(fixture, "show", "/proc/stat");
	assert_said(fixture, "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0");
	assert_int_equal(file_read("/proc/stat", 1 << 20, &text, &size, NULL), 0);
	const char *start = strstr(text, "btime ");
	assert_non_null(start);
	text[start - text + (ptrdiff_t)strcspn(start, "\n") + 1] = '\0';
	assert_said(fixture, start);
	FIXTURE_RUN(fixture, "sizes", "/proc/sys/fs/file-nr", "/proc/sys/fs/dentry-state", "/proc/sched_debug");
	assert_not_said(fixture, "=1\n");
	FIXTURE_RUN(fixture, "try-write", "/proc/stat", "/proc/loadavg");
	assert_not_said(fixture, "=ok\n");
}

/* Whether the run got all locks on a file, and held them. */
static bool
has_locked(const struct fixture *fixture, const char *path)
{
	char all[256];
	(void)snprintf(all, sizeof(all), "%s flock=ok\n%s again=EAGAIN\n%s posix=ok\n%s ofd=ok\n", path, path, path, path);
	return strstr(fixture->text, all);
}

/* A file of the machine with every lock on it. */
static int
lock_file(const char *path)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
	return fd;
}

/* A folder, a single file and the job's folder, all with a locked file, besides /usr. */
static void
show_locked(struct fixture *fixture, int locked[3])
{
	static char folder[128], file[160], job[160];
	(void)snprintf(folder, sizeof(folder), "%s/locked", fixture->folder);
	(void)snprintf(file, sizeof(file), "%s/x", folder);
	(void)snprintf(job, sizeof(job), "%s/x", fixture->job);
	assert_int_equal(mkdir(folder, 0755), 0);
	fixture_put_file(folder, "x", "x", 0644);
	fixture_put_file(folder, "y", "y", 0644);
	fixture_put_file(fixture->job, "x", "x", 0644);
	locked[0] = lock_file(file);
	locked[1] = lock_file(job);
	file[strlen(file) - 1] = 'y';
	locked[2] = lock_file(file);
	fixture->binds[1] = (struct sandbox_bind){.source = folder, .target = "/a"};
	fixture->binds[2] = (struct sandbox_bind){.source = file, .target = "/b/y"};
	fixture->config.binds_count = 3;
}

static void
remove_locked(const struct fixture *fixture, const int locked[3])
{
	char folder[128];
	for (size_t i = 0; i < 3; i++)
		close(locked[i]);
	(void)snprintf(folder, sizeof(folder), "%s/locked", fixture->folder);
	assert_int_equal(file_remove_tree(folder, NULL), 0);
}

/* Locks inside and outside, and of two runs, do not see each other; those of one run do. */
static void
test_locks(void **state)
{
	static const char *const paths[] = {"/usr/bin/env", "/a/x", "/b/y", "/job/x", "/etc/ld.so.cache", "/tmp/x"};
	struct fixture *fixture = *state;
	int locked[3];
	if (!(sandbox_machine_protections(fixture->machine) & SANDBOX_LOCKS))
		skip();
	show_locked(fixture, locked);
	AUTO_FD int shared = open("/usr/bin/env", O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(shared, LOCK_SH | LOCK_NB), 0);
	FIXTURE_START(fixture, "lock", "/usr/bin/env", "/a/x", "/b/y", "/job/x", "/etc/ld.so.cache", "hold");
	fixture_await(fixture, "held\n");
	struct sandbox *first = STEAL(fixture->sandbox);
	fixture->text[0] = '\0';
	fixture_put_file(fixture->job, "run",
		"#!/bin/sh\n>/tmp/x\nexec " FIXTURE_PROBE " lock /usr/bin/env /a/x /b/y /job/x /etc/ld.so.cache /tmp/x\n",
		0755);
	fixture->config.file = "./run";
	FIXTURE_RUN(fixture, "run");
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (!has_locked(fixture, paths[i]))
			fail_msg("%s: %s", paths[i], fixture->text);
	assert_true(fixture->report.protections & SANDBOX_LOCKS);
	sandbox_free(first);
	remove_locked(fixture, locked);
}

/* Where overlays cannot be mounted, the report says so. */
static void
test_locks_shared(void **state)
{
	struct fixture *fixture = *state;
	int locked[3];
	sandbox_machine_disable(fixture->machine, SANDBOX_LOCKS);
	show_locked(fixture, locked);
	FIXTURE_RUN(fixture, "lock", "/a/x", "/b/y");
	assert_said(fixture, "/a/x flock=EAGAIN\n");
	assert_said(fixture, "/b/y flock=EAGAIN\n");
	assert_int_equal(fixture->report.protections & SANDBOX_LOCKS, 0);
	remove_locked(fixture, locked);
}

static const char *
path_here(const char *folder, const char *name)
{
	static char path[240];
	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* A folder beside the fixture's, of which a single file is shown, too, with a locked file in a folder `beside`. */
struct mounts {
	char folder[96];
	int locked;
};

static struct mounts
make_mounts(const struct fixture *fixture)
{
	struct mounts mounts;
	(void)snprintf(mounts.folder, sizeof(mounts.folder), "%.80s-mounts", fixture->folder);
	assert_int_equal(unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_int_equal(mkdir(mounts.folder, 0755) || mkdir(path_here(mounts.folder, "beside"), 0755), 0);
	fixture_put_file(path_here(mounts.folder, "beside"), "x", "x", 0644);
	mounts.locked = lock_file(path_here(mounts.folder, "beside/x"));
	return mounts;
}

static void
show_mounts(struct fixture *fixture, const struct mounts *mounts)
{
	fixture->binds[1] = (struct sandbox_bind){.source = mounts->folder, .target = "/a"};
	fixture->config.binds_count = 2;
}

static void
remove_mounts(const struct mounts *mounts, const char *name)
{
	close(mounts->locked);
	assert_int_equal(umount2(path_here(mounts->folder, name), MNT_DETACH), 0);
	assert_int_equal(file_remove_tree(mounts->folder, NULL), 0);
}

/* What is mounted below a folder is shown, and all of it apart from its locks, but not where a file lies beside. */
static void
test_mounts_below(void **state)
{
	struct fixture *fixture = *state;
	unsigned locks = sandbox_machine_protections(fixture->machine) & SANDBOX_LOCKS;
	if (fixture_is_user())
		return; /* it cannot mount anything */
	struct mounts mounts = make_mounts(fixture);
	char deep[128], below[160];
	(void)snprintf(deep, sizeof(deep), "%s/deep", mounts.folder);
	(void)snprintf(below, sizeof(below), "%s/be low", deep);
	assert_int_equal(mkdir(deep, 0755) || mkdir(below, 0755), 0);
	assert_int_equal(symlink("beside/x", path_here(mounts.folder, "link")), 0);
	assert_int_equal(mount("tmpfs", below, "tmpfs", 0, "mode=0755"), 0);
	fixture_put_file(below, "x", "x", 0644);
	AUTO_FD int locked = lock_file(path_here(below, "x"));
	show_mounts(fixture, &mounts);
	FIXTURE_RUN(fixture, "lock", "/a/deep/be low/x", "/a/link");
	assert_said(fixture, locks ? "/a/deep/be low/x flock=ok\n" : "/a/deep/be low/x flock=EAGAIN\n");
	assert_said(fixture, locks ? "/a/link flock=ok\n" : "/a/link flock=EAGAIN\n");
	assert_int_equal(fixture->report.protections & SANDBOX_LOCKS, locks);
	/* Folders with a file are shown as they are, and no others. */
	fixture_put_file(deep, "file", "x", 0644);
	FIXTURE_RUN(fixture, "lock", "/a/deep/be low/x", "/a/beside/x");
	assert_said(fixture, "/a/deep/be low/x flock=EAGAIN\n");
	assert_said(fixture, locks ? "/a/beside/x flock=ok\n" : "/a/beside/x flock=EAGAIN\n");
	assert_int_equal(fixture->report.protections & SANDBOX_LOCKS, 0);
	fixture_put_file(mounts.folder, "file", "in a folder that is shown as it is", 0644);
	FIXTURE_RUN(fixture, "show", "/a/file");
	assert_said(fixture, "in a folder that is shown as it is");
	FIXTURE_RUN(fixture, "try-read", "/a/deep/be low/x");
	assert_said(fixture, "/a/deep/be low/x=ok\n");
	assert_int_equal(fixture->report.protections & SANDBOX_LOCKS, 0);
	remove_mounts(&mounts, "deep/be low");
}

/* Begins a file system as its server would, then says 1 to `said` when a process looks at it, which gets an error. */
static void
serve(int device, int said)
{
	union {
		struct fuse_in_header in;
		char bytes[FUSE_MIN_READ_BUFFER + 4096];
	} request;
	while (read(device, &request, sizeof(request)) > 0 && request.in.opcode == FUSE_INIT) {
		struct {
			struct fuse_out_header head;
			struct fuse_init_out init;
		} answer = {.head = {.len = sizeof(answer), .unique = request.in.unique},
			.init = {.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_write = 4096}};
		if (write(device, &answer, sizeof(answer)) != sizeof(answer) || write(said, "0", 1) != 1)
			break;
	}
	_exit(write(said, "1", 1) != 1);
}

/* Mounts a server's file system, whose server is a child; -1: this machine has none. *ret_said: what the child says. */
static pid_t
mount_remote(const char *path, int *ret_said)
{
	char options[80], first = 0;
	int said[2];
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	(void)snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	if (device < 0 || mount("remote", path, "fuse", 0, options))
		return -1;
	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	pid_t child = fork();
	if (child == 0)
		serve(device, said[1]);
	close(device);
	close(said[1]);
	assert_int_equal(read(said[0], &first, 1) == 1 && first == '0', 1);
	*ret_said = said[0];
	return child;
}

/* A server's file system is not looked at, since it may not answer; the folder around it is shown as it is. */
static void
test_remote_below(void **state)
{
	struct fixture *fixture = *state;
	int said = -1, status = 0;
	char looked = 0;
	if (fixture_is_user())
		return; /* it cannot mount anything */
	struct mounts mounts = make_mounts(fixture);
	assert_int_equal(mkdir(path_here(mounts.folder, "remote"), 0755), 0);
	pid_t server = mount_remote(path_here(mounts.folder, "remote"), &said);
	if (server < 0) {
		assert_int_equal(file_remove_tree(mounts.folder, NULL), 0);
		skip();
	}
	show_mounts(fixture, &mounts);
	FIXTURE_RUN(fixture, "lock", "/a/beside/x");
	assert_int_equal(kill(server, SIGKILL), 0);
	assert_int_equal(waitpid(server, &status, 0), server);
	assert_int_equal(read(said, &looked, 1), 0);
	assert_said(fixture, "/a/beside/x flock=EAGAIN\n");
	assert_int_equal(fixture->report.protections & SANDBOX_LOCKS, 0);
	close(said);
	remove_mounts(&mounts, "remote");
}

static const struct CMUnitTest tests[] = {
	FIXTURE_TEST(test_locks), FIXTURE_TEST(test_mounts_below), FIXTURE_TEST(test_remote_below), FIXTURE_TEST(test_idle),
	FIXTURE_TEST(test_uncovered_files), FIXTURE_TEST(test_autogroup), FIXTURE_TEST(test_cgroup_limits),
	FIXTURE_TEST(test_locks_shared), /* last: it takes the protection from the machine that all share */
};

SANDBOX_TESTS(test_sandbox_machine);
