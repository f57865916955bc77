/* SPDX-License-Identifier: MIT */
/* The main of a folder's tests. */
#include <config.h>

#include "lib/unit_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct unit_tests *files; /* by name */

void
unit_tests_add(struct unit_tests *file)
{
	struct unit_tests **at = &files;
	while (*at && strcmp((*at)->name, file->name) < 0)
		at = &(*at)->next;
	file->next = *at;
	*at = file;
}

bool
everything_runs(void)
{
	const char *size = getenv("KETTLE_TEST_SIZE");
	return !size || strcmp(size, "all") == 0;
}

/* ---- one test ---- */

static const char *file_name;
static const struct CMUnitTest *original, *next;

/* In place of each test's setup and of the test: cmocka tells no test its name. */
static int
begin(void **state)
{
	original = next++;
	sentences_begin(file_name, original->name);
	return original->setup_func ? original->setup_func(state) : 0;
}

static void
pass(void **state)
{
	original->test_func(state);
	sentences_end();
}

/* The tests as cmocka gets them. */
static struct CMUnitTest *
named(const struct unit_tests *file, const struct CMUnitTest *tests, size_t count)
{
	struct CMUnitTest *result = calloc(count + 1, sizeof(*result));
	if (!result)
		abort();
	file_name = file->name;
	next = tests;
	for (size_t i = 0; i < count; i++) {
		result[i] = tests[i];
		result[i].setup_func = begin;
		result[i].test_func = pass;
	}
	return result;
}

/* ---- one file ---- */

static CMFixtureFunction teardown;
static bool torn_down;

/* cmocka forgets in its result that a teardown failed, and an assertion in one does not return. */
static int
tear_down(void **state)
{
	int rc = teardown ? teardown(state) : 0;
	torn_down = rc == 0;
	return rc;
}

static int
run(const struct unit_tests *file, const struct CMUnitTest *tests, size_t count)
{
	const char *lack = file->prepare ? file->prepare() : NULL;
	if (lack) {
		printf("1..0 # SKIP %s\n", lack);
		return 0;
	}
	teardown = file->teardown;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	struct CMUnitTest *all = named(file, tests, count);
	int failed = _cmocka_run_group_tests(file->name, all, count, file->setup, tear_down);
	free(all);
	return failed || !torn_down;
}

static const struct CMUnitTest *
find_test(const struct unit_tests *file, const char *name)
{
	for (size_t i = 0; i < file->count; i++)
		if (strcmp(file->tests[i].name, name) == 0)
			return &file->tests[i];
	return NULL;
}

static int
run_some(const struct unit_tests *file, char **names, size_t count)
{
	struct CMUnitTest *chosen = calloc(count, sizeof(*chosen));
	for (size_t i = 0; i < count; i++) {
		const struct CMUnitTest *test = find_test(file, names[i]);
		if (!chosen || !test) {
			fprintf(stderr, "%s has no test `%s`.\n", file->name, names[i]);
			free(chosen);
			return 2;
		}
		chosen[i] = *test;
	}
	int failed = run(file, chosen, count);
	free(chosen);
	return failed;
}

/* ---- all files ---- */

/* Writes a line of a file's own TAP as one of the whole; returns whether it is a failure. */
static bool
pass_on(const char *name, const char *line, unsigned *number)
{
	int rest = 0;
	bool failed = strncmp(line, "not ok ", 7) == 0;
	(void)sscanf(line, "1..0 # %n", &rest);
	if (rest) {
		printf("ok %u - %s # %s", ++*number, name, line + rest);
		return false;
	}
	(void)sscanf(line, failed ? "not ok %*u - %n" : "ok %*u - %n", &rest);
	if (rest)
		printf("%sok %u - %s: %s", failed ? "not " : "", ++*number, name, line + rest);
	else if (strncmp(line, "1..", 3) != 0)
		(void)fputs(line, stdout);
	return failed;
}

/* In a process of its own, as by itself: what a file does to its process reaches no other file. */
static bool
run_apart(const struct unit_tests *file, unsigned *number)
{
	int ends[2], status = 0;
	char *line = NULL;
	size_t size = 0;
	bool failed = false;
	(void)fflush(stdout);
	pid_t child = pipe(ends) == 0 ? fork() : -1;
	if (child < 0) {
		perror(file->name);
		return true;
	}
	if (child == 0) {
		(void)dup2(ends[1], 1);
		close(ends[0]);
		close(ends[1]);
		exit(run(file, file->tests, file->count));
	}
	close(ends[1]);
	FILE *said = fdopen(ends[0], "r");
	while (said && getline(&line, &size, said) > 0)
		failed |= pass_on(file->name, line, number);
	free(line);
	if (said)
		(void)fclose(said);
	(void)waitpid(child, &status, 0);
	if (status && !failed)
		printf("not ok %u - %s ended with the wait status %d\n", ++*number, file->name, status);
	return failed || status;
}

static int
run_all(void)
{
	unsigned number = 0;
	bool failed = false;
	for (const struct unit_tests *file = files; file; file = file->next)
		failed |= run_apart(file, &number);
	printf("1..%u\n", number);
	return failed;
}

static int
list(void)
{
	for (const struct unit_tests *file = files; file; file = file->next)
		printf("%s%s%s\n", file->name, file->words ? " " : "", file->words ? file->words : "");
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc < 2)
		return run_all();
	if (strcmp(argv[1], "--list") == 0)
		return list();
	for (const struct unit_tests *file = files; file; file = file->next)
		if (strcmp(file->name, argv[1]) == 0)
			return argc > 2 ? run_some(file, argv + 2, (size_t)argc - 2) : run(file, file->tests, file->count);
	fprintf(stderr, "%s has no tests `%s`; %s --list prints all.\n", argv[0], argv[1], argv[0]);
	return 2;
}
