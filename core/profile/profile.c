/* SPDX-License-Identifier: MIT */
/* One run of a harness under a profiler: the common part of all profilers. */
#include <config.h>

#include "profile/profile.h"

#include <stdarg.h>

#include "base/base.h"
#include "base/file.h"

#define TROUBLE_MAX 1000 /* bytes of the sentence */
#define LINE_MAX_SHOWN 300
#define VERSION_TEXT 4096 /* bytes that are looked at */
#define VERSION_SECONDS 10

void
profile_set_problem(struct profile *profile, const char *format, ...)
{
	char sentence[TROUBLE_MAX];
	va_list args;
	if (profile->trouble.len > 0)
		return;
	va_start(args, format);
	(void)vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	report_word(&profile->trouble, sentence, TROUBLE_MAX);
}

int
profile_plain(struct profile *profile, struct kettle_error *err)
{
	struct child child = {.mark = -1};
	child_add_list(&child, profile->program);
	int rc = child_run(&child, err);
	profile->status = child.status;
	child_close(&child);
	return rc;
}

/* The last line that is not empty; NUL-terminated in place. */
static const char *
last_line(char *text)
{
	size_t len = strlen(text);
	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r' || text[len - 1] == ' '))
		text[--len] = '\0';
	const char *newline = strrchr(text, '\n');
	return newline ? newline + 1 : text;
}

int
profile_under(struct profile *profile, struct child *child, const char *name, struct kettle_error *err)
{
	char number[16];
	int rc = child_make_mark(child, err);
	if (rc != 0)
		return rc;
	(void)snprintf(number, sizeof(number), "%d", child->mark);
	child_add(child, profile->self, "--start", number, NULL);
	child_add_list(child, profile->program);
	rc = child_run(child, err);
	profile->status = child->status;
	if (rc != 0 || child->started)
		return rc;
	const char *line = last_line(child->tail);
	profile_set_problem(
		profile, "%s did not start the program: %.*s", name, LINE_MAX_SHOWN, *line ? line : "no reason was given.");
	return profile_plain(profile, err);
}

/* Takes as much of the text as may hold the line. */
static int
take_version(void *arg, const char *data, size_t size)
{
	struct buf *text = arg;
	size_t room = VERSION_TEXT - text->len;
	buf_add(text, data, size < room ? size : room);
	return 0;
}

void
profile_version(const struct profile *profile, struct buf *out)
{
	const char *argv[] = {profile->tool, "--version", NULL};
	AUTO_BUF struct buf text = {0};
	char *rest = NULL, *found = NULL;
	if (child_read(argv, VERSION_SECONDS, take_version, &text, NULL) != 0 || text.len == 0)
		return;
	for (char *line = strtok_r(text.data, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
		bool tells = strcasestr(line, "version") && strpbrk(line, "0123456789");
		found = !found || (tells && !strcasestr(found, "version")) ? line : found;
	}
	if (found)
		report_word(out, found, REPORT_MAX_WORD);
}

void
profile_keep(struct profile *profile, const char *name)
{
	size_t used = 0;
	while (used < PROFILE_FILES && profile->left[used])
		used++;
	if (used < PROFILE_FILES)
		profile->left[used] = name;
}

void
profile_leave(struct profile *profile, const char *name, const struct buf *contents)
{
	struct kettle_error err = {0};
	AUTO_FREE char *path = path_join(PROFILE_OUT, name);
	if (file_write(path, contents->data ? contents->data : "", contents->len, 0644, &err) < 0)
		profile_set_problem(profile, "`%s` could not be kept: %s", name, err.message);
	else
		profile_keep(profile, name);
}

static bool
is_left(const struct profile *profile, const char *name)
{
	for (size_t i = 0; i < PROFILE_FILES && profile->left[i]; i++)
		if (strcmp(profile->left[i], name) == 0)
			return true;
	return false;
}

void
profile_drop_planted(const struct profile *profile, const char *const *names)
{
	for (; *names; names++) {
		AUTO_FREE char *path = path_join(PROFILE_OUT, *names);
		if (!is_left(profile, *names))
			(void)file_remove_tree(path, NULL);
	}
}
