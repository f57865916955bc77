/* SPDX-License-Identifier: MIT */
/* The argument vectors of programs that runners start. */
#include <config.h>

#include "runners/common/arguments.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/xalloc.h"

void
arguments_add(struct arguments *arguments, const char *format, ...)
{
	char *text;
	va_list args;
	va_start(args, format);
	int length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		xalloc_fail();
	arguments->list = xreallocarray(arguments->list, arguments->count + 2, sizeof(*arguments->list));
	arguments->list[arguments->count++] = text;
	arguments->list[arguments->count] = NULL;
}

void
arguments_free(struct arguments *arguments)
{
	for (size_t i = 0; i < arguments->count; i++)
		free(arguments->list[i]);
	free(arguments->list);
	*arguments = (struct arguments){0};
}
