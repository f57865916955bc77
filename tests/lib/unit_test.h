/* SPDX-License-Identifier: MIT */
/*
 * The tests in C of a folder are one program. Each of its files has a table `tests` and says UNIT_TESTS(NAME), where NAME
 * is the base name of the file; main is in unit_test.c.
 *
 *   PROGRAM                   runs all files, one after the other, each in a process of its own
 *   PROGRAM NAME [TEST...]    runs one file, or only these tests of it, in this process
 *   PROGRAM --list            prints a line for each file: its name and its words
 *
 * The first two print TAP. They exit with 0 if all tests passed, otherwise with 1, and with 2 if there is no such name.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct unit_tests {
	const char *name;
	/*
	 * When and where it runs, for tests/lib/run_tests.py, with a blank between words; NULL: none of them.
	 *   waiting  it waits for most of its time      alone  it needs the whole machine
	 *   plain    in the build without sanitizers    tsan   also under ThreadSanitizer      all  only by test --all
	 *   long     it begins before the others
	 */
	const char *words;
	const struct CMUnitTest *tests;
	size_t count;
	/* Runs before all else; returns why this machine cannot run the tests, or NULL. NULL: every machine can. */
	const char *(*prepare)(void);
	/* Run before the first and after the last test, as cmocka's of a group; NULL: nothing. */
	CMFixtureFunction setup, teardown;
	struct unit_tests *next;
};

/* Before main. */
void unit_tests_add(struct unit_tests *file);

/* Whether everything runs, and not only what the gate runs. */
bool everything_runs(void);

/*
 * Fails the test unless it says this text at this place: tests/sentences.golden has the sentences of each test in their
 * order, and `make update-sentences` writes them anew. On the thread of the test.
 */
void assert_sentence(const char *text);
/* Around each test; they are in a file of their own (sentence.c), which programs with another main link. */
void sentences_begin(const char *file, const char *test);
void sentences_end(void);

/* UNIT_TESTS(test_http, .words = "tsan", .setup = world_setup); a name that occurs twice in a program does not link. */
#define UNIT_TESTS(file, ...) \
	extern struct unit_tests unit_tests_##file; \
	__attribute__((constructor)) static void add_##file(void) \
	{ \
		unit_tests_add(&unit_tests_##file); \
	} \
	struct unit_tests unit_tests_##file = { \
		.name = #file, .tests = tests, .count = sizeof(tests) / sizeof(tests[0]), __VA_ARGS__}
