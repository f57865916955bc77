/* SPDX-License-Identifier: MIT */
/* Reading off the loop thread: files, standard input, and cancelling while it waits. */
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "cli/run/input.h"
#include "lib/unit_test.h"
#include "loop/loop_services.h"

struct fixture {
	struct kettle_host host; /* first: the host functions cast back */
	uv_loop_t loop;
	struct loop_services *io;
	int saved_stdin, writer;
	/* The result. */
	int calls, code;
	char *data;
	size_t size;
};

static int
host_work(const struct kettle_host *host, kettle_fn work, kettle_fn after, void *arg, struct kettle_error *err)
{
	return loop_work(((const struct fixture *)host)->io, work, after, arg, err);
}

static void
came(void *arg, const struct kettle_error *err, const char *data, size_t size)
{
	struct fixture *fixture = arg;
	fixture->calls++;
	fixture->code = err->code;
	fixture->size = size;
	free(fixture->data);
	fixture->data = NULL;
	if (data)
		assert_non_null(fixture->data = strndup(data, size));
}

static int
setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	int fds[2];
	fixture->host.work = host_work;
	assert_int_equal(uv_loop_init(&fixture->loop), 0);
	assert_int_equal(loop_new(&fixture->loop, &fixture->io, NULL), 0);
	assert_int_equal(pipe(fds), 0);
	fixture->saved_stdin = dup(STDIN_FILENO);
	dup2(fds[0], STDIN_FILENO);
	close(fds[0]);
	fixture->writer = fds[1];
	*state = fixture;
	return 0;
}

static void
closed(void *arg)
{
	(void)arg;
}

static int
teardown(void **state)
{
	struct fixture *fixture = *state;
	loop_close(fixture->io, closed, NULL);
	uv_run(&fixture->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&fixture->loop), 0);
	dup2(fixture->saved_stdin, STDIN_FILENO);
	close(fixture->saved_stdin);
	if (fixture->writer >= 0)
		close(fixture->writer);
	free(fixture->data);
	free(fixture);
	return 0;
}

static struct input *
start(struct fixture *fixture, const char *path, size_t max, bool line)
{
	struct input *input = NULL;
	struct kettle_error err = {0};
	fixture->calls = 0;
	assert_int_equal(input_start(&fixture->host, path, max, line, came, fixture, &input, &err), 0);
	return input;
}

static void
wait_for_it(struct fixture *fixture)
{
	while (fixture->calls == 0)
		uv_run(&fixture->loop, UV_RUN_ONCE);
	assert_int_equal(fixture->calls, 1);
}

static void
test_lines(void **state)
{
	struct fixture *fixture = *state;
	assert_int_equal(write(fixture->writer, "one\n\nrest", 9), 9);
	close(fixture->writer);
	fixture->writer = -1;
	static const char *const expected[] = {"one", "", "rest"};
	for (size_t i = 0; i < 3; i++) {
		start(fixture, "-", 100, true);
		wait_for_it(fixture);
		assert_int_equal(fixture->code, 0);
		assert_string_equal(fixture->data, expected[i]);
	}
	start(fixture, "-", 100, true);
	wait_for_it(fixture);
	assert_int_equal(fixture->code, KETTLE_ECANCELED);
	assert_null(fixture->data);
}

static void
test_all(void **state)
{
	struct fixture *fixture = *state;
	assert_int_equal(write(fixture->writer, "a\nb\n", 4), 4);
	close(fixture->writer);
	fixture->writer = -1;
	start(fixture, "-", 100, false);
	wait_for_it(fixture);
	assert_int_equal(fixture->code, 0);
	assert_string_equal(fixture->data, "a\nb\n");
}

static void
test_cancelled(void **state)
{
	struct fixture *fixture = *state;
	input_cancel(start(fixture, "-", 100, true));
	wait_for_it(fixture);
	assert_int_equal(fixture->code, KETTLE_ECANCELED);
}

static void
test_too_big(void **state)
{
	struct fixture *fixture = *state;
	char block[64];
	memset(block, 'x', sizeof(block));
	assert_int_equal(write(fixture->writer, block, sizeof(block)), sizeof(block));
	start(fixture, "-", sizeof(block) - 1, false);
	wait_for_it(fixture);
	assert_int_equal(fixture->code, KETTLE_ETOOBIG);
	assert_int_equal(write(fixture->writer, block, sizeof(block)), sizeof(block));
	start(fixture, "-", 8, true);
	wait_for_it(fixture);
	assert_int_equal(fixture->code, KETTLE_ETOOBIG);
}

static void
test_files(void **state)
{
	struct fixture *fixture = *state;
	char folder[] = "/tmp/kettle-input-XXXXXX", path[64];
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/a", folder);
	FILE *file = fopen(path, "w");
	fputs("text", file);
	fclose(file);
	start(fixture, path, 4, false);
	wait_for_it(fixture);
	assert_int_equal(fixture->code, 0);
	assert_string_equal(fixture->data, "text");
	start(fixture, path, 3, false);
	wait_for_it(fixture);
	assert_int_equal(fixture->code, KETTLE_ETOOBIG);
	unlink(path);
	start(fixture, path, 4, false);
	wait_for_it(fixture);
	assert_int_equal(fixture->code, KETTLE_ENOENT);
	/* A FIFO without a writer must not block. */
	assert_int_equal(mkfifo(path, 0600), 0);
	start(fixture, path, 4, false);
	wait_for_it(fixture);
	assert_int_equal(fixture->code, KETTLE_EINVAL);
	unlink(path);
	start(fixture, folder, 4, false);
	wait_for_it(fixture);
	assert_int_equal(fixture->code, KETTLE_EINVAL);
	rmdir(folder);
}

static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	TEST(test_lines),
	TEST(test_all),
	TEST(test_cancelled),
	TEST(test_too_big),
	TEST(test_files),
};

UNIT_TESTS(test_cli_input);
