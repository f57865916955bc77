/* SPDX-License-Identifier: MIT */
/* The names of kernels, and which of them a profile covers. */
#include <config.h>

#include "profile/profile.h"

#include "base/base.h"

#define REGEX "regex:"
#define ANONYMOUS "(anonymous namespace)"
#define NAME_SHOWN 100  /* bytes of a name in a sentence */
#define NAMES_SHOWN 600 /* bytes of all */

void
kernel_names_add(struct kernel_names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->list[i], name) == 0)
			return;
	if (names->count == KERNELS_NAMED)
		names->more++;
	else
		names->list[names->count++] = xstrdup(name);
}

void
kernel_names_text(const struct kernel_names *names, struct buf *out)
{
	size_t shown = 0, start = out->len;
	for (; shown < names->count && out->len - start < NAMES_SHOWN; shown++) {
		buf_adds(out, shown ? ", `" : "`");
		report_word(out, names->list[shown], NAME_SHOWN);
		buf_adds(out, "`");
	}
	if (names->count == 0)
		buf_adds(out, "none");
	else if (shown < names->count || names->more > 0)
		buf_adds(out, " and more");
}

void
kernel_names_free(struct kernel_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->list[i]);
	*names = (struct kernel_names){0};
}

int
kernel_match_init(struct kernel_match *match, const struct profile_capture *capture, struct kettle_error *err)
{
	const char *kernel = capture->kernel;
	*match = (struct kernel_match){.name = kernel,
		.function = !capture->kernel_base || strcmp(capture->kernel_base, "function") == 0,
		.skip = capture->skip ? strtoull(capture->skip, NULL, 10) : 0,
		.launches = capture->launches ? strtoull(capture->launches, NULL, 10) : 0};
	if (!kernel || strncmp(kernel, REGEX, strlen(REGEX)) != 0)
		return 0;
	if (regcomp(&match->regex, kernel + strlen(REGEX), REG_EXTENDED | REG_NOSUB) != 0)
		return kettle_fail(err, KETTLE_EINVAL, "The kernel filter is not a valid regular expression.");
	match->compiled = true;
	return 0;
}

/* The length of a name without its template and arguments. */
static size_t
plain_length(const char *name)
{
	size_t len = 0;
	while (
		name[len] && name[len] != '<' && (name[len] != '(' || strncmp(name + len, ANONYMOUS, strlen(ANONYMOUS)) == 0))
		len += name[len] == '(' ? strlen(ANONYMOUS) : 1;
	return len;
}

char *
kernel_function(const char *name)
{
	size_t len = plain_length(name), from = len;
	while (from > 0 && name[from - 1] != ' ' && name[from - 1] != ':' && name[from - 1] != '*' && name[from - 1] != '&')
		from--;
	return xstrndup(name + from, len - from);
}

static bool
is_meant(const struct kernel_match *match, const char *name)
{
	AUTO_FREE char *function = match->function ? kernel_function(name) : NULL;
	const char *compared = function ? function : name;
	if (!match->name)
		return true;
	return match->compiled ? regexec(&match->regex, compared, 0, NULL, 0) == 0 : strcmp(compared, match->name) == 0;
}

bool
kernel_match_takes(struct kernel_match *match, const char *name)
{
	if (!is_meant(match, name))
		return false;
	unsigned long long number = match->seen++;
	return number >= match->skip && (match->launches == 0 || number - match->skip < match->launches);
}

void
kernel_match_free(struct kernel_match *match)
{
	if (match->compiled)
		regfree(&match->regex);
	*match = (struct kernel_match){0};
}
