/* SPDX-License-Identifier: MIT */
/*
 * Whether a source may have lambdas of device code, which need a flag of nvcc that slows down compiling.
 *
 * Such a lambda is `[…] __device__ (…)`, or has a macro in place of `__device__`: a word behind a closing bracket. The
 * search covers the source and the task's files that it includes. It judges headers of the machine by name: those of
 * the standard library and the toolkit's plain ones have no such lambda; every other one may have one.
 */
#include <config.h>

#include "lambda.h"

#include <ctype.h>

#include "base/base.h"

/* Headers with a dot or a slash in their names that have no such lambda. */
static const char *const headers[] = {"assert.h", "cooperative_groups.h", "cublasLt.h", "cublas_v2.h", "cuda.h",
	"cuda_bf16.h", "cuda_fp16.h", "cuda_fp8.h", "cuda_runtime.h", "cuda_runtime_api.h", "curand.h",
	"device_launch_parameters.h", "errno.h", "fcntl.h", "float.h", "hip/hip_runtime.h", "inttypes.h", "limits.h",
	"math.h", "mma.h", "nvtx3/nvToolsExt.h", "signal.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h",
	"string.h", "sys/stat.h", "sys/types.h", "time.h", "unistd.h", "vector_types.h", NULL};
/* Names without a dot that are not the standard library's. */
static const char *const strangers[] = {"nvfunctional", NULL};
/* Words that test for the flag, and spellings of brackets and text that are not parsed here. */
static const char *const doubtful[] = {"EXTENDED_LAMBDA", "__nv_is_extended", ":>",
	"?"
	"?)",
	NULL};

struct search {
	const json_t *files;
	json_t *seen; /* names as keys */
};

static bool is_doubtful_file(struct search *search, const char *name, int depth);

static bool
has_name(const char *const *list, const char *name)
{
	for (; *list; list++)
		if (strcmp(*list, name) == 0)
			return true;
	return false;
}

/* ---- comments and strings ---- */

/* The length of the comment or quoted text that begins here; 0: none. */
static size_t
skipped(const char *text, size_t at)
{
	const char *from = text + at, *end;
	if (from[0] == '/' && from[1] == '/')
		return strcspn(from, "\n");
	if (from[0] == '/' && from[1] == '*') {
		end = strstr(from + 2, "*/");
		return end ? (size_t)(end + 2 - from) : strlen(from);
	}
	/* 1'000 */
	bool quote = from[0] == '"' || (from[0] == '\'' && (at == 0 || !isalnum((unsigned char)from[-1])));
	if (!quote)
		return 0;
	for (end = from + 1; *end && *end != from[0] && *end != '\n'; end++)
		if (*end == '\\' && end[1])
			end++;
	return (size_t)(end - from) + (*end == from[0]);
}

/* Overwrites comments, quoted texts and escaped line ends with blanks, except in includes. False: there is an R"(. */
static bool
blank(char *text)
{
	bool first = true, include = false; /* of a line */
	for (size_t at = 0; text[at];) {
		if (text[at] == '"' && at > 0 && text[at - 1] == 'R')
			return false;
		size_t len = include && text[at] == '"' ? 0 : skipped(text, at);
		if (len == 0 && text[at] == '\\' && text[at + 1] == '\n')
			len = 2;
		if (len > 0) {
			memset(text + at, ' ', len);
			at += len;
			continue;
		}
		if (first && text[at] == '#')
			include = strncmp(text + at + 1 + strspn(text + at + 1, " \t"), "include", strlen("include")) == 0;
		if (text[at] == '\n')
			include = false;
		first = text[at] == '\n' || (first && (text[at] == ' ' || text[at] == '\t'));
		at++;
	}
	return true;
}

/* ---- lambdas and includes ---- */

static const char *
after_blanks(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

static bool
begins_word(const char *at)
{
	return isalpha((unsigned char)*at) || *at == '_';
}

/* `delete[] p`, `delete [] p`. at: the closing bracket. */
static bool
is_delete(const char *text, const char *at)
{
	static const char word[] = "delete";
	if (at == text || at[-1] != '[')
		return false;
	for (at--; at > text && (at[-1] == ' ' || at[-1] == '\t'); at--)
		;
	size_t len = strlen(word);
	return (size_t)(at - text) >= len && strncmp(at - len, word, len) == 0;
}

/* A lambda's captures with a word behind them; the second bracket of [[nodiscard]] is none. */
static bool
has_captures(const char *text)
{
	for (const char *at = text; (at = strchr(at, ']')); at++) {
		bool attribute = at > text && at[-1] == ']';
		if (begins_word(after_blanks(at + 1)) && !attribute && !is_delete(text, at))
			return true;
	}
	return false;
}

/* `[] (int i) __device__ {…}` */
static bool
has_late_word(const char *text)
{
	for (const char *at = text; (at = strchr(at, ')')); at++) {
		const char *word = after_blanks(at + 1);
		if (strncmp(word, "__device__", 10) == 0 || strncmp(word, "__host__", 8) == 0)
			return true;
	}
	return false;
}

/* The file of the task that this name includes, also by -I; NULL: none. */
static const char *
find_lambda_file(const struct search *search, const char *name)
{
	json_object_each(search->files, key, contents) {
		size_t len = strlen(key), tail = strlen(name);
		if (len >= tail && strcmp(key + len - tail, name) == 0 && (len == tail || key[len - tail - 1] == '/'))
			return key;
	}
	return NULL;
}

static bool
is_doubtful_header(const char *name)
{
	return strpbrk(name, "./") ? !has_name(headers, name) : has_name(strangers, name);
}

/* Whether the file after #include may have a lambda. */
static bool
is_doubtful_include(struct search *search, const char *from, int depth)
{
	char name[256];
	from += strspn(from, " \t");
	size_t len = *from == '"' || *from == '<' ? strcspn(from + 1, *from == '"' ? "\"\n" : ">\n") : 0;
	if (len == 0 || len >= sizeof(name))
		return true;
	memcpy(name, from + 1, len);
	name[len] = '\0';
	const char *file = find_lambda_file(search, name);
	return file ? is_doubtful_file(search, file, depth + 1) : is_doubtful_header(name);
}

static bool
has_doubtful_include(struct search *search, const char *text, int depth)
{
	static const char word[] = "include";
	for (const char *at = text; (at = strchr(at, '#')); at++) {
		const char *from = at + 1 + strspn(at + 1, " \t");
		if (strncmp(from, word, strlen(word)) == 0 && is_doubtful_include(search, from + strlen(word), depth))
			return true;
	}
	return false;
}

static bool
is_doubtful_text(struct search *search, char *text, int depth)
{
	for (size_t i = 0; doubtful[i]; i++)
		if (strstr(text, doubtful[i]))
			return true;
	return !blank(text) || has_captures(text) || has_late_word(text) || has_doubtful_include(search, text, depth);
}

static bool
is_doubtful_file(struct search *search, const char *name, int depth)
{
	const char *text = json_string_value(json_object_get(json_object_get(search->files, name), "text"));
	if (text && json_object_get(search->seen, name))
		return false;
	char *copy = text && depth <= LAMBDA_MAX_DEPTH && json_object_set_new(search->seen, name, json_true()) == 0
					 ? strdup(text)
					 : NULL;
	bool found = !copy || is_doubtful_text(search, copy, depth);
	free(copy);
	return found;
}

bool
lambda_may_be_in(const json_t *files, const char *source)
{
	struct search search = {.files = files, .seen = json_object()};
	bool found = is_doubtful_file(&search, source, 0);
	json_decref(search.seen);
	return found;
}
