/* SPDX-License-Identifier: MIT */
/* Machines that lack something, and what a sandbox makes of it. */
#include <config.h>

#include "sandbox/sandbox.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_uncovered_files),
	};
	return fixture_run_tests(tests, ARRAY_SIZE(tests));
}
