/* SPDX-License-Identifier: MIT */
/* Limits, kills, deaths and what is left behind; with cgroups where there are some, and without. */
#include <config.h>

#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "unit/sandbox/sandbox_fixture.h"

#define MIB (UINT64_C(1) << 20)
#define MS_NS UINT64_C(1000000)

/* A machine without cgroups, so that limits are polled. The caller frees it. */
static struct sandbox_machine *
use_polling(struct fixture *fixture)
{
	struct sandbox_machine *machine = NULL;
	assert_int_equal(sandbox_machine_new(NULL, &machine, NULL), 0);
	fixture->config.machine = machine;
	return machine;
}

static void
test_wall(void **state)
{
	struct fixture *fixture = *state;
	FIXTURE_START(fixture, "sleep");
	fixture_await(fixture, "asleep");
	fixture->wall_ms = 100;
	fixture_finish(fixture);
	assert_int_equal(fixture->report.limit, SANDBOX_LIMIT_WALL);
	assert_int_equal(fixture->report.exit_status, -1);
	assert_int_equal(fixture->report.signal, SIGKILL);
	assert_true(fixture->report.started);
	assert_string_equal(fixture->report.message, "");
	assert_true(fixture->report.end_ns - fixture->report.start_ns < FIXTURE_WALL_MS * MS_NS);
}

/* A kill before anything could start must not hang either, and the first reason counts. */
static void
test_early_kill(void **state)
{
	struct fixture *fixture = *state;
	for (int i = 0; i < 10; i++) {
		FIXTURE_START(fixture, "sleep");
		sandbox_kill(fixture->sandbox, SANDBOX_LIMIT_CANCEL);
		sandbox_kill(fixture->sandbox, SANDBOX_LIMIT_OUTPUT);
		fixture_finish(fixture);
		assert_int_equal(fixture->report.limit, SANDBOX_LIMIT_CANCEL);
	}
}

/* The host's out-of-memory killer, for one, may choose init. */
static void
test_init_killed(void **state)
{
	struct fixture *fixture = *state;
	FIXTURE_START(fixture, "sleep");
	fixture_await(fixture, "asleep");
	assert_int_equal(kill(sandbox_pid(fixture->sandbox), SIGKILL), 0);
	fixture_finish(fixture);
	assert_int_equal(fixture->report.limit, SANDBOX_LIMIT_NONE);
	assert_true(fixture->report.started && fixture->report.lost);
	assert_non_null(strstr(fixture->report.message, "init ended before its report, with signal 9"));
	/* What a payload does to itself is its own. */
	sandbox_free(STEAL(fixture->sandbox));
	FIXTURE_RUN(fixture, "abort");
	assert_int_equal(fixture->report.signal, SIGABRT);
	assert_false(fixture->report.lost);
}

