// SPDX-License-Identifier: MIT
// class: Host: LD_PRELOAD; poisoning compile caches for the next one
// tries: to leave something that the next run, or the next compiler, would load: in the environment, in the start files
//        of its home, in the caches of compilers, and looks whether an earlier run has.
// expect: passed
// runs: 2
// mode: ranked
#include "attack.h"

static void attack()
{
	static const char *const planted[] = {"/tmp/@MARK@", "/dev/shm/@MARK@", "/job/out/@MARK@", "/tmp/home/.profile",
		"/tmp/home/.bashrc", "/tmp/home/.gdbinit"};
	for (const char *path : planted)
		if (access(path, F_OK) == 0)
			escaped("found %s of an earlier run", path);
	setenv("LD_PRELOAD", "/tmp/@MARK@", 1);
	setenv("LD_LIBRARY_PATH", "/tmp", 1);
	setenv("GCC_EXEC_PREFIX", "/tmp/", 1);
	for (const char *path : planted) {
		int fd = open(path, O_CREAT | O_WRONLY, 0777);
		if (fd >= 0)
			close(fd);
	}
	if (shell("find ${HOME:-/} -mindepth 1 ! -name '.profile' ! -name '.bashrc' ! -name '.gdbinit' | grep -q .") == 0)
		escaped("something lies in HOME");
	if (shell("touch /usr/lib/gcc/specs ~/../../../usr/include/x.h 2>/dev/null") == 0)
		escaped("compiler files can be written");
}

void custom_kernel(const input_t &input, output_t &output)
{
	static int once = (attack(), tried(), 0);
	(void)once;
	honest(input, output);
}
