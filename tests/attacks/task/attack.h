// SPDX-License-Identifier: MIT
// What the hostile submissions share: an honest answer, and words for the driver to find on stderr.
#ifndef ATTACKS_ATTACK_H
#define ATTACKS_ATTACK_H

#include "task.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

// The driver sees this and fails the test: something worked that must not.
__attribute__((format(printf, 1, 2))) inline void
escaped(const char *format, ...)
{
	char text[500];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	dprintf(STDERR_FILENO, "ESCAPED %s\n", text);
}

// The driver demands this, so that an attack that never ran is not taken for one that was contained.
inline void
tried()
{
	static bool said = false;
	if (!said)
		dprintf(STDERR_FILENO, "TRIED\n");
	said = true;
}

template <class I, class O>
inline void
honest(const I &input, O &&output)
{
	for (size_t i = 0; i < output.size(); i++)
		output[i] = 2 * input[i];
}

// A system call that must be refused.
#define MUST_FAIL(call) \
	do { \
		if ((call) >= 0) \
			escaped("%s", #call); \
	} while (0)

// The same in a child, for calls that would change or end the caller.
template <class F>
inline void
in_child(F f)
{
	fflush(nullptr);
	pid_t pid = fork();
	if (pid == 0) {
		f();
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, nullptr, 0);
}

// Runs a shell command in the sandbox; its exit status, 128 + signal, or -1.
inline int
shell(const char *command)
{
	fflush(nullptr);
	pid_t pid = fork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", command, nullptr);
		_exit(126);
	}
	int status = 0;
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif
