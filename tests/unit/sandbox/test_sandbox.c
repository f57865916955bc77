/* SPDX-License-Identifier: MIT */
/* What a payload sees and may do, and that nothing of it is left. */
#include <config.h>

#include "sandbox/sandbox.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "unit/sandbox/sandbox_fixture.h"

/* Starting and ending */

static void
test_exit_status(void **state)
{
	struct fixture *fixture = *state;
	FIXTURE_RUN(fixture, "exit", "0");
	assert_true(fixture->report.started);
	assert_int_equal(fixture->report.exit_status, 0);
	assert_int_equal(fixture->report.signal, 0);
	assert_int_equal(fixture->report.limit, SANDBOX_LIMIT_NONE);
	assert_int_equal(fixture->report.left_behind, 0);
	assert_string_equal(fixture->report.message, "");
	assert_true(fixture->report.start_ns < fixture->report.end_ns);
	assert_true(fixture->report.memory_peak > 0);
	FIXTURE_RUN(fixture, "exit", "37");
	assert_int_equal(fixture->report.exit_status, 37);
}

static void
test_signal(void **state)
{
	struct fixture *fixture = *state;
	FIXTURE_RUN(fixture, "abort");
	assert_int_equal(fixture->report.exit_status, -1);
	assert_int_equal(fixture->report.signal, SIGABRT);
	assert_int_equal(fixture->report.limit, SANDBOX_LIMIT_NONE);
}

static void
test_missing_program(void **state)
{
	struct fixture *fixture = *state;
	fixture->config.file = "./not-there";
	FIXTURE_RUN(fixture, "exit");
	assert_false(fixture->report.started);
	assert_non_null(strstr(fixture->report.message, "not-there"));
	assert_non_null(strstr(fixture->report.message, "No such file"));
	fixture->config.file = "/etc/passwd";
	FIXTURE_RUN(fixture, "exit");
	assert_false(fixture->report.started);
	assert_non_null(strstr(fixture->report.message, "Permission denied"));
}

static void
test_missing_folder(void **state)
{
	struct fixture *fixture = *state;
	struct kettle_error err = {0};
	struct sandbox *sandbox = NULL;
	const char *const argv[] = {"x", NULL};
	fixture->config.job_dir = "/not/there";
	fixture->config.argv = argv;
	assert_int_equal(sandbox_start(&fixture->config, &sandbox, &err), KETTLE_ENOENT);
	assert_non_null(strstr(err.message, "/not/there"));
	fixture->config.job_dir = fixture->job;
	fixture->binds[1] = (struct sandbox_bind){.source = "/not/there/either"};
	fixture->config.binds_count = 2;
	assert_int_equal(sandbox_start(&fixture->config, &sandbox, &err), KETTLE_ENOENT);
	fixture->binds[1].optional = true;
	FIXTURE_RUN(fixture, "exit", "0");
	assert_int_equal(fixture->report.exit_status, 0);
}

static void
test_bad_config(void **state)
{
	struct fixture *fixture = *state;
	struct kettle_error err = {0};
	struct sandbox *sandbox = NULL;
	const char *const argv[] = {"x", NULL}, *const empty[] = {NULL};
	fixture->config.argv = empty;
	assert_int_equal(sandbox_start(&fixture->config, &sandbox, &err), KETTLE_EINVAL);
	fixture->config.argv = argv;
	fixture->config.fds_count = 2;
	assert_int_equal(sandbox_start(&fixture->config, &sandbox, &err), KETTLE_EINVAL);
	fixture->config.fds_count = 4;
	fixture->fds[3] = (struct sandbox_fd){0, 2};
	assert_int_equal(sandbox_start(&fixture->config, &sandbox, &err), KETTLE_EINVAL);
	fixture->fds[3] = (struct sandbox_fd){0, SANDBOX_TARGET_MAX + 1};
	assert_int_equal(sandbox_start(&fixture->config, &sandbox, &err), KETTLE_EINVAL);
	fixture->fds[3] = (struct sandbox_fd){-1, 9};
	assert_int_equal(sandbox_start(&fixture->config, &sandbox, &err), KETTLE_EINVAL);
	fixture->config.fds_count = 3;
	const int cores[] = {-1};
	fixture->config.cores = cores;
	fixture->config.cores_count = 1;
	assert_int_equal(sandbox_start(&fixture->config, &sandbox, &err), KETTLE_EINVAL);
	fixture->config.cores = NULL;
	fixture->binds[1] = (struct sandbox_bind){.source = "relative"};
	fixture->config.binds_count = 2;
	assert_int_equal(sandbox_start(&fixture->config, &sandbox, &err), KETTLE_EINVAL);
	assert_null(sandbox);
}

