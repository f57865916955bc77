/* SPDX-License-Identifier: MIT */
/* The scratch folder, the machine and the runs of the sandbox's tests. */
#include <config.h>

#include "unit/sandbox/sandbox_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

#define FIXTURE_USER 65534
#define FIXTURE_PROBE_MAX (64u << 20)
#define FIXTURE_AWAIT_MS 60000

static const char *const no_environment[] = {"PATH=/usr/bin:/bin", NULL};

unsigned long
fixture_now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long)now.tv_sec * 1000 + (unsigned long)now.tv_nsec / 1000000;
}

int
fixture_is_user(void)
{
	return geteuid() != 0;
}

static void
copy_probe(struct fixture *fixture)
{
	char path[4096];
	char *data = NULL;
	size_t size = 0;
	const char *build = getenv("top_builddir");
	(void)snprintf(path, sizeof(path), "%s/tests/unit/sandbox/sandbox_probe", build ? build : ".");
	assert_int_equal(file_read(path, FIXTURE_PROBE_MAX, &data, &size, NULL), 0);
	(void)snprintf(fixture->probe, sizeof(fixture->probe), "%s/probe", fixture->folder);
	assert_int_equal(file_write(fixture->probe, data, size, 0755, NULL), 0);
	assert_int_equal(chmod(fixture->probe, 0755), 0);
	free(data);
}

static void
become_user(const struct fixture *fixture)
{
	assert_int_equal(chown(fixture->folder, FIXTURE_USER, FIXTURE_USER), 0);
	assert_int_equal(setgroups(0, NULL), 0);
	assert_int_equal(setresgid(FIXTURE_USER, FIXTURE_USER, FIXTURE_USER), 0);
	assert_int_equal(setresuid(FIXTURE_USER, FIXTURE_USER, FIXTURE_USER), 0);
	/* As after an exec by that user: else the owner could not open its own /proc files. */
	assert_int_equal(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
}

static struct fixture *the_fixture; /* from what prepares to fixture_setup */

static const char *
prepare(bool as_user)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct kettle_error err = {0};
	assert_non_null(fixture);
	umask(022);
	(void)snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/kettle-sandbox-XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	assert_int_equal(chmod(fixture->folder, 0755), 0);
	copy_probe(fixture);
	if (as_user && geteuid() == 0)
		become_user(fixture);
	fixture->cgroup = sandbox_cgroup_root(NULL);
	if (sandbox_machine_new(fixture->cgroup, &fixture->machine, &err))
		fail_msg("%s", err.message);
	if (sandbox_level_of(sandbox_machine_protections(fixture->machine)) == SANDBOX_LEVEL_FULL) {
		the_fixture = fixture;
		return NULL;
	}
	void *state = fixture;
	(void)fixture_teardown(&state);
	return "this machine offers no full sandbox";
}

const char *
fixture_prepare(void)
{
	return prepare(false);
}

const char *
fixture_prepare_user(void)
{
	return prepare(true);
}

int
fixture_setup(void **state)
{
	*state = the_fixture;
	return 0;
}

int
fixture_teardown(void **state)
{
	struct fixture *fixture = *state;
	sandbox_machine_free(fixture->machine);
	sandbox_cgroup_leave(fixture->cgroup);
	int rc = file_remove_tree(fixture->folder, NULL);
	free(fixture);
	return rc;
}

int
fixture_reset(void **state)
{
	struct fixture *fixture = *state;
	char path[128];
	int pair[2];
	(void)snprintf(fixture->job, sizeof(fixture->job), "%s/job", fixture->folder);
	(void)snprintf(path, sizeof(path), "%s/out", fixture->job);
	assert_int_equal(mkdir(fixture->job, 0755), 0);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	fixture->capture = pair[0];
	fixture->output = pair[1];
	assert_int_equal(fcntl(fixture->capture, F_SETFL, O_NONBLOCK), 0);
	int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	fixture->fds[0] = (struct sandbox_fd){input, 0};
	fixture->fds[1] = (struct sandbox_fd){fixture->output, 1};
	fixture->fds[2] = (struct sandbox_fd){fixture->output, 2};
	fixture->binds[0] = (struct sandbox_bind){.source = fixture->probe, .target = FIXTURE_PROBE};
	fixture->config = (struct sandbox_config){
		.level = sandbox_level_of(sandbox_machine_protections(fixture->machine)),
		.file = FIXTURE_PROBE,
		.envp = no_environment,
		.job_dir = fixture->job,
		.binds = fixture->binds,
		.binds_count = 1,
		.fds = fixture->fds,
		.fds_count = 3,
		.machine = fixture->machine,
	};
	fixture->wall_ms = FIXTURE_WALL_MS;
	fixture->sandbox = NULL;
	fixture->text[0] = '\0';
	return 0;
}

int
fixture_clean(void **state)
{
	struct fixture *fixture = *state;
	sandbox_free(STEAL(fixture->sandbox));
	close(fixture->capture);
	if (fixture->output >= 0)
		close(fixture->output);
	close(fixture->fds[0].fd);
	return file_remove_tree(fixture->job, NULL);
}

void
fixture_start(struct fixture *fixture, const char *const *args)
{
	struct kettle_error err = {0};
	fixture->config.argv = args;
	sandbox_free(STEAL(fixture->sandbox));
	if (sandbox_start(&fixture->config, &fixture->sandbox, &err))
		fail_msg("%s", err.message);
}

static void
drain(struct fixture *fixture)
{
	size_t len = strlen(fixture->text);
	ssize_t size;
	while (len < sizeof(fixture->text) - 1 &&
		   (size = read(fixture->capture, fixture->text + len, sizeof(fixture->text) - 1 - len)) > 0) {
		len += (size_t)size;
		fixture->text[len] = '\0';
	}
}

void
fixture_await(struct fixture *fixture, const char *text)
{
	struct pollfd fd = {.fd = fixture->capture, .events = POLLIN};
	unsigned long end = fixture_now_ms() + FIXTURE_AWAIT_MS;
	while (!strstr(fixture->text, text)) {
		assert_true(fixture_now_ms() < end);
		(void)poll(&fd, 1, 100);
		drain(fixture);
	}
}

void
fixture_finish(struct fixture *fixture)
{
	struct kettle_error err = {0};
	struct pollfd fds[] = {
		{.fd = sandbox_pidfd(fixture->sandbox), .events = POLLIN}, {.fd = fixture->capture, .events = POLLIN}};
	unsigned long end = fixture_now_ms() + fixture->wall_ms;
	while (!(fds[0].revents & POLLIN)) {
		unsigned long now = fixture_now_ms();
		if (now >= end)
			sandbox_kill(fixture->sandbox, SANDBOX_LIMIT_WALL);
		(void)poll(fds, ARRAY_SIZE(fds), now >= end ? 100 : (int)(end - now));
		drain(fixture);
	}
	if (sandbox_wait(fixture->sandbox, &fixture->report, &err))
		fail_msg("%s", err.message);
	drain(fixture);
}

void
fixture_put_file(const char *folder, const char *name, const char *text, mode_t mode)
{
	char path[256];
	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(file_write(path, text, strlen(text), mode, NULL), 0);
	assert_int_equal(chmod(path, mode), 0);
}