/* Freed while it runs. */
static void
test_free_running(void **state)
{
	struct fixture *fixture = *state;
	FIXTURE_START(fixture, "sleep");
	fixture_await(fixture, "asleep");
	pid_t pid = sandbox_pid(fixture->sandbox);
	sandbox_free(STEAL(fixture->sandbox));
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void
check_cpu(struct fixture *fixture, const char *how, const char *count)
{
	fixture->config.limits.cpu_ns = 300 * MS_NS;
	FIXTURE_RUN(fixture, how, count);
	assert_int_equal(fixture->report.limit, SANDBOX_LIMIT_CPU);
	assert_true(fixture->report.cpu_ns >= 280 * MS_NS);
	assert_true(fixture->report.cpu_ns < 900 * MS_NS);
}

static void
test_cpu(void **state)
{
	struct fixture *fixture = *state;
	check_cpu(fixture, "spin", "1");
	check_cpu(fixture, "spin", "4");
	check_cpu(fixture, "spin-short", NULL);
}

static void
test_cpu_polled(void **state)
{
	struct fixture *fixture = *state;
	struct sandbox_machine *machine = use_polling(fixture);
	check_cpu(fixture, "spin", "1");
	check_cpu(fixture, "spin", "4");
	check_cpu(fixture, "spin-short", NULL);
	sandbox_free(STEAL(fixture->sandbox));
	sandbox_machine_free(machine);
}

static void
check_memory(struct fixture *fixture)
{
	fixture->config.limits.memory = 64 * MIB;
	FIXTURE_RUN(fixture, "memory");
	assert_int_equal(fixture->report.limit, SANDBOX_LIMIT_MEMORY);
	assert_true(fixture->report.memory_peak > 32 * MIB);
	FIXTURE_RUN(fixture, "memory-child");
	assert_int_equal(fixture->report.limit, SANDBOX_LIMIT_MEMORY);
	assert_true(fixture->report.end_ns - fixture->report.start_ns < FIXTURE_WALL_MS * MS_NS);
	/* What is shared counts once. */
	FIXTURE_RUN(fixture, "memory-shared", "30000000");
	assert_int_equal(fixture->report.limit, SANDBOX_LIMIT_NONE);
	assert_said(fixture, "shared\n");
	/* Memory is what is used, not what is reserved. */
	FIXTURE_RUN(fixture, "exit", "0");
	assert_int_equal(fixture->report.exit_status, 0);
}

static void
test_memory(void **state)
{
	check_memory(*state);
}

static void
test_memory_polled(void **state)
{
	struct fixture *fixture = *state;
	struct sandbox_machine *machine = use_polling(fixture);
	check_memory(fixture);
	sandbox_free(STEAL(fixture->sandbox));
	sandbox_machine_free(machine);
}

/* What no process shows as its own counts all the same, or is refused. */
static void
test_memory_hidden(void **state)
{
	static const char *const kinds[] = {
		"/tmp/x", "/dev/shm/x", "/job/out/x", "memfd", "anonymous", "/dev/zero", "segments", "sockets", "tables"};
	struct fixture *fixture = *state;
	struct sandbox_machine *machine = use_polling(fixture);
	fixture->config.limits.memory = 64 * MIB;
	for (int landlock = 1; landlock >= 0; landlock--) {
		if (!landlock)
			sandbox_machine_disable(machine, SANDBOX_LANDLOCK);
		for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
			fixture->text[0] = '\0';
			FIXTURE_RUN(fixture, "hide", kinds[i]);
			/* One look may find too many sockets, too. */
			bool counted = fixture->report.limit == SANDBOX_LIMIT_SOCKETS && strcmp(kinds[i], "sockets") == 0;
			if (fixture->report.limit != SANDBOX_LIMIT_MEMORY && !counted && !strstr(fixture->text, "refused"))
				fail_msg("%s: limit %d, `%s`", kinds[i], fixture->report.limit, fixture->text);
			print_message("# %s: %s\n", kinds[i], strstr(fixture->text, "refused") ? "refused" : "killed");
		}
	}
	/* What is mapped counts once. */
	FIXTURE_RUN(fixture, "map-file", "/dev/shm/x", "40000000");
	assert_said(fixture, "mapped\n");
	assert_int_equal(fixture->report.limit, SANDBOX_LIMIT_NONE);
	assert_true(fixture->report.memory_peak > 38 * MIB && fixture->report.memory_peak < 64 * MIB);
	sandbox_free(STEAL(fixture->sandbox));
	sandbox_machine_free(machine);
}

/* All network namespaces share what TCP may have: a connection holds little, and there are not too many. */
static void
test_connections(void **state)
{
	struct fixture *fixture = *state;
	FIXTURE_RUN(fixture, "connection");
	assert_said(fixture, "bytes=");
	assert_in_range(strtoul(strstr(fixture->text, "bytes=") + 6, NULL, 10), 65536, MIB);
	FIXTURE_RUN(fixture, "hide", "many");
	assert_int_equal(fixture->report.limit, SANDBOX_LIMIT_SOCKETS);
	assert_in_range(fixture->report.most[SANDBOX_LIMIT_SOCKETS], 64, 4096);
}