static void
test_big_arguments(void **state)
{
	struct fixture *fixture = *state;
	struct kettle_error err = {0};
	struct sandbox *sandbox = NULL;
	char *big = malloc(SANDBOX_TEXT_MAX);
	assert_non_null(big);
	memset(big, 'x', SANDBOX_TEXT_MAX - 1);
	big[SANDBOX_TEXT_MAX - 1] = '\0';
	const char *const argv[] = {"x", big, NULL};
	fixture->config.argv = argv;
	assert_int_equal(sandbox_start(&fixture->config, &sandbox, &err), KETTLE_ETOOBIG);
	/* What fits the plan, but not the kernel's own limit of one argument. */
	big[200000] = '\0';
	FIXTURE_RUN(fixture, "exit", big);
	assert_false(fixture->report.started);
	assert_non_null(strstr(fixture->report.message, "too long"));
	free(big);
}

static void
test_spare(void **state)
{
	struct fixture *fixture = *state;
	for (int i = 0; i < 3; i++) {
		sandbox_machine_prepare(fixture->machine);
		FIXTURE_RUN(fixture, "exit", "5");
		assert_int_equal(fixture->report.exit_status, 5);
	}
	sandbox_machine_prepare(fixture->machine);
	sandbox_machine_prepare(fixture->machine);
	/* A spare that does not fit; an ordinary user requests no user id, so there it fits. */
	fixture->config.uid = 1234567;
	FIXTURE_RUN(fixture, "exit", "6");
	assert_int_equal(fixture->report.exit_status, 6);
}

/* What it is given */

static void
test_descriptors(void **state)
{
	struct fixture *fixture = *state;
	int extra = open("/dev/null", O_RDONLY); /* inheritable, and must not be inherited */
	fixture->fds[3] = (struct sandbox_fd){fixture->output, 7};
	fixture->config.fds_count = 4;
	FIXTURE_RUN(fixture, "fds");
	assert_string_equal(fixture->text, "0 1 2 7 ");
	close(extra);
}

/* Each source is another's target. */
static void
test_descriptors_crosswise(void **state)
{
	struct fixture *fixture = *state;
	int pipes[3][2];
	char text[64];
	for (int i = 0; i < 3; i++)
		assert_int_equal(pipe2(pipes[i], O_CLOEXEC), 0);
	fixture->fds[1].target = pipes[0][1];
	fixture->fds[3] = (struct sandbox_fd){pipes[0][1], pipes[1][1]};
	fixture->fds[4] = (struct sandbox_fd){pipes[1][1], pipes[2][1]};
	fixture->fds[5] = (struct sandbox_fd){pipes[2][1], 1};
	fixture->fds[0].fd = pipes[0][0];
	fixture->config.fds_count = 6;
	char a[8], b[8];
	(void)snprintf(a, sizeof(a), "%d", pipes[1][1]);
	(void)snprintf(b, sizeof(b), "%d", pipes[2][1]);
	assert_int_equal(write(pipes[0][1], "in", 2), 2);
	FIXTURE_RUN(fixture, "echo", b, "1");
	assert_int_equal(fixture->report.exit_status, 0);
	ssize_t size = read(pipes[1][0], text, sizeof(text));
	assert_true(size == (ssize_t)strlen(b) + 3 && !memcmp(text, b, strlen(b)));
	size = read(pipes[2][0], text, sizeof(text));
	assert_true(size == 4 && !memcmp(text, "1:in", 4));
	for (int i = 0; i < 3; i++) {
		close(pipes[i][0]);
		close(pipes[i][1]);
	}
	fixture->fds[0].fd = -1;
}

