/* SPDX-License-Identifier: MIT */
/* Memory of the programs: running out of it ends the process. */
#include <config.h>

#include "base/xalloc.h"

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_NO_MEMORY 3 /* as kettle_error_exit(KETTLE_ENOMEM) */

#ifdef __SANITIZE_ADDRESS__
/*
 * handle_sigill: a failed check of UndefinedBehaviorSanitizer is an illegal instruction, which AddressSanitizer reports,
 * for programs with a handler of their own, too.
 * intercept_tls_get_addr: where a thread's storage of a loaded library lies 16 bytes behind the begin of a page, the
 * runtime of GCC 12 takes what precedes it for a header of older C libraries. LeakSanitizer then reads wrong addresses,
 * and the program ends with a fatal error.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
	return "handle_sigill=2:intercept_tls_get_addr=0";
}
#endif

void
xalloc_fail(void)
{
	const char *const parts[] = {program_invocation_short_name, ": There is not enough memory; the process ends.\n"};
	for (size_t i = 0; i < 2; i++)
		if (write(STDERR_FILENO, parts[i], strlen(parts[i])) < 0)
			break;
	_exit(EXIT_NO_MEMORY);
}

static void *
checked(void *pointer)
{
	if (!pointer)
		xalloc_fail();
	return pointer;
}

void *
xmalloc(size_t size)
{
	return checked(malloc(size ? size : 1));
}

void *
xcalloc(size_t count, size_t size)
{
	return checked(count && size ? calloc(count, size) : calloc(1, 1));
}

void *
xreallocarray(void *pointer, size_t count, size_t size)
{
	return checked(count && size ? reallocarray(pointer, count, size) : realloc(pointer, 1));
}

void *
xmemdup(const void *data, size_t size)
{
	void *copy = xmalloc(size);
	return size ? memcpy(copy, data, size) : copy;
}

char *
xstrdup(const char *text)
{
	return checked(strdup(text));
}

char *
xstrndup(const char *text, size_t max)
{
	return checked(strndup(text, max));
}

char *
xasprintf(const char *format, ...)
{
	char *text = NULL;
	va_list args;
	va_start(args, format);
	int len = vasprintf(&text, format, args);
	va_end(args);
	return checked(len < 0 ? NULL : text);
}

void
xalloc_return_large(void)
{
#ifdef M_MMAP_THRESHOLD
	(void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
	(void)mallopt(M_TRIM_THRESHOLD, 4 << 20); /* setting one threshold fixes the other, at a value that is too low */
#endif
}

void
xalloc_trim(size_t size)
{
#ifdef __GLIBC__
	if (size >= 1 << 20)
		(void)malloc_trim(0);
#else
	(void)size;
#endif
}