/* The kernel counts epoll watches for the user: one run must leave most of them to others. */
static void
test_watches(void **state)
{
	struct fixture *fixture = *state;
	struct sandbox_machine *machine = use_polling(fixture);
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	assert_int_equal(file_read("/proc/sys/fs/epoll/max_user_watches", 64, &text, &size, NULL), 0);
	FIXTURE_RUN(fixture, "watches");
	assert_said(fixture, "sets=ok\n");
	assert_said(fixture, "add=ENOSPC\n");
	assert_said(fixture, "event=ok\n");
	const char *taken = strstr(fixture->text, "watches=") + strlen("watches=");
	assert_in_range(strtoul(taken, NULL, 10), 1000, strtoul(text, NULL, 10) / 16);
	sandbox_free(STEAL(fixture->sandbox));
	sandbox_machine_free(machine);
}

/* What the kernel counts for the user is left to others, too: queued signals and timers, message queues. */
static void
test_shares(void **state)
{
	static const struct {
		const char *name;
		__typeof__(RLIMIT_CORE) resource;
	} list[] = {{"\nsigpending=", RLIMIT_SIGPENDING}, {"\nmsgqueue=", RLIMIT_MSGQUEUE}, {"\nnofile=", RLIMIT_NOFILE}};
	struct fixture *fixture = *state;
	struct sandbox_machine *machine = use_polling(fixture);
	bool own = sandbox_machine_protections(machine) & SANDBOX_OWN_UID;
	fixture->config.limits.open_files = UINT64_C(1) << 40;
	FIXTURE_RUN(fixture, "limits");
	for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
		struct rlimit mine;
		assert_int_equal(getrlimit(list[i].resource, &mine), 0);
		assert_said(fixture, list[i].name);
		const char *run = strstr(fixture->text, list[i].name) + strlen(list[i].name);
		assert_int_equal(strtoull(run, NULL, 10), own ? mine.rlim_max : mine.rlim_max / 4);
	}
	sandbox_free(STEAL(fixture->sandbox));
	sandbox_machine_free(machine);
}

static void
check_fork_bomb(struct fixture *fixture)
{
	fixture->config.limits.processes = 50;
	FIXTURE_RUN(fixture, "fork-bomb");
	assert_int_equal(fixture->report.exit_status, 0);
	assert_said(fixture, "refused=100\n");
	assert_true(fixture->report.left_behind >= 40);
	assert_true(fixture->report.left_behind <= 50);
	fixture->wall_ms = 500;
	FIXTURE_RUN(fixture, "fork-storm");
	assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
}

static void
test_fork_bomb(void **state)
{
	struct fixture *fixture = *state;
	check_fork_bomb(fixture);
	if (sandbox_machine_protections(fixture->machine) & SANDBOX_PIDS_CGROUP)
		assert_true(fixture->report.hits & 1u << SANDBOX_LIMIT_PROCESSES);
}

static void
test_fork_bomb_polled(void **state)
{
	struct fixture *fixture = *state;
	struct sandbox_machine *machine = use_polling(fixture);
	check_fork_bomb(fixture);
	sandbox_free(STEAL(fixture->sandbox));
	sandbox_machine_free(machine);
}

/* Whatever a daemon does, it dies with the payload. */
static void
test_daemons(void **state)
{
	struct fixture *fixture = *state;
	static const char *const kinds[] = {"plain", "setsid", "stop", "ignore"};
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		FIXTURE_RUN(fixture, "daemon", kinds[i]);
		assert_int_equal(fixture->report.exit_status, 0);
		assert_int_equal(fixture->report.limit, SANDBOX_LIMIT_NONE);
	}
	FIXTURE_RUN(fixture, "daemons", "5");
	assert_int_equal(fixture->report.exit_status, 0);
	assert_int_equal(fixture->report.left_behind, 5);
	/* The write end of the pipe is closed by all: the end of the run is the end of the output. */
	close(fixture->output);
	fixture->output = -1;
	char byte;
	assert_int_equal(read(fixture->capture, &byte, 1), 0);
}

