/* SPDX-License-Identifier: MIT */
/* A child that runs this very program: how it ends, and what is left where it does not want to. */
#include <config.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/xalloc.h"
#include "exec/sealed/run_child.h"
#include "lib/unit_test.h"

#define MAX_LINE 1000
#define BIG (4u << 20) /* bytes of an input that fits no pipe */

/* What the parent has read. */
struct talk {
	struct buf said;
	unsigned lines;
};

/* "last" is the last line, "rubbish" is none, "end me" has this process told to end. */
static int
take_line(void *arg, char *line, size_t len)
{
	struct talk *talk = arg;
	talk->lines++;
	if (talk->lines < 10) {
		buf_add(&talk->said, line, len);
		buf_adds(&talk->said, ";");
	}
	if (strcmp(line, "end me") == 0)
		(void)kill(getpid(), SIGTERM);
	return strcmp(line, "last") == 0      ? RUN_CHILD_LAST
		   : strcmp(line, "rubbish") == 0 ? RUN_CHILD_INVALID
										  : RUN_CHILD_MORE;
}

static struct run_child_end
run(const char *how, const char *input, size_t size, struct talk *talk)
{
	char *argv[] = {"child", (char *)how, NULL};
	struct run_child_end end;
	struct kettle_error err = {0};
	if (run_child(argv, input, size, MAX_LINE, take_line, talk, &end, &err))
		fail_msg("%s", err.message);
	return end;
}

/* ---- what the child does ---- */

static void
say(const char *text)
{
	(void)write_all(1, text, strlen(text));
}

static _Noreturn void
stay(void)
{
	for (;;)
		(void)pause();
}

static int
be_child(const char *how)
{
	char chunk[65536];
	ssize_t n = 0;
	size_t all = 0;
	if (strcmp(how, "echo") == 0) {
		while ((n = read(0, chunk, sizeof(chunk))) > 0)
			all += (size_t)n;
		(void)printf("one\n%zu\nlast\n", all);
		return 3;
	}
	if (strcmp(how, "environment") == 0)
		say(getenv("KETTLE_TEST_CHILD") ? "has it\nlast\n" : "has it not\nlast\n");
	if (strcmp(how, "complain") == 0)
		(void)write_all(2, "first\nthe \x1b[1mlast\xff words\n\n", 26);
	if (strcmp(how, "stay") != 0)
		(void)signal(SIGTERM, SIG_IGN);
	if (strcmp(how, "rubbish") == 0) {
		say("rubbish\n");
		stay();
	}
	if (strcmp(how, "stay") == 0 || strcmp(how, "stubborn") == 0 || strcmp(how, "twice") == 0) {
		say("end me\n");
		/* Signals that wait merge: so many that the parent takes one before it reads another line. */
		while (strcmp(how, "twice") == 0)
			say("end me\n");
		stay();
	}
	if (strcmp(how, "long") == 0)
		for (;;)
			if (write_all(1, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 50))
				return 0;
	if (strcmp(how, "cut") == 0)
		say("no newline");
	return 0;
}

/* Under the name `child`, this program is one and does not come to main. */
__attribute__((constructor)) static void
be_child_instead(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[0], "child") == 0)
		exit(be_child(argv[1]));
}

/* ---- what comes of it ---- */

static void
test_talks(void **state)
{
	(void)state;
	struct talk talk = {0};
	AUTO_FREE char *input = xcalloc(BIG, 1);
	struct run_child_end end = run("echo", input, BIG, &talk);
	assert_string_equal(talk.said.data, "one;4194304;last;");
	assert_true(WIFEXITED(end.status));
	assert_int_equal(WEXITSTATUS(end.status), 3);
	assert_false(end.killed || end.invalid_lines || end.told);
	assert_string_equal(end.last_stderr, "");
	buf_free(&talk.said);
}

/* One that does not read its input ends all the same. */
static void
test_deaf(void **state)
{
	(void)state;
	struct talk talk = {0};
	AUTO_FREE char *input = xcalloc(BIG, 1);
	assert_int_equal(setenv("KETTLE_TEST_CHILD", "1", 1), 0);
	struct run_child_end end = run("environment", input, BIG, &talk);
	assert_string_equal(talk.said.data, "has it;last;");
	assert_int_equal(end.status, 0);
	buf_free(&talk.said);
}

static void
test_complains(void **state)
{
	(void)state;
	struct talk talk = {0};
	struct run_child_end end = run("complain", "", 0, &talk);
	assert_int_equal(talk.lines, 0);
	/* What could change a terminal, and what is no UTF-8, is replaced. */
	assert_string_equal(end.last_stderr, "the \xef\xbf\xbd[1mlast\xef\xbf\xbd words");
	buf_free(&talk.said);
}

static void
test_rubbish(void **state)
{
	(void)state;
	static const char *const hows[] = {"rubbish", "long"};
	for (size_t i = 0; i < ARRAY_SIZE(hows); i++) {
		struct talk talk = {0};
		struct run_child_end end = run(hows[i], "", 0, &talk);
		assert_true(end.killed && end.invalid_lines);
		assert_true(WIFSIGNALED(end.status));
		assert_int_equal(WTERMSIG(end.status), SIGKILL);
		buf_free(&talk.said);
	}
}

static void
test_cut(void **state)
{
	(void)state;
	struct talk talk = {0};
	struct run_child_end end = run("cut", "", 0, &talk);
	assert_string_equal(talk.said.data, "no newline;");
	assert_false(end.killed);
	buf_free(&talk.said);
}

/* A signal reaches the child as SIGTERM; one that ignores it is killed by the next one, or in time. */
static void
test_told(void **state)
{
	(void)state;
	static const char *const hows[] = {"stay", "stubborn", "twice"}; /* the last one leaves signals behind */
	for (size_t i = 0; i < ARRAY_SIZE(hows); i++) {
		struct talk talk = {0};
		struct run_child_end end = run(hows[i], "", 0, &talk);
		assert_int_equal(end.told, SIGTERM);
		assert_int_equal(end.killed, i > 0);
		assert_int_equal(WTERMSIG(end.status), i > 0 ? SIGKILL : SIGTERM);
		assert_false(end.invalid_lines);
		buf_free(&talk.said);
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
	cmocka_unit_test(test_talks),
	cmocka_unit_test(test_deaf),
	cmocka_unit_test(test_complains),
	cmocka_unit_test(test_rubbish),
	cmocka_unit_test(test_cut),
	cmocka_unit_test(test_told),
};

UNIT_TESTS(test_run_child, .words = "waiting", .setup = ignore_sigpipe);