static void
test_environment(void **state)
{
	struct fixture *fixture = *state;
	const char *const some[] = {"A=1", "HOME=/nowhere", NULL};
	setenv("KETTLE_TEST_LEAK", "1", 1);
	FIXTURE_RUN(fixture, "env");
	assert_string_equal(fixture->text, "PATH=/usr/bin:/bin\nHOME=/tmp/home\nTMPDIR=/tmp\n");
	fixture->text[0] = '\0';
	fixture->config.envp = some;
	FIXTURE_RUN(fixture, "env");
	assert_string_equal(fixture->text, "A=1\nHOME=/nowhere\nTMPDIR=/tmp\n");
}

static void
test_identity(void **state)
{
	struct fixture *fixture = *state;
	FIXTURE_RUN(fixture, "status");
	assert_said(fixture, "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
						 "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\n");
	assert_said(fixture, "NoNewPrivs:\t1\n");
	assert_said(fixture, "Seccomp:\t2\n");
	assert_said(fixture, "Uid:\t1000\t1000\t1000\t1000\n");
	assert_said(fixture, "umask=22 sid=1 pid=2\n");
}

/* As root: outside it has an id that no account has, and none that useradd gives accounts for their own namespaces. */
static void
test_identity_outside(void **state)
{
	struct fixture *fixture = *state;
	const unsigned long given_out = 600100000; /* SUB_UID_MAX of login.defs */
	char path[64];
	AUTO_FREE char *map = NULL;
	size_t size = 0;
	if (fixture_is_user())
		return;
	FIXTURE_START(fixture, "sleep");
	(void)snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)sandbox_pid(fixture->sandbox));
	assert_int_equal(file_read(path, 4096, &map, &size, NULL), 0);
	sandbox_kill(fixture->sandbox, SANDBOX_LIMIT_CANCEL);
	fixture_finish(fixture);
	unsigned long inside = 0, outside = 0;
	assert_int_equal(sscanf(strchr(map, '\n'), "%lu %lu", &inside, &outside), 2);
	assert_int_equal(inside, SANDBOX_ID);
	assert_true(outside > given_out);
}

/* The cgroup of the run is the top of all that it sees. */
static void
test_cgroups(void **state)
{
	struct fixture *fixture = *state;
	FIXTURE_RUN(fixture, "show", "/proc/self/cgroup");
	assert_int_equal(fixture->report.exit_status, 0);
	for (char *line = strtok(fixture->text, "\n"); line; line = strtok(NULL, "\n"))
		assert_string_equal(strrchr(line, ':'), ":/");
}

