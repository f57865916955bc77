/* SPDX-License-Identifier: MIT */
/* The sentences that tests compare, in one file. */
#include <config.h>

#include "lib/unit_test.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LETTERS "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define HOST "127.0.0.1:"

/* Of the test that runs. */
static const char *file_name = "", *test_name = "";
static unsigned said;

/* Whether a text begins with a date of these days, which a test has not chosen. */
static bool
is_near_date(const char *text)
{
	struct tm day = {0};
	const char *end = text[0] == '2' ? strptime(text, "%Y-%m-%d", &day) : NULL;
	return end && end - text == (ptrdiff_t)strlen("2026-07-31") &&
		   llabs((long long)(timegm(&day) - time(NULL))) < 3LL * 24 * 60 * 60;
}

/*
 * The text without what differs from run to run: files below TMPDIR are {tmp}, the sources {top}, a port {port}, a date of
 * these days {day}. New string.
 */
static char *
settled(const char *text)
{
	const char *tmp = getenv("TMPDIR"), *top = getenv("top_srcdir");
	char *result = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&result, &size);
	const char *from = text;
	tmp = tmp && *tmp ? tmp : "/tmp";
	while (out && *text) {
		size_t in_tmp = strncmp(text, tmp, strlen(tmp)) == 0 ? strlen(tmp) : 0;
		size_t in_top = top && *top == '/' && strncmp(text, top, strlen(top)) == 0 ? strlen(top) : 0;
		size_t port = (size_t)(text - from) >= strlen(HOST) && strncmp(text - strlen(HOST), HOST, strlen(HOST)) == 0
						  ? strspn(text, "0123456789")
						  : 0;
		bool day = is_near_date(text);
		if (in_tmp || in_top || port || day)
			(void)fputs(in_tmp ? "{tmp}" : in_top ? "{top}" : port ? "{port}" : "{day}", out);
		else
			(void)fputs(*text == '\n' ? "\\n" : (char[]){*text, '\0'}, out);
		text += in_tmp   ? in_tmp + strspn(text + in_tmp, "/.-_" LETTERS)
				: in_top ? in_top
				: port   ? port
				: day    ? strlen("2026-07-31")
						 : 1;
	}
	if (out)
		(void)fclose(out);
	return result;
}

/* What the golden file has for a key, "FILE TEST NUMBER: "; NULL: nothing. New string. */
static char *
golden(const char *key)
{
	char path[4096], *line = NULL;
	size_t size = 0;
	(void)snprintf(path, sizeof(path), "%s/tests/sentences.golden", getenv("top_srcdir") ? getenv("top_srcdir") : ".");
	FILE *in = fopen(path, "re");
	if (!in)
		fail_msg("%s cannot be opened", path);
	ssize_t len = 0;
	while ((len = getline(&line, &size, in)) > 0 && strncmp(line, key, strlen(key)) != 0)
		continue;
	(void)fclose(in);
	if (len <= 0) {
		free(line);
		return NULL;
	}
	line[strcspn(line, "\n")] = '\0';
	memmove(line, line + strlen(key), strlen(line + strlen(key)) + 1);
	return line;
}

void
assert_sentence(const char *text)
{
	const char *seen = getenv("KETTLE_SENTENCES");
	char key[256];
	(void)snprintf(key, sizeof(key), "%s %s %u: ", file_name, test_name, ++said);
	char *now = settled(text), *before = seen ? NULL : golden(key);
	FILE *to = seen ? fopen(seen, "ae") : NULL;
	if (to) {
		(void)fprintf(to, "%s%s\n", key, now);
		(void)fclose(to);
	} else if (!before || strcmp(now, before) != 0) {
		fail_msg("%sit says \"%s\", but sentences.golden has \"%s\"", key, now, before ? before : "");
	}
	free(before);
	free(now);
}

void
sentences_begin(const char *file, const char *test)
{
	file_name = file;
	test_name = test;
	said = 0;
}

void
sentences_end(void)
{
	char key[256];
	(void)snprintf(key, sizeof(key), "%s %s %u: ", file_name, test_name, said + 1);
	char *more = getenv("KETTLE_SENTENCES") ? NULL : golden(key);
	if (more)
		fail_msg("%sit says no more, but sentences.golden has \"%s\"", key, more);
}
