/* SPDX-License-Identifier: MIT */
/* Events for a reader that is slow, gone, or takes them at once. */
#include <config.h>

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "exec/util/json_writer.h"
#include "lib/unit_test.h"

#define LARGE (200u << 10) /* bytes, which no new pipe holds */

struct output {
	uv_loop_t loop;
	int ends[2];
	struct json_writer writer;
	struct buf read;
	int drained, broken;
};

static void
on_broken(void *arg)
{
	((struct output *)arg)->broken++;
}

static void
on_drained(void *arg)
{
	((struct output *)arg)->drained++;
}

static int
setup(void **state)
{
	struct output *output = xcalloc(1, sizeof(*output));
	if (uv_loop_init(&output->loop) != 0 || pipe2(output->ends, O_NONBLOCK | O_CLOEXEC) != 0)
		return -1;
	json_writer_open(&output->writer, &output->loop, output->ends[1], on_broken, output);
	output->writer.on_drained = on_drained;
	*state = output;
	return 0;
}

static int
teardown(void **state)
{
	struct output *output = *state;
	json_writer_close(&output->writer);
	(void)uv_run(&output->loop, UV_RUN_DEFAULT);
	int rc = uv_loop_close(&output->loop);
	if (output->ends[0] >= 0)
		close(output->ends[0]);
	close(output->ends[1]);
	buf_free(&output->read);
	free(output);
	return rc;
}

/* Takes all that is there now. */
static void
take(struct output *output)
{
	char piece[65536];
	for (ssize_t n; (n = read(output->ends[0], piece, sizeof(piece))) > 0;)
		buf_add(&output->read, piece, (size_t)n);
}

/* The reader has room again, and before the loop sees that, there is more to say. */
static void
test_is_told_when_all_is_written(void **state)
{
	struct output *output = *state;
	AUTO_FREE char *large = xmalloc(LARGE + 1);
	memset(large, 'x', LARGE);
	large[LARGE] = '\0';
	json_writer_json(&output->writer, json_pack("{s:s}", "large", large));
	assert_true(json_writer_pending(&output->writer) > 0);
	take(output);
	json_writer_json(&output->writer, json_pack("{s:i}", "small", 1));
	assert_int_equal(output->drained, 0);
	for (int i = 0; i < 1000 && !output->drained; i++) {
		(void)uv_run(&output->loop, UV_RUN_NOWAIT);
		take(output);
	}
	assert_int_equal(output->drained, 1);
	assert_int_equal(json_writer_pending(&output->writer), 0);
	AUTO_FREE char *wanted = xasprintf("{\"large\":\"%s\"}\n{\"small\":1}\n", large);
	assert_int_equal(output->read.len, strlen(wanted));
	assert_memory_equal(output->read.data, wanted, output->read.len);
	assert_int_equal(output->broken, 0);
}

static void
test_reader_is_gone(void **state)
{
	struct output *output = *state;
	close(STEAL_FD(output->ends[0]));
	for (int i = 0; i < 2; i++) {
		json_writer_json(&output->writer, json_pack("{s:i}", "n", i));
		assert_int_equal(output->broken, 1);
		assert_int_equal(json_writer_pending(&output->writer), 0);
	}
}

static int
ignore_sigpipe(void **state)
{
	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	return 0;
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test_setup_teardown(test_is_told_when_all_is_written, setup, teardown),
	cmocka_unit_test_setup_teardown(test_reader_is_gone, setup, teardown),
};

UNIT_TESTS(test_json_lines, .setup = ignore_sigpipe);
