/* SPDX-License-Identifier: MIT */
/* Posts, work, timers and children on a loop, and the end of all of them. */
#include <config.h>

#include "loop/loop_services.h"

#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "lib/unit_test.h"

#define PATIENCE_NS 120000000000u

struct fixture {
	uv_loop_t loop;
	struct loop_services *io;
	bool closed;
	int count;
	struct buf out, err;
	int exits, status, signal;
	struct kettle_process *process;
	struct kettle_timer *timer;
	uv_sem_t go;
};

static void
on_closed(void *arg)
{
	((struct fixture *)arg)->closed = true;
}

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	*state = f;
	return uv_loop_init(&f->loop) || loop_new(&f->loop, &f->io, NULL);
}

/* The loop closes with 0: nothing is left. */
static int
teardown(void **state)
{
	struct fixture *f = *state;
	if (f->io)
		loop_close(f->io, on_closed, f);
	(void)uv_run(&f->loop, UV_RUN_DEFAULT);
	int rc = uv_loop_close(&f->loop);
	bool closed = f->closed;
	buf_free(&f->out);
	buf_free(&f->err);
	free(f);
	return rc || !closed;
}

static void
tick(uv_timer_t *timer)
{
	(void)timer;
}

/* Runs the loop until *value reaches wanted. */
static void
run_until(struct fixture *f, const int *value, int wanted)
{
	uint64_t end = time_monotonic_ns() + PATIENCE_NS;
	uv_timer_t timer;
	uv_timer_init(&f->loop, &timer);
	uv_timer_start(&timer, tick, 100, 100);
	while (*value < wanted && time_monotonic_ns() < end)
		(void)uv_run(&f->loop, UV_RUN_ONCE);
	uv_close((uv_handle_t *)&timer, NULL);
	(void)uv_run(&f->loop, UV_RUN_NOWAIT);
	assert_true(*value >= wanted);
}

static void
count(void *arg)
{
	((struct fixture *)arg)->count++;
}

static void
post_thousand(void *arg)
{
	struct fixture *f = arg;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(loop_post(f->io, count, f), 0);
}

static void
test_posts_of_threads(void **state)
{
	struct fixture *f = *state;
	uv_thread_t threads[4];
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		uv_thread_create(&threads[i], post_thousand, f);
	run_until(f, &f->count, 4000);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		uv_thread_join(&threads[i]);
}

static void
test_posts_before_close(void **state)
{
	struct fixture *f = *state;
	post_thousand(f);
	loop_close(f->io, on_closed, f);
	assert_int_equal(f->count, 1000);
	assert_false(f->closed);
	assert_int_equal(loop_post(f->io, count, f), KETTLE_ECANCELED);
	struct kettle_error err = {0};
	assert_int_equal(loop_timer_start(f->io, 1, 0, count, f, NULL, &err), KETTLE_ECANCELED);
	assert_int_equal(loop_work(f->io, count, NULL, f, &err), KETTLE_ECANCELED);
	assert_non_null(strstr(err.message, "closing"));
	f->io = NULL;
}

static void
no_work(void *arg)
{
	(void)arg;
}

static void
test_work(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < 20; i++)
		assert_int_equal(loop_work(f->io, no_work, count, f, NULL), 0);
	run_until(f, &f->count, 10);
	/* The rest ends during the close. */
}

static void
stop_at_three(void *arg)
{
	struct fixture *f = arg;
	if (++f->count == 3)
		loop_timer_stop(f->io, f->timer);
}

static void
test_timers(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(loop_timer_start(f->io, 1, 1, stop_at_three, f, &f->timer, NULL), 0);
	run_until(f, &f->count, 3);
	f->count = 0;
	assert_int_equal(loop_timer_start(f->io, 1, 0, count, f, NULL, NULL), 0);
	run_until(f, &f->count, 1);
	/* One that stops itself while it fires, one that is stopped before, one that is left to the close. */
	f->count = 2;
	assert_int_equal(loop_timer_start(f->io, 1, 0, stop_at_three, f, &f->timer, NULL), 0);
	run_until(f, &f->count, 3);
	assert_int_equal(loop_timer_start(f->io, 1, 0, count, f, &f->timer, NULL), 0);
	loop_timer_stop(f->io, f->timer);
	loop_timer_stop(f->io, NULL);
	assert_int_equal(loop_timer_start(f->io, 100000, 0, count, f, &f->timer, NULL), 0);
	assert_int_equal(f->count, 3);
}

static void
on_stdout(void *arg, const char *line, size_t len)
{
	struct fixture *f = arg;
	assert_int_equal(strlen(line), len);
	buf_printf(&f->out, "%s|", line);
}

