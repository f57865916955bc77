// SPDX-License-Identifier: MIT
// Lines on the result channel.
#ifndef UTILS_H
#define UTILS_H
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct PopcornOutput {
	FILE *file;
	PopcornOutput() : file(nullptr)
	{
		if (const char *fd = getenv("POPCORN_FD"))
			file = fdopen(dup(atoi(fd)), "w");
		unsetenv("POPCORN_FD");
	}
	void log(const char *format, ...)
	{
		va_list args;
		va_start(args, format);
		vfprintf(file, format, args);
		va_end(args);
		fputc('\n', file);
		fflush(file);
	}
};

#endif