static void
test_signal_state(void **state)
{
	struct fixture *fixture = *state;
	sigset_t some, before;
	sigemptyset(&some);
	sigaddset(&some, SIGUSR1);
	sigprocmask(SIG_BLOCK, &some, &before);
	void (*pipe_before)(int) = signal(SIGPIPE, SIG_IGN);
	FIXTURE_RUN(fixture, "signals");
	assert_string_equal(fixture->text, "checked");
	signal(SIGPIPE, pipe_before);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void
test_process_limits(void **state)
{
	struct fixture *fixture = *state;
	fixture->config.limits.open_files = 77;
	fixture->config.limits.disk = 1 << 20;
	FIXTURE_RUN(fixture, "limits");
	assert_said(fixture, "core=1\nfsize=1048576\nnofile=77\nstack=67108864\nas=-1\n");
}

/* Files */

static void
test_files_writable(void **state)
{
	struct fixture *fixture = *state;
	/* Names that no one else on the machine has. */
	const char *own = strrchr(fixture->folder, '/') + 1;
	char tmp[128], shm[128], expected[512];
	(void)snprintf(tmp, sizeof(tmp), "/tmp/%s.x", own);
	(void)snprintf(shm, sizeof(shm), "/dev/shm/%s.x", own);
	FIXTURE_RUN(fixture, "try-write", "/x", "/usr/x", "/etc/x", "/job/x", "/dev/x", "/opt/x",
		"/proc/sys/kernel/hostname", tmp, "/tmp/home/x", shm, "/job/out/x");
	(void)snprintf(expected, sizeof(expected),
		"/x=EROFS\n/usr/x=EROFS\n/etc/x=EROFS\n/job/x=EROFS\n/dev/x=EROFS\n/opt/x=EROFS\n"
		"/proc/sys/kernel/hostname=EROFS\n%s=ok\n/tmp/home/x=ok\n%s=ok\n/job/out/x=ok\n",
		tmp, shm);
	assert_string_equal(fixture->text, expected);
	assert_int_not_equal(access(tmp, F_OK), 0);
	assert_int_not_equal(access(shm, F_OK), 0);
}

/* What CUDA needs of /proc, and no more. */
static void
test_files_of_device(void **state)
{
	struct fixture *fixture = *state;
	fixture->binds[1] = (struct sandbox_bind){.source = "/dev/null", .target = "/dev/gpu0", .device = true};
	fixture->config.binds_count = 2;
	FIXTURE_RUN(fixture, "try-write", "/proc/self/comm", "/proc/thread-self/comm", "/proc/x",
		"/proc/sys/kernel/hostname", "/proc/1/oom_score_adj", "/dev/gpu0", "/dev/x", "/usr/x");
	assert_string_equal(fixture->text,
		"/proc/self/comm=ok\n/proc/thread-self/comm=ok\n/proc/x=ENOENT\n/proc/sys/kernel/hostname=EROFS\n"
		"/proc/1/oom_score_adj=ENOENT\n/dev/gpu0=ok\n/dev/x=EROFS\n/usr/x=EROFS\n");
	fixture->config.binds_count = 1;
	fixture->text[0] = '\0';
	FIXTURE_RUN(fixture, "try-write", "/proc/self/comm");
	assert_string_equal(fixture->text, "/proc/self/comm=EROFS\n");
}

static void
test_files_visible(void **state)
{
	struct fixture *fixture = *state;
	fixture_put_file(fixture->job, "input", "x", 0644);
	fixture_put_file(fixture->folder, "secret", "x", 0644);
	char secret[128];
	(void)snprintf(secret, sizeof(secret), "%s/secret", fixture->folder);
	FIXTURE_RUN(fixture, "try-read", "/job/input", "/etc/passwd", "/etc/shadow", "/root", "/home", "/var", "/run",
		secret, "/proc/kcore", "/sys/kernel", "/.old", "/etc/machine-id");
	assert_said(fixture, "/job/input=ok\n/etc/passwd=ok\n/etc/shadow=ENOENT\n/root=ENOENT\n/home=ENOENT\n/var=ENOENT\n"
						 "/run=ENOENT\n");
	assert_said(fixture, "secret=ENOENT\n");
	assert_not_said(fixture, "/proc/kcore=ok");
	assert_said(fixture, "/sys/kernel=ENOENT\n/.old=ENOENT\n/etc/machine-id=ENOENT\n");
	FIXTURE_RUN(fixture, "list", "/dev");
	for (const char *const *name = (const char *const[]){"ptmx", "pts", "tty", "console", "kmsg", "vda", NULL}; *name;
		 name++)
		assert_not_said(fixture, *name);
}

static void
test_output_stays(void **state)
{
	struct fixture *fixture = *state;
	FIXTURE_RUN(fixture, "try-write", "/job/out/result");
	char *data = NULL;
	size_t size = 0;
	int out = sandbox_out_fd(fixture->sandbox);
	assert_true(out >= 0);
	assert_int_equal(file_read_at(out, "result", 100, &data, &size, NULL), 0);
	assert_string_equal(data, "text\n");
	free(data);
	char path[160];
	(void)snprintf(path, sizeof(path), "%s/out/result", fixture->job);
	assert_int_not_equal(access(path, F_OK), 0);
}

static void
test_disk_limits(void **state)
{
	struct fixture *fixture = *state;
	fixture->config.limits.disk = 1 << 20;
	fixture->config.limits.shm = 1 << 19;
	FIXTURE_RUN(fixture, "fill", "/job/out/big");
	assert_true(
		strstr(fixture->text, "fill=ENOSPC\nbytes=1048576") || strstr(fixture->text, "fill=EFBIG\nbytes=1048576"));
	fixture->config.limits.file_size = 1 << 24;
	fixture->text[0] = '\0';
	FIXTURE_RUN(fixture, "fill", "/tmp/big");
	assert_string_equal(fixture->text, "fill=ENOSPC\nbytes=1048576\n");
	assert_int_equal(fixture->report.hits, 1u << SANDBOX_LIMIT_TMP);
	assert_int_equal(fixture->report.most[SANDBOX_LIMIT_TMP], 1 << 20);
	fixture->text[0] = '\0';
	FIXTURE_RUN(fixture, "fill", "/dev/shm/big");
	assert_string_equal(fixture->text, "fill=ENOSPC\nbytes=524288\n");
	assert_int_equal(fixture->report.hits, 1u << SANDBOX_LIMIT_SHM);
	assert_int_equal(fixture->report.most[SANDBOX_LIMIT_SHM], 1 << 19);
	fixture->text[0] = '\0';
	fixture->config.limits.inodes = 100;
	FIXTURE_RUN(fixture, "inodes", "/job/out");
	assert_said(fixture, "inodes=ENOSPC\n");
	assert_int_equal(fixture->report.hits, 1u << SANDBOX_LIMIT_FILES);
	assert_int_equal(fixture->report.most[SANDBOX_LIMIT_FILES], 100);
}

static void
test_binds(void **state)
{
	struct fixture *fixture = *state;
	char folder[128], link[128];
	(void)snprintf(folder, sizeof(folder), "%s/deep", fixture->folder);
	(void)snprintf(link, sizeof(link), "%s/link", fixture->folder);
	assert_int_equal(mkdir(folder, 0777), 0);
	assert_int_equal(chmod(folder, 0777), 0);
	fixture_put_file(folder, "file", "x", 0666);
	assert_int_equal(symlink(folder, link), 0);
	fixture->binds[1] = (struct sandbox_bind){.source = link, .target = "/a/b/c"};
	fixture->binds[2] = (struct sandbox_bind){.source = folder, .target = "/w", .writable = true};
	fixture->config.binds_count = 3;
	FIXTURE_RUN(fixture, "try-write", "/a/b/c/file", "/w/new");
	assert_string_equal(fixture->text, "/a/b/c/file=EROFS\n/w/new=ok\n");
	fixture->text[0] = '\0';
	FIXTURE_RUN(fixture, "try-read", "/a/b/c/file");
	assert_string_equal(fixture->text, "/a/b/c/file=ok\n");
	assert_int_equal(file_remove_tree(folder, NULL), 0);
	assert_int_equal(unlink(link), 0);
}

static void
test_writable_job(void **state)
{
	struct fixture *fixture = *state;
	char folder[160], path[200];
	(void)snprintf(folder, sizeof(folder), "%s/sub", fixture->job);
	assert_int_equal(mkdir(folder, 0755), 0);
	fixture_put_file(
		folder, "run", "#!/bin/sh\necho new >/job/sub/made && echo kept >/job/out/kept && cat /job/sub/link\n", 0755);
	fixture_put_file(fixture->job, "plain", "linked\n", 0600);
	(void)snprintf(path, sizeof(path), "%s/link", folder);
	assert_int_equal(symlink("../plain", path), 0);
	fixture->config.job_writable = true;
	fixture->config.file = "./sub/run";
	FIXTURE_RUN(fixture, "x");
	assert_string_equal(fixture->text, "linked\n");
	assert_int_equal(fixture->report.exit_status, 0);
	char *data = NULL;
	size_t size = 0;
	assert_int_equal(file_read_at(sandbox_out_fd(fixture->sandbox), "kept", 100, &data, &size, NULL), 0);
	assert_string_equal(data, "kept\n");
	free(data);
	(void)snprintf(path, sizeof(path), "%s/made", folder);
	assert_int_not_equal(access(path, F_OK), 0);
}

static void
test_writable_job_bounded(void **state)
{
	struct fixture *fixture = *state;
	char *big = malloc(2 << 20);
	assert_non_null(big);
	memset(big, 'x', (2 << 20) - 1);
	big[(2 << 20) - 1] = '\0';
	fixture_put_file(fixture->job, "big", big, 0644);
	free(big);
	fixture->config.job_writable = true;
	fixture->config.limits.disk = 1 << 20;
	FIXTURE_RUN(fixture, "exit", "0");
	assert_false(fixture->report.started);
	assert_non_null(strstr(fixture->report.message, "No space left"));
}

/* The world outside */

static void
test_processes(void **state)
{
	struct fixture *fixture = *state;
	FIXTURE_RUN(fixture, "processes");
	assert_string_equal(fixture->text, "2 ");
	fixture->text[0] = '\0';
	FIXTURE_RUN(
		fixture, "try-read", "/proc/1/environ", "/proc/1/maps", "/proc/1/mem", "/proc/1/fd/0", "/proc/1/status");
	assert_not_said(fixture, "=ok");
}

static void
test_kill_all(void **state)
{
	struct fixture *fixture = *state;
	FIXTURE_RUN(fixture, "kill-all");
	assert_int_equal(fixture->report.exit_status, 7);
	assert_said(fixture, "all=ESRCH\n");
}

static void
test_network(void **state)
{
	struct fixture *fixture = *state;
	FIXTURE_RUN(fixture, "net");
	assert_string_equal(fixture->text, "if=lo\nfar=ENETUNREACH\nnear=ok\n");
}

static void
test_abstract_socket(void **state)
{
	struct fixture *fixture = *state;
	const char *name = strrchr(fixture->folder, '/') + 1; /* as good a name of our own as any */
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	memcpy(address.sun_path + 1, name, strlen(name));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(fd, 1), 0);
	FIXTURE_RUN(fixture, "connect-abstract", name);
	assert_not_said(fixture, "=ok");
	close(fd);
}