/* An owner that starts a sandbox, tells its pid and waits to be killed. */
static void
be_owner(struct fixture *fixture, int tell)
{
	const char *const argv[] = {FIXTURE_PROBE, "sleep", NULL};
	struct kettle_error err = {0};
	struct sandbox *sandbox = NULL;
	struct sandbox_machine *machine = NULL;
	struct sandbox_cgroup_root *cgroup = sandbox_cgroup_root(NULL);
	fixture->config.argv = argv;
	if (!sandbox_machine_new(cgroup, &machine, &err)) {
		fixture->config.machine = machine;
		(void)sandbox_start(&fixture->config, &sandbox, &err);
		sandbox_machine_prepare(machine);
	}
	pid_t pid = sandbox ? sandbox_pid(sandbox) : 0;
	if (write(tell, &pid, sizeof(pid)) == sizeof(pid))
		for (;;)
			pause();
	_exit(1);
}

/* The name of a living owner's folder: PID-START. New string. */
static char *
owner_folder(pid_t owner)
{
	char path[64], *name = NULL;
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)owner);
	assert_int_equal(file_read(path, 4096, &text, &size, NULL), 0);
	const char *at = strrchr(text, ')');
	for (int field = 2; field < 22; field++)
		at = strchr(at + 1, ' ');
	assert_true(asprintf(&name, "%d-%lld", (int)owner, strtoll(at, NULL, 10)) > 0);
	return name;
}

/* The folder in which all owners have theirs; NULL: none. New string. */
static char *
owners_folder(const struct sandbox_cgroup_root *root)
{
	for (size_t i = 0; root && i < SANDBOX_CG_COUNT; i++)
		if (root->owners[i].path)
			return strndup(root->owners[i].path, (size_t)(strrchr(root->owners[i].path, '/') - root->owners[i].path));
	return NULL;
}

static void
test_owner_dies(void **state)
{
	struct fixture *fixture = *state;
	int tell[2];
	pid_t pid = 0;
	assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
	pid_t owner = fork();
	if (owner == 0)
		be_owner(fixture, tell[1]);
	assert_int_equal(read(tell[0], &pid, sizeof(pid)), sizeof(pid));
	assert_true(pid > 0);
	fixture_await(fixture, "asleep");
	AUTO_FREE char *dead = owner_folder(owner);
	/*
	 * Its sandbox and its spare become children of this process and are waited for: until they have ended they are in the dead
	 * one's cgroups, which cannot be removed before.
	 */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	assert_int_equal(kill(owner, SIGKILL), 0);
	while (waitpid(-1, NULL, __WALL) > 0)
		continue;
	assert_int_equal(errno, ECHILD);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
	assert_int_equal(kill(pid, 0), -1);
	/* Everything that could write is gone when the pipe ends. */
	close(fixture->output);
	fixture->output = -1;
	char byte;
	while (read(fixture->capture, &byte, 1) > 0)
		continue;
	assert_int_equal(read(fixture->capture, &byte, 1), 0);
	close(tell[0]);
	close(tell[1]);
	/* The next owner removes the dead one's cgroups. */
	struct sandbox_cgroup_root *again = sandbox_cgroup_root(NULL);
	AUTO_FREE char *folder = owners_folder(again);
	if (folder) {
		AUTO_FREE char *left = path_join(folder, dead);
		assert_int_not_equal(access(left, F_OK), 0);
	}
	sandbox_cgroup_leave(again);
}

/* Whether a new owner leaves a folder of another one beside `folder` (an owner's) in place. */
static bool
is_spared(int base, const char *name)
{
	struct sandbox_cgroup_root *root = sandbox_cgroup_root(NULL);
	assert_non_null(root);
	bool there = faccessat(base, name, F_OK, 0) == 0;
	sandbox_cgroup_leave(root);
	return there;
}