static void
on_stderr(void *arg, const char *line, size_t len)
{
	(void)len;
	buf_printf(&((struct fixture *)arg)->err, "%s|", line);
}

static void
on_exit_(void *arg, int status, int signal_number)
{
	struct fixture *f = arg;
	f->exits++;
	f->status = status;
	f->signal = signal_number;
}

static int
start(struct fixture *f, const char *script, struct kettle_error *err)
{
	const char *const argv[] = {"sh", "-c", script, NULL};
	const struct kettle_spawn spawn = {
		.size = sizeof(spawn),
		.file = "sh",
		.argv = argv,
		.max_line = 1000,
		.on_stdout = on_stdout,
		.on_stderr = on_stderr,
		.on_exit = on_exit_,
		.arg = f,
	};
	return loop_spawn(f->io, &spawn, &f->process, err);
}

static void
test_child_lines(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(start(f, "echo one; echo; echo oops >&2; printf last; exit 7", NULL), 0);
	run_until(f, &f->exits, 1);
	assert_string_equal(f->out.data, "one||last|");
	assert_string_equal(f->err.data, "oops|");
	assert_int_equal(f->status, 7);
	assert_int_equal(f->signal, 0);
}

static void
test_child_stdin(void **state)
{
	struct fixture *f = *state;
	char big[900];
	memset(big, 'x', sizeof(big));
	assert_int_equal(start(f, "wc -c; echo done", NULL), 0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(loop_process_write(f->io, f->process, big, sizeof(big), NULL), 0);
	loop_process_close_stdin(f->io, f->process);
	loop_process_close_stdin(f->io, f->process);
	run_until(f, &f->exits, 1);
	assert_non_null(strstr(f->out.data, "900000|done|"));
	assert_int_equal(f->status, 0);
}

static void
test_child_that_does_not_read(void **state)
{
	struct fixture *f = *state;
	char big[100000] = {0};
	assert_int_equal(start(f, "exec 0<&-; echo ready; sleep 0.1", NULL), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(loop_process_write(f->io, f->process, big, sizeof(big), NULL), 0);
	run_until(f, &f->exits, 1);
	assert_int_equal(f->status, 0);
}

static void
test_child_killed(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(start(f, "exec sleep 100", NULL), 0);
	loop_process_kill(f->io, f->process, SIGTERM);
	run_until(f, &f->exits, 1);
	assert_int_equal(f->status, -1);
	assert_int_equal(f->signal, SIGTERM);
}

static void
test_child_long_line(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(start(f, "echo short; head -c 5000 /dev/zero | tr '\\0' x; sleep 100", NULL), 0);
	run_until(f, &f->exits, 1);
	assert_string_equal(f->out.data, "short|");
	assert_int_equal(f->signal, SIGKILL);
}

/* Something that keeps the pipe open does not keep on_exit from coming. */
static void
test_child_leaves_one_behind(void **state)
{
	struct fixture *f = *state;
	uint64_t begin = time_monotonic_ns();
	assert_int_equal(start(f, "sleep 30 & echo $!; exit 3", NULL), 0);
	run_until(f, &f->exits, 1);
	assert_int_equal(f->status, 3);
	assert_true(time_monotonic_ns() - begin < UINT64_C(1000000) * 4 * CHILD_DRAIN_MS);
	pid_t left = atoi(f->out.data);
	assert_true(left > 1);
	(void)kill(left, SIGKILL);
}

static void
test_missing_program(void **state)
{
	struct fixture *f = *state;
	const char *const argv[] = {"no-such-program", NULL};
	const struct kettle_spawn spawn = {
		.size = sizeof(spawn), .file = argv[0], .argv = argv, .on_exit = on_exit_, .arg = f};
	struct kettle_error err = {0};
	/* A folder in PATH that may not be searched would make it EACCES. */
	(void)setenv("PATH", "/usr/bin:/bin", 1);
	assert_int_equal(loop_spawn(f->io, &spawn, &f->process, &err), KETTLE_ENOENT);
	assert_non_null(strstr(err.message, "no-such-program"));
	assert_null(f->process);
	assert_int_equal(f->exits, 0);
}

/* The close kills what runs, its group included; on_exit still comes, once. */
static void
test_close_kills(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(start(f, "sleep 1000 & sleep 1000", NULL), 0);
	loop_close(f->io, on_closed, f);
	f->io = NULL;
	run_until(f, &f->exits, 1);
	assert_int_equal(f->signal, SIGKILL);
}

static void
wait_for_go(void *arg)
{
	uv_sem_wait(&((struct fixture *)arg)->go);
}

static void
close_at_line(void *arg, const char *line, size_t len)
{
	struct fixture *f = arg;
	on_stdout(arg, line, len);
	if (strcmp(line, "close") != 0)
		return;
	assert_int_equal(loop_post(f->io, count, f), 0);
	loop_close(f->io, on_closed, f);
	f->io = NULL;
	uv_sem_post(&f->go);
}

/*
 * Closed by a child's line while another does not read what is written to it, a third has ended and something holds its
 * pipes, a thread of the pool works, and timers and posts wait: each is freed after its last callback.
 */
static void
test_close_with_all(void **state)
{
	struct fixture *f = *state;
	static const char *const scripts[] = {
		"sleep 1000", "sleep 1000 & echo $! >&2; exit 3", "read x; echo close; sleep 1000"};
	char big[100000] = {0};
	assert_int_equal(uv_sem_init(&f->go, 0), 0);
	assert_int_equal(loop_work(f->io, wait_for_go, count, f, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
		const char *const argv[] = {"sh", "-c", scripts[i], NULL};
		const struct kettle_spawn spawn = {.size = sizeof(spawn),
			.file = "sh",
			.argv = argv,
			.max_line = 1000,
			.on_stdout = close_at_line,
			.on_stderr = on_stderr,
			.on_exit = on_exit_,
			.arg = f};
		assert_int_equal(loop_spawn(f->io, &spawn, &f->process, NULL), 0);
		for (int k = 0; k < 10 && i == 0; k++)
			assert_int_equal(loop_process_write(f->io, f->process, big, sizeof(big), NULL), 0);
	}
	assert_int_equal(loop_timer_start(f->io, 100000, 0, count, f, NULL, NULL), 0);
	assert_int_equal(loop_timer_start(f->io, 0, 100000, count, f, NULL, NULL), 0);
	while (!f->err.data)
		(void)uv_run(&f->loop, UV_RUN_ONCE);
	assert_int_equal(loop_process_write(f->io, f->process, "\n", 1, NULL), 0);
	run_until(f, &f->exits, 3);
	assert_string_equal(f->out.data, "close|");
	assert_true(atoi(f->err.data) > 1);
	(void)kill(atoi(f->err.data), SIGKILL);
	/* The timer that fired, the post, the work. */
	run_until(f, &f->count, 3);
	uv_sem_destroy(&f->go);
}

/* ---- long lines ---- */

#define LONG "head -c 300000 /dev/zero | tr '\\0' x"

static uv_sem_t long_go; /* each lets one line be read */
static int long_reading;

static void
wait_over(void *arg)
{
	++*(int *)arg;
}

static void *
read_long(const char *line, size_t len)
{
	(void)len;
	uv_sem_wait(&long_go);
	uv_thread_t *thread = malloc(sizeof(*thread));
	*thread = line[0] == 'x' ? uv_thread_self() : (uv_thread_t)0;
	return thread;
}

/* Counts the long lines that are announced and not yet handed on. */
static void
on_bytes(void *arg, size_t size)
{
	(void)arg;
	long_reading += size == 0;
}

static void
on_long(void *arg, const char *line, size_t len, void *made)
{
	struct fixture *f = arg;
	assert_int_equal(long_reading--, 1);
	uv_thread_t self = uv_thread_self(), *reader = made;
	assert_true(line[0] == 'x' && line[len] == '\0' && strlen(line) == len);
	buf_printf(&f->out, "%s%zu|", uv_thread_equal(&self, reader) ? "loop" : "pool", len);
	free(made);
}

static int
start_long(struct fixture *f, const char *script)
{
	const char *const argv[] = {"sh", "-c", script, NULL};
	const struct kettle_spawn spawn = {
		.size = sizeof(spawn),
		.file = "sh",
		.argv = argv,
		.max_line = 1000000,
		.on_stdout = on_stdout,
		.on_stderr = on_stderr,
		.on_exit = on_exit_,
		.read_long = read_long,
		.on_long = on_long,
		.arg = f,
		.on_bytes = on_bytes,
	};
	long_reading = 0;
	return loop_spawn(f->io, &spawn, &f->process, NULL);
}

static void
turn_until_said(struct fixture *f, const char *said)
{
	while (!f->err.data || !strstr(f->err.data, said))
		(void)uv_run(&f->loop, UV_RUN_ONCE);
}

static int
setup_long(void **state)
{
	return uv_sem_init(&long_go, 0) || setup(state);
}

static int
teardown_long(void **state)
{
	int rc = teardown(state);
	uv_sem_destroy(&long_go);
	return rc;
}

/* A thread reads them, in their order, a last one without a newline too; all but their stream goes on meanwhile. */
static void
test_long_lines(void **state)
{
	struct fixture *f = *state, other = {.io = f->io};
	assert_int_equal(start_long(f, "echo a; " LONG "; echo; echo b; " LONG "; echo; echo written >&2; " LONG), 0);
	while (!f->out.data)
		(void)uv_run(&f->loop, UV_RUN_ONCE);
	assert_int_equal(start(&other, "echo here; exit 2", NULL), 0);
	run_until(f, &other.exits, 1);
	assert_string_equal(other.out.data, "here|");
	assert_int_equal(loop_timer_start(f->io, 1, 0, count, f, NULL, NULL), 0);
	run_until(f, &f->count, 1);
	assert_string_equal(f->out.data, "a|");
	uv_sem_post(&long_go);
	turn_until_said(f, "written");
	assert_string_equal(f->out.data, "a|pool300000|b|");
	uv_sem_post(&long_go);
	uv_sem_post(&long_go);
	run_until(f, &f->exits, 1);
	assert_string_equal(f->out.data, "a|pool300000|b|pool300000|pool300000|");
	buf_free(&other.out);
}

/* on_exit waits for a line that is being read, and for what the pipe still has, however long that takes. */
static void
test_long_line_of_the_dead(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(start_long(f, LONG "; echo; echo b; echo written >&2; exec sleep 1000"), 0);
	turn_until_said(f, "written");
	loop_process_kill(f->io, f->process, SIGKILL);
	int drains = 0;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(loop_timer_start(f->io, CHILD_DRAIN_MS, 0, wait_over, &drains, NULL, NULL), 0);
		run_until(f, &drains, i + 1);
	}
	assert_null(f->out.data);
	assert_int_equal(f->exits, 0);
	uv_sem_post(&long_go);
	run_until(f, &f->exits, 1);
	assert_string_equal(f->out.data, "pool300000|b|");
	assert_int_equal(f->signal, SIGKILL);
}

/* All is closed while one is read: it still comes, and what is behind it. */
static void
test_long_line_at_close(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(start_long(f, LONG "; echo; echo b; echo written >&2; exec sleep 1000"), 0);
	turn_until_said(f, "written");
	loop_close(f->io, on_closed, f);
	f->io = NULL;
	for (int i = 0; i < 10; i++)
		(void)uv_run(&f->loop, UV_RUN_NOWAIT);
	assert_false(f->closed);
	uv_sem_post(&long_go);
	run_until(f, &f->exits, 1);
	assert_string_equal(f->out.data, "pool300000|b|");
}

static void
on_cut(void *arg, const char *head, size_t len)
{
	struct fixture *f = arg;
	assert_memory_equal(head, "head", 4);
	buf_printf(&f->out, "cut%zu|", len);
}

static int
start_cut(struct fixture *f, const char *script)
{
	const char *const argv[] = {"sh", "-c", script, NULL};
	const struct kettle_spawn spawn = {.size = sizeof(spawn),
		.file = "sh",
		.argv = argv,
		.max_line = 200000,
		.on_stdout = on_stdout,
		.on_exit = on_exit_,
		.arg = f,
		.on_cut = on_cut};
	return loop_spawn(f->io, &spawn, &f->process, NULL);
}

/* A line that is too long is cut, as often as one comes, and what is behind it goes on. */
static void
test_cut_lines(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(start_cut(f, "echo a; printf head; " LONG "; echo; echo b; printf head; " LONG "; exit 3"), 0);
	run_until(f, &f->exits, 1);
	assert_string_equal(f->out.data, "a|cut1024|b|cut1024|");
	assert_int_equal(f->status, 3);
}

/* One without end is no line any more. */
static void
test_endless_line(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(start_cut(f, "printf head; exec cat /dev/zero"), 0);
	run_until(f, &f->exits, 1);
	assert_string_equal(f->out.data, "cut1024|");
	assert_int_equal(f->signal, SIGKILL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TEST_LONG(name) cmocka_unit_test_setup_teardown(name, setup_long, teardown_long)
static const struct CMUnitTest tests[] = {
	TEST(test_posts_of_threads),
	TEST(test_posts_before_close),
	TEST(test_work),
	TEST(test_timers),
	TEST(test_child_lines),
	TEST(test_child_stdin),
	TEST(test_child_that_does_not_read),
	TEST(test_child_killed),
	TEST(test_child_long_line),
	TEST(test_child_leaves_one_behind),
	TEST(test_missing_program),
	TEST(test_close_kills),
	TEST(test_close_with_all),
	TEST(test_cut_lines),
	TEST(test_endless_line),
	TEST_LONG(test_long_lines),
	TEST_LONG(test_long_line_of_the_dead),
	TEST_LONG(test_long_line_at_close),
};

UNIT_TESTS(test_loop_services, .words = "waiting tsan");