/* System calls */

static void
test_refused_calls(void **state)
{
	struct fixture *fixture = *state;
	FIXTURE_RUN(fixture, "calls");
	assert_int_equal(fixture->report.exit_status, 0);
	assert_not_said(fixture, "=ok");
	assert_not_said(fixture, "=EFAULT");
	assert_not_said(fixture, "=EINVAL");
	assert_not_said(fixture, "=EBADF");
	assert_said(fixture, "ptrace=EPERM\n");
	assert_said(fixture, "io_uring_setup=EPERM\n");
	assert_said(fixture, "clone_newuser=EPERM\n");
	assert_said(fixture, "clone3=ENOSYS\n");
	assert_said(fixture, "unknown=ENOSYS\n");
	assert_said(fixture, "tiocsti_high=ENOTTY\n");
	assert_said(fixture, "sendmmsg_urgent=EOPNOTSUPP\n");
}

static void
test_machine_wide(void **state)
{
	struct fixture *fixture = *state;
	FIXTURE_RUN(fixture, "machine-wide");
	assert_string_equal(fixture->text,
		"inotify=0\ninotify_errno=ENOSYS\nnotify=EPERM\nlease=EPERM\nio_setup=ENOSYS\nhuge=EPERM\nhuge_file="
		"EPERM\nhuge_segment=EPERM\nfsync="
		"ok\nfdatasync=ok\n"
		"syncfs=ok\nsync_file_range=ok\nmsync=ok\nmsync_async=ENOMEM\n"
		"drop_cache=EPERM\nread_ahead=ok\ncold=EPERM\npage_out=EPERM\nfree=ok\ncore_cookie=EPERM\nclock_trap="
		"EPERM\ncall_trap=EPERM\n");
}