/* Makes a folder and its lock. Whoever cleans up between the two takes it away. */
static int
hold_folder(int base, const char *name)
{
	for (;;) {
		assert_true(mkdirat(base, name, 0755) == 0 || errno == EEXIST);
		int held = openat(base, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (held >= 0 && flock(held, LOCK_EX | LOCK_NB) == 0 && faccessat(base, name, F_OK, 0) == 0)
			return held;
		close(held);
	}
}

/* In a container with a PID namespace of its own the number of a living owner says nothing: its lock does. */
static void
test_owner_elsewhere(void **state)
{
	struct fixture *fixture = *state;
	AUTO_FREE char *folder = owners_folder(fixture->cgroup);
	if (!folder) {
		print_message("# no cgroup can be made here\n");
		return;
	}
	AUTO_FD int base = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[32];
	(void)snprintf(name, sizeof(name), "9%09d-0", (int)getpid()); /* above every pid_max */
	int held = hold_folder(base, name);
	assert_true(is_spared(base, name));
	close(held);
	assert_false(is_spared(base, name));
}

/* Without a sandbox */

static void
set_off(struct fixture *fixture)
{
	fixture->config.level = SANDBOX_LEVEL_OFF;
	fixture->config.file = fixture->probe;
}

static void
test_off(void **state)
{
	struct fixture *fixture = *state;
	set_off(fixture);
	FIXTURE_RUN(fixture, "exit", "9");
	assert_int_equal(fixture->report.exit_status, 9);
	assert_int_equal(fixture->report.protections & SANDBOX_NEED_FULL, 0);
	FIXTURE_RUN(fixture, "try-write", "out/x");
	assert_said(fixture, "out/x=ok\n");
	assert_int_equal(faccessat(sandbox_out_fd(fixture->sandbox), "x", F_OK, 0), 0);
	fixture->text[0] = '\0';
	FIXTURE_RUN(fixture, "fds");
	assert_string_equal(fixture->text, "0 1 2 ");
	fixture->config.file = "./not-there";
	FIXTURE_RUN(fixture, "exit");
	assert_false(fixture->report.started);
}

static void
test_off_kills(void **state)
{
	struct fixture *fixture = *state;
	set_off(fixture);
	FIXTURE_RUN(fixture, "daemons", "3");
	assert_int_equal(fixture->report.exit_status, 0);
	assert_int_equal(fixture->report.left_behind, 3);
	fixture->wall_ms = 100;
	FIXTURE_RUN(fixture, "sleep");
	assert_int_equal(fixture->report.limit, SANDBOX_LIMIT_WALL);
	fixture->wall_ms = FIXTURE_WALL_MS;
	fixture->config.limits.cpu_ns = 300 * MS_NS;
	FIXTURE_RUN(fixture, "spin", "3");
	assert_int_equal(fixture->report.limit, SANDBOX_LIMIT_CPU);
	close(fixture->output);
	fixture->output = -1;
	fixture->text[0] = '\0';
	char byte;
	assert_int_equal(read(fixture->capture, &byte, 1), 0);
}

/* What is said about protections */

static void
test_levels(void **state)
{
	struct kettle_error err = {0};
	enum sandbox_level level = SANDBOX_LEVEL_OFF;
	(void)state;
	assert_int_equal(sandbox_level_of(SANDBOX_NEED_FULL), SANDBOX_LEVEL_FULL);
	assert_int_equal(sandbox_level_of(SANDBOX_NEED_FULL & ~SANDBOX_NET), SANDBOX_LEVEL_REDUCED);
	assert_int_equal(sandbox_level_of(SANDBOX_NEED_FULL & ~SANDBOX_PID), SANDBOX_LEVEL_OFF);
	assert_int_equal(sandbox_level_check(SANDBOX_NEED_FULL, SANDBOX_LEVEL_FULL, &err), 0);
	assert_int_equal(sandbox_level_check(SANDBOX_NEED_FULL & ~SANDBOX_NET, SANDBOX_LEVEL_FULL, &err), KETTLE_EUNAVAIL);
	assert_non_null(strstr(err.message, "net ("));
	assert_non_null(strstr(err.message, "reduced"));
	for (int i = SANDBOX_LEVEL_OFF; i <= SANDBOX_LEVEL_FULL; i++) {
		assert_int_equal(sandbox_level_parse(sandbox_level_name((enum sandbox_level)i), &level, &err), 0);
		assert_int_equal(level, i);
	}
	assert_int_equal(sandbox_level_parse("most", &level, &err), KETTLE_EINVAL);
	assert_string_equal(sandbox_limit_name(SANDBOX_LIMIT_RESULT), "result");
}

static void
test_description(void **state)
{
	(void)state;
	AUTO_JSON json_t *list = sandbox_describe(SANDBOX_USER);
	assert_int_equal(json_array_size(list), SANDBOX_PROTECTION_COUNT);
	assert_true(json_is_true(json_object_get(json_array_get(list, 0), "present")));
	assert_true(json_is_null(json_object_get(json_array_get(list, 0), "how")));
	assert_true(json_is_string(json_object_get(json_array_get(list, 1), "how")));
	AUTO_JSON json_t *names = sandbox_names(SANDBOX_USER | SANDBOX_NNP);
	assert_int_equal(json_array_size(names), 2);
	assert_string_equal(json_string_value(json_array_get(names, 1)), "no_new_privs");
}

/* Fewer protections: what is there is used. */
static void
test_reduced(void **state)
{
	struct fixture *fixture = *state;
	struct kettle_error err = {0};
	struct sandbox *sandbox = NULL;
	const char *const argv[] = {FIXTURE_PROBE, "status", NULL};
	sandbox_machine_disable(fixture->machine, SANDBOX_NET | SANDBOX_SECCOMP | SANDBOX_LANDLOCK);
	fixture->config.level = SANDBOX_LEVEL_FULL;
	fixture->config.argv = argv;
	assert_int_equal(sandbox_start(&fixture->config, &sandbox, &err), KETTLE_EUNAVAIL);
	fixture->config.level = SANDBOX_LEVEL_REDUCED;
	FIXTURE_RUN(fixture, "status");
	assert_said(fixture, "Seccomp:\t0\n");
	assert_int_equal(fixture->report.protections & (SANDBOX_NET | SANDBOX_SECCOMP | SANDBOX_LANDLOCK), 0);
	assert_int_equal(sandbox_level_of(fixture->report.protections), SANDBOX_LEVEL_REDUCED);
	fixture->text[0] = '\0';
	FIXTURE_RUN(fixture, "calls");
	assert_said(fixture, "unshare=ENOSPC\n");
	/* Without Landlock, /proc/1 is closed by what is left. */
	fixture->text[0] = '\0';
	FIXTURE_RUN(
		fixture, "try-read", "/proc/1/environ", "/proc/1/maps", "/proc/1/mem", "/proc/1/fd/0", "/proc/1/status");
	assert_not_said(fixture, "=ok");
}

static const struct CMUnitTest tests[] = {
	FIXTURE_TEST(test_wall),
	FIXTURE_TEST(test_early_kill),
	FIXTURE_TEST(test_init_killed),
	FIXTURE_TEST(test_free_running),
	FIXTURE_TEST(test_cpu),
	FIXTURE_TEST(test_cpu_polled),
	FIXTURE_TEST(test_memory),
	FIXTURE_TEST(test_memory_polled),
	FIXTURE_TEST(test_memory_hidden),
	FIXTURE_TEST(test_connections),
	FIXTURE_TEST(test_watches),
	FIXTURE_TEST(test_shares),
	FIXTURE_TEST(test_fork_bomb),
	FIXTURE_TEST(test_fork_bomb_polled),
	FIXTURE_TEST(test_daemons),
	FIXTURE_TEST(test_owner_dies),
	FIXTURE_TEST(test_owner_elsewhere),
	FIXTURE_TEST(test_off),
	FIXTURE_TEST(test_off_kills),
	FIXTURE_TEST(test_levels),
	FIXTURE_TEST(test_description),
	FIXTURE_TEST(test_reduced),
};

SANDBOX_TESTS(test_sandbox_limits);
