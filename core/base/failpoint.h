/* SPDX-License-Identifier: MIT */
/* Named points at which the crash tests let a process die; nothing without --enable-failpoints. */
#pragma once

#ifdef KETTLE_FAILPOINTS
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * KETTLE_FAIL=NAME or NAME:N: the process kills itself the N-th time (default first) it passes the point. With
 * KETTLE_FAIL_ONCE=FILE it does so only while FILE exists, and removes it first, so that its successor lives.
 */
static inline void
failpoint(const char *name)
{
	static int passed;
	const char *want = getenv("KETTLE_FAIL");
	if (!want)
		return;
	size_t len = strlen(name);
	if (strncmp(want, name, len) != 0 || (want[len] != '\0' && want[len] != ':'))
		return;
	if (++passed < (want[len] == ':' ? atoi(want + len + 1) : 1))
		return;
	const char *once = getenv("KETTLE_FAIL_ONCE");
	if (!once || unlink(once) == 0)
		(void)raise(SIGKILL);
}
#else
#define failpoint(name) ((void)0)
#endif