/* What the machine's own files say of others; empty, or not there at all. */
static void
test_machine_files(void **state)
{
	struct fixture *fixture = *state;
	FIXTURE_RUN(fixture, "sizes", "/proc/cmdline", "/proc/interrupts", "/proc/vmstat", "/proc/kallsyms",
		"/proc/config.gz", "/proc/softirqs", "/proc/schedstat", "/proc/diskstats", "/proc/zoneinfo", "/proc/buddyinfo",
		"/proc/locks", "/proc/keys", "/proc/key-users");
	assert_int_equal(fixture->report.exit_status, 0);
	assert_said(fixture, "/proc/cmdline=0\n");
	assert_not_said(fixture, "=1\n");
	fixture->text[0] = '\0';
	FIXTURE_RUN(fixture, "sizes", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat");
	assert_string_equal(fixture->text, "/proc/cpuinfo=1\n/proc/meminfo=1\n/proc/stat=1\n");
}

/* Without a device: what libraries need, and nothing that the file would know besides. */
static void
test_requests(void **state)
{
	struct fixture *fixture = *state;
	const struct sandbox_bind device = {.source = "/dev/null", .target = "/dev/node", .device = true};
	FIXTURE_RUN(fixture, "requests");
	assert_said(fixture, "readable=ok\nblock=ok\nclose=ok\nkeep=ok\nname=ok\nsize=ENOTTY\n");
	assert_said(fixture, fixture->report.protections & SANDBOX_MEMORY_CGROUP ? "shared=ok\n" : "shared=EPERM\n");
	fixture->text[0] = '\0';
	fixture->binds[1] = device;
	fixture->config.binds_count = 2;
	FIXTURE_RUN(fixture, "requests");
	/* CUDA does not initialise without shared memory. */
	assert_string_equal(fixture->text, "readable=ok\nblock=ok\nclose=ok\nkeep=ok\nname=ok\nsize=ok\nshared=ok\n");
	fixture->text[0] = '\0';
	FIXTURE_RUN(fixture, "calls");
	assert_said(fixture, "tiocsti_high=EPERM\n");
	assert_said(fixture, "tioclinux=EPERM\n");
}

static void
test_no_dumps(void **state)
{
	struct fixture *fixture = *state;
	FIXTURE_RUN(fixture, "core");
	assert_string_equal(fixture->text, "lower=EPERM\nlower_old=EPERM\nlower_low=EPERM\nread=ok\nlimit=1\nother=ok\n");
}

/* Whatever rights of that kind its owner has. */
static void
test_real_time(void **state)
{
	struct fixture *fixture = *state;
	struct rlimit priority = {10, 10}, nice = {30, 30}, before[2];
	assert_int_equal(getrlimit(RLIMIT_RTPRIO, &before[0]) | getrlimit(RLIMIT_NICE, &before[1]), 0);
	/* Where this is allowed; else there is less to take away. */
	(void)setrlimit(RLIMIT_RTPRIO, &priority);
	(void)setrlimit(RLIMIT_NICE, &nice);
	FIXTURE_RUN(fixture, "real-time");
	(void)setrlimit(RLIMIT_RTPRIO, &before[0]);
	(void)setrlimit(RLIMIT_NICE, &before[1]);
	assert_string_equal(fixture->text, "real_time=EPERM\nhigher=EACCES\n");
}

static void
test_starving_init(void **state)
{
	struct fixture *fixture = *state;
	FIXTURE_RUN(fixture, "starve");
	assert_int_equal(fixture->report.exit_status, 0);
	assert_not_said(fixture, "=ok");
}

static void
test_cores(void **state)
{
	struct fixture *fixture = *state;
	const int cores[] = {0};
	fixture->config.cores = cores;
	fixture->config.cores_count = 1;
	fixture->config.nice = 3;
	FIXTURE_RUN(fixture, "cores");
	char wanted[64];
	(void)snprintf(wanted, sizeof(wanted), "cores=1 first=1 nice=%d\n", getpriority(PRIO_PROCESS, 0) + 3);
	assert_string_equal(fixture->text, wanted);
}

static void
test_allowed_calls(void **state)
{
	struct fixture *fixture = *state;
	FIXTURE_RUN(fixture, "allowed");
	assert_int_equal(fixture->report.exit_status, 0);
	/* Where memory is polled, it must have a name or be a process's own. */
	bool polled = !(fixture->report.protections & SANDBOX_MEMORY_CGROUP);
	char *memfd = strstr(fixture->text, polled ? "memfd=ENOSYS" : "memfd=ok");
	assert_non_null(memfd);
	memcpy(memfd, "memfd= ", 7);
	assert_not_said(fixture, "=E");
	fixture->text[0] = '\0';
	FIXTURE_RUN(fixture, "sockets");
	assert_said(fixture, "unix=ok\n");
	assert_said(fixture, "inet6=ok\nroute=ok\nnetfilter=EPROTONOSUPPORT\npacket=EAFNOSUPPORT\nvsock=EAFNOSUPPORT\n"
						 "alg=EAFNOSUPPORT\npair=ok\ninet_pair=EAFNOSUPPORT\ntipc_pair=EAFNOSUPPORT\ntcp=ok\nudp=ok\n"
						 "mptcp=EPROTONOSUPPORT\nudp_lite=EPROTONOSUPPORT\nsctp=EPROTONOSUPPORT\n");
}

static void
test_foreign_calls(void **state)
{
#if defined(__x86_64__)
	struct fixture *fixture = *state;
	FIXTURE_RUN(fixture, "i386");
	assert_true(fixture->report.signal == SIGSYS || fixture->report.signal == SIGSEGV);
	assert_not_said(fixture, "i386=");
	FIXTURE_RUN(fixture, "x32");
	assert_int_equal(fixture->report.signal, SIGSYS);
#else
	(void)state;
#endif
}

/* What is left */

static int
count_entries(const char *path)
{
	int count = 0;
	AUTO_DIR DIR *dir = opendir(path);
	while (dir && readdir(dir))
		count++;
	return count;
}

static char *
read_mounts(void)
{
	static char text[262144];
	AUTO_FD int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	for (ssize_t size; len < sizeof(text) - 1 && (size = read(fd, text + len, sizeof(text) - 1 - len)) > 0;)
		len += (size_t)size;
	text[len] = '\0';
	return strdup(text);
}

static void
test_nothing_left(void **state)
{
	struct fixture *fixture = *state;
	/* What others on the machine mount meanwhile is not seen; nothing that an ordinary user starts can mount here. */
	bool apart = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	int fds = count_entries("/proc/self/fd");
	AUTO_FREE char *mounts = read_mounts();
	const char *folder = fixture->cgroup && !fixture->cgroup->unified ? fixture->cgroup->owners[0].path : NULL;
	int runs = folder ? count_entries(folder) : 0;
	for (int i = 0; i < 5; i++) {
		FIXTURE_RUN(fixture, "daemons", "3");
		sandbox_free(STEAL(fixture->sandbox));
	}
	assert_int_equal(count_entries("/proc/self/fd"), fds);
	AUTO_FREE char *after = read_mounts();
	if (apart)
		assert_string_equal(after, mounts);
	if (folder)
		assert_int_equal(count_entries(folder), runs);
	assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
	assert_int_equal(errno, ECHILD);
}

/* A descriptor that init keeps holds its lock for as long as the run lasts, and the payload has not got it. */
static void
test_kept_descriptor(void **state)
{
	struct fixture *fixture = *state;
	char path[128];
	(void)snprintf(path, sizeof(path), "%s/lock", fixture->folder);
	int keep[] = {open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
	int other = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(keep[0], LOCK_EX | LOCK_NB), 0);
	fixture->config.keep = keep;
	fixture->config.keep_count = 1;
	FIXTURE_START(fixture, "sleep");
	close(keep[0]);
	fixture_await(fixture, "asleep");
	assert_int_not_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	sandbox_kill(fixture->sandbox, SANDBOX_LIMIT_CANCEL);
	fixture_finish(fixture);
	assert_int_equal(fixture->report.limit, SANDBOX_LIMIT_CANCEL);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	close(other);
	assert_int_equal(unlink(path), 0);
}

static const struct CMUnitTest tests[] = {
	FIXTURE_TEST(test_exit_status),
	FIXTURE_TEST(test_signal),
	FIXTURE_TEST(test_missing_program),
	FIXTURE_TEST(test_missing_folder),
	FIXTURE_TEST(test_bad_config),
	FIXTURE_TEST(test_big_arguments),
	FIXTURE_TEST(test_spare),
	FIXTURE_TEST(test_descriptors),
	FIXTURE_TEST(test_descriptors_crosswise),
	FIXTURE_TEST(test_environment),
	FIXTURE_TEST(test_identity),
	FIXTURE_TEST(test_identity_outside),
	FIXTURE_TEST(test_cgroups),
	FIXTURE_TEST(test_signal_state),
	FIXTURE_TEST(test_process_limits),
	FIXTURE_TEST(test_files_writable),
	FIXTURE_TEST(test_files_of_device),
	FIXTURE_TEST(test_files_visible),
	FIXTURE_TEST(test_output_stays),
	FIXTURE_TEST(test_disk_limits),
	FIXTURE_TEST(test_binds),
	FIXTURE_TEST(test_writable_job),
	FIXTURE_TEST(test_writable_job_bounded),
	FIXTURE_TEST(test_processes),
	FIXTURE_TEST(test_kill_all),
	FIXTURE_TEST(test_network),
	FIXTURE_TEST(test_abstract_socket),
	FIXTURE_TEST(test_refused_calls),
	FIXTURE_TEST(test_machine_wide),
	FIXTURE_TEST(test_machine_files),
	FIXTURE_TEST(test_requests),
	FIXTURE_TEST(test_no_dumps),
	FIXTURE_TEST(test_real_time),
	FIXTURE_TEST(test_starving_init),
	FIXTURE_TEST(test_cores),
	FIXTURE_TEST(test_allowed_calls),
	FIXTURE_TEST(test_foreign_calls),
	FIXTURE_TEST(test_nothing_left),
	FIXTURE_TEST(test_kept_descriptor),
};

SANDBOX_TESTS(test_sandbox);
